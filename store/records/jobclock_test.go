package records

import (
	"fmt"
	"testing"
	"time"
)

// TestAClockSetBackTwiceGoesOn: each time the queue's time goes on from where it was. A node that is a little behind
// takes nothing back of it, and of nodes without end a queue knows the last few.
func TestAClockSetBackTwiceGoesOn(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	q := &jobQueue{}
	for i, wall := range []time.Time{at, at.Add(-time.Hour), at.Add(-3 * time.Hour)} {
		if now := q.setClock("a", wall); !now.Equal(at) {
			t.Errorf("claim %d: the queue's time is %s, want %s", i, now, at)
		}
	}
	q.setClock("b", at.Add(-clockSlack))
	if !q.state.clock.Equal(at) {
		t.Errorf("the clock went back to %s", q.state.clock)
	}
	for i := range 3 * clocksKept {
		q.setClock(fmt.Sprint(i), at.Add(time.Duration(i+1)*time.Second))
	}
	if n := len(q.state.nodes); n != clocksKept {
		t.Errorf("%d nodes are known, want %d", n, clocksKept)
	}
	if q.state.nodes[clocksKept-1].node != fmt.Sprint(3*clocksKept-1) {
		t.Error("the last is not the one that claimed last")
	}
}

// TestAClockThatWasSetBackTwiceIsPutRight in one step or in two: each time the node takes an offset again that it had
// before, and the queue's time goes on as if nothing had happened. A clock that is put right to anything else is ahead.
func TestAClockThatWasSetBackTwiceIsPutRight(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	type claim struct {
		wall   time.Duration // of the node's clock, beside at
		now    time.Duration // the queue's time that it should see, beside at
		offset time.Duration // the node's, afterwards
	}
	back := []claim{{0, 0, 0}, {-time.Hour, 0, time.Hour}, {-3 * time.Hour, 0, 3 * time.Hour}}
	for name, right := range map[string][]claim{
		"in one step":       {{time.Second, time.Second, 0}, {time.Minute, time.Minute, 0}},
		"in two steps":      {{-time.Hour + time.Second, time.Second, time.Hour}, {time.Minute, time.Minute, 0}, {2 * time.Minute, 2 * time.Minute, 0}},
		"within the slack":  {{clockSlack, clockSlack, 0}},
		"a little too far":  {{clockSlack + 1, 3*time.Hour + clockSlack + 1, 3 * time.Hour}},
		"half of the way":   {{-2 * time.Hour, time.Hour, 3 * time.Hour}},
		"and set back anew": {{-time.Hour, 0, time.Hour}, {-2 * time.Hour, 0, 2 * time.Hour}, {-time.Hour, 0, time.Hour}},
		// The offset from before it last grew is forgotten once it is taken: only none is left to go back to.
		"and half of the way": {{-time.Hour, 0, time.Hour}, {2 * time.Hour, 3 * time.Hour, time.Hour}},
	} {
		q := &jobQueue{}
		for i, c := range append(back, right...) {
			if now := q.setClock("a", at.Add(c.wall)); !now.Equal(at.Add(c.now)) {
				t.Errorf("%s, claim %d: the queue's time is %s off, want %s", name, i, now.Sub(at), c.now)
			}
			if got := q.offsetOf("a"); got != c.offset {
				t.Errorf("%s, claim %d: the offset is %s, want %s", name, i, got, c.offset)
			}
			if want := at.Add(c.now); !q.state.clock.Equal(want) && want.Sub(q.state.clock) > clockWrite {
				t.Errorf("%s, claim %d: the queue remembers %s, want %s", name, i, q.state.clock.Sub(at), c.now)
			}
		}
	}
}
