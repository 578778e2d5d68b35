package handlers

import (
	"context"
	"errors"
	"io"
	"time"

	"purser/store"
	"purser/wallet"
)

// setDefault makes a wallet the default of a person; zero: they have none. It logs that. If payers are given the previous one for a while, it notifies the person.
func (w *Wallets) setDefault(tx store.Tx, person wallet.User, to wallet.Address) error {
	now := w.Now().UTC()
	person = person.WithDefault(to, now)
	return errors.Join(tx.PutUser(person), logWallet(tx, now, person.ID, wallet.LogDefaultChanged, to, ""), notifyDefault(tx, w.Random, person, now, false))
}

// notifyDefault notifies a person that payers are given another wallet than their default. It does nothing if they are not, and if there is no default that they
// could get later. again says that the change is older, and its wait begins again with the end of a freeze.
func notifyDefault(tx store.Tx, random io.Reader, person wallet.User, now time.Time, again bool) error {
	from, waits := person.ReceivesAt(now)
	if !waits || person.DefaultWallet.IsZero() {
		return nil
	}
	// A time would not tell two changes within one tick of the clock apart, and an event with a known id is dropped.
	id, err := wallet.RandomToken(random, 16)
	if err != nil {
		return err
	}
	event, err := wallet.NewEvent("evt_default_"+id, wallet.DefaultChanged, now, person.ID,
		wallet.DefaultChangedData{To: person.DefaultWallet, From: from, Again: again})
	if err != nil {
		return err
	}
	return tx.Emit(event)
}

// Receiving returns the wallet that payers of a person are given: the default, or for wallet.ReceivingDelay after it changed the previous one. Everything that gives a
// person's address to payers without naming a wallet asks it. WALLET_NOT_FOUND for a person without a wallet. POLICY_VIOLATION if the previous wallet was
// disconnected: then payers are given none until the wait is over.
func (w *Wallets) Receiving(ctx context.Context, person wallet.UserID) (wallet.Wallet, error) {
	return read(ctx, w.Store, func(tx store.Tx) (wallet.Wallet, error) {
		return receivingOf(tx, person, w.Now())
	})
}

// receivingOf is Receiving inside a store transaction. Nobody ("", who was never met) has no wallet.
func receivingOf(tx store.Tx, person wallet.UserID, now time.Time) (wallet.Wallet, error) {
	if person == "" {
		return wallet.Wallet{}, wallet.Refuse(wallet.WalletNotFound, "own_wallet.no_wallet")
	}
	user, err := tx.User(person)
	if err != nil {
		return wallet.Wallet{}, found(err, wallet.UserNotFound, "person.gone")
	}
	return receiving(tx, user, now)
}

// receiving is Receiving inside a store transaction.
func receiving(tx store.Tx, user wallet.User, now time.Time) (wallet.Wallet, error) {
	if user.DefaultWallet.IsZero() {
		return wallet.Wallet{}, wallet.Refuse(wallet.WalletNotFound, "own_wallet.no_wallet")
	}
	address, _ := user.ReceivesAt(now)
	held, err := tx.Wallet(address)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return wallet.Wallet{}, err
	case err == nil && held.Owner == user.ID:
		return held, nil
	case user.Freeze != nil:
		return wallet.Wallet{}, wallet.Refuse(wallet.PolicyViolation, "own_wallet.receives_none_frozen")
	case user.DefaultChange != nil:
		return wallet.Wallet{}, wallet.Refuse(wallet.PolicyViolation, "own_wallet.receives_none", wallet.TimeArg("Until", user.DefaultChange.Until()))
	}
	return wallet.Wallet{}, found(store.ErrNotFound, wallet.WalletNotFound, "wallet_access.none")
}

// defaultChangedAt returns when another wallet than a transaction's became the default of its owner, for the device of the previous one; zero if none did lately.
func defaultChangedAt(tx store.Tx, t wallet.Transaction, now time.Time) (time.Time, error) {
	if t.Owner == "" {
		return time.Time{}, nil
	}
	user, err := tx.User(t.Owner)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	return user.DefaultChangedAt(t.From, now), nil
}
