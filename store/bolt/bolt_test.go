package bolt

import (
	"bytes"
	"crypto/rand"
	mrand "math/rand/v2"
	"path/filepath"
	"testing"

	"purser/store"
	"purser/store/storetest"
)

// masterKey is the key of the tests' stores.
func masterKey() []byte { return bytes.Repeat([]byte{7}, store.MasterKeySize) }

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(Options{Path: path, MasterKey: masterKey(), Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// openSame is openAt with the same randomness each time, so that the same rows are the same bytes in every process.
func openSame(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(Options{Path: path, MasterKey: masterKey(), Random: mrand.NewChaCha8([32]byte{7})})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fresh opens a new store, which the test's end closes.
func fresh(t testing.TB) *Store {
	t.Helper()
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestBoltIsAStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB, folder string) store.Store {
		return openAt(t, filepath.Join(folder, "purser.db"))
	})
}
