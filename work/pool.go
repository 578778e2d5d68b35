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
	// defaultPoll is how often a pool looks for jobs that other nodes put, which wake nobody here.
	defaultPoll = time.Second
	// renewals is how often a lease is renewed before it would end.
	renewals = 3
	// claimsAtOnce is how many claims follow one another without a look at anything else.
	claimsAtOnce = 16
	// anewAtOnce is how often a job is handled anew because its Commit met ErrConflict, before that counts as a failure.
	anewAtOnce = 16
)

// Pool claims the jobs of one queue and has them handled, several at once. Its exported fields are set before Run and
// not changed after. Before the pools of a node start, main calls store.Jobs.ReleaseNode once for all of them.
type Pool struct {
	Store store.Store
	Queue store.Queue
	// Node is the name of this node, the same in each of its lives, and no other's.
	Node string
	// Width is how many jobs are handled at once. Window is how many more are claimed ahead, so that a worker need not wait
	// for a commit; the default is Width.
	Width, Window int
	// PerOwner is how many jobs of one owner may be in flight at once, on all nodes together. 0: any number.
	PerOwner int
	// Lease is how long a job is this node's without a word from it. It is renewed while a Handle runs.
	Lease    time.Duration
	Schedule Schedule
	Handle   Handle
	// Dead, if not nil, writes what a dead letter leads to, such as an apology, in the Update that makes it one.
	Dead func(tx store.Tx, job store.Job, cause error) error
	// Grace is how long running Handles have to end when Run is to stop.
	Grace time.Duration
	// Poll is how often it looks for jobs that other nodes put. Default: one second.
	Poll time.Duration

	Now     func() time.Time
	After   func(time.Duration) <-chan time.Time // nil: time.After
	Log     *slog.Logger                         // nil: silence
	Metrics Metrics                              // nil: nobody hears

	wake wake

	mu      sync.Mutex
	running bool // Run claims, and takes what is handed over
	held    map[store.JobID]*held
	ready   []*held // claimed, and waiting for a worker
	workers int
	more    bool // the store is known to hold more that is due
	busy    sync.WaitGroup
	failure error // of the store: Run ends with it
	cutoff  context.Context
}

// held is a job that is leased to this node.
type held struct {
	job    store.Job // its Attempt may be raised: see Pool.take
	ctx    context.Context
	cancel context.CancelCauseFunc
	next   *store.Job // the same job as it was put anew, to be handled when this attempt has ended
	lost   bool       // another node has it, or it was cancelled

	claimed []store.Job // in the Update that ended it
	asked   bool        // whether anything was to be claimed there
	more    bool        // whether there was more
}

// wake is a signal that waits in one slot.
type wake struct {
	once sync.Once
	c    chan struct{}
}

func (w *wake) signal() chan struct{} {
	w.once.Do(func() { w.c = make(chan struct{}, 1) })
	return w.c
}

func (w *wake) ring() {
	select {
	case w.signal() <- struct{}{}:
	default:
	}
}

// Run claims and handles jobs until ctx ends; then it gives back what it has not begun, and waits for what it has. Its
// error is the store's, after which nothing is to be tried again (store.ErrUnknownOutcome, store.ErrClosed).
func (p *Pool) Run(ctx context.Context) error {
	if err := p.check(); err != nil {
		return err
	}
	cutoff, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(ErrStopped)
	p.mu.Lock()
	p.running, p.held, p.failure, p.cutoff = true, map[store.JobID]*held{}, nil, cutoff
	p.mu.Unlock()
	return errors.Join(p.loop(ctx), p.drain(stop))
}

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

func (p *Pool) loop(ctx context.Context) error {
	renew := p.After(p.Lease / renewals)
	for {
		next, err := p.fill(ctx)
		switch {
		case final(err):
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

// until is how long to wait for the next look.
func (p *Pool) until(next time.Time) time.Duration {
	if next.IsZero() {
		return p.Poll
	}
	return min(max(next.Sub(p.Now()), 0), p.Poll)
}

func (p *Pool) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failure
}

// claim is what this node would take now, up to most jobs.
func (p *Pool) claim(most int) store.Claim {
	return store.Claim{Queue: p.Queue, Node: p.Node, Now: p.Now(), Max: most, PerOwner: p.PerOwner, Lease: p.Lease}
}

// room is how many more jobs this node may hold; p.mu is held.
func (p *Pool) room() int { return p.Width + p.Window - len(p.held) }

// fill claims as many jobs as there is room for, and tells when there may be more.
func (p *Pool) fill(ctx context.Context) (next time.Time, err error) {
	for range claimsAtOnce {
		p.mu.Lock()
		room := p.room()
		p.mu.Unlock()
		if room <= 0 { // whoever ends a job claims the next one
			return time.Time{}, nil
		}
		var jobs []store.Job
		claim := p.claim(room)
		err = p.Store.Update(ctx, func(tx store.Tx) (err error) {
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

// take starts on jobs that are leased to this node.
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

// hold takes up one job; p.mu is held. One that is here already had a lease that ended early, as when the clock was set
// forward: the attempt that is under way becomes the new one. If it was put anew meanwhile, it is handled again after.
func (p *Pool) hold(job store.Job) {
	old := p.held[job.ID]
	if old == nil {
		h := &held{job: job}
		h.ctx, h.cancel = context.WithCancelCause(p.cutoff)
		p.held[job.ID] = h
		p.ready = append(p.ready, h)
		return
	}
	if same(old.job, job) && !old.lost {
		old.job.Attempt = job.Attempt
		return
	}
	old.lost = true
	old.cancel(ErrLost)
	old.next = &job
}

// same tells whether two claims are of the same job as it was put.
func same(a, b store.Job) bool {
	return a.At.Equal(b.At) && a.NotBefore.Equal(b.NotBefore) && a.Priority == b.Priority && string(a.Body) == string(b.Body)
}

// start begins as many ready jobs as there are workers for; p.mu is held.
func (p *Pool) start() {
	for p.workers < p.Width && len(p.ready) > 0 {
		first := p.ready[0]
		p.ready = p.ready[1:]
		p.workers++
		p.busy.Add(1)
		go p.work(first)
	}
}

// work handles one job after the other.
func (p *Pool) work(h *held) {
	defer p.busy.Done()
	for h != nil {
		p.attempt(h)
		h = p.finished(h)
	}
}

// finished lets a job go, takes up what was claimed as it ended, and returns what the worker handles next.
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

// Ref is the claim by which this pool holds a job just now: what a Handle writes before it returns is fenced by it (see
// store.Jobs.LostJobs). Not ok when the pool does not hold the job, or knows that another node does.
func (p *Pool) Ref(id store.JobID) (ref store.Ref, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.held[id]
	if h == nil || h.lost {
		return store.Ref{}, false
	}
	return h.job.Ref(), true
}

// Offer is a claim to be given to PutJobs: what is put by it may be handed to this pool from memory. It is nil when the
// pool has no room, or when others are waiting.
func (p *Pool) Offer() *store.Claim {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running || p.more || p.room() <= 0 {
		return nil
	}
	c := p.claim(p.room())
	return &c
}

// Hand takes jobs that PutJobs returned, after the commit: those that were leased are handled now.
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
