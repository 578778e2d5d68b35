package market

import (
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// network is the only network of this market.
const network = "solana"

// poolsPerPage is how many pools a page of the answer has, and maxPage the last page that is served without a key.
const (
	poolsPerPage = 20
	maxPage      = 10
)

// resource is an entry of a JSON:API answer.
type resource struct {
	ID            string `json:"id"`
	Type          string `json:"type"`
	Attributes    any    `json:"attributes,omitempty"`
	Relationships any    `json:"relationships,omitempty"`
}

// spans are the times over which pools tell what happened, by their names in the API.
var spans = []struct {
	name string
	over time.Duration
}{{"m5", 5 * time.Minute}, {"m15", 15 * time.Minute}, {"m30", 30 * time.Minute}, {"h1", time.Hour}, {"h6", 6 * time.Hour}, {"h24", day}}

// poolAttributes are those of a pool. All numbers are texts, and a price that is not known is null.
type poolAttributes struct {
	BasePrice    *string                   `json:"base_token_price_usd"`
	BaseNative   *string                   `json:"base_token_price_native_currency"`
	QuotePrice   *string                   `json:"quote_token_price_usd"`
	QuoteNative  *string                   `json:"quote_token_price_native_currency"`
	BaseInQuote  *string                   `json:"base_token_price_quote_token"`
	QuoteInBase  *string                   `json:"quote_token_price_base_token"`
	Address      string                    `json:"address"`
	Name         string                    `json:"name"`
	CreatedAt    string                    `json:"pool_created_at"`
	FDV          *string                   `json:"fdv_usd"`
	MarketCap    *string                   `json:"market_cap_usd"`
	Changes      map[string]string         `json:"price_change_percentage"`
	Transactions map[string]map[string]int `json:"transactions"`
	Volumes      map[string]string         `json:"volume_usd"`
	Reserve      string                    `json:"reserve_in_usd"`
}

// servePools is GET /api/v2/networks/solana/tokens/{mint}/pools: the pools of a token, the deepest first.
func (m *Market) servePools(r *http.Request, now time.Time) (any, *refusal) {
	t := m.byMint(r.PathValue("mint"))
	if r.PathValue("network") != network || t == nil {
		return nil, notFound()
	}
	page, ok := within(r, "page", 1, 1, maxPage)
	if !ok {
		return nil, badRequest(GeckoTerminal, "Invalid page")
	}
	var found []*pool
	for _, p := range m.pools {
		if p.has(t) && !now.Before(m.born.Add(-p.age)) {
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *pool) int { return int(int64(b.reserve) - int64(a.reserve)) })
	found = found[min(len(found), (page-1)*poolsPerPage):]
	found = found[:min(len(found), poolsPerPage)]
	data, included := []resource{}, []resource{}
	for _, p := range found {
		data = append(data, m.poolResource(p, now))
		for _, part := range strings.Split(r.URL.Query().Get("include"), ",") {
			var extra resource
			switch part {
			case "base_token":
				extra = tokenResource(p.base)
			case "quote_token":
				extra = tokenResource(p.quote)
			case "dex":
				extra = resource{ID: p.dex.id, Type: "dex", Attributes: object{"name": p.dex.name}}
			default:
				continue
			}
			if !slices.ContainsFunc(included, func(have resource) bool { return have.ID == extra.ID }) {
				included = append(included, extra)
			}
		}
	}
	if r.URL.Query().Get("include") == "" {
		return object{"data": data}, nil
	}
	return object{"data": data, "included": included}, nil
}

// within reads a whole number of the query. ok is false if it is none, or out of bounds.
func within(r *http.Request, name string, fallback, least, most int) (n int, ok bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return fallback, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= least && n <= most
}

// networkID is the id of a token or pool in GeckoTerminal's API.
func networkID(address string) string { return network + "_" + address }

// tokenResource describes a token of a pool.
func tokenResource(t *token) resource {
	return resource{ID: networkID(t.mint), Type: "token", Attributes: object{"address": t.mint, "name": t.name, "symbol": t.symbol,
		"decimals": t.decimals, "image_url": "missing.png", "coingecko_coin_id": nil}}
}

// poolResource describes a pool with its prices and what was traded.
func (m *Market) poolResource(p *pool, now time.Time) resource {
	base, quote, native := m.history(p.base), m.history(p.quote), m.byMint(wrappedSOL)
	basePrice, quotePrice, nativePrice := base.at(now), quote.at(now), m.history(native).at(now)
	a := poolAttributes{
		BasePrice: priceText(basePrice), BaseNative: ratioText(basePrice, nativePrice),
		QuotePrice: priceText(quotePrice), QuoteNative: ratioText(quotePrice, nativePrice),
		BaseInQuote: ratioText(basePrice, quotePrice), QuoteInBase: ratioText(quotePrice, basePrice),
		Address: p.address, Name: p.base.symbol + " / " + p.quote.symbol,
		CreatedAt: m.born.Add(-p.age).UTC().Format(time.RFC3339),
		Changes:   map[string]string{}, Transactions: map[string]map[string]int{}, Volumes: map[string]string{},
		Reserve: decimal(p.reserve, 6),
	}
	if basePrice != 0 {
		value := cents(worth(basePrice, p.base.supply))
		if a.FDV = &value; p.base.verified {
			a.MarketCap = &value
		}
	}
	for _, span := range spans {
		did := m.activity(p, now, span.over)
		a.Volumes[span.name] = decimal(did.volume, 6)
		a.Transactions[span.name] = map[string]int{"buys": did.buys, "sells": did.sells, "buyers": (did.buys + 1) / 2, "sellers": (did.sells + 1) / 2}
		// The change of a young pool is the one since it began, and 0 while nobody knows it.
		change, _ := base.change(now, min(span.over, now.Sub(m.born.Add(-p.age))))
		a.Changes[span.name] = percent(change, 3)
	}
	relation := func(id, kind string) object { return object{"data": resource{ID: id, Type: kind}} }
	return resource{ID: networkID(p.address), Type: "pool", Attributes: a, Relationships: object{
		"base_token": relation(networkID(p.base.mint), "token"), "quote_token": relation(networkID(p.quote.mint), "token"), "dex": relation(p.dex.id, "dex")}}
}

// priceText is a price as a text; nil for none.
func priceText(price dollars) *string { return ratioText(price, oneDollar) }

// ratioText is a price in units of another one, rounded down to 18 decimals; nil if one of them is not known.
func ratioText(price, in dollars) *string {
	if price == 0 || in == 0 {
		return nil
	}
	const decimals = 18
	v := new(big.Int).Mul(new(big.Int).SetUint64(uint64(price)), new(big.Int).Exp(big.NewInt(10), big.NewInt(decimals), nil))
	text := point(v.Quo(v, new(big.Int).SetUint64(uint64(in))).String(), decimals)
	return &text
}

// activity is what was traded in a pool.
type activity struct {
	volume      micros
	buys, sells int
}

// activity adds up the ticks that began in the time before a moment, that moment included. Nobody trades while one of the
// two tokens has no price.
func (m *Market) activity(p *pool, now time.Time, over time.Duration) (sum activity) {
	base, quote := m.history(p.base).reader(), m.history(p.quote).reader()
	from := now.Add(-over)
	if created := m.born.Add(-p.age); from.Before(created) {
		from = created
	}
	for tick := tickOf(from) + 1; tick <= tickOf(now); tick++ {
		at := tickTime(tick)
		volume, buys, sells := p.trades(tick)
		if buys+sells > 0 && base(at) != 0 && quote(at) != 0 {
			sum = activity{sum.volume + volume, sum.buys + buys, sum.sells + sells}
		}
	}
	return sum
}
