// Package bolt is an engine.Engine in one bbolt file: tables and transactions, and nothing that knows what they mean.
// Nothing outside it sees a bucket, and no other package imports bbolt.
//
// Its main types:
//
//   - Engine holds the file. Its committer gathers Updates into one bbolt transaction (commit.go)
//   - tx is the engine.Tx of one closure (tx.go)
//   - keyFile keeps secrets in a small file beside the database, where they can be overwritten (keyfile.go)
//   - Days is an engine.Days, a bbolt file for each day (days.go)
//
// bbolt trusts what it finds in a file. So every page is checked before bbolt opens it (pages.go), unless nobody has written to
// the file since Close. Then Run checks it in the background (cleanmarker.go).
//
// The files are locked: one process uses them at a time. Several nodes need another engine.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"purser/store"
	"purser/store/engine"
)

// Options say which file to open and how.
type Options struct {
	Path   string       // of the database; the key file lies beside it (KeysPath)
	Random io.Reader    // for the ids of secrets: crypto/rand.Reader; one goroutine at a time reads
	Log    *slog.Logger // gets reports of damage; nil: none
}

// Engine is an engine.Engine in one bbolt file, which it holds exclusively. Any number of goroutines may use it.
type Engine struct {
	path    string
	db      *bbolt.DB
	layout  engine.Layout // set by Prepare
	keyFile *keyFile      // set by Prepare
	random  io.Reader
	log     *slog.Logger

	updates  chan *pendingUpdate // Updates that wait for the committer; nil for the deferred ones; Close closes it
	deferred deferred            // Updates that wait for the commit of others
	stopped  chan struct{}       // closed when the committer has ended
	failed   chan struct{}       // closed when the engine stops for good (stop)
	poison   error               // why the engine stopped: a commit with an unknown outcome, or a damaged page; guarded by committing, set before failed is closed

	checkLater bool // Open left out the check of all pages: Run makes up for it
	committed  bool // since Open; guarded by committing
	stuck      bool // bbolt panicked while it committed or rolled back, and may hold its locks for ever; guarded by committing

	committing sync.Mutex  // held while Updates run and are committed, by the committer or by a lone writer (alone)
	lone       atomic.Bool // the last commit had one Update, and none has queued since

	closing  sync.RWMutex // guards closed; held for reading while an Update is queued
	prepared bool         // Prepare succeeded: the committer runs
	closed   bool
}

var _ engine.Engine = (*Engine)(nil)

// Open opens the file, or creates it with mode 0600. Prepare then makes a database of it. A person can act on ErrLocked
// and ErrCut, and on engine.ErrForeign and ErrKeyFile of Prepare.
func Open(o Options) (*Engine, error) {
	if o.Random == nil {
		return nil, errors.New("bolt: Options.Random is missing")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		path: o.Path, random: o.Random, log: o.Log,
		updates:  make(chan *pendingUpdate, maxBatch),
		deferred: deferred{limit: store.DeferFor},
		stopped:  make(chan struct{}),
		failed:   make(chan struct{}),
	}
	var err error
	// The list of free pages is written by Close alone. After a crash it is found again by reading all pages at Open. Writing
	// it with each commit would make commits slow after many deletions (docs/decisions/0058).
	var f found
	if e.db, f, err = openFile(o.Path, bbolt.Options{NoFreelistSync: true}); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Path, err)
	}
	if e.checkLater = f.checkLater; f.mended {
		e.log.Warn("the disk changed the store's list of free pages: it was made again, and no data is lost; look at the disk", "file", o.Path)
	}
	return e, nil
}

// View runs read on a consistent snapshot, on the caller's goroutine. bbolt cannot reuse pages that the snapshot needs,
// so a long View lets the file grow.
func (e *Engine) View(ctx context.Context, read func(engine.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := e.db.Begin(false)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return store.ErrClosed
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Rollback() }() // a read: there is nothing to lose
	t := &tx{group: newGroup(e, root)}
	defer func() { t.over = true }()
	return read(t)
}

// Close commits what is queued, waits for running Views and closes the files. A second Close waits for the first one's
// commits and does nothing else.
func (e *Engine) Close() error {
	// First refuse new Updates, then let the committer finish those that are queued.
	e.closing.Lock()
	again := e.closed
	if !again {
		e.closed = true
		close(e.updates)
	}
	e.closing.Unlock()
	if e.prepared {
		<-e.stopped
	}
	e.committing.Lock() // a lone writer may still commit
	defer e.committing.Unlock()
	if again {
		return nil
	}
	return e.closeFiles()
}

// closeFiles closes the key file first: the lock of the database protects both. A file that is as it should be gets the
// marker that makes the next Open fast.
func (e *Engine) closeFiles() error {
	var err error
	if e.prepared && e.poison == nil {
		if err := e.writeCleanMarker(); err != nil {
			e.log.Warn("the store could not be marked as closed: its next start takes longer", "error", err)
		}
	}
	if e.keyFile != nil {
		err = e.keyFile.file.Close()
	}
	if e.stuck {
		return err // db.Close would wait for ever; the end of the process releases the file
	}
	return errors.Join(err, e.db.Close())
}
