package records

import (
	"cmp"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

func (t *tx) Key(id string) (wallet.Key, error) {
	raw := t.get(keys, []byte(id))
	if raw == nil {
		return wallet.Key{}, store.ErrNotFound
	}
	k, _, err := plainOf[wallet.Key](t, keys, []byte(id), raw)
	return k, err
}

func (t *tx) KeyBySecret(secret string) (wallet.Key, error) {
	hash := t.store.lookup.Text(store.BySecret, secret)
	return t.Key(string(t.get(keySecrets, hash[:])))
}

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

func (t *tx) PutKey(k wallet.Key) error {
	switch old, err := t.Key(k.ID); {
	case err != nil:
		return err
	case old.Owner != k.Owner:
		return store.ErrConflict
	}
	return t.putKey(k)
}

func (t *tx) putKey(k wallet.Key) error {
	t.touchedKeys = true
	raw, err := t.seal(keys, []byte(k.ID), "", k)
	if err != nil {
		return err
	}
	return t.putRow(keys, []byte(k.ID), raw)
}

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

func createdKey(k wallet.Key) (time.Time, string) { return k.CreatedAt, k.ID }

// oldestFirst sorts a list by when each began, and then by its id.
func oldestFirst[T any](all []T, began func(T) (at time.Time, id string)) {
	slices.SortStableFunc(all, func(a, b T) int {
		atA, idA := began(a)
		atB, idB := began(b)
		return cmp.Or(atA.Compare(atB), cmp.Compare(idA, idB))
	})
}
