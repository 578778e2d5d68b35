package bolt

import (
	"bytes"
	"crypto/rand"
	"io"
	"log/slog"
	mrand "math/rand/v2"
	"path/filepath"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/engine"
	"purser/store/records"
	"purser/store/storetest"
)

// masterKey is the key of the tests' stores.
func masterKey() []byte { return bytes.Repeat([]byte{7}, store.MasterKeySize) }

// whole is an engine with purser's rows in it: what the crash of one means is seen in the other.
type whole struct {
	*records.Store
	engine *Engine
	log    *slog.Logger
}

type wholeOptions struct {
	Path      string
	MasterKey []byte
	Random    io.Reader
	Log       *slog.Logger
}

func options(path string) wholeOptions {
	return wholeOptions{Path: path, MasterKey: masterKey(), Random: rand.Reader}
}

func openWhole(o wholeOptions) (*whole, error) {
	e, err := Open(Options{Path: o.Path, Random: o.Random, Log: o.Log})
	if err != nil {
		return nil, err
	}
	s, err := records.Open(e, records.Options{MasterKey: o.MasterKey, Random: o.Random, Log: o.Log, Kinds: storetest.Kinds()})
	return &whole{s, e, o.Log}, err
}

func openAt(t testing.TB, path string) *whole {
	t.Helper()
	s, err := openWhole(options(path))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openSame is openAt with the same randomness each time, so that the same rows are the same bytes in every process.
func openSame(t testing.TB, path string) *whole {
	t.Helper()
	s, err := openWhole(wholeOptions{Path: path, MasterKey: masterKey(), Random: mrand.NewChaCha8([32]byte{7})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openLogOf opens the delivery log in a folder.
func openLogOf(folder string, s *whole) (*records.Log, error) {
	days, err := OpenDays(folder, records.LogLayout(), s.log)
	return records.OpenLog(days, s.Store), err
}

// fresh opens a new store, which the test's end closes.
func fresh(t testing.TB) *whole {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func mustUpdate(t testing.TB, s *whole, change func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

// ownKeys lists the keys of a bucket of the engine's own.
func ownKeys(t *testing.T, s *whole, bucket string) (keys [][]byte) {
	t.Helper()
	if err := s.engine.View(t.Context(), func(in engine.Tx) error {
		return in.(*tx).root.Bucket([]byte(bucket)).ForEach(func(key, _ []byte) error {
			keys = append(keys, bytes.Clone(key))
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return keys
}

// inOwn changes a bucket of the engine's own.
func inOwn(t *testing.T, s *whole, change func(root *bbolt.Tx) error) {
	t.Helper()
	if err := s.engine.Update(t.Context(), func(in engine.Tx) error {
		in.(*tx).wrote = true
		return change(in.(*tx).root)
	}); err != nil {
		t.Fatal(err)
	}
}

func TestBoltIsAnEngine(t *testing.T) {
	storetest.RunEngine(t, func(_ testing.TB, folder string) (engine.Engine, error) {
		e, err := Open(Options{Path: filepath.Join(folder, "purser.db"), Random: rand.Reader})
		if err != nil { // not a nil *Engine in the interface
			return nil, err
		}
		return e, nil
	})
}
