package settle

import (
	"context"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// broadcast sends the stored bytes, again and again while they could land: nodes drop
// transactions silently, and the same bytes can land only once.
func (s *Settler) broadcast(ctx context.Context, t wallet.Transaction) error {
	w, now := s.watched[t.ID], s.Now()
	// One that was found on chain after its end, and rolled back again, has no bytes here: they are
	// with whoever sent them.
	if t.Status != wallet.Signed && t.Status != wallet.Pending || len(t.Signed) == 0 || now.Before(w.broadcastAt) {
		return nil
	}
	if !w.hinted {
		w.hinted = true
		s.Chain.Watch(t.Signature)
	}
	w.broadcastAt = now.Add(s.Pace.Rebroad)
	err := s.Chain.Broadcast(ctx, t.Signed)
	var refused *wallet.PreflightError
	switch {
	case err == nil:
		return s.step(ctx, t.ID, func(t wallet.Transaction) *wallet.TransitionInput {
			if t.Status != wallet.Signed {
				return nil
			}
			return &wallet.TransitionInput{By: wallet.NetworkAccepted, At: s.Now().UTC()}
		})
	case errors.As(err, &refused):
		return s.remember(ctx, t, refused)
	}
	return fmt.Errorf("broadcast %s: %w", t.ID, err)
}

// remember keeps why a node would not take a transaction: if it never lands, that is the reason.
func (s *Settler) remember(ctx context.Context, seen wallet.Transaction, refused *wallet.PreflightError) error {
	same := seen.Refusal == refused.Failure && seen.RefusalReason.Equal(refused.Reason)
	// Sooner or later every blockhash is unknown: that explains nothing that was refused before.
	if same || seen.Refusal != "" && refused.Failure == wallet.BlockhashExpired {
		return nil
	}
	return s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.Transaction(seen.ID)
		if err != nil || t.Status != wallet.Signed && t.Status != wallet.Pending {
			return err
		}
		t.Refusal, t.RefusalReason = refused.Failure, refused.Reason
		return tx.PutTransaction(t)
	})
}
