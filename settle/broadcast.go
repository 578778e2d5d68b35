package settle

import (
	"context"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// broadcast sends the stored bytes, and repeats that every Pace.Rebroadcast while they could land. Nodes drop transactions
// without notice, and repeating is safe: the network executes the same signature once at most.
//
// It returns the step to pending when a node accepted new bytes, or a change that records the refusal of a node. An
// unreachable node is an error, and the next look tries again.
func (s *Settler) broadcast(ctx context.Context, t wallet.Transaction, w *watch) (change, error) {
	now := s.Now()
	// Only signed or pending transactions have bytes to send. One that was found on chain after it had ended, and was
	// then rolled back, was broadcast by somebody else: this store never got its bytes.
	if t.Status != wallet.Signed && t.Status != wallet.Pending || len(t.Signed) == 0 || now.Before(w.broadcastAt) {
		return nil, nil
	}
	// Subscribe before sending, so that the hint cannot be missed.
	if s.memory.hint(t.Signature, w) {
		s.Chain.Watch(t.Signature)
	}
	w.broadcastAt = now.Add(s.Pace.Rebroadcast)
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

// remember stores why a node refused a transaction. It is not a verdict, since the transaction may still land. If it
// never does, this becomes the reason that its owner sees (gone).
func (s *Settler) remember(seen wallet.Transaction, refused *wallet.PreflightError) change {
	same := seen.Refusal == refused.Failure && seen.RefusalReason.Equal(refused.Reason)
	// After about a minute every blockhash is unknown to the nodes. That must not replace an earlier, more useful reason.
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
		t.Version++ // PutTransaction stored this version; the changes that follow in this commit build on it
		return t, nil
	}
}
