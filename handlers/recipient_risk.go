package handlers

import (
	"context"
	"slices"

	"purser/store"
	"purser/wallet"
)

// paymentsKnown is how many of somebody's newest payments make their recipients known.
const paymentsKnown = 500

// knownTo lists the addresses that a person has dealt with of their own will: contacts, own wallets,
// and whom their own payments have reached. What others sent them makes nobody known: sending a
// little from a look-alike, for the victim to copy from their history, is how it is planted.
func knownTo(tx store.Tx, who wallet.UserID) ([]wallet.Address, error) {
	known, err := tx.Recipients(who, paymentsKnown)
	if err != nil {
		return nil, err
	}
	own, err := tx.WalletsOf(who)
	if err != nil {
		return nil, err
	}
	for _, w := range own {
		known = append(known, w.Address)
	}
	book, err := tx.ContactsOf(who)
	if err != nil {
		return nil, err
	}
	for _, contact := range book {
		known = append(known, contact.Address)
	}
	return known, nil
}

// recognized says of a payment whether its recipient is new to the owner, or could be taken for
// somebody whom they know. A program's own wallet has no owner to be asked.
func (s *Transactions) recognized(ctx context.Context, t wallet.Transaction, rules wallet.Rules) (wallet.Transaction, error) {
	if t.Owner == "" || !rules.Pays {
		return t, nil
	}
	known, err := read(ctx, s.Store, func(tx store.Tx) ([]wallet.Address, error) { return knownTo(tx, t.Owner) })
	if err != nil || slices.Contains(known, t.To) {
		return t, err
	}
	// A token account may have been made to look like somebody's wallet: what was named counts too.
	for _, shown := range []wallet.Address{t.To, t.RequestedDestination} {
		if seems, ok := wallet.PoisoningSuspect(shown, known); ok {
			t.PoisoningSuspect = seems
			return t, nil
		}
	}
	t.Warnings = append([]wallet.Warning{wallet.WarnNewRecipient}, t.Warnings...)
	return t, nil
}

// AskedFor finds the caller's look-alike that waits for exactly these characters; false for none.
func (s *Transactions) AskedFor(ctx context.Context, who Caller, typed string) (wallet.TransactionID, bool, error) {
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
