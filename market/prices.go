package market

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"purser/store"
	"purser/wallet"
)

// Prices knows what tokens cost. It samples the tokens that somebody holds or asked for, on one node at a time, and keeps
// what it learned in the store, where every node reads it. A command that needs another price asks the sources itself.
//
// A price is information: it may be old, wrong or missing, and nothing that is signed depends on it. No call waits longer
// than AskTimeout for a provider, and known prices are returned without a network call.
//
// The exported fields are set before Run and the other methods are called. Any number of goroutines may use it.
type Prices struct {
	Store   store.Store
	History store.PriceHistory
	Sources []Source // the preferred one first; none: no price is ever known
	Candles Candles  // fills the history of tokens that were not sampled; nil: nobody does
	Rates   Rates    // what a dollar costs in other currencies; nil: nobody says
	Tokens  *Tokens  // they are sampled first
	Node    string   // name of this node among those that share the store
	Now     func() time.Time
	Log     *slog.Logger

	asking  singleflight.Group // one call for the same tokens at a time
	filling singleflight.Group // one call for the history of a token at a time

	comparedAt time.Time // when the sources were last compared; only Sample uses it
	ratesDue   time.Time // when Rates is asked next; only Run uses it

	mu       sync.Mutex                            // guards what follows
	disputed map[wallet.Address]wallet.SourcePrice // which prices another source contradicted at the last comparison
	unpriced map[wallet.Address]time.Time          // tokens that no source had a price for, and when they were asked; see isUnpriced
	filled   map[fill]time.Time                    // which histories Candles was asked for, and when
}

// How old a price may be.
const (
	// Fresh is the age up to which a price is taken as it is, without asking again: two rounds of sampling.
	Fresh = 2 * time.Minute
	// AskTimeout bounds how long somebody waits for a price that is not known yet.
	AskTimeout = 1500 * time.Millisecond
	// unpricedFor is how long a token that no source knows is not asked for again.
	unpricedFor = 10 * time.Minute
	// maxUnpriced bounds how many of them are remembered.
	maxUnpriced = 10_000
	// MaxAsked is the most tokens that one Lookup asks the sources for.
	MaxAsked = 50
)

// Latest returns the newest known prices, however old. It asks nobody. Tokens without a price are absent. The zero address
// stands for SOL.
func (p *Prices) Latest(ctx context.Context, mints []wallet.Address) (known map[wallet.Address]wallet.TokenPrice, err error) {
	err = p.Store.View(ctx, func(tx store.Tx) error {
		known, err = tx.Prices(mints)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	return known, nil
}

// Lookup returns the prices of at most MaxAsked tokens. It asks the sources for those that are not fresh, waits for them at
// most AskTimeout, and returns the older prices for what they did not answer. Tokens without a price are absent. It remembers
// that somebody wants to know, so that they are sampled from now on. The error is of the store, or of ctx.
func (p *Prices) Lookup(ctx context.Context, mints []wallet.Address) (map[wallet.Address]wallet.TokenPrice, error) {
	mints = mints[:min(len(mints), MaxAsked)]
	known, err := p.Latest(ctx, mints)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	var missing []wallet.Address
	for _, mint := range mints {
		if price, ok := known[mint]; (!ok || now.Sub(price.At) > Fresh) && !p.isUnpriced(mint, now) {
			missing = append(missing, mint)
		}
	}
	for mint, price := range p.askNow(ctx, missing) {
		known[mint] = price
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return known, p.wanted(ctx, known)
}

// wanted remembers that somebody asked for tokens that have a price. Others are not sampled.
func (p *Prices) wanted(ctx context.Context, known map[wallet.Address]wallet.TokenPrice) error {
	var mints []wallet.Address
	for mint := range known {
		mints = append(mints, mint)
	}
	if len(mints) == 0 {
		return nil
	}
	if err := p.Store.Update(ctx, func(tx store.Tx) error { return tx.AskPrices(mints, p.Now()) }); err != nil {
		return fmt.Errorf("remember which prices are wanted: %w", err)
	}
	return nil
}

// askNow asks the sources for tokens, within AskTimeout, and saves what they say. Two callers that ask for the same tokens
// share the calls. A call that takes longer goes on without its callers: the next one finds the price.
func (p *Prices) askNow(ctx context.Context, mints []wallet.Address) map[wallet.Address]wallet.TokenPrice {
	if len(mints) == 0 || len(p.Sources) == 0 {
		return nil
	}
	key := make([]byte, 0, len(mints)*len(wallet.Address{}))
	for _, mint := range mints {
		key = append(key, mint[:]...)
	}
	results := p.asking.DoChan(string(key), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), AskTimeout)
		defer cancel()
		return p.ask(ctx, ForPerson, mints), nil
	})
	timeout := time.NewTimer(AskTimeout)
	defer timeout.Stop()
	select {
	case result := <-results:
		return result.Val.(map[wallet.Address]wallet.TokenPrice)
	case <-timeout.C:
	case <-ctx.Done():
	}
	return nil
}

// ask asks one source after the other for what those before it did not price, and saves the answers. A source that fails is
// skipped. It returns what it learned.
func (p *Prices) ask(ctx context.Context, priority Priority, mints []wallet.Address) map[wallet.Address]wallet.TokenPrice {
	learned, answered := map[wallet.Address]wallet.TokenPrice{}, map[wallet.Address]bool{}
	for _, source := range p.Sources {
		missing := without(mints, learned)
		for len(missing) > 0 {
			batch := missing[:min(len(missing), source.MaxTokens())]
			missing = missing[len(batch):]
			prices, err := source.Prices(ctx, priority, batch)
			if err != nil {
				p.complain(ctx, source, err)
				break
			}
			for _, mint := range batch {
				answered[mint] = true
			}
			for _, price := range prices {
				learned[price.Mint] = p.withDispute(price)
			}
		}
	}
	// If no source answered, for example because the budget was used up, the token may still have a price.
	p.noteUnpriced(slices.DeleteFunc(without(mints, learned), func(mint wallet.Address) bool { return !answered[mint] }))
	if err := p.save(ctx, learned); err != nil && ctx.Err() == nil {
		p.Log.Warn("prices could not be saved", "error", err)
	}
	return learned
}

// complain logs why a source did not answer. That its budget is used up is no news.
func (p *Prices) complain(ctx context.Context, source Source, err error) {
	if errors.Is(err, ErrOverBudget) || errors.Is(err, ErrOpen) || ctx.Err() != nil {
		return
	}
	p.Log.Warn("a source of prices does not answer", "source", source.Name(), "error", err)
}

// save writes prices into the store, where an older one replaces no newer one.
func (p *Prices) save(ctx context.Context, learned map[wallet.Address]wallet.TokenPrice) error {
	if len(learned) == 0 {
		return nil
	}
	list := make([]wallet.TokenPrice, 0, len(learned))
	for _, price := range learned {
		list = append(list, price)
	}
	return p.saveAll(ctx, list)
}

// saveAll is save for a list.
func (p *Prices) saveAll(ctx context.Context, list []wallet.TokenPrice) error {
	if len(list) == 0 {
		return nil
	}
	return p.Store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error { return tx.SavePrices(list) })
}

// withDispute adds what the last comparison found: the sources are compared less often than prices are read.
func (p *Prices) withDispute(price wallet.TokenPrice) wallet.TokenPrice {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, ok := p.disputed[price.Mint]; ok && other.Source != price.Source && price.Price.Differs(other.Price) {
		price.Disagrees = &other
	}
	return price
}

// isUnpriced reports whether every source was asked for a token lately and none had a price.
func (p *Prices) isUnpriced(mint wallet.Address, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok := p.unpriced[mint]
	return ok && now.Sub(at) < unpricedFor
}

// noteUnpriced remembers tokens that no source had a price for. When there is no room, it forgets all of them: they are asked
// for once more.
func (p *Prices) noteUnpriced(mints []wallet.Address) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unpriced == nil || len(p.unpriced)+len(mints) > maxUnpriced {
		p.unpriced = map[wallet.Address]time.Time{}
	}
	now := p.Now()
	for _, mint := range mints {
		p.unpriced[mint] = now
	}
}

// without returns the tokens that are not among the prices, in their order.
func without(mints []wallet.Address, prices map[wallet.Address]wallet.TokenPrice) []wallet.Address {
	var out []wallet.Address
	for _, mint := range mints {
		if _, ok := prices[mint]; !ok {
			out = append(out, mint)
		}
	}
	return out
}
