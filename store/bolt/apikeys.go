package bolt

import (
	"cmp"
	"slices"

	"purser/store"
	"purser/wallet"
)

func (t *tx) Key(id string) (wallet.Key, error) {
	raw := t.get(keys, []byte(id))
	if raw == nil {
		return wallet.Key{}, store.ErrNotFound
	}
	k, _, err := plainOf[wallet.Key](raw)
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
	hash := t.store.lookup.Text(store.BySecret, secret)
	if t.get(keys, []byte(k.ID)) != nil || t.get(keySecrets, hash[:]) != nil {
		return store.ErrConflict
	}
	if err := t.put(keySecrets, hash[:], []byte(k.ID)); err != nil {
		return err
	}
	return t.putKey(k)
}

func (t *tx) PutKey(k wallet.Key) error {
	if t.get(keys, []byte(k.ID)) == nil {
		return store.ErrNotFound
	}
	return t.putKey(k)
}

func (t *tx) putKey(k wallet.Key) error {
	raw, err := t.seal(keys, []byte(k.ID), "", k)
	if err != nil {
		return err
	}
	return t.put(keys, []byte(k.ID), raw)
}

func (t *tx) AllKeys() ([]wallet.Key, error) {
	var out []wallet.Key
	cursor := t.bucket(keys).Cursor()
	for id, raw := cursor.First(); id != nil; id, raw = cursor.Next() {
		k, _, err := plainOf[wallet.Key](raw)
		if err != nil {
			return nil, err
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b wallet.Key) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}
