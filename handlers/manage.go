package handlers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// ownWallet finds one of a person's wallets by its address, or by at least four last characters if only one wallet
// matches. NOT_FOUND, or INVALID_REQUEST if several match.
func ownWallet(tx store.Tx, user wallet.UserID, name string) (wallet.Wallet, error) {
	all, err := tx.WalletsOf(user)
	if err != nil {
		return wallet.Wallet{}, err
	}
	var fits []wallet.Wallet
	for _, w := range all {
		text := w.Address.String()
		if text == name || len(name) >= 4 && len(name) <= len(text) && text[len(text)-len(name):] == name {
			fits = append(fits, w)
		}
	}
	switch len(fits) {
	case 0:
		return wallet.Wallet{}, wallet.Refuse(wallet.NotFound, "own_wallet.none")
	case 1:
		return fits[0], nil
	}
	return wallet.Wallet{}, wallet.Refuse(wallet.InvalidRequest, "own_wallet.several")
}

// List returns the caller's wallets, oldest first: those of the person, or those that an operator's key connected.
func (w *Wallets) List(ctx context.Context, who Caller) ([]wallet.Wallet, error) {
	return read(ctx, w.Store, func(tx store.Tx) ([]wallet.Wallet, error) {
		all, err := tx.WalletsOf(who.User)
		if err != nil {
			return nil, err
		}
		var own []wallet.Wallet
		for _, one := range all {
			if who.owns(one) {
				own = append(own, one)
			}
		}
		return own, nil
	})
}

// Use makes one of a person's wallets their default. name is its address, or at least four last characters of it. Payers are given the previous one for
// wallet.ReceivingDelay (Receiving). Errors: those of ownWallet.
func (w *Wallets) Use(tx store.Tx, user wallet.UserID, name string) (wallet.Wallet, error) {
	chosen, err := ownWallet(tx, user, name)
	if err != nil {
		return wallet.Wallet{}, err
	}
	person, err := tx.User(user)
	if err != nil {
		return wallet.Wallet{}, err
	}
	if err := person.Frozen(wallet.ByPerson); err != nil {
		return wallet.Wallet{}, err
	}
	if person.DefaultWallet == chosen.Address {
		return chosen, nil
	}
	return chosen, w.setDefault(tx, person, chosen.Address)
}

// Find returns one of a person's wallets by its address or the end of it. Errors: those of ownWallet.
func (w *Wallets) Find(tx store.Tx, user wallet.UserID, name string) (wallet.Wallet, error) {
	return ownWallet(tx, user, name)
}

// Disconnect removes a wallet from a person's account. Its key and its money are not affected. Transactions that wait for
// Confirm, the end of a delay or a signature are rejected. Signed ones continue. If it was the default, the oldest other wallet becomes the
// default. It returns the removed wallet and the new default (zero for none).
func (w *Wallets) Disconnect(tx store.Tx, user wallet.UserID, name string) (wallet.Wallet, wallet.Address, error) {
	gone, err := ownWallet(tx, user, name)
	if err != nil {
		return wallet.Wallet{}, wallet.Address{}, err
	}
	next, err := w.release(tx, gone, wallet.UserInitiated, "")
	return gone, next, err
}

// DisconnectOwn is Disconnect for a caller over HTTP, by address. A wallet of an operator's key has neither a default nor
// a chat. WALLET_NOT_FOUND.
func (w *Wallets) DisconnectOwn(tx store.Tx, who Caller, address wallet.Address) (wallet.Wallet, error) {
	held, err := tx.Wallet(address)
	if err != nil || !who.owns(held) {
		return held, errors.Join(store.IgnoreNotFound(err), wallet.Refuse(wallet.WalletNotFound, "own_wallet.not_connected"))
	}
	_, err = w.release(tx, held, wallet.UserInitiated, who.KeyID)
	return held, err
}

// release removes a wallet from its owner, rejects what waits for them, ends a change of its spending limits that waits, emits the event, and returns the owner's new
// default. by is the key by which a program did it. POLICY_VIOLATION if the owner's account is frozen.
func (w *Wallets) release(tx store.Tx, gone wallet.Wallet, reason, by string) (wallet.Address, error) {
	if err := usable(tx, gone.Owner, wallet.ByPerson); err != nil {
		return wallet.Address{}, err
	}
	now := w.Now().UTC()
	open, err := tx.UnsettledFrom(gone.Address)
	if err != nil {
		return wallet.Address{}, err
	}
	// Nobody can confirm or sign these any more. What is signed may land and is left to settle.
	for _, t := range open {
		if t.Status != wallet.AwaitingConfirmation && t.Status != wallet.Delayed && t.Status != wallet.AwaitingSignature {
			continue
		}
		if _, err := store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerRejected, At: now,
			Failure: wallet.UserRejected, Reason: wallet.Because("failed_because.wallet_disconnected")}); err != nil {
			return wallet.Address{}, err
		}
	}
	if err := remember(tx, gone, now); err != nil {
		return wallet.Address{}, err
	}
	kind := wallet.LogWalletDisconnected
	if reason == wallet.MovedToAnother {
		kind = wallet.LogWalletMoved
	}
	if err := errors.Join(tx.DeleteWallet(gone.Address), dropPending(tx, gone.Owner, gone.Address, now), logWallet(tx, now, gone.Owner, kind, gone.Address, by)); err != nil {
		return wallet.Address{}, err
	}
	next, err := w.nextDefault(tx, gone)
	if err != nil {
		return next, err
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_disconnected_%s_%d", gone.Address, now.UnixMilli()), wallet.WalletDisconnected, now, gone.Owner,
		wallet.WalletDisconnectedData{UserID: gone.Owner, WalletAddress: gone.Address, DisconnectedAt: wallet.Timestamp(now), Reason: reason})
	if err != nil {
		return next, err
	}
	return next, tx.Emit(event)
}

// remember keeps a wallet that leaves an account, as one whose key can still end a freeze.
func remember(tx store.Tx, gone wallet.Wallet, now time.Time) error {
	if gone.Owner == "" { // connected by an operator's key
		return nil
	}
	person, err := tx.User(gone.Owner)
	if err != nil {
		return err
	}
	return tx.PutUser(person.WithFormerWallet(gone, now))
}

// nextDefault picks another default if the removed wallet was it. A wallet that a program signs for never becomes one.
func (w *Wallets) nextDefault(tx store.Tx, gone wallet.Wallet) (wallet.Address, error) {
	if gone.Owner == "" { // connected by an operator's key
		return wallet.Address{}, nil
	}
	person, err := tx.User(gone.Owner)
	if err != nil || person.DefaultWallet != gone.Address {
		return person.DefaultWallet, err
	}
	next := wallet.Address{}
	others, err := tx.WalletsOf(gone.Owner)
	if err != nil {
		return wallet.Address{}, err
	}
	for _, other := range others {
		if other.Type != wallet.DeveloperWallet {
			next = other.Address
			break
		}
	}
	return next, w.setDefault(tx, person, next)
}
