package settle

import (
	"context"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// step reads a transaction anew and takes one step of its life, if decide still wants one.
func (s *Settler) step(ctx context.Context, id wallet.TransactionID, decide func(wallet.Transaction) *wallet.Change) error {
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

// apply writes one step and its announcements, and the recipient's receipt when nothing can take the
// payment back any more: a receipt is never withdrawn.
func (s *Settler) apply(tx store.Tx, t wallet.Transaction, change wallet.Change) (wallet.Transaction, error) {
	next, err := store.Step(tx, t, change)
	if err != nil {
		return t, err
	}
	if change.By == wallet.Finalized {
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
	if err := tx.Emit(event); err != nil || t.Kind != wallet.Send {
		return err
	}
	return s.answers(tx, receipt)
}

// answers ends the request of ours that a payment by one of our own people was made for: their wallet
// gives it a reference of its own, so that the request's is not on chain.
func (s *Settler) answers(tx store.Tx, receipt wallet.Transaction) error {
	const look = 100                                   // of the recipient's newest
	if receipt.Asked.IsZero() || receipt.Owner == "" { // requests are people's
		return nil
	}
	all, err := tx.TransactionsOf(receipt.Owner, store.Page{Limit: look})
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Status == wallet.Requested && t.Reference == receipt.Asked && t.To == receipt.To && t.Token.Mint == receipt.Token.Mint {
			return s.answered(tx, t, receipt.Amount)
		}
	}
	return nil
}
