package settle

import (
	"context"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// step reads a transaction anew and takes one step of its life, if decide still wants one.
func (s *Settler) step(ctx context.Context, id wallet.TransactionID, decide func(wallet.Transaction) *wallet.TransitionInput) error {
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		t, err := tx.Transaction(id)
		if err != nil {
			return err
		}
		change := decide(t)
		if change == nil {
			return nil
		}
		_, err = s.apply(tx, t, *change)
		return err
	})
	if err != nil {
		return fmt.Errorf("settle %s: %w", id, err)
	}
	return nil
}

// apply writes one step and its announcements, and of a kind that pays somebody the recipient's receipt when nothing can
// take the payment back any more: a receipt is never withdrawn.
func (s *Settler) apply(tx store.Tx, t wallet.Transaction, change wallet.TransitionInput) (wallet.Transaction, error) {
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return t, err
	}
	next, err := store.Step(tx, t, change)
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
