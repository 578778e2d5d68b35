package bot

import (
	"context"
	"errors"
	"sync"
	"time"

	"purser/store"
	"purser/work"
)

// earlyFor is how long an early attempt may delay the taking of its update. Most commands need less.
const earlyFor = 2 * time.Millisecond

// maxBusyForEarly is how many updates may wait or be in hand while another is attempted early. With more, updates share commits anyway.
const maxBusyForEarly = 4

// earlyAttempt handles an update before it is in the inbox (decisions/0056). If it ends within earlyFor, one commit notes the
// update and writes its answer. Otherwise these are two commits, one after the other: the update is taken in by itself, and the
// inbox's worker waits for this attempt instead of beginning one of its own.
//
// Nothing is lost by it. Telegram keeps the update until it is noted, and what was decided has no effect before the commit.
type earlyAttempt struct {
	stop   context.CancelFunc
	ended  chan struct{} // closed when result and err are there
	result work.Result
	err    error
}

// earlyAttempts are the attempts that the inbox's workers have not yet picked up, by their jobs.
type earlyAttempts struct {
	mu  sync.Mutex
	all map[store.JobID]*earlyAttempt
}

// put keeps an attempt for the worker that gets its job.
func (a *earlyAttempts) put(job store.JobID, one *earlyAttempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[store.JobID]*earlyAttempt{}
	}
	a.all[job] = one
}

// take returns the attempt at a job, once; nil without one.
func (a *earlyAttempts) take(job store.JobID) *earlyAttempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.all[job]
	delete(a.all, job)
	return one
}

// drop drops all, when no worker can pick them up any more.
func (a *earlyAttempts) drop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		one.drop()
	}
	clear(a.all)
}

// attemptEarly begins to handle a polled update, and waits for it as long as earlyFor. It returns nil, and the inbox alone handles
// what came, in these cases:
//
//   - There are several updates, or more than maxBusyForEarly are in the inbox: they share their commits anyway.
//   - Others of the chat are in the inbox: what they change comes first.
//   - The update replies to a message of the bot, and the end of a message to this chat is not written yet. The end says which
//     app the message is from.
//   - It is among the first of a run, or the poll before failed (b.steady). An update whose handling kills the process must be
//     counted in the inbox, which gives it up in the end.
//
// It is for polling, where one caller takes in updates one after the other: nothing of the chat can come in between.
func (b *Bot) attemptEarly(ctx context.Context, updates []incoming) *earlyAttempt {
	if !b.steady || len(updates) != 1 || updates[0].kind == ignored {
		return nil
	}
	u := updates[0]
	busy := false
	err := b.opt.Store.View(ctx, func(tx store.Tx) error {
		all, err := tx.JobStats(store.Inbox)
		ofChat, err2 := tx.CountJobs(store.Inbox, store.ChatKey(u.in.Chat))
		unended, err3 := tx.CountJobs(store.Outbox, store.ChatKey(u.in.Chat))
		busy = ofChat > 0 || u.in.ReplyTo != 0 && unended > 0 || all.Waiting+all.InFlight > maxBusyForEarly
		return errors.Join(err, err2, err3)
	})
	if err != nil || busy {
		return nil
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &earlyAttempt{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		a.result, a.err = b.attempt(ctx, store.Job{Queue: store.Inbox, At: b.now().UTC(), Body: u.body})
	}()
	timer := time.NewTimer(earlyFor)
	defer timer.Stop()
	select {
	case <-a.ended:
	case <-timer.C:
	}
	return a
}

// decided reports whether the attempt has ended with a result that ends the job. It may be called of nil.
func (a *earlyAttempt) decided() bool {
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
func (a *earlyAttempt) wait(ctx context.Context) (work.Result, error) {
	defer context.AfterFunc(ctx, a.stop)()
	<-a.ended
	a.stop()
	return a.result, a.err
}

// drop stops an attempt that nobody wants, and waits for its end. The next attempt at the update must find what this one did
// outside of the store, such as a mail that it sent. It may be called of nil.
func (a *earlyAttempt) drop() {
	if a != nil {
		a.stop()
		<-a.ended
	}
}

// errEarly says that the answer of an early attempt could not be written, and not that updates could not be taken.
var errEarly = errors.New("write an early answer")

// write writes the attempt's answer and ends its job, in the transaction that put the job. It reports whether it did. It may be
// called of nil.
func (a *earlyAttempt) write(tx store.Tx, into taken) (bool, error) {
	if !a.decided() || !into.isFresh() {
		return false, nil
	}
	if a.result.Commit != nil {
		if err := a.result.Commit(tx); err != nil {
			return false, errors.Join(errEarly, err)
		}
	}
	if err := tx.DoneJobs(into.handed[0].Ref()); err != nil {
		return false, errors.Join(errEarly, err)
	}
	return true, nil
}

// updateEarly is update for a change that may call earlyAttempt.write. A panic rolled it back, and counts as errEarly.
func (b *Bot) updateEarly(ctx context.Context, change func(store.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(errEarly, panicked(p))
		}
	}()
	return b.update(ctx, change)
}

// finish does what follows the commit of write.
func (a *earlyAttempt) finish() {
	a.stop()
	if a.result.After != nil {
		a.result.After()
	}
}

// adopt leaves an attempt to the worker that gets the job of its update. It may be called with nil.
func (b *Bot) adopt(a *earlyAttempt, into taken) {
	if a != nil && into.isFresh() {
		b.early.put(into.handed[0].ID, a)
		return
	}
	a.drop()
}

// isFresh reports whether one new update was taken, is to be handled at once, and has frozen nothing. Of any other, an attempt that
// began before is no good: it knows neither what the updates before it change, nor of the freeze.
func (t taken) isFresh() bool { return len(t.handed) == 1 && t.handed[0].Attempt > 0 && !t.froze }
