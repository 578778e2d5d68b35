package webhooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// recordAtOnce bounds how many outcomes share a commit.
	recordAtOnce = 1024
	// recordAfter is how long outcomes gather, so that many share a commit: nobody waits for them.
	recordAfter = 20 * time.Millisecond
	// noticeEvery is how often the owner of a webhook that works and fails in turns is notified at most.
	noticeEvery = 10 * time.Minute
	// recordAgain is the pause after what happened could not be written.
	recordAgain = time.Second
)

// outcome is what is to be written of a delivery.
type outcome struct {
	delivery  store.Delivery
	state     store.DeliveryState
	attempted []store.Attempt // by this process, the newest last
	sent      bool            // the last of them was made just now
	gone      bool
	at        time.Time
	of        *session
}

// recorder writes what became of deliveries, many in one commit: to the log first, to the store then.
// A crash between the two, or before both, sends the same delivery again. What a session has lost to another node
// meanwhile is not written.
type recorder struct {
	*sender
	mu      sync.Mutex
	waiting []outcome
	closed  bool
	wake    chan struct{}
	done    chan struct{} // closed by close
	over    chan struct{} // closed when run has ended
	healths healths       // of run alone
}

func newRecorder(s *sender) *recorder {
	return &recorder{sender: s, wake: make(chan struct{}, 1), done: make(chan struct{}), over: make(chan struct{}), healths: healths{}}
}

// add never waits.
func (r *recorder) add(o outcome) {
	r.mu.Lock()
	r.waiting = append(r.waiting, o)
	r.mu.Unlock()
	r.signal()
}

// close says that nothing will be added, and that nobody waits for what cannot be written.
func (r *recorder) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	close(r.done)
	r.signal()
}

func (r *recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take is the next outcomes to be written, and whether they are the last.
func (r *recorder) take() (batch []outcome, last bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.waiting), recordAtOnce)
	batch, r.waiting = r.waiting[:n:n], r.waiting[n:]
	return batch, r.closed && len(r.waiting) == 0
}

// run writes until close was called and all is written. Its error is the store's, after which nothing is
// certain. What cannot be written is tried again; at the end it is left, and sent once more by the next run.
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

// wait waits for outcomes, and until some have gathered; or until a health is to be written.
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

// insist writes a batch, and tries again where it cannot, with what has come meanwhile. It returns all that it
// has dealt with; nil says that there is no time left. With an empty batch it brings the health of all webhooks
// up to date.
func (r *recorder) insist(batch []outcome) (written []outcome, err error) {
	for {
		err := r.write(batch)
		switch {
		case err == nil:
			return batch, nil
		case errors.Is(err, store.ErrUnknownOutcome):
			return nil, fmt.Errorf("write what became of webhook deliveries: %w", err)
		}
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
		if len(batch) > 0 && len(batch) < recordAtOnce { // beside others it shows whether one row is to blame
			more, _ := r.take()
			batch = append(batch[:len(batch):len(batch)], more...)
		}
	}
}

// oneByOne writes what can be written of a batch: a damaged row must not hold up the others. It reports whether
// any could be; else it is the disk, or the like. Its error is the store's, after which nothing is certain.
func (r *recorder) oneByOne(batch []outcome) (some bool, err error) {
	failed := map[string]error{}
	for i := range batch {
		err := r.write(batch[i : i+1])
		if errors.Is(err, store.ErrUnknownOutcome) {
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

// confirm has the sessions know what was written.
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

// write writes a batch, except what was lost to other nodes.
func (r *recorder) write(batch []outcome) error {
	ctx := context.Background() // what happened is written even if the process is being stopped
	// The log comes first and is no part of the transaction: a node that may have slept asks before it writes there.
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
	if entries := r.entries(ctx, batch); len(entries) > 0 {
		if err := r.Log.Log(ctx, entries); err != nil {
			return fmt.Errorf("log deliveries: %w", err)
		}
	}
	var next healths
	err := r.Store.Update(ctx, func(tx store.Tx) (err error) {
		if err := r.fence(tx, sessionsOf(batch)); err != nil {
			return err
		}
		next, err = r.settle(tx, stillOurs(batch))
		return err
	})
	if err == nil {
		r.healths = next
	}
	return err
}

// fence reads which node has the webhooks of sessions, and marks the sessions that have lost theirs to another node.
func (r *recorder) fence(tx store.Tx, sessions []*session) error {
	var refs []store.Ref
	by := map[store.Ref]*session{}
	for _, of := range sessions {
		if of.job == nil { // a listener's: no other node has it
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

// stillOurs leaves out what was lost to other nodes.
func stillOurs(batch []outcome) []outcome {
	if !slices.ContainsFunc(batch, func(o outcome) bool { return o.of.isLost() }) {
		return batch
	}
	return slices.DeleteFunc(slices.Clone(batch), func(o outcome) bool { return o.of.isLost() })
}

// entries is the log of a batch. A delivery that was attempted before a restart has its earlier attempts
// there already.
func (r *recorder) entries(ctx context.Context, batch []outcome) []store.LogEntry {
	out := make([]store.LogEntry, 0, len(batch))
	for _, o := range batch {
		e := store.LogEntry{Delivery: o.delivery, State: o.state, Attempted: o.attempted}
		if o.delivery.Attempts > len(o.attempted) || o.delivery.Resend { // before a restart, or before it was put back
			if before, err := r.Log.Logged(ctx, o.delivery.Webhook, o.delivery.ID); err == nil { // else it is gone, or damaged
				e.Attempted = append(earlier(before.Attempted, o.attempted), o.attempted...)
			}
		}
		if o.state != store.DeliveryWaiting {
			e.EndedAt = o.at
		}
		if o.state == store.DeliveryRevoked {
			e.Body = nil // nobody may read it
		}
		out = append(out, e)
	}
	return out
}

// earlier are the attempts of those logged that were made before this process's.
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

// settle brings the store up to date: rows, health, and what people are notified of.
func (r *recorder) settle(tx store.Tx, batch []outcome) (healths, error) {
	var ended, again []store.Delivery
	next := maps.Clone(r.healths)
	for _, o := range batch {
		if o.state == store.DeliveryWaiting {
			again = append(again, o.delivery)
		} else {
			ended = append(ended, o.delivery)
		}
		if !o.sent {
			continue
		}
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

// notifyOwner notifies the owner of a webhook that a delivery was dead-lettered, once for each row of failures and not more
// often than noticeEvery. It turns off a webhook whose receiver is gone or has failed for too long.
func (r *recorder) notifyOwner(tx store.Tx, o outcome, h wallet.WebhookHealth) (notified bool, err error) {
	hook, err := tx.Webhook(o.delivery.Webhook)
	switch {
	case err != nil || !hook.Active: // removed, or damaged: nobody can be notified; what was attempted is written all the same
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
