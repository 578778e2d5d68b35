package bolt

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"purser/store"
	"purser/store/engine"
)

// Days is an engine.Days in a folder: one bbolt file for each day. A file is opened at its first use and stays open
// until its day is dropped. Any goroutine may use it. A day that is lost loses history only, so a damaged file is set
// aside and the log goes on, where the store itself would refuse to open.
type Days struct {
	folder string
	layout engine.Layout
	log    *slog.Logger

	mu     sync.Mutex           // guards files and closed; never held while a transaction runs
	files  map[string]*bbolt.DB // by day; nil: there is a file, and it is not open yet
	closed bool
}

// Names of the files.
const (
	dayLayout = time.DateOnly
	dayEnd    = ".db"
	asideEnd  = ".damaged" // and a number, behind the name of a file that was set aside
)

var _ engine.Days = (*Days)(nil)

// OpenDays opens the days in a folder, which it makes with mode 0700 if there is none. log gets reports of days that
// are set aside; nil: none.
func OpenDays(folder string, layout engine.Layout, log *slog.Logger) (*Days, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &Days{folder: folder, layout: layout, log: log}
	if err := d.find(); err != nil {
		return nil, fmt.Errorf("open the files in %s: %w", folder, err)
	}
	return d, nil
}

// file is the path of a day's file.
func (d *Days) file(day string) string { return filepath.Join(d.folder, day+dayEnd) }

// find learns which days there are. Files of other names are ignored.
func (d *Days) find() error {
	if err := os.MkdirAll(d.folder, 0o700); err != nil {
		return err
	}
	d.files = map[string]*bbolt.DB{}
	all, err := os.ReadDir(d.folder)
	for _, f := range all {
		day, ours := strings.CutSuffix(f.Name(), dayEnd)
		if _, err := time.Parse(dayLayout, day); ours && err == nil && f.Type().IsRegular() {
			d.files[day] = nil
		}
	}
	return err
}

// Names lists the days, oldest first.
func (d *Days) Names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, store.ErrClosed
	}
	return slices.Sorted(maps.Keys(d.files)), nil
}

// open returns the file of a day; nil if there is none and create is false. A damaged file is set aside, and create
// makes a new one in its place.
func (d *Days) open(day string, create bool) (*bbolt.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, store.ErrClosed
	}
	db, there := d.files[day]
	if db != nil || !there && !create {
		return db, nil
	}
	// A file exists and is not open yet.
	if there {
		db, err := openDay(d.file(day), d.layout)
		if !isBroken(err) {
			d.files[day] = db
			return db, err
		}
		if err := d.setAside(day, err); err != nil || !create {
			return nil, err
		}
	}
	db, err := openDay(d.file(day), d.layout)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.file(day))) // a full disk leaves a part of a file
	}
	d.files[day] = db
	return db, nil
}

// openDay opens or creates a day's file. Its freelist is stored: little is ever freed in it, and so a file of any size
// opens at once.
func openDay(path string, layout engine.Layout) (db *bbolt.DB, err error) {
	if err := guarded(func() (err error) { db, _, err = openFile(path, bbolt.Options{}); return err }); err != nil {
		return nil, err
	}
	err = guarded(func() error { return layOut(db, layout) })
	if err == nil {
		return db, nil
	}
	if !errors.Is(err, engine.ErrBroken) { // after a panic bbolt may hold its locks, and Close would wait for them
		err = errors.Join(err, db.Close())
	}
	return nil, err
}

// layOut makes the buckets of a new file, and checks that an existing one has them.
func layOut(db *bbolt.DB, layout engine.Layout) error {
	// A file without buckets is new. One with other buckets is not ours.
	empty := true
	err := db.View(func(root *bbolt.Tx) error {
		name, _ := root.Cursor().First()
		empty = name == nil
		for _, spec := range layout {
			if !empty && root.Bucket([]byte(spec.Name)) == nil {
				return engine.ErrForeign
			}
		}
		return nil
	})
	if err != nil || !empty {
		return err
	}
	return db.Update(func(root *bbolt.Tx) error {
		for _, spec := range layout {
			if _, err := root.CreateBucket([]byte(spec.Name)); err != nil {
				return err
			}
		}
		return nil
	})
}

// isBroken tells whether an error is about the contents of a file. Only such a file is set aside.
func isBroken(err error) bool {
	for _, what := range []error{engine.ErrBroken, engine.ErrForeign, berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum} {
		if errors.Is(err, what) {
			return true
		}
	}
	return false
}

// setAside renames a day's file that cannot be used, so that the log goes on without it. The caller holds d.mu. If the
// file was open, it stays open and unreferenced: after a panic bbolt may still hold its locks, and Close would wait for
// them.
func (d *Days) setAside(day string, why error) error {
	for n := 1; ; n++ {
		aside := fmt.Sprint(d.file(day), asideEnd, n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(d.file(day), aside); err != nil {
			return errors.Join(why, err)
		}
		delete(d.files, day)
		d.log.Error("a day's file cannot be used: it was set aside, and what it holds is not listed", "file", aside, "error", why)
		return nil
	}
}

// separate sets aside a file that turned out to be damaged while it was in use.
func (d *Days) separate(day string, db *bbolt.DB, why error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[day] != db { // another goroutine has set it aside
		return nil
	}
	return d.setAside(day, why)
}

// View reads a day. For a day that does not exist, or was dropped meanwhile, it does not call read and returns nil.
func (d *Days) View(ctx context.Context, day string, read func(engine.Tables) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := d.open(day, false)
	if db == nil || err != nil {
		return err
	}
	err = guarded(func() error { return db.View(func(root *bbolt.Tx) error { return read(newDayTx(root, d.layout)) }) })
	switch {
	case errors.Is(err, berrors.ErrDatabaseNotOpen): // it was dropped
		return nil
	case isBroken(err):
		return d.separate(day, db, err)
	}
	return err
}

// Update changes a day, whose file is made if need be. If the file is damaged, it is set aside and change runs once
// more, on a new file.
func (d *Days) Update(day string, change func(engine.Tables) error) error {
	for again := true; ; again = false {
		db, err := d.open(day, true)
		if err != nil {
			return err
		}
		err = guarded(func() error { return db.Update(func(root *bbolt.Tx) error { return change(newDayTx(root, d.layout)) }) })
		if !isBroken(err) {
			return err
		}
		if err := d.separate(day, db, err); err != nil || !again {
			return err
		}
	}
}

// guarded runs code that reads or writes a day's file. The pages of a day are not checked when its file is opened, so
// a damaged length may lead beyond the mapping. That fault becomes an error instead of the end of the process.
func guarded(run func() error) (err error) {
	defer asError(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // for this goroutine
	return run()
}

// over tells whether a day ended before a time, in UTC.
func over(day string, before time.Time) bool {
	at, err := time.Parse(dayLayout, day)
	return err == nil && !at.AddDate(0, 0, 1).After(before)
}

// Drop removes the files of days that ended before a time, and returns how many. It waits for the readers of each.
// After a crash the files that are left are dropped by the next call.
func (d *Days) Drop(ctx context.Context, before time.Time) (dropped int, err error) {
	names, err := d.Names()
	if err != nil {
		return 0, err
	}
	for _, day := range names {
		if !over(day, before) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return dropped, err
		}
		if err := d.remove(day); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, d.dropAside(before)
}

// remove deletes a day's file. If that fails, the day stays in the list.
func (d *Days) remove(day string) error {
	d.mu.Lock()
	db := d.files[day]
	delete(d.files, day)
	d.mu.Unlock()
	var err error
	if db != nil {
		err = db.Close()
	}
	if err = errors.Join(err, os.Remove(d.file(day))); err != nil {
		d.mu.Lock()
		d.files[day] = nil // it is there still
		d.mu.Unlock()
	}
	return err
}

// dropAside removes the set-aside files of days that ended before a time: they hold data of the same age.
func (d *Days) dropAside(before time.Time) error {
	all, err := os.ReadDir(d.folder)
	for _, f := range all {
		if day, _, aside := strings.Cut(f.Name(), dayEnd+asideEnd); aside && over(day, before) {
			err = errors.Join(err, os.Remove(filepath.Join(d.folder, f.Name())))
		}
	}
	return err
}

// Close waits for readers and writers and closes every file.
func (d *Days) Close() error {
	d.mu.Lock()
	files := d.files
	d.files, d.closed = nil, true
	d.mu.Unlock()
	var err error
	for _, db := range files {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// dayTx is the engine.Tables of a day, in one transaction.
type dayTx struct {
	root   *bbolt.Tx
	layout engine.Layout
	open   []*bbolt.Bucket // by table; nil: not opened yet
}

// newDayTx makes the tables of one transaction.
func newDayTx(root *bbolt.Tx, layout engine.Layout) *dayTx {
	return &dayTx{root, layout, make([]*bbolt.Bucket, len(layout))}
}

// bucket opens the bucket of a table.
func (t *dayTx) bucket(b engine.Table) *bbolt.Bucket {
	if t.open[b] == nil {
		t.open[b] = t.root.Bucket([]byte(t.layout[b].Name))
		if t.layout[b].Appended {
			t.open[b].FillPercent = fullPages
		}
	}
	return t.open[b]
}

// longestInDay bounds a key or a value, in bytes, far above any that is written.
const longestInDay = 16 << 20

// sane panics, as bbolt does, at a length that no key or value can have. A damaged length would otherwise make the
// caller copy gigabytes. guarded turns the panic into an error.
func sane(raw []byte) []byte {
	if len(raw) > longestInDay {
		panic("a length of a page is damaged")
	}
	return raw
}

// Get returns the value of a key, nil without one.
func (t *dayTx) Get(b engine.Table, key []byte) []byte {
	if len(key) == 0 {
		return nil
	}
	return sane(t.bucket(b).Get(key))
}

// Put creates or replaces.
func (t *dayTx) Put(b engine.Table, key, value []byte) error { return t.bucket(b).Put(key, value) }

// Delete removes a key; without it, it does nothing.
func (t *dayTx) Delete(b engine.Table, key []byte) error { return t.bucket(b).Delete(key) }

// Scan walks a range.
func (t *dayTx) Scan(b engine.Table, r engine.Range) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for key, value := range scan(t.bucket(b), r) {
			if !yield(sane(key), sane(value)) {
				return
			}
		}
	}
}

// First is the first entry of a range.
func (t *dayTx) First(b engine.Table, r engine.Range) (key, value []byte) {
	key, value = first(t.bucket(b).Cursor(), r)
	return sane(key), sane(value)
}

// Next draws the table's next number.
func (t *dayTx) Next(b engine.Table) (uint64, error) { return t.bucket(b).NextSequence() }

// Writable tells an Update from a View.
func (t *dayTx) Writable() bool { return t.root.Writable() }
