package records

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"purser/store"
	"purser/store/bolt"
	"purser/store/engine"
	"purser/store/storetest"
	"purser/wallet"
)

// masterKey is the key of the tests' stores.
func masterKey() []byte { return bytes.Repeat([]byte{7}, store.MasterKeySize) }

// options are how a test opens a store in a file.
type options struct {
	path   string
	key    []byte
	random io.Reader
	log    *slog.Logger
	steps  []step
	kinds  wallet.Kinds
	tables int // how many tables more than the layout has, for steps that make some
}

func at(path string) options {
	return options{path: path, key: masterKey(), random: rand.Reader, kinds: storetest.Kinds()}
}

func (o options) open() (*Store, error) {
	in, err := bolt.Open(bolt.Options{Path: o.path, Random: o.random, Log: o.log})
	if err != nil {
		return nil, err
	}
	tables := layout()
	for n := range o.tables {
		tables = append(tables, engine.Spec{Name: fmt.Sprint("more_", n)})
	}
	return open(in, Options{MasterKey: o.key, Random: o.random, Log: o.log, Kinds: o.kinds}, tables, append(steps(), o.steps...))
}

func (o options) mustOpen(t testing.TB) *Store {
	t.Helper()
	s, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	return at(path).mustOpen(t)
}

// openSame is openAt with the same randomness each time, so that the same rows are the same bytes in every process.
func openSame(t testing.TB, path string) *Store {
	t.Helper()
	o := at(path)
	o.random = mrand.NewChaCha8([32]byte{7})
	return o.mustOpen(t)
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

func closed(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustUpdate(t testing.TB, s *Store, change func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), change); err != nil {
		t.Fatal(err)
	}
}

func human(n int) wallet.User {
	return wallet.User{ID: wallet.UserID(fmt.Sprint("usr_", n)), TelegramID: int64(1000 + n), FirstName: fmt.Sprint("Person ", n)}
}

func fileBytes(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestRecordsInBoltAreAStore(t *testing.T) {
	storetest.Run(t, func(t testing.TB, folder string) store.Store {
		return nodeStore{openAt(t, filepath.Join(folder, "purser.db")), t}
	})
}

// nodeStore is a Store that opens further ones over its database.
type nodeStore struct {
	*Store
	t testing.TB
}

// Beside implements what storetest.Open asks for.
func (n nodeStore) Beside() store.Store {
	s, err := Open(storetest.Beside(n.engine), Options{MasterKey: masterKey(), Random: rand.Reader, Kinds: storetest.Kinds()})
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

// TestAWorkerEndsWithAClosedStore, instead of trying again for ever.
func TestAWorkerEndsWithAClosedStore(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sweeper := store.Sweeper{Store: s, Every: time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if err := sweeper.Run(t.Context()); !errors.Is(err, store.ErrClosed) || !store.IsFatal(err) {
		t.Errorf("the sweeper ended with %v", err)
	}
}
