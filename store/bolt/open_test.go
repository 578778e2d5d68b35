package bolt

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/engine"
)

func TestSecondPurserIsTurnedAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	if _, err := openWhole(options(path)); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second Open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openAt(t, path).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWrongMasterKeyIsOneClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	if err := openAt(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	before := fileBytes(t, path)
	wrong := options(path)
	wrong.MasterKey = bytes.Repeat([]byte{8}, store.MasterKeySize)
	if _, err := openWhole(wrong); !errors.Is(err, store.ErrMasterKey) {
		t.Errorf("a wrong master key: %v", err)
	}
	if !bytes.Equal(before, fileBytes(t, path)) {
		t.Error("a wrong master key changed the file")
	}
	if err := openAt(t, path).Close(); err != nil { // and it left no lock
		t.Fatal(err)
	}
	if !bytes.Equal(before, fileBytes(t, path)) {
		t.Error("opening wrote to a file that was as it should be")
	}
}

func TestOpenRefusesWhatIsMissing(t *testing.T) {
	for what, change := range map[string]func(*wholeOptions){
		"a short master key": func(o *wholeOptions) { o.MasterKey = o.MasterKey[1:] },
		"no randomness":      func(o *wholeOptions) { o.Random = nil },
		"too little of it":   func(o *wholeOptions) { o.Random = io.LimitReader(rand.Reader, 100) },
		"no such folder":     func(o *wholeOptions) { o.Path = filepath.Join(o.Path, "missing", "purser.db") },
		"a folder":           func(o *wholeOptions) { o.Path = filepath.Dir(o.Path) },
	} {
		o := options(filepath.Join(t.TempDir(), "purser.db"))
		change(&o)
		if s, err := openWhole(o); err == nil {
			t.Errorf("%s was accepted", what)
			_ = s.Close()
		}
	}
}

func TestForeignFilesAreRefusedAndKept(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "notes.txt")
	if err := os.WriteFile(text, bytes.Repeat([]byte("dear diary\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(folder, "foreign.db")
	db, err := bbolt.Open(foreign, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	}), db.Close()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, foreign} {
		before := fileBytes(t, path)
		_, err := openWhole(options(path))
		if err == nil {
			t.Fatalf("%s was opened", path)
		}
		if path == foreign && !errors.Is(err, engine.ErrForeign) {
			t.Errorf("%s: %v", path, err)
		}
		if !bytes.Equal(before, fileBytes(t, path)) {
			t.Errorf("%s was changed", path)
		}
	}
}

// TestACutFileIsRefusedAndKept: at any length, by one clear error. bbolt alone would end the program.
func TestACutFileIsRefusedAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := fileBytes(t, path)
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	if err := errors.Join(db.View(func(tx *bbolt.Tx) error { used = int(tx.Size()); return nil }), db.Close()); err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for _, length := range []int{0, 1, page - 1, page, 2 * page, 3 * page, used / 2, used - page, used - 1} {
		if err := os.WriteFile(path, all[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := openWhole(options(path)); err == nil {
			t.Errorf("%d of %d bytes were opened: %v", length, used, s.Close())
		} else if length >= 2*page && length < used && !errors.Is(err, ErrCut) {
			t.Errorf("%d of %d bytes: %v", length, used, err)
		}
		if !bytes.Equal(all[:length], fileBytes(t, path)) {
			t.Errorf("%d bytes: the file was changed", length)
		}
	}
	if err := os.WriteFile(path, all[:used], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := openAt(t, path).Close(); err != nil {
		t.Errorf("what bbolt uses, whole: %v", err)
	}
}

func TestStoreIsItsOwnersFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("file modes mean nothing here")
		return
	}
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	defer func() { _ = s.Close() }()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %o", mode)
	}
}

func TestTransactionIsOverWhenItsClosureReturns(t *testing.T) {
	s := fresh(t)
	var kept store.Tx
	mustUpdate(t, s, func(tx store.Tx) error { kept = tx; return nil })
	defer func() {
		if recover() == nil {
			t.Error("a transaction that is over was used")
		}
	}()
	_ = kept.PutCard(1, "c", 1, time.Time{})
}

func fileBytes(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestWhoIsKilledWhileTheFileIsMadeLeavesNoneThatIsCut: it gets its name when it is whole.
func TestWhoIsKilledWhileTheFileIsMadeLeavesNoneThatIsCut(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "purser.db")
	for i, half := range []int{0, 1, 4096, 8192} { // what a killed start has left
		if err := os.WriteFile(fmt.Sprint(path, ".new", i), make([]byte, half), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := openAt(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || fmt.Sprint(left) != "[- purser.db - purser.db.closed - purser.db.keys]" {
		t.Errorf("left: %v (%v)", left, err)
	}
	var made, locked atomic.Int64
	var all sync.WaitGroup
	for range 8 { // who begin at once: one has it, the others are turned away
		all.Go(func() {
			s, err := openWhole(wholeOptions{Path: filepath.Join(folder, "shared.db"), MasterKey: masterKey(), Random: rand.Reader})
			switch {
			case err == nil:
				made.Add(1)
				t.Cleanup(func() { s.Close() })
			case errors.Is(err, ErrLocked):
				locked.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if made.Load() != 1 || locked.Load() != 7 {
		t.Errorf("%d have it, %d were turned away", made.Load(), locked.Load())
	}
}
