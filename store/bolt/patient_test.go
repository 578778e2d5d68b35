package bolt

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"purser/store"
)

// patiently starts a patient Update on a goroutine of its own, and returns once it waits. end returns its error.
func patiently(t *testing.T, s *whole, change func(store.Tx) error) (end func() error) {
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
		err = s.Update(store.Patient(t.Context()), change)
	}()
	for waiting(s) == before {
		runtime.Gosched()
	}
	return func() error { return <-ended }
}

// waiting is how many patient Updates wait.
func waiting(s *whole) int {
	p := &s.engine.patient
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

// TestAPatientUpdateSharesTheCommitOfOthers, of one that is alone, and of several at once.
func TestAPatientUpdateSharesTheCommitOfOthers(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.patient.patience = time.Hour
	for round, n := range []int{1, 11, 21} {
		alone(t, s)
		before := commits(t, s)
		first, second := patiently(t, s, put(n)), patiently(t, s, put(n+1))
		meet(t, s, n+2)
		if err := errors.Join(first(), second()); err != nil {
			t.Fatal(err)
		}
		if got := commits(t, s) - before; got != 1 {
			t.Errorf("round %d took %d commits", round, got)
		}
		allKnown(t, s, n, n+1, n+2)
		if s.engine.patient.some.Load() || waiting(s) != 0 {
			t.Error("some wait still")
		}
	}
}

// TestAPatientUpdateCommitsAloneInTheEnd, each time.
func TestAPatientUpdateCommitsAloneInTheEnd(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	if s.engine.patient.patience != store.Patience {
		t.Errorf("an engine has a patience of %s", s.engine.patient.patience)
	}
	s.engine.patient.patience = time.Millisecond
	for n := range 3 {
		alone(t, s)
		if err := s.Update(store.Patient(t.Context()), put(n)); err != nil {
			t.Fatal(err)
		}
		allKnown(t, s, n)
	}
	var group sync.WaitGroup // beside others, none is left behind
	for n := range 50 {
		group.Go(func() {
			ctx := t.Context()
			if n%2 == 0 {
				ctx = store.Patient(ctx)
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

// TestCloseCommitsPatientUpdates, and refuses those that come later.
func TestCloseCommitsPatientUpdates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	s.engine.patient.patience = time.Hour
	end := patiently(t, s, put(1))
	closed(t, s)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(store.Patient(t.Context()), put(2)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	s = openAt(t, path)
	defer closed(t, s)
	allKnown(t, s, 1)
}

// TestAPatientUpdateFailsByItself: its error and its panic concern nobody else, nor does it take part in another's.
func TestAPatientUpdateFailsByItself(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.patient.patience = time.Hour
	oops := errors.New("oops")
	// A patient one fails after it wrote.
	end := patiently(t, s, func(tx store.Tx) error { return errors.Join(tx.PutUser(human(1)), oops) })
	meet(t, s, 2)
	if err := end(); !errors.Is(err, oops) {
		t.Errorf("it failed with %v", err)
	}
	// It panics after it wrote.
	end = patiently(t, s, func(tx store.Tx) error {
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
	// The other one fails, and the patient one is committed.
	end = patiently(t, s, put(5))
	err := s.Update(t.Context(), func(tx store.Tx) error { return errors.Join(tx.PutUser(human(6)), oops) })
	if !errors.Is(err, oops) {
		t.Errorf("the other one: %v", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	allKnown(t, s, 5)
}

// TestAPatientUpdateOfAStoppedEngine: it is refused as any other is.
func TestAPatientUpdateOfAStoppedEngine(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	s.engine.patient.patience = time.Hour
	end := patiently(t, s, put(1))
	s.engine.committing.Lock()
	s.engine.stop(errors.New("the disk is gone"))
	s.engine.committing.Unlock()
	closed(t, s)
	if err := end(); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("it ended with %v", err)
	}
}

// TestWhoHurriesPatientUpdatesMayComeBesideOthers, which are in the queue too.
func TestWhoHurriesPatientUpdatesMayComeBesideOthers(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.patient.patience = time.Hour
	end := patiently(t, s, put(1))
	s.engine.committing.Lock()
	var group sync.WaitGroup
	for n := range 3 {
		group.Go(func() { meet(t, s, 2+n) })
	}
	for len(s.engine.updates) < 2 { // the committer holds one
		runtime.Gosched()
	}
	s.engine.hurry()
	s.engine.committing.Unlock()
	group.Wait()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	allKnown(t, s, 1, 2, 3, 4)
}

// TestAQueueThatIsFullForgetsNoPatientUpdate: the committer may be past the patient ones and yet take all of the queue.
func TestAQueueThatIsFullForgetsNoPatientUpdate(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	defer closed(t, s)
	s.engine.patient.patience = time.Hour
	end := patiently(t, s, put(1))
	s.engine.committing.Lock()
	for range maxBatch + 1 { // the committer receives one, and waits
		s.engine.updates <- nil
	}
	first := s.engine.patient.timer
	s.engine.hurry()
	if s.engine.patient.timer == first {
		t.Error("nobody comes for it again")
	}
	s.engine.committing.Unlock()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	allKnown(t, s, 1)
	s.engine.patient.again(func() { t.Error("it comes for nobody") })
	if first = s.engine.patient.timer; first.Stop() {
		t.Error("a timer runs though nobody waits")
	}
}
