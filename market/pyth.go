package market

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"purser/wallet"
)

// Pyth is Hermes, the price service of the Pyth network. Since August 2026 it answers nobody without a key. Its documentation:
// https://docs.pyth.network/price-feeds/core/fetch-price-updates (read in November 2026). It knows few tokens, by feeds of their
// own, and does not say how a price changed.
type Pyth struct {
	api   *provider
	feeds map[wallet.Address]string // by mint; the zero address for SOL
}

const (
	pythURL       = "https://hermes.pyth.network"
	pythMaxTokens = 20
	pythCalls     = 60 // a minute: well below 30 in 10 seconds
	// maxWidth is the most that a confidence interval may be wide, as a part of the price: one in fifty. Wider ones come from
	// markets that nearly stand still.
	maxWidth = 50
)

// NewPyth returns a source of prices.
func NewPyth(o Options) *Pyth {
	if o.URL == "" {
		o.URL = pythURL
	}
	if o.Key != "" {
		o.Key = "Bearer " + o.Key
	}
	if o.PerMinute == 0 {
		o.PerMinute = pythCalls
	}
	return &Pyth{api: newProvider("pyth", "Authorization", o, budget{o.PerMinute, time.Minute}), feeds: pythFeeds()}
}

// pythFeeds are the feeds of well-known tokens, each in US dollars (https://docs.pyth.network/price-feeds/core/price-feeds).
func pythFeeds() map[wallet.Address]string {
	const solFeed = "ef0d8b6fda2ceba41da15d4095d1da392a0d2f8ed0c6c7bc0f4cfac8c280b56d"
	return map[wallet.Address]string{
		{}:                solFeed,
		wallet.WrappedSOL: solFeed,
		wallet.MustAddress("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"): "eaa020c61cc479712813461ce153894a96a6c00b21ed0cfc2798d1f9a9e9c94a", // USDC
		wallet.MustAddress("Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB"): "2b89b9dc8fdf9f34709a5b106b472f0f39bb6ca9ce04b0fd7f2e971688e2e53b", // USDT
		wallet.MustAddress("bSo13r4TkiE4KumL71LsHTPpL2euBYLFx6h9HP3piy1"):  "89875379e70f8fbadc17aef315adf3a8d5d160b811435537e03c97e8aac97d9c", // bSOL
		wallet.MustAddress("JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN"):  "0a0408d619e9380abad35060f9192039ed5042fa6f82301d0e48bb52be830996", // JUP
	}
}

// Name returns "pyth".
func (p *Pyth) Name() string { return p.api.name }

// MaxTokens returns 20.
func (p *Pyth) MaxTokens() int { return pythMaxTokens }

// Prices calls GET /v2/updates/price/latest?ids[]=. It asks for tokens that have a feed, and asks nobody if none has. A price
// with a wide confidence interval, or from the future, is left out.
func (p *Pyth) Prices(ctx context.Context, priority Priority, mints []wallet.Address) ([]wallet.TokenPrice, error) {
	query := url.Values{"parsed": {"true"}, "ignore_invalid_price_ids": {"true"}}
	asked := map[string]bool{}
	for _, mint := range mints {
		if feed := p.feeds[mint]; feed != "" && !asked[feed] {
			asked[feed] = true
			query.Add("ids[]", feed)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	var answer struct {
		Parsed []struct {
			ID    string `json:"id"`
			Price struct {
				Price       number `json:"price"`
				Confidence  number `json:"conf"`
				Exponent    number `json:"expo"`
				PublishTime number `json:"publish_time"`
			} `json:"price"`
		} `json:"parsed"`
	}
	if err := p.api.get(ctx, priority, "/v2/updates/price/latest", query, &answer); err != nil {
		return nil, err
	}
	now := p.api.now()
	known := map[string]wallet.TokenPrice{}
	for _, row := range answer.Parsed {
		mantissa, err := strconv.ParseUint(string(row.Price.Price), 10, 64)
		width, errWidth := strconv.ParseUint(string(row.Price.Confidence), 10, 64)
		exponent, errExponent := strconv.ParseInt(string(row.Price.Exponent), 10, 8)
		seconds, errTime := strconv.ParseInt(string(row.Price.PublishTime), 10, 64)
		if err != nil || errWidth != nil || errExponent != nil || errTime != nil || width > mantissa/maxWidth {
			continue
		}
		price, err := wallet.NewPrice(mantissa, int(exponent))
		at := time.Unix(seconds, 0).UTC()
		if err != nil || at.After(now.Add(time.Minute)) {
			continue
		}
		if at.After(now) { // its clock is a little ahead of ours
			at = now
		}
		known[strings.TrimPrefix(row.ID, "0x")] = wallet.TokenPrice{Price: price, At: at, Source: p.Name()}
	}
	var out []wallet.TokenPrice
	for _, mint := range mints {
		if one, ok := known[p.feeds[mint]]; ok && p.feeds[mint] != "" {
			one.Mint = mint
			out = append(out, one)
		}
	}
	return out, nil
}
