package quota_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"purser/quota"
)

// node is a meter that writes only when it must: nothing runs beside the test.
func (r *harness) node(name string) *quota.Meter {
	return &quota.Meter{Store: r.store, Node: name, Now: r.clock, Log: slog.New(slog.DiscardHandler)}
}

// stopped is the clean end of a meter.
func (r *harness) stopped(m *quota.Meter) {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Run(ctx); err != nil {
		r.Fatal(err)
	}
}

// TestNodesTogetherExceedNoLimit has three nodes asked at random; they are paused, killed, stopped and started again.
func TestNodesTogetherExceedNoLimit(t *testing.T) {
	for seed := range uint64(4) {
		r := newHarness(t)
		chance := rand.New(rand.NewPCG(seed, 2))
		limit := quota.Limit{Count: 3 + chance.Uint64N(200), Span: time.Hour}
		names := []string{"a", "b", "c"}
		nodes := map[string]*quota.Meter{}
		var taken []time.Time
		refused := 0
		crashed := map[string][]time.Time{}
		for range 1500 {
			r.pass(time.Duration(chance.Int64N(int64(limit.Span / time.Duration(limit.Count)))))
			name := names[chance.IntN(len(names))]
			m := nodes[name]
			switch chance.IntN(200) {
			case 0:
				if m != nil {
					r.stopped(m)
				}
				m = nil
			case 1:
				if m != nil {
					crashed[name] = append(crashed[name], r.clock())
				}
				m = nil
			}
			if m == nil {
				m = r.node(name)
				nodes[name] = m
			}
			if r.take(m, limit).OK {
				taken = append(taken, r.clock())
			} else {
				refused++
			}
		}
		for i := range taken {
			j := i
			for j < len(taken) && taken[j].Sub(taken[i]) < limit.Span {
				j++
			}
			most := limit.Count
			for _, all := range crashed { // a second crash of the same node in a span may exceed it by its allowance
				within := uint64(0)
				for _, at := range all {
					if !at.Before(taken[i]) && !at.After(taken[j-1]) {
						within++
					}
				}
				most += max(1, limit.Count/20) * (max(within, 1) - 1)
			}
			if uint64(j-i) > most {
				t.Fatalf("seed %d: %d in one span on three nodes, the limit is %d", seed, j-i, limit.Count)
			}
		}
		if refused == 0 || uint64(len(taken)) < 2*limit.Count {
			t.Errorf("seed %d: %d taken, %d refused of a limit of %d: this tests nothing", seed, len(taken), refused, limit.Count)
		}
	}
}

// TestAnotherNodesLeaseCountsAsSpent until it is given back.
func TestAnotherNodesLeaseCountsAsSpent(t *testing.T) {
	r := newHarness(t)
	a, b := r.node("a"), r.node("b")
	if q := r.take(a, hourly); q.Remaining != 99 {
		t.Fatalf("%+v", q)
	}
	if q := r.take(b, hourly); q.Remaining != 100-5-1 { // what a spent is not written yet: its lease is
		t.Fatalf("beside a lease of five: %+v", q)
	}
	r.stopped(a)
	r.pass(11 * time.Second) // b's own lease is over, and it reads again
	if q := r.take(b, hourly); q.Remaining != 100-1-1-1 {
		t.Errorf("when the lease was given back: %+v", q)
	}
}

// TestTheLastOneIsNotGivenTwice: where nodes have leased all that is left, nobody gets more.
func TestTheLastOneIsNotGivenTwice(t *testing.T) {
	r := newHarness(t)
	limit := quota.Limit{Count: 2, Span: time.Hour}
	given := 0
	for i := range 6 {
		if r.take(r.node(fmt.Sprint(i)), limit).OK {
			given++
		}
	}
	if given != 2 {
		t.Errorf("%d of 2 were given", given)
	}
}

// TestALeaseOfANodeThatIsGoneIsChargedOnce: as long as its span, and then no more.
func TestALeaseOfANodeThatIsGoneIsChargedOnce(t *testing.T) {
	r := newHarness(t)
	r.take(r.node("gone"), hourly)
	r.pass(time.Minute)
	b := r.node("b")
	if q := r.take(b, hourly); q.Remaining != 100-5-1 {
		t.Fatalf("what the node that is gone may have spent: %+v", q)
	}
	r.pass(50 * time.Minute)
	if q := r.take(b, hourly); q.Remaining != 100-5-2 {
		t.Fatalf("later: %+v", q)
	}
	r.pass(12 * time.Minute)
	if q := r.take(b, hourly); q.Remaining != 100-2 {
		t.Errorf("an hour after it was gone: %+v", q)
	}
}

// TestANodeThatStoodStillLeasesAgain: its lease may be another's by now.
func TestANodeThatStoodStillLeasesAgain(t *testing.T) {
	r := newHarness(t)
	a, b := r.node("a"), r.node("b")
	limit := quota.Limit{Count: 20, Span: time.Hour} // one at a time
	r.take(a, limit)
	r.pass(time.Minute) // a stands still
	given := 0
	for range 30 {
		if r.take(b, limit).OK {
			given++
		}
	}
	for range 30 {
		if r.take(a, limit).OK {
			given++
		}
	}
	if given+1 > 20 {
		t.Errorf("%d of 20 were given", given+1)
	}
}

// TestTwoProcessesOfOneNameAreNotBothServed: the later one counts on.
func TestTwoProcessesOfOneNameAreNotBothServed(t *testing.T) {
	r := newHarness(t)
	first := r.node("a")
	r.take(first, hourly)
	second := r.node("a")
	r.take(second, hourly)
	r.pass(time.Minute)
	if _, err := first.Take(context.Background(), "api/usr_1", hourly); !errors.Is(err, quota.ErrReplaced) {
		t.Errorf("the first one: %v", err)
	}
	if q := r.take(second, hourly); !q.OK {
		t.Errorf("the second one: %+v", q)
	}
}

// TestARunIsLaterThanTheOneBefore: also where the clock was set back between them.
func TestARunIsLaterThanTheOneBefore(t *testing.T) {
	r := newHarness(t)
	r.take(r.node("a"), hourly)
	r.pass(-24 * time.Hour)
	if q := r.take(r.node("a"), hourly); !q.OK {
		t.Errorf("after a clock that was set back: %+v", q)
	}
}

// TestWhatWasLeasedSinceItWasReadCounts: a node that read a counter before others leased it gets what is left.
func TestWhatWasLeasedSinceItWasReadCounts(t *testing.T) {
	limit := quota.Limit{Count: 2, Span: time.Hour}
	for name, before := range map[string]func(*harness){
		"by two others":                   func(r *harness) { r.take(r.node("a"), limit); r.take(r.node("b"), limit) },
		"by one that crashed and went on": func(r *harness) { r.take(r.node("a"), limit); r.take(r.node("a"), limit) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			late := r.node("late")
			if q, err := late.Look(t.Context(), "api/usr_1", limit); err != nil || q.Remaining != 2 {
				t.Fatalf("%+v, %v", q, err)
			}
			before(r)
			if q := r.take(late, limit); q.OK {
				t.Errorf("a third of two was given: %+v", q)
			}
		})
	}
}

// TestWhatIsJustBeingWrittenIsSpent: also for who looks meanwhile.
func TestWhatIsJustBeingWrittenIsSpent(t *testing.T) {
	r := newHarness(t)
	slow := &gated{Store: r.store, waiting: make(chan struct{}), open: make(chan struct{})}
	m := &quota.Meter{Store: slow, Now: r.clock, Log: slog.New(slog.DiscardHandler)}
	for range 5 {
		r.take(m, hourly)
	}
	slow.shut.Store(true)
	sixth := make(chan error, 1)
	go func() {
		_, err := m.Take(context.Background(), "api/usr_1", hourly)
		sixth <- err
	}()
	<-slow.waiting // the five are being written
	if q, err := m.Look(t.Context(), "api/usr_1", hourly); err != nil || q.Remaining != 95 {
		t.Errorf("while five are written: %+v, %v", q, err)
	}
	slow.shut.Store(false)
	slow.open <- struct{}{}
	if err := <-sixth; err != nil {
		t.Error(err)
	}
	if q, err := m.Look(t.Context(), "api/usr_1", hourly); err != nil || q.Remaining != 94 {
		t.Errorf("after it: %+v, %v", q, err)
	}
}
