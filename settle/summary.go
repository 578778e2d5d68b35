package settle

import (
	"context"
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
			folded, err := w.foldedIn(tx, of)
			if err != nil {
				return fmt.Errorf("sum up what was folded: %w", err)
			}
			count += folded
			if err := tx.PutFolded(of.Address, 0); err != nil {
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

// addFolded counts payments to a wallet of which its owner is notified by a summary only, and orders that.
func (w *Watcher) addFolded(tx store.Tx, of wallet.Wallet, n uint64) error {
	before, err := w.foldedIn(tx, of)
	if err != nil {
		return fmt.Errorf("count what was folded: %w", err)
	}
	if err := tx.PutFolded(of.Address, before+n); err != nil {
		return fmt.Errorf("count what was folded: %w", err)
	}
	return store.OrderSummary(tx, of.Owner, w.Now().UTC())
}

// foldedIn reads the count of a wallet. A damaged one begins at 0 again: it is no reason to announce nothing.
func (w *Watcher) foldedIn(tx store.Tx, of wallet.Wallet) (uint64, error) {
	n, err := tx.Folded(of.Address)
	if store.IsDamaged(err) {
		w.Log.Error("how many payments were folded cannot be read: the count starts again at 0", "wallet", of.Address, "error", err)
		return 0, nil
	}
	return n, err
}
