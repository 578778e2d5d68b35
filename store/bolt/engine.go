// Package bolt is an engine.Engine in one bbolt file: rows and transactions, and nothing that knows what they mean.
// Nothing outside it sees a bucket.
//
// Its main types: Engine holds the file, and its committer gathers Updates into one bbolt transaction (commit.go); tx is
// the engine.Tx of one closure (tx.go); keyFile keeps secrets in a small file of their own beside the database, where
// they can be overwritten (keyfile.go); Days is an engine.Days, a bbolt file for each day (days.go). What bbolt would
// follow blindly in a damaged file is checked before it is opened (pages.go).
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"purser/store"
	"purser/store/engine"
)

// Options say which file to open and how.
type Options struct {
	Path   string
	Random io.Reader    // for the names of secrets: crypto/rand.Reader. One goroutine reads at a time
	Log    *slog.Logger // hears of damage; nil for silence
}

// Engine is an engine.Engine in one bbolt file, which it holds exclusively.
type Engine struct {
	path    string
	db      *bbolt.DB
	layout  engine.Layout
	keyFile *keyFile
	random  io.Reader
	log     *slog.Logger

	jobs    chan *job
	stopped chan struct{} // closed when the committer has ended
	failed  chan struct{} // closed when the engine refuses to go on
	poison  error         // of the committer alone: the commit whose outcome nobody knows

	closing  sync.RWMutex // held for reading while a job is queued
	prepared bool         // the committer runs
	closed   bool
}

var _ engine.Engine = (*Engine)(nil)

// Open opens or creates (mode 0600) the file, which Prepare then makes a database of. Errors that a person can act on
// are ErrLocked and ErrCut, and of Prepare engine.ErrForeign and ErrKeyFile.
func Open(o Options) (*Engine, error) {
	if o.Random == nil {
		return nil, errors.New("bolt: Options.Random is missing")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		path: o.Path, random: o.Random, log: o.Log,
		jobs:    make(chan *job, maxBatch),
		stopped: make(chan struct{}),
		failed:  make(chan struct{}),
	}
	var err error
	// The freelist is found again at Open; writing it slows commits after mass deletion (docs/architecture.md, Store).
	if e.db, err = openFile(o.Path, bbolt.Options{NoFreelistSync: true}); err != nil {
		return nil, fmt.Errorf("open store %s: %w", o.Path, err)
	}
	return e, nil
}

// View runs read on a consistent snapshot, on the caller's goroutine.
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
	defer func() { _ = root.Rollback() }() // of a read: there is nothing to lose
	t := &tx{group: newGroup(e, root)}
	defer func() { t.over = true }()
	return read(t)
}

// Close commits what is queued, waits for running Views and lets the file go. A second Close does nothing.
func (e *Engine) Close() error {
	e.closing.Lock()
	if e.closed {
		e.closing.Unlock()
		if e.prepared {
			<-e.stopped
		}
		return nil
	}
	e.closed = true
	close(e.jobs)
	e.closing.Unlock()
	if e.prepared {
		<-e.stopped
	}
	return e.closeFiles()
}

// closeFiles lets the files go: that of keys first, since the lock of the database is for both.
func (e *Engine) closeFiles() error {
	var err error
	if e.keyFile != nil {
		err = e.keyFile.file.Close()
	}
	return errors.Join(err, e.db.Close())
}
