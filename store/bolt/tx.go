package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"math"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/wallet"
)

// group is one bbolt transaction, shared in turn by the closures that are committed together.
type group struct {
	tx   *bbolt.Tx
	open [bucketCount]*bbolt.Bucket
	keys map[wallet.UserID]*store.Key // data keys unwrapped so far
	news map[store.Queue]bool         // queues that were added to

	made   []newKey // data keys to be written before the commit
	doomed []keyRef // data keys to be overwritten after it

	touchedKeys bool
}

func newGroup(t *bbolt.Tx) *group {
	return &group{tx: t, keys: map[wallet.UserID]*store.Key{}, news: map[store.Queue]bool{}}
}

// tx is the store.Tx of one closure.
type tx struct {
	*group
	store *Store
	wrote bool // something that a failure must roll back
	over  bool // the closure returned
}

func (t *tx) bucket(b bucket) *bbolt.Bucket {
	if t.over {
		// The file's transaction may be another closure's by now.
		panic("bolt: a store.Tx was used after its closure returned")
	}
	if t.open[b] == nil {
		t.open[b] = t.tx.Bucket([]byte(b.String()))
		if b.grows() {
			t.open[b].FillPercent = fullPages
		}
	}
	return t.open[b]
}

// fullPages is how full a page is before bbolt begins another, where rows are added at the end alone: what is
// left is for what changes in them.
const fullPages = 0.9

// get returns the value of a key, nil without one. It lives as long as the transaction.
func (t *tx) get(b bucket, key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	return t.bucket(b).Get(key)
}

func (t *tx) put(b bucket, key, value []byte) error {
	in := t.bucket(b)
	if !in.Writable() {
		return errReadOnly
	}
	t.wrote = true
	if err := in.Put(key, value); err != nil {
		return fmt.Errorf("write to %s: %w", b, err)
	}
	return nil
}

func (t *tx) delete(b bucket, key []byte) error {
	in := t.bucket(b)
	if !in.Writable() {
		return errReadOnly
	}
	t.wrote = true
	if err := in.Delete(key); err != nil {
		return fmt.Errorf("delete from %s: %w", b, err)
	}
	return nil
}

// isEmpty tells whether a bucket holds nothing.
func (t *tx) isEmpty(b bucket) bool {
	key, _ := t.bucket(b).Cursor().First()
	return key == nil
}

// next draws the bucket's next number, which nothing in it has had.
func (t *tx) next(b bucket) (uint64, error) {
	in := t.bucket(b)
	if !in.Writable() {
		return 0, errReadOnly
	}
	t.wrote = true
	return in.NextSequence()
}

var errReadOnly = errors.New("bolt: a View does not write")

// entry is a key and its value, both copied.
type entry struct{ key, value []byte }

// prefixed lists copies of the entries whose keys begin with prefix, so that the caller may delete
// while walking them.
func (t *tx) prefixed(b bucket, prefix []byte) []entry { return t.firstOf(b, prefix, math.MaxInt) }

// firstOf lists copies of the first entries, limit of them, whose keys begin with prefix.
func (t *tx) firstOf(b bucket, prefix []byte, limit int) []entry {
	var out []entry
	cursor := t.bucket(b).Cursor()
	for key, value := cursor.Seek(prefix); len(out) < limit && key != nil && bytes.HasPrefix(key, prefix); key, value = cursor.Next() {
		out = append(out, entry{bytes.Clone(key), bytes.Clone(value)})
	}
	return out
}

// dataKey opens a user's data key ("" for the system's); ErrNotFound when there is none.
func (t *tx) dataKey(owner wallet.UserID) (*store.Key, error) {
	if owner == "" {
		return t.store.system, nil
	}
	if key := t.keys[owner]; key != nil {
		return key, nil
	}
	raw := t.get(dataKeys, []byte(owner))
	if raw == nil || string(raw) == destroyed {
		return nil, store.ErrNotFound
	}
	ref, ok := parseKeyRef(raw)
	if !ok {
		return nil, fmt.Errorf("data key: %w", ErrDamaged)
	}
	key, err := t.store.dataKeys.unwrap(string(owner), ref, func() ([]byte, error) {
		switch wrapped, err := t.store.keyFile.read(ref); {
		case err != nil || wrapped != nil:
			return wrapped, err
		case t.store.keyFile.wasDestroyed(ref): // since the snapshot of this transaction
			return nil, store.ErrNotFound
		}
		return nil, ErrDamaged
	})
	if err != nil {
		return nil, fmt.Errorf("data key: %w", err)
	}
	t.keys[owner] = key
	return key, nil
}

// destroyed stands in the place of a data key that was destroyed.
const destroyed = "\x00"

// isErased tells whether a user had a data key that was destroyed.
func (t *tx) isErased(owner wallet.UserID) bool {
	return string(t.get(dataKeys, []byte(owner))) == destroyed
}

// makeDataKey gives a new user a data key, which is in the file of keys before the commit.
func (t *tx) makeDataKey(owner wallet.UserID) error {
	secret, wrapped, err := t.store.master.NewSecret(string(owner))
	if err != nil {
		return err
	}
	ref, err := t.store.keyFile.reserve(t.store.random)
	if err != nil {
		return err
	}
	t.made = append(t.made, newKey{ref, wrapped})
	if err := t.put(dataKeys, []byte(owner), ref.encode()); err != nil {
		return err
	}
	_, err = t.keep(owner, secret)
	return err
}

func (t *tx) keep(owner wallet.UserID, secret []byte) (*store.Key, error) {
	key, err := store.NewKey(secret, t.store.random)
	if err != nil {
		return nil, err
	}
	t.keys[owner] = key
	return key, nil
}

// personBy is the user of a Telegram id, "" for a stranger. A private chat has its person's id,
// so it also tells whose chat a chat is.
func (t *tx) personBy(telegram store.Hash) wallet.UserID {
	return wallet.UserID(t.get(telegrams, telegram[:]))
}

func (t *tx) telegramHash(id int64) store.Hash { return t.store.lookup.Number(store.ByTelegram, id) }

func (t *tx) chatHash(id int64) store.Hash { return t.store.lookup.Number(store.ByChat, id) }

// chatOwner is the user whose data key seals what is said in a chat.
func (t *tx) chatOwner(chat int64) wallet.UserID {
	if chat <= 0 { // groups and channels belong to nobody
		return ""
	}
	return t.personBy(t.telegramHash(chat))
}

// erased tells whether an error says that a row belonged to an erased user: lists pass over it.
func erased(err error) bool { return errors.Is(err, store.ErrNotFound) }
