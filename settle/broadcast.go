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
func (s *Settler) broadcast(ctx context.Context, t wallet.Transaction, w *watch) (change, error) {
	now := s.Now()
	// One that was found on chain after its end, and rolled back again, has no bytes here: they are
	// with whoever sent them.
	if t.Status != wallet.Signed && t.Status != wallet.Pending || len(t.Signed) == 0 || now.Before(w.broadcastAt) {
		return nil, nil
	}
	if s.memory.hint(t.Signature, w) {
		s.Chain.Watch(t.Signature)
	}
	w.broadcastAt = now.Add(s.Pace.Rebroad)
	err := s.Chain.Broadcast(ctx, t.Signed)
	var refused *wallet.PreflightError
	switch {
	case err == nil:
		if t.Status != wallet.Signed {
			return nil, nil
		}
		return s.step(func(t wallet.Transaction) *wallet.TransitionInput {
			if t.Status != wallet.Signed {
				return nil
			}
			return &wallet.TransitionInput{By: wallet.NetworkAccepted, At: s.Now().UTC()}
		}), nil
	case errors.As(err, &refused):
		return s.remember(t, refused), nil
	}
	return nil, fmt.Errorf("broadcast %s: %w", t.ID, err)
}

// remember keeps why a node would not take a transaction: if it never lands, that is the reason.
func (s *Settler) remember(seen wallet.Transaction, refused *wallet.PreflightError) change {
	same := seen.Refusal == refused.Failure && seen.RefusalReason.Equal(refused.Reason)
	// Sooner or later every blockhash is unknown: that explains nothing that was refused before.
	if same || seen.Refusal != "" && refused.Failure == wallet.BlockhashExpired {
		return nil
	}
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
		if t.Status != wallet.Signed && t.Status != wallet.Pending {
			return t, nil
		}
		t.Refusal, t.RefusalReason = refused.Failure, refused.Reason
		if err := tx.PutTransaction(t); err != nil {
			return t, err
		}
		t.Version++ // as PutTransaction left it
		return t, nil
	}
}
