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
	if !next("alice").IsZero() || !spend("alice").IsZero() || spend("alice").IsZero() {
		t.Error("begun anew, one is spent and one left")
	}
	change(limit.Forget)
	if !spend("alice").IsZero() || !spend("alice").IsZero() || spend("alice").IsZero() {
		t.Error("all of it is there again")
	}
	r.pass(-2 * time.Hour) // a clock that is set back locks nobody out for longer than the span
	if again := spend("alice"); again.IsZero() || again.After(r.clock().Add(time.Hour+time.Second)) {
		t.Errorf("after the clock was set back: %s", again)
	}
}
