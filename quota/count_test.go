package quota_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"purser/quota"
)

// TestCountingAllocatesNothing, even when every slot of the span has a count: it is done for each request.
func TestCountingAllocatesNothing(t *testing.T) {
	r := newHarness(t)
	m := &quota.Meter{Store: r.store, Now: r.clock, Log: slog.New(slog.DiscardHandler)}
	limit := quota.Limit{Count: 1_000_000, Span: time.Hour}
	for range 60 {
		r.pass(time.Minute)
		r.take(m, limit)
	}
	if n := testing.AllocsPerRun(1000, func() { r.take(m, limit) }); n != 0 {
		t.Errorf("%v allocations for each", n)
	}
	if q := r.take(m, limit); q.Remaining != limit.Count-60-1000-1-1 {
		t.Errorf("%d are left", q.Remaining)
	}
}

// TestAnOldReadingOfTheClockCounts: the clock went on since the caller read it, and even the lease is of a later second.
func TestAnOldReadingOfTheClockCounts(t *testing.T) {
	r := newHarness(t)
	m := &quota.Meter{Store: r.store, Now: r.clock, Log: slog.New(slog.DiscardHandler)}
	for i := range 3 {
		read := r.clock()
		r.pass(2 * time.Second)
		q, err := m.TakeAt(context.Background(), read, "api/usr_1", hourly)
		if err != nil || !q.OK || q.Remaining != hourly.Count-1-uint64(i) {
			t.Errorf("%d: %+v, %v", i, q, err)
		}
		r.pass(time.Minute) // no lease lasts so long
	}
}

// TestEachCountSaysWhenTheFirstIsFree: the very first too. A slot of an hour is a minute.
func TestEachCountSaysWhenTheFirstIsFree(t *testing.T) {
	r := newHarness(t)
	m := &quota.Meter{Store: r.store, Now: r.clock, Log: slog.New(slog.DiscardHandler)}
	r.pass(20 * time.Second) // into the slot
	for _, want := range []time.Duration{time.Hour + 40*time.Second, time.Hour + 30*time.Second, 59*time.Minute + 20*time.Second} {
		if q := r.take(m, hourly); q.Reset != want {
			t.Errorf("free in %s, not %s", q.Reset, want)
		}
		if want > time.Hour+30*time.Second {
			r.pass(10 * time.Second)
		} else {
			r.pass(70 * time.Second)
		}
	}
}
