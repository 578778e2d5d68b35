package bolt

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// needsRecord skips a test where no file has a fingerprint.
func needsRecord(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere every Open checks the whole file")
	}
}

// isUnchecked opens a store and tells whether Open left out the check.
func isUnchecked(t *testing.T, path string) bool {
	t.Helper()
	s := openAt(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	return s.engine.checkLater
}

// hasFreelist tells whether the newest meta page of a file names a list of free pages.
func hasFreelist(t *testing.T, path string) bool {
	t.Helper()
	w := &pageWalk{from: bytes.NewReader(fileBytes(t, path)), size: uint64(os.Getpagesize())}
	meta, err := w.newestMeta()
	if err != nil {
		t.Fatal(err)
	}
	return meta.freelist != noFreelist
}

// copyStore copies a store's files, as they are, into another folder.
func copyStore(t testing.TB, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "purser.db")
	for _, at := range []func(string) string{func(p string) string { return p }, KeysPath, CleanMarkerPath} {
		if err := copyFile(at(path), at(to)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return to
}

// copyFile copies a file of any size.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close()) // so that its writing disturbs no bench
}

func TestOnlyAFileThatWasClosedIsOpenedUnchecked(t *testing.T) {
	needsRecord(t)
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 7}) })
	if s.engine.checkLater || hasFreelist(t, path) {
		t.Error("a new file counts as closed")
	}
	// A process that dies leaves the file as it is now.
	died := copyStore(t, path)
	if _, err := os.Stat(CleanMarkerPath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a marker while the store is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !hasFreelist(t, path) {
		t.Error("Close wrote no list of free pages: the next Open reads the whole file")
	}
	for range 3 { // also after a life in which nothing was written
		if !isUnchecked(t, path) {
			t.Error("a file that was closed is checked")
		}
	}
	if isUnchecked(t, died) {
		t.Error("the file of a process that died is not checked")
	}
	if !isUnchecked(t, died) || !hasFreelist(t, died) {
		t.Error("it was checked and closed, nothing was written, and it is checked again")
	}
	if isUnchecked(t, copyStore(t, path)) {
		t.Error("a copy is not checked: the disk may have lost something of it")
	}
	// Somebody else writes the same bytes.
	if err := os.WriteFile(path, fileBytes(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
	if isUnchecked(t, path) {
		t.Error("a file that was written to is not checked")
	}
	if !isUnchecked(t, path) {
		t.Error("it was checked and closed, and is checked again")
	}
}

// TestANoteOfAnEarlierCommitIsNone: after a power cut the kernel's record of a file can be older than its pages.
func TestANoteOfAnEarlierCommitIsNone(t *testing.T) {
	needsRecord(t)
	path := filepath.Join(t.TempDir(), "purser.db")
	if err := openAt(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	raw, size := fileBytes(t, path), os.Getpagesize()
	before, ok, err := fingerprint(info, bytes.NewReader(raw), size)
	if marker := fileBytes(t, CleanMarkerPath(path)); !ok || err != nil || !bytes.Equal(marker, before[:]) {
		t.Fatalf("the marker is %x, not %x (%v)", marker, before, err)
	}
	for page := range 2 {
		later := bytes.Clone(raw)
		at := page*size + pageHeader + 48 // the number of the commit
		binary.NativeEndian.PutUint64(later[at:], binary.NativeEndian.Uint64(later[at:])+2)
		if after, _, err := fingerprint(info, bytes.NewReader(later), size); err != nil || after == before {
			t.Errorf("another commit in meta page %d has the same fingerprint (%v)", page, err)
		}
	}
}

// TestAStoreThatStoppedIsNotClosed: nobody knows what its last commit left.
func TestAStoreThatStoppedIsNotClosed(t *testing.T) {
	needsRecord(t)
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	s.engine.committing.Lock()
	s.engine.stop(io.ErrUnexpectedEOF)
	s.engine.committing.Unlock()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if isUnchecked(t, path) {
		t.Error("its file is not checked")
	}
}

// withMarker writes a store's file that was closed as whole and changed since without anybody writing to it, as a disk does it.
func withMarker(t *testing.T, path string, whole, damaged []byte, pageSize int) {
	t.Helper()
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	sum, _, err := fingerprint(info, bytes.NewReader(whole), pageSize)
	if err == nil {
		err = os.WriteFile(CleanMarkerPath(path), sum[:], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhatADiskLostIsFound at the start if it concerns the start, or else while the store runs. The next start refuses the
// file in both cases.
func TestWhatADiskLostIsFound(t *testing.T) {
	needsRecord(t)
	path := filepath.Join(t.TempDir(), "purser.db")
	raw, pageSize := grown(t, path)
	leaves := inUse(t, raw, pageSize)["leaf"]
	atStart, later := 0, 0
	for _, leaf := range leaves {
		damaged := bytes.Clone(raw)
		clear(damaged[leaf*pageSize:][:pageSize])
		withMarker(t, path, raw, damaged, pageSize)
		s, err := openWhole(options(path))
		switch {
		case err != nil && !errors.Is(err, engine.ErrBroken):
			t.Fatalf("leaf %d: %v", leaf, err)
		case err != nil:
			atStart++
		default:
			later++
			if !s.engine.checkLater {
				t.Fatal("the marker does not fit")
			}
			if err := s.engine.Run(t.Context()); !errors.Is(err, engine.ErrBroken) || errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("leaf %d: Run: %v", leaf, err)
			}
			if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Heartbeat("a") }); !errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("leaf %d: a write to a damaged store: %v", leaf, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := os.Stat(CleanMarkerPath(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("leaf %d: the marker is there: %v", leaf, err)
		}
		if _, err := openWhole(options(path)); !errors.Is(err, engine.ErrBroken) {
			t.Errorf("leaf %d: the next start: %v", leaf, err)
		}
	}
	if atStart == 0 || later == 0 {
		t.Errorf("of %d leaves, %d were met at the start and %d later", len(leaves), atStart, later)
	}
}

// TestADamagedListOfFreePagesIsMadeAgain: bbolt writes to the pages that it names, so one wrong bit would cost pages that are in
// use. No row is lost.
func TestADamagedListOfFreePagesIsMadeAgain(t *testing.T) {
	needsRecord(t)
	path := filepath.Join(t.TempDir(), "purser.db")
	raw, pageSize := grown(t, path)
	keys := fileBytes(t, KeysPath(path))
	meta, err := (&pageWalk{from: bytes.NewReader(raw), size: uint64(pageSize)}).newestMeta()
	if err != nil || meta.freelist == noFreelist {
		t.Fatalf("%+v, %v", meta, err)
	}
	at := int(meta.freelist) * pageSize
	count := int(binary.NativeEndian.Uint16(raw[at+10:]))
	damages := map[string]func(list []byte){
		"another page":   func(list []byte) { binary.NativeEndian.PutUint64(list, meta.root) },
		"another kind":   func(list []byte) { list[8] = leafFlag },
		"too many":       func(list []byte) { binary.NativeEndian.PutUint16(list[10:], 0xffff) },
		"far too long":   func(list []byte) { binary.NativeEndian.PutUint32(list[12:], 1<<30) },
		"an empty list":  func(list []byte) { binary.NativeEndian.PutUint16(list[10:], 0) },
		"nothing but 0s": func(list []byte) { clear(list[:pageSize]) },
	}
	for i := range count {
		damages[fmt.Sprint("a bit of entry ", i)] = func(list []byte) { list[pageHeader+8*i] ^= 1 << (i % 8) }
	}
	for what, damage := range damages {
		damaged := bytes.Clone(raw)
		damage(damaged[at:])
		for name, write := range map[string]func(){
			"since Close":                func() { withMarker(t, path, raw, damaged, pageSize) },
			"in a file without a marker": func() { err = errors.Join(os.WriteFile(path, damaged, 0o600), os.Remove(CleanMarkerPath(path))) },
		} {
			if write(); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(KeysPath(path), keys, 0o600); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			o := options(path)
			o.Log = slog.New(slog.NewTextHandler(&said, nil))
			s, err := openWhole(o)
			if err != nil {
				t.Fatalf("%s %s: %v", what, name, err)
			}
			if s.engine.checkLater || !strings.Contains(said.String(), "free pages") {
				t.Errorf("%s %s: it was not noticed: %s", what, name, said.String())
			}
			for n := range 20 {
				mustUpdate(t, s, func(tx store.Tx) error {
					return tx.PutUser(wallet.User{ID: wallet.UserID(fmt.Sprint("usr_new", n)), TelegramID: int64(900_000 + n)})
				})
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			after := fileBytes(t, path)
			if err := checkPages(bytes.NewReader(after), int64(len(after)), pageSize); err != nil {
				t.Errorf("%s %s: then %v", what, name, err)
			}
		}
	}
}

// loudLogger is bbolt's logger, which panics within a commit.
type loudLogger struct{ *bbolt.DefaultLogger }

func (loudLogger) Debugf(format string, v ...any) {
	if strings.HasPrefix(format, "Committing") {
		panic("in the middle of a commit")
	}
}

// TestAStartThatPanicsInItsCommitEnds, and so does Close after it: bbolt holds its lock then.
func TestAStartThatPanicsInItsCommitEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	e, err := Open(Options{Path: path, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.db.Close(); err != nil {
		t.Fatal(err)
	}
	if e.db, err = bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, Logger: loudLogger{&bbolt.DefaultLogger{Logger: log.New(io.Discard, "", 0)}}}); err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(engine.Layout{{Name: "a"}}, func(engine.Setup) error { return nil }); !errors.Is(err, engine.ErrBroken) {
		t.Errorf("Prepare: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	// The file is free again, and as it was.
	s := openAt(t, path)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestTheBackgroundCheckSeesOneSnapshot, however many commits there are meanwhile, and ends with the engine's Run.
func TestTheBackgroundCheckSeesOneSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	grown(t, path)
	s := openAt(t, path)
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	writing := make(chan struct{})
	wrote := make(chan error, 1)
	go func() {
		var err error
		for n := 0; err == nil && ctx.Err() == nil; n++ {
			err = s.Update(t.Context(), func(tx store.Tx) error { return tx.Heartbeat("a") })
			if n == 10 {
				close(writing)
			}
		}
		wrote <- err
	}()
	<-writing
	for range 50 {
		if err := s.engine.checkSnapshot(ctx); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if err := s.engine.checkSnapshot(ctx); !errors.Is(err, errStopped) {
		t.Errorf("after its end it goes on: %v", err)
	}
	s.engine.checkLater = true
	if err := s.engine.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
}
