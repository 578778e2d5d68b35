package settle_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// neverSlot is a slot that no chain has come to.
const neverSlot = 1 << 50

// slotted is a chain whose balances come with another slot than they are from, if it is set.
type slotted struct {
	*moneyLedger
	slot uint64
}

func (s *slotted) Sweep(ctx context.Context, as []wallet.Address, min uint64) ([]wallet.AccountBalance, error) {
	out, err := s.moneyLedger.Sweep(ctx, as, min)
	for i := range out {
		if s.slot > 0 {
			out[i].Slot = s.slot
		}
	}
	return out, err
}

// Walk fails on a node that has not come to the watermark, as the real client does.
func (s *slotted) Walk(ctx context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	if q.From.Slot > max(s.moneyLedger.slot, s.slot)+1 {
		return wallet.HistoryWalk{Next: q.From}, wallet.ErrNodeBehind
	}
	return s.moneyLedger.Walk(ctx, q)
}

// lasts lets the watcher work for a time, minute by minute.
func (r *watching) lasts(d time.Duration) {
	r.Helper()
	pass := r.Watcher.Passes()
	for ; d > 0; d -= time.Minute {
		r.Pass(time.Minute)
		r.Must(pass(r.Context()))
		r.drain()
	}
}

const rebased = "every node has been behind what is known of a wallet"

// TestASlotThatNeverWasHeals: a node once names a slot that does not exist, and the row takes it in. An hour later the wallet is
// watched again, and what came in between is announced.
func TestASlotThatNeverWasHeals(t *testing.T) {
	for name, within := range map[string]func(*watching, *moneyLedger, *slotted){
		"when it moved": func(r *watching, chain *moneyLedger, s *slotted) {
			chain.pay(r.bob.Address(), sol)
			s.slot = neverSlot
			r.look()
			r.expect("1 SOL to bob")
		},
		"in the daily look": func(r *watching, chain *moneyLedger, s *slotted) {
			chain.pay(r.bob.Address(), sol)
			r.look()
			r.expect("1 SOL to bob")
			r.Pass(25 * time.Hour)
			s.slot = neverSlot
			r.look()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, chain := onLedger(t)
			s := &slotted{moneyLedger: chain}
			r.Watcher.Chain = s
			r.Pass(time.Minute)
			within(r, chain, s)
			s.slot = 0
			chain.pay(r.bob.Address(), 2*sol)
			r.lasts(50 * time.Minute)
			r.expect("1 SOL to bob")
			if strings.Contains(r.log.String(), rebased) {
				t.Error("it was given up before its time")
			}
			r.lasts(30 * time.Minute)
			r.expect("1 SOL to bob", "2 SOL to bob")
			if strings.Count(r.log.String(), rebased) == 0 {
				t.Error(r.log)
			}
			chain.pay(r.bob.Address(), 3*sol)
			r.lasts(16 * time.Minute) // a wallet that has been quiet is not swept each minute
			r.expect("1 SOL to bob", "2 SOL to bob", "3 SOL to bob")
			r.View(func(tx store.Tx) error {
				row, err := tx.Watch(r.bob.Address())
				if row.Since > 1001 || row.Accounts[0].Slot > chain.slot {
					t.Errorf("%+v", row)
				}
				return err
			})
		})
	}
}

// TestAFirstLookWithASlotThatNeverWasHeals: nothing is known of what came before, and the wallet is watched from then on.
func TestAFirstLookWithASlotThatNeverWasHeals(t *testing.T) {
	r, chain := onLedger(t)
	s := &slotted{moneyLedger: chain, slot: neverSlot}
	r.Watcher.Chain = s
	r.Must(r.Update(func(tx store.Tx) error { return tx.DropWatch(r.bob.Address()) }))
	r.look()
	s.slot = 0
	chain.pay(r.bob.Address(), sol)
	r.lasts(90 * time.Minute)
	r.expect()
	chain.pay(r.bob.Address(), 2*sol)
	r.lasts(16 * time.Minute)
	r.expect("2 SOL to bob")
}

// TestAChainThatWasResetIsWatched: all its slots are lower than what was known, and none of its history is.
func TestAChainThatWasResetIsWatched(t *testing.T) {
	r, chain := onLedger(t)
	s := &slotted{moneyLedger: chain}
	r.Watcher.Chain = s
	chain.pay(r.bob.Address(), sol)
	r.Pass(time.Minute)
	r.look()
	r.expect("1 SOL to bob")
	fresh := newMoneyLedger()
	fresh.slot, fresh.n = 5, 1000
	s.moneyLedger = fresh
	r.lasts(90 * time.Minute)
	fresh.pay(r.bob.Address(), 2*sol)
	fresh.pay(r.alice.Address(), 3*sol)
	r.lasts(16 * time.Minute)
	if got := r.told(); !slices.Equal(got, []string{"1 SOL to bob", "2 SOL to bob", "3 SOL to alice"}) && !slices.Equal(got, []string{"1 SOL to bob", "3 SOL to alice", "2 SOL to bob"}) {
		t.Errorf("announced were %q\n%s", got, r.log)
	}
}

// TestNodesThatLagAreWaitedFor: what lasts less than an hour costs nothing but time.
func TestNodesThatLagAreWaitedFor(t *testing.T) {
	r, chain := onLedger(t)
	s := &slotted{moneyLedger: chain}
	r.Watcher.Chain = s
	chain.slot += 100
	chain.pay(r.bob.Address(), sol)
	r.lasts(2 * time.Minute)
	r.expect("1 SOL to bob")
	chain.slot -= 50 // all nodes
	r.lasts(55 * time.Minute)
	chain.slot += 60
	chain.pay(r.bob.Address(), 2*sol)
	r.lasts(20 * time.Minute)
	r.expect("1 SOL to bob", "2 SOL to bob")
	if strings.Contains(r.log.String(), rebased) {
		t.Error(r.log)
	}
}

// TestALookThatWaitedLongTriesAgain: that its job is old says nothing of the nodes.
func TestALookThatWaitedLongTriesAgain(t *testing.T) {
	r, chain := onLedger(t)
	chain.slot += 100
	chain.pay(r.bob.Address(), sol)
	r.lasts(2 * time.Minute)
	r.Pass(25 * time.Hour)
	r.Must(r.Watcher.Sweep(t.Context())) // orders the daily look
	r.Pass(2 * time.Hour)
	chain.slot -= 50
	r.drain()
	if strings.Contains(r.log.String(), rebased) {
		t.Error(r.log)
	}
}

// TestAWatermarkThatNeverWasHeals: only how far the history was read is wrong, not the slot of the balance.
func TestAWatermarkThatNeverWasHeals(t *testing.T) {
	r, chain := onLedger(t)
	s := &slotted{moneyLedger: chain}
	r.Watcher.Chain = s
	r.Must(r.Update(func(tx store.Tx) error {
		row, err := tx.Watch(r.bob.Address())
		r.Must(err)
		row.Accounts[0].Mark = wallet.Watermark{Slot: neverSlot}
		return tx.PutWatch(row)
	}))
	chain.pay(r.bob.Address(), sol)
	r.lasts(50 * time.Minute)
	if log := r.log.String(); strings.Contains(log, "is lost") {
		t.Error(log)
	}
	r.lasts(30 * time.Minute)
	if log := r.log.String(); !strings.Contains(log, "a part of a wallet's history is lost") {
		t.Error(log)
	}
	chain.pay(r.bob.Address(), 2*sol)
	r.lasts(16 * time.Minute)
	r.expect("2 SOL to bob")
}
