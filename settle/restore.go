package settle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// restoreEvery is how often the open transactions are compared with their jobs.
	restoreEvery = time.Hour
	// restorePage is how many of them are compared in one store transaction.
	restorePage = 500
)

// restore puts back the jobs of open transactions that have none that can be read, when Run begins and once an hour. The
// transaction decides what is true; its job is only the alarm that leads to it. A claim passes over a damaged job
// for good, so that without this a signed payment would be neither broadcast nor watched nor expired. Every node does
// it: what one of them has put back, the others find. An error is the store's, after which nothing is to be tried again.
func (s *Settler) restore(ctx context.Context) error {
	for {
		began := s.Now()
		err := s.Restore(ctx)
		switch {
		case errors.Is(err, store.ErrUnknownOutcome), errors.Is(err, store.ErrClosed):
			return err
		case err != nil && ctx.Err() == nil:
			s.Log.Error("jobs of open transactions could not be put back", "err", err)
		}
		timer := time.NewTimer(began.Add(restoreEvery).Sub(s.Now()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// Restore walks all open transactions once, the oldest first, and puts back the jobs that are missing. It reads first
// and writes only where something is missing. One that cannot be put back keeps no other from it.
func (s *Settler) Restore(ctx context.Context) error {
	var last wallet.Transaction
	var failed error
	for {
		var page []wallet.Transaction
		var missing []wallet.TransactionID
		err := s.Store.View(ctx, func(tx store.Tx) (err error) {
			if page, err = tx.UnsettledTransactions(last, restorePage); err != nil {
				return err
			}
			missing = nil
			for _, t := range page {
				if !hasJob(tx, t.ID) {
					missing = append(missing, t.ID)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Join(failed, err)
		}
		err = s.putBack(ctx, missing)
		if err != nil && len(missing) > 1 && !errors.Is(err, store.ErrUnknownOutcome) { // one of them: the others go alone
			err = nil
			for _, id := range missing {
				err = errors.Join(err, s.putBack(ctx, []wallet.TransactionID{id}))
			}
		}
		if failed = errors.Join(failed, err); errors.Is(err, store.ErrUnknownOutcome) || ctx.Err() != nil || len(page) < restorePage {
			return failed
		}
		last = page[len(page)-1]
	}
}

// hasJob tells whether a transaction has a job that a worker can read, waiting or in flight.
func hasJob(tx store.Tx, id wallet.TransactionID) bool {
	for _, queue := range []store.Queue{store.Settlement, store.Collecting} {
		if _, err := tx.Job(queue, store.JobID(id)); err == nil {
			return true
		}
	}
	return false
}

// putBack puts the jobs of transactions that have none, each as its row asks for it now. A damaged job
// does not hold its ID, and a claim takes what leads to it out of the index; one that cannot be unsealed is removed first.
func (s *Settler) putBack(ctx context.Context, ids []wallet.TransactionID) error {
	if len(ids) == 0 {
		return nil
	}
	var put []wallet.TransactionID
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		put = nil
		for _, id := range ids {
			t, err := tx.Transaction(id)
			if errors.Is(err, store.ErrNotFound) { // erased meanwhile
				continue
			}
			if err != nil {
				return fmt.Errorf("put back the job of %s: %w", id, err)
			}
			if t.Closed || hasJob(tx, id) { // it went on meanwhile
				continue
			}
			err = errors.Join(tx.RemoveJobs(store.Settlement, store.JobID(id)), tx.RemoveJobs(store.Collecting, store.JobID(id)))
			if err == nil {
				err = store.Schedule(tx, t, s.Now().UTC())
			}
			if err != nil {
				return fmt.Errorf("put back the job of %s: %w", id, err)
			}
			put = append(put, id)
		}
		return nil
	})
	if err == nil {
		for _, id := range put {
			s.Log.Error("an open transaction had no job that can be read; it was put back", "transaction", string(id))
		}
	}
	return err
}
