package wallet_test

import (
	"fmt"
	"testing"
	"time"

	"purser/wallet"
)

// TestQuietHours: they may go past midnight, go by the person's clock, and end when its clock shows their end, also in the nights in which clocks are changed.
func TestQuietHours(t *testing.T) {
	night, noon := "22:00-07:00", "12:30-14:00"
	for _, c := range []struct {
		hours string
		zone  wallet.TimeZone
		now   string // UTC
		until string // UTC; "" if it is not quiet
	}{
		{night, "", "2026-11-23T21:59:59Z", ""},
		{night, "", "2026-11-23T22:00:00Z", "2026-11-24T07:00:00Z"},
		{night, "", "2026-11-24T06:59:59Z", "2026-11-24T07:00:00Z"},
		{night, "", "2026-11-24T07:00:00Z", ""},
		{night, "", "2026-12-31T23:30:00Z", "2027-01-01T07:00:00Z"},
		{noon, "", "2026-11-23T12:29:59Z", ""},
		{noon, "", "2026-11-23T12:30:00Z", "2026-11-23T14:00:00Z"},
		{noon, "", "2026-11-23T14:00:00Z", ""},
		{night, "Asia/Kolkata", "2026-11-23T16:29:59Z", ""},
		{night, "Asia/Kolkata", "2026-11-23T16:30:00Z", "2026-11-24T01:30:00Z"},
		{night, "America/Los_Angeles", "2026-11-24T05:59:00Z", ""},
		{night, "America/Los_Angeles", "2026-11-24T06:00:00Z", "2026-11-24T15:00:00Z"},
		// Berlin: at 02:00 on 29 March 2026 clocks go forward to 03:00, and at 03:00 on 25 October back to 02:00.
		{night, "Europe/Berlin", "2026-03-28T21:00:00Z", "2026-03-29T05:00:00Z"},
		{night, "Europe/Berlin", "2026-10-24T20:00:00Z", "2026-10-25T06:00:00Z"},
		{"01:00-02:30", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"}, // 02:30 is not shown
		{"01:00-02:30", "Europe/Berlin", "2026-10-25T00:15:00Z", "2026-10-25T01:30:00Z"}, // 02:15, for the first time: the night is an hour longer
		{"01:00-02:30", "Europe/Berlin", "2026-10-25T01:15:00Z", "2026-10-25T01:30:00Z"}, // and for the second time
		{night, "No/Such", "2026-11-23T22:00:00Z", "2026-11-24T07:00:00Z"},               // by UTC
	} {
		hours, err := wallet.ParseQuietHours(c.hours)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got, text := wallet.Settings{TimeZone: c.zone, Quiet: &hours}.QuietUntil(now), ""
		if !got.IsZero() {
			text = got.Format(time.RFC3339)
		}
		if text != c.until {
			t.Errorf("%s %s at %s: until %q, want %q", c.hours, c.zone, c.now, text, c.until)
		}
	}
	if until := (wallet.Settings{}).QuietUntil(time.Now()); !until.IsZero() {
		t.Errorf("nobody asked for quiet until %s", until)
	}
}

// TestQuietHoursAreRead in the ways that people write them.
func TestQuietHoursAreRead(t *testing.T) {
	for text, want := range map[string]string{"22:00-07:00": "22:00–07:00", "22-7": "22:00–07:00", " 9:30 – 17:05 ": "09:30–17:05", "0-23:59": "00:00–23:59",
		"22": "", "22:00-22:00": "", "24-7": "", "22:60-7": "", "-1-7": "", "22:0-7": "", "+2-7": "", "022-7": "", "": "", "night": "", "22-7-8": ""} {
		q, err := wallet.ParseQuietHours(text)
		if got := q.String(); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// TestTimeZonesAreRead by city, by name, and as hours off UTC.
func TestTimeZonesAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"Berlin": "Europe/Berlin Berlin", "europe/berlin": "Europe/Berlin Berlin", " new york ": "America/New_York New York", "Buenos Aires": "America/Argentina/Buenos_Aires Buenos Aires",
		"Istanbul": "Europe/Istanbul Istanbul", "UTC": " UTC", "gmt": " UTC", "UTC+0": " UTC", "UTC+3": "Etc/GMT-3 UTC+3", "-5": "Etc/GMT+5 UTC-5", "gmt+14": "Etc/GMT-14 UTC+14",
		"UTC+15": "", "UTC-13": "", "3": "", "+5:30": "", "": "", "Berlin2": "", "#": "", "../etc/passwd": "", "Europe": "", "Local": "",
	} {
		zone, err := wallet.ParseTimeZone(text)
		if got := fmt.Sprint(zone, " ", zone.City()); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
		if _, missing := time.LoadLocation(string(zone)); err == nil && missing != nil {
			t.Errorf("%s: %v", zone, missing)
		}
	}
}

// TestClocksFindCities: what a clock shows leads to cities where it is about that time, also around midnight.
func TestClocksFindCities(t *testing.T) {
	for shown, want := range map[string]string{"2026-11-23T23:55:00Z 00:05": "[Europe/London]", "2026-11-23T12:00:00Z 21:10": "[Asia/Tokyo Asia/Seoul]", "2026-11-23T12:00:00Z 21:11": "[]"} {
		var at, clock string
		fmt.Sscan(shown, &at, &clock)
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		time, err := wallet.ParseTimeOfDay(clock)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(wallet.TimeZonesAt(now, time)); got != want {
			t.Errorf("%s: %s, want %s", shown, got, want)
		}
	}
}

// TestCategoriesAreObeyed: the default, names, wildcards, and that everything is off.
func TestCategoriesAreObeyed(t *testing.T) {
	all := wallet.Categories()
	for name, c := range map[string]struct {
		set  *wallet.Notifications
		want string
	}{
		"default":   {nil, "[transaction.received transaction.failed transaction.large price.alert price.significant_change stake.reward stake.status stake.cooldown stake.validator]"},
		"all":       {&wallet.Notifications{Enabled: true, Events: []string{"*"}}, fmt.Sprint(all)},
		"a family":  {&wallet.Notifications{Enabled: true, Events: []string{"stake.*"}}, "[stake.reward stake.status stake.cooldown stake.validator]"},
		"one":       {&wallet.Notifications{Enabled: true, Events: []string{"transaction.large"}}, "[transaction.large]"},
		"none":      {&wallet.Notifications{Enabled: true}, "[]"},
		"off":       {&wallet.Notifications{Enabled: false, Events: []string{"*"}}, "[]"},
		"old names": {&wallet.Notifications{Enabled: true, Events: []string{"wallet.connected", "stake.status"}}, "[stake.status]"},
	} {
		got := []wallet.Category{}
		for _, category := range all {
			if (wallet.User{Notifications: c.set}).Wants(category) {
				got = append(got, category)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
		if !(wallet.User{Notifications: c.set}).Wants("security.news") {
			t.Errorf("%s turns off what nothing names", name)
		}
	}
}
