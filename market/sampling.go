package market

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// Sampling of prices.
const (
	// SampleEvery is how often the price of a token that is held or wanted is read, as far as the budgets allow.
	SampleEvery = time.Minute
	// sampleTick is how often due tokens are read. Several ticks a minute spread the calls over the budget.
	sampleTick = 10 * time.Second
	// wantedFor is how long a token is sampled after somebody asked for its price.
	wantedFor = 24 * time.Hour
	// maxSampled bounds the tokens that are sampled. A free plan leaves 18 calls a minute for sampling: for 900 tokens each minute, or for 10,000 in
	// eleven minutes (TestAThousandTokensFitAFreePlan).
	maxSampled = 10_000
	// listPage is how many tokens are read from the store at once.
	listPage = 500
	// compareEvery is how often the other sources are asked for the well-known tokens, to notice that one is wrong.
	compareEvery = 5 * time.Minute
)

// Run samples prices until ctx ends, on one node at a time. Without sources it only waits. The error is a final one of the
// store.
func (p *Prices) Run(ctx context.Context) error {
	if len(p.Sources) == 0 { // without a price nothing is worth anything, in any currency
		<-ctx.Done()
		return nil
	}
	leader := &work.Leader{Store: p.Store, Name: "prices", Node: p.Node, Lease: SampleEvery / 2, Now: p.Now, Log: p.Log}
	return leader.Run(ctx, func(ctx context.Context) error {
		ticker := time.NewTicker(sampleTick)
		defer ticker.Stop()
		for {
			if err := errors.Join(p.Sample(ctx), p.refreshRates(ctx)); store.IsFatal(err) {
				return err
			} else if err != nil && ctx.Err() == nil {
				p.Log.Warn("prices were not sampled", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-ticker.C:
			}
		}
	})
}

// Sample reads the prices of the tokens that are due, as far as the budgets of the sources allow, and adds them to the
// history. SOL and well-known tokens are read first, then those whose price is the oldest, so that every token gets its turn.
func (p *Prices) Sample(ctx context.Context) error {
	mints, err := p.due(ctx)
	if err != nil {
		return fmt.Errorf("list the tokens to sample: %w", err)
	}
	if len(mints) == 0 {
		return ctx.Err()
	}
	at := p.Now()
	compare := at.Sub(p.comparedAt) >= compareEvery && mints[0].IsZero() // SOL is due, and with it the well-known tokens
	if compare {
		p.comparedAt = at
		p.setDisputed(nil) // what the last comparison found is over
	}
	learned := p.ask(ctx, ForSampling, mints)
	if compare {
		if err := p.compare(ctx, learned); err != nil {
			return err
		}
	}
	if len(learned) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	samples := make([]wallet.TokenPrice, 0, len(learned))
	for _, price := range learned {
		samples = append(samples, price)
	}
	if err := p.History.SavePoints(at, samples); err != nil {
		return fmt.Errorf("save the history of prices: %w", err)
	}
	if err := p.evaluate(ctx, at, learned); err != nil {
		return err
	}
	return p.History.Drop(ctx, at)
}

// due lists the tokens to sample, the most urgent first.
func (p *Prices) due(ctx context.Context) ([]wallet.Address, error) {
	first := p.wellKnown()
	var rest []wallet.Address
	seen := map[wallet.Address]bool{}
	for _, mint := range first {
		seen[mint] = true
	}
	var known map[wallet.Address]wallet.TokenPrice
	err := p.Store.View(ctx, func(tx store.Tx) (err error) {
		rest = rest[:0]
		alerted := func(after wallet.Address) ([]wallet.Address, error) { return tx.AlertMints(after, listPage) }
		held := func(after wallet.Address) ([]wallet.Address, error) { return tx.HeldMints(after, listPage) }
		wanted := func(after wallet.Address) ([]wallet.Address, error) {
			return tx.AskedMints(p.Now().Add(-wantedFor), after, listPage)
		}
		for _, list := range []func(wallet.Address) ([]wallet.Address, error){alerted, held, wanted} {
			if rest, err = pages(rest, seen, list); err != nil {
				return err
			}
		}
		known, err = tx.Prices(append(slices.Clone(first), rest...))
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rest, func(a, b wallet.Address) int { return known[a].At.Compare(known[b].At) })
	now := p.Now()
	return slices.DeleteFunc(append(first, rest...), func(mint wallet.Address) bool {
		return now.Sub(known[mint].At) < SampleEvery || p.isUnpriced(mint, now)
	}), nil
}

// pages appends what list returns page by page, without what was seen, up to maxSampled.
func pages(out []wallet.Address, seen map[wallet.Address]bool, list func(after wallet.Address) ([]wallet.Address, error)) ([]wallet.Address, error) {
	var after wallet.Address
	for len(out) < maxSampled {
		page, err := list(after)
		if err != nil || len(page) == 0 {
			return out, err
		}
		for _, mint := range page {
			if !seen[mint] {
				seen[mint] = true
				out = append(out, mint)
			}
		}
		after = page[len(page)-1]
	}
	return out[:maxSampled], nil
}

// compare asks the sources that were not needed for SOL and the well-known tokens, and notes which prices they contradict.
func (p *Prices) compare(ctx context.Context, learned map[wallet.Address]wallet.TokenPrice) error {
	var changed []wallet.TokenPrice
	disputed := map[wallet.Address]wallet.SourcePrice{}
	for _, source := range p.Sources {
		var mints []wallet.Address
		for _, mint := range p.wellKnown() {
			if price, ok := learned[mint]; ok && price.Source != source.Name() && disputed[mint].Source == "" {
				mints = append(mints, mint)
			}
		}
		for len(mints) > 0 {
			batch := mints[:min(len(mints), source.MaxTokens())]
			mints = mints[len(batch):]
			others, err := source.Prices(ctx, ForSampling, batch)
			if err != nil {
				p.complain(ctx, source, err)
				break
			}
			for _, other := range others {
				price, ok := learned[other.Mint]
				if !ok || !price.Price.Differs(other.Price) {
					continue
				}
				disputed[other.Mint] = wallet.SourcePrice{Source: source.Name(), Price: other.Price}
				price.Disagrees = &wallet.SourcePrice{Source: source.Name(), Price: other.Price}
				changed = append(changed, price)
			}
		}
	}
	p.setDisputed(disputed)
	return p.saveAll(ctx, changed)
}

// setDisputed remembers which prices another source contradicts, until the next comparison.
func (p *Prices) setDisputed(disputed map[wallet.Address]wallet.SourcePrice) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.disputed = disputed
}

// wellKnown lists SOL and the tokens of the list.
func (p *Prices) wellKnown() []wallet.Address {
	out := []wallet.Address{{}} // SOL
	for _, token := range p.Tokens.All() {
		out = append(out, token.Mint)
	}
	return out
}
