package quota_test

import (
	"testing"
	"time"

	"purser/quota"
	"purser/store"
)

// TestADirectLimitIsExactToTheSecond: each one counts for the whole span, rounded up, and what is refused counts nothing.
func TestADirectLimitIsExactToTheSecond(t *testing.T) {
	r := newHarness(t)
	limit := quota.Direct{Kind: "mail", Most: 2, Span: time.Hour}
	spend := func(about string) (again time.Time) {
		t.Helper()
		if err := r.store.Update(t.Context(), func(tx store.Tx) (err error) { again, err = limit.Spend(tx, r.clock(), about); return err }); err != nil {
			t.Fatal(err)
		}
		return again
	}
	next := func(about string) (at time.Time) {
		t.Helper()
		if err := r.store.View(t.Context(), func(tx store.Tx) (err error) { at, err = limit.Next(tx, r.clock(), about); return err }); err != nil {
			t.Fatal(err)
		}
		return at
	}
	change := func(do func(store.Tx, time.Time, string) error) {
		t.Helper()
		if err := r.store.Update(t.Context(), func(tx store.Tx) error { return do(tx, r.clock(), "alice") }); err != nil {
			t.Fatal(err)
		}
	}
	began := r.clock() // a whole second
	if again := spend("alice"); !again.IsZero() || !next("alice").IsZero() {
		t.Fatalf("the first: %s", again)
	}
	r.pass(10*time.Minute + 300*time.Millisecond)
	if again := spend("alice"); !again.IsZero() {
		t.Fatalf("the second: %s", again)
	}
	for range 3 {
		if again := spend("alice"); !again.Equal(began.Add(time.Hour)) || !next("alice").Equal(again) {
			t.Fatalf("the third: %s", again)
		}
	}
	if again := spend("bob"); !again.IsZero() {
		t.Errorf("somebody else: %s", again)
	}
	r.pass(50*time.Minute - 300*time.Millisecond - 1)
	if spend("alice").IsZero() {
		t.Error("a moment too early")
	}
	r.pass(1)
	if !spend("alice").IsZero() {
		t.Error("an hour after the first there is room for one")
	}
	if again := spend("alice"); !again.Equal(began.Add(70*time.Minute + time.Second)) { // rounded up
		t.Errorf("the next: %s", again)
	}
	change(limit.Renew)
	// room counts how many go before one is refused.
	room := func() (n int) {
		for ; n < 10 && spend("alice").IsZero(); n++ {
		}
		return n
	}
	if next := next("alice"); !next.IsZero() {
		t.Errorf("after one of two was spent, the next: %s", next)
	}
	if n := room(); n != 1 {
		t.Errorf("renewing spends one of two: room for %d", n)
	}
	change(limit.Forget)
	if n := room(); n != 2 {
		t.Errorf("after all was forgotten there is room for %d", n)
	}
	r.pass(-2 * time.Hour) // a clock that is set back locks nobody out for longer than the span
	if again := spend("alice"); again.IsZero() || again.After(r.clock().Add(time.Hour+time.Second)) {
		t.Errorf("after the clock was set back: %s", again)
	}
}
