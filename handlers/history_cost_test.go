package handlers_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"purser/handlers"
	"purser/wallet"
)

// TestACallToANodeEndsWithItsPage: all calls of a page share one deadline, which does not bind what is read from the store.
// Each page gives its place back.
func TestACallToANodeEndsWithItsPage(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	node := newScripted()
	r.History.Chain = node
	for i := range 5 {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i+1) * time.Minute), Finalized: true})
	}
	var mu sync.Mutex
	ends := map[time.Time]int{}
	node.asked = func(ctx context.Context) {
		end, ok := ctx.Deadline()
		if !ok || time.Until(end) > 15*time.Second { // what chat has for a whole command is 45 seconds, and it reads three pages
			t.Errorf("a call may last until %v, %v", end, ok)
		}
		mu.Lock()
		defer mu.Unlock()
		ends[end]++
	}
	for range 20 {
		page, err := r.History.List(t.Context(), alice.Caller(), handlers.Filter{Limit: 10})
		r.Must(err)
		if len(page.Entries) != 5 || page.Incomplete {
			t.Fatalf("%d entries, incomplete %v", len(page.Entries), page.Incomplete)
		}
	}
	if len(ends) != 20 { // the first page had six calls, the others one: what is final is remembered
		t.Errorf("20 pages had %d deadlines: %v", len(ends), ends)
	}
}

// TestFewPagesAskNodesAtOnce, however many are asked for: the rest wait in line. A list of purser's own waits for nobody.
func TestFewPagesAskNodesAtOnce(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	node := newScripted()
	r.History.Chain = node
	node.entries[alice.Address()] = []wallet.SignatureEntry{{Signature: numbered(1), At: r.Now(), Finalized: true}}
	var asking atomic.Int64
	open, in := make(chan struct{}), make(chan struct{}, 100)
	node.asked = func(context.Context) { asking.Add(1); in <- struct{}{}; <-open }
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			page, err := r.History.List(t.Context(), alice.Caller(), handlers.Filter{Limit: 10})
			if err != nil || len(page.Entries) != 1 || page.Incomplete {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
	for range 4 {
		<-in
	}
	for range 1000 {
		runtime.Gosched()
	}
	if n := asking.Load(); n != 4 {
		t.Errorf("%d pages ask at once", n)
	}
	if _, err := r.History.List(t.Context(), alice.Caller(), handlers.Filter{Limit: 10, OwnOnly: true}); err != nil {
		t.Error(err)
	}
	close(open)
	group.Wait()
}
