package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

var errWanted = errors.New("wanted by the test")

func readUser(id wallet.UserID) func(store.Tx) error {
	return func(tx store.Tx) error { _, err := tx.User(id); return err }
}

func testRollback(t *testing.T, open Open) {
	s := fresh(t, open)
	err := s.Update(t.Context(), func(tx store.Tx) error {
		if err := tx.PutUser(user("usr_a", 1001)); err != nil {
			return err
		}
		if err := tx.Emit(event("e")); err != nil {
			return err
		}
		return errWanted
	})
	if err != errWanted { // as it is, not wrapped
		t.Fatalf("got %v, want the closure's own error", err)
	}
	absent(t, s, "a user", readUser("usr_a"))
	same(t, "events", len(get(t, s, func(tx store.Tx) ([]wallet.Event, error) { return tx.PendingEvents(9) })), 0)
	select {
	case <-s.Changed(store.Events):
		t.Error("a rolled back event was signalled")
	default:
	}
	update(t, s, func(tx store.Tx) error { return tx.Emit(event("e")) })
	same(t, "an id that was rolled back is free", len(get(t, s, func(tx store.Tx) ([]wallet.Event, error) { return tx.PendingEvents(9) })), 1)
}

func testPanic(t *testing.T, open Open) {
	s := fresh(t, open)
	func() {
		defer func() { same(t, "what the caller recovers", recover(), any("boom")) }()
		_ = s.Update(t.Context(), func(tx store.Tx) error {
			if err := tx.PutUser(user("usr_a", 1001)); err != nil {
				return err
			}
			panic("boom")
		})
	}()
	absent(t, s, "a user", readUser("usr_a"))
	func() {
		defer func() { same(t, "what the caller recovers", recover(), any("boom")) }()
		_ = s.View(t.Context(), func(store.Tx) error { panic("boom") })
	}()
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
}

// testGoexit: t.FailNow in a closure ends its goroutine, not the store.
func testGoexit(t *testing.T, open Open) {
	s := fresh(t, open)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Update(context.WithoutCancel(t.Context()), func(tx store.Tx) error {
			if err := tx.PutUser(user("usr_a", 1001)); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		})
	}()
	receive(t, "the end of the goroutine", ended)
	absent(t, s, "a user", readUser("usr_a"))
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
}

// testBatchMates: closures that fail or panic take nothing of their neighbours along. A closure
// that holds the store up lets the others gather behind it, so that they are committed together.
func testBatchMates(t *testing.T, open Open) {
	s := fresh(t, open)
	const mates = 60
	holding, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var group sync.WaitGroup
	group.Go(func() {
		if err := s.Update(t.Context(), func(store.Tx) error {
			once.Do(func() { close(holding) })
			<-release
			return nil
		}); err != nil {
			t.Errorf("the holder: %v", err)
		}
	})
	receive(t, "the holder", holding)
	outcome := make([]error, mates)
	panicked := make([]bool, mates)
	started := make(chan struct{}, mates)
	for i := range mates {
		group.Go(func() {
			defer func() { panicked[i] = recover() != nil }()
			started <- struct{}{}
			outcome[i] = s.Update(t.Context(), func(tx store.Tx) error {
				id := wallet.UserID(fmt.Sprintf("usr_%02d", i))
				if i%5 == 4 { // fails before it writes
					if _, err := tx.User("usr_nobody"); err != nil {
						return err
					}
				}
				if err := tx.PutUser(user(id, int64(i+1))); err != nil {
					return err
				}
				switch i % 5 {
				case 2:
					return errWanted
				case 3:
					panic("boom")
				}
				return nil
			})
		})
	}
	for range mates {
		receive(t, "a mate", started)
	}
	close(release)
	group.Wait()
	for i := range mates {
		id := wallet.UserID(fmt.Sprintf("usr_%02d", i))
		there := s.View(t.Context(), readUser(id)) == nil
		var want error
		switch i % 5 {
		case 2:
			want = errWanted
		case 4:
			want = store.ErrNotFound
		}
		if !errors.Is(outcome[i], want) || want == nil && outcome[i] != nil {
			t.Errorf("mate %d: got %v, want %v", i, outcome[i], want)
		}
		if panicked[i] != (i%5 == 3) {
			t.Errorf("mate %d: panicked %v", i, panicked[i])
		}
		if there != (i%5 < 2) {
			t.Errorf("mate %d: its row is there: %v", i, there)
		}
	}
}

// testNothingIsLost: many writers raise one number, by compare-and-set from what they read before.
func testNothingIsLost(t *testing.T, open Open) {
	s := fresh(t, open)
	const writers, each = 16, 25
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				if err := raise(t.Context(), s); err != nil {
					t.Errorf("raise: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	c := get(t, s, func(tx store.Tx) (store.Conversation, error) { return tx.Conversation(1, 1, "") })
	same(t, "the number", string(c.Data), strconv.Itoa(writers*each))
	same(t, "the version", c.Version, uint64(writers*each))
}

func raise(ctx context.Context, s store.Store) error {
	for {
		var c store.Conversation
		if err := s.View(ctx, func(tx store.Tx) (err error) {
			c, err = tx.Conversation(1, 1, "")
			return err
		}); err != nil {
			return err
		}
		n := 0
		if len(c.Data) > 0 {
			var err error
			if n, err = strconv.Atoi(string(c.Data)); err != nil {
				return err
			}
		}
		c.State, c.Data = "counting", []byte(strconv.Itoa(n+1))
		err := s.Update(ctx, func(tx store.Tx) error { return tx.PutConversation(c) })
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// testSnapshot: a View sees one state throughout, whatever is committed meanwhile.
func testSnapshot(t *testing.T, open Open) {
	s := fresh(t, open)
	view(t, s, func(tx store.Tx) error {
		update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
		if _, err := tx.User("usr_a"); !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("a later row shows: %v", err)
		}
		return nil
	})
	// What was read belongs to the reader, after the transaction and after later writes.
	kept := get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.User("usr_a") })
	row := transaction(1, "usr_a", 1)
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	read := get(t, s, func(tx store.Tx) (wallet.Transaction, error) { return tx.Transaction(row.ID) })
	for i := range 50 {
		update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", int64(i+1))) })
	}
	clear(read.Message)
	same(t, "the user that was read", kept, user("usr_a", 1001))
	same(t, "the row behind a changed copy", get(t, s, func(tx store.Tx) (wallet.Transaction, error) { return tx.Transaction(row.ID) }).Message, row.Message)
}

func testViewDoesNotWrite(t *testing.T, open Open) {
	s := fresh(t, open)
	for what, write := range map[string]func(store.Tx) error{
		"user":   func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1)) },
		"bind":   func(tx store.Tx) error { return tx.PutBind(wallet.Bind{User: "usr_a"}) },
		"card":   func(tx store.Tx) error { return tx.PutCard(1, "c", 1, time.Time{}) },
		"update": func(tx store.Tx) error { _, err := tx.NoteUpdate(noon(), 1); return err },
		"reply":  func(tx store.Tx) error { return store.Enqueue(tx, []store.Reply{{}}...) },
		"event":  func(tx store.Tx) error { return tx.Emit(event("e")) },
		"answer": func(tx store.Tx) error { return tx.PutIdempotencyRecord("k", store.IdempotencyRecord{}) },
	} {
		if err := s.View(t.Context(), write); err == nil {
			t.Errorf("a View wrote a %s", what)
		}
	}
}

func testContext(t *testing.T, open Open) {
	s := fresh(t, open)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	never := func(store.Tx) error { t.Error("a closure ran under an ended context"); return nil }
	if err := s.Update(ended, never); !errors.Is(err, context.Canceled) {
		t.Errorf("update: %v", err)
	}
	if err := s.View(ended, never); !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
	// Once it is queued, its outcome is waited for.
	during, cancel := context.WithCancel(t.Context())
	if err := s.Update(during, func(tx store.Tx) error {
		cancel()
		return tx.PutUser(user("usr_a", 1001))
	}); err != nil {
		t.Errorf("a context that ended during the closure: %v", err)
	}
	view(t, s, readUser("usr_a"))
}

func testChanged(t *testing.T, open Open) {
	s := fresh(t, open)
	row := transaction(1, "usr_a", 1)
	adds := map[store.Queue]func(store.Tx) error{
		store.Inbox:      func(tx store.Tx) error { _, err := tx.PutJobs([]store.Job{{Queue: store.Inbox}}, nil); return err },
		store.Outbox:     func(tx store.Tx) error { return store.Enqueue(tx, []store.Reply{{Chat: 1}}...) },
		store.Events:     func(tx store.Tx) error { return tx.Emit(event("e")) },
		store.Settlement: func(tx store.Tx) error { return store.Create(tx, row) },

		store.RelaySignal: func(tx store.Tx) error { return tx.Emit(spoken("spoken")) },
	}
	quiet := func(what string) {
		t.Helper()
		for queue := range adds {
			select {
			case <-s.Changed(queue):
				t.Errorf("%s: %s was signalled", what, queue)
			default:
			}
		}
	}
	quiet("a new store")
	update(t, s, adds[store.Events]) // before there is any webhook
	receive(t, "an event", s.Changed(store.Events))
	adds[store.Events] = func(tx store.Tx) error { return tx.Emit(wallet.Event{ID: "e2", Name: wallet.TransactionProposed}) }
	update(t, s, func(tx store.Tx) error { return tx.PutWebhook(webhook("wh", "key_1", "")) })
	quiet("no outbox event without a webhook, and a webhook")
	for queue, add := range adds {
		update(t, s, add)
		receive(t, string(queue), s.Changed(queue))
		quiet("after the signal of " + string(queue))
	}
	update(t, s, adds[store.Events])
	update(t, s, adds[store.RelaySignal])
	quiet("what was there already")
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	quiet("a user")
	row.Version = 1
	update(t, s, func(tx store.Tx) error { return store.Recheck(tx, row, noon()) })
	receive(t, "a transaction to be looked at", s.Changed(store.Settlement))
	row.Version++
	update(t, s, func(tx store.Tx) error { return tx.PutTransaction(row) })
	quiet("a mere refresh of a transaction")
	for range 3 { // one slot: nobody is held up by a worker that sleeps
		update(t, s, func(tx store.Tx) error { return store.Enqueue(tx, []store.Reply{{Chat: 1}}...) })
	}
	receive(t, "many", s.Changed(store.Outbox))
	quiet("many signals are one")
}

func testClose(t *testing.T, open Open) {
	s := open(t, t.TempDir())
	var group sync.WaitGroup
	done := make(chan error, 50)
	for i := range 50 {
		group.Go(func() {
			done <- s.Update(context.WithoutCancel(t.Context()), func(tx store.Tx) error {
				return tx.PutUser(user(wallet.UserID(fmt.Sprintf("usr_%d", i)), int64(i+1)))
			})
		})
	}
	// Some are done, some wait, some come late: Close answers all of them.
	if err := receive(t, "the first", done); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if err := s.Update(t.Context(), func(store.Tx) error { return nil }); err == nil {
		t.Error("a closed store took an Update")
	}
	if err := s.View(t.Context(), func(store.Tx) error { return nil }); err == nil {
		t.Error("a closed store took a View")
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func testReopen(t *testing.T, open Open) {
	folder := t.TempDir()
	s := open(t, folder)
	row := transaction(1, "usr_a", 1)
	row.SignID = "sign"
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1001)) })
	update(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	update(t, s, func(tx store.Tx) error { return tx.CreateKey(wallet.Key{ID: "key_1"}, "secret") })
	update(t, s, func(tx store.Tx) error {
		if err := store.Enqueue(tx, []store.Reply{{Chat: 1, Body: []byte("one")}}...); err != nil {
			return err
		}
		_, err := tx.NoteUpdate(noon(), 1)
		return err
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	row.Version = 1
	same(t, "user", get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.UserByTelegram(1001) }), user("usr_a", 1001))
	same(t, "transaction", get(t, s, func(tx store.Tx) (wallet.Transaction, error) { return tx.TransactionBySignID("sign") }), row)
	same(t, "key", get(t, s, func(tx store.Tx) (wallet.Key, error) { return tx.KeyBySecret("secret") }), wallet.Key{ID: "key_1"})
	update(t, s, func(tx store.Tx) error {
		known, err := tx.NoteUpdate(noon().Add(time.Hour), 1)
		same(t, "seen ids", known, true)
		return errors.Join(err, store.Enqueue(tx, []store.Reply{{Chat: 1, Body: []byte("two")}}...))
	})
	waiting := Jobs(t, s, store.Outbox)
	same(t, "numbers go on", waiting[1].Seq, waiting[0].Seq+1)
}
