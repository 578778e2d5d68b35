package chat

import (
	"testing"
	"time"
)

// TestABudgetForgetsOnlyWhoHasAllOfItAgain, and tells nobody more often than every ten seconds.
func TestABudgetForgetsOnlyWhoHasAllOfItAgain(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	b := newBudget(2)
	take := func(who int64, wantWait time.Duration, wantSay bool) {
		t.Helper()
		if wait, say := b.take(who, now); wait != wantWait || say != wantSay {
			t.Errorf("%d: wait %v, say %v; want %v, %v", who, wait, say, wantWait, wantSay)
		}
	}
	take(1, 0, false)
	take(1, 0, false)
	take(1, 3*time.Second, true)
	take(1, 3*time.Second, false)
	now = now.Add(3 * time.Second)
	take(1, 0, false) // one came back
	take(1, 3*time.Second, false)
	now = now.Add(2 * time.Second)
	take(1, time.Second, false)
	now = now.Add(5 * time.Second) // ten seconds after they were told
	take(1, 0, false)
	take(1, 0, false)
	take(1, 3*time.Second, true)

	now = now.Add(time.Hour)
	take(1, 0, false)
	take(1, 0, false)
	for who := int64(2); who < 5000; who++ { // whoever came long ago is forgotten, whoever has just spent theirs is not
		b.take(who, now.Add(-time.Hour+time.Duration(who)*700*time.Millisecond))
	}
	take(1, 3*time.Second, true)
	for who := int64(2); who < 5000; who++ {
		at := now.Add(time.Duration(who) * time.Second)
		for range 3 {
			b.take(who, at)
		}
	}
	if len(b.notified) > maxNotified+1 {
		t.Errorf("%d people are remembered", len(b.notified))
	}
}
