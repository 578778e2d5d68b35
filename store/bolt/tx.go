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

// group is one bbolt transaction, shared in turn by the closures that are committed together.
type group struct {
	engine *Engine
	root   *bbolt.Tx
	open   []*bbolt.Bucket // by table; nil: not opened yet
	reads  []*bbolt.Cursor // by table, for whoever looks at one place: each look begins at the root anew; nil: not opened yet
	owners *bbolt.Bucket   // dataKeys, once it was opened

	made   []newKey // secrets to be written before the commit
	doomed []keyRef // secrets to be overwritten after it
}

func newGroup(e *Engine, root *bbolt.Tx) *group {
	return &group{engine: e, root: root, open: make([]*bbolt.Bucket, len(e.layout)), reads: make([]*bbolt.Cursor, len(e.layout))}
}

// tx is the engine.Tx of one closure.
type tx struct {
	*group
	wrote bool // something that a failure must roll back
	over  bool // the closure returned
}

var _ engine.Tx = (*tx)(nil)

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
	}
	return t.open[b]
}

// fullPages is how full a page is before bbolt begins another, where rows are added at the end alone: what is
// left is for what changes in them.
const fullPages = 0.9

// cursor is a table's cursor for looks at one place. A cursor of its own for each look, as bbolt's Get has, costs
// allocations for each page on the way.
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

// writes tells that something is written, or refuses it in a View.
func (t *tx) writes() error {
	if !t.root.Writable() {
		return errReadOnly
	}
	t.wrote = true
	return nil
}

// Put creates or replaces.
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

// Next draws the table's next number.
func (t *tx) Next(b engine.Table) (uint64, error) {
	in := t.bucket(b)
	if err := t.writes(); err != nil {
		return 0, err
	}
	return in.NextSequence()
}

// Scan walks a range.
func (t *tx) Scan(b engine.Table, r engine.Range) iter.Seq2[[]byte, []byte] {
	return scan(t.bucket(b), r)
}

// First is the first entry of a range.
func (t *tx) First(b engine.Table, r engine.Range) (key, value []byte) { return first(t.cursor(b), r) }

// Writable tells an Update from a View.
func (t *tx) Writable() bool { return t.root.Writable() }

var errReadOnly = errors.New("bolt: a View does not write")

// destroyed stands in the place of a secret that was destroyed.
const destroyed = "\x00"

// owned is the bucket of who has which secret.
func (t *tx) owned() *bbolt.Bucket {
	if t.over {
		panic("bolt: a transaction was used after its closure returned")
	}
	if t.owners == nil {
		t.owners = t.root.Bucket([]byte(dataKeys))
	}
	return t.owners
}

// SecretOf tells the state of an owner's secret; its name is where it lies.
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

// Secret reads a secret. One that was put by this very transaction is not in the file of keys yet.
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
	switch wrapped, err := t.engine.keyFile.read(ref); {
	case err != nil || wrapped != nil:
		return wrapped, err
	case t.engine.keyFile.wasDestroyed(ref): // since the snapshot of this transaction
		return nil, engine.ErrDestroyed
	}
	return nil, store.ErrDamaged
}

// PutSecret keeps a secret, which is in the file of keys before the commit.
func (t *tx) PutSecret(owner string, secret []byte) error {
	if len(secret) != engine.SecretSize || owner == "" {
		return fmt.Errorf("bolt: a secret has %d bytes and an owner, not %d bytes and %q", engine.SecretSize, len(secret), owner)
	}
	if err := errors.Join(t.writes(), t.doom(owner)); err != nil {
		return err
	}
	ref, err := t.engine.keyFile.reserve(t.engine.random)
	if err != nil {
		return err
	}
	t.made = append(t.made, newKey{ref, bytes.Clone(secret)})
	return t.owned().Put([]byte(owner), ref.encode())
}

// DestroySecret puts a mark in the place of a secret. The secret itself is overwritten after the commit, before
// anybody is told of it.
func (t *tx) DestroySecret(owner string) error {
	if err := errors.Join(t.writes(), t.doom(owner)); err != nil {
		return err
	}
	return t.owned().Put([]byte(owner), []byte(destroyed))
}

// doom notes that an owner's secret, if there is one, is to be overwritten after the commit.
func (t *tx) doom(owner string) error {
	ref, ok := parseKeyRef(t.owned().Get([]byte(owner)))
	if !ok {
		return nil
	}
	t.doomed = append(t.doomed, ref)
	return t.root.Bucket([]byte(destroyedKeys)).Put(ref.encode(), nil)
}

// numberKey writes a number so that byte order is its order.
func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// numberOf reads what numberKey wrote: 8 bytes.
func numberOf(key []byte) uint64 { return binary.BigEndian.Uint64(key) }
