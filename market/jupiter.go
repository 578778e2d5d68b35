package market

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"purser/wallet"
)

// Jupiter is the API of jup.ag. Its documentation: https://dev.jup.ag/docs/price (read in November 2026).
type Jupiter struct {
	api       *provider
	perMinute int
}

// jupiterURL is where Jupiter is.
const jupiterURL = "https://api.jup.ag"

// jupiterMaxTokens is the most ids in a call of /price/v3.
const jupiterMaxTokens = 50

// NewJupiter returns a source of prices. Without a key it allows 30 calls a minute, with one 60: Jupiter counts prices, tokens and
// swaps together, over 60 seconds.
func NewJupiter(o Options) *Jupiter {
	perMinute := o.PerMinute
	if perMinute == 0 {
		perMinute = 30
		if o.Key != "" {
			perMinute = 60
		}
	}
	if o.URL == "" {
		o.URL = jupiterURL
	}
	return &Jupiter{api: newProvider("jupiter", "x-api-key", o, budget{perMinute, time.Minute}), perMinute: perMinute}
}

// PerMinute is how many calls a minute it allows, of all kinds together.
func (j *Jupiter) PerMinute() int { return j.perMinute }

// Name returns "jupiter".
func (j *Jupiter) Name() string { return j.api.name }

// MaxTokens returns 50.
func (j *Jupiter) MaxTokens() int { return jupiterMaxTokens }

// Prices calls GET /price/v3?ids=. The answer is an object by mint. Tokens that Jupiter does not price are absent.
func (j *Jupiter) Prices(ctx context.Context, priority Priority, mints []wallet.Address) ([]wallet.TokenPrice, error) {
	ids := make([]string, len(mints))
	for i, mint := range mints {
		ids[i] = ProviderMint(mint).String()
	}
	var answer map[string]*struct {
		USDPrice  number `json:"usdPrice"`
		Change24h number `json:"priceChange24h"` // percent
	}
	if err := j.api.get(ctx, priority, "/price/v3", url.Values{"ids": {strings.Join(ids, ",")}}, &answer); err != nil {
		return nil, err
	}
	at := j.api.now()
	var out []wallet.TokenPrice
	for i, mint := range mints { // what was not asked for is left out
		row := answer[ids[i]]
		if row == nil {
			continue
		}
		// null, zero and absurd prices are as good as absent.
		if one, ok := tokenPrice(mint, row.USDPrice, row.Change24h); ok {
			one.At, one.Source = at, j.Name()
			out = append(out, one)
		}
	}
	return out, nil
}

// ProviderMint is the mint by which providers know a token: that of wrapped SOL for SOL.
func ProviderMint(mint wallet.Address) wallet.Address {
	if mint.IsZero() {
		return wallet.WrappedSOL
	}
	return mint
}

// number is the text of a JSON number, or of a string, since providers write numbers in either form; "" for null and for every
// other value. A value of another type must not make the whole answer unreadable.
type number string

// UnmarshalJSON never fails.
func (n *number) UnmarshalJSON(raw []byte) error {
	*n = ""
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		var text string
		if json.Unmarshal(raw, &text) == nil {
			*n = number(text)
		}
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		*n = number(raw)
	}
	return nil
}
