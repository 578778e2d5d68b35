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
	// restoreEvery is the interval between comparisons of open transactions with their jobs.
	restoreEvery = time.Hour
	// restorePage is how many transactions are compared in one store transaction.
	restorePage = 500
)

// restore runs Restore when Run begins and then once an hour. The transaction is the source of truth. Its job only
// schedules the next look. Claims skip a damaged job forever, so without this a signed payment would no longer be
// broadcast, watched or expired.
//
// Every node runs it: a job that one node recreated is simply there for the others. restore returns an error only when
// the store has an unknown outcome or is closed.
func (s *Settler) restore(ctx context.Context) error {
	for {
		began := s.Now()
		err := s.Restore(ctx)
		switch {
		case store.IsFatal(err):
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

// Restore walks all open transactions once, oldest first, and recreates missing jobs. It writes only where a job is
// missing. A transaction whose job cannot be recreated does not stop the others. All errors are returned joined.
func (s *Settler) Restore(ctx context.Context) error {
	var last wallet.Transaction
	var failed error
	for {
		var page []wallet.Transaction
		var missing []wallet.TransactionID
		// Find the transactions of one page that have no job.
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
		// Recreate them in one commit. If that fails, try one by one, so that a damaged row costs only itself.
		err = s.putBack(ctx, missing)
		if err != nil && len(missing) > 1 && !store.IsFatal(err) { // one of them: the others go alone
			err = nil
			for _, id := range missing {
				err = errors.Join(err, s.putBack(ctx, []wallet.TransactionID{id}))
			}
		}
		if failed = errors.Join(failed, err); store.IsFatal(err) || ctx.Err() != nil || len(page) < restorePage {
			return failed
		}
		last = page[len(page)-1]
	}
}

// hasJob reports whether a transaction has a readable job in either queue, waiting or leased.
func hasJob(tx store.Tx, id wallet.TransactionID) bool {
	for _, queue := range []store.Queue{store.Settlement, store.Collecting} {
		if _, err := tx.Job(queue, store.JobID(id)); err == nil {
			return true
		}
	}
	return false
}

// putBack schedules jobs for transactions that have none, in one commit and as their current rows require. A damaged job
// no longer occupies its ID. A job that cannot be decrypted still does, so it is removed first. Each recreated job is
// logged as an error, because it should not have been missing.
func (s *Settler) putBack(ctx context.Context, ids []wallet.TransactionID) error {
	if len(ids) == 0 {
		return nil
	}
	var put []wallet.TransactionID
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		put = nil
		for _, id := range ids {
			t, err := tx.Transaction(id)
			if errors.Is(err, store.ErrNotFound) { // erased since the page was read
				continue
			}
			if err != nil {
				return fmt.Errorf("put back the job of %s: %w", id, err)
			}
			if t.Closed || hasJob(tx, id) { // closed or rescheduled since the page was read
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
