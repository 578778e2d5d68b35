package records

import (
	"errors"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// ConnectedWallets walks the keys of the wallets and reads no row, so a damaged one is listed too.
func (t *tx) ConnectedWallets(after wallet.Address, limit int) ([]wallet.Address, error) {
	var out []wallet.Address
	if limit <= 0 {
		return nil, nil
	}
	for key := range t.scan(wallets, engine.Range{From: after[:]}) {
		at := wallet.Address(key)
		if at == after {
			continue
		}
		if out = append(out, at); len(out) == limit {
			break
		}
	}
	return out, nil
}

// Watch reads a row without a sealed field: what is on chain is public, and the row names nobody.
func (t *tx) Watch(address wallet.Address) (wallet.Watch, error) {
	raw := t.get(watches, address[:])
	if raw == nil {
		return wallet.Watch{}, store.ErrNotFound
	}
	w, _, err := plainOf[wallet.Watch](t, watches, address[:], raw)
	return w, err
}

// PutWatch compares versions before it writes.
func (t *tx) PutWatch(w wallet.Watch) error {
	if t.get(wallets, w.Address[:]) == nil {
		return store.ErrNotFound
	}
	var old wallet.Watch
	if raw := t.get(watches, w.Address[:]); raw != nil {
		var err error
		if old, _, err = plainOf[wallet.Watch](t, watches, w.Address[:], raw); err != nil {
			return err
		}
	}
	if old.Version != w.Version {
		return store.ErrConflict
	}
	w.Version++
	raw, err := t.seal(watches, w.Address[:], "", w)
	if err != nil {
		return err
	}
	if err := t.holdMints(old, w); err != nil {
		return err
	}
	return t.putRow(watches, w.Address[:], raw)
}

// DropWatch removes the row, and the wallet from the index heldMints.
func (t *tx) DropWatch(address wallet.Address) error {
	return errors.Join(t.releaseMints(address), t.delete(watches, address[:]))
}
