package chain

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"purser/wallet"
)

// batchesAtOnce is how many calls of an accountBatcher are in progress at once. Meanwhile other callers wait for the next one, which
// reads for all of them: batchWait at most, so that calls that hang hold up nobody else.
const (
	batchesAtOnce = 2
	batchWait     = 100 * time.Millisecond
)

// errNoAnswer is the error of a batch whose call panicked.
var errNoAnswer = errors.New("the call ended without an answer")

// readAccounts returns an account, or nil, for each address that it is given, or an error.
type readAccounts func(context.Context, []wallet.Address) (answerAt[[]*accountData], error)

// accountBatcher reads the accounts of several callers with one call (getMultipleAccounts). A caller alone asks at once. An answer is
// never older than the question, since nobody joins a call that has begun. An error goes to all callers of the batch; but if the
// caller that runs it gives up, the others ask again. It is safe for several goroutines.
type accountBatcher struct {
	read    readAccounts
	running chan struct{} // holds one for each call in progress
	wait    time.Duration // for one of them to end; batchWait outside of tests
	mu      sync.Mutex
	open    *batch // that others may join; nil: none
}

// batch is one call. The caller that opened it runs it. addresses belongs to accountBatcher.mu until the batch is closed to others;
// the rest is set before done is closed, and read after it.
type batch struct {
	addresses []wallet.Address // each once
	done      chan struct{}

	answer    answerAt[[]*accountData]
	err       error
	abandoned bool // the caller that ran it gave up before the answer came
}

func newAccountBatcher(read readAccounts) *accountBatcher {
	return &accountBatcher{read: read, running: make(chan struct{}, batchesAtOnce), wait: batchWait}
}

// get returns the accounts at some addresses, at most maxAccountsAsked, in their order and all at one slot. It returns when its own
// ctx ends, even if another caller runs the batch.
func (b *accountBatcher) get(ctx context.Context, addresses []wallet.Address) (answerAt[[]*accountData], error) {
	for {
		batch, mine := b.join(addresses)
		if mine {
			b.run(ctx, batch)
			return batch.pick(addresses)
		}
		select {
		case <-batch.done:
		case <-ctx.Done():
			return answerAt[[]*accountData]{}, unreachable(ctx.Err())
		}
		if !batch.abandoned { // else the next batch asks
			return batch.pick(addresses)
		}
	}
}

// join adds addresses to the open batch, or opens one that the caller has to run (mine).
func (b *accountBatcher) join(addresses []wallet.Address) (_ *batch, mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open != nil {
		all := b.open.addresses
		for _, a := range addresses {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
		if len(all) <= maxAccountsAsked {
			b.open.addresses = all
			return b.open, false
		}
	}
	b.open = &batch{addresses: slices.Clone(addresses), done: make(chan struct{})}
	return b.open, true
}

// run waits until fewer than batchesAtOnce calls are in progress, or for batchWait, closes the batch to others, and asks.
func (b *accountBatcher) run(ctx context.Context, batch *batch) {
	defer close(batch.done)
	timer := time.NewTimer(b.wait)
	defer timer.Stop()
	select {
	case b.running <- struct{}{}:
		defer func() { <-b.running }()
	case <-timer.C:
	case <-ctx.Done():
		batch.err = unreachable(ctx.Err())
	}
	b.mu.Lock()
	if b.open == batch {
		b.open = nil
	}
	b.mu.Unlock()
	if batch.err == nil {
		batch.err = errNoAnswer // what others get if read panics
		batch.answer, batch.err = b.read(ctx, batch.addresses)
	}
	batch.abandoned = batch.err != nil && ctx.Err() != nil
}

// pick returns what a batch that is done says of some of its addresses.
func (b *batch) pick(addresses []wallet.Address) (answerAt[[]*accountData], error) {
	if b.err != nil {
		return answerAt[[]*accountData]{}, b.err
	}
	out := answerAt[[]*accountData]{slot: b.answer.slot, value: make([]*accountData, len(addresses))}
	for i, a := range addresses {
		out.value[i] = b.answer.value[slices.Index(b.addresses, a)]
	}
	return out, nil
}
