package market

import (
	"context"
	"net/url"
	"strings"
	"time"

	"purser/wallet"
)

// CoinGecko is the onchain price API of coingecko.com. Its documentation:
// https://docs.coingecko.com/reference/onchain-simple-price (read in November 2026).
type CoinGecko struct{ api *provider }

const (
	coinGeckoURL       = "https://api.coingecko.com"
	coinGeckoMaxTokens = 30     // addresses in a call, below the paid plans
	coinGeckoCalls     = 10_000 // a month, with a free key
	month              = 30 * 24 * time.Hour
)

// NewCoinGecko returns a source of prices within the calls of the free plan.
func NewCoinGecko(o Options) *CoinGecko {
	if o.URL == "" {
		o.URL = coinGeckoURL
	}
	return &CoinGecko{api: newProvider("coingecko", "x-cg-demo-api-key", o, budget{coinGeckoCalls, month})}
}

// Name returns "coingecko".
func (c *CoinGecko) Name() string { return c.api.name }

// MaxTokens returns 30.
func (c *CoinGecko) MaxTokens() int { return coinGeckoMaxTokens }

// Prices calls GET /api/v3/onchain/simple/networks/solana/token_price/{addresses}. The answer has maps by mint. Tokens that are
// not known are absent.
func (c *CoinGecko) Prices(ctx context.Context, priority Priority, mints []wallet.Address) ([]wallet.TokenPrice, error) {
	ids := make([]string, len(mints))
	for i, mint := range mints {
		ids[i] = ProviderMint(mint).String()
	}
	var answer struct {
		Data struct {
			Attributes struct {
				Prices  map[string]number `json:"token_prices"`
				Changes map[string]number `json:"h24_price_change_percentage"`
			} `json:"attributes"`
		} `json:"data"`
	}
	path := "/api/v3/onchain/simple/networks/solana/token_price/" + strings.Join(ids, ",")
	if err := c.api.get(ctx, priority, path, url.Values{"include_24hr_price_change": {"true"}}, &answer); err != nil {
		return nil, err
	}
	at := c.api.now()
	var out []wallet.TokenPrice
	for i, mint := range mints {
		if one, ok := tokenPrice(mint, answer.Data.Attributes.Prices[ids[i]], answer.Data.Attributes.Changes[ids[i]]); ok {
			one.At, one.Source = at, c.Name()
			out = append(out, one)
		}
	}
	return out, nil
}

// tokenPrice reads a price and a change in percent, as providers print them. ok is false if there is no price; a change that
// cannot be read is left out.
func tokenPrice(mint wallet.Address, price, change number) (out wallet.TokenPrice, ok bool) {
	out.Mint = mint
	var err error
	if out.Price, err = wallet.ParsePrice(string(price)); err != nil {
		return out, false
	}
	if parsed, err := wallet.ParseChange(string(change)); err == nil {
		out.Change24h = &parsed
	}
	return out, true
}
