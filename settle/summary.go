package settle

import (
	"context"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// sumUp ends the job by which a person learns that payments were folded (incoming.folded). It counts those of all their
// wallets, begins to count again at 0, and puts the event, all in the Update that ends the job. The next such job is at least
// store.SummaryEvery later, so nobody gets two messages within that time.
func (w *Watcher) sumUp(_ context.Context, job store.Job) (work.Result, error) {
	who := wallet.UserID(job.ID)
	return work.Result{Commit: func(tx store.Tx) error {
		now := w.Now().UTC()
		own, err := tx.WalletsOf(who)
		if err != nil {
			return fmt.Errorf("sum up what was folded: %w", err)
		}
		var count uint64
		for _, of := range own {
			row, err := tx.Watch(of.Address)
			switch {
			case errors.Is(err, store.ErrNotFound) || damaged(err): // it has no count: the next look begins again
				continue
			case err != nil:
				return fmt.Errorf("sum up what was folded: %w", err)
			case row.Folded == 0:
				continue
			}
			count += row.Folded
			row.Folded = 0
			if err := tx.PutWatch(row); err != nil {
				return fmt.Errorf("sum up what was folded: %w", err)
			}
		}
		if count == 0 { // the wallets are gone
			return nil
		}
		event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_folded_%d", who, now.UnixMilli()), wallet.PaymentsFolded, now, who, wallet.PaymentsFoldedData{Count: count})
		if err != nil {
			return err
		}
		return store.NotifyOwner(tx, event)
	}}, nil
}
