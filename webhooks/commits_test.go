package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/quota"
	"purser/store"
	"purser/wallet"
	"purser/webhooks"
)

// crashing is a store whose process dies at one of its commits: before it became durable, or after.
type crashing struct {
	store.Store
	at      int64 // the commit that is the last, from 1
	durable bool
	commits atomic.Int64
}

func (c *crashing) Update(ctx context.Context, change func(store.Tx) error) error {
	n := c.commits.Add(1)
	if n < c.at || n == c.at && c.durable {
		if err := c.Store.Update(ctx, change); err != nil {
			return err
		}
	}
	if n >= c.at {
		return store.ErrUnknownOutcome
	}
	return nil
}

func (c *crashing) dead() bool { return c.commits.Load() >= c.at }

// crash runs the service until it dies at a commit, and reports whether it did: else it had no more to write.
func (r *harness) crash(at int64, durable bool) bool {
	r.Helper()
	dying := &crashing{Store: r.store, at: at, durable: durable}
	r.service.Store = dying
	r.service.Transport = transportFunc(func(ctx context.Context, m webhooks.Message) webhooks.Result {
		if dying.dead() {
			return webhooks.Result{Interrupted: true}
		}
		return r.post(ctx, m)
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 2)
	go func() { ended <- r.service.Meter.Run(ctx) }()
	go func() { ended <- r.service.Run(ctx) }()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	cancel()
	for range 2 {
		if err := <-ended; err != nil && !errors.Is(err, store.ErrUnknownOutcome) {
			r.Errorf("ended with %v", err)
		}
	}
	return dying.dead()
}

// TestACrashAtAnyCommitLosesNothingAndKeepsTheOrder: whichever commit of the service is its last, before or after it
// became durable, the next run delivers every event to each receiver, and those of a wallet in the order in which
// they happened. So a outbox event ends with the commit that writes its deliveries, and not before.
func TestACrashAtAnyCommitLosesNothingAndKeepsTheOrder(t *testing.T) {
	for _, durable := range []bool{false, true} {
		died := true
		for at := int64(1); died; at++ {
			t.Run(fmt.Sprintf("commit %d, durable %v", at, durable), func(t *testing.T) {
				inBubble(t, func(r *harness) { died = r.crashedAt(at, durable) })
			})
			if t.Failed() {
				return
			}
			if !died && at < 5 {
				t.Fatalf("there were %d commits only", at-1)
			}
		}
	}
}

func (r *harness) crashedAt(at int64, durable bool) (died bool) {
	alice := r.person()
	key := r.key(alice, wallet.APIKey)
	hooks := []wallet.Webhook{r.hook(key, "*"), r.hook(key, "transaction.*")}
	var mu sync.Mutex
	first, taken := map[string]bool{}, map[string][]string{} // taken: by URL and wallet, in the order of the first 200
	of, fails := map[string]byte{}, map[string]bool{}
	for i, hook := range hooks {
		r.answer(hook, func(m webhooks.Message) webhooks.Result {
			mu.Lock()
			defer mu.Unlock()
			seen := m.URL + m.EventID
			if i == 1 && fails[m.EventID] && !first[seen] { // one of the two fails at first, with some
				first[seen] = true
				return webhooks.Result{Status: 503, Reason: wallet.Because("attempt.no_connection")}
			}
			if line := fmt.Sprint(m.URL, of[m.EventID]); !slices.Contains(taken[line], m.EventID) {
				taken[line] = append(taken[line], m.EventID)
			}
			return webhooks.Result{Status: 200}
		})
	}
	want := map[byte][]string{}
	emit := func() { // three events of each of two wallets, in one commit
		var all []wallet.Event
		for i := range 6 {
			e := r.paid(alice, byte(i%2))
			mu.Lock()
			of[e.ID], fails[e.ID] = byte(i%2), i < 2 || i == 5
			mu.Unlock()
			want[byte(i%2)] = append(want[byte(i%2)], e.ID)
			all = append(all, e)
		}
		r.emit(all...)
	}
	emit()
	died = r.crash(at, durable)
	r.close()
	r.open()
	r.run()
	emit()
	time.Sleep(2 * time.Minute)
	synctest.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, hook := range hooks {
		for wallet, events := range want {
			if got := taken[fmt.Sprint(hook.URL, wallet)]; !slices.Equal(got, events) {
				r.Errorf("%s took %v of the wallet %d, not %v", hook.ID, got, wallet, events)
			}
		}
	}
	return died
}

// TestWhatCannotBeCountedIsTriedAgainAfterAPause, and not at once for ever.
func TestWhatCannotBeCountedIsTriedAgainAfterAPause(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, _ := r.subscriber()
		broken := &refusing{Store: r.store}
		broken.left.Store(4) // the first of them is when the meter begins
		r.service.Meter = &quota.Meter{Store: broken, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
		r.run()
		begun := time.Now()
		r.emit(r.paid(alice, 1))
		time.Sleep(time.Minute)
		if got := r.took(); len(got) != 1 || got[0].at.Sub(begun) < 3*time.Second || got[0].at.Sub(begun) > 4*time.Second {
			t.Errorf("it went %d times, after %s", len(got), got[0].at.Sub(begun))
		}
	})
}

// refusing is a store that refuses some writes at first.
type refusing struct {
	store.Store
	left atomic.Int64
}

func (f *refusing) Update(ctx context.Context, change func(store.Tx) error) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("no room")
	}
	return f.Store.Update(ctx, change)
}

// witness is a log that looks at the store before each entry is written.
type witness struct {
	store.DeliveryLog
	look func(store.LogEntry)
	fail atomic.Bool
}

func (w *witness) Log(ctx context.Context, entries []store.LogEntry) error {
	for _, e := range entries {
		w.look(e)
	}
	if w.fail.Load() {
		return errors.New("no room")
	}
	return w.DeliveryLog.Log(ctx, entries)
}

// TestTheLogIsWrittenBeforeTheStoreForgets: while an entry is not in the log, its delivery still waits in the store as
// it did before. A crash between the two repeats it; the other way round it would lose what became of it.
func TestTheLogIsWrittenBeforeTheStoreForgets(t *testing.T) {
	inBubble(t, func(r *harness) {
		alice, hook := r.subscriber()
		var seen atomic.Int64
		log := &witness{DeliveryLog: r.log, look: func(e store.LogEntry) {
			seen.Add(1)
			err := r.store.View(context.Background(), func(tx store.Tx) error {
				d, err := tx.Delivery(e.ID)
				if err == nil && d.Attempts != e.Attempts-1 {
					err = fmt.Errorf("%d attempts stand in the store, and %d are logged now", d.Attempts, e.Attempts)
				}
				return err
			})
			if err != nil {
				r.Errorf("%s (%s) is logged when the store has dealt with it already: %v", e.ID, e.State, err)
			}
		}}
		r.service.Log = log
		failed := false
		r.answer(hook, func(webhooks.Message) webhooks.Result {
			if !failed {
				failed = true
				return webhooks.Result{Status: 500}
			}
			return webhooks.Result{Status: 200}
		})
		r.run()
		r.emit(r.paid(alice, 1))
		time.Sleep(5 * time.Second)
		if got := r.took(); len(got) != 2 || seen.Load() != 2 {
			t.Fatalf("%d attempts, %d entries", len(got), seen.Load())
		}

		log.look = func(store.LogEntry) { seen.Add(1) }
		log.fail.Store(true)
		r.emit(r.paid(alice, 2))
		time.Sleep(5 * time.Second)
		if got := r.took(); len(got) != 1 || seen.Load() < 3 {
			t.Fatalf("%d attempts, %d entries", len(got), seen.Load())
		}
		r.update(func(tx store.Tx) error {
			if n, err := tx.Waiting(hook.ID, 10); err != nil || n != 1 {
				t.Errorf("%d wait (%v) while the log cannot be written", n, err)
			}
			return nil
		})
	})
}
