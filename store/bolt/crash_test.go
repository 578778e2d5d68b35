//go:build unix

package bolt

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// The tests of this file run themselves as a child process, which writes until it is stopped and
// prints each row once the store has acknowledged it.
const (
	childPath  = "PURSER_TEST_STORE"       // the store's file; set in a child
	childBegin = "PURSER_TEST_STORE_BEGIN" // the first row's number
	childLimit = "PURSER_TEST_STORE_LIMIT" // of the file's size, in bytes; "" for none
	childTests = "PURSER_TEST_STORE_TESTS" // a child that runs a test
)

const childWriters = 8

// child writes users with an event and a reply each, and never returns.
func child() {
	fail := func(err error) {
		fmt.Println("broken:", err)
		os.Exit(3)
	}
	var begin, limit uint64
	if _, err := fmt.Sscan(os.Getenv(childBegin), &begin); err != nil {
		fail(err)
	}
	s, err := openWhole(wholeOptions{Path: os.Getenv(childPath), MasterKey: masterKey(), Random: rand.Reader})
	if err != nil {
		fail(err)
	}
	if text := os.Getenv(childLimit); text != "" {
		if _, err := fmt.Sscan(text, &limit); err != nil {
			fail(err)
		}
		signal.Ignore(syscall.SIGXFSZ) // so that a write beyond the limit is an error
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			fail(err)
		}
	}
	var group sync.WaitGroup
	for w := range uint64(childWriters) {
		group.Go(func() {
			for n := begin + w; ; n += childWriters {
				err := s.Update(context.Background(), func(tx store.Tx) error { return writeNumbered(tx, n) })
				switch {
				case errors.Is(err, store.ErrUnknownOutcome):
					fmt.Println("unknown outcome")
					return
				case err != nil:
					fail(err)
				}
				fmt.Println("wrote", n)
			}
		})
	}
	group.Wait()
	// The store refuses to go on.
	err = s.Update(context.Background(), func(tx store.Tx) error { return tx.PutCard(1, "c", 1, time.Time{}) })
	why := s.Run(context.Background())
	if errors.Is(err, store.ErrUnknownOutcome) && errors.Is(why, store.ErrUnknownOutcome) {
		fmt.Println("stopped:", why)
	}
	os.Exit(0)
}

// writeNumbered writes rows that belong together into several buckets.
func writeNumbered(tx store.Tx, n uint64) error {
	id := wallet.UserID(fmt.Sprintf("usr_%d", n))
	return errors.Join(
		tx.PutUser(wallet.User{ID: id, TelegramID: int64(n)}),
		tx.Emit(wallet.Event{ID: fmt.Sprintf("evt_%d", n), User: id, Data: []byte(`{}`)}),
		store.Enqueue(tx, []store.Reply{{Chat: int64(n), Card: "card", Body: make([]byte, 500)}}...))
}

// runChild runs the child and hands each line it prints to read, until read says enough or the
// child ends; then it kills the child and gives read the rest.
func runChild(t *testing.T, path string, begin uint64, limit string, read func(line string) (enough bool)) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childPath+"="+path, fmt.Sprintf("%s=%d", childBegin, begin), childLimit+"="+limit)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	killed := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // a cut last line was never a whole acknowledgement
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		if strings.HasPrefix(line, "broken:") {
			t.Errorf("the child is %s", line)
		}
		if read(strings.TrimSpace(line)) && !killed {
			killed = true
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // of a killed process: its exit is what we asked for
}

// checkNumbered checks that every acknowledged row is there, and that no row is there by half. It
// returns a number beyond all that are there.
func checkNumbered(t *testing.T, path string, acknowledged map[uint64]bool) (beyond uint64) {
	t.Helper()
	s := openAt(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	err := s.View(t.Context(), func(tx store.Tx) error {
		for n := range acknowledged {
			if _, err := tx.UserByTelegram(int64(n)); err != nil {
				t.Errorf("acknowledged row %d: %v", n, err)
			}
		}
		events, err := tx.PendingEvents(1 << 30)
		if err != nil {
			return err
		}
		stats, err := tx.JobStats(store.Outbox)
		if err != nil {
			return err
		}
		if len(events) != stats.Waiting || len(events) < len(acknowledged) {
			t.Errorf("%d acknowledged, %d events, %d replies", len(acknowledged), len(events), stats.Waiting)
		}
		for _, e := range events {
			u, err := tx.User(e.User)
			if err != nil {
				return fmt.Errorf("event %s without its user: %w", e.ID, err)
			}
			beyond = max(beyond, uint64(u.TelegramID)+1)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return max(beyond, 1)
}

func TestKilledProcessLosesNothingAcknowledged(t *testing.T) {
	const rounds = 25
	path := filepath.Join(t.TempDir(), "purser.db")
	acknowledged := map[uint64]bool{}
	begin := uint64(1)
	for range rounds {
		left := 1 + mrand.IntN(60)
		runChild(t, path, begin, "", func(line string) bool {
			var n uint64
			if _, err := fmt.Sscanf(line, "wrote %d", &n); err == nil {
				acknowledged[n] = true
				left--
			}
			return left <= 0
		})
		begin = checkNumbered(t, path, acknowledged)
	}
	if len(acknowledged) < rounds {
		t.Errorf("only %d rows were acknowledged in %d rounds", len(acknowledged), rounds)
	}
	t.Logf("%d rows acknowledged in %d rounds", len(acknowledged), rounds)
}

// TestFullDiskStopsTheStore: when the file cannot grow, the outcome is called unknown, the store
// refuses to go on, and what was acknowledged before is there at the next start.
func TestFullDiskStopsTheStore(t *testing.T) {
	for _, limit := range []int{growth + 64<<10, growth + 300_000, 2*growth + 1} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "purser.db")
			acknowledged := map[uint64]bool{}
			unknown, stopped, last := 0, false, ""
			runChild(t, path, 1, fmt.Sprint(limit), func(line string) bool {
				var n uint64
				last = line
				switch _, err := fmt.Sscanf(line, "wrote %d", &n); {
				case err == nil:
					acknowledged[n] = true
				case line == "unknown outcome":
					unknown++
				case strings.HasPrefix(line, "stopped:"): // in one line, with what to do
					stopped = strings.Contains(line, path+": no room is left") && strings.Contains(line, "free some space")
				}
				return false
			})
			if unknown != childWriters || !stopped || len(acknowledged) == 0 {
				t.Errorf("%s: %d acknowledged; %d of %d writers were told that the outcome is unknown; stopped: %v",
					last, len(acknowledged), unknown, childWriters, stopped)
			}
			checkNumbered(t, path, acknowledged)
		})
	}
}

// TestFullDiskIsAnErrorOfTheLog: what was logged stays, a day that cannot be begun leaves nothing behind,
// and the log goes on when there is room again. It is a test of a child: the limit is on all files of a process.
func TestFullDiskIsAnErrorOfTheLog(t *testing.T) {
	if os.Getenv(childTests) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), childTests+"=true")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("PASS")) {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	folder := t.TempDir()
	s, l := openLog(t, folder)
	defer func() {
		if err := errors.Join(l.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}()
	if err := l.Log(t.Context(), []store.LogEntry{logEntry("before", 0)}); err != nil {
		t.Fatal(err)
	}
	full := func(limit uint64, during func()) {
		t.Helper()
		var was syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
		signal.Ignore(syscall.SIGXFSZ) // so that a write beyond the limit is an error
		defer signal.Reset(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
				t.Fatal(err)
			}
		}()
		during()
	}
	var kept []string
	full(growth+64<<10, func() {
		for n := range 100 {
			e := logEntry(fmt.Sprint("dlv_", n), 0)
			e.Body = make([]byte, 100_000)
			if l.Log(t.Context(), []store.LogEntry{e}) == nil {
				kept = append(kept, e.ID)
			}
		}
	})
	full(1000, func() {
		for range 3 {
			if err := l.Log(t.Context(), []store.LogEntry{logEntry("another day", 1)}); err == nil {
				t.Error("a day was begun on a full disk")
			}
		}
	})
	if files, err := filepath.Glob(filepath.Join(folder, "log", "*")); err != nil || len(files) != 1 {
		t.Errorf("the folder holds %v, %v", files, err)
	}
	if len(kept) == 0 || len(kept) == 100 {
		t.Errorf("%d of 100 entries were logged", len(kept))
	}
	kept = append(kept, "before", "another day", "after")
	if err := l.Log(t.Context(), []store.LogEntry{logEntry("another day", 1), logEntry("after", 0)}); err != nil {
		t.Error(err)
	}
	for _, id := range kept {
		if _, err := l.Logged(t.Context(), "wh", id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}
