package bolt

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"purser/store"
	"purser/store/engine"
)

// alone makes the next Update one that its own goroutine commits.
func alone(t *testing.T, s *whole) {
	t.Helper()
	mustUpdate(t, s, func(store.Tx) error { return nil })
	for !s.engine.lone.Load() || !s.engine.committing.TryLock() {
		mustUpdate(t, s, func(store.Tx) error { return nil })
	}
	s.engine.committing.Unlock()
}

// fallsOff runs an Update whose closure does not return, on a goroutine of its own.
func fallsOff(s *whole, how func()) {
	var group sync.WaitGroup
	group.Go(func() {
		defer func() { _ = recover() }()
		_ = s.Update(context.Background(), func(tx store.Tx) error {
			if err := tx.PutUser(human(9)); err != nil {
				return err
			}
			how()
			return nil
		})
	})
	group.Wait()
}

// TestALoneWriterCommitsItself: no message goes to the committer, an error or a closure that does not return leaves
// nothing of itself, and the next one is committed.
func TestALoneWriterCommitsItself(t *testing.T) {
	s := fresh(t)
	alone(t, s)
	mustUpdate(t, s, func(store.Tx) error {
		if !bytes.Contains(debug.Stack(), []byte("(*Engine).alone")) {
			t.Error("the committer ran it")
		}
		return nil
	})
	broken := errors.New("broken")
	for what, fails := range map[string]func(){
		"an error": func() {
			err := s.Update(t.Context(), func(tx store.Tx) error { return errors.Join(tx.PutUser(human(9)), broken) })
			if !errors.Is(err, broken) || errors.Is(err, store.ErrUnknownOutcome) {
				t.Errorf("told %v", err)
			}
		},
		"an error without a write": func() {
			if err := s.Update(t.Context(), func(store.Tx) error { return broken }); !errors.Is(err, broken) {
				t.Errorf("told %v", err)
			}
		},
		"a panic": func() { fallsOff(s, func() { panic("oops") }) },
		"an end":  func() { fallsOff(s, runtime.Goexit) },
	} {
		alone(t, s)
		fails()
		if err := knows(t, s, 9); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s left what it wrote: %v", what, err)
		}
		if err := s.Update(t.Context(), put(1)); err != nil || knows(t, s, 1) != nil {
			t.Errorf("after %s: %v, %v", what, err, knows(t, s, 1))
		}
	}
}

// TestALoneWriterLetsOthersGoNext: those who come while it commits are committed together behind it, and before it
// commits again.
func TestALoneWriterLetsOthersGoNext(t *testing.T) {
	s := fresh(t)
	alone(t, s)
	var order []int
	var group sync.WaitGroup
	mustUpdate(t, s, func(tx store.Tx) error {
		for n := range 3 {
			group.Go(func() {
				if err := s.Update(context.Background(), func(tx store.Tx) error {
					order = append(order, n) // one closure at a time runs
					return tx.PutUser(human(n))
				}); err != nil {
					t.Error(err)
				}
			})
		}
		for s.engine.lone.Load() || len(s.engine.updates) < 2 { // the committer has one of them in its hands
			runtime.Gosched()
		}
		return tx.PutUser(human(9))
	})
	mustUpdate(t, s, func(store.Tx) error { order = append(order, 9); return nil })
	group.Wait()
	if len(order) != 4 || order[3] != 9 {
		t.Errorf("ran %v, want the lone writer's next one last", order)
	}
	for _, n := range []int{0, 1, 2, 9} {
		if err := knows(t, s, n); err != nil {
			t.Errorf("person %d: %v", n, err)
		}
	}
}

// TestALoneCommitThatFailsIsDoubt, and nothing runs after it.
func TestALoneCommitThatFailsIsDoubt(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	alone(t, s)
	noRoom(s)
	if err := s.Update(t.Context(), fill); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("told %v", err)
	}
	if err := s.Update(t.Context(), func(store.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("one that came later: %v", err)
	}
	if err := s.engine.Run(t.Context()); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("Run returned %v", err)
	}
	closed(t, s)
}

// TestALoneUpdateThatCannotBeRolledBackIsDoubt: the error of its closure says that nothing was written, and nobody knows that.
func TestALoneUpdateThatCannotBeRolledBackIsDoubt(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	alone(t, s)
	broken := errors.New("broken")
	err := s.engine.Update(t.Context(), func(in engine.Tx) error {
		if err := in.Put(0, []byte("key"), []byte("value")); err != nil {
			return err
		}
		return errors.Join(in.(*tx).root.Rollback(), broken) // it is over before its time
	})
	if !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("told %v", err)
	}
	if err := s.engine.Run(t.Context()); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("Run returned %v", err)
	}
	closed(t, s)
}

// TestAPanicOfALoneCommitStopsTheStore, because whoever called Update may recover from it.
func TestAPanicOfALoneCommitStopsTheStore(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	alone(t, s)
	var group sync.WaitGroup
	group.Go(func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_ = s.engine.Update(context.Background(), func(tx engine.Tx) error {
			tx.Shared().Flush = func(engine.Tx) error { panic("oops") }
			return tx.Put(0, []byte("key"), []byte("value"))
		})
	})
	group.Wait()
	if err := s.Update(t.Context(), func(store.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("one that came later: %v", err)
	}
	if err := s.engine.Run(t.Context()); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("Run returned %v", err)
	}
	closed(t, s)
}

// TestCloseWaitsForALoneWriter, a second Close too.
func TestCloseWaitsForALoneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	alone(t, s)
	var group sync.WaitGroup
	over := make(chan struct{}, 2)
	mustUpdate(t, s, func(tx store.Tx) error {
		for range 2 {
			group.Go(func() {
				if err := s.engine.Close(); err != nil {
					t.Error(err)
				}
				over <- struct{}{}
			})
		}
		<-s.engine.stopped // the committer has ended: what is left to wait for is this one
		for range 100 {
			runtime.Gosched()
		}
		if len(over) > 0 {
			t.Error("it closed while an Update ran")
		}
		return tx.PutUser(human(1))
	})
	group.Wait()
	if err := s.Update(t.Context(), put(2)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after it: %v", err)
	}
	s = openAt(t, path)
	if err := knows(t, s, 1); err != nil {
		t.Error(err)
	}
	closed(t, s)
}
