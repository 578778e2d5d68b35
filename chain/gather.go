package chain

import (
	"context"
	"slices"
	"sync"

	"purser/wallet"
)

// gathersAtOnce is how many calls for the accounts of transfers are in progress at once. While they are, other callers wait for the
// next one, which reads for all of them: at most as long as one call takes longer than alone.
const gathersAtOnce = 2

// gather reads the accounts of several callers with one call (getMultipleAccounts). A caller alone asks at once. An answer is never
// older than the question, since nobody joins a call that has begun. Failures are everybody's who waited, except that of a
// caller who gave up. It is safe for several goroutines.
type gather struct {
	mu     sync.Mutex
	open   *round        // that others may join; nil: none
	places chan struct{} // of calls in progress
}

// round is one call. The caller that opened it asks. as belongs to gather.mu until the round is closed to others; the rest is
// set before done is closed, and read after it.
type round struct {
	as   []wallet.Address // each once
	done chan struct{}

	answer answerAt[[]*accountData]
	err    error
	gone   bool // the caller that asked gave up before the answer came
}

func newGather() *gather { return &gather{places: make(chan struct{}, gathersAtOnce)} }

// get returns the accounts at some addresses, at most maxAccountsAsked, in their order and all at one slot. ask returns an
// account, or nil, for each address that it is given, or an error. get returns when its own ctx ends, even if another caller asks.
func (g *gather) get(ctx context.Context, as []wallet.Address, ask func(context.Context, []wallet.Address) (answerAt[[]*accountData], error)) (answerAt[[]*accountData], error) {
	for {
		r, mine := g.join(as)
		if mine {
			g.lead(ctx, r, ask)
			return r.of(as)
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return answerAt[[]*accountData]{}, unreachable(ctx.Err())
		}
		if !r.gone { // else the next round asks
			return r.of(as)
		}
	}
}

// join adds addresses to the open round, or opens one that the caller has to lead (mine).
func (g *gather) join(as []wallet.Address) (r *round, mine bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.open; r != nil {
		all := r.as
		for _, a := range as {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
		if len(all) <= maxAccountsAsked {
			r.as = all
			return r, false
		}
	}
	g.open = &round{as: slices.Clone(as), done: make(chan struct{})}
	return g.open, true
}

// lead waits for a place, closes the round to others, and asks.
func (g *gather) lead(ctx context.Context, r *round, ask func(context.Context, []wallet.Address) (answerAt[[]*accountData], error)) {
	defer close(r.done)
	select {
	case g.places <- struct{}{}:
		defer func() { <-g.places }()
	case <-ctx.Done():
		r.err = unreachable(ctx.Err())
	}
	g.mu.Lock()
	if g.open == r {
		g.open = nil
	}
	g.mu.Unlock()
	if r.err == nil {
		r.answer, r.err = ask(ctx, r.as)
	}
	r.gone = r.err != nil && ctx.Err() != nil
}

// of returns what a round that is done says of some of its addresses.
func (r *round) of(as []wallet.Address) (answerAt[[]*accountData], error) {
	if r.err != nil {
		return answerAt[[]*accountData]{}, r.err
	}
	out := answerAt[[]*accountData]{slot: r.answer.slot, value: make([]*accountData, len(as))}
	for i, a := range as {
		out.value[i] = r.answer.value[slices.Index(r.as, a)]
	}
	return out, nil
}
