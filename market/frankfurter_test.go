package market

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sandbox "purser/sandbox/market"
	"purser/store"
	"purser/wallet"
)

// TestRatesAreRead: what is not a rate of the dollar is left out, and hides no other.
func TestRatesAreRead(t *testing.T) {
	const euro = `{"date":"2026-11-23","base":"USD","quote":"EUR","rate":0.86481}`
	for name, c := range map[string]struct{ body, want string }{
		"as documented":        {`[` + euro + `,{"date":"2026-11-20","base":"USD","quote":"JPY","rate":154.32}]`, "EUR 0.86481 2026-11-23, JPY 154.32 2026-11-20"},
		"a text for a number":  {`[{"date":"2026-11-23","base":"USD","quote":"EUR","rate":"0.5"}]`, "EUR 0.5 2026-11-23"},
		"not asked for":        {`[{"date":"2026-11-23","base":"USD","quote":"CHF","rate":0.8},` + euro + `]`, "EUR 0.86481 2026-11-23"},
		"twice":                {`[` + euro + `,{"date":"2026-11-23","base":"USD","quote":"EUR","rate":9}]`, "EUR 0.86481 2026-11-23"},
		"of another base":      {`[{"date":"2026-11-23","base":"EUR","quote":"EUR","rate":1},` + euro + `]`, "EUR 0.86481 2026-11-23"},
		"zero, negative, null": {`[{"date":"2026-11-23","base":"USD","quote":"EUR","rate":0},{"date":"2026-11-23","base":"USD","quote":"JPY","rate":-1},{"date":"2026-11-23","base":"USD","quote":"JPY","rate":null}]`, ""},
		"no date":              {`[{"base":"USD","quote":"EUR","rate":1},{"date":"soon","base":"USD","quote":"EUR","rate":1}]`, ""},
		"of tomorrow":          {`[{"date":"2026-11-24","base":"USD","quote":"EUR","rate":1}]`, "EUR 1 2026-11-24"},
		"of next year":         {`[{"date":"2027-11-24","base":"USD","quote":"EUR","rate":1}]`, ""},
		"other types":          {`[5,null,"x",[],{},{"quote":7},` + euro + `]`, "EUR 0.86481 2026-11-23"},
		"nothing":              {`[]`, ""},
		"null":                 {`null`, ""},
	} {
		s := newStandIn(t)
		s.says(c.body)
		rates, err := NewFrankfurter(s.options()).Rates(t.Context(), []wallet.Currency{"EUR", "JPY"})
		var got []string
		for _, r := range rates {
			if r.Source != "frankfurter" {
				t.Errorf("%s: from %q", name, r.Source)
			}
			got = append(got, fmt.Sprintf("%s %s %s", r.Currency, r.PerDollar, r.At.Format(time.DateOnly)))
		}
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, %v, want %q", name, strings.Join(got, ", "), err, c.want)
		}
	}
	for _, body := range []string{`{"rates":{"EUR":1}}`, `<html>`, ``} {
		s := newStandIn(t)
		s.says(body)
		if rates, err := NewFrankfurter(s.options()).Rates(t.Context(), []wallet.Currency{"EUR"}); err == nil {
			t.Errorf("%q has the rates %v", body, rates)
		}
	}
}

// TestSandboxHasEveryCurrency: each currency that a person can choose has a rate in the sandbox, in the shape of the source.
func TestSandboxHasEveryCurrency(t *testing.T) {
	s := newStandIn(t)
	world, err := sandbox.Open(sandbox.Options{Now: func() time.Time { return s.at }, Seed: "s", Mint: func(name string) string { return name }})
	if err != nil {
		t.Fatal(err)
	}
	s.answer = world.Handler().ServeHTTP
	rates, err := NewFrankfurter(s.options()).Rates(t.Context(), wallet.Currencies()[1:])
	if err != nil || len(rates) != len(wallet.Currencies())-1 {
		t.Errorf("%d rates, %v", len(rates), err)
	}
}

// ratesSource stands in for a source of rates.
type ratesSource struct {
	says wallet.Rate

	mu    sync.Mutex
	calls int
	fails bool
}

func (f *ratesSource) Rates(context.Context, []wallet.Currency) ([]wallet.Rate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fails {
		return nil, &UnavailableError{Source: "frankfurter", Err: ErrMalformed}
	}
	return []wallet.Rate{f.says}, nil
}

// called returns how often the source was called, and makes it fail from now on, or not.
func (f *ratesSource) called(fails bool) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fails = fails
	return f.calls
}

// TestRatesAreReadFourTimesADay, and each hour while the source fails. What it said before stays.
func TestRatesAreReadFourTimesADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRates(t)
		source := &ratesSource{says: wallet.Rate{Currency: "EUR", PerDollar: wallet.MustPrice("0.86"), At: time.Now().UTC(), Source: "frankfurter"}}
		r.Prices.Rates = source
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		euro := func() (rate wallet.Rate) {
			if err := r.Store.View(t.Context(), func(tx store.Tx) (err error) { rate, err = tx.Rate("EUR", time.Now()); return err }); err != nil {
				t.Error(err)
			}
			return rate
		}
		time.Sleep(time.Minute)
		if n := source.called(false); n != 1 || euro() != source.says {
			t.Errorf("%d calls, %+v", n, euro())
		}
		time.Sleep(23 * time.Hour)
		if n := source.called(true); n != 4 {
			t.Errorf("%d calls in a day", n)
		}
		time.Sleep(5 * time.Hour)
		if n := source.called(true); n != 4+5 || euro() != source.says {
			t.Errorf("%d calls while it fails, %+v", n-4, euro())
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
