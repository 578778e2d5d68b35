package work

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
)

// asleep is a store as a node sees it that may sleep before an Update.
type asleep struct {
	store.Store
	*testing.T
	mu   sync.Mutex
	gate chan struct{}   // nil: the node is awake
	told map[string]bool // the verbs that were told a time
}

func (s *asleep) sleep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = make(chan struct{})
}

func (s *asleep) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.gate)
	s.gate = nil
}

func (s *asleep) Update(ctx context.Context, change func(store.Tx) error) error {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return s.Store.Update(ctx, func(tx store.Tx) error { return change(&timedTx{tx, s}) })
}

// now fails the test if a verb is told a time other than that of its Update.
func (s *asleep) now(verb string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[verb] = true
	if !at.Equal(time.Now()) {
		s.Errorf("%s was told %s at %s", verb, at, time.Now())
	}
}

// timedTx checks the times that it is told.
type timedTx struct {
	store.Tx
	s *asleep
}

func (t *timedTx) ClaimJobs(c store.Claim) ([]store.Job, time.Time, error) {
	t.s.now("claim", c.Now)
	return t.Tx.ClaimJobs(c)
}

func (t *timedTx) RenewJobs(until time.Time, refs ...store.Ref) ([]store.Ref, error) {
	t.s.now("renew", until.Add(-time.Minute))
	return t.Tx.RenewJobs(until, refs...)
}

func (t *timedTx) RetryJobs(notBefore time.Time, refs ...store.Ref) error {
	t.s.now("retry", notBefore.Add(-time.Hour))
	return t.Tx.RetryJobs(notBefore, refs...)
}

func (t *timedTx) DeadLetterJobs(at time.Time, reason string, refs ...store.Ref) error {
	t.s.now("dead", at)
	return t.Tx.DeadLetterJobs(at, reason, refs...)
}

func (t *timedTx) Lead(name, node string, now time.Time, lease time.Duration) (bool, error) {
	t.s.now("lead", now)
	return t.Tx.Lead(name, node, now, lease)
}

// A node that slept with an Update on its way tells the store the time at which it woke, in every verb.
func TestASleeperTellsTheTimeAtWhichItWoke(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := &asleep{Store: h.store, T: t, told: map[string]bool{}}
		go func() { // it sleeps for 20 s of each 30
			for range 60 {
				s.sleep()
				time.Sleep(20*time.Second + 7)
				s.wake()
				time.Sleep(10 * time.Second)
			}
		}()
		p := h.pool(func(_ context.Context, job store.Job) (Result, error) {
			switch job.ID {
			case "long":
				time.Sleep(5 * time.Minute)
			case "fails":
				time.Sleep(5 * time.Second)
				return Result{}, errors.New("failed")
			case "never":
				return Result{}, Permanent(errors.New("never"))
			}
			return Result{}, nil
		})
		p.Store, p.Schedule = s, Schedule{First: time.Hour, Most: time.Hour, Failures: 4}
		h.put("long", "fails", "never", "a/k", "b/k", "c/k")
		leader := Leader{Store: s, Name: "leader", Node: "a", Lease: time.Minute, Now: time.Now}
		ctx, cancel := context.WithCancel(context.Background())
		led := make(chan error, 1)
		go func() { led <- leader.Run(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil }) }()
		stop := h.run(p)
		time.Sleep(31 * time.Minute)
		cancel()
		stop()
		if err := <-led; err != nil {
			t.Error(err)
		}
		h.same("verbs", len(s.told), 5)
	})
}

// A node slept, another one took its job over and died, and the first one claims it again. What it had under way knows
// nothing of the attempt in between: it is lost, it has no Ref, and the job is begun again.
func TestASleeperDoesNotGoOnWhereAnotherWas(t *testing.T) {
	inBubble(t, func(h *harness) {
		s := &asleep{Store: h.store, T: t, told: map[string]bool{}}
		first := make(chan error, 1) // why the first attempt ended
		p := h.pool(func(ctx context.Context, job store.Job) (Result, error) {
			if job.Attempt == 1 {
				<-ctx.Done()
				first <- context.Cause(ctx)
				time.Sleep(10 * time.Second) // it takes its time to heed it
			}
			return Result{Commit: func(tx store.Tx) error { return card(tx, string('0'+rune(job.Attempt))) }}, nil
		})
		p.Store = s
		stop := h.run(p)
		h.put("job")
		h.same("begun", h.begun(), "job")
		s.sleep()
		time.Sleep(2 * time.Minute)
		h.update(func(tx store.Tx) error {
			jobs, _, err := tx.ClaimJobs(store.Claim{Queue: queue, Node: "b", Now: time.Now(), Max: 1, Lease: time.Minute})
			h.same("another node's", len(jobs), 1)
			return err
		})
		time.Sleep(61 * time.Second) // it died
		s.wake()
		time.Sleep(2 * time.Second)
		if ref, ok := p.Ref("job"); ok {
			t.Errorf("what was under way goes on as %v", ref)
		}
		time.Sleep(time.Minute)
		h.same("why the first ended", <-first, ErrLost)
		h.same("begun", h.begun(), "job job")
		h.same("committed", []int{h.committed("1"), h.committed("2"), h.committed("3")}, []int{0, 0, 1})
		stop()
		synctest.Wait()
		h.same("left", h.stats(), store.JobStats{})
		h.same("ended", h.ended, map[Outcome]int{Lost: 1, Done: 1})
	})
}

// Of two claims of a job that reach the pool the other way round, the newer one stays.
func TestAnOlderClaimIsPassedOver(t *testing.T) {
	p := &Pool{held: map[store.JobID]*held{}, cutoff: context.Background()}
	claim := func(attempt int) { p.hold(store.Job{ID: "job", Seq: 7, Attempt: attempt}) }
	claim(2)
	claim(1)
	claim(2)
	if h := p.held["job"]; h.lost || h.job.Attempt != 2 || len(p.ready) != 1 {
		t.Errorf("after an older claim: %+v", h)
	}
	claim(3)
	if h := p.held["job"]; h.lost || h.job.Attempt != 3 {
		t.Errorf("the next attempt is not taken over: %+v", h)
	}
	claim(6)
	claim(5)
	if h := p.held["job"]; !h.lost || h.next == nil || h.next.Attempt != 6 {
		t.Errorf("after others were in between: %+v", h)
	}
	p.hold(store.Job{ID: "job", Seq: 8, Attempt: 1})
	if h := p.held["job"]; h.next.Seq != 8 {
		t.Error("another job of the same ID is not begun after")
	}
}

// TestOnlyTheNextAttemptAtTheSameJobIsTakenOver: a claim of anything else loses the attempt in progress, even if it looks
// almost alike, such as a job that was put again with the same content.
func TestOnlyTheNextAttemptAtTheSameJobIsTakenOver(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	job := func() store.Job {
		return store.Job{ID: "job", Seq: 7, Attempt: 1, At: at, NotBefore: at.Add(time.Minute), Priority: 1, Body: []byte("body")}
	}
	for what, change := range map[string]func(*store.Job){
		"the next attempt": func(*store.Job) {},
		"put again":        func(j *store.Job) { j.Seq = 8 },
		"put at":           func(j *store.Job) { j.At = at.Add(1) },
		"not before":       func(j *store.Job) { j.NotBefore = at },
		"priority":         func(j *store.Job) { j.Priority = 2 },
		"body":             func(j *store.Job) { j.Body = []byte("Body") },
		"a later attempt":  func(j *store.Job) { j.Attempt = 3 },
	} {
		p := &Pool{held: map[store.JobID]*held{}, cutoff: context.Background()}
		p.hold(job())
		claim := job()
		claim.Attempt, claim.At = 2, at.In(time.FixedZone("elsewhere", 3600))
		change(&claim)
		p.hold(claim)
		h := p.held["job"]
		if over := what == "the next attempt"; h.lost == over || (h.next == nil) != over || (h.job.Attempt == 2) != over || (h.ctx.Err() == nil) != over {
			t.Errorf("%s: lost %v, attempt %d, next %+v, %v", what, h.lost, h.job.Attempt, h.next, h.ctx.Err())
		}
	}
}
