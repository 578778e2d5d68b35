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
