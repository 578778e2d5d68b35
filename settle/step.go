package settle

import (
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// change applies what a look found to a transaction inside a store transaction. It gets the row as it is at commit, which
// may differ from the one that was looked at, and returns the row as it is afterwards. It must check again that the
// finding still applies. A nil change does nothing.
type change func(store.Tx, wallet.Transaction) (wallet.Transaction, error)

// write returns the commit of one look: all changes in order, then the job of the next look. That job comes last because
// the current attempt ends with this commit. A transaction that was erased with its owner needs neither.
func (s *Settler) write(id wallet.TransactionID, changes []change) func(store.Tx) error {
	return func(tx store.Tx) error {
		t, err := tx.Transaction(id)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		for _, change := range changes {
			if err == nil {
				t, err = change(tx, t)
			}
		}
		if err == nil {
			err = s.schedule(tx, t)
		}
		if err != nil {
			return fmt.Errorf("settle %s: %w", id, err)
		}
		return nil
	}
}

// schedule puts the job of the next look. The current job of the transaction ends in the same store transaction.
func (s *Settler) schedule(tx store.Tx, t wallet.Transaction) error {
	now := s.Now().UTC()
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return err
	}
	if rules.Awaits(t) {
		return store.ScheduleAt(tx, t, now, s.collectAgain(t, now))
	}
	return store.Schedule(tx, t, now)
}

// step wraps one transition as a change. decide sees the row at commit and returns nil when the transition no longer
// applies.
func (s *Settler) step(decide func(wallet.Transaction) *wallet.TransitionInput) change {
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
		input := decide(t)
		if input == nil { // the row changed since the look
			return t, nil
		}
		return s.apply(tx, t, *input)
	}
}

// apply writes one transition and its events. When a payment is finalized, it also writes the recipient's receipt.
// Receipts wait for finality because they are never withdrawn.
func (s *Settler) apply(tx store.Tx, t wallet.Transaction, change wallet.TransitionInput) (wallet.Transaction, error) {
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return t, err
	}
	next, err := store.Apply(tx, t, change)
	if err != nil {
		return t, err
	}
	if change.By != wallet.Finalized {
		return next, nil
	}
	if rules.ChangesStakes {
		if err := s.stakesChanged(tx, next); err != nil {
			return next, err
		}
	}
	if rules.Pays {
		return next, s.receipt(tx, next)
	}
	return next, nil
}

// stakesChanged orders that the stakes of a wallet are read. One that is connected no longer is not watched.
func (s *Settler) stakesChanged(tx store.Tx, t wallet.Transaction) error {
	from, err := tx.Wallet(t.From)
	if err != nil {
		return store.IgnoreNotFound(err)
	}
	return store.OrderStakeCheck(tx, from, s.Now().UTC())
}
