package chain

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

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

// TestATokenOfACallerThatLeavesGoesToTheNext: to who waits behind it at once, and else it is kept, but never more of them
// than a second brings. The token comes after the caller's context has ended, and before it leaves its line.
func TestATokenOfACallerThatLeavesGoesToTheNext(t *testing.T) {
	const burst = 2
	// leave has callers wait, lets behind add others to the line, and has each caller leave as its token comes. Nothing else is
	// in the budget for an hour.
	leave := func(t *testing.T, callers int, behind func(b *budget)) *budget {
		b := newBudget(burst)
		b.bucket = rate.NewLimiter(rate.Every(time.Hour), burst)
		b.bucket.AllowN(time.Now(), burst)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, callers)
		for range callers {
			go func() { ended <- b.take(ctx, forPerson) }()
		}
		synctest.Wait()
		behind(b)
		b.mu.Lock() // a caller that leaves needs it
		cancel()
		for range callers {
			close(b.next().given)
		}
		b.mu.Unlock()
		for range callers {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("a caller that leaves: %v", err)
			}
		}
		return b
	}
	synctest.Test(t, func(t *testing.T) {
		waited, began := make(chan time.Duration, 1), time.Now()
		leave(t, 1, func(b *budget) {
			go func() {
				if b.take(t.Context(), inBackground) == nil {
					waited <- time.Since(began)
				}
			}()
			synctest.Wait()
		})
		if waited := <-waited; waited != 0 {
			t.Errorf("the caller behind it waited %v", waited)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := leave(t, burst+2, func(*budget) {})
		began := time.Now()
		for range burst {
			if err := b.take(t.Context(), inBackground); err != nil || time.Since(began) != 0 {
				t.Errorf("a caller that comes later: %v, after %v", err, time.Since(began))
			}
		}
		if err := b.take(t.Context(), inBackground); err != nil || time.Since(began) != time.Hour {
			t.Errorf("of %d tokens that came back more than %d are used at once: %v, after %v", burst+2, burst, err, time.Since(began))
		}
	})
}
