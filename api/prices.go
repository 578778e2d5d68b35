package api

import (
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/wallet"
)

// pricesData is `data` of GET /v1/prices.
type pricesData struct {
	Prices  []priceData `json:"prices"`
	Missing []string    `json:"missing"` // tokens of the request whose price nobody knows, as they were written
}

// priceData is what one token costs. Prices are in US dollars for a whole token, as decimal text.
type priceData struct {
	Token            string         `json:"token"` // symbol of a listed token, otherwise its mint
	Mint             string         `json:"mint"`  // "" for SOL
	Listed           bool           `json:"listed"`
	PriceUSD         string         `json:"price_usd"`
	Change24hPercent string         `json:"change_24h_percent"` // "" if the source does not say it
	Source           string         `json:"source"`
	UpdatedAt        string         `json:"updated_at"`
	AgeSeconds       int64          `json:"age_seconds"`
	Stale            bool           `json:"stale"` // older than 15 minutes
	Disagrees        *disagreesData `json:"disagrees"`
}

// disagreesData is another source that says something else by more than 5 %.
type disagreesData struct {
	Source   string `json:"source"`
	PriceUSD string `json:"price_usd"`
}

// prices is GET /v1/prices?tokens=: symbols or mints, separated by commas. It waits a second or two for prices that are not
// known yet, and no longer.
func (s *Server) prices(c *fiber.Ctx, _ wallet.Key) error {
	q, err := query(c, "tokens")
	if err != nil {
		return err
	}
	if q["tokens"] == "" {
		return bad("tokens", "body.missing")
	}
	var words []string
	var refs []wallet.TokenRef
	for word := range strings.SplitSeq(q["tokens"], ",") {
		ref, err := wallet.ParseTokenRef(strings.TrimSpace(word))
		if err != nil {
			return err
		}
		words, refs = append(words, ref.String()), append(refs, ref)
	}
	views, err := s.Prices.List(c.UserContext(), refs)
	if err != nil {
		return err
	}
	data := pricesData{Prices: []priceData{}, Missing: []string{}}
	var met []wallet.Token // the same token may be named in several ways
	for i, view := range views {
		if slices.Contains(met, view.Token) {
			continue
		}
		met = append(met, view.Token)
		if !view.Known() {
			data.Missing = append(data.Missing, words[i])
			continue
		}
		data.Prices = append(data.Prices, s.priceOf(view))
	}
	return s.succeed(c, fiber.StatusOK, "done.prices", data)
}

// priceOf renders a price that is known.
func (s *Server) priceOf(v handlers.PriceView) priceData {
	d := priceData{Token: v.Token.Name(), Listed: v.Token.Symbol != "", PriceUSD: v.Price.Price.String(), Source: v.Price.Source,
		UpdatedAt: wallet.Timestamp(v.Price.At), AgeSeconds: max(0, int64(s.Now().Sub(v.Price.At)/time.Second)), Stale: v.Stale}
	if !v.Token.Native() {
		d.Mint = v.Token.Mint.String()
	}
	if change := v.Price.Change24h; change != nil {
		d.Change24hPercent = change.String()
	}
	if other := v.Price.Disagrees; other != nil {
		d.Disagrees = &disagreesData{Source: other.Source, PriceUSD: other.Price.String()}
	}
	return d
}

// priceHistoryData is `data` of GET /v1/prices/{token}/history: at most 300 points, oldest first.
type priceHistoryData struct {
	Token  string           `json:"token"`
	Mint   string           `json:"mint"`
	Span   string           `json:"span"`
	Points []pricePointData `json:"points"`
}

type pricePointData struct {
	At       string `json:"at"`
	PriceUSD string `json:"price_usd"`
}

// priceSpans returns the values of span with their length.
func priceSpans() map[string]time.Duration {
	const day = 24 * time.Hour
	return map[string]time.Duration{"1h": time.Hour, usualSpan: day, "7d": 7 * day, "30d": 30 * day, "365d": 365 * day}
}

// usualSpan is the span of a request that names none.
const usualSpan = "24h"

// priceHistory is GET /v1/prices/{token}/history?span=.
func (s *Server) priceHistory(c *fiber.Ctx, _ wallet.Key) error {
	q, err := query(c, "span")
	if err != nil {
		return err
	}
	name := q["span"]
	if name == "" {
		name = usualSpan
	}
	span, ok := priceSpans()[name]
	if !ok {
		return bad("span", "body.one_of", wallet.ListArg("Choices", []string{"1h", "24h", "7d", "30d", "365d"}))
	}
	ref, err := wallet.ParseTokenRef(c.Params("token"))
	if err != nil {
		return err
	}
	view, err := s.Prices.Price(c.UserContext(), ref)
	if err != nil {
		return err
	}
	points, err := s.Prices.Chart(c.UserContext(), view.Token, span)
	if err != nil {
		return err
	}
	data := priceHistoryData{Token: view.Token.Name(), Span: name, Points: []pricePointData{}}
	if !view.Token.Native() {
		data.Mint = view.Token.Mint.String()
	}
	for _, point := range points {
		data.Points = append(data.Points, pricePointData{At: wallet.Timestamp(point.At), PriceUSD: point.Price.String()})
	}
	return s.succeed(c, fiber.StatusOK, "done.price_history", data)
}

// poolsData is `data` of GET /v1/pools. Everything in it is what the source says.
type poolsData struct {
	Token     string     `json:"token"`
	Mint      string     `json:"mint"`
	Source    string     `json:"source"` // "" if this service asks nobody about pools
	UpdatedAt string     `json:"updated_at"`
	Pools     []poolData `json:"pools"` // the deepest first, at most 20
}

type poolData struct {
	Address      wallet.Address `json:"address"`
	DEX          string         `json:"dex"`         // "" if it is not known
	QuoteToken   string         `json:"quote_token"` // what it is traded against: the symbol of a listed token, otherwise its mint
	PriceUSD     string         `json:"price_usd"`   // "" if it is not known, as are the next two
	LiquidityUSD string         `json:"liquidity_usd"`
	VolumeUSD    string         `json:"volume_24h_usd"`
	CreatedAt    string         `json:"created_at"` // "" if it is not known
	URL          string         `json:"url"`
}

// pools is GET /v1/pools?token=.
func (s *Server) pools(c *fiber.Ctx, _ wallet.Key) error {
	q, err := query(c, "token")
	if err != nil {
		return err
	}
	if q["token"] == "" {
		return bad("token", "body.missing")
	}
	ref, err := wallet.ParseTokenRef(q["token"])
	if err != nil {
		return err
	}
	found, err := s.Prices.Pools(c.UserContext(), ref)
	if err != nil {
		return err
	}
	data := poolsData{Token: found.Token.Name(), Source: found.Source, UpdatedAt: wallet.Timestamp(found.At), Pools: []poolData{}}
	if !found.Token.Native() {
		data.Mint = found.Token.Mint.String()
	}
	for _, p := range found.Pools {
		data.Pools = append(data.Pools, poolData{Address: p.Address, DEX: p.DEX, QuoteToken: p.With.Name(), PriceUSD: p.Price.String(),
			LiquidityUSD: p.Liquidity.String(), VolumeUSD: p.Volume24h.String(), CreatedAt: stamp(p.CreatedAt), URL: p.URL})
	}
	return s.succeed(c, fiber.StatusOK, "done.pools", data)
}
