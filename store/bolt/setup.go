package bolt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"purser/store/engine"
)

// Buckets of the engine's own, beside those of the layout. Their names are part of the stored form.
const (
	ownBucket     = "bolt"           // "id" -> the id of this database, which its key file repeats
	dataKeys      = "data_keys"      // owner -> slot and id of their secret in the key file; a zero byte once it was destroyed
	destroyedKeys = "destroyed_keys" // slot and id -> empty; secrets that were destroyed since the last start
)

// ownID is the key of the database's id.
const ownID = "id"

// databaseIDSize is the length of a database's id, in bytes.
const databaseIDSize = 16

// setup is the engine.Setup of Prepare: the first transaction on a file.
type setup struct {
	*tx
	fresh bool
}

// Prepare makes or opens the database, and then starts the committer. After an error the engine can only be closed.
func (e *Engine) Prepare(layout engine.Layout, run func(engine.Setup) error) error {
	e.layout = layout
	err := e.prepare(run)
	// The marker has served: if this life ends without Close, or the file is damaged, the next Open checks all pages.
	if err == nil || isDamage(err) {
		err = errors.Join(err, e.removeCleanMarker())
	}
	if err != nil {
		return fmt.Errorf("open store %s: %w", e.path, err)
	}
	e.prepared = true
	go e.commitLoop() // Close waits for it
	return nil
}

// prepare runs the one transaction that opens the database. After an error the files are as they were.
func (e *Engine) prepare(run func(engine.Setup) error) (err error) {
	root, err := e.db.Begin(true)
	if err != nil {
		return err
	}
	g := newGroup(e, root)
	s := &setup{tx: &tx{group: g}}
	ended := false // commit has returned, which rolls back by itself
	defer func() {
		s.over = true
		if err != nil && !ended {
			err = errors.Join(err, e.rollBack(root))
		}
		if err != nil && e.keyFile != nil && e.keyFile.fresh {
			err = errors.Join(err, os.Remove(e.keyFile.path+newSuffix))
		}
	}()
	// bbolt panics at a damaged page. Only a file that was checked has none.
	defer asError(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // for this goroutine
	// A file without our bucket is new if it is empty, and otherwise another program's.
	if root.Bucket([]byte(ownBucket)) == nil {
		if name, _ := root.Cursor().First(); name != nil {
			return engine.ErrForeign
		}
		if err := s.create(); err != nil {
			return err
		}
	}
	// The caller's setup, and then what it may have left out.
	if err := run(s); err != nil {
		return err
	}
	if err := s.OpenSecrets(); err != nil {
		return err
	}
	// Nothing to commit: the file stays as it was, to the byte.
	if !s.wrote {
		return root.Rollback()
	}
	// A new key file gets its name only once the database that names its id is committed.
	err = e.fullOr(e.commit(g))
	ended = true
	if err != nil {
		return err
	}
	if e.keyFile.fresh {
		return e.keyFile.adopt()
	}
	return nil
}

// create makes all buckets of a new database, and its key file, which has a temporary name until the database is
// committed. After a crash before the commit, the next start makes both again. After a crash behind it, the next start
// gives the key file its name (openKeyFile).
func (s *setup) create() error {
	s.fresh, s.wrote = true, true
	for _, name := range []string{ownBucket, dataKeys, destroyedKeys} {
		if _, err := s.root.CreateBucket([]byte(name)); err != nil {
			return err
		}
	}
	for b := range s.engine.layout {
		if err := s.CreateTable(engine.Table(b)); err != nil {
			return err
		}
	}
	// The id ties the key file to this database. It is synced before the commit that makes the database.
	id := make([]byte, databaseIDSize)
	if _, err := io.ReadFull(s.engine.random, id); err != nil {
		return fmt.Errorf("draw the database's id: %w", err)
	}
	var err error
	if s.engine.keyFile, err = makeKeyFile(KeysPath(s.engine.path), id); err != nil {
		return err
	}
	return errors.Join(s.engine.keyFile.file.Sync(), s.root.Bucket([]byte(ownBucket)).Put([]byte(ownID), id))
}

// names lists all buckets but ownBucket.
func (s *setup) names() []string {
	names := []string{dataKeys, destroyedKeys}
	for _, spec := range s.engine.layout {
		names = append(names, spec.Name)
	}
	return names
}

// Fresh tells whether this Prepare made the database.
func (s *setup) Fresh() bool { return s.fresh }

// CreateTable makes the bucket of a table that an older layout did not have.
func (s *setup) CreateTable(t engine.Table) error {
	s.wrote = true
	spec := s.engine.layout[t]
	in, err := s.root.CreateBucket([]byte(spec.Name))
	if err != nil || !spec.Kept {
		return err
	}
	return errors.Join(in.Put(keptEnd(), nil), in.Put(append(keptEnd(), keptEnd()...), nil))
}

// Check refuses a file that lacks a bucket, or in which a bucket's counter is behind its rows, so that one number
// would be drawn twice. Names and counters of buckets are in no row, so no tag of a row protects them.
func (s *setup) Check() error {
	for _, name := range s.names() {
		if s.root.Bucket([]byte(name)) == nil {
			return fmt.Errorf("%w (%s is missing): restore a backup", engine.ErrBroken, name)
		}
	}
	for _, spec := range s.engine.layout {
		if !spec.Numbered {
			continue
		}
		in := s.root.Bucket([]byte(spec.Name))
		if key, _ := first(in.Cursor(), within(spec, engine.Range{Backward: true})); len(key) == 8 && numberOf(key) > in.Sequence() {
			return fmt.Errorf("%w (%s counts from %d, but holds %d): restore a backup", engine.ErrBroken, spec.Name, in.Sequence(), numberOf(key))
		}
	}
	return nil
}

// OpenSecrets opens the key file, and overwrites the secrets that a crash left there after their destruction was
// committed.
func (s *setup) OpenSecrets() error {
	if s.engine.keyFile != nil {
		return nil
	}
	changed, err := s.engine.findKeys(s.root)
	s.wrote = s.wrote || changed
	return err
}

var _ engine.Setup = (*setup)(nil)
