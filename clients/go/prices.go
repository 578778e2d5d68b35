package purser

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// TokenPrice is what one token costs in US dollars, as exact decimal text. It is information: a price may be old or wrong.
type TokenPrice struct {
	Token            string      `json:"token"` // the symbol of a listed token, otherwise its mint
	Mint             string      `json:"mint"`  // "" for SOL
	Listed           bool        `json:"listed"`
	PriceUSD         string      `json:"price_usd"`
	Change24hPercent string      `json:"change_24h_percent"` // such as "-1.25"; "" if nobody says it
	Source           string      `json:"source"`
	UpdatedAt        time.Time   `json:"updated_at"`
	AgeSeconds       int         `json:"age_seconds"`
	Stale            bool        `json:"stale"`     // older than 15 minutes
	Disagrees        *OtherPrice `json:"disagrees"` // another source that differs by more than 5 %; nil for none
}

func (p TokenPrice) complete() bool { return p.Token != "" && p.PriceUSD != "" }

// OtherPrice is what another source says.
type OtherPrice struct {
	Source   string `json:"source"`
	PriceUSD string `json:"price_usd"`
}

// Prices are the prices of a request, and the tokens of it whose price nobody knows, as they were written.
type Prices struct {
	Prices  []TokenPrice `json:"prices"`
	Missing []string     `json:"missing"`
}

func (p Prices) complete() bool { return p.Prices != nil && all(p.Prices) }

// Prices is GET /v1/prices: of 1 to 50 tokens, by symbol or mint.
func (c *Client) Prices(ctx context.Context, tokens ...string) (Prices, error) {
	return do[Prices](ctx, c, call{method: http.MethodGet, path: "/v1/prices", query: url.Values{"tokens": {strings.Join(tokens, ",")}}})
}

// PricePoint is what a token cost at one time.
type PricePoint struct {
	At       time.Time `json:"at"`
	PriceUSD string    `json:"price_usd"`
}

func (p PricePoint) complete() bool { return p.PriceUSD != "" }

// PriceHistory is what a token cost, oldest first, at most 300 points.
type PriceHistory struct {
	Token  string       `json:"token"`
	Mint   string       `json:"mint"` // "" for SOL
	Span   string       `json:"span"`
	Points []PricePoint `json:"points"`
}

func (h PriceHistory) complete() bool { return h.Token != "" && h.Points != nil && all(h.Points) }

// PriceHistory is GET /v1/prices/{token}/history. span is "1h", "24h", "7d", "30d" or "365d"; "" means "24h".
func (c *Client) PriceHistory(ctx context.Context, token, span string) (PriceHistory, error) {
	query := url.Values{}
	if span != "" {
		query.Set("span", span)
	}
	return do[PriceHistory](ctx, c, call{method: http.MethodGet, path: "/v1/prices/" + url.PathEscape(token) + "/history", query: query})
}

// Pool is a place where a token is traded. What is not known is "".
type Pool struct {
	Address      string `json:"address"`
	DEX          string `json:"dex"`
	QuoteToken   string `json:"quote_token"` // what it is traded against: the symbol of a listed token, otherwise its mint
	PriceUSD     string `json:"price_usd"`
	LiquidityUSD string `json:"liquidity_usd"`
	VolumeUSD    string `json:"volume_24h_usd"`
	CreatedAt    string `json:"created_at"` // RFC 3339
	URL          string `json:"url"`        // of the source's page about it
}

func (p Pool) complete() bool { return p.Address != "" }

// Pools are the pools of a token, the deepest first, at most 20. Source is "" if the service asks nobody about pools.
type Pools struct {
	Token     string    `json:"token"` // the symbol of a listed token, otherwise its mint
	Mint      string    `json:"mint"`  // "" for SOL
	Source    string    `json:"source"`
	UpdatedAt time.Time `json:"updated_at"`
	Pools     []Pool    `json:"pools"`
}

func (p Pools) complete() bool { return p.Token != "" && p.Pools != nil && all(p.Pools) }

// Pools is GET /v1/pools: where a token is traded, by symbol or mint.
func (c *Client) Pools(ctx context.Context, token string) (Pools, error) {
	return do[Pools](ctx, c, call{method: http.MethodGet, path: "/v1/pools", query: url.Values{"token": {token}}})
}
