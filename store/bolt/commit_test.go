package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// together runs Updates in one batch, in this order: one that writes nothing holds the committer until all are queued.
func together(t *testing.T, s *whole, changes ...func(store.Tx) error) (outcomes []error) {
	t.Helper()
	s.engine.lone.Store(false) // it is the committer that waits, not the one that writes nothing
	holding, release := make(chan struct{}), make(chan struct{})
	outcomes = make([]error, len(changes))
	var group sync.WaitGroup
	group.Go(func() {
		_ = s.Update(context.Background(), func(store.Tx) error { close(holding); <-release; return nil })
	})
	<-holding
	for i, change := range changes {
		group.Go(func() { outcomes[i] = s.Update(context.Background(), change) })
		for len(s.engine.updates) <= i {
			runtime.Gosched()
		}
	}
	close(release)
	group.Wait()
	if len(changes) > 1 && s.engine.lone.Load() {
		t.Error("after a batch of several the next one may commit alone: the others would wait for it")
	}
	return outcomes
}

func put(n int) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.PutUser(human(n)) }
}

// noRoom makes the next commit that needs another page fail, as a full disk does.
func noRoom(s *whole) { s.engine.db.MaxSize = 1 }

// fill writes more than any free page holds.
func fill(tx store.Tx) error {
	return store.Enqueue(tx, []store.Reply{{Chat: 1, Body: make([]byte, 2*growth)}}...)
}

// TestACommitThatFailsIsDoubtForAllOfItsBatch: also for who wrote nothing and has an answer of its own, because that
// may rest on what was not committed; and for all who come after. Nobody is signalled, and what was there before is
// there after a start.
func TestACommitThatFailsIsDoubtForAllOfItsBatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	meet(t, s, 1)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateKey(wallet.Key{ID: "key_1"}, "secret") })
	for _, queue := range []store.Queue{store.Outbox, store.Events, store.Inbox} {
		select {
		case <-s.Changed(queue):
		default:
		}
	}
	keys := s.AccessVersion()
	noRoom(s)
	refused := errors.New("refused by what is not committed")
	outcomes := together(t, s, put(2), func(tx store.Tx) error {
		if _, err := tx.User("usr_2"); err != nil {
			return fmt.Errorf("the row before is not seen: %w", err)
		}
		return refused
	}, fill, func(tx store.Tx) error { return tx.PutKey(wallet.Key{ID: "key_1", Hint: "new"}) })
	for i, err := range outcomes {
		if !errors.Is(err, store.ErrUnknownOutcome) || errors.Is(err, refused) {
			t.Errorf("%d was told %v", i, err)
		}
	}
	if err := s.Update(t.Context(), func(store.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("one that came later: %v", err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("the store goes on: %v", err)
	}
	if s.AccessVersion() != keys {
		t.Error("keys are said to have changed")
	}
	select {
	case <-s.Changed(store.Outbox):
		t.Error("a worker was signalled")
	default:
	}
	if err := knows(t, s, 1); err != nil {
		t.Errorf("what was committed before: %v", err)
	}
	if err := knows(t, s, 2); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was not: %v", err)
	}
	closed(t, s)
	s = openAt(t, path)
	if err := errors.Join(knows(t, s, 1)); err != nil {
		t.Error(err)
	}
	closed(t, s)
}

// TestAFailureRerunsThoseBeforeItAndIsThenItsOwn: the batch is rolled back with it, those before it run again and are
// committed, and it runs again on what they committed. Those behind it run once they have their turn.
func TestAFailureRerunsThoseBeforeItAndIsThenItsOwn(t *testing.T) {
	s := fresh(t)
	var ran []string
	run := func(name string, change func(store.Tx) error) func(store.Tx) error {
		return func(tx store.Tx) error {
			ran = append(ran, name)
			return change(tx)
		}
	}
	broken := errors.New("broken")
	seen := errors.New("saw the row before it")
	outcomes := together(t, s,
		run("a", put(1)),
		run("b", func(tx store.Tx) error { // writes nothing, and answers from what a wrote
			if _, err := tx.User("usr_1"); err != nil {
				return err
			}
			return seen
		}),
		run("c", func(tx store.Tx) error { return errors.Join(tx.PutUser(human(3)), broken) }),
		run("d", func(tx store.Tx) error {
			if _, err := tx.User("usr_3"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("d sees what c rolled back: %v", err)
			}
			return tx.PutUser(human(4))
		}))
	if want := []string{"a", "b", "c", "a", "b", "c", "d"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	if outcomes[0] != nil || !errors.Is(outcomes[1], seen) || !errors.Is(outcomes[2], broken) || outcomes[3] != nil {
		t.Errorf("told %v", outcomes)
	}
	if err := errors.Join(knows(t, s, 1), knows(t, s, 4)); err != nil {
		t.Error(err)
	}
	if err := knows(t, s, 3); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what failed is there: %v", err)
	}
}

// TestAnAnswerThatWroteNothingWaitsForTheCommitItRestsOn.
func TestAnAnswerThatWroteNothingWaitsForTheCommitItRestsOn(t *testing.T) {
	s := fresh(t)
	taken := errors.New("taken")
	var durable error
	outcomes := together(t, s, put(1), func(tx store.Tx) error {
		if _, err := tx.User("usr_1"); err == nil {
			return taken
		}
		return nil
	})
	durable = knows(t, s, 1)
	if !errors.Is(outcomes[1], taken) || durable != nil {
		t.Errorf("told %v; the row: %v", outcomes[1], durable)
	}
}

// TestASignalComesAfterTheCommit, and one for each queue that was added to by any of the batch.
func TestASignalComesAfterTheCommit(t *testing.T) {
	s := fresh(t)
	outcomes := together(t, s,
		func(tx store.Tx) error { return store.Enqueue(tx, []store.Reply{{Chat: 1, Body: []byte("x")}}...) },
		func(tx store.Tx) error { return tx.Emit(wallet.Event{ID: "e", Name: wallet.TransactionProposed}) })
	if err := errors.Join(outcomes...); err != nil {
		t.Fatal(err)
	}
	for _, queue := range []store.Queue{store.Outbox, store.Events} {
		select {
		case <-s.Changed(queue):
		case <-time.After(time.Minute):
			t.Errorf("%s is not signalled", queue)
		}
	}
}
