package bolt

import (
	"context"
	"errors"
	"fmt"
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
)

// days are the files of a log, one a day. A file is opened when it is first used, and stays open.
type days struct {
	folder string
	log    *slog.Logger

	mu     sync.Mutex
	files  map[string]*bbolt.DB // by day; nil: not opened yet
	closed bool
}

const (
	dayLayout = time.DateOnly
	dayEnd    = ".db"
	asideEnd  = ".damaged" // and a number, behind the name of a file that was set aside
)

// dayOf is the name of the day of a time.
func dayOf(at time.Time) string { return at.UTC().Format(dayLayout) }

// file is the path of a day.
func (d *days) file(day string) string { return filepath.Join(d.folder, day+dayEnd) }

// find learns which days there are.
func (d *days) find() error {
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

// names lists the days, oldest first.
func (d *days) names() ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	return slices.Sorted(maps.Keys(d.files)), nil
}

// open is the file of a day; nil when there is none and none is to be made.
func (d *days) open(day string, create bool) (*bbolt.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	db, there := d.files[day]
	if db != nil || !there && !create {
		return db, nil
	}
	if there {
		db, err := openDay(d.file(day))
		if !isBroken(err) {
			d.files[day] = db
			return db, err
		}
		if err := d.setAside(day, err); err != nil || !create {
			return nil, err
		}
	}
	db, err := openDay(d.file(day))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(d.file(day))) // a full disk leaves a part of a file
	}
	d.files[day] = db
	return db, nil
}

// openDay opens or creates a day's file. Its freelist is written: little is ever freed in it, and a file
// of any size opens at once.
func openDay(path string) (db *bbolt.DB, err error) {
	if err := mended(func() (err error) { db, err = openFile(path, bbolt.Options{}); return err }); err != nil {
		return nil, err
	}
	err = mended(func() error { return layOut(db) })
	if err == nil {
		return db, nil
	}
	if !errors.Is(err, errBroken) { // else bbolt may hold locks of its own
		err = errors.Join(err, db.Close())
	}
	return nil, err
}

// layOut makes the buckets of a new file, and looks for them in an old one.
func layOut(db *bbolt.DB) error {
	empty := true
	err := db.View(func(root *bbolt.Tx) error {
		has := func(b string) bool { return root.Bucket([]byte(b)) != nil }
		name, _ := root.Cursor().First()
		empty = name == nil
		if !empty && !(has(logIndex) && has(logTallies) && has(logRows)) {
			return ErrForeign
		}
		return nil
	})
	if err != nil || !empty {
		return err
	}
	return db.Update(func(root *bbolt.Tx) error {
		for _, b := range []string{logRows, logIndex, logTallies} {
			if _, err := root.CreateBucket([]byte(b)); err != nil {
				return err
			}
		}
		return nil
	})
}

// isBroken tells whether an error is about what a file holds, and not about opening it.
func isBroken(err error) bool {
	for _, what := range []error{errBroken, ErrCut, ErrForeign, berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum} {
		if errors.Is(err, what) {
			return true
		}
	}
	return false
}

// setAside renames the file of a day that cannot be used, so that the log goes on without it; d.mu is
// held. If it was open it stays so, forgotten: bbolt may hold its locks after what happened.
func (d *days) setAside(day string, why error) error {
	for n := 1; ; n++ {
		aside := fmt.Sprint(d.file(day), asideEnd, n)
		if _, err := os.Lstat(aside); err == nil {
			continue
		}
		if err := os.Rename(d.file(day), aside); err != nil {
			return errors.Join(why, err)
		}
		delete(d.files, day)
		d.log.Error("a day of the delivery log cannot be used: its file was set aside, and what it holds is not listed", "file", aside, "error", why)
		return nil
	}
}

// lose sets aside a file that turned out to be damaged while it was used.
func (d *days) lose(day string, db *bbolt.DB, why error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[day] != db { // somebody else met it, too
		return nil
	}
	return d.setAside(day, why)
}

// read looks into a day. One that is gone holds nothing.
func (d *days) read(ctx context.Context, day string, look func(*bbolt.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	db, err := d.open(day, false)
	if db == nil || err != nil {
		return err
	}
	err = mended(func() error { return db.View(look) })
	switch {
	case errors.Is(err, berrors.ErrDatabaseNotOpen): // it was dropped
		return nil
	case isBroken(err):
		return d.lose(day, db, err)
	}
	return err
}

// write changes a day, which is made if need be.
func (d *days) write(day string, change func(*bbolt.Tx) error) error {
	for again := true; ; again = false {
		db, err := d.open(day, true)
		if err != nil {
			return err
		}
		err = mended(func() error { return db.Update(change) })
		if !isBroken(err) {
			return err
		}
		if err := d.lose(day, db, err); err != nil || !again {
			return err
		}
	}
}

// mended runs what reads or writes a day's file. Its pages are not checked when it is opened, so a damaged length may
// lead beyond the file: that fault, too, becomes an error instead of the end of the program.
func mended(run func() error) (err error) {
	defer mend(&err)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // of this goroutine
	return run()
}

// over tells whether a day ended before a time.
func over(day string, before time.Time) bool {
	at, err := time.Parse(dayLayout, day)
	return err == nil && !at.AddDate(0, 0, 1).After(before)
}

// drop removes the files of days that ended before a time. It waits for their readers.
func (d *days) drop(ctx context.Context, before time.Time) (dropped int, err error) {
	names, err := d.names()
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

func (d *days) remove(day string) error {
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

// dropAside removes what was set aside of days that ended before a time: it is as old.
func (d *days) dropAside(before time.Time) error {
	all, err := os.ReadDir(d.folder)
	for _, f := range all {
		if day, _, aside := strings.Cut(f.Name(), dayEnd+asideEnd); aside && over(day, before) {
			err = errors.Join(err, os.Remove(filepath.Join(d.folder, f.Name())))
		}
	}
	return err
}

func (d *days) close() error {
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
