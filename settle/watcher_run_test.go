package settle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// TestTheWatcherRuns: two nodes, with pools and a leader, announce what comes in once, one after the other.
func TestTheWatcherRuns(t *testing.T) {
	r := newWatching(t)
	began := time.Now()
	running := func() time.Time { return r.Now().Add(time.Since(began)) } // a job that is tried again waits for a time: the clock must not stand still
	start := func(node string) (stop func()) {
		w := &settle.Watcher{Store: r.Store, Chain: r.Watcher.Chain, Listed: r.Watcher.Listed, Expected: r.Watcher.Expected, Now: running, Log: r.Watcher.Log, Pace: r.Watcher.Pace}
		w.Node, w.Pace.Tick, w.Pace.Soon, w.Pace.Retry, w.Pace.MaxRetry = node, 2*time.Millisecond, 0, time.Millisecond, time.Millisecond
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		return func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	comes := func(want ...string) {
		t.Helper()
		for len(r.told()) < len(want) {
			select {
			case <-r.Store.Changed(store.Events):
			case <-time.After(time.Minute):
				t.Fatalf("announced %q, want %q\n%s", r.told(), want, r.log)
			}
		}
		r.expect(want...)
	}
	first := start("one")
	r.Fund(r.bob.Address(), sol)
	r.Blocks(40)
	comes("1 SOL to bob")
	first()
	second := start("two")
	r.Fund(r.bob.Address(), 2*sol)
	r.Blocks(40)
	comes("1 SOL to bob", "2 SOL to bob")
	second()
	r.look()
	r.expect("1 SOL to bob", "2 SOL to bob")
}

// TestNothingIsWatchedWithoutCalls: the setting 0 makes no call, and Run ends.
func TestNothingIsWatchedWithoutCalls(t *testing.T) {
	w := settle.Watcher{Pace: settle.DefaultWatchPace(0)}
	if err := w.Run(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestABrokenStoreEndsTheWatcher(t *testing.T) {
	r := newWatching(t)
	if err := r.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.Watcher.Run(context.Background()); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}

// TestARequestThatTheWatcherSeesFirst: the receipt names the request and ends it, and collecting writes no other receipt.
func TestARequestThatTheWatcherSeesFirst(t *testing.T) {
	r := newWatching(t)
	asked := r.requests("1.5", "SOL").Transaction
	r.SendBehind(r.alice, wallet.Transaction{From: r.alice.Address(), To: r.bob.Address(), Reference: asked.Reference, Amount: 3 * sol / 2})
	r.Blocks(40)
	r.Pass(20 * time.Second)
	r.look()
	r.expect("1.5 SOL to bob")
	r.View(func(tx store.Tx) error {
		rows, err := tx.TransactionsAt(r.bob.Address(), store.Page{Limit: 10})
		for _, row := range rows {
			if row.Kind == wallet.Receive && (row.PaymentRequestRef != asked.Reference || row.Answers != asked.ID) {
				t.Errorf("%+v", row)
			}
		}
		return err
	})
	r.is(asked.ID, wallet.Received) // in the store transaction of the receipt
	r.harness.look()
	r.expect("1.5 SOL to bob")
	if got := r.Transaction(asked.ID); !got.Closed || got.Status != wallet.Received {
		t.Errorf("the request is %s", got.Status)
	}
}
