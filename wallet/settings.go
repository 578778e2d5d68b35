package wallet

import (
	"cmp"
	"strings"
	"time"
)

// Settings are how purser speaks to a person. The zero value is how it speaks to somebody who chose nothing.
type Settings struct {
	Language  string      `json:"language,omitempty"`   // IETF tag that the person chose; "": the one of their Telegram
	Currency  Currency    `json:"currency,omitempty"`   // in which values are said; "": US dollars
	TimeZone  TimeZone    `json:"time_zone,omitempty"`  // "": UTC
	Quiet     *QuietHours `json:"quiet,omitempty"`      // nil: none
	LargeFrom uint64      `json:"large_from,omitempty"` // whole units of LargeIn from which on a payment is large; 0: DefaultLarge
	LargeIn   Currency    `json:"large_in,omitempty"`   // the currency in which LargeFrom was chosen; another one for values changes neither
	Summary   SummaryPlan `json:"summary,omitzero"`     // when summaries of the portfolio are sent, for those who want them
}

// DefaultLarge is from which value on a payment is large for somebody who chose nothing, in whole dollars.
const DefaultLarge = 1000

// MaxLarge bounds Settings.LargeFrom.
const MaxLarge = 1_000_000_000_000

// Large returns from which value on a payment is large, in whole units of a currency.
func (s Settings) Large() (whole uint64, in Currency) {
	if s.LargeFrom == 0 {
		return DefaultLarge, Dollars
	}
	return s.LargeFrom, cmp.Or(s.LargeIn, s.Money())
}

// Money returns the currency in which values are said.
func (s Settings) Money() Currency { return cmp.Or(s.Currency, Dollars) }

// Tag returns the tag of the person's language: the one that they chose, or that of their Telegram; "" if neither is known.
func (u User) Tag() string { return cmp.Or(u.Settings.Language, u.Language) }

// QuietHours are the hours of each day, by the person's clock, in which only what they must know is sent. They may go past midnight.
type QuietHours struct {
	From TimeOfDay `json:"from"`
	To   TimeOfDay `json:"to"` // exclusive, and not From
}

// ParseQuietHours reads "22:00-07:00" or "22-7". ErrTimeOfDay otherwise, and for hours without a length.
func ParseQuietHours(text string) (q QuietHours, err error) {
	text = strings.NewReplacer(" ", "", "–", "-", "—", "-").Replace(text)
	from, to, _ := strings.Cut(text, "-")
	if q.From, err = ParseTimeOfDay(from); err != nil {
		return q, err
	}
	if q.To, err = ParseTimeOfDay(to); err != nil {
		return q, err
	}
	if q.From == q.To {
		return q, ErrTimeOfDay
	}
	return q, nil
}

// String returns "22:00–07:00".
func (q QuietHours) String() string { return q.From.String() + "–" + q.To.String() }

// QuietUntil returns when the quiet hours end that a time is in; the zero time if it is in none. Where clocks are changed, a night is an hour shorter
// or longer, as the person's own night is.
func (s Settings) QuietUntil(now time.Time) time.Time {
	if s.Quiet == nil {
		return time.Time{}
	}
	here := now.In(s.TimeZone.Location())
	shown, from, to := timeOfDay(here), s.Quiet.From, s.Quiet.To
	days := 0
	switch {
	case from < to && shown >= from && shown < to, from > to && shown < to:
	case from > to && shown >= from:
		days = 1
	default:
		return time.Time{}
	}
	end := onClock(here.AddDate(0, 0, days), to)
	if !end.After(now) { // the clock was set back past the end, and shows it a second time
		return time.Time{}
	}
	return end.UTC()
}
