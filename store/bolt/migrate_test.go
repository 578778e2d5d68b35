//go:build unix

package bolt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/wallet"
)

// TestMigrations walks a file through two steps, of which one fails at first.
func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 7}) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	order := ""
	step := func(name string) migration {
		return func(s *Store, root *bbolt.Tx) error {
			order += name
			if s.system == nil || s.lookup == nil {
				return errors.New("a step without the store's keys")
			}
			_, err := root.CreateBucket([]byte(name))
			return err
		}
	}
	broken := errors.New("broken")
	before := fileBytes(t, path)
	if _, err := open(options(path), append(migrations(), step("two"), func(*Store, *bbolt.Tx) error { return broken })); !errors.Is(err, broken) {
		t.Fatalf("a broken step: %v", err)
	}
	if !bytes.Equal(before, fileBytes(t, path)) {
		t.Error("a failed upgrade changed the file")
	}
	wrong := options(path)
	wrong.MasterKey = bytes.Repeat([]byte{8}, store.MasterKeySize)
	order = ""
	if _, err := open(wrong, append(migrations(), step("two"))); !errors.Is(err, store.ErrMasterKey) || order != "" {
		t.Errorf("upgrade under a wrong key: %v, steps %q", err, order)
	}
	s, err := open(options(path), append(migrations(), step("two"), step("three")))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.UserByTelegram(7); return err }); err != nil {
		t.Errorf("a row from before: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = open(options(path), append(migrations(), step("two"), step("three")))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if order != "twothree" {
		t.Errorf("steps taken: %q", order)
	}
	_, err = Open(options(path))
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), fmt.Sprintf("its schema is %d, this one knows %d", len(migrations())+3, len(migrations())+1)) {
		t.Errorf("an older purser: %v", err)
	}
}

// childStep, in a child, is where in a step of the schema it is killed: "in", or "after" it and before the commit.
const childStep = "PURSER_TEST_STORE_STEP"

// killedStep changes every row of users and makes a bucket, as a step may, and is killed.
func killedStep(where string) []migration {
	kill := func() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	return append(migrations(), func(s *Store, root *bbolt.Tx) error {
		made, err := root.CreateBucket([]byte("made"))
		if err != nil {
			return err
		}
		in := root.Bucket([]byte(users.String()))
		err = in.ForEach(func(key, raw []byte) error { return made.Put(bytes.Clone(key), bytes.Clone(raw)) })
		if err == nil && where == "in" {
			err = kill()
		}
		return errors.Join(err, root.DeleteBucket([]byte(users.String())))
	}, func(*Store, *bbolt.Tx) error { return kill() })
}

// childOpens opens the store with a step that kills it.
func childOpens(where string) {
	_, err := open(options(os.Getenv(childPath)), killedStep(where))
	fmt.Println("broken: it lives,", err)
	os.Exit(3)
}

// TestAStepThatIsKilledLeavesTheOldFile: it can be opened as it was, and brought up to date as if nothing had happened.
func TestAStepThatIsKilledLeavesTheOldFile(t *testing.T) {
	for _, where := range []string{"in", "after"} {
		path := filepath.Join(t.TempDir(), "purser.db")
		s := openAt(t, path)
		x := newSamples()
		mustUpdate(t, s, x.write)
		closed(t, s)
		t.Setenv(childStep, where)
		runChild(t, path, 0, "", func(line string) bool { t.Error(line); return true })
		s = openAt(t, path)
		if err := s.View(t.Context(), x.read); err != nil {
			t.Errorf("killed %s the step: %v", where, err)
		}
		closed(t, s)
		taken := 0
		s, err := open(options(path), append(migrations(), func(*Store, *bbolt.Tx) error { taken++; return nil }))
		if err != nil || taken != 1 {
			t.Fatalf("killed %s the step: %d steps, %v", where, taken, err)
		}
		if err := s.View(t.Context(), x.read); err != nil {
			t.Errorf("killed %s the step: %v", where, err)
		}
		closed(t, s)
	}
}
