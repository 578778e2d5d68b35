package handlers

import (
	"context"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Known lists the addresses that a person has chosen to deal with, as store.KnownTo does, for a front that explains a mistyped one.
func (s *Transactions) Known(ctx context.Context, who wallet.UserID) ([]wallet.Address, error) {
	return read(ctx, s.Store, func(tx store.Tx) ([]wallet.Address, error) { return store.KnownTo(tx, who) })
}

// recognized marks a payment whose recipient is new to its owner, or resembles an address that the owner knows. A
// resembling one must be confirmed by typing part of the address. Wallets without an owner are skipped: there is nobody
// to ask.
func (s *Transactions) recognized(ctx context.Context, t wallet.Transaction, rules wallet.Rules) (wallet.Transaction, error) {
	if t.Owner == "" || !rules.Pays {
		return t, nil
	}
	known, err := read(ctx, s.Store, func(tx store.Tx) ([]wallet.Address, error) { return store.KnownTo(tx, t.Owner) })
	if err != nil || slices.Contains(known, t.To) {
		return t, err
	}
	// The request may have named a token account. Its address was shown and may be made to resemble a wallet too.
	for _, shown := range []wallet.Address{t.To, t.RequestedDestination} {
		if seems, ok := wallet.PoisoningSuspect(shown, known); ok {
			t.PoisoningSuspect = seems
			return t, nil
		}
	}
	t.Warnings = append([]wallet.Warning{wallet.WarnNewRecipient}, t.Warnings...)
	return t, nil
}

// FindTypedConfirmation finds the caller's open transaction that these typed characters would confirm. It returns false if there is
// none.
func (s *Transactions) FindTypedConfirmation(ctx context.Context, who Caller, typed string) (wallet.TransactionID, bool, error) {
	if who.User == "" {
		return "", false, nil
	}
	var id wallet.TransactionID
	err := s.Store.View(ctx, func(tx store.Tx) error {
		open, err := OpenTransactions(tx, who.User)
		for _, t := range open {
			if !t.PoisoningSuspect.IsZero() && t.Owner == who.User && t.ConfirmableAt(s.Now()) == nil && t.TypedFor(typed) == nil {
				id = t.ID
			}
		}
		return err
	})
	return id, id != "", err
}
