// Package engine is what purser needs of a database, and nothing more: ordered tables of keys and values, transactions,
// and secrets that can be destroyed for good. It knows no row. store/records keeps purser's rows in an Engine;
// store/bolt is an Engine in one file.
//
// Its main types:
//
//   - Layout lists the tables, which Prepare gets
//   - Engine is one database; everything is read and written in closures of View and Update
//   - Tx is the argument of such a closure: Tables and Secrets
//   - Shared is what the closures of one commit have in common besides the tables
//   - Secrets are the wrapped data keys of people. They are apart from the tables, because what a table deletes may
//     stay readable on the disk for a long time
//   - Days are tables for each day, which are dropped whole
//
// storetest.RunEngine is the suite that every Engine passes.
//
// Several Stores may lie over one database, each of another node. What they must know of each other is in the tables, and
// they look there often enough: nothing here tells one node of another's commit.
package engine

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"time"
)

// Table is one table: its index in the Layout.
type Table int

// Spec describes a table.
type Spec struct {
	Name string
	// Appended says that most new keys come after all others: a hint for how full pages are kept.
	Appended bool
	// Kept says that the values of an Appended table hardly ever change or go: its pages need no room for it. Its keys begin with a
	// byte below 0xff.
	Kept bool
	// Numbered says that the keys are numbers of Next, 8 bytes, big-endian. Check relies on it.
	Numbered bool
}

// Layout lists the tables. A Table is an index in it.
type Layout []Spec

// ErrForeign says that what was found is not a database of purser.
var ErrForeign = errors.New("this file is not a store of purser's: give another path")

// ErrBroken says that the engine cannot make sense of its files. Only a backup helps.
var ErrBroken = errors.New("the file is damaged")

// Engine is one database, held by one process. Any number of goroutines may use it. Everything that one Update wrote
// becomes true together, or none of it.
type Engine interface {
	// Prepare is called once, before anything else. The engine makes the tables of a new database, and refuses what is
	// not its own (ErrForeign). Then it runs setup in one transaction. It is committed if setup returns nil and wrote
	// something. Otherwise the files stay as they were, to the byte.
	Prepare(layout Layout, setup func(Setup) error) error
	// View runs read on a consistent snapshot, on the caller's goroutine. While it runs, the engine keeps every page
	// that changes, so views must be short.
	View(ctx context.Context, read func(Tx) error) error
	// Update runs change and commits what it wrote, durably, before it returns. Several Updates may share a commit
	// (group commit); each sees what those before it wrote. An error of change rolls back what it wrote. It is returned
	// after everything that it may rest on is committed. change may run more than once, on the goroutine that called
	// Update. A panic rolls back and continues there. ctx does not cancel an Update that is queued: its outcome is
	// waited for. If ctx is store.Deferrable, the Engine may wait up to store.DeferFor for the Update of somebody else, and
	// commit both at once. store.ErrUnknownOutcome says that nobody knows whether a commit took effect. After it the Engine
	// refuses every Update.
	Update(ctx context.Context, change func(Tx) error) error
	// Run waits for the end of ctx. It returns store.ErrUnknownOutcome as soon as a commit left its outcome open, and ErrBroken
	// when the files turn out to be damaged. Every Update after that is refused with store.ErrClosed.
	Run(ctx context.Context) error
	// Close commits what is queued, and waits for running Views. A second Close does nothing.
	Close() error
}

// Tables reads and writes tables. Reads see the writes before them. What is returned belongs to the engine: it may not
// be changed, and lives until the closure returns. A key that is passed may be changed after the call, a value not
// before the commit. One goroutine at a time uses a transaction.
//
// Reads return no error. An engine that can fail to read remembers the first failure and returns nothing from then on.
// Its View or Update then returns that failure, whatever the closure returns, and commits nothing.
type Tables interface {
	// Get returns the value of a key; nil without one, and for an empty key.
	Get(t Table, key []byte) []byte
	// Put creates or replaces a value. In a View it is an error, as are Delete and Next.
	Put(t Table, key, value []byte) error
	// Delete removes a key; without it, it does nothing.
	Delete(t Table, key []byte) error
	// Scan walks the keys of a range in byte order. Nothing may be written to the table during the walk.
	Scan(t Table, r Range) iter.Seq2[[]byte, []byte]
	// First returns the first entry that Scan would return, nil for an empty range.
	First(t Table, r Range) (key, value []byte)
	// Next draws a number, from 1 on. It is larger than every number that this transaction or a committed one has drawn
	// for the table. An Update that fails may leave a gap.
	Next(t Table) (uint64, error)
	// Writable tells an Update (true) from a View.
	Writable() bool
}

// Tx is one transaction. It must not be used after its closure has returned.
type Tx interface {
	Tables
	Secrets
	// Shared is what this Update has in common with the others of its commit. In a View it is nil.
	Shared() *Shared
	// Changed notes that the closure changed Shared: if it fails, it is rolled back as if it had put a value, and if it
	// succeeds, there is something to commit. In a View it does nothing.
	Changed()
}

// Shared belongs to the Updates that share one commit. What many of them would write one after the other, such as a
// count, they can change in memory, and Flush writes it once. It lives as long as the transaction: after a rollback the
// closures that run again begin with an empty one. An engine that commits each Update by itself gives each its own.
type Shared struct {
	Value any
	// Flush, if it is set, runs once, behind the last closure and before the commit. If it fails, nothing is committed,
	// and its error is that of all Updates of the commit.
	Flush func(Tx) error
}

// SecretSize is the length of a secret: a data key of 32 bytes, wrapped by the master key.
const SecretSize = 72

// SecretState says what is known of an owner's secret.
type SecretState int

// The states of a secret.
const (
	NoSecret  SecretState = iota // the owner never had one
	Kept                         // it can be read
	Destroyed                    // the owner had one, and it was destroyed
)

// ErrDestroyed says that a secret was destroyed after the snapshot of this transaction.
var ErrDestroyed = errors.New("the secret was destroyed")

// Secrets are kept for owners, one each. The order is what matters. A secret is durable before the commit that puts it,
// so that no committed row is sealed by a lost key. It is unreadable in every file before the Update that destroys it
// returns. After a crash between that commit and the destruction, the next Prepare destroys the secret.
type Secrets interface {
	// SecretOf returns the state of an owner's secret, and the name by which Secret finds it. Every secret has another
	// name.
	SecretOf(owner string) (name []byte, state SecretState)
	// Secret reads a secret. It fails with ErrDestroyed also in an older snapshot, and with store.ErrDamaged if what is
	// stored is not what was put.
	Secret(name []byte) ([]byte, error)
	// PutSecret gives an owner a secret of SecretSize bytes. A secret that the owner had before is replaced, and is
	// destroyed after the commit.
	PutSecret(owner string, secret []byte) error
	// DestroySecret destroys an owner's secret, and remembers that there was one.
	DestroySecret(owner string) error
}

// Setup is the transaction in which a database is opened.
type Setup interface {
	Tx
	// Fresh tells that this Prepare made the database: its tables exist and are empty.
	Fresh() bool
	// OpenSecrets opens the storage of secrets, and destroys those that a crash left undestroyed. It is called once,
	// after the caller has found that it understands this database. Before it no secret can be read or put.
	OpenSecrets() error
	// CreateTable makes a table that an older layout does not have.
	CreateTable(t Table) error
	// Check refuses (ErrBroken) a database that lacks a table of the layout, or whose Next would repeat a number.
	Check() error
}

// Days are tables for each day, for example in files of their own, beside an Engine. A day that cannot be read is set
// aside and reported to the operator. After that it is empty.
type Days interface {
	// Names lists the existing days as time.DateOnly, oldest first.
	Names() ([]string, error)
	// View reads a day. If there is none, it does not call read.
	View(ctx context.Context, day string, read func(Tables) error) error
	// Update changes a day, which is made if need be, one Update at a time. It is durable when it returns. change may
	// run twice.
	Update(day string, change func(Tables) error) error
	// Drop removes the days that ended before a time, and returns how many.
	Drop(ctx context.Context, before time.Time) (int, error)
	Close() error
}

// Range is a part of a table: from From (inclusive; nil: the first key) to Before (exclusive; nil: beyond the last).
type Range struct {
	From, Before []byte
	Backward     bool // from the last key to the first
}

// Prefix is the range of all keys that begin with a prefix.
func Prefix(prefix []byte) Range { return Range{From: prefix, Before: after(prefix)} }

// after is the least key behind all that begin with a prefix; nil if there is none, as for a prefix of 0xff bytes.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
