package store

import "purser/wallet"

// Begin stores a transaction that takes its first step as it is made.
func Begin(tx Tx, t wallet.Transaction, c wallet.TransitionInput) (wallet.Transaction, error) {
	next, events, err := tx.Kinds().Apply(t, c)
	if err != nil {
		return t, err
	}
	if err := tx.CreateTransaction(next); err != nil {
		return t, err
	}
	next.Version = 1 // which is CreateTransaction's contract
	return next, tx.Emit(events...)
}

// Step takes one edge of a transaction's life and announces it: the fact and its event in the one
// store transaction that the caller holds. It returns the row as it now stands.
func Step(tx Tx, t wallet.Transaction, c wallet.TransitionInput) (wallet.Transaction, error) {
	next, events, err := tx.Kinds().Apply(t, c)
	if err != nil {
		return t, err
	}
	if err := tx.PutTransaction(next); err != nil {
		return t, err
	}
	next.Version++ // as PutTransaction left it
	return next, tx.Emit(events...)
}
