package quota_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/quota"
	"purser/store"
)

// harness is a meter over a real file, with a clock of its own.
type harness struct {
	*testing.T
	store store.Store
	mu    sync.Mutex
	now   time.Time
}

func newHarness(t *testing.T) *harness {
	return &harness{T: t, store: world.OpenStore(t), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
}

func (r *harness) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *harness) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// start runs a meter; stop ends it cleanly. Without stop it ended in a crash, as far as its store knows.
func (r *harness) start(s store.Store) (m *quota.Meter, stop func()) {
	at := time.After
	if s == nil {
		s = r.store
	}
	m = &quota.Meter{Store: s, Now: r.clock, Log: slog.New(slog.DiscardHandler),
		After: func(d time.Duration) <-chan time.Time {
			if d > time.Second { // counters that nobody uses are closed by what is written next
				return nil
			}
			return at(0)
		}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.Errorf("Run: %v", err)
		}
	})
	return m, stop
}

func (r *harness) take(m *quota.Meter, l quota.Limit) quota.Quota {
	r.Helper()
	q, err := m.Take(context.Background(), "api/usr_1", l)
	if err != nil {
		r.Fatal(err)
	}
	return q
}

var hourly = quota.Limit{Count: 100, Span: time.Hour}

func TestALimitIsWhatItSays(t *testing.T) {
	r := newHarness(t)
	m, stop := r.start(nil)
	defer stop()
	for i := range 100 {
		if q := r.take(m, hourly); !q.OK || q.Limit != 100 || q.Remaining != uint64(99-i) {
			t.Fatalf("request %d: %+v", i+1, q)
		}
	}
	q := r.take(m, hourly)
	if q.OK || q.Remaining != 0 || q.Reset < time.Hour || q.Reset > time.Hour+time.Minute {
		t.Fatalf("request 101: %+v", q)
	}
	r.pass(q.Reset - time.Second)
	if q := r.take(m, hourly); q.OK {
		t.Errorf("a second too early: %+v", q)
	}
	r.pass(time.Second)
	if q := r.take(m, hourly); !q.OK {
		t.Errorf("when it was told to come again: %+v", q)
	}
	other, err := m.Take(context.Background(), "api/usr_2", hourly)
	if err != nil || !other.OK || other.Remaining != 99 {
		t.Errorf("another's: %+v, %v", other, err)
	}
}

// TestLookingCountsNothing, and sees what was counted.
func TestLookingCountsNothing(t *testing.T) {
	r := newHarness(t)
	m, stop := r.start(nil)
	defer stop()
	look := func(want uint64) {
		t.Helper()
		if q, err := m.Look(context.Background(), "api/usr_1", hourly); err != nil || q.Remaining != want || q.Limit != 100 || q.OK != (want > 0) {
			t.Errorf("%+v, %v, want %d left", q, err, want)
		}
	}
	look(100)
	look(100)
	for range 100 {
		r.take(m, hourly)
	}
	look(0)
	r.pass(2 * time.Hour)
	look(100)
}

// TestNoWindowHoldsMoreThanItsLimit asks at random times, and looks at every span.
func TestNoWindowHoldsMoreThanItsLimit(t *testing.T) {
	for seed := range uint64(4) {
		r := newHarness(t)
		chance := rand.New(rand.NewPCG(seed, 1))
		limit := quota.Limit{Count: 5 + chance.Uint64N(30), Span: time.Minute * time.Duration(1+chance.IntN(60))}
		m, stop := r.start(nil)
		var taken, crashes []time.Time
		refused := 0
		for range 1500 {
			r.pass(time.Duration(chance.Int64N(int64(2 * limit.Span / time.Duration(limit.Count)))))
			switch chance.IntN(300) {
			case 0:
				stop()
				m, stop = r.start(nil)
			case 1: // the new one does not know what the old one had in memory
				old := stop
				m, stop = r.start(&snapshot{Store: r.store})
				defer old()
				crashes = append(crashes, r.clock())
			}
			if r.take(m, limit).OK {
				taken = append(taken, r.clock())
			} else {
				refused++
			}
		}
		stop()
		for i := range taken {
			j := i
			for j < len(taken) && taken[j].Sub(taken[i]) < limit.Span {
				j++
			}
			within := 0
			for _, at := range crashes {
				if !at.Before(taken[i]) && !at.After(taken[j-1]) {
					within++
				}
			}
			// One crash in a span exceeds nothing; each further one can by what it loses of a counter.
			if most := limit.Count + max(1, limit.Count/20)*uint64(max(0, within-1)); uint64(j-i) > most {
				t.Fatalf("seed %d: %d in one span with %d crashes, the limit is %d", seed, j-i, within, limit.Count)
			}
		}
		if refused == 0 || len(taken) < 100 {
			t.Errorf("seed %d: %d taken, %d refused: this tests nothing", seed, len(taken), refused)
		}
	}
}

// snapshot is the store as it is; it stands for a process that begins beside what a crashed one left.
type snapshot struct{ store.Store }

func TestACleanStopCostsNothingAndACrashATwentieth(t *testing.T) {
	r := newHarness(t)
	m, stop := r.start(nil)
	for range 10 {
		r.take(m, hourly)
	}
	stop()
	m, stop = r.start(nil)
	if q := r.take(m, hourly); q.Remaining != 89 {
		t.Fatalf("after a clean stop: %+v", q)
	}
	stop()
	m, stop = r.start(nil)
	r.take(m, hourly)
	defer stop() // too late for the next one: to it, this one crashed
	m, stopLast := r.start(nil)
	defer stopLast()
	if q := r.take(m, hourly); q.Remaining > 100-5-12 || q.Remaining < 100-5-13 {
		t.Fatalf("after a crash: %+v", q)
	}
	fresh, err := m.Take(context.Background(), "api/usr_9", hourly)
	if err != nil || fresh.Remaining != 99 {
		t.Errorf("of somebody whose counter was not open: %+v, %v", fresh, err)
	}
}

// crash starts a meter over what the one before has written so far; that one is never stopped before the test ends.
func (r *harness) crash() *quota.Meter {
	m, stop := r.start(&snapshot{Store: r.store})
	r.Cleanup(stop)
	return m
}

func TestManyCrashesLockNobodyOut(t *testing.T) {
	r := newHarness(t)
	takes := 0
	var left uint64
	for range 30 {
		m := r.crash()
		q := r.take(m, hourly) // it is open in each of these runs
		if takes++; !q.OK {
			t.Fatalf("after %d crashes: %+v", takes-1, q)
		}
		left = q.Remaining
		r.pass(time.Minute)
	}
	if spent := 100 - left; spent > 30+5 {
		t.Errorf("%d requests and %d crashes have cost %d", takes, takes-1, spent)
	}
}

func TestACrashChargesOnlyWhatWasOpen(t *testing.T) {
	r := newHarness(t)
	m := r.crash()
	r.take(m, hourly)
	r.pass(11 * time.Second)
	other, err := m.Take(context.Background(), "api/usr_2", hourly) // its write closes the first
	if err != nil || other.Remaining != 99 {
		t.Fatalf("%+v, %v", other, err)
	}
	m = r.crash()
	if q := r.take(m, hourly); q.Remaining != 98 {
		t.Errorf("a counter that was not used for a while: %+v", q)
	}
	if q, err := m.Take(context.Background(), "api/usr_2", hourly); err != nil || q.Remaining != 100-1-5-1 && q.Remaining != 100-5-1 {
		t.Errorf("one that was open: %+v, %v", q, err)
	}
}

// TestACrashDoesNotChargeWhatACleanRunHadOpen: what is open belongs to its run.
func TestACrashDoesNotChargeWhatACleanRunHadOpen(t *testing.T) {
	r := newHarness(t)
	m, stop := r.start(nil)
	r.take(m, hourly)
	stop()
	r.pass(time.Second)
	if _, err := r.crash().Take(context.Background(), "api/usr_2", hourly); err != nil { // of another counter
		t.Fatal(err)
	}
	r.pass(time.Second)
	if q := r.take(r.crash(), hourly); q.Remaining != 98 {
		t.Errorf("two requests leave %+v", q)
	}
}

// TestACrashIsRememberedUntilItsCountersAreAskedFor: also when clean runs come between.
func TestACrashIsRememberedUntilItsCountersAreAskedFor(t *testing.T) {
	r := newHarness(t)
	m := r.crash()
	for range 3 {
		r.take(m, hourly)
	}
	for range 3 {
		r.pass(time.Second)
		clean, stop := r.start(&snapshot{Store: r.store})
		if err := clean.Begin(context.Background()); err != nil {
			t.Fatal(err)
		}
		stop()
	}
	m = r.crash()
	q, err := m.Look(context.Background(), "api/usr_1", hourly)
	if err != nil || q.Remaining > 100-5 {
		t.Fatalf("what the crash may have lost is not counted: %+v, %v", q, err)
	}
	if q.Reset < time.Hour || q.Reset > time.Hour+2*time.Minute {
		t.Errorf("room again after %s", q.Reset)
	}
	r.pass(time.Hour + 2*time.Minute)
	if q, err := m.Look(context.Background(), "api/usr_1", hourly); err != nil || q.Remaining != 100 {
		t.Errorf("an hour later: %+v, %v", q, err)
	}
}

// TestATierThatRisesLosesNoMore: what may be lost is written before it may be.
func TestATierThatRisesLosesNoMore(t *testing.T) {
	r := newHarness(t)
	full := &failing{Store: r.store}
	m, stop := r.start(full)
	defer stop()
	r.take(m, hourly)
	pro := quota.Limit{Count: 1000, Span: time.Hour}
	r.take(m, pro)
	full.set(errors.New("the disk is full"))
	given := 0
	for range 200 {
		q, err := m.Take(context.Background(), "api/usr_1", pro)
		if err != nil {
			break
		}
		if q.OK {
			given++
		}
	}
	after := r.crash()
	q, err := after.Look(context.Background(), "api/usr_1", pro)
	if err != nil || 1000-q.Remaining < uint64(given)+1 {
		t.Errorf("%d were given and not written, %d are counted as spent: %v", given, 1000-q.Remaining, err)
	}
	full.set(nil)
}

// failing is a store whose writes can fail.
type failing struct {
	store.Store
	mu   sync.Mutex
	fail error
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = err
}

func (f *failing) Update(ctx context.Context, change func(store.Tx) error) error {
	f.mu.Lock()
	err := f.fail
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.Update(ctx, change)
}

func TestWhatCannotBeWrittenIsNotGivenAway(t *testing.T) {
	r := newHarness(t)
	full := &failing{Store: r.store}
	m, stop := r.start(full)
	defer stop()
	r.take(m, hourly)
	full.set(errors.New("the disk is full"))
	given := 0
	for range 50 {
		q, err := m.Take(context.Background(), "api/usr_1", hourly)
		if err != nil {
			break
		}
		if q.OK {
			given++
		}
	}
	if given > 10 {
		t.Errorf("%d were given away that a crash would forget", given)
	}
	full.set(nil)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ctx.Err() == nil { // the next writing heals it
		if q, err := m.Take(ctx, "api/usr_1", hourly); err == nil && q.OK {
			return
		}
	}
	t.Error("it never counts again")
}

// gated is a store whose writes wait, one at a time, until they are let through.
type gated struct {
	store.Store
	shut    atomic.Bool
	waiting chan struct{}
	open    chan struct{}
}

func (g *gated) Update(ctx context.Context, change func(store.Tx) error) error {
	if g.shut.Load() {
		g.waiting <- struct{}{}
		<-g.open
	}
	return g.Store.Update(ctx, change)
}

// TestWhatIsCountedDuringAWriteIsUnwrittenAfterIt: it stays within what a crash may lose.
func TestWhatIsCountedDuringAWriteIsUnwrittenAfterIt(t *testing.T) {
	r := newHarness(t)
	slow := &gated{Store: r.store, waiting: make(chan struct{}), open: make(chan struct{})}
	m, stop := r.start(slow)
	limit := quota.Limit{Count: 100, Span: time.Hour} // five may be unwritten
	if _, err := m.Look(t.Context(), "api/usr_1", limit); err != nil {
		t.Fatal(err)
	}
	slow.shut.Store(true)
	opened := make(chan error, 1)
	go func() {
		_, err := m.Take(context.Background(), "api/usr_1", limit)
		opened <- err
	}()
	<-slow.waiting // the counter is being opened
	slow.open <- struct{}{}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	<-slow.waiting // one is being written
	for range 4 {
		r.take(m, limit) // meanwhile: with that one, five
	}
	slow.open <- struct{}{}
	<-slow.waiting // the first is written, and the four are about to be
	r.take(m, limit)
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	if q, err := m.Take(ctx, "api/usr_1", limit); err == nil && q.OK {
		t.Error("a sixth is given away that a crash would forget")
	}
	slow.shut.Store(false)
	slow.open <- struct{}{}
	r.take(m, limit)
	stop()
}

func TestManyAtOnceGetNoMoreThanTheLimit(t *testing.T) {
	r := newHarness(t)
	m, stop := r.start(nil)
	defer stop()
	var group sync.WaitGroup
	var mu sync.Mutex
	given := 0
	for range 16 {
		group.Go(func() {
			for range 20 {
				q, err := m.Take(context.Background(), "api/usr_1", hourly)
				if err != nil {
					t.Error(err)
				}
				if q.OK {
					mu.Lock()
					given++
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	if given != 100 {
		t.Errorf("%d of 100 were given", given)
	}
}
