package wallet_test

import (
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// plan returns settings in a zone with a plan given as words.
func plan(t *testing.T, zone wallet.TimeZone, words ...string) wallet.Settings {
	t.Helper()
	s := wallet.Settings{TimeZone: zone}
	for _, word := range words {
		var err error
		if s.Summary, err = s.Summary.With(word); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	got, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPlansOfSummariesAreReadFromWords(t *testing.T) {
	for _, word := range []string{"", "hourly", "25:00", "daily weekly"} {
		if _, err := (wallet.SummaryPlan{}).With(word); err == nil {
			t.Errorf("%q is taken", word)
		}
	}
	s := plan(t, "", " Daily ", "8:30")
	if !s.Summary.Daily || s.Summary.Time().String() != "08:30" {
		t.Errorf("%+v", s.Summary)
	}
	if s = plan(t, "", "daily", "00:00", "weekly"); s.Summary.Daily || s.Summary.Time() != 0 {
		t.Errorf("midnight, weekly: %+v", s.Summary)
	}
	if got := (wallet.SummaryPlan{}).Time().String(); got != "09:00" {
		t.Errorf("without a choice it is %s", got)
	}
}

// TestAPortfolioIsLookedAtOnceADay, by the person's clock, also where it is set forward or back.
func TestAPortfolioIsLookedAtOnceADay(t *testing.T) {
	berlin := wallet.TimeZone("Europe/Berlin")
	for _, c := range []struct {
		settings  wallet.Settings
		now, next string
	}{
		{plan(t, ""), "2026-11-24 08:59", "2026-11-24 09:00"},
		{plan(t, ""), "2026-11-24 09:00", "2026-11-25 09:00"}, // never the same minute again
		{plan(t, berlin), "2026-11-24 07:59", "2026-11-24 08:00"},
		{plan(t, berlin), "2026-03-28 09:00", "2026-03-29 07:00"},          // summer time begins in the night between
		{plan(t, berlin), "2026-10-24 08:00", "2026-10-25 08:00"},          // and ends
		{plan(t, berlin, "02:30"), "2026-03-28 02:00", "2026-03-29 01:30"}, // the clock never shows 02:30
		{plan(t, berlin, "02:30"), "2026-10-24 01:00", "2026-10-25 01:30"}, // it shows 02:30 twice: the second time
		{plan(t, berlin, "02:30"), "2026-10-25 01:30", "2026-10-26 01:30"}, // and not the first
		{plan(t, "America/New_York", "02:30"), "2026-03-07 12:00", "2026-03-08 07:30"},
		{plan(t, "America/New_York", "01:30"), "2026-10-31 12:00", "2026-11-01 06:30"},
		{plan(t, "America/Los_Angeles", "21:00"), "2026-12-31 20:00", "2027-01-01 05:00"},
	} {
		if got := c.settings.NextLook(at(t, c.now)); !got.Equal(at(t, c.next)) {
			t.Errorf("%v after %s: %s, want %s", c.settings.Summary.Time(), c.now, got, c.next)
		}
	}
}

// TestASummaryIsDueOnce for each day or week, and once for all that were missed.
func TestASummaryIsDueOnce(t *testing.T) {
	weekly, daily := plan(t, "Europe/Berlin"), plan(t, "Europe/Berlin", "daily")
	for _, c := range []struct {
		what      string
		settings  wallet.Settings
		last, now string
		due       bool
	}{
		{"the day after", daily, "2026-11-23 08:00", "2026-11-24 08:00", true},
		{"before its time", daily, "2026-11-23 08:00", "2026-11-24 07:59", false},
		{"again the same day", daily, "2026-11-24 08:00", "2026-11-24 23:00", false},
		{"three days were missed", daily, "2026-11-20 08:00", "2026-11-24 05:00", true},
		{"sent late yesterday", daily, "2026-11-23 20:00", "2026-11-24 08:00", false},
		{"an hour less in a day", daily, "2026-03-28 08:00", "2026-03-29 07:00", true},
		{"an hour more in a day", daily, "2026-10-24 07:00", "2026-10-25 08:00", true},
		{"turned on an hour ago", daily, "2026-11-24 07:00", "2026-11-24 08:00", true},
		{"turned on after its time", daily, "2026-11-24 08:01", "2026-11-24 20:00", false},
		{"Monday", weekly, "2026-11-16 08:00", "2026-11-23 08:00", true},
		{"Tuesday", weekly, "2026-11-23 08:00", "2026-11-24 08:00", false},
		{"Monday was missed", weekly, "2026-11-16 08:00", "2026-11-25 08:00", true},
		{"Sunday", weekly, "2026-11-16 08:00", "2026-11-22 08:00", false},
		{"turned on in the week", weekly, "2026-11-18 10:00", "2026-11-23 08:00", true},
		{"from daily to weekly", weekly, "2026-11-22 08:00", "2026-11-22 09:00", false},
	} {
		if got := c.settings.SummaryDue(at(t, c.last), at(t, c.now), strings.HasPrefix(c.what, "turned on")); got != c.due {
			t.Errorf("%s: %t", c.what, got)
		}
	}
	// A move across the ocean makes no second summary of the day.
	moved := plan(t, "America/New_York", "daily")
	if moved.SummaryDue(at(t, "2026-11-24 08:00"), at(t, "2026-11-24 14:00"), false) {
		t.Error("a second summary within six hours")
	}
}

// TestValuesOfAPortfolioAreKeptForAWhile, one in twelve hours.
func TestValuesOfAPortfolioAreKeptForAWhile(t *testing.T) {
	begin := at(t, "2026-01-01 09:00")
	var p wallet.Portfolio
	for day := range 200 {
		now := begin.AddDate(0, 0, day)
		p = p.Record(now, wallet.USD(day)).Record(now.Add(11*time.Hour), 1_000_000)
	}
	if n := len(p.Points); n != wallet.PortfolioDays || p.Points[0].Value != 200-wallet.PortfolioDays || p.Points[n-1].Value != 199 {
		t.Errorf("%d points, the first %+v", n, p.Points[0])
	}
	if value, ok := p.ValueAt(begin.AddDate(0, 0, 150).Add(time.Hour)); !ok || value != 150 {
		t.Errorf("%d, %t", value, ok)
	}
	if _, ok := p.ValueAt(begin); ok {
		t.Error("a value from before the first")
	}
}

func TestHoldingsAreSortedByWorth(t *testing.T) {
	token := func(symbol string) wallet.Token { return wallet.Token{Symbol: symbol} }
	all := []wallet.PortfolioHolding{{Token: token("A"), Worth: wallet.Worth{Unknown: true}}, {Token: token("C"), Worth: wallet.Worth{USD: 1}}, {Token: token("B"), Worth: wallet.Worth{USD: 1}},
		{Token: token("D"), Worth: wallet.Worth{USD: 9}}}
	wallet.SortHoldings(all)
	got := ""
	for _, h := range all {
		got += h.Token.Symbol
	}
	if got != "DBCA" {
		t.Error(got)
	}
	s := wallet.Summary{Total: wallet.Worth{USD: 110}, Before: wallet.Worth{USD: 100}}
	if change, ok := s.Changed(); !ok || change != 1000 {
		t.Errorf("%d, %t", change, ok)
	}
	for _, s := range []wallet.Summary{{Total: wallet.Worth{Unknown: true}, Before: wallet.Worth{USD: 1}}, {Before: wallet.Worth{Unknown: true}}, {Total: wallet.Worth{USD: 5}}} {
		if _, ok := s.Changed(); ok {
			t.Errorf("%+v changed", s)
		}
	}
}
