package market

import (
	"cmp"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Limits of Jupiter's calls.
const (
	maxIDs        = 50  // mints in a call for prices
	maxMints      = 100 // mints in a search
	maxFound      = 20  // tokens that a search by name returns
	maxQueryBytes = 8 << 10
)

// priceRow is the value of a mint in the answer of /price/v3.
type priceRow struct {
	CreatedAt string  `json:"createdAt"`
	Liquidity number  `json:"liquidity"`
	USDPrice  number  `json:"usdPrice"`
	BlockID   uint64  `json:"blockId"`
	Decimals  uint8   `json:"decimals"`
	Change24h *number `json:"priceChange24h"` // in percent; null for a token that had no price then
}

// servePrices is GET /price/v3. Mints without a price are absent, as unknown ones are.
func (m *Market) servePrices(r *http.Request, now time.Time) (any, *refusal) {
	text := r.URL.Query().Get("ids")
	if text == "" || len(text) > maxQueryBytes {
		return nil, badRequest(Jupiter, "ids must be 1 to 50 mint addresses")
	}
	ids := strings.Split(text, ",")
	if len(ids) > maxIDs {
		return nil, badRequest(Jupiter, "Too many ids requested, the most is 50")
	}
	rows := map[string]priceRow{}
	for _, id := range ids {
		t := m.byMint(strings.TrimSpace(id))
		if t == nil {
			continue
		}
		h := m.history(t)
		price := h.at(now)
		if price == 0 {
			continue
		}
		rows[t.mint] = priceRow{CreatedAt: stamp(h.since()), Liquidity: rust(m.liquidity(t, now), 6), USDPrice: rust(uint64(price), priceDecimals),
			BlockID: m.block(), Decimals: t.decimals, Change24h: changeNumber(h, now, day)}
	}
	return rows, nil
}

// changeNumber is a change as Jupiter prints it; nil if it is not known.
func changeNumber(h history, now time.Time, over time.Duration) *number {
	change, ok := h.change(now, over)
	if !ok {
		return nil
	}
	n := minus(change, func(units uint64) number { return rust(units, percentScale) })
	return &n
}

// stamp prints a time as Jupiter does.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// liquidity is what lies in the pools of a token that exist.
func (m *Market) liquidity(t *token, now time.Time) (sum micros) {
	for _, p := range m.pools {
		if p.has(t) && !now.Before(m.born.Add(-p.age)) {
			sum += p.reserve
		}
	}
	return sum
}

// tokenRow is a token in the answer of /tokens/v2/search.
type tokenRow struct {
	ID           string     `json:"id"`
	Name         string     `json:"name"`
	Symbol       string     `json:"symbol"`
	Icon         *string    `json:"icon"` // null: there are no pictures here
	Decimals     uint8      `json:"decimals"`
	CircSupply   number     `json:"circSupply"`
	TotalSupply  number     `json:"totalSupply"`
	TokenProgram string     `json:"tokenProgram"`
	FirstPool    *firstPool `json:"firstPool,omitempty"`
	HolderCount  uint64     `json:"holderCount"`
	Audit        audit      `json:"audit"`
	OrganicScore number     `json:"organicScore"`
	OrganicLabel string     `json:"organicScoreLabel"`
	Verified     bool       `json:"isVerified"`
	Tags         []string   `json:"tags"`
	FDV          *number    `json:"fdv,omitempty"`
	MarketCap    *number    `json:"mcap,omitempty"`
	USDPrice     *number    `json:"usdPrice,omitempty"`
	PriceBlockID *uint64    `json:"priceBlockId,omitempty"`
	Liquidity    *number    `json:"liquidity,omitempty"`
	Stats5m      *stats     `json:"stats5m,omitempty"`
	Stats1h      *stats     `json:"stats1h,omitempty"`
	Stats6h      *stats     `json:"stats6h,omitempty"`
	Stats24h     *stats     `json:"stats24h,omitempty"`
	UpdatedAt    string     `json:"updatedAt"`
}

type firstPool struct {
	ID        string `json:"id"`
	CreatedAt string `json:"createdAt"`
}

// audit has only the facts that hold: a flag that is false is absent, as at Jupiter.
type audit struct {
	Suspect        bool   `json:"isSus,omitempty"`
	MintDisabled   bool   `json:"mintAuthorityDisabled,omitempty"`
	FreezeDisabled bool   `json:"freezeAuthorityDisabled,omitempty"`
	TopHolders     number `json:"topHoldersPercentage"`
}

// stats is what happened to a token in a span of time.
type stats struct {
	PriceChange *number `json:"priceChange,omitempty"`
	BuyVolume   number  `json:"buyVolume"`
	SellVolume  number  `json:"sellVolume"`
	Buys        int     `json:"numBuys"`
	Sells       int     `json:"numSells"`
}

// serveSearch is GET /tokens/v2/search: by mints, or by a part of symbol or name.
func (m *Market) serveSearch(r *http.Request, now time.Time) (any, *refusal) {
	query := strings.TrimSpace(r.URL.Query().Get("query"))
	if query == "" || len(query) > maxQueryBytes {
		return nil, badRequest(Jupiter, "query is required")
	}
	parts := strings.Split(query, ",")
	if len(parts) > maxMints {
		return nil, badRequest(Jupiter, "query has more than 100 mints")
	}
	var found []*token
	for _, part := range parts {
		if t := m.byMint(strings.TrimSpace(part)); t != nil && !slices.Contains(found, t) {
			found = append(found, t)
		}
	}
	if len(found) == 0 {
		found = m.search(query, now)
	}
	rows := []tokenRow{}
	for _, t := range found {
		rows = append(rows, m.row(t, now))
	}
	return rows, nil
}

// search finds tokens by a part of their symbol or name. Whole symbols come first, then verified tokens, then deep ones.
func (m *Market) search(query string, now time.Time) (found []*token) {
	query = strings.ToLower(query)
	for _, t := range m.tokens {
		if strings.Contains(strings.ToLower(t.symbol), query) || strings.Contains(strings.ToLower(t.name), query) {
			found = append(found, t)
		}
	}
	rank := func(t *token) int {
		n := 0
		if strings.EqualFold(t.symbol, query) {
			n += 2
		}
		if t.verified {
			n++
		}
		return n
	}
	slices.SortStableFunc(found, func(a, b *token) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(m.liquidity(b, now), m.liquidity(a, now)))
	})
	return found[:min(len(found), maxFound)]
}

// row describes a token. A token without a price has no value either.
func (m *Market) row(t *token, now time.Time) tokenRow {
	row := tokenRow{ID: t.mint, Name: t.name, Symbol: t.symbol, Decimals: t.decimals, TokenProgram: t.program,
		CircSupply: number(decimal(t.supply, 0) + ".0"), TotalSupply: number(decimal(t.supply, 0) + ".0"), HolderCount: t.holders,
		Audit:        audit{Suspect: t.suspect, MintDisabled: !t.mintable, FreezeDisabled: !t.freezable, TopHolders: rust(100_000/(t.holders+1_000)+1, 0)},
		OrganicScore: "0.0", OrganicLabel: "low", Verified: t.verified, Tags: t.tags, UpdatedAt: stamp(now)}
	if row.Tags == nil {
		row.Tags = []string{}
	}
	if t.verified {
		row.OrganicScore, row.OrganicLabel = "96.5", "high"
	}
	for _, p := range m.pools { // the oldest one
		if created := m.born.Add(-p.age); p.has(t) && (row.FirstPool == nil || stamp(created) < row.FirstPool.CreatedAt) {
			row.FirstPool = &firstPool{p.address, stamp(created)}
		}
	}
	h := m.history(t)
	price := h.at(now)
	if price == 0 {
		return row
	}
	pointer := func(n number) *number { return &n }
	block := m.block()
	value := number(cents(worth(price, t.supply)))
	row.FDV, row.MarketCap = &value, &value
	row.USDPrice, row.PriceBlockID = pointer(rust(uint64(price), priceDecimals)), &block
	row.Liquidity = pointer(rust(m.liquidity(t, now), 6))
	row.Stats5m, row.Stats1h = m.stats(h, now, 5*time.Minute), m.stats(h, now, time.Hour)
	row.Stats6h, row.Stats24h = m.stats(h, now, 6*time.Hour), m.stats(h, now, day)
	return row
}

// stats adds up the pools of a token. Half of the volume counts as bought.
func (m *Market) stats(h history, now time.Time, over time.Duration) *stats {
	s := &stats{PriceChange: changeNumber(h, now, over)}
	volume := new(big.Int)
	for _, p := range m.pools {
		if p.has(h.token) {
			a := m.activity(p, now, over)
			volume.Add(volume, new(big.Int).SetUint64(a.volume))
			s.Buys, s.Sells = s.Buys+a.buys, s.Sells+a.sells
		}
	}
	bought := new(big.Int).Rsh(volume, 1).Uint64() // all pools of a day trade far less than 2^64 micros
	s.BuyVolume, s.SellVolume = rust(bought, 6), rust(volume.Uint64()-bought, 6)
	return s
}
