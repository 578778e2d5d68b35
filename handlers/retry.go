package handlers

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// PrepareRetry prepares a new transaction in the place of one that can never land (docs/architecture.md, The rule
// against paying twice, 1). It is confirmed and signed anew. Errors: those of Prepare; CONFLICT while the first, or
// another that took its place, may still land or has.
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

// retriable tells whether a new transaction may take the place of t.
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

// replaces notes in the first transaction which one takes its place, so that no two do at once.
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

// askEvery is how often an owner may have a held transaction looked for.
const askEvery = 10 * time.Second

// Recheck has settle look for a held transaction at once, on its owner's word.
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
		return nil // it is being looked for
	}
	t.RecheckRequestedAt = now
	return store.Recheck(tx, t, now)
}
