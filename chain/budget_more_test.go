package chain

import (
	"testing"
	"testing/synctest"
	"time"

	"purser/wallet"
)

// TestABudgetServesTheFirstAtOnceAndLosesNoPartOfASecond: a process that has just started has a second's worth of calls,
// and time that was waited for half a turn counts towards the next.
func TestABudgetServesTheFirstAtOnceAndLosesNoPartOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10)
		began := time.Now()
		take := func(want time.Duration) {
			t.Helper()
			if err := b.take(t.Context(), forPerson); err != nil || time.Since(began) != want {
				t.Errorf("a turn came at %v, %v, want %v", time.Since(began), err, want)
			}
		}
		for range 10 {
			take(0)
		}
		<-time.After(150 * time.Millisecond)
		take(150 * time.Millisecond)
		take(200 * time.Millisecond)
		take(300 * time.Millisecond)
	})
}

// TestDetailsThatAreKnownAreNotAskedFor: each costs two calls.
func TestDetailsThatAreKnownAreNotAskedFor(t *testing.T) {
	asked := 0
	c, _ := counting(t, Options{Now: time.Now}, func(string) string {
		asked++
		return result("null")
	})
	known := wallet.Landing{Signature: wallet.Signature{1}, Slot: 5, Fee: 5_000, BlockHeight: 4}
	want := known
	if c.Details(t.Context(), &known); asked != 0 || known != want {
		t.Errorf("%d calls made it %+v", asked, known)
	}
	known.BlockHeight = 0
	if c.Details(t.Context(), &known); asked != 2 {
		t.Errorf("%d calls for what was not known", asked)
	}
}
