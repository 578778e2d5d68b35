package market

import (
	"slices"
	"time"
)

// The programs that mints belong to.
const (
	tokenProgram     = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	token2022Program = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb"
	wrappedSOL       = "So11111111111111111111111111111111111111112"
)

// SOL is the name that Options.Mint is not asked for: wrapped SOL has the same mint everywhere.
const SOL = "SOL"

// token is a mint of this market. It does not change after Open.
type token struct {
	id        string // its name for Options.Mint and for its randomness
	mint      string
	symbol    string
	name      string
	decimals  uint8
	program   string
	price     dollars // the middle of its walk; 0: nobody trades it
	amplitude int64   // of its walk's shortest wave, in 1/walkUnit
	plunge    bool    // it fell by 40 percent, three hours before the market was made
	age       time.Duration
	supply    uint64 // whole tokens
	holders   uint64
	verified  bool
	mintable  bool // somebody can still mint it
	freezable bool // somebody can freeze accounts
	suspect   bool
	tags      []string
	walk      *walk
}

// plungedBefore is how long before the birth of the market a plunge began.
const plungedBefore = 3 * time.Hour

const day = 24 * time.Hour

// listTokens is the list of tokens. It has what a client must tell apart: an impostor that shares a symbol with a
// verified token, two unverified tokens of one symbol, one that nobody trades, one so cheap that its price is printed
// with an exponent, one that is younger than a day, and one that lost 40 percent, whose name holds another one's symbol.
func listTokens(mint func(string) string) []*token {
	verified := []string{"verified", "strict"}
	tokens := []*token{
		{id: SOL, symbol: "SOL", name: "Wrapped SOL", decimals: 9, price: 150 * oneDollar, amplitude: 100_000,
			age: 400 * day, supply: 545_000_000, holders: 3_820_662, verified: true, tags: verified},
		{id: "USDC", symbol: "USDC", name: "USD Coin", decimals: 6, price: oneDollar, amplitude: 400,
			age: 400 * day, supply: 8_000_000_000, holders: 5_248_202, verified: true, mintable: true, freezable: true, tags: []string{"verified", "strict", "stable"}},
		{id: "FEE", symbol: "FEE", name: "Fee Token", decimals: 6, program: token2022Program, price: oneDollar / 2, amplitude: 150_000,
			age: 120 * day, supply: 40_000_000, holders: 1_204, verified: true, mintable: true, freezable: true, tags: verified},
		{id: "BEAN", symbol: "BEAN", name: "Magic Bean", decimals: 5, price: oneDollar / 1_000_000 * 2, amplitude: 250_000,
			age: 200 * day, supply: 88_000_000_000, holders: 402_118, verified: true, tags: []string{"verified", "community", "meme"}},
		{id: "DIP", symbol: "DIP", name: "Dip to the Moon", decimals: 6, price: oneDollar / 100 * 240, amplitude: 10_000, plunge: true,
			age: 90 * day, supply: 12_000_000, holders: 9_480, verified: true, tags: verified},
		{id: "USDC impostor", symbol: "USDC", name: "USD Coin", decimals: 6, price: oneDollar / 2_500, amplitude: 300_000,
			age: 9 * day, supply: 1_000_000_000, holders: 41, mintable: true, freezable: true, suspect: true},
		{id: "MOON", symbol: "MOON", name: "Moon", decimals: 6, price: oneDollar / 1_000 * 31, amplitude: 300_000,
			age: 30 * day, supply: 100_000_000, holders: 2_893, tags: []string{"meme"}},
		{id: "MOON two", symbol: "MOON", name: "Moon 2.0", decimals: 9, price: oneDollar / 1_000_000 * 704, amplitude: 500_000,
			age: 5 * time.Hour, supply: 1_000_000_000, holders: 212, mintable: true},
		{id: "GHOST", symbol: "GHOST", name: "Ghost", decimals: 0, age: 60 * day, supply: 10_000, holders: 12, mintable: true},
	}
	for _, t := range tokens {
		if t.mint = wrappedSOL; t.id != SOL {
			t.mint = mint(t.id)
		}
		if t.program == "" {
			t.program = tokenProgram
		}
	}
	return tokens
}

// micros is an amount in millionths of a US dollar.
type micros = uint64

const million = 1_000_000 * 1_000_000 // a million dollars, in micros

// pool is a place where two tokens are exchanged. It does not change after Open.
type pool struct {
	address     string
	base, quote *token
	dex         dex
	reserve     micros // what lies in it, both sides together
	daily       micros // volume of a usual day
	every       uint64 // somebody trades in one of so many ticks
	age         time.Duration
	seed        uint64 // of who trades when, and how much
}

// dex is an exchange: its id in the API, and its name for people.
type dex struct{ id, name string }

// listPools is the list of pools, the deepest first. Thin ones have minutes in which nobody trades.
func listPools(address func(string) string, tokens []*token) []*pool {
	sand, dune := dex{"sandswap", "Sandswap"}, dex{"dune-amm", "Dune AMM"}
	rows := []struct {
		base, quote    string
		dex            dex
		reserve, daily micros
		every          uint64
		age            time.Duration
	}{
		{SOL, "USDC", sand, 42 * million, 180 * million, 1, 400 * day},
		{SOL, "USDC", dune, 17 * million, 35 * million, 1, 220 * day},
		{"BEAN", SOL, sand, 3 * million, 6 * million, 1, 200 * day},
		{"DIP", "USDC", sand, million, million * 4 / 10, 2, 90 * day},
		{"FEE", "USDC", dune, million / 2, million / 10, 3, 120 * day},
		{"BEAN", "USDC", dune, million / 5, million / 9, 4, 80 * day},
		{"MOON", SOL, sand, million / 16, million / 40, 12, 30 * day},
		{"MOON two", SOL, dune, million / 80, million / 20, 8, 5 * time.Hour},
		{"USDC impostor", SOL, dune, million / 8_000, million / 25_000, 240, 9 * day},
	}
	named := func(id string) *token {
		return tokens[slices.IndexFunc(tokens, func(t *token) bool { return t.id == id })]
	}
	var pools []*pool
	for _, r := range rows {
		id := "pool " + r.base + " " + r.quote + " " + r.dex.id
		pools = append(pools, &pool{address: address(id), base: named(r.base), quote: named(r.quote), dex: r.dex,
			reserve: r.reserve, daily: r.daily, every: r.every, age: r.age, seed: seedOf("pool", id)})
	}
	return pools
}

// has says whether a token is one side of the pool.
func (p *pool) has(t *token) bool { return p.base == t || p.quote == t }

// trades is how much is traded in a tick, in micros, and by how many purchases and sales. Most ticks of a thin pool
// have none. It does not depend on prices.
func (p *pool) trades(tick int64) (volume micros, buys, sells int) {
	h := mix(p.seed, uint64(tick))
	if h%p.every != 0 {
		return 0, 0, 0
	}
	// A trade is between half and one and a half times the usual one.
	usual := p.daily / uint64(day/tickLength) * p.every
	buys = int(h >> 40 & 3)
	return usual * (512 + h>>20&1023) / 1024, buys, 3 - buys + int(h>>44&1)
}
