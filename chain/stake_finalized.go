package chain

import (
	"context"
	"errors"
	"sync"
	"time"

	"purser/wallet"
)

// FinalizedStakes reads stakes as Sweep reads balances: of finalized blocks, from the first node that answers and is not behind
// an earlier answer. What is announced is read so, since it is never withdrawn.
type FinalizedStakes struct {
	client *Client

	mu   sync.Mutex
	slot uint64    // of the newest epoch that was read
	at   time.Time // when that was read
}

// FinalizedStakes returns a reader of finalized stakes. It remembers how far the nodes have come, so keep one.
func (c *Client) FinalizedStakes() *FinalizedStakes { return &FinalizedStakes{client: c} }

// behindAtMost is how long an epoch that was read makes nodes count as behind that have not come to it. After that the slot
// counts as one that does not exist, or the test chain was reset.
const behindAtMost = time.Hour

// minSlot is the slot that a node must have come to.
func (f *FinalizedStakes) minSlot() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.client.now().Sub(f.at) >= behindAtMost {
		return 0
	}
	return f.slot
}

// StakeEpoch is Client.StakeEpoch of finalized state. Inside its error is wallet.ErrNodeBehind if every node that could be asked is
// behind.
func (f *FinalizedStakes) StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error) {
	var slot uint64
	e, err := firstBelieved(f, func(v nodeState) (e wallet.StakeEpoch, err error) {
		e, slot, err = v.stakeEpoch(ctx, f.client.now)
		return e, err
	})
	if err == nil {
		f.mu.Lock()
		f.slot, f.at = slot, f.client.now()
		f.mu.Unlock()
	}
	return e, err
}

// StakeAccounts is Client.StakeAccounts of finalized state, of the last epoch that was read or later.
func (f *FinalizedStakes) StakeAccounts(ctx context.Context, owner wallet.Address) ([]wallet.StakeAccount, error) {
	return firstBelieved(f, func(v nodeState) ([]wallet.StakeAccount, error) { return v.stakeAccounts(ctx, owner) })
}

// StakeRewards is Client.StakeRewards, of nodes that have come to the last epoch that was read.
func (f *FinalizedStakes) StakeRewards(ctx context.Context, accounts []wallet.Address, epoch uint64) ([]*wallet.InflationReward, error) {
	return f.client.stakeRewards(ctx, accounts, epoch, f.minSlot())
}

// Validators is Client.Validators: names and commissions are shown, and nothing follows from them.
func (f *FinalizedStakes) Validators(ctx context.Context) ([]wallet.Validator, error) {
	return f.client.Validators(ctx)
}

// firstBelieved returns what the first node answers that is not behind. An error names the first failure, and whether a node is
// behind.
func firstBelieved[T any](f *FinalizedStakes, ask func(nodeState) (T, error)) (T, error) {
	var first, lag error
	minSlot := f.minSlot()
	for _, n := range f.client.nodes {
		answer, err := ask(nodeState{n, finalized, minSlot})
		if behind(err) {
			err = n.nodeError("minContextSlot", wallet.ErrNodeBehind)
		}
		switch {
		case err == nil:
			return answer, nil
		case errors.Is(err, wallet.ErrNodeBehind):
			lag = err
		case first == nil:
			first = err
		}
	}
	var none T
	return none, errors.Join(first, lag)
}
