// Package market is the token market of the sandbox: prices that move, their history, and tokens that look alike. It
// answers over HTTP as Jupiter (prices, token search, swaps), GeckoTerminal (pools, candles) and Frankfurter (rates of currencies) do, so
// that a client of theirs works against it. It also serves a feed of news (RSS). It imports nothing of the product and holds no money: swaps happen on the cluster (Exchange).
//
// Open returns a Market. Its Handler serves the providers' paths and, under /sandbox/, its knobs. Prices follow from a
// seed, the clock and the changes that somebody made with Set, Jump and Unprice, which a journal keeps. So the price of
// any past moment can be computed again, and a candle, a 24-hour change and a price always agree. SetFault makes a
// provider fail, SetLimit changes how many calls it allows.
//
// A request takes this way through the files: server.go counts it against the limit and applies a fault, jupiter.go or
// geckoterminal.go answers it, history.go and walk.go know the price at each moment, tokens.go lists the tokens and
// pools. fixed.go prints numbers as the providers do. What differs from them is listed in docs/sandbox-differences.md.
package market

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options say what a market trades. Now and Mint are required.
type Options struct {
	Now  func() time.Time
	Seed string // equal seeds give equal prices
	Dir  string // folder of the journal; "": in memory only
	// Mint returns the mint address of a token, or the address of a pool, by a name that never changes. The names USDC
	// and FEE are tokens of the sandbox's cluster; the others exist in this market only.
	Mint func(name string) string
	// Block returns the newest slot of the cluster. nil: 0.
	Block func() uint64
	// Exchange is where swaps happen. nil: there are none.
	Exchange Exchange
}

// Market is a running market. Its methods are safe for concurrent use. mu guards the fields below it.
type Market struct {
	opt    Options
	born   time.Time // when the market was made; ages of tokens and pools count from here
	tokens []*token
	pools  []*pool

	mu      sync.Mutex
	changes map[string][]change // by mint, in the order of time
	faults  map[string]*Fault   // by provider
	limits  map[string]*limit   // by provider
	quotes  string              // how quotes are answered (SetQuotes)
	journal *journal
}

// Errors of Set, Jump and Unprice.
var (
	// ErrUnknownToken says that a name is no symbol and no mint of this market, or that several tokens have it.
	ErrUnknownToken = errors.New("no single token of this market has this name")
	// ErrPrice says that a text is no price, or that a change leads out of the bounds of one.
	ErrPrice = errors.New("a price is a decimal from 0.000000000001 to 1000000 dollars")
	// ErrUnpriced says that a token has no price that could move.
	ErrUnpriced = errors.New("this token has no price; set one first")
	// ErrTooMany says that a token's price was changed maxChanges times.
	ErrTooMany = errors.New("the price of this token was changed too often; start over with a new sandbox")
)

// maxChanges bounds how often somebody may change the price of one token, because every change is kept.
const maxChanges = 10_000

// Open makes a market, or continues the one that Dir holds. Callers must Close it.
func Open(o Options) (*Market, error) {
	m := &Market{
		opt: o, changes: map[string][]change{}, faults: map[string]*Fault{},
		limits: map[string]*limit{Jupiter: {most: perMinute}, GeckoTerminal: {most: perMinute}, Frankfurter: {most: perMinute}},
	}
	var err error
	if m.journal, m.born, err = openJournal(o.Dir, o.Now().UTC(), m.changes); err != nil {
		return nil, err
	}
	m.tokens = listTokens(o.Mint)
	for _, t := range m.tokens {
		t.walk = newWalk(seedOf(o.Seed, t.id), t.amplitude)
		if t.plunge {
			t.walk.plungeAt = tickOf(m.born.Add(-plungedBefore))
		}
	}
	m.pools = listPools(o.Mint, m.tokens)
	return m, nil
}

// Close ends the journal. No other method may be called afterwards.
func (m *Market) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.journal.close()
}

// seedOf derives the randomness of one token or pool, so that tokens do not move alike.
func seedOf(seed, id string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "sandbox market %q %s", seed, id))
	return binary.LittleEndian.Uint64(sum[:])
}

// Quote is a token with its present price, as people see it.
type Quote struct {
	Mint     string
	Symbol   string
	Name     string
	Verified bool
	Price    string // decimal of dollars; "": none
	Change   string // over 24 hours, in percent with two decimals and a sign; "": not known
}

// Quotes lists all tokens. The order does not change.
func (m *Market) Quotes() []Quote {
	now := m.opt.Now()
	var out []Quote
	for _, t := range m.tokens {
		q := Quote{Mint: t.mint, Symbol: t.symbol, Name: t.name, Verified: t.verified}
		h := m.history(t)
		if price := h.at(now); price != 0 {
			q.Price = price.String()
		}
		if change, ok := h.change(now, 24*time.Hour); ok {
			q.Change = signed(change)
		}
		out = append(out, q)
	}
	return out
}

// Set sets the price of a token from now on: a decimal of dollars, as in "151.5". The token is named by its mint or by
// its symbol. Later the price moves on from there, and what it was before stays as it was.
func (m *Market) Set(name, price string) error {
	p, err := parsePrice(price)
	if err != nil {
		return err
	}
	return m.change(name, func(dollars) (dollars, error) { return p, nil })
}

// Jump changes the price of a token by so many percent: -10 takes a tenth off.
func (m *Market) Jump(name string, percent int) error {
	return m.change(name, func(now dollars) (dollars, error) {
		if now == 0 {
			return 0, ErrUnpriced
		}
		if percent <= -100 || percent > maxJump {
			return 0, fmt.Errorf("%w: a price falls by less than 100 percent and rises by %d at most", ErrPrice, maxJump)
		}
		p := dollars(mulDiv(uint64(now), uint64(100+percent), 100))
		if p == 0 || p > maxPrice {
			return 0, ErrPrice
		}
		return p, nil
	})
}

// maxJump bounds Jump, in percent.
const maxJump = 100_000

// Unprice takes a token's price away, until somebody sets one. Its pools stand still.
func (m *Market) Unprice(name string) error {
	return m.change(name, func(dollars) (dollars, error) { return 0, nil })
}

// change gives a token another price from now on, and keeps that in the journal.
func (m *Market) change(name string, to func(now dollars) (dollars, error)) error {
	t, err := m.find(name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.changes[t.mint]
	if len(before) >= maxChanges {
		return ErrTooMany
	}
	at := m.opt.Now().UTC()
	if n := len(before); n > 0 && at.Before(before[n-1].At) {
		at = before[n-1].At // the clock went back; changes stay in the order in which they were made
	}
	p, err := to(history{t, m.born, before}.at(at))
	if err != nil {
		return err
	}
	c := change{Mint: t.mint, At: at, Price: p}
	if err := m.journal.write(c); err != nil {
		return err
	}
	m.changes[t.mint] = append(before, c)
	return nil
}

// find finds a token by its mint, or by its symbol if one token alone has it, or one verified token alone.
func (m *Market) find(name string) (*token, error) {
	var found, verified []*token
	for _, t := range m.tokens {
		if t.mint == name {
			return t, nil
		}
		if strings.EqualFold(t.symbol, name) {
			found = append(found, t)
			if t.verified {
				verified = append(verified, t)
			}
		}
	}
	switch {
	case len(verified) == 1:
		return verified[0], nil
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("%w: several tokens are called %s: name one by its mint", ErrUnknownToken, found[0].symbol)
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownToken, name)
}

// byMint finds a token by its mint address; nil if there is none.
func (m *Market) byMint(mint string) *token {
	if i := slices.IndexFunc(m.tokens, func(t *token) bool { return t.mint == mint }); i >= 0 {
		return m.tokens[i]
	}
	return nil
}

// history returns all prices of a token, as far as they are known now.
func (m *Market) history(t *token) history {
	m.mu.Lock()
	defer m.mu.Unlock()
	return history{t, m.born, m.changes[t.mint]} // changes are only appended, so the slice may be read without mu
}

// block is the newest slot of the cluster.
func (m *Market) block() uint64 {
	if m.opt.Block == nil {
		return 0
	}
	return m.opt.Block()
}
