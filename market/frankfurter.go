package market

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Rates says what a US dollar costs in other currencies.
type Rates interface {
	// Rates returns the rates of currencies, each at most once. Currencies that it does not know are absent. The error is an
	// *UnavailableError, or of ctx.
	Rates(ctx context.Context, codes []wallet.Currency) ([]wallet.Rate, error)
}

// Frankfurter is the API of frankfurter.dev: the reference rates that central banks name each working day. It needs no key, and
// anybody can host it. Its documentation: https://frankfurter.dev (version 2, read in November 2026).
type Frankfurter struct{ api *provider }

const (
	frankfurterURL   = "https://api.frankfurter.dev"
	frankfurterCalls = 24 // a day, although it names no limit: rates change once a day
)

// NewFrankfurter returns a source of rates.
func NewFrankfurter(o Options) *Frankfurter {
	if o.URL == "" {
		o.URL = frankfurterURL
	}
	return &Frankfurter{api: newProvider("frankfurter", "", o, budget{frankfurterCalls, 24 * time.Hour})}
}

// Rates calls GET /v2/rates?base=USD&quotes=EUR,JPY. The answer is a list of {date, base, quote, rate}.
func (f *Frankfurter) Rates(ctx context.Context, codes []wallet.Currency) ([]wallet.Rate, error) {
	quotes := make([]string, len(codes))
	for i, code := range codes {
		quotes[i] = string(code)
	}
	var answer []json.RawMessage // each for itself: one that cannot be read hides no other
	query := url.Values{"base": {string(wallet.Dollars)}, "quotes": {strings.Join(quotes, ",")}}
	if err := f.api.get(ctx, ForPerson, "/v2/rates", query, &answer); err != nil {
		return nil, err
	}
	wanted := map[wallet.Currency]bool{}
	for _, code := range codes {
		wanted[code] = true
	}
	var out []wallet.Rate
	for _, raw := range answer {
		rate, ok := f.rate(raw)
		if !ok || !wanted[rate.Currency] {
			continue
		}
		delete(wanted, rate.Currency)
		out = append(out, rate)
	}
	return out, nil
}

// rate reads an entry of the answer. ok is false for one that is not a rate of the dollar, or that names a day to come: days begin
// earlier in the east, so tomorrow is possible.
func (f *Frankfurter) rate(raw json.RawMessage) (r wallet.Rate, ok bool) {
	var row struct {
		Date  string `json:"date"`
		Base  string `json:"base"`
		Quote string `json:"quote"`
		Rate  number `json:"rate"`
	}
	if json.Unmarshal(raw, &row) != nil || row.Base != string(wallet.Dollars) {
		return r, false
	}
	at, err := time.Parse(time.DateOnly, row.Date)
	perDollar, unknown := wallet.ParsePrice(string(row.Rate))
	if err != nil || unknown != nil || at.After(f.api.now().Add(24*time.Hour)) {
		return r, false
	}
	return wallet.Rate{Currency: wallet.Currency(row.Quote), PerDollar: perDollar, At: at, Source: f.api.name}, true
}

// ratesEvery is how often rates are read, and ratesRetry how soon again after a failure.
const (
	ratesEvery = 6 * time.Hour
	ratesRetry = time.Hour
)

// refreshRates reads what a dollar costs in other currencies when it is time. A source that does not answer leaves the rates
// as they are, until they are too old to be used (wallet.StaleRate).
func (p *Prices) refreshRates(ctx context.Context) error {
	now := p.Now()
	if p.Rates == nil || now.Before(p.ratesDue) {
		return nil
	}
	p.ratesDue = now.Add(ratesRetry)
	read, err := p.Rates.Rates(ctx, wallet.Currencies()[1:]) // without the dollar
	if err != nil {
		if ctx.Err() == nil {
			p.Log.Warn("the rates of currencies were not read", "error", err)
		}
		return nil
	}
	p.ratesDue = now.Add(ratesEvery)
	return p.Store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error { return tx.SaveRates(read) })
}
