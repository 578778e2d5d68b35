package notify_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/notify"
	"purser/store"
	"purser/store/records"
	"purser/store/storetest"
	"purser/wallet"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// listener notes what it is asked to tell, and leaves a row in the same transaction, so that a
// rollback shows.
type listener struct {
	told []string
	fail map[wallet.TransactionID]error
}

func (l *listener) Notify(tx store.Tx, person wallet.User, event wallet.Event) error {
	what := fmt.Sprint(person.ID, " ", event.Name, " ", event.Transaction)
	l.told = append(l.told, what)
	if err := store.Enqueue(tx, store.Reply{Chat: 1001, Body: []byte(what), At: now}); err != nil {
		return err
	}
	return l.fail[event.Transaction]
}

// NotifyHeld tells of them together.
func (l *listener) NotifyHeld(tx store.Tx, person wallet.User, held []wallet.Event) error {
	what := fmt.Sprint(person.ID, " held")
	for _, event := range held {
		what += fmt.Sprint(" ", event.Transaction)
	}
	l.told = append(l.told, what)
	err := store.Enqueue(tx, store.Reply{Chat: 1001, Body: []byte(what), At: now})
	for _, event := range held {
		err = errors.Join(err, l.fail[event.Transaction])
	}
	return err
}

// harness is a notifier over a real store, with Alice (reachable), Bob (who blocked the bot) and three
// transactions.
type harness struct {
	*testing.T
	store    *records.Store
	listener *listener
	log      strings.Builder
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	r := &harness{T: t, store: world.OpenStore(t), listener: &listener{fail: map[wallet.TransactionID]error{}}}
	r.update(func(tx store.Tx) error {
		for id := range 3 {
			err := tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(fmt.Sprint("tx_", id)), Kind: wallet.Send,
				Status: wallet.AwaitingConfirmation, Owner: "usr_alice", Chat: 1001, Token: wallet.SOL, CreatedAt: now, Deadline: now})
			if err != nil {
				return err
			}
		}
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_alice", TelegramID: 1001, RegisteredAt: now}),
			tx.PutUser(wallet.User{ID: "usr_bob", TelegramID: 1002, RegisteredAt: now, Unreachable: true}))
	})
	return r
}

func (r *harness) update(change func(store.Tx) error) {
	r.Helper()
	if err := r.store.Update(context.Background(), change); err != nil {
		r.Fatal(err)
	}
}

func (r *harness) emit(user wallet.UserID, id wallet.TransactionID, names ...wallet.EventName) {
	r.Helper()
	r.update(func(tx store.Tx) error {
		for _, name := range names {
			event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%s_%s", user, id, name), name, now, user, struct{}{})
			if err != nil {
				return err
			}
			event.Transaction = id
			if err := tx.Emit(event); err != nil {
				return err
			}
		}
		return nil
	})
}

// run empties the queue, and tells what was said and what is left in the outbox.
func (r *harness) run() (told, outbox []string) {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r.listener.told = nil
	n := notify.Notifier{Store: world.UntilIdle{Store: r.store, Queue: store.Events, Idle: cancel}, Chat: r.listener, Node: "a", Width: 1, Now: time.Now, Log: slog.New(slog.NewTextHandler(&r.log, nil))}
	if err := n.Run(ctx); err != nil {
		r.Fatal(err)
	}
	err := r.store.View(context.Background(), func(tx store.Tx) error {
		left, err := tx.PendingEvents(100)
		if len(left) > 0 {
			r.Errorf("%d events are left", len(left))
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	for _, reply := range storetest.Outbox(r, r.store) {
		outbox = append(outbox, string(reply.Body))
	}
	return r.listener.told, outbox
}

// TestEveryEventReachesTheChat: which of them a person is told of is the chat's business, so that a new one needs
// nothing here.
func TestEveryEventReachesTheChat(t *testing.T) {
	r := newHarness(t)
	names := []wallet.EventName{wallet.TransactionProposed, wallet.TransactionReceived, wallet.WalletProven, wallet.AppEventsChosen, "a.later.version"}
	r.emit("usr_alice", "tx_0", names...)
	told, outbox := r.run()
	var want []string
	for _, name := range names {
		want = append(want, "usr_alice "+string(name)+" tx_0")
	}
	if !slices.Equal(told, want) || !slices.Equal(outbox, want) {
		t.Errorf("told %q and left %q, want %q", told, outbox, want)
	}
}

func TestEventsAreToldInOrderAndOnce(t *testing.T) {
	r := newHarness(t)
	r.emit("usr_alice", "tx_1", wallet.TransactionPending, wallet.TransactionConfirmed)
	r.emit("usr_alice", "tx_0", wallet.TransactionReceived)
	if told, _ := r.run(); !slices.Equal(told, []string{"usr_alice transaction.pending tx_1", "usr_alice transaction.confirmed tx_1", "usr_alice transaction.received tx_0"}) {
		t.Errorf("told %q", told)
	}
	if told, _ := r.run(); len(told) != 0 {
		t.Errorf("told again: %q", told)
	}
}

func TestNobodyIsToldWhoCannotBe(t *testing.T) {
	r := newHarness(t)
	r.emit("usr_bob", "tx_0", wallet.TransactionConfirmed)
	r.emit("usr_gone", "tx_0", wallet.TransactionConfirmed)
	r.emit("", "tx_0", wallet.TransactionConfirmed)
	if told, outbox := r.run(); len(told)+len(outbox) != 0 {
		t.Errorf("told %q, left %q", told, outbox)
	}
}

func TestEventThatCannotBeToldIsPutAsideAfterThreeTries(t *testing.T) {
	r := newHarness(t)
	r.listener.fail["tx_0"] = errors.New("no words for it")
	r.emit("usr_alice", "tx_0", wallet.TransactionConfirmed)
	r.emit("usr_alice", "tx_1", wallet.TransactionConfirmed)
	told, outbox := r.run()
	if !slices.Equal(slices.Compact(slices.Clone(told)), []string{"usr_alice transaction.confirmed tx_0", "usr_alice transaction.confirmed tx_1"}) || len(told) < 4 { // a closure may run again
		t.Errorf("told %q", told)
	}
	r.update(func(tx store.Tx) error {
		letters, err := tx.DeadLetters(store.Events, 10)
		if len(letters) != 1 || letters[0].Failures != 2 { // before the last
			t.Errorf("given up: %+v", letters)
		}
		return err
	})
	if !slices.Equal(outbox, []string{"usr_alice transaction.confirmed tx_1"}) {
		t.Errorf("what failed left %q", outbox)
	}
	if !strings.Contains(r.log.String(), "no words for it") {
		t.Errorf("logged %q", r.log.String())
	}
}

func TestBrokenStoreEndsTheWorker(t *testing.T) {
	r := newHarness(t)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	n := notify.Notifier{Store: r.store, Chat: r.listener, Node: "a", Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	if err := n.Run(context.Background()); err == nil {
		t.Error("no error from a closed store")
	}
}

// TestLateEventWakesTheWorker emits while Run waits: the store's signal is enough.
func TestLateEventWakesTheWorker(t *testing.T) {
	r := newHarness(t)
	ctx, cancel := context.WithCancel(context.Background())
	waiting, empty := make(chan struct{}, 1), make(chan struct{}, 1)
	n := notify.Notifier{Store: signalling{r.store, waiting, empty}, Chat: r.listener, Node: "a", Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	wait := func(what <-chan struct{}) {
		t.Helper()
		select {
		case <-what:
		case <-time.After(time.Minute):
			t.Fatal("the worker does not come to rest")
		}
	}
	wait(waiting)
	r.emit("usr_alice", "tx_2", wallet.TransactionConfirmed)
	wait(empty)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.listener.told, []string{"usr_alice transaction.confirmed tx_2"}) {
		t.Errorf("told %q", r.listener.told)
	}
}

// signalling tells when a worker waits, and when it has ended a job.
type signalling struct {
	store.Store
	waiting, ended chan<- struct{}
}

func (s signalling) Changed(q store.Queue) <-chan struct{} {
	ring(s.waiting)
	return s.Store.Changed(q)
}

func (s signalling) Update(ctx context.Context, change func(store.Tx) error) error {
	left := func() (n int) {
		_ = s.View(ctx, func(tx store.Tx) error {
			stats, err := tx.JobStats(store.Events)
			n = stats.Waiting + stats.InFlight
			return err
		})
		return n
	}
	before := left()
	err := s.Store.Update(ctx, change)
	if before > 0 && left() == 0 {
		ring(s.ended)
	}
	return err
}

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// TestHeldEventsComeTogether: when quiet hours end, one transaction takes all that was held for a person, in its order. If it is quiet again, everything waits once
// more. Somebody who blocked the bot, or was erased, is passed over.
func TestHeldEventsComeTogether(t *testing.T) {
	r := newHarness(t)
	morning, clock := now.Add(8*time.Hour), now
	n := notify.Notifier{Store: r.store, Chat: r.listener, Node: "a", Width: 1, Now: func() time.Time { return clock }, Log: slog.New(slog.NewTextHandler(&r.log, nil))}
	pool := n.Pools()[1]
	handle := func() {
		t.Helper()
		for {
			var due []store.Job
			r.update(func(tx store.Tx) (err error) {
				due, _, err = tx.ClaimJobs(store.Claim{Queue: pool.Queue, Node: "a", Now: clock, Max: 10, PerOwner: pool.PerOwner, Lease: time.Minute})
				return err
			})
			if len(due) == 0 {
				return
			}
			for _, job := range due {
				result, err := pool.Handle(t.Context(), job)
				if err != nil {
					t.Fatal(err)
				}
				r.update(func(tx store.Tx) error {
					if err := result.Commit(tx); err != nil {
						return err
					}
					if !result.Again.IsZero() {
						return tx.SnoozeJobs(result.Again, job.Ref())
					}
					return tx.DoneJobs(job.Ref())
				})
			}
		}
	}
	hold := func(who wallet.UserID, ids ...int) {
		t.Helper()
		r.update(func(tx store.Tx) error {
			for _, id := range ids {
				event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%d", who, id), wallet.TransactionReceived, now, who, struct{}{})
				if err != nil {
					return err
				}
				event.Transaction = wallet.TransactionID(fmt.Sprint("tx_", id))
				if err := store.HoldEvent(tx, who, event, now, morning); err != nil {
					return err
				}
			}
			return nil
		})
	}
	hold("usr_alice", 2, 0, 1)
	hold("usr_bob", 0)
	hold("usr_nobody", 0)
	told := func(what string, want ...string) {
		t.Helper()
		if handle(); !slices.Equal(r.listener.told, want) {
			t.Errorf("%s: %q, want %q", what, r.listener.told, want)
		}
	}
	told("at night")
	clock = morning.Add(-time.Millisecond)
	told("a moment before")
	// Alice has made her night longer since.
	quiet, err := wallet.ParseQuietHours("19:00-22:00")
	if err != nil {
		t.Fatal(err)
	}
	r.update(func(tx store.Tx) error {
		alice, err := tx.User("usr_alice")
		if err != nil {
			return err
		}
		alice.Settings.Quiet = &quiet
		return tx.PutUser(alice)
	})
	clock = morning
	told("it is quiet again")
	clock = now.Add(10 * time.Hour)
	told("then", "usr_alice held tx_2 tx_0 tx_1")
	clock = clock.Add(48 * time.Hour)
	told("and never again", "usr_alice held tx_2 tx_0 tx_1")
}
