package world

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// Restart begins settling again, with nothing but what the store holds. It looks once for each job, and puts it back.
func (w *World) Restart() {
	pace := settle.DefaultPace()
	pace.Hold, pace.Gather = 0, 0
	w.Settler = &settle.Settler{Store: w.Store, Chain: w.Chain, Release: w.Transactions.Release, Now: w.Now, Pace: pace, Node: "main",
		Log: slog.New(slog.NewTextHandler(&w.warnings, &slog.HandlerOptions{Level: slog.LevelWarn}))}
}

// Trouble says that the settler may fail until Whole: the test is about that.
func (w *World) Trouble() { w.troubled = true }

// Look lets the settler look at all that is due. Whatever it cannot do fails the test, unless Trouble is expected.
func (w *World) Look() {
	w.Helper()
	err := w.Settle()
	if warned := w.warnings.String(); !w.troubled && (err != nil || warned != "") {
		w.Errorf("settling failed: %v\n%s", err, warned)
	}
	w.warnings.Reset()
}

// Settle does what the settler's pools do: jobs that are due are claimed and looked at, a few at a time, until none is left.
// What the looks found is written in the order of the claims, so that what people are notified of always comes in the same order.
func (w *World) Settle() error {
	const (
		most     = 100 // looks in a row, each because of the one before
		parallel = 8
	)
	var failed error
	for range most {
		var due []store.Job
		for _, pool := range w.Settler.Pools() {
			err := pool.Store.Update(context.Background(), func(tx store.Tx) error {
				claimed, _, err := tx.ClaimJobs(store.Claim{Queue: pool.Queue, Node: pool.Node, Now: w.Now(), Max: 10_000, Lease: pool.Lease})
				due = append(due, claimed...)
				return err
			})
			if err != nil {
				return errors.Join(failed, err)
			}
		}
		if len(due) == 0 {
			return failed
		}
		ends := make([]func() error, len(due))
		group := errgroup.Group{}
		group.SetLimit(parallel)
		for i, job := range due {
			group.Go(func() error {
				result, err := w.Settler.Handle(context.Background(), job)
				ends[i] = func() error { return w.endLook(job, result.Commit, result.Again, err) }
				return nil
			})
		}
		failed = errors.Join(failed, group.Wait())
		for _, end := range ends {
			failed = errors.Join(failed, end())
		}
	}
	return errors.Join(failed, fmt.Errorf("settling finds no end: %d looks in a row", most))
}

// endLook writes what a look found, and the end of its job. One that cannot be written is tried again, like any job.
func (w *World) endLook(job store.Job, commit func(store.Tx) error, again time.Time, err error) error {
	if err == nil {
		err = w.Settler.Store.Update(context.Background(), func(tx store.Tx) error {
			if commit != nil {
				if err := commit(tx); err != nil {
					return err
				}
			}
			if !again.IsZero() {
				return tx.SnoozeJobs(again, job.Ref())
			}
			return tx.DoneJobs(job.Ref())
		})
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, w.Store.Update(context.Background(), func(tx store.Tx) error {
		return tx.RetryJobs(w.Now().Add(w.Settler.Pace.Poll), job.Ref())
	}))
}

// Rounds lets the settler look n times, with a poll's time after each.
func (w *World) Rounds(n int) {
	for range n {
		w.Look()
		w.Pass(w.Settler.Pace.Poll)
	}
}

// Settled lets blocks come and the settler look until nothing can change a transaction any more.
func (w *World) Settled(id wallet.TransactionID) wallet.Transaction {
	w.Helper()
	const most = 100 // rounds; finality takes 32 blocks
	for range most {
		w.Rounds(1)
		if t := w.Transaction(id); t.Closed {
			return t
		}
		w.Blocks(2)
	}
	t := w.Transaction(id)
	w.Fatalf("after %d rounds the transaction is %s, held %v", most, t.Status, t.Indeterminate)
	return t
}

// UntilIdle is a store for a pool that shall handle what there is in its queue, and end: as soon as the queue is empty,
// Idle is called.
type UntilIdle struct {
	store.Store
	Queue store.Queue
	Idle  context.CancelFunc
}

// Update looks at the queue after each change.
func (s UntilIdle) Update(ctx context.Context, change func(store.Tx) error) error {
	err := s.Store.Update(ctx, change)
	var stats store.JobStats
	if failed := s.Store.View(context.WithoutCancel(ctx), func(tx store.Tx) (err error) {
		stats, err = tx.JobStats(s.Queue)
		return err
	}); failed != nil || stats.Waiting+stats.InFlight == 0 {
		s.Idle()
	}
	return err
}

// Due claims up to most jobs that are due in the queues of a watcher.
func (w *World) Due(watcher *settle.Watcher, most int) (due []store.Job) {
	w.Helper()
	w.Must(w.Update(func(tx store.Tx) error {
		due = nil
		for _, pool := range watcher.Pools() {
			if len(due) == most {
				return nil
			}
			claimed, _, err := tx.ClaimJobs(store.Claim{Queue: pool.Queue, Node: "main", Now: w.Now(), Max: most - len(due), Lease: time.Minute})
			if err != nil {
				return err
			}
			due = append(due, claimed...)
		}
		return nil
	}))
	return due
}
