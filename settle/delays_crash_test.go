package settle_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// TestTwoNodesEndADelayOnce: the first is slow and loses its lease, and both have asked the chain when they write.
func TestTwoNodesEndADelayOnce(t *testing.T) {
	for _, slowFirst := range []bool{false, true} {
		r := newHarness(t)
		tx := r.delayed("1.5")
		r.Pass(day)
		type look struct {
			job    store.Job
			commit func(store.Tx) error
		}
		var looks []look
		for _, name := range []string{"first", "second"} {
			node, _ := r.nodeOf(name, r.Chain)
			node.Release = r.Transactions.Release
			pool := node.Pools()[0]
			var job store.Job
			r.Must(r.Update(func(s store.Tx) error {
				claimed, _, err := s.ClaimJobs(store.Claim{Queue: pool.Queue, Node: pool.Node, Now: r.Now(), Max: 1, Lease: pool.Lease})
				if err == nil && len(claimed) != 1 {
					t.Fatalf("%s claims %d jobs", name, len(claimed))
				}
				job = claimed[0]
				return err
			}))
			result, err := node.Handle(context.Background(), job)
			r.Must(err)
			looks = append(looks, look{job, result.Commit})
			r.Pass(pool.Lease + time.Second)
		}
		if slowFirst {
			slices.Reverse(looks)
		}
		wrote := 0
		for _, l := range looks {
			if err := r.Update(func(s store.Tx) error {
				return errors.Join(l.commit(s), s.DoneJobs(l.job.Ref()))
			}); err == nil {
				wrote++
			}
		}
		waits := r.is(tx.ID, wallet.AwaitingSignature)
		ended := slices.DeleteFunc(r.Events(tx.ID), func(e wallet.EventName) bool { return e != wallet.TransactionDelayEnded })
		if wrote != 1 || len(ended) != 1 || waits.SignID == "" {
			t.Errorf("%d nodes wrote, %d ends were announced", wrote, len(ended))
		}
	}
}

// lost is a store whose nth write is lost, or whose answer is: then the process does not know, and ends.
type lost struct {
	store.Store
	nth  int
	kept bool // the write was stored
}

var errKilled = errors.New("killed")

func (l *lost) Update(ctx context.Context, change func(store.Tx) error) error {
	if l.nth--; l.nth != 0 {
		return l.Store.Update(ctx, change)
	}
	if l.kept {
		return errors.Join(l.Store.Update(ctx, change), errKilled)
	}
	return l.Store.Update(ctx, func(tx store.Tx) error { return errors.Join(change(tx), errKilled) })
}

// TestKilledAroundADelay: the process ends at each write from Confirm to the end of the delay, before it is stored or just after,
// and starts from its file. There is one link in the end, one notice of each step, and Bob is paid once.
func TestKilledAroundADelay(t *testing.T) {
	for _, kept := range []bool{false, true} {
		for nth := 1; ; nth++ {
			r := newHarness(t)
			r.Delayed(day)
			id := r.Propose(r.alice, r.bob.Address(), "1.5", "SOL").ID
			killed := false
			revive := func() {
				killed = true
				r.Reopen()
			}
			l := &lost{Store: r.Store, nth: nth, kept: kept}
			// Confirm, by taps that are repeated until one gets an answer.
			for {
				c, err := r.Transfers.PrepareConfirm(context.Background(), r.alice.Caller(), id, "")
				if wallet.CodeOf(err) == wallet.Conflict { // it was stored after all
					break
				}
				r.Must(err)
				err = l.Update(context.Background(), func(s store.Tx) error {
					_, err := r.Transfers.CommitConfirm(s, c)
					return err
				})
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				revive()
				l.Store = r.Store
			}
			r.is(id, wallet.Delayed)
			r.Pass(day)
			r.Trouble()
			for range 6 { // claim, look, write: each may be lost
				if err := r.settleWith(l); errors.Is(err, errKilled) {
					revive()
					l.Store = r.Store
					r.Pass(time.Minute) // a lease
				} else {
					r.Must(err)
				}
			}
			waits := r.is(id, wallet.AwaitingSignature)
			status, err := r.HandIn(r.alice, waits.SignID, r.Issue(waits.SignID))
			if err != nil || status != wallet.Signed {
				t.Fatalf("%s, %v", status, err)
			}
			r.Settled(id)
			r.paid(1.5 * sol)
			want := []wallet.EventName{wallet.TransactionDelayed, wallet.TransactionDelayEnded, wallet.TransactionSigned, wallet.TransactionPending,
				wallet.TransactionConfirmed, wallet.TransactionFinalized}
			if got := r.Events(id); !slices.Equal(got, want) {
				t.Errorf("killed at write %d (kept %v): announced %v", nth, kept, got)
			}
			if !killed { // there are no more writes
				if nth < 4 {
					t.Errorf("only %d writes were lost", nth-1)
				}
				break
			}
		}
	}
}

// settleWith lets a node look at what is due, with its own store. An error of a write ends it.
func (r *harness) settleWith(db store.Store) error {
	node := &settle.Settler{Store: db, Chain: r.Chain, Release: r.Transactions.Release, Now: r.Now, Log: r.Settler.Log, Pace: r.Settler.Pace, Node: "main"}
	pool := node.Pools()[0]
	var due []store.Job
	if err := db.Update(context.Background(), func(s store.Tx) (err error) {
		due, _, err = s.ClaimJobs(store.Claim{Queue: pool.Queue, Node: pool.Node, Now: r.Now(), Max: 10, Lease: pool.Lease})
		return err
	}); err != nil {
		return err
	}
	for _, job := range due {
		result, err := node.Handle(context.Background(), job)
		if err != nil {
			return err
		}
		if err := db.Update(context.Background(), func(s store.Tx) error {
			if result.Commit != nil {
				if err := result.Commit(s); err != nil {
					return err
				}
			}
			if !result.Again.IsZero() {
				return s.SnoozeJobs(result.Again, job.Ref())
			}
			return s.DoneJobs(job.Ref())
		}); err != nil {
			return err
		}
	}
	return nil
}
