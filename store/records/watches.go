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

// WatchedStakes reads a row without a sealed field, as Watch does.
func (t *tx) WatchedStakes(address wallet.Address) (wallet.WatchedStakes, error) {
	raw := t.get(staked, address[:])
	if raw == nil {
		return wallet.WatchedStakes{}, store.ErrNotFound
	}
	s, _, err := plainOf[wallet.WatchedStakes](t, staked, address[:], raw)
	return s, err
}

// PutWatchedStakes compares versions before it writes.
func (t *tx) PutWatchedStakes(s wallet.WatchedStakes) error {
	if t.get(wallets, s.Address[:]) == nil {
		return store.ErrNotFound
	}
	switch old, err := t.WatchedStakes(s.Address); {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	case old.Version != s.Version:
		return store.ErrConflict
	}
	s.Version++
	raw, err := t.seal(staked, s.Address[:], "", s)
	if err != nil {
		return err
	}
	return t.putRow(staked, s.Address[:], raw)
}

// DropWatchedStakes removes the row.
func (t *tx) DropWatchedStakes(address wallet.Address) error {
	return t.delete(staked, address[:])
}

// foldedRow is the count of a wallet's folded payments. A count of 0 has no row.
type foldedRow struct {
	Count uint64 `json:"count"`
}

// Folded reads the count.
func (t *tx) Folded(address wallet.Address) (uint64, error) {
	raw := t.get(folded, address[:])
	if raw == nil {
		return 0, nil
	}
	r, _, err := plainOf[foldedRow](t, folded, address[:], raw)
	return r.Count, err
}

// PutFolded writes the count, or removes the row of a count of 0.
func (t *tx) PutFolded(address wallet.Address, count uint64) error {
	switch {
	case t.get(wallets, address[:]) == nil:
		return store.ErrNotFound
	case count == 0:
		return t.delete(folded, address[:])
	}
	raw, err := t.seal(folded, address[:], "", foldedRow{count})
	if err != nil {
		return err
	}
	return t.putRow(folded, address[:], raw)
}

// dropWatched removes everything that the watcher knows of a wallet.
func (t *tx) dropWatched(address wallet.Address) error {
	return errors.Join(t.DropWatch(address), t.delete(staked, address[:]), t.delete(folded, address[:]))
}
