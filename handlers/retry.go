package handlers

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// PrepareRetry prepares a new transaction to replace one that can never land (docs/architecture.md, The rule against
// paying twice, 1). Its owner confirms and signs it again. Errors: those of Prepare; CONFLICT while the first one, or
// another replacement of it, may still land or has landed.
func (s *Transactions) PrepareRetry(ctx context.Context, who Caller, id wallet.TransactionID) (Proposal, error) {
	t, err := read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) {
		t, err := authorizeOwner(tx, who, id)
		if err != nil {
			return t, err
		}
		return t, retriable(tx, t)
	})
	if err != nil {
		return Proposal{}, err
	}
	operation, err := s.operation(t.Kind)
	if err != nil { // nobody proposes it: a request for payment, for example
		return Proposal{}, wallet.RefuseFor(wallet.Conflict, t.Status.Reason())
	}
	return operation.Retry(ctx, who, t)
}

// retriable returns nil if t may be replaced: it can never land, and neither can its replacement, if there is one.
func retriable(tx store.Tx, t wallet.Transaction) error {
	if !t.NeverLanded() {
		return wallet.RefuseFor(wallet.Conflict, t.Status.Reason())
	}
	if t.RetriedBy == "" {
		return nil
	}
	switch next, err := tx.Transaction(t.RetriedBy); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !next.NeverLanded():
		return wallet.Refuse(wallet.Conflict, "retrying.replaced")
	}
	return nil
}

// replaces records in the first transaction which one replaces it. The check and the record share the store transaction
// that creates the replacement, so there is never more than one replacement that could land.
func (s *Transactions) replaces(tx store.Tx, t wallet.Transaction) error {
	if t.RetryOf == "" {
		return nil
	}
	first, err := tx.Transaction(t.RetryOf)
	if err != nil {
		return found(err, wallet.TransactionNotFound, "retrying.gone")
	}
	if err := retriable(tx, first); err != nil {
		return err
	}
	first.RetriedBy = t.ID
	return tx.PutTransaction(first)
}

// askEvery is the shortest interval between two rechecks of a transaction. Requests in between succeed and do nothing.
const askEvery = 10 * time.Second

// Recheck makes settle search for a transaction with an uncertain outcome at once, at its owner's request. CONFLICT if
// its outcome is known.
func (s *Transactions) Recheck(tx store.Tx, who Caller, id wallet.TransactionID) error {
	t, err := authorizeOwner(tx, who, id)
	if err != nil {
		return err
	}
	if !t.Indeterminate {
		return wallet.RefuseFor(wallet.Conflict, t.Status.Reason())
	}
	now := s.Now().UTC()
	if now.Sub(t.RecheckRequestedAt) < askEvery {
		return nil // a search is under way or has just ended
	}
	t.RecheckRequestedAt = now
	return store.Recheck(tx, t, now)
}
