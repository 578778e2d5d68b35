//go:build unix

package records

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"purser/store"
	"purser/store/engine"
	"purser/store/storetest"
	"purser/wallet"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		child(path, os.Getenv(childStep))
	}
	flag.Bool("update", false, "rewrite testdata of the newest schema")
	flag.Parse()
	os.Exit(m.Run())
}

// TestMigrations walks a store through two steps, of which one fails at first.
func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 7}) })
	closed(t, s)
	order := ""
	made := func(n table) step {
		return func(s *Store, setup engine.Setup) error {
			order += fmt.Sprint(int(n))
			t := &tx{in: setup, store: s}
			if _, err := t.UserByTelegram(7); err != nil {
				return fmt.Errorf("a step without the store's keys: %w", err)
			}
			more := engine.Table(tableCount + n)
			return errors.Join(setup.CreateTable(more), setup.Put(more, []byte("key"), []byte{byte(n)}))
		}
	}
	with := func(tables int, all ...step) options {
		o := at(path)
		o.tables, o.steps = tables, all
		return o
	}
	broken := errors.New("broken")
	before := fileBytes(t, path)
	if _, err := with(1, made(0), func(*Store, engine.Setup) error { return broken }).open(); !errors.Is(err, broken) {
		t.Fatalf("a broken step: %v", err)
	}
	if _, err := with(2, made(0), func(*Store, engine.Setup) error { return nil }).open(); !errors.Is(err, engine.ErrBroken) {
		t.Fatalf("steps that leave a table out: %v", err)
	}
	if !bytes.Equal(before, fileBytes(t, path)) {
		t.Error("a failed upgrade changed the file")
	}
	wrong := with(1, made(0))
	wrong.key = bytes.Repeat([]byte{8}, store.MasterKeySize)
	order = ""
	if _, err := wrong.open(); !errors.Is(err, store.ErrMasterKey) || order != "" {
		t.Errorf("upgrade under a wrong key: %v, steps %q", err, order)
	}
	for range 2 { // the second time there is nothing to do
		s = with(2, made(0), made(1)).mustOpen(t)
		if err := s.view(t.Context(), func(t *tx) error {
			if _, err := t.UserByTelegram(7); err != nil {
				return fmt.Errorf("a row from before: %w", err)
			}
			for n := range table(2) {
				if got := t.get(tableCount+n, []byte("key")); !bytes.Equal(got, []byte{byte(n)}) {
					return fmt.Errorf("step %d has left %v", n, got)
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		closed(t, s)
	}
	if order != "01" {
		t.Errorf("steps taken: %q", order)
	}
	after := fileBytes(t, path)
	_, err := at(path).open()
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), fmt.Sprintf("its schema is %d, this one knows %d", len(steps())+3, len(steps())+1)) {
		t.Errorf("an older purser: %v", err)
	}
	if !bytes.Equal(after, fileBytes(t, path)) {
		t.Error("an older purser changed the file")
	}
}

// The test below runs itself as a child process, which opens a store and is killed in the middle of it.
const (
	childPath = "PURSER_TEST_RECORDS"      // the store's file; set in a child
	childStep = "PURSER_TEST_RECORDS_STEP" // where it is killed: "in" a step, or "after" it and before the commit
)

// killedSteps change every row of users and make a table, as a step may, and are killed.
func killedSteps(where string) []step {
	kill := func() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	return []step{func(s *Store, setup engine.Setup) error {
		t := &tx{in: setup, store: s}
		err := setup.CreateTable(engine.Table(tableCount))
		for i, e := range t.prefixed(users, nil) {
			err = errors.Join(err, t.put(tableCount, e.key, e.value), t.delete(users, e.key), t.makeDataKey(wallet.UserID(fmt.Sprint("usr_more_", i))))
		}
		if err == nil && where == "in" {
			err = kill()
		}
		return err
	}, func(*Store, engine.Setup) error { return kill() }}
}

func child(path, where string) {
	o := at(path)
	o.tables, o.steps = 1, killedSteps(where)
	_, err := o.open()
	fmt.Println("it lives:", err)
	os.Exit(3)
}

// TestAStepThatIsKilledLeavesTheOldStore: it can be opened as it was, and brought up to date as if nothing had happened.
func TestAStepThatIsKilledLeavesTheOldStore(t *testing.T) {
	for _, where := range []string{"in", "after"} {
		path := filepath.Join(t.TempDir(), "purser.db")
		s := openAt(t, path)
		x := storetest.NewSamples()
		mustUpdate(t, s, x.Write)
		closed(t, s)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), childPath+"="+path, childStep+"="+where)
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("the child was not killed: %v\n%s", err, out)
		}
		s = openAt(t, path)
		if err := s.View(t.Context(), x.Read); err != nil {
			t.Errorf("killed %s the step: %v", where, err)
		}
		closed(t, s)
		taken := 0
		o := at(path)
		o.steps = []step{func(*Store, engine.Setup) error { taken++; return nil }}
		s = o.mustOpen(t)
		if err := s.View(t.Context(), x.Read); err != nil || taken != 1 {
			t.Errorf("killed %s the step: then %d steps, %v", where, taken, err)
		}
		closed(t, s)
	}
}
