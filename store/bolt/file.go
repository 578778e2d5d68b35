package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bbolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"purser/store/engine"
)

// How files are made and opened: whole, durably, under a lock, and never by trusting what lies in them.

// ErrLocked says that another process has the file open.
var ErrLocked = errors.New("another purser is using this store: stop it first, or give this one its own store")

// ErrCut says that the file is shorter than bbolt left it: nothing in it can be relied on. It wraps
// engine.ErrBroken.
var ErrCut = fmt.Errorf("%w: it is cut off (a full disk, or a copy that did not finish?): restore a backup, or move it away to begin with an empty store", engine.ErrBroken)

const (
	// lockWait is how long Open waits for a process that is just shutting down.
	lockWait = 200 * time.Millisecond
	// mapped is how many bytes beyond the file's length are mapped from the start. It costs address space, not memory. Only a file
	// that grows beyond it makes a writer wait until all readers have ended.
	mapped = 256 << 20
	// growth is how many bytes the file grows at a time.
	growth = 4 << 20
)

// found is what checkFile found.
type found struct {
	checkLater bool // the file is as Close left it, so the check of all pages was left out
	mended     bool // its list of free pages was damaged, and is dropped
}

// openFile opens or creates a bbolt file. It checks an existing one first, since bbolt trusts what it finds.
func openFile(path string, o bbolt.Options) (db *bbolt.DB, f found, err error) {
	defer asError(&err)
	o.InitialMmapSize = mapped
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		if err := create(path); err != nil {
			return nil, f, err
		}
	case err == nil:
		if f, err = checkFile(path, o.NoFreelistSync); err != nil {
			return nil, f, err
		}
		o.InitialMmapSize += int(info.Size())
	}
	// The lock of the file is taken here and held until Close.
	o.Timeout, o.FreelistType, o.NoStatistics = lockWait, bbolt.FreelistMapType, true
	if db, err = bbolt.Open(path, 0o600, &o); err != nil {
		return nil, f, lockedOr(err)
	}
	db.AllocSize = growth
	return db, f, nil
}

// newSuffix is added to the name of a file that is being made.
const newSuffix = ".new"

// create makes an empty database under another name, and links it to its own name when it is whole. A crash in
// between leaves no file that looks cut off. If another process makes the file at the same time, that file stays.
func create(path string) error {
	// Remove what earlier crashes left.
	left, err := filepath.Glob(path + newSuffix + "*")
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+newSuffix+"*") // mode 0600
	if err != nil {
		return err
	}
	name := fresh.Name()
	defer os.Remove(name) //nolint:errcheck // the next one that is made removes it
	if err := fresh.Close(); err != nil {
		return err
	}
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{Timeout: lockWait})
	if err != nil {
		return lockedOr(err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	switch err := os.Link(name, path); {
	case errors.Is(err, os.ErrNotExist): // another process begins just now, and has removed it
		return ErrLocked
	case err != nil && !errors.Is(err, os.ErrExist):
		if err := os.Rename(name, path); err != nil { // a file system without hard links
			return err
		}
	}
	// A new file's name must be as durable as the rows in it.
	return syncFolder(filepath.Dir(path))
}

// asError turns a panic into an error: bbolt panics if a file is not what it expects. It is deferred.
func asError(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w (%v): restore a backup", engine.ErrBroken, r)
	}
}

// checkFile refuses a file that bbolt could not open safely. It writes nothing, and holds the file's lock meanwhile.
//
// A file that is shorter than bbolt left it would be read beyond its end, through the mapping, and the kernel would end
// the process (SIGBUS). With every, each page is checked too: without a stored freelist bbolt reads all pages when it
// opens the file, and panics about a damaged one in a goroutine of its own, where nobody can recover. This is left out if nobody
// has written to the file since Close (cleanmarker.go). A damaged list of free pages is no loss: it is dropped, and bbolt makes it
// again.
func checkFile(path string, every bool) (f found, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return f, err
	}
	if info.Size() == 0 {
		return f, ErrCut // bbolt would take an empty file for a new one
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: true})
	if err != nil {
		return f, lockedOr(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return ErrCut
		}
		return nil
	})
	if err == nil && every {
		pageSize := db.Info().PageSize
		f.checkLater, err = everyPage(path, info.Size(), pageSize)
		if f.mended = errors.Is(err, errFreelist); f.mended {
			err = dropFreelist(path, pageSize)
		}
	}
	return f, errors.Join(err, db.Close())
}

// everyPage checks each page of a file (pages.go), unless the file is as Close left it.
func everyPage(path string, size int64, pageSize int) (checkLater bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	checkLater, err = wasClosed(path, file, pageSize)
	if err == nil && !checkLater {
		err = checkPages(file, size, pageSize)
	}
	return checkLater, errors.Join(err, file.Close())
}

// lockedOr turns bbolt's time-out into ErrLocked.
func lockedOr(err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return ErrLocked
	}
	return err
}

// syncFolder makes the names of files in a folder durable: fsync of a file does not cover its name.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
