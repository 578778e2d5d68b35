// Package engine is what purser asks of a database, and nothing more: ordered tables of keys and values, transactions,
// and secrets that can be destroyed for good. It knows no row. store/records keeps purser's rows in an Engine;
// store/bolt is an Engine in one file.
//
// An Engine has tables, which Prepare is told of as a Layout. Everything that is read or written goes through a Tx,
// the argument of a closure of View or Update. Secrets are the wrapped data keys of people: they lie apart from the
// tables, because what a table deletes may stay readable on the disk for long. Days are tables of their own for each
// day, which are dropped whole.
//
// storetest.RunEngine is the suite that every Engine passes.
package engine

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"
)

// Table is one table: its place in the Layout.
type Table int

// Spec describes a table.
type Spec struct {
	Name string
	// Appended says that most new keys lie behind all others: a hint for how full pages are kept.
	Appended bool
	// Numbered says that the keys are numbers of Next, 8 bytes, big-endian.
	Numbered bool
}

// Layout lists the tables.
type Layout []Spec

// ErrForeign says that what was found is not a database of purser's.
var ErrForeign = errors.New("this file is not a store of purser's: give another path")

// ErrBroken says that the engine cannot make sense of its files.
var ErrBroken = errors.New("the file is damaged")

// Engine is one database, held by one process. All that one Update wrote becomes true together, or nothing of it.
type Engine interface {
	// Prepare is called once, before all else. The engine makes the tables of a new database and refuses what is not
	// its own (ErrForeign). Then it runs setup in one transaction, which is committed if setup returns nil and wrote
	// something; else what was there stays as it was, to the byte.
	Prepare(layout Layout, setup func(Setup) error) error
	// View runs read on a consistent snapshot, on the caller's goroutine. While it runs the engine keeps every page
	// that changes: views are short.
	View(ctx context.Context, read func(Tx) error) error
	// Update runs change and commits what it wrote, durably, before it returns. Several Updates may share a commit
	// (group commit); each sees what those before it wrote. An error of change rolls back what it wrote, and is
	// returned once all that it may rest on is committed. change may run more than once, on the goroutine that called
	// Update; a panic rolls back and goes on there. An Update that is queued is not cancelled by ctx: its outcome is
	// waited for. store.ErrUnknownOutcome says that nobody knows whether a commit took effect; after it the Engine
	// refuses every Update.
	Update(ctx context.Context, change func(Tx) error) error
	// Run waits for the end of ctx, or returns store.ErrUnknownOutcome as soon as a commit left its outcome open.
	Run(ctx context.Context) error
	// Close commits what is queued, and waits for Views that run. A second Close does nothing.
	Close() error
}

// Tables reads and writes. Reads see the writes before them. What is returned belongs to the engine: it may not be
// changed, and lives until the closure returns. Of what is handed over a key may be changed once the call returned, and a
// value not before the commit. One goroutine at a time uses a transaction.
//
// Reads return no error. An engine that can fail to read remembers the first failure and returns nothing from
// then on; its View or Update returns that failure, whatever the closure returns, and commits nothing.
type Tables interface {
	// Get returns the value of a key; nil without one, and for an empty key.
	Get(t Table, key []byte) []byte
	// Put creates or replaces. In a View it is an error, as are Delete and Next.
	Put(t Table, key, value []byte) error
	// Delete removes a key; without it, it does nothing.
	Delete(t Table, key []byte) error
	// Scan walks the keys of a range in byte order. Nothing is written to the table while it is walked.
	Scan(t Table, r Range) iter.Seq2[[]byte, []byte]
	// First returns the first entry that Scan would meet, nil of an empty range.
	First(t Table, r Range) (key, value []byte)
	// Next draws a number, from 1, that is larger than all that this transaction, and what is committed, has drawn for the
	// table.
	Next(t Table) (uint64, error)
	// Writable tells an Update from a View.
	Writable() bool
}

// Tx is one transaction. It must not be used once its closure returned.
type Tx interface {
	Tables
	Secrets
}

// SecretSize is the length of a secret: a data key of 32 bytes, wrapped by the master key.
const SecretSize = 72

// SecretState says what is known of an owner's secret.
type SecretState int

// The states of a secret.
const (
	NoSecret  SecretState = iota // the owner never had one
	Kept                         // it can be read
	Destroyed                    // they had one that was destroyed
)

// ErrDestroyed says that a secret was destroyed since the snapshot of this transaction.
var ErrDestroyed = errors.New("the secret was destroyed")

// Secrets are kept for owners, one each. A secret is durable before the commit that puts it, and unreadable in every
// file before the Update that destroys it returns; a crash between the commit and its destruction is made good by the
// next Prepare.
type Secrets interface {
	// SecretOf tells the state of an owner's secret, and by which name Secret finds it. Each secret ever put has
	// another name.
	SecretOf(owner string) (name []byte, state SecretState)
	// Secret reads a secret. It is ErrDestroyed also for an older snapshot, and store.ErrDamaged when what is
	// kept is not what was put.
	Secret(name []byte) ([]byte, error)
	// PutSecret gives an owner a secret of SecretSize bytes, in the place of any other, which is not destroyed.
	PutSecret(owner string, secret []byte) error
	// DestroySecret destroys an owner's secret, and remembers that there was one.
	DestroySecret(owner string) error
}

// Setup is the transaction in which a database is opened.
type Setup interface {
	Tx
	// Fresh tells that the database was made by this very Prepare: its tables are there, and empty.
	Fresh() bool
	// OpenSecrets opens what keeps the secrets, and destroys what a crash has left undestroyed. It is called once the
	// caller knows that it understands this database; no secret can be read or put before.
	OpenSecrets() error
	// CreateTable makes a table that an older layout does not have.
	CreateTable(t Table) error
	// Check refuses (ErrBroken) a database that lacks a table of the layout, or whose Next would repeat a number.
	Check() error
}

// Days are tables for each day, in files of their own or the like, beside an Engine. A day that cannot be read any more
// is put aside, of which the operator is told: it then holds nothing.
type Days interface {
	// Names lists the days there are, oldest first, as time.DateOnly.
	Names() ([]string, error)
	// View looks into a day. Of one that is not there it does not call read.
	View(ctx context.Context, day string, read func(Tables) error) error
	// Update changes a day, which is made if need be. One at a time; durable when it returns. change may run twice.
	Update(day string, change func(Tables) error) error
	// Drop removes the days that ended before a time, and tells how many.
	Drop(ctx context.Context, before time.Time) (int, error)
	Close() error
}

// Range is a part of a table, from From (inclusive; nil: from the first key) to Before (exclusive; nil: to the last).
type Range struct {
	From, Before []byte
	Backward     bool // from the last key to the first
}

// Prefix is the range of the keys that begin with a prefix.
func Prefix(prefix []byte) Range { return Range{From: prefix, Before: after(prefix)} }

// after is the least key behind all that begin with a prefix; nil when there is none.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
