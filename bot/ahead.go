package bot

import (
	"context"
	"errors"
	"sync"
	"time"

	"purser/store"
	"purser/work"
)

// lookahead is how long an update may be handled before it is taken in. Most commands need less, and the others lose no more.
const lookahead = 2 * time.Millisecond

// quiet is how many updates may wait or be in hand while one is handled ahead. With more, commits are shared anyway.
const quiet = 4

// ahead is an update that is handled before it is taken in. If that ends within lookahead, one commit notes the update and writes
// what was decided, where there would be two, one after the other. Nothing is lost by it: until that commit Telegram keeps the
// update, and what was decided has no effect. If it takes longer, the update is taken in by itself, and the inbox's worker waits
// for this attempt instead of beginning one of its own.
type ahead struct {
	stop   context.CancelFunc
	ended  chan struct{} // closed when result and err are there
	result work.Result
	err    error
}

// aheads are the attempts that the inbox's workers have not yet picked up, by their jobs.
type aheads struct {
	mu  sync.Mutex
	all map[store.JobID]*ahead
}

// put keeps an attempt for the worker that gets its job.
func (a *aheads) put(job store.JobID, one *ahead) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[store.JobID]*ahead{}
	}
	a.all[job] = one
}

// take returns the attempt at a job, once; nil without one.
func (a *aheads) take(job store.JobID) *ahead {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.all[job]
	delete(a.all, job)
	return one
}

// drop drops all, when no worker can pick them up any more.
func (a *aheads) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		one.drop()
	}
	clear(a.all)
}

// handleAhead begins to handle polled updates, and waits for lookahead. It returns nil if it does not: if there are several or much
// is in hand, since they share their commits anyway; if others of the chat wait or are in hand, since what they change comes first;
// if it replies to a message whose end may not be written yet, which says who its author is; and for the first updates of a run, or after a poll that failed, since one whose handling kills the process must be counted in the
// inbox, which gives it up in the end.
//
// It is for polling, where one caller takes in updates one after the other: nothing of the chat can come in between.
func (b *Bot) handleAhead(ctx context.Context, updates []incoming) *ahead {
	if !b.steady || len(updates) != 1 || updates[0].kind == ignored {
		return nil
	}
	u := updates[0]
	busy := false
	err := b.opt.Store.View(ctx, func(tx store.Tx) error {
		all, err := tx.JobStats(store.Inbox)
		ofChat, err2 := tx.CountJobs(store.Inbox, store.ChatKey(u.in.Chat))
		unended, err3 := tx.CountJobs(store.Outbox, store.ChatKey(u.in.Chat))
		busy = ofChat > 0 || u.in.ReplyTo != 0 && unended > 0 || all.Waiting+all.InFlight > quiet
		return errors.Join(err, err2, err3)
	})
	if err != nil || busy {
		return nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &ahead{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		a.result, a.err = b.attempt(ctx, store.Job{Queue: store.Inbox, At: b.now().UTC(), Body: u.body})
	}()
	timer := time.NewTimer(lookahead)
	defer timer.Stop()
	select {
	case <-a.ended:
	case <-timer.C:
	}
	return a
}

// decided reports whether the attempt has ended with a result that ends the job. It may be called of nil.
func (a *ahead) decided() bool {
	if a == nil {
		return false
	}
	select {
	case <-a.ended:
		return a.err == nil && a.result.Again.IsZero() && a.result.End == nil
	default:
		return false
	}
}

// wait returns what the attempt came to. When ctx ends first, the attempt is stopped.
func (a *ahead) wait(ctx context.Context) (work.Result, error) {
	defer context.AfterFunc(ctx, a.stop)()
	<-a.ended
	a.stop()
	return a.result, a.err
}

// drop ends an attempt that nobody wants, and waits for its end: the next attempt at the update must find what this one did outside of
// the store, such as a mail that it sent. It may be called of nil.
func (a *ahead) drop() {
	if a != nil {
		a.stop()
		<-a.ended
	}
}

// errAhead says that what was decided ahead could not be written, and not the taking of updates.
var errAhead = errors.New("write what was decided ahead")

// conclude writes what was decided ahead and ends its job, in the transaction that put it. It reports whether it did. It may be
// called of nil.
func (a *ahead) conclude(tx store.Tx, into taken) (bool, error) {
	if !a.decided() || !into.single() {
		return false, nil
	}
	if a.result.Commit != nil {
		if err := a.result.Commit(tx); err != nil {
			return false, errors.Join(errAhead, err)
		}
	}
	if err := tx.DoneJobs(into.handed[0].Ref()); err != nil {
		return false, errors.Join(errAhead, err)
	}
	return true, nil
}

// updateAhead is update for a change that may conclude. A panic rolled it back, and counts as errAhead.
func (b *Bot) updateAhead(ctx context.Context, change func(store.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(errAhead, panicked(p))
		}
	}()
	return b.update(ctx, change)
}

// concluded does what follows when the commit of conclude has ended.
func (a *ahead) concluded() {
	a.stop()
	if a.result.After != nil {
		a.result.After()
	}
}

// adopt leaves an attempt to the worker that handles its update next. It may be called with nil.
func (b *Bot) adopt(a *ahead, into taken) {
	if a != nil && into.single() {
		b.aheads.put(into.handed[0].ID, a)
		return
	}
	a.drop()
}

// single reports whether one new update was taken that is to be handled at once, and did nothing yet. An attempt that began before
// is no good for others: it knows neither what those before it change, nor of the freeze.
func (t taken) single() bool { return len(t.handed) == 1 && t.handed[0].Attempt > 0 && !t.froze }
