package webhooks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// recordAtOnce is the most outcomes that share a commit.
	recordAtOnce = 1024
	// recordAfter is how long outcomes gather, so that many share a commit. Nobody waits for one of them.
	recordAfter = 20 * time.Millisecond
	// noticeEvery is the shortest time between two notices to the owner of a webhook that works and fails in turns.
	noticeEvery = 10 * time.Minute
	// recordAgain is the pause after outcomes could not be written.
	recordAgain = time.Second
)

// outcome is the result of an attempt at a delivery, or of a decision without one (superseded, revoked), to be
// written. One that still waits and was not sent changes only the delivery's row (store.Delivery.Counted).
type outcome struct {
	delivery  store.Delivery
	state     store.DeliveryState
	attempted []store.Attempt // attempts made by this process, the newest last
	sent      bool            // the last of attempted was made just now
	gone      bool            // the receiver answered 410
	at        time.Time
	of        *session // is notified once the outcome is written
}

// recorder writes the outcomes of deliveries, many in one commit: to the log first, then to the store. A crash
// between the two, or before both, sends the same delivery again. The outcomes of a session that has lost its job to
// another node are not written: that node sends the delivery, and writes its own.
//
// Any goroutine may call add. All else runs in the goroutine of run.
type recorder struct {
	*sender
	// mu guards waiting and closed.
	mu      sync.Mutex
	waiting []outcome // not taken yet, oldest first
	closed  bool
	wake    chan struct{} // one slot
	done    chan struct{} // closed by close
	over    chan struct{} // closed when run has ended
	healths *healths      // of run alone
}

// newRecorder returns a recorder that does not run yet.
func newRecorder(s *sender) *recorder {
	return &recorder{sender: s, wake: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}), healths: newHealths()}
}

// add queues an outcome. It never waits: what waits is bounded by the deliveries that sessions hold (maxHeld).
func (r *recorder) add(o outcome) {
	r.mu.Lock()
	r.waiting = append(r.waiting, o)
	r.mu.Unlock()
	r.signal()
}

// close says that nothing more will be added. From then on run does not repeat a write that fails: the next process
// sends those deliveries once more.
func (r *recorder) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	close(r.done)
	r.signal()
}

// signal wakes run.
func (r *recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take removes the next outcomes to be written, at most recordAtOnce. last says that none will follow.
func (r *recorder) take() (batch []outcome, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.waiting), recordAtOnce)
	batch, r.waiting = r.waiting[:n:n], r.waiting[n:]
	return batch, r.closed && len(r.waiting) == 0
}

// run writes until close was called and all is written. It returns store.ErrUnknownOutcome, after which the process
// must end. Other errors are logged, and the write is tried again. At the end of the process what cannot be written
// is left: the next process sends it once more.
func (r *recorder) run() error {
	defer close(r.over)
	for {
		batch, last := r.take()
		switch {
		case len(batch) > 0:
			written, err := r.insist(batch)
			if written == nil || err != nil {
				return err
			}
			r.confirm(written)
		case last:
			_, err := r.insist(nil)
			return err
		default:
			if err := r.wait(); err != nil {
				return err
			}
		}
	}
}

// wait waits for outcomes, and then until some have gathered. If no outcome comes, it writes the healths that are
// due.
func (r *recorder) wait() error {
	var due <-chan time.Time
	if r.healths.behind() {
		due = time.After(healthEvery)
	}
	select {
	case <-r.wake:
	case <-due:
		_, err := r.insist(nil)
		return err
	}
	select {
	case <-r.done:
	case <-time.After(recordAfter):
	}
	return nil
}

// insist writes a batch. If that fails, it tries again with what has come meanwhile, until it succeeds. It returns
// all that it has written. nil means that the process is ending and the batch was not written. With an empty batch it
// writes the health of all webhooks.
func (r *recorder) insist(batch []outcome) (written []outcome, err error) {
	for {
		err := r.write(batch)
		switch {
		case err == nil:
			return batch, nil
		case store.IsFatal(err):
			return nil, fmt.Errorf("write what became of webhook deliveries: %w", err)
		}
		// One damaged row fails the whole batch: find it.
		if len(batch) > 1 {
			if some, err := r.oneByOne(batch); some || err != nil {
				return batch, err
			}
		}
		r.Logger.Error("what became of webhook deliveries cannot be written: it is tried again", "deliveries", len(batch), "error", err)
		select {
		case <-r.done:
			return nil, nil
		case <-time.After(recordAgain):
		}
		if len(batch) > 0 && len(batch) < recordAtOnce { // among others it shows whether one row is to blame
			more, _ := r.take()
			batch = append(batch[:len(batch):len(batch)], more...)
		}
	}
}

// oneByOne writes each outcome of a batch by itself, so that a damaged row does not delay the others. If some
// succeed, those that failed are logged and given up. If none does, the cause is not a row but the disk or the like,
// and the caller tries the batch again. err is fatal (store.IsFatal).
func (r *recorder) oneByOne(batch []outcome) (some bool, err error) {
	failed := map[string]error{}
	for i := range batch {
		err := r.write(batch[i : i+1])
		if store.IsFatal(err) {
			return some, fmt.Errorf("write what became of webhook deliveries: %w", err)
		}
		if err != nil {
			failed[batch[i].delivery.ID] = err
			continue
		}
		some = true
	}
	if some {
		for id, err := range failed {
			r.Logger.Error("what became of a webhook delivery cannot be written: it is left", "delivery", id, "error", err)
		}
	}
	return some, nil
}

// confirm reports to the sessions what was written.
func (r *recorder) confirm(batch []outcome) {
	for _, o := range batch {
		o.of.inbox.mu.Lock()
		o.of.inbox.written++
		if o.state != store.DeliveryWaiting {
			o.of.inbox.done[o.delivery.Urgency]++
		}
		o.of.inbox.mu.Unlock()
	}
	for _, of := range sessionsOf(batch) {
		of.inbox.ring()
	}
}

// write writes a batch, except what was lost to other nodes: the log, then the store in one Update.
func (r *recorder) write(batch []outcome) error {
	ctx := context.Background() // outcomes are written even while the process is being stopped
	// The log is not part of the transaction, so the fence in the Update comes too late for it. A session whose job
	// was confirmed more than half a lease ago, as after a pause of the process, is checked before the log is
	// written.
	var doubtful []*session
	for _, of := range sessionsOf(batch) {
		if r.Now().Sub(of.confirmed).Abs() > lease/2 {
			doubtful = append(doubtful, of)
		}
	}
	if len(doubtful) > 0 {
		err := r.Store.View(ctx, func(tx store.Tx) error { return r.fence(tx, doubtful) })
		if err != nil {
			return err
		}
		batch = stillOurs(batch)
	}
	// First the log. If it fails, nothing is in the store, and all of it is tried again.
	if entries := r.entries(ctx, batch); len(entries) > 0 {
		if err := r.Log.Log(ctx, entries); err != nil {
			return fmt.Errorf("log deliveries: %w", err)
		}
	}
	// Then the store, under the fence. healths change only with the commit.
	var next *healthChanges
	err := r.Store.Update(ctx, func(tx store.Tx) (err error) {
		if err := r.fence(tx, sessionsOf(batch)); err != nil {
			return err
		}
		next, err = r.settle(tx, stillOurs(batch))
		return err
	})
	if err == nil {
		next.keep()
	}
	return err
}

// fence asks which node has the jobs of sessions, and marks the sessions that have lost theirs to another node.
func (r *recorder) fence(tx store.Tx, sessions []*session) error {
	var refs []store.Ref
	by := map[store.Ref]*session{}
	for _, of := range sessions {
		if of.job == nil { // a listener: no other node can have it
			continue
		}
		ref, ok := r.pool.Ref(of.job.ID)
		if !ok {
			of.lose()
			continue
		}
		refs, by[ref] = append(refs, ref), of
	}
	lost, err := tx.LostJobs(refs...)
	if err != nil {
		return err
	}
	for _, ref := range lost {
		by[ref].lose()
	}
	for _, of := range sessions {
		of.confirmed = r.Now()
	}
	return nil
}

// sessionsOf lists the sessions of a batch, each once.
func sessionsOf(batch []outcome) (all []*session) {
	seen := map[*session]bool{}
	for _, o := range batch {
		if !seen[o.of] {
			seen[o.of] = true
			all = append(all, o.of)
		}
	}
	return all
}

// stillOurs returns a batch without the outcomes that belong to other nodes by now. It does not change batch.
func stillOurs(batch []outcome) []outcome {
	if !slices.ContainsFunc(batch, func(o outcome) bool { return o.of.isLost() }) {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), func(o outcome) bool { return o.of.isLost() })
}

// entries returns the log entries of a batch. A delivery that was attempted by an earlier process has those attempts
// in its entry already; they are kept.
func (r *recorder) entries(ctx context.Context, batch []outcome) []store.LogEntry {
	out := make([]store.LogEntry, 0, len(batch))
	for _, o := range batch {
		if o.state == store.DeliveryWaiting && !o.sent { // no attempt to log
			continue
		}
		e := store.LogEntry{Delivery: o.delivery, State: o.state, Attempted: o.attempted}
		if o.delivery.Attempts > len(o.attempted) || o.delivery.Resend { // attempts of an earlier process, or before a resend
			if before, err := r.Log.Logged(ctx, o.delivery.Webhook, o.delivery.ID); err == nil { // else it is gone or damaged
				e.Attempted = append(earlier(before.Attempted, o.attempted), o.attempted...)
			}
		}
		if o.state != store.DeliveryWaiting {
			e.EndedAt = o.at
		}
		if o.state == store.DeliveryRevoked {
			e.Body = nil // the receiver may not read it, and the developer may not either
		}
		out = append(out, e)
	}
	return out
}

// earlier returns those of the logged attempts that were made before the first one of this process.
func earlier(logged, own []store.Attempt) []store.Attempt {
	if len(own) == 0 {
		return slices.Clip(logged)
	}
	n := slices.IndexFunc(logged, func(a store.Attempt) bool { return !a.At.Before(own[0].At) })
	if n < 0 {
		n = len(logged)
	}
	return logged[:n:n]
}

// settle writes the outcomes to the store: it removes deliveries that ended, reschedules the others, and updates the
// health of webhooks. It emits the events by which owners are notified. Its result is kept after the commit.
func (r *recorder) settle(tx store.Tx, batch []outcome) (*healthChanges, error) {
	var ended, again []store.Delivery
	next := r.healths.change()
	for _, o := range batch {
		if o.state == store.DeliveryWaiting {
			again = append(again, o.delivery)
		} else {
			ended = append(ended, o.delivery)
		}
		if !o.sent {
			continue
		}
		// An attempt was made: it changes the health of the webhook, and may be the one to notify the owner of.
		h := next.after(tx, o)
		if o.state == store.DeliveryDeadLettered {
			notified, err := r.notifyOwner(tx, o, h)
			if err != nil {
				return nil, err
			}
			if notified {
				next.ownerNotified(o.delivery.Webhook, o.at)
			}
		}
	}
	if err := tx.Reschedule(again); err != nil {
		return nil, err
	}
	if err := tx.DoneDeliveries(ended); err != nil {
		return nil, err
	}
	return next, next.write(tx, r.Now(), len(batch) == 0)
}

// notifyOwner notifies the owner of a webhook that a delivery was dead-lettered: once for each outage, and not more
// often than noticeEvery. It turns off a webhook whose receiver is gone or has failed for longer than giveUpAfter.
func (r *recorder) notifyOwner(tx store.Tx, o outcome, h wallet.WebhookHealth) (notified bool, err error) {
	hook, err := tx.Webhook(o.delivery.Webhook)
	switch {
	case err != nil || !hook.Active: // removed or damaged: nobody can be notified, and the outcome is still written
		return false, nil
	case o.gone:
		return true, r.turnOff(tx, hook, wallet.EndedGone, h, o.at)
	case o.at.Sub(h.FailingSince) >= giveUpAfter:
		return true, r.turnOff(tx, hook, wallet.EndedFailing, h, o.at)
	case !h.OwnerNotifiedAt.Before(h.FailingSince), o.at.Sub(h.OwnerNotifiedAt).Abs() < noticeEvery:
		return false, nil
	}
	return true, r.emitTrouble(tx, hook, wallet.WebhookDeadLettered, h, h.FailingSince, o.at)
}
