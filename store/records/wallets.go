package records

import (
	"encoding/binary"
	"errors"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// Wallet reads the wallet of an address. Its row has no sealed field: addresses are public, and the owner is an id.
// ErrNotFound: nobody has connected the address.
func (t *tx) Wallet(address wallet.Address) (wallet.Wallet, error) {
	raw := t.get(wallets, address[:])
	if raw == nil {
		return wallet.Wallet{}, store.ErrNotFound
	}
	w, _, err := plainOf[wallet.Wallet](t, wallets, address[:], raw)
	return w, err
}

// WalletsOf follows the index, whose keys are in order of connection. An entry whose row is damaged is an error, so
// that nobody is shown fewer wallets than they have.
func (t *tx) WalletsOf(user wallet.UserID) ([]wallet.Wallet, error) {
	var out []wallet.Wallet
	prefix := userPrefix(user)
	// A key is user.0, the time of connection, the address.
	for key := range t.scan(walletsOf, engine.Prefix(prefix)) {
		address := key[len(prefix)+timeSize:]
		w, _, err := plainOf[wallet.Wallet](t, wallets, address, t.get(wallets, address))
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// PutWallet checks the owner before it writes: an address that another user has connected is ErrConflict.
// ErrNotFound: the owner was erased.
func (t *tx) PutWallet(w wallet.Wallet) error {
	if w.Owner != "" { // "" is the operator: a wallet of a key that belongs to nobody
		if err := checkID(string(w.Owner)); err != nil {
			return err
		}
	}
	if t.isErased(w.Owner) {
		return store.ErrNotFound
	}
	// A wallet keeps its owner until it is disconnected.
	if raw := t.get(wallets, w.Address[:]); raw != nil {
		old, _, err := plainOf[wallet.Wallet](t, wallets, w.Address[:], raw)
		if err != nil {
			return err
		}
		if old.Owner != w.Owner {
			return store.ErrConflict
		}
		// The time of connection is part of the index entry, so the entry may have moved.
		if err := t.delete(walletsOf, walletIndex(old)); err != nil {
			return err
		}
	}
	raw, err := t.seal(wallets, w.Address[:], "", w)
	if err != nil {
		return err
	}
	if err := t.put(walletsOf, walletIndex(w), nil); err != nil {
		return err
	}
	return t.putRow(wallets, w.Address[:], raw)
}

// walletIndex is the entry of a wallet among its owner's, by the time of connection, oldest first.
func walletIndex(w wallet.Wallet) []byte {
	return join(userPrefix(w.Owner), timeKey(w.ConnectedAt), w.Address[:])
}

// DeleteWallet removes the row and its index entry. Transactions of the wallet stay in its history (byWallet).
func (t *tx) DeleteWallet(address wallet.Address) error {
	w, err := t.Wallet(address)
	if err != nil {
		return err
	}
	if err := t.delete(walletsOf, walletIndex(w)); err != nil {
		return err
	}
	return errors.Join(t.dropWatched(address), t.delete(wallets, address[:]))
}

// bindRow is the plain part of a bind link. Chat and nonce are sealed. The link's token is not stored: the key of the
// row is its SHA-256.
type bindRow struct {
	wallet.Bind
	Number uint64 `json:"number"` // the last part of its key in bindsOf; a link that is put later has a higher one
}

// index is the entry in bindsOf.
func (r bindRow) index() []byte {
	return binary.BigEndian.AppendUint64(userPrefix(r.User), r.Number)
}

// over is when Sweep removes the link: store.BindKeptFor after it expired.
func (r bindRow) over() time.Time { return r.ExpiresAt.Add(store.BindKeptFor) }

// Bind finds a link by the SHA-256 of its token, used and expired ones too. ErrNotFound: there is none, or its user
// was erased.
func (t *tx) Bind(tokenHash [32]byte) (wallet.Bind, error) {
	raw := t.get(binds, tokenHash[:])
	if raw == nil {
		return wallet.Bind{}, store.ErrNotFound
	}
	var r bindRow
	sealed, err := t.unseal(binds, tokenHash[:], raw, &r, "identity")
	if err != nil {
		return wallet.Bind{}, err
	}
	who, err := parseIdentity(sealed[0])
	if err != nil {
		return wallet.Bind{}, err
	}
	b := r.Bind
	b.Chat, b.Nonce = who.Chat, who.Nonce
	return b, nil
}

// BindOf reads the last index entry of a user, which is that of the newest link.
func (t *tx) BindOf(user wallet.UserID) (wallet.Bind, error) {
	prefix := userPrefix(user)
	key, value := t.last(bindsOf, prefix)
	if key == nil {
		return wallet.Bind{}, store.ErrNotFound
	}
	// The entry leads to a SHA-256.
	if len(value) != 32 {
		return wallet.Bind{}, store.ErrDamaged
	}
	return t.Bind([32]byte(value))
}

// PutBind replaces a link of the same token. The link gets a new number, which makes it its user's newest.
func (t *tx) PutBind(b wallet.Bind) error {
	if b.User != "" { // "" is the operator
		if err := checkID(string(b.User)); err != nil {
			return err
		}
	}
	if t.isErased(b.User) {
		return store.ErrNotFound
	}
	key := b.TokenHash[:]
	// The old link of this token, with its entry and its note.
	if err := t.removeBind(key); err != nil {
		return err
	}
	number, err := t.next(bindsOf)
	if err != nil {
		return err
	}
	// Chat and nonce go into the sealed part only.
	who, err := identity{Chat: b.Chat, Nonce: b.Nonce}.field()
	if err != nil {
		return err
	}
	r := bindRow{Bind: b, Number: number}
	r.Chat, r.Nonce = 0, ""
	raw, err := t.seal(binds, key, b.User, r, who)
	if err != nil {
		return err
	}
	// The index entry, the note for Sweep, the row.
	if err := t.put(bindsOf, r.index(), key); err != nil {
		return err
	}
	if err := t.expire(bindOver, r.over(), key); err != nil {
		return err
	}
	return t.putRow(binds, key, raw)
}

// removeBind removes a link, its index entry and its note; without one it does nothing.
func (t *tx) removeBind(key []byte) error {
	raw := t.get(binds, key)
	if raw == nil {
		return nil
	}
	r, _, err := plainOf[bindRow](t, binds, key, raw)
	if err != nil {
		return err
	}
	if err := t.delete(bindsOf, r.index()); err != nil {
		return err
	}
	if err := t.unexpire(bindOver, r.over(), key); err != nil {
		return err
	}
	return t.delete(binds, key)
}
