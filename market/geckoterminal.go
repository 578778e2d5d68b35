package market

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"purser/wallet"
)

// GeckoTerminal is the API of geckoterminal.com: pools of tokens, and what traded there. It needs no key. Its documentation:
// https://apiguide.geckoterminal.com (read in November 2026).
type GeckoTerminal struct {
	api *provider

	mu   sync.Mutex
	deep map[wallet.Address]knownPool // the deepest pool of a token, for candles
}

// knownPool is a pool and when it was read.
type knownPool struct {
	pool Pool
	at   time.Time
}

const (
	geckoTerminalURL = "https://api.geckoterminal.com"
	geckoCalls       = 30                 // a minute, without a key
	poolKept         = time.Hour          // how long the deepest pool of a token is remembered
	maxPools         = 20                 // of one token that are returned
	maxPoolsKept     = 10_000             // of these
	maxCandles       = 1000               // in an answer
	geckoNetwork     = "solana"           // the id of Solana there
	geckoTokenPrefix = geckoNetwork + "_" // before the address of a token or pool in an id
)

// NewGeckoTerminal returns a source of pools and candles.
func NewGeckoTerminal(o Options) *GeckoTerminal {
	if o.URL == "" {
		o.URL = geckoTerminalURL
	}
	if o.PerMinute == 0 {
		o.PerMinute = geckoCalls
	}
	return &GeckoTerminal{api: newProvider("geckoterminal", "", o, budget{o.PerMinute, time.Minute})}
}

// Pool is a place where a token is traded against another one.
type Pool struct {
	Address   wallet.Address
	DEX       string         // its id at the source, such as "raydium"
	Base      wallet.Address // the two mints; wrapped SOL stands for SOL
	Quote     wallet.Address
	Price     wallet.Price // of the token that was asked about, in US dollars
	Liquidity wallet.Worth // of both sides
	Volume24h wallet.Worth
	CreatedAt time.Time // zero if it is not known
	Source    string
	URL       string // of the page that shows the pool
}

// Pools returns the pools of a token, the deepest first, at most 20. Tokens that nobody trades have none. The error is an
// *UnavailableError, or of ctx.
func (g *GeckoTerminal) Pools(ctx context.Context, priority Priority, mint wallet.Address) ([]Pool, error) {
	mint = ProviderMint(mint)
	var answer struct {
		Data []json.RawMessage `json:"data"`
	}
	err := g.api.get(ctx, priority, "/api/v2/networks/"+geckoNetwork+"/tokens/"+mint.String()+"/pools", url.Values{"page": {"1"}}, &answer)
	if err != nil {
		return nil, err
	}
	var out []Pool
	for _, raw := range answer.Data {
		if pool, ok := g.pool(raw, mint); ok {
			out = append(out, pool)
		}
	}
	slices.SortStableFunc(out, func(a, b Pool) int { return cmpWorth(b.Liquidity, a.Liquidity) })
	out = out[:min(len(out), maxPools)]
	return out, nil
}

// cmpWorth compares two values; one that is unknown is the smaller one.
func cmpWorth(a, b wallet.Worth) int {
	x, y := a.USD, b.USD
	if a.Unknown {
		x = 0
	}
	if b.Unknown {
		y = 0
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// pool reads one pool of an answer; false for what is none of the token. A pool that is shown in another form hides no other.
func (g *GeckoTerminal) pool(raw json.RawMessage, mint wallet.Address) (p Pool, ok bool) {
	type reference struct {
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	var row struct {
		Attributes struct {
			Address    string `json:"address"`
			BasePrice  number `json:"base_token_price_usd"`
			QuotePrice number `json:"quote_token_price_usd"`
			Created    string `json:"pool_created_at"`
			Reserve    number `json:"reserve_in_usd"`
			Volume     struct {
				Day number `json:"h24"`
			} `json:"volume_usd"`
		} `json:"attributes"`
		Relationships struct {
			Base  reference `json:"base_token"`
			Quote reference `json:"quote_token"`
			DEX   reference `json:"dex"`
		} `json:"relationships"`
	}
	if json.Unmarshal(raw, &row) != nil {
		return p, false
	}
	a, r := row.Attributes, row.Relationships
	var err error
	if p.Address, err = wallet.ParseAddress(a.Address); err != nil {
		return p, false
	}
	base, errBase := tokenOf(r.Base.Data.ID)
	quote, errQuote := tokenOf(r.Quote.Data.ID)
	if errBase != nil || errQuote != nil || base != mint && quote != mint || base == quote {
		return p, false
	}
	p.Base, p.Quote = base, quote
	text := a.BasePrice
	if quote == mint {
		text = a.QuotePrice
	}
	if p.Price, err = wallet.ParsePrice(string(text)); err != nil {
		p.Price = wallet.Price{}
	}
	p.Liquidity, p.Volume24h = worthOf(a.Reserve), worthOf(a.Volume.Day)
	p.CreatedAt, _ = time.Parse(time.RFC3339, a.Created) // not known otherwise
	if p.DEX = r.DEX.Data.ID; len(p.DEX) > 40 || strings.Trim(p.DEX, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		p.DEX = ""
	}
	p.Source, p.URL = g.api.name, "https://www.geckoterminal.com/"+geckoNetwork+"/pools/"+p.Address.String()
	return p, true
}

// tokenOf reads the id of a token: "solana_" and its mint.
func tokenOf(id string) (wallet.Address, error) {
	return wallet.ParseAddress(strings.TrimPrefix(id, geckoTokenPrefix))
}

// worthOf reads an amount of US dollars, rounded down to a millionth; unknown if it is none.
func worthOf(n number) wallet.Worth {
	d, err := wallet.ParseNumber(string(n))
	if err != nil {
		return wallet.Worth{Unknown: true}
	}
	whole, fraction, _ := strings.Cut(d.String(), ".")
	const decimals = 6
	micros, err := strconv.ParseUint(whole+(fraction + "000000")[:decimals], 10, 64)
	if err != nil {
		return wallet.Worth{Unknown: true}
	}
	return wallet.Worth{USD: wallet.USD(micros)}
}

// PastPrices reads the closing prices of candles in the deepest pool of a token (GET …/pools/{address}/ohlcv/{timeframe}).
func (g *GeckoTerminal) PastPrices(ctx context.Context, priority Priority, mint wallet.Address, since, until time.Time, step time.Duration) ([]wallet.PricePoint, error) {
	pool, ok, err := g.deepest(ctx, priority, mint)
	if err != nil || !ok {
		return nil, err
	}
	timeframe, aggregate, each := "day", 1, 24*time.Hour
	switch {
	case step < 5*time.Minute:
		timeframe, each = "minute", time.Minute
	case step < time.Hour:
		timeframe, aggregate, each = "minute", 5, 5*time.Minute
	case step < 4*time.Hour:
		timeframe, each = "hour", time.Hour
	case step < 24*time.Hour:
		timeframe, aggregate, each = "hour", 4, 4*time.Hour
	}
	limit := min(maxCandles, int(until.Sub(since)/each)+2)
	side := "base"
	if pool.Quote == ProviderMint(mint) {
		side = "quote"
	}
	var answer struct {
		Data struct {
			Attributes struct {
				Candles []json.RawMessage `json:"ohlcv_list"` // [Unix seconds, open, high, low, close, volume], the newest first
			} `json:"attributes"`
		} `json:"data"`
	}
	query := url.Values{"aggregate": {strconv.Itoa(aggregate)}, "limit": {strconv.Itoa(limit)}, "currency": {"usd"}, "token": {side},
		"before_timestamp": {strconv.FormatInt(until.Unix(), 10)}}
	path := fmt.Sprintf("/api/v2/networks/%s/pools/%s/ohlcv/%s", geckoNetwork, pool.Address, timeframe)
	if err := g.api.get(ctx, priority, path, query, &answer); err != nil {
		return nil, err
	}
	var out []wallet.PricePoint
	for _, raw := range answer.Data.Attributes.Candles[:min(len(answer.Data.Attributes.Candles), maxCandles)] {
		var row []number
		if json.Unmarshal(raw, &row) != nil || len(row) < 5 {
			continue
		}
		seconds, errTime := strconv.ParseInt(string(row[0]), 10, 64)
		price, errPrice := wallet.ParsePrice(string(row[4]))
		if errTime != nil || errPrice != nil {
			continue
		}
		if at := time.Unix(seconds, 0).UTC(); !at.Before(since) && at.Before(until) {
			out = append(out, wallet.PricePoint{At: at, Price: price})
		}
	}
	slices.SortFunc(out, func(a, b wallet.PricePoint) int { return a.At.Compare(b.At) })
	return slices.CompactFunc(out, func(a, b wallet.PricePoint) bool { return a.At.Equal(b.At) }), nil
}

// deepest returns the deepest pool of a token; false if it has none.
func (g *GeckoTerminal) deepest(ctx context.Context, priority Priority, mint wallet.Address) (Pool, bool, error) {
	g.mu.Lock()
	known, ok := g.deep[mint]
	g.mu.Unlock()
	if now := g.api.now(); !ok || now.Sub(known.at) >= poolKept {
		pools, err := g.Pools(ctx, priority, mint)
		if err != nil {
			return Pool{}, false, err
		}
		known = knownPool{at: now}
		if len(pools) > 0 {
			known.pool = pools[0]
		}
		g.mu.Lock()
		if g.deep == nil || len(g.deep) >= maxPoolsKept {
			g.deep = map[wallet.Address]knownPool{}
		}
		g.deep[mint] = known
		g.mu.Unlock()
	}
	return known.pool, !known.pool.Address.IsZero(), nil
}
