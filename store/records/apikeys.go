package records

import (
	"cmp"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// Key reads an API key by its id. Its row has no sealed field: the secret is not stored, and nothing else of it is
// private.
func (t *tx) Key(id string) (wallet.Key, error) {
	raw := t.get(keys, []byte(id))
	if raw == nil {
		return wallet.Key{}, store.ErrNotFound
	}
	k, _, err := plainOf[wallet.Key](t, keys, []byte(id), raw)
	return k, err
}

// KeyBySecret finds a key by the keyed hash of its secret. ErrNotFound: no key has that secret. A key that was
// revoked or has expired is returned like any other, so its caller checks that.
func (t *tx) KeyBySecret(secret string) (wallet.Key, error) {
	hash := t.store.lookup.Text(store.BySecret, secret)
	return t.Key(string(t.get(keySecrets, hash[:])))
}

// CreateKey stores a new key, the hash of its secret, and its entry among its owner's keys. It checks for conflicts
// before it writes, so ErrConflict has written nothing.
func (t *tx) CreateKey(k wallet.Key, secret string) error {
	if err := checkID(k.ID); err != nil {
		return err
	}
	if t.isErased(k.Owner) {
		return store.ErrNotFound
	}
	hash := t.store.lookup.Text(store.BySecret, secret)
	if t.get(keys, []byte(k.ID)) != nil || t.get(keySecrets, hash[:]) != nil {
		return store.ErrConflict
	}
	if err := t.put(keySecrets, hash[:], []byte(k.ID)); err != nil {
		return err
	}
	if err := t.put(keysOf, join(userPrefix(k.Owner), []byte(k.ID)), nil); err != nil {
		return err
	}
	return t.putKey(k)
}

// PutKey replaces the row of a key, and no index entry: the secret and the owner of a key never change.
func (t *tx) PutKey(k wallet.Key) error {
	switch old, err := t.Key(k.ID); {
	case err != nil:
		return err
	case old.Owner != k.Owner:
		return store.ErrConflict
	}
	return t.putKey(k)
}

// putKey writes the row, and makes the commit raise AccessVersion, after which every cache of keys is read again.
func (t *tx) putKey(k wallet.Key) error {
	t.touchedAccess = true
	raw, err := t.seal(keys, []byte(k.ID), "", k)
	if err != nil {
		return err
	}
	return t.putRow(keys, []byte(k.ID), raw)
}

// AllKeys fails on a damaged row: a list without it would hide a key that still works.
func (t *tx) AllKeys() ([]wallet.Key, error) {
	var out []wallet.Key
	for id, raw := range t.scan(keys, all()) {
		k, _, err := plainOf[wallet.Key](t, keys, id, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	oldestFirst(out, createdKey)
	return out, nil
}

// KeysOf follows the entries of the owner, which lie in the order of ids, and sorts what it read. Like AllKeys it
// fails on a damaged row.
func (t *tx) KeysOf(owner wallet.UserID) ([]wallet.Key, error) {
	var out []wallet.Key
	prefix := userPrefix(owner)
	for _, e := range t.prefixed(keysOf, prefix) {
		k, err := t.Key(string(e.key[len(prefix):]))
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	oldestFirst(out, createdKey)
	return out, nil
}

// createdKey is what lists of keys are sorted by.
func createdKey(k wallet.Key) (time.Time, string) { return k.CreatedAt, k.ID }

// oldestFirst sorts a list by time, and by id where times are equal.
func oldestFirst[T any](all []T, began func(T) (at time.Time, id string)) {
	slices.SortStableFunc(all, func(a, b T) int {
		atA, idA := began(a)
		atB, idB := began(b)
		return cmp.Or(atA.Compare(atB), cmp.Compare(idA, idB))
	})
}
