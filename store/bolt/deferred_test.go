package bolt

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/store"
)

// deferring starts a deferrable Update on a goroutine of its own, and returns once it waits. end returns its error.
func deferring(t *testing.T, s *whole, change func(store.Tx) error) (end func() error) {
	t.Helper()
	before := waiting(s)
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if recover() != nil {
				err = errors.New("it panicked")
			}
			ended <- err
		}()
		err = s.Update(store.Deferrable(t.Context()), change)
	}()
	for waiting(s) == before {
		runtime.Gosched()
	}
	return func() error { return <-ended }
}

// waiting is how many deferrable Updates wait.
func waiting(s *whole) int {
	p := &s.engine.deferred
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// commits is the number of the file's last commit.
func commits(t *testing.T, s *whole) int {
	t.Helper()
	root, err := s.engine.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Rollback() }()
	return root.ID()
}

// allKnown checks that the store knows people.
func allKnown(t *testing.T, s *whole, all ...int) {
	t.Helper()
	for _, n := range all {
		if err := knows(t, s, n); err != nil {
			t.Errorf("person %d: %v", n, err)
		}
	}
}

// TestADeferredUpdateSharesTheCommitOfOthers, of one that is alone, and of several at once.
func TestADeferredUpdateSharesTheCommitOfOthers(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.deferred.limit = time.Hour
	for round, n := range []int{1, 11, 21} {
		alone(t, s)
		before := commits(t, s)
		first, second := deferring(t, s, put(n)), deferring(t, s, put(n+1))
		meet(t, s, n+2)
		if err := errors.Join(first(), second()); err != nil {
			t.Fatal(err)
		}
		if got := commits(t, s) - before; got != 1 {
			t.Errorf("round %d took %d commits", round, got)
		}
		allKnown(t, s, n, n+1, n+2)
		if s.engine.deferred.some.Load() || waiting(s) != 0 {
			t.Error("some wait still")
		}
	}
}

// TestADeferredUpdateCommitsAloneInTheEnd, each time.
func TestADeferredUpdateCommitsAloneInTheEnd(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	if s.engine.deferred.limit != store.DeferFor {
		t.Errorf("an engine defers for %s", s.engine.deferred.limit)
	}
	s.engine.deferred.limit = time.Millisecond
	for n := range 3 {
		alone(t, s)
		if err := s.Update(store.Deferrable(t.Context()), put(n)); err != nil {
			t.Fatal(err)
		}
		allKnown(t, s, n)
	}
	var group sync.WaitGroup // beside others, none is left behind
	for n := range 50 {
		group.Go(func() {
			ctx := t.Context()
			if n%2 == 0 {
				ctx = store.Deferrable(ctx)
			}
			if err := s.Update(ctx, put(100+n)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for n := range 50 {
		allKnown(t, s, 100+n)
	}
}

// TestADeferredUpdateIsNotForgotten when its time is over before it is seen to wait, as it can be on a machine that has much to do: alone, and
// while the committer gathers the batch of another one.
func TestADeferredUpdateIsNotForgotten(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.deferred.limit = 0
	nothing := func(store.Tx) error { return nil }
	for what, rest := range map[string]struct{ deferred, others int }{"alone": {1, 0}, "beside others": {4, 4}} {
		ended := make(chan error, 1)
		go func() {
			var failed error
			for range 10_000 {
				var group errgroup.Group
				for range rest.others {
					group.Go(func() error { return s.Update(t.Context(), nothing) })
				}
				for range rest.deferred {
					group.Go(func() error { return s.Update(store.Deferrable(t.Context()), nothing) })
				}
				failed = errors.Join(failed, group.Wait())
			}
			ended <- failed
		}()
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(what, err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatalf("%s: an Update waits for ever", what)
		}
	}
}

// TestCloseCommitsDeferredUpdates, and refuses those that come later.
func TestCloseCommitsDeferredUpdates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	s.engine.deferred.limit = time.Hour
	end := deferring(t, s, put(1))
	closed(t, s)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(store.Deferrable(t.Context()), put(2)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	s = openAt(t, path)
	defer closed(t, s)
	allKnown(t, s, 1)
}

// TestADeferredUpdateFailsByItself: its error and its panic concern nobody else, nor does it take part in another's.
func TestADeferredUpdateFailsByItself(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.deferred.limit = time.Hour
	oops := errors.New("oops")
	// A deferred one fails after it wrote.
	end := deferring(t, s, func(tx store.Tx) error { return errors.Join(tx.PutUser(human(1)), oops) })
	meet(t, s, 2)
	if err := end(); !errors.Is(err, oops) {
		t.Errorf("it failed with %v", err)
	}
	// It panics after it wrote.
	end = deferring(t, s, func(tx store.Tx) error {
		if err := tx.PutUser(human(3)); err != nil {
			return err
		}
		panic("oops")
	})
	meet(t, s, 4)
	if end() == nil {
		t.Error("it did not panic")
	}
	allKnown(t, s, 2, 4)
	for _, n := range []int{1, 3} {
		if knows(t, s, n) == nil {
			t.Errorf("person %d is known", n)
		}
	}
	// The other one fails, and the deferred one is committed.
	end = deferring(t, s, put(5))
	err := s.Update(t.Context(), func(tx store.Tx) error { return errors.Join(tx.PutUser(human(6)), oops) })
	if !errors.Is(err, oops) {
		t.Errorf("the other one: %v", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	allKnown(t, s, 5)
}

// TestADeferredUpdateOfAStoppedEngine: it is refused as any other is.
func TestADeferredUpdateOfAStoppedEngine(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	s.engine.deferred.limit = time.Hour
	end := deferring(t, s, put(1))
	s.engine.committing.Lock()
	s.engine.stop(errors.New("the disk is gone"))
	s.engine.committing.Unlock()
	closed(t, s)
	if err := end(); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("it ended with %v", err)
	}
}

// TestTheTimerOfDeferredUpdatesMayFireBesideOthers, which are in the queue too.
func TestTheTimerOfDeferredUpdatesMayFireBesideOthers(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.deferred.limit = time.Hour
	end := deferring(t, s, put(1))
	s.engine.committing.Lock()
	var group sync.WaitGroup
	for n := range 3 {
		group.Go(func() { meet(t, s, 2+n) })
	}
	for len(s.engine.updates) < 2 { // the committer holds one
		runtime.Gosched()
	}
	s.engine.commitDeferred()
	s.engine.committing.Unlock()
	group.Wait()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	allKnown(t, s, 1, 2, 3, 4)
}

// TestAQueueThatIsFullForgetsNoDeferredUpdate: the committer may be past the deferred ones and yet take all of the queue.
func TestAQueueThatIsFullForgetsNoDeferredUpdate(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.deferred.limit = time.Hour
	end := deferring(t, s, put(1))
	s.engine.committing.Lock()
	for range maxBatch + 1 { // the committer receives one, and waits
		s.engine.updates <- nil
	}
	first := s.engine.deferred.timer
	s.engine.commitDeferred()
	if s.engine.deferred.timer == first {
		t.Error("nobody comes for it again")
	}
	s.engine.committing.Unlock()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	allKnown(t, s, 1)
	s.engine.deferred.again(func() { t.Error("it comes for nobody") })
	if first = s.engine.deferred.timer; first.Stop() {
		t.Error("a timer runs though nobody waits")
	}
}
