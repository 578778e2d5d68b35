package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/engine"
)

// group is one bbolt transaction, shared by the closures that are committed together. They use it one at a time, so
// it has no lock. The committer or a lone writer owns it.
type group struct {
	engine *Engine
	root   *bbolt.Tx
	open   []*bbolt.Bucket // by table; nil: not opened yet
	reads  []*bbolt.Cursor // by table, for single lookups; nil: not opened yet
	owners *bbolt.Bucket   // of dataKeys; nil: not opened yet

	shared engine.Shared

	made      []newKey // secrets to be written before the commit
	toDestroy []keyRef // secrets to be overwritten after the commit
}

// newGroup makes a group over a bbolt transaction.
func newGroup(e *Engine, root *bbolt.Tx) *group {
	return &group{engine: e, root: root, open: make([]*bbolt.Bucket, len(e.layout)), reads: make([]*bbolt.Cursor, len(e.layout))}
}

// tx is the engine.Tx of one closure.
type tx struct {
	*group
	wrote bool // the closure wrote: its failure must roll back the group
	over  bool // the closure returned: any further use panics
}

var _ engine.Tx = (*tx)(nil)

// bucket opens the bucket of a table. It panics after the closure has returned, because a late use would read or
// write in another closure's transaction.
func (t *tx) bucket(b engine.Table) *bbolt.Bucket {
	if t.over {
		// The file's transaction may be another closure's by now.
		panic("bolt: a transaction was used after its closure returned")
	}
	if t.open[b] == nil {
		spec := &t.engine.layout[b]
		t.open[b] = t.root.Bucket([]byte(spec.Name))
		if spec.Appended {
			t.open[b].FillPercent = fullPages
		}
		if spec.Kept {
			t.open[b].FillPercent = 1
		}
	}
	return t.open[b]
}

// fullPages is the share of a page that bbolt fills before it begins another, in tables that grow at their end. The
// rest is for rows that become longer.
const fullPages = 0.9

// cursor is a table's cursor for single lookups. bbolt's own Get makes a cursor each time, which allocates for each
// page on the way.
func (t *tx) cursor(b engine.Table) *bbolt.Cursor {
	in := t.bucket(b)
	if t.reads[b] == nil {
		t.reads[b] = in.Cursor()
	}
	return t.reads[b]
}

// Get returns the value of a key, nil without one.
func (t *tx) Get(b engine.Table, key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	found, value := t.cursor(b).Seek(key)
	if !bytes.Equal(found, key) {
		return nil
	}
	return value
}

// writes notes that the closure writes. In a View it fails with errReadOnly.
func (t *tx) writes() error {
	if !t.root.Writable() {
		return errReadOnly
	}
	t.wrote = true
	return nil
}

// Put creates or replaces a value. bbolt keeps a reference to value until the commit.
func (t *tx) Put(b engine.Table, key, value []byte) error {
	in := t.bucket(b)
	if err := t.writes(); err != nil {
		return err
	}
	return in.Put(key, value)
}

// Delete removes a key; without it, it does nothing.
func (t *tx) Delete(b engine.Table, key []byte) error {
	cursor := t.cursor(b)
	if err := t.writes(); err != nil {
		return err
	}
	if found, _ := cursor.Seek(key); !bytes.Equal(found, key) || found == nil {
		return nil
	}
	return cursor.Delete()
}

// Next draws the table's next number. If the transaction is rolled back, the number is drawn again later.
func (t *tx) Next(b engine.Table) (uint64, error) {
	in := t.bucket(b)
	if err := t.writes(); err != nil {
		return 0, err
	}
	return in.NextSequence()
}

// Scan walks a range in byte order.
func (t *tx) Scan(b engine.Table, r engine.Range) iter.Seq2[[]byte, []byte] {
	return scan(t.bucket(b), within(t.engine.layout[b], r))
}

// First returns the first entry of a range.
func (t *tx) First(b engine.Table, r engine.Range) (key, value []byte) {
	return first(t.cursor(b), within(t.engine.layout[b], r))
}

// Writable tells an Update from a View.
func (t *tx) Writable() bool { return t.root.Writable() }

// Shared returns what the closures of the group share.
func (t *tx) Shared() *engine.Shared {
	if !t.root.Writable() {
		return nil
	}
	return &t.shared
}

// Changed counts a change of Shared as a write: a failure of the closure then rolls the group back.
func (t *tx) Changed() { t.wrote = t.root.Writable() }

// errReadOnly refuses a write in a View.
var errReadOnly = errors.New("bolt: a View does not write")

// destroyed is the value in dataKeys of an owner whose secret was destroyed.
const destroyed = "\x00"

// owned is the bucket that says which owner has which secret.
func (t *tx) owned() *bbolt.Bucket {
	if t.over {
		panic("bolt: a transaction was used after its closure returned")
	}
	if t.owners == nil {
		t.owners = t.root.Bucket([]byte(dataKeys))
	}
	return t.owners
}

// SecretOf returns the state of an owner's secret. Its name is its encoded keyRef.
func (t *tx) SecretOf(owner string) (name []byte, state engine.SecretState) {
	raw := t.owned().Get([]byte(owner))
	switch {
	case raw == nil:
		return nil, engine.NoSecret
	case string(raw) == destroyed:
		return nil, engine.Destroyed
	}
	return raw, engine.Kept
}

// Secret reads a secret. One that this transaction has put is not in the key file yet, and comes from memory.
func (t *tx) Secret(name []byte) ([]byte, error) {
	ref, ok := parseKeyRef(name)
	if !ok {
		return nil, store.ErrDamaged
	}
	for _, n := range t.made {
		if n.keyRef == ref {
			return n.wrapped, nil
		}
	}
	// First read, then ask whether the secret was destroyed: while its slot is being overwritten, a read may return
	// half of it.
	wrapped, err := t.engine.keyFile.read(ref)
	switch {
	case t.engine.keyFile.wasDestroyed(ref): // since the snapshot of this transaction
		return nil, engine.ErrDestroyed
	case err == nil && wrapped == nil:
		return nil, store.ErrDamaged
	}
	return wrapped, err
}

// PutSecret reserves a slot of the key file. The secret is written there before the commit.
func (t *tx) PutSecret(owner string, secret []byte) error {
	if len(secret) != engine.SecretSize || owner == "" {
		return fmt.Errorf("bolt: a secret has %d bytes and an owner, not %d bytes and %q", engine.SecretSize, len(secret), owner)
	}
	if err := errors.Join(t.writes(), t.scheduleDestruction(owner)); err != nil {
		return err
	}
	ref, err := t.engine.keyFile.reserve(t.engine.random)
	if err != nil {
		return err
	}
	t.made = append(t.made, newKey{ref, bytes.Clone(secret)})
	return t.owned().Put([]byte(owner), ref.encode())
}

// DestroySecret puts a mark in place of the secret. The secret itself is overwritten after the commit, before Update
// returns.
func (t *tx) DestroySecret(owner string) error {
	if err := errors.Join(t.writes(), t.scheduleDestruction(owner)); err != nil {
		return err
	}
	return t.owned().Put([]byte(owner), []byte(destroyed))
}

// scheduleDestruction notes that an owner's secret, if there is one, is overwritten after the commit. The note is also in
// the database (destroyedKeys), so that the next start overwrites it if this process dies between the two.
func (t *tx) scheduleDestruction(owner string) error {
	ref, ok := parseKeyRef(t.owned().Get([]byte(owner)))
	if !ok {
		return nil
	}
	t.toDestroy = append(t.toDestroy, ref)
	return t.root.Bucket([]byte(destroyedKeys)).Put(ref.encode(), nil)
}

// numberKey writes a number in 8 bytes so that byte order is numeric order.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numberOf reads what numberKey wrote: 8 bytes.
func numberOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }
