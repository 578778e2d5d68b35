package work

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"purser/store"
	"purser/wallet"
)

// attempt handles one job, writes what became of it, and reports the figures.
func (p *Pool) attempt(h *held) {
	p.mu.Lock()
	job := h.job
	p.mu.Unlock()
	begun := p.Now()
	outcome := p.handle(h, job)
	if p.Metrics != nil {
		due := job.At
		if job.NotBefore.After(due) {
			due = job.NotBefore
		}
		p.Metrics.Ended(p.Queue, outcome, max(begun.Sub(due), 0), max(p.Now().Sub(begun), 0))
	}
}

// handle calls Handle and writes the end of the attempt. After a conflict of Commit it starts again with the same job,
// because what Handle read is outdated.
func (p *Pool) handle(h *held, job store.Job) Outcome {
	if job.ExpiredLeases >= maxExpiredLeases {
		return p.fail(h, job, Permanent(errLeasesExpired))
	}
	// Each round handles the job once. Only a conflict of Commit leads to another.
	for tries := 1; ; tries++ {
		if h.ctx.Err() != nil && errors.Is(context.Cause(h.ctx), ErrLost) {
			return Lost
		}
		var outcome Outcome
		result, err := p.call(h.ctx, job)
		if err == nil {
			outcome, err = p.succeed(h, result)
		}
		switch {
		case err == nil:
			return outcome
		case errors.Is(err, errLost):
			return Lost
		case store.IsFatal(err):
			return p.stopFor(err)
		case errors.Is(err, store.ErrConflict) && tries < conflictRetries:
			continue
		case h.ctx.Err() != nil: // the pool stops: the job did not fail
			return p.giveBack(h)
		}
		return p.fail(h, job, err)
	}
}

// call is Handle, with a panic as an error.
func (p *Pool) call(ctx context.Context, job store.Job) (result Result, err error) {
	err = p.run(func() (err error) {
		result, err = p.Handle(ctx, job)
		return err
	})
	return result, err
}

// panicked is a panic of a handler as an error. The panic's value may contain personal data, so the text has it only if
// it is an error of the Go runtime.
type panicked struct {
	value any
	stack []byte // addresses and no values
}

func (e *panicked) Error() string {
	if known, ok := e.value.(runtime.Error); ok {
		return fmt.Sprintf("panic: %v\n%s", known, e.stack)
	}
	return fmt.Sprintf("panic with a %T\n%s", e.value, e.stack)
}

// run turns a panic into an error.
func (p *Pool) run(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicked{r, debug.Stack()}
		}
	}()
	return f()
}

// errLost says that an attempt cannot be ended because it is outdated.
var errLost = errors.New("work: the attempt is outdated")

// succeed writes a result and ends the job in one Update.
func (p *Pool) succeed(h *held, result Result) (Outcome, error) {
	outcome := Done
	if !result.Again.IsZero() {
		outcome = Snoozed
	}
	err := p.end(h, result.Deferrable, func(tx store.Tx, ref store.Ref) error {
		if result.Commit != nil {
			if err := result.Commit(tx); err != nil {
				return err
			}
		}
		switch {
		case result.End != nil:
			return lostOr(result.End(tx, ref))
		case outcome == Snoozed:
			return lostOr(tx.SnoozeJobs(result.Again, ref))
		}
		return lostOr(tx.DoneJobs(ref))
	})
	if err == nil && result.After != nil {
		result.After()
	}
	return outcome, err
}

// lostOr turns the conflict of an outdated attempt into errLost, to tell it from a conflict of Commit.
func lostOr(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return errLost
	}
	return err
}

// end writes the end of an attempt, in an Update that also claims the next job if more are known to wait. If this
// node's own lease was renewed as a newer attempt meanwhile (hold), it ends that one instead. A deferrable end may wait for the
// commit of others.
func (p *Pool) end(h *held, deferrable bool, write func(store.Tx, store.Ref) error) error {
	ctx := context.WithoutCancel(h.ctx)
	if deferrable {
		ctx = store.Deferrable(ctx)
	}
	for {
		p.mu.Lock()
		ref := h.job.Ref()
		h.asked = p.running && (p.more || h.job.Key != "") && p.room() >= 0
		p.mu.Unlock()
		err := p.run(func() error {
			return p.Store.Update(ctx, func(tx store.Tx) (err error) {
				if err = write(tx, ref); err != nil || !h.asked {
					return err
				}
				var next time.Time
				claim := p.claim(1)
				h.claimed, next, err = tx.ClaimJobs(claim)
				h.more = !next.IsZero() && !next.After(claim.Now)
				return err
			})
		})
		if err != nil {
			h.claimed, h.asked = nil, false
		}
		p.mu.Lock()
		renewed := h.job.Attempt != ref.Attempt
		p.mu.Unlock()
		if !errors.Is(err, errLost) || !renewed {
			return err
		}
	}
}

// fail ends an attempt that failed. The job is tried again later, or becomes a dead letter after too many failures or a
// Permanent error.
func (p *Pool) fail(h *held, job store.Job, cause error) Outcome {
	// Decide: try again, or give up for good.
	failures := job.Failures + 1
	var forGood *permanent
	outcome := Retried
	if errors.As(cause, &forGood) || p.Schedule.Spent(failures) {
		outcome = DeadLettered
	}
	wait := p.Schedule.wait(failures)
	// One Update ends the attempt in either case.
	write := func(dead func(store.Tx, store.Job, error) error) error {
		return p.end(h, false, func(tx store.Tx, ref store.Ref) error {
			now := p.Now()
			if outcome == Retried {
				return lostOr(tx.RetryJobs(now.Add(wait), ref))
			}
			if dead != nil {
				if err := dead(tx, job, cause); err != nil {
					return err
				}
			}
			return lostOr(tx.DeadLetterJobs(now, reason(cause), ref))
		})
	}
	// If Dead itself may be what kills the process, it is left out.
	apology := p.Dead
	if job.ExpiredLeases >= maxExpiredLeases+deadExpiredLeases {
		apology = nil
	}
	err := write(apology)
	// If only Dead failed, give the job up without it.
	if err != nil && outcome == DeadLettered && !errors.Is(err, errLost) && !store.IsFatal(err) {
		p.Log.Error("what a dead letter leads to could not be written", "queue", p.Queue, "job", job.Seq, "error", err)
		err = write(nil)
	}
	// Report it. Without a final error the store's lease brings back a job whose end was not written.
	switch {
	case store.IsFatal(err):
		return p.stopFor(err)
	case errors.Is(err, errLost):
		return Lost
	case outcome == DeadLettered && err == nil:
		p.Log.Error("a job was given up", "queue", p.Queue, "job", job.Seq, "failures", failures, "error", cause)
	case outcome == Retried && err == nil:
		p.Log.Warn("a job failed: it is tried again", "queue", p.Queue, "job", job.Seq, "failures", failures, "wait", wait, "error", cause)
	default: // it is claimed again when its lease is over
		p.Log.Error("the end of a job could not be written", "queue", p.Queue, "job", job.Seq, "error", errors.Join(cause, err))
		return Lost
	}
	return outcome
}

// reason is why a job was given up, in words without personal data: it is stored in the clear.
func reason(cause error) string {
	var known *wallet.Error
	var crash *panicked
	switch {
	case errors.As(cause, &known):
		return string(known.Code)
	case errors.Is(cause, errLeasesExpired):
		return "never ended"
	case errors.As(cause, &crash):
		return "panic"
	case errors.Is(cause, store.ErrConflict):
		return "conflict"
	case errors.Is(cause, store.ErrNotFound):
		return "not found"
	}
	return "error"
}

// giveBack ends an attempt that was cut short: any node may claim the job at once.
func (p *Pool) giveBack(h *held) Outcome {
	err := p.end(h, false, func(tx store.Tx, ref store.Ref) error { return lostOr(tx.SnoozeJobs(time.Time{}, ref)) })
	switch {
	case store.IsFatal(err):
		return p.stopFor(err)
	case err != nil:
		return Lost
	}
	return Returned
}

// stopFor ends Run, because nobody knows what the store holds.
func (p *Pool) stopFor(err error) Outcome {
	p.mu.Lock()
	p.failure = fmt.Errorf("work: end a job of %s: %w", p.Queue, err)
	p.mu.Unlock()
	p.wake.ring()
	return Lost
}

// renew moves the end of all leases of this pool, and cancels the attempts whose jobs were lost. Errors other than
// final ones are logged: the next renewal tries again before the leases end.
func (p *Pool) renew(ctx context.Context) error {
	p.mu.Lock()
	refs := make([]store.Ref, 0, len(p.held))
	for _, h := range p.held {
		if !h.lost {
			refs = append(refs, h.job.Ref())
		}
	}
	p.mu.Unlock()
	if len(refs) == 0 {
		return nil
	}
	// Renew all of them in one Update.
	var lost []store.Ref
	err := p.Store.Update(ctx, func(tx store.Tx) (err error) {
		lost, err = tx.RenewJobs(p.Now().Add(p.Lease), refs...)
		return err
	})
	switch {
	case store.IsFatal(err):
		return fmt.Errorf("work: renew leases of %s: %w", p.Queue, err)
	case err != nil && ctx.Err() == nil:
		p.Log.Error("leases could not be renewed", "queue", p.Queue, "error", err)
		return nil
	}
	// Cancel the attempts that lost their job.
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ref := range lost {
		h := p.held[ref.ID]
		if h == nil || h.job.Attempt != ref.Attempt { // it ended meanwhile, or has a newer lease
			continue
		}
		h.lost = true
		h.cancel(ErrLost)
	}
	return nil
}

// drain gives back what no worker has begun and waits for the rest: for Grace without interrupting, then until Handles
// notice that their ctx has ended. Leases are renewed meanwhile.
func (p *Pool) drain(stop context.CancelCauseFunc) error {
	p.mu.Lock()
	p.running = false
	p.mu.Unlock()
	p.giveBackReady()
	ended := make(chan struct{})
	go func() {
		p.busy.Wait()
		close(ended)
	}()
	renew, grace := p.After(p.Lease/renewals), p.After(p.Grace)
	for {
		select {
		case <-ended:
			p.giveBackReady()
			return p.failed()
		case <-grace:
			stop(ErrStopped)
			grace = nil
		case <-renew:
			if err := p.renew(context.Background()); err != nil {
				return errors.Join(err, p.failed())
			}
			renew = p.After(p.Lease / renewals)
		}
	}
}

// giveBackReady gives back the jobs that no worker has begun.
func (p *Pool) giveBackReady() {
	p.mu.Lock()
	waiting := p.ready
	p.ready = nil
	p.mu.Unlock()
	for _, h := range waiting {
		p.giveBack(h)
		h.cancel(ErrStopped)
		p.mu.Lock()
		delete(p.held, h.job.ID)
		p.mu.Unlock()
	}
}
