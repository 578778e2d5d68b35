package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"purser/store"
)

const (
	// defaultPoll is how often a pool looks for jobs that other nodes put, which send no signal here.
	defaultPoll = time.Second
	// renewals is how often a lease is renewed within its length.
	renewals = 3
	// claimsAtOnce is how many claims follow each other before the loop looks at its other signals.
	claimsAtOnce = 16
	// conflictRetries is how often a job is handled again because its Commit met ErrConflict, before that counts as a
	// failure.
	conflictRetries = 16
)

// Pool claims the jobs of one queue and has them handled, several at once. Its exported fields are set before Run and
// not changed afterwards. Before the pools of a node start, main calls store.Jobs.ReleaseNode once for all of them.
//
// One goroutine, that of Run, claims jobs and renews leases. Each job in progress has a goroutine of its own, at most
// Width. A worker that ends a job claims the next one in the same Update, so that a busy pool writes once for each job.
type Pool struct {
	Store store.Store
	Queue store.Queue
	// Node is the name of this node: the same after a restart, and used by no other node.
	Node string
	// Width is how many jobs are handled at once. Window is how many more are claimed ahead, so that a worker need not
	// wait for a commit. Default of Window: Width.
	Width, Window int
	// PerOwner is how many jobs of one owner may be in flight at once, on all nodes together. 0: any number.
	PerOwner int
	// Lease is how long a job belongs to this node without renewal. It is renewed while a Handle runs. It is also how
	// long the jobs of a node that died wait for another node.
	Lease    time.Duration
	Schedule Schedule
	Handle   Handle
	// Dead, if not nil, runs in the Update that makes a job a dead letter, and writes what follows from that, such as
	// an apology. If it fails, the job becomes a dead letter without it.
	Dead func(tx store.Tx, job store.Job, cause error) error
	// Grace is how long running Handles may go on after Run is asked to stop. Then their ctx ends.
	Grace time.Duration
	// Poll is how often the pool looks for jobs that other nodes put. Default: 1 second.
	Poll time.Duration

	Now     func() time.Time
	After   func(time.Duration) <-chan time.Time // nil: time.After
	Log     *slog.Logger                         // nil: silence
	Metrics Metrics                              // nil: none

	wake wake

	mu      sync.Mutex            // guards everything below
	running bool                  // Run claims jobs and accepts handed ones
	held    map[store.JobID]*held // every job leased to this node, by ID
	ready   []*held               // claimed, and waiting for a worker
	workers int                   // goroutines that handle jobs
	more    bool                  // the store has more jobs that are due
	busy    sync.WaitGroup
	failure error           // after which Run ends
	cutoff  context.Context // parent of every Handle's ctx; ends when Grace is over
}

// held is a job that is leased to this node.
type held struct {
	job    store.Job // its Attempt may rise while it is handled: see hold
	ctx    context.Context
	cancel context.CancelCauseFunc
	next   *store.Job // the same job as it was put meanwhile, to be handled after this attempt
	lost   bool       // another node has it, or it was cancelled

	claimed []store.Job // jobs claimed in the Update that ended this one
	asked   bool        // that Update was to claim more
	more    bool        // it found that there is still more
}

// wake is a signal with one slot: several signals before it is received are one.
type wake struct {
	once sync.Once
	c    chan struct{}
}

// signal is the channel of the signal.
func (w *wake) signal() chan struct{} {
	w.once.Do(func() { w.c = make(chan struct{}, 1) })
	return w.c
}

// ring signals without blocking.
func (w *wake) ring() {
	select {
	case w.signal() <- struct{}{}:
	default:
	}
}

// Run claims and handles jobs until ctx ends. Then it gives back the jobs that no worker has begun, and waits for the
// others. It returns an error of the store after which nothing can be tried again (store.ErrUnknownOutcome,
// store.ErrClosed), or one of the pool's settings.
func (p *Pool) Run(ctx context.Context) error {
	if err := p.check(); err != nil {
		return err
	}
	// Handles outlive ctx by up to Grace, so they have a context of their own.
	cutoff, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(ErrStopped)
	p.mu.Lock()
	p.running, p.held, p.failure, p.cutoff = true, map[store.JobID]*held{}, nil, cutoff
	p.mu.Unlock()
	return errors.Join(p.loop(ctx), p.drain(stop))
}

// check refuses a pool that lacks a setting, and sets the defaults.
func (p *Pool) check() error {
	switch {
	case p.Store == nil || p.Queue == "" || p.Node == "" || p.Handle == nil || p.Now == nil:
		return errors.New("work: a pool needs Store, Queue, Node, Handle and Now")
	case p.Width < 1 || p.Lease <= 0:
		return errors.New("work: a pool needs a Width and a Lease")
	}
	p.Window = cmp.Or(p.Window, p.Width)
	p.Poll = cmp.Or(p.Poll, defaultPoll)
	if p.After == nil {
		p.After = time.After
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// loop claims, renews leases, and waits: for a signal of the store, for a worker that wants more, or until something is
// due.
func (p *Pool) loop(ctx context.Context) error {
	renew := p.After(p.Lease / renewals)
	for {
		next, err := p.fill(ctx)
		switch {
		case store.IsFatal(err):
			return fmt.Errorf("work: claim %s: %w", p.Queue, err)
		case err != nil && ctx.Err() == nil:
			p.Log.Error("jobs could not be claimed: it is tried again", "queue", p.Queue, "error", err)
		}
		alarm := p.After(p.until(next))
		for waits := true; waits; {
			waits = false
			select {
			case <-ctx.Done():
				return nil
			case <-renew:
				if err := p.renew(ctx); err != nil {
					return err
				}
				renew = p.After(p.Lease / renewals)
				waits = true
			case <-p.wake.signal():
				if err := p.failed(); err != nil {
					return err
				}
			case <-p.Store.Changed(p.Queue):
			case <-alarm:
			}
		}
	}
}

// until is how long to wait until the next claim: until next, at most Poll.
func (p *Pool) until(next time.Time) time.Duration {
	if next.IsZero() {
		return p.Poll
	}
	return min(max(next.Sub(p.Now()), 0), p.Poll)
}

// failed is the error after which Run ends.
func (p *Pool) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// claim is this node's Claim for up to `most` jobs. It is made inside the Update that uses it, each time that runs: a
// time from before a long wait, or from before the node slept, would look to the store like a clock that was set back.
func (p *Pool) claim(most int) store.Claim {
	return store.Claim{Queue: p.Queue, Node: p.Node, Now: p.Now(), Max: most, PerOwner: p.PerOwner, Lease: p.Lease}
}

// room is how many more jobs this node may hold. p.mu is held. It can be negative: a worker may claim one job before
// its own is counted out.
func (p *Pool) room() int { return p.Width + p.Window - len(p.held) }

// fill claims as many jobs as there is room for, and returns when there may be more.
func (p *Pool) fill(ctx context.Context) (next time.Time, err error) {
	for range claimsAtOnce {
		p.mu.Lock()
		room := p.room()
		p.mu.Unlock()
		if room <= 0 { // a worker that ends a job claims the next one
			return time.Time{}, nil
		}
		var jobs []store.Job
		var claim store.Claim
		err = p.Store.Update(ctx, func(tx store.Tx) (err error) {
			claim = p.claim(room)
			jobs, next, err = tx.ClaimJobs(claim)
			return err
		})
		if err != nil {
			return time.Time{}, err
		}
		more := !next.IsZero() && !next.After(claim.Now)
		p.take(jobs, more)
		if !more || ctx.Err() != nil {
			return next, nil
		}
	}
	return next, nil
}

// take starts work on jobs that are leased to this node.
func (p *Pool) take(jobs []store.Job, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.more = more
	for _, job := range jobs {
		p.hold(job)
	}
	p.start()
	if len(jobs) > 0 && p.Metrics != nil {
		p.Metrics.Claimed(p.Queue, len(jobs))
	}
}

// hold takes up one job. p.mu is held. If the node holds the job already, its lease ended. If the new claim is the very
// next attempt, for example because a clock was set forward, nobody else had the job in between: the attempt in progress
// becomes the new one. If another node had it in between, or the job was put again, the attempt in progress is lost, and
// the job is handled again after it. A claim older than the one that is held is ignored.
func (p *Pool) hold(job store.Job) {
	old := p.held[job.ID]
	if old == nil {
		h := &held{job: job}
		h.ctx, h.cancel = context.WithCancelCause(p.cutoff)
		p.held[job.ID] = h
		p.ready = append(p.ready, h)
		return
	}
	switch {
	case outdated(job, old.job) || old.next != nil && outdated(job, *old.next):
		return
	case same(old.job, job) && job.Attempt == old.job.Attempt+1 && !old.lost:
		old.job.Attempt = job.Attempt
		return
	}
	old.lost = true
	old.cancel(ErrLost)
	old.next = &job
}

// outdated tells whether a claim is of the same job as another, and not newer.
func outdated(job, than store.Job) bool { return job.Seq == than.Seq && job.Attempt <= than.Attempt }

// same tells whether two claims are of the same job with the same content.
func same(a, b store.Job) bool {
	return a.Seq == b.Seq && a.At.Equal(b.At) && a.NotBefore.Equal(b.NotBefore) && a.Priority == b.Priority && string(a.Body) == string(b.Body)
}

// start gives ready jobs to new workers, up to Width. p.mu is held.
func (p *Pool) start() {
	for p.workers < p.Width && len(p.ready) > 0 {
		first := p.ready[0]
		p.ready = p.ready[1:]
		p.workers++
		p.busy.Add(1)
		go p.work(first)
	}
}

// work is a worker: it handles one job after the other until none is ready.
func (p *Pool) work(h *held) {
	defer p.busy.Done()
	for h != nil {
		p.attempt(h)
		h = p.finished(h)
	}
}

// finished lets a job go, takes up what was claimed as it ended, and returns the worker's next job, nil for none.
func (p *Pool) finished(h *held) *held {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.cancel(nil)
	delete(p.held, h.job.ID)
	if h.next != nil {
		p.hold(*h.next)
	}
	for _, job := range h.claimed {
		p.hold(job)
	}
	if h.asked {
		p.more = h.more
	}
	// Have Run claim before the window is empty.
	if p.more && p.room() > p.Window/2 || p.failure != nil {
		p.wake.ring()
	}
	if len(h.claimed) > 0 && p.Metrics != nil {
		p.Metrics.Claimed(p.Queue, len(h.claimed))
	}
	if len(p.ready) == 0 || !p.running {
		p.workers--
		return nil
	}
	first := p.ready[0]
	p.ready = p.ready[1:]
	return first
}

// Ref is the claim by which this pool holds a job now. A Handle that writes before it returns uses it to fence those
// writes (store.Jobs.LostJobs). ok is false if the pool does not hold the job, or knows that another node does.
func (p *Pool) Ref(id store.JobID) (ref store.Ref, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[id]
	if h == nil || h.lost {
		return store.Ref{}, false
	}
	return h.job.Ref(), true
}

// Offer is a Claim for PutJobs: jobs put with it may be leased to this pool directly. It is nil if the pool has no
// room, or if other jobs wait, which must go first. Call it inside the Update that uses it (see claim).
func (p *Pool) Offer() *store.Claim {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running || p.more || p.room() <= 0 {
		return nil
	}
	c := p.claim(p.room())
	return &c
}

// Hand takes the jobs that PutJobs returned, after the commit, and handles those that were leased to this pool.
func (p *Pool) Hand(jobs []store.Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running {
		return // their leases end, or the next life of this node releases them
	}
	count := 0
	for _, job := range jobs {
		if job.Queue == p.Queue && job.Attempt > 0 {
			p.hold(job)
			count++
		}
	}
	p.start()
	if count > 0 && p.Metrics != nil {
		p.Metrics.Claimed(p.Queue, count)
	}
}
