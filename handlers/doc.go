// Package handlers has every operation that a person or a program can request, each implemented once: the chat and the
// HTTP API call the same methods. It does not know which front carries a request, how an answer is worded, or how an RPC
// node is called. It names what it needs of the chain as small interfaces, and it refuses with a wallet.Error, which the
// fronts translate.
//
// An operation has two parts. Prepare does what is slow, such as RPC calls, with no store transaction open. Commit writes
// the result in the caller's store transaction, so the caller can add rows of its own (a conversation, an idempotency
// record) that become true together with it. The store may run Commit twice, so it has no other effects. Commit also
// repeats every check that may have changed since Prepare:
//
//	proposal, err := transfers.Prepare(ctx, who, request)
//	err = db.Update(ctx, func(tx store.Tx) error { return transfers.Commit(tx, proposal) })
//
// Small operations have one part, which either takes a store.Tx or opens a transaction of its own.
//
// One struct stands for one subject: Wallets, Transfers, Stakes, Signing, Contacts, Keys, Webhooks and so on. Transactions takes
// proposals of every kind from pricing to the owner's Confirm. What differs between kinds is an Operation: it loads a
// Snapshot of the chain, and the snapshot decides what is possible. A Caller says who makes a request, and with which
// key.
//
// The exported fields of these structs are set once, before use. All methods are safe for concurrent use.
package handlers

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// Caller is who makes a request: a user in chat, or a key over HTTP. It is a plain value. Authorization is checked in
// each operation, in the same store transaction as the effect.
type Caller struct {
	User       wallet.UserID // the user, or the owner of the key; "" for an operator's key without an owner
	KeyID      string        // the key of this request, which its owner sees in lists; "" in chat
	KeyLineage string        // wallet.Key.Lineage: the same for all rotations of a key, and what its rows belong to; "" in chat
	App        wallet.AppID  // the app that the key was created for; "" for none
	Bot        bool          // the key is a bot token
}

// CallerOf returns the caller that a key stands for. The key must have been checked (Keys.Check).
func CallerOf(k wallet.Key) Caller {
	return Caller{User: k.Owner, KeyID: k.ID, KeyLineage: k.Lineage(), App: k.App, Bot: k.Kind == wallet.BotKey}
}

// operator reports whether the caller is an operator's key, which has no owner.
func (c Caller) operator() bool { return c.User == "" && c.KeyLineage != "" }

// owns reports whether a wallet belongs to the caller: to the user, or, for an operator's key, to the lineage of the key
// that connected it.
func (c Caller) owns(w wallet.Wallet) bool {
	if c.User == "" {
		return c.KeyLineage != "" && w.Owner == "" && w.KeyLineage == c.KeyLineage
	}
	return w.Owner == c.User
}

// lineageOf returns the lineage of a key, "" for no key. A key that no longer exists is its own lineage.
func lineageOf(tx store.Tx, keyID string) (string, error) {
	if keyID == "" {
		return "", nil
	}
	key, err := tx.Key(keyID)
	if errors.Is(err, store.ErrNotFound) {
		return keyID, nil
	}
	return key.Lineage(), err
}

// found turns the store's ErrNotFound into a wallet.Error with the given code and sentence. It returns other errors, and
// nil, unchanged.
func found(err error, code wallet.Code, key string, args ...wallet.Arg) error {
	if errors.Is(err, store.ErrNotFound) {
		return &wallet.Error{Code: code, Reason: wallet.Because(key, args...), Err: err}
	}
	return err
}

// read runs one View and returns the value that get made. The store may call get more than once.
func read[T any](ctx context.Context, s store.Store, get func(store.Tx) (T, error)) (T, error) {
	var value T
	err := s.View(ctx, func(tx store.Tx) error {
		var err error
		value, err = get(tx)
		return err
	})
	return value, err
}

// Clock returns the current time: time.Now, or a fixed clock in tests.
type Clock func() time.Time

// IDs makes unique identifiers with a prefix such as "tx", "usr" or "key", sortable by time (wallet.TimedIDs).
type IDs func(prefix string) string
