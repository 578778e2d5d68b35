package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"purser/store/engine"
)

// A file that nobody has written to since this package closed it needs no check when it is opened again (decisions/0058).
// Close writes the list of its free pages into it, and its fingerprint into a small file next to it, the clean marker. So the
// time of Open does not depend on the size of the file. Run then reads all pages in the background, for what a disk may have
// lost.
//
// A file without the marker, or with another fingerprint, is checked as a whole before bbolt opens it: after a crash, after
// a restore, and when anything else has written to it.

// CleanMarkerPath is the path of the marker of a clean shutdown.
func CleanMarkerPath(path string) string { return path + ".closed" }

// fingerprint identifies a file and what bbolt last committed to it: a hash of the kernel's record of it (stat), which
// changes with every write, and of what from holds of both meta pages, with the number of the commit, and of the list of free
// pages. ok is false where the system has no such record, and for a file whose list cannot be found.
//
// Why the meta pages too: after a power cut the record may be older than the pages. Why the list: bbolt writes to the pages that
// it names, and drops it with the first commit, so that no later check can find out what a disk did to it.
func fingerprint(info os.FileInfo, from io.ReaderAt, pageSize int) (sum [sha256.Size]byte, ok bool, err error) {
	record, ok := statRecord(info)
	if !ok {
		return sum, false, nil
	}
	for id := range int64(2) {
		meta := make([]byte, pageHeader+metaSize)
		if _, err := from.ReadAt(meta, id*int64(pageSize)); err != nil {
			return sum, false, err
		}
		record = append(record, meta...)
	}
	list, err := storedFreelist(from, pageSize)
	if isDamage(err) {
		return sum, false, nil
	}
	return sha256.Sum256(append(record, list...)), true, err
}

// fingerprintOf is the fingerprint of an open file.
func fingerprintOf(file *os.File, pageSize int) (sum [sha256.Size]byte, ok bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return sum, false, err
	}
	return fingerprint(info, file, pageSize)
}

// wasClosed reports whether a file is as Close left it. The caller holds the file's lock. An error is that of the file: a
// marker that cannot be read is none.
func wasClosed(path string, file *os.File, pageSize int) (bool, error) {
	marker, err := os.ReadFile(CleanMarkerPath(path))
	if err != nil {
		return false, nil
	}
	sum, ok, err := fingerprintOf(file, pageSize)
	return ok && bytes.Equal(marker, sum[:]), err
}

// removeCleanMarker removes the marker, if there is one.
func (e *Engine) removeCleanMarker() error {
	if err := os.Remove(CleanMarkerPath(e.path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// writeCleanMarker writes what Open needs to be fast: the list of free pages into the file, unless it is there, and then
// the marker. The caller holds committing, and nothing is written to the file after it. An error is no loss: the next Open
// checks the file.
func (e *Engine) writeCleanMarker() (err error) {
	defer asError(&err)
	if e.committed || !e.checkLater {
		e.db.NoFreelistSync = false
		root, err := e.db.Begin(true)
		if err != nil {
			return err
		}
		e.stuck = true // until Commit returns
		err = root.Commit()
		e.stuck = false
		if err != nil {
			return err
		}
	}
	file, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum, ok, err := fingerprintOf(file, e.db.Info().PageSize)
	if err != nil || !ok {
		return err
	}
	return os.WriteFile(CleanMarkerPath(e.path), sum[:], 0o600)
}

// errStopped ends a walk because its context has ended.
var errStopped = errors.New("the check was stopped")

// checkInBackground checks all pages of a snapshot while others read and write. If one is damaged it stops the engine. Then Close
// leaves no marker, so that the next Open refuses the file.
func (e *Engine) checkInBackground(ctx context.Context) {
	err := e.checkSnapshot(ctx)
	switch {
	case err == nil || errors.Is(err, errStopped):
	case isDamage(err):
		e.committing.Lock()
		defer e.committing.Unlock()
		e.stop(fmt.Errorf("store %s: %w", e.path, err))
	default:
		e.log.Error("the pages of the store could not be checked", "error", err)
	}
}

// checkSnapshot is the check of the newest snapshot. errStopped: ctx or the engine has ended first.
func (e *Engine) checkSnapshot(ctx context.Context) error {
	file, err := os.Open(e.path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	w := &pageWalk{from: file, size: uint64(e.db.Info().PageSize), stopped: func() bool { return ctx.Err() != nil }}
	for {
		root, err := e.db.Begin(false)
		if err != nil {
			return errStopped // closed meanwhile
		}
		// The walk needs the snapshot's own meta page. bbolt writes two in turn: two commits after Begin it is gone.
		meta, err := w.metaOf(uint64(root.ID()))
		if err == nil {
			err = w.all(meta)
		}
		if err = errors.Join(err, root.Rollback()); !errors.Is(err, errOverwritten) {
			return err
		}
	}
}

// isDamage tells whether an error of a check is about what the file holds.
func isDamage(err error) bool { return errors.Is(err, engine.ErrBroken) }

// appendNumbers appends numbers in 8 bytes each.
func appendNumbers(to []byte, all ...uint64) []byte {
	for _, n := range all {
		to = binary.BigEndian.AppendUint64(to, n)
	}
	return to
}
