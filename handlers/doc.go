// Package handlers is every operation that a person or a program can ask for, once: chat and HTTP run the same ones. An
// operation is Prepare (slow things, no store transaction open) and Commit (short, re-runnable, inside the caller's own
// transaction). It refuses to know who carries the request, how the answer is worded, and how Solana is spoken to.
//
// One struct stands for a subject: Wallets, Transfers, Signing, Keys, Webhooks. Transactions carries proposals of every
// kind from their price to the owner's Confirm. What differs between kinds is an Operation: it loads a Snapshot from the
// chain, and the snapshot judges. A Caller says who asks, and by which key.
package handlers

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// Caller is who asks: a person of ours, and by which key when it comes over HTTP.
type Caller struct {
	User       wallet.UserID // "" for an operator's key that belongs to nobody
	KeyID      string        // the key that asks, by which a person knows it again; "" in chat
	KeyLineage string        // its line (wallet.Key.Lineage), to which everything belongs; "" in chat
	App        wallet.AppID  // the program that the key was made for; "" for none
	Bot        bool          // a bot token
}

// CallerOf is who a key speaks for.
func CallerOf(k wallet.Key) Caller {
	return Caller{User: k.Owner, KeyID: k.ID, KeyLineage: k.Lineage(), App: k.App, Bot: k.Kind == wallet.BotKey}
}

// operator tells that the caller is an operator's key, which belongs to nobody.
func (c Caller) operator() bool { return c.User == "" && c.KeyLineage != "" }

// owns tells whether a wallet is the caller's: a person's own, or, for an operator's key that belongs
// to nobody, one that the key itself connected.
func (c Caller) owns(w wallet.Wallet) bool {
	if c.User == "" {
		return c.KeyLineage != "" && w.Owner == "" && w.KeyLineage == c.KeyLineage
	}
	return w.Owner == c.User
}

// lineOf is the line of the key that asked for something (wallet.Key.Lineage); "" for none.
func lineOf(tx store.Tx, keyID string) (string, error) {
	if keyID == "" {
		return "", nil
	}
	key, err := tx.Key(keyID)
	if errors.Is(err, store.ErrNotFound) {
		return keyID, nil
	}
	return key.Lineage(), err
}

// found turns the store's ErrNotFound into the code that the fronts know.
func found(err error, code wallet.Code, key string, args ...wallet.Arg) error {
	if errors.Is(err, store.ErrNotFound) {
		return &wallet.Error{Code: code, Reason: wallet.Because(key, args...), Err: err}
	}
	return err
}

// read runs one View that returns a value.
func read[T any](ctx context.Context, s store.Store, get func(store.Tx) (T, error)) (T, error) {
	var value T
	err := s.View(ctx, func(tx store.Tx) error {
		var err error
		value, err = get(tx)
		return err
	})
	return value, err
}

// Clock tells the time.
type Clock func() time.Time

// IDs makes identifiers with the given prefix ("tx", "usr", "key"): wallet.TimedIDs.
type IDs func(prefix string) string
