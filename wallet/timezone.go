package wallet

import (
	_ "embed"
	"errors"
	"strconv"
	"strings"
	"time"
)

// TimeZone is the name of a time zone in the IANA database, such as "Europe/Berlin", or "Etc/GMT-3" for three hours ahead of
// UTC. "" is UTC.
type TimeZone string

// ErrTimeZone says that a text names no time zone.
var ErrTimeZone = errors.New("not a known time zone")

//go:embed timezones.txt
var timeZoneNames string

// Location returns the rules of the zone. A name that the database of this machine lacks is UTC.
func (z TimeZone) Location() *time.Location {
	location, err := time.LoadLocation(string(z))
	if err != nil {
		return time.UTC
	}
	return location
}

// City returns the part of the name that people know: "Berlin", "New York", "UTC+3".
func (z TimeZone) City() string {
	if z == "" {
		return "UTC"
	}
	if sign, ok := strings.CutPrefix(string(z), fixedZone); ok { // POSIX counts hours west of Greenwich
		if west, isWest := strings.CutPrefix(sign, "+"); isWest {
			return "UTC-" + west
		}
		return "UTC+" + strings.TrimPrefix(sign, "-")
	}
	return strings.ReplaceAll(string(z[strings.LastIndexByte(string(z), '/')+1:]), "_", " ")
}

// onClock returns the last time at which clocks where day is show t on that date. Where they skip t, it is the time that follows the gap by as much as t is in it.
func onClock(day time.Time, t TimeOfDay) time.Time {
	asUTC := time.Date(day.Year(), day.Month(), day.Day(), int(t)/60, int(t)%60, 0, 0, time.UTC)
	_, before := asUTC.Add(-24 * time.Hour).In(day.Location()).Zone()
	_, after := asUTC.Add(24 * time.Hour).In(day.Location()).Zone()
	for _, offset := range []int{min(before, after), max(before, after)} { // the later one first
		at := asUTC.Add(-time.Duration(offset) * time.Second)
		if here := at.In(day.Location()); here.Day() == asUTC.Day() && timeOfDay(here) == t {
			return at
		}
	}
	return asUTC.Add(-time.Duration(min(before, after)) * time.Second) // in the gap
}

// fixedZone begins the names of zones that are whole hours off UTC all year.
const fixedZone = "Etc/GMT"

// ParseTimeZone reads the name of a zone, of the city that it is named after, or hours off UTC: "Europe/Berlin", "berlin", "UTC",
// "UTC+3", "-5". ErrTimeZone otherwise.
func ParseTimeZone(text string) (TimeZone, error) {
	text = strings.ReplaceAll(strings.TrimSpace(text), " ", "_")
	if zone, ok := fixedTimeZone(text); ok {
		return zone, nil
	}
	for name := range strings.Lines(timeZoneNames) {
		name = strings.TrimSpace(name)
		if strings.HasPrefix(name, "#") || name == "" {
			continue
		}
		if city := name[strings.LastIndexByte(name, '/')+1:]; strings.EqualFold(text, city) || strings.EqualFold(text, name) {
			return TimeZone(name), nil
		}
	}
	return "", ErrTimeZone
}

// fixedTimeZone reads hours off UTC, from -12 to +14.
func fixedTimeZone(text string) (TimeZone, bool) {
	upper := strings.ToUpper(text)
	for _, prefix := range []string{"UTC", "GMT"} {
		upper = strings.TrimPrefix(upper, prefix)
	}
	if upper == "" {
		return "", text != ""
	}
	hours, err := strconv.Atoi(upper)
	switch {
	case err != nil || upper[0] != '+' && upper[0] != '-' || hours < -12 || hours > 14:
		return "", false
	case hours == 0:
		return "", true
	case hours > 0:
		return TimeZone(fixedZone + "-" + strconv.Itoa(hours)), true
	}
	return TimeZone(fixedZone + "+" + strconv.Itoa(-hours)), true
}

// bigCities are cities whose zones most people have, from west to east.
func bigCities() []TimeZone {
	return []TimeZone{
		"Pacific/Honolulu", "America/Anchorage", "America/Los_Angeles", "America/Denver", "America/Phoenix", "America/Mexico_City", "America/Chicago",
		"America/Bogota", "America/New_York", "America/Caracas", "America/Santiago", "America/Argentina/Buenos_Aires", "America/Sao_Paulo", "Atlantic/Azores",
		"Europe/London", "Africa/Casablanca", "Africa/Lagos", "Europe/Madrid", "Europe/Berlin", "Africa/Johannesburg", "Africa/Cairo", "Europe/Kyiv",
		"Europe/Istanbul", "Europe/Moscow", "Asia/Riyadh", "Asia/Tehran", "Asia/Dubai", "Asia/Tbilisi", "Asia/Karachi", "Asia/Tashkent", "Asia/Kolkata",
		"Asia/Kathmandu", "Asia/Dhaka", "Asia/Almaty", "Asia/Bangkok", "Asia/Jakarta", "Asia/Shanghai", "Asia/Singapore", "Asia/Tokyo", "Asia/Seoul",
		"Australia/Brisbane", "Australia/Sydney", "Pacific/Auckland",
	}
}

// TimeZonesAt lists zones of big cities where clocks show about this time of day now.
func TimeZonesAt(now time.Time, shown TimeOfDay) (out []TimeZone) {
	const tolerance, most = 10, 6
	for _, zone := range bigCities() {
		there := timeOfDay(now.In(zone.Location()))
		off := (int(there) - int(shown) + minutesOfDay) % minutesOfDay
		if off = min(off, minutesOfDay-off); off <= tolerance && len(out) < most {
			out = append(out, zone)
		}
	}
	return out
}

// TimeOfDay is a time by the clock on the wall, in minutes since midnight: 0 to 1439.
type TimeOfDay int

const minutesOfDay = 24 * 60

// timeOfDay returns what the clock shows at a time, in the time's location.
func timeOfDay(at time.Time) TimeOfDay { return TimeOfDay(at.Hour()*60 + at.Minute()) }

// ErrTimeOfDay says that a text is no time of day.
var ErrTimeOfDay = errors.New("not a time of day")

// ParseTimeOfDay reads "22:00", "7:30" or "22". ErrTimeOfDay otherwise.
func ParseTimeOfDay(text string) (TimeOfDay, error) {
	hours, minutes, some := strings.Cut(text, ":")
	if !some {
		minutes = "00"
	}
	h, err := strconv.ParseUint(hours, 10, 8)
	m, errMinutes := strconv.ParseUint(minutes, 10, 8)
	if err != nil || errMinutes != nil || h > 23 || m > 59 || len(hours) > 2 || len(minutes) != 2 {
		return 0, ErrTimeOfDay
	}
	return TimeOfDay(h*60 + m), nil
}

// String returns "22:00".
func (t TimeOfDay) String() string {
	return time.Date(2000, 1, 1, int(t)/60, int(t)%60, 0, 0, time.UTC).Format("15:04")
}
