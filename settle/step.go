package settle

import (
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// change is something that a look found to be true of a transaction, to be written. It is given the row as it is now,
// which may have changed since the look, and returns it as it then stands. nil changes nothing.
type change func(store.Tx, wallet.Transaction) (wallet.Transaction, error)

// write is the commit of what a look found, in this order. The job of the next look is put last: the attempt that
// commits this ends with it. A transaction that is gone with its owner needs neither.
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

// schedule puts the job of the next look at a transaction whose own job ends in this store transaction.
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

// step is one step of a transaction's life, if decide still wants one.
func (s *Settler) step(decide func(wallet.Transaction) *wallet.TransitionInput) change {
	return func(tx store.Tx, t wallet.Transaction) (wallet.Transaction, error) {
		input := decide(t)
		if input == nil { // it has changed meanwhile
			return t, nil
		}
		return s.apply(tx, t, *input)
	}
}

// apply writes one step and its announcements, and of a kind that pays somebody the recipient's receipt when nothing can
// take the payment back any more: a receipt is never withdrawn.
func (s *Settler) apply(tx store.Tx, t wallet.Transaction, change wallet.TransitionInput) (wallet.Transaction, error) {
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return t, err
	}
	next, err := store.Apply(tx, t, change)
	if err != nil {
		return t, err
	}
	if change.By == wallet.Finalized && rules.Pays {
		return next, s.receipt(tx, next)
	}
	return next, nil
}

// receipt tells a recipient who is ours. Its id is the payment's own, so that it is told once,
// whoever sees it first. Of a wallet that an operator's key holds for nobody, programs are told alone.
func (s *Settler) receipt(tx store.Tx, t wallet.Transaction) error {
	to, err := tx.Wallet(t.To)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var owner wallet.User
	if to.Owner != "" {
		owner, err = tx.User(to.Owner)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	receipt, event, err := t.ReceiptOf(to, owner.TelegramID, s.Now().UTC())
	if err != nil {
		return err
	}
	switch err := tx.CreateTransaction(receipt); {
	case errors.Is(err, store.ErrConflict):
		return nil
	case err != nil:
		return err
	}
	return tx.Emit(event)
}
