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

// ErrCut says that the file ends too early: nothing in it can be relied upon.
var ErrCut = errors.New("the file is cut off (a full disk, or a copy that did not finish?): restore a backup, or move it away to begin with an empty store")

const (
	// lockWait is how long Open waits for a process that is just shutting down.
	lockWait = 200 * time.Millisecond
	// mapped is how much of the file is mapped from the start. It costs address space, not
	// memory; only a file beyond it makes a writer wait for the readers to end.
	mapped = 256 << 20
	// growth is by how much the file grows at a time.
	growth = 4 << 20
)

func openFile(path string, o bbolt.Options) (db *bbolt.DB, err error) {
	defer asError(&err)
	switch _, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		if err := create(path); err != nil {
			return nil, err
		}
	case err == nil:
		if err := checkFile(path, o.NoFreelistSync); err != nil {
			return nil, err
		}
	}
	o.Timeout, o.FreelistType, o.InitialMmapSize, o.NoStatistics = lockWait, bbolt.FreelistMapType, mapped, true
	if db, err = bbolt.Open(path, 0o600, &o); err != nil {
		return nil, lockedOr(err)
	}
	db.AllocSize = growth
	return db, nil
}

// newSuffix follows the name of a file that is being made.
const newSuffix = ".new"

// create makes an empty file under another name and gives it its own when it is whole: whoever is killed
// meanwhile leaves none that looks cut off. One that somebody else makes at the same time stays.
func create(path string) error {
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
	case errors.Is(err, os.ErrNotExist): // somebody else begins just now, and has removed it
		return ErrLocked
	case err != nil && !errors.Is(err, os.ErrExist):
		if err := os.Rename(name, path); err != nil { // where files have one name only
			return err
		}
	}
	// A new file's name must be as durable as the rows in it.
	return syncFolder(filepath.Dir(path))
}

// asError makes an error of a panic, by which bbolt asserts what it finds in a file.
func asError(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w (%v): restore a backup", engine.ErrBroken, r)
	}
}

// checkFile refuses a file that is shorter than bbolt left it, from which it would read on until the kernel ends the
// program (SIGBUS), and with every also one with a damaged page: where the list of free pages is not kept in the file,
// bbolt looks at every page as it opens it, and panics in a goroutine of its own. It writes nothing, and holds the
// file's lock meanwhile.
func checkFile(path string, every bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return ErrCut // bbolt would take it for a new one
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: lockWait, ReadOnly: true})
	if err != nil {
		return lockedOr(err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		if tx.Size() > info.Size() {
			return ErrCut
		}
		return nil
	})
	if err == nil && every {
		err = everyPage(path, info.Size(), db.Info().PageSize)
	}
	return errors.Join(err, db.Close())
}

func everyPage(path string, size int64, pageSize int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(checkPages(file, size, pageSize), file.Close())
}

func lockedOr(err error) error {
	if errors.Is(err, berrors.ErrTimeout) {
		return ErrLocked
	}
	return err
}

func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
