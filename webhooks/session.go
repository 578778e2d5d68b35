package webhooks

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// linger is how long a session stays when nothing waits for its webhook: where events come often, its job is
	// claimed and ended once for many of them.
	linger = 5 * time.Second
	// patience is how long a session waits for the next attempt of what has failed. What waits longer waits in the store.
	patience = time.Minute
	// turn is how long a session goes on that always has something to send, where others wait for its place.
	turn = time.Minute
	// readAgain is the pause after the store could not be read.
	readAgain = time.Second
	// maxHeld is how many deliveries are in a node's memory, or about to be, before windows shrink.
	maxHeld = 32768
)

// session is one webhook's turn on this node: it begins when the node claims the webhook's job, or with the connection of
// a listener, and sends what waits for the webhook for as long as anything does. Its job is leased to this node
// meanwhile, so no other node sends to the webhook. One goroutine owns all of it but for inbox and slot.
type session struct {
	*sender
	queue
	id    wallet.WebhookID
	job   *store.Job // nil for a listener, which belongs to the node of its connection
	owner wallet.UserID

	known     bool // its webhook was read
	gone      bool // there is no such webhook any more
	blocked   bool // it waits for a slot
	stopped   bool // nothing new is begun
	givesWay  bool // it is stopped because others wait for its place
	unwritten int  // outcomes that the recorder has
	asleep    map[*line]bool
	wakeAt    time.Time // of the first of them
	begun     time.Time
	idle      time.Time // since when nothing waits; zero while something does
	polled    time.Time // when it was last read what others put
	fed       time.Time // when something was last handed over
	readAt    time.Time // the store is not read before: it could not be
	ended     chan attemptDone
	confirmed time.Time // when the store last said that the job is this node's; of the recorder alone, after the beginning

	inbox inbox
	slot  slotState
}

// attemptDone is how an attempt of the first of a line ended.
type attemptDone struct {
	line   *line
	result attemptResult
}

// inbox is what others leave for a session.
type inbox struct {
	mu      sync.Mutex
	rows    []store.PlacedDelivery // that were just put, in their order
	unread  bool                   // something is to be read from the store
	changed bool                   // the webhook itself may have been changed
	lost    bool                   // another node has the job, or it was removed
	written int                    // outcomes that were written
	done    [urgencies]int         // of them, those that ended a delivery
	wake    chan struct{}
}

func (in *inbox) ring() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// leave changes the inbox and wakes its session.
func (in *inbox) leave(change func(*inbox)) {
	in.mu.Lock()
	change(in)
	in.mu.Unlock()
	in.ring()
}

// run sends until nothing waits, until others need the place, or until ctx ends. It returns when the webhook's next
// session is to begin: the zero time where none need.
func (x *session) run(ctx context.Context) (next time.Time) {
	defer x.close()
	timer := time.NewTimer(x.pollEvery)
	defer timer.Stop()
	stopping := x.stopping
	for {
		x.takeIn()
		x.wakeLines(time.Now()) // whatever woke the loop: while events keep coming, the timer may never be the one
		x.giveWay(ctx)
		if ctx.Err() == nil && !x.stopped {
			x.fill(ctx)
			x.pump(ctx)
		}
		wait, next, over := x.rest(ctx, time.Now())
		if over {
			return next
		}
		if ctx.Err() != nil {
			return x.Now()
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-stopping:
			x.stopped, stopping = true, nil
		case <-x.record.over:
			return x.Now() // the store is in trouble
		case <-x.inbox.wake:
		case a := <-x.ended:
			x.attemptEnded(a)
			for range len(x.ended) { // those that ended meanwhile
				x.attemptEnded(<-x.ended)
			}
		case <-timer.C:
		}
	}
}

// giveWay has a session end that has had its turn, if others wait for its place. It begins nothing new, and its job goes
// behind theirs once what is on its way has ended.
func (x *session) giveWay(ctx context.Context) {
	if x.job == nil || x.stopped || time.Since(x.begun) < turn {
		return
	}
	if x.givesWay = x.places.yields(ctx, x.owner); x.givesWay {
		x.stopped = true
	}
}

// rest says how long there is nothing to be done but to wait, or that the session is over and when the next one begins.
func (x *session) rest(ctx context.Context, now time.Time) (wait time.Duration, next time.Time, over bool) {
	due := x.nextDue(now)
	switch {
	case x.isLost():
		return 0, time.Time{}, true
	case x.inFlight+x.unwritten > 0:
		x.idle = time.Time{}
	case x.stopped && len(x.lines) > 0:
		return 0, x.Now(), true
	case x.stopped:
		return 0, time.Time{}, true
	case len(x.lines) > 0:
		x.idle = time.Time{}
		if x.job != nil && !x.blocked && !due.IsZero() && (x.places.crowded(ctx, x.owner) || due.Sub(now) > patience && !x.until.After(now)) {
			return 0, x.Now().Add(due.Sub(now)), true
		}
	case x.gone && x.job != nil:
		return 0, time.Time{}, true
	case x.readAt.After(now):
		due = x.readAt
	default:
		if x.idle.IsZero() {
			x.idle = now
		}
		if due = x.idle.Add(linger); x.job != nil && (!due.After(now) || x.places.crowded(ctx, x.owner)) {
			return 0, time.Time{}, true
		}
	}
	wait = x.pollEvery
	if due.After(now) {
		wait = min(wait, due.Sub(now))
	}
	if !x.wakeAt.IsZero() && !x.wakeAt.After(now) { // its time came since this round of the loop began
		wait = 0
	}
	return wait, time.Time{}, false
}

// nextDue is when something that waits may go; zero when that depends on others.
func (x *session) nextDue(now time.Time) time.Time {
	due := x.wakeAt
	if x.until.After(now) && (due.IsZero() || x.until.Before(due)) {
		due = x.until
	}
	return due
}

// lose says that another node has the job.
func (x *session) lose() { x.inbox.leave(func(in *inbox) { in.lost = true }) }

// isLost reports whether another node has the job.
func (x *session) isLost() bool {
	x.inbox.mu.Lock()
	defer x.inbox.mu.Unlock()
	return x.inbox.lost
}

// takeIn takes what others left.
func (x *session) takeIn() {
	x.inbox.mu.Lock()
	rows, unread, changed, written, done := x.inbox.rows, x.inbox.unread, x.inbox.changed, x.inbox.written, x.inbox.done
	x.inbox.rows, x.inbox.unread, x.inbox.changed, x.inbox.written, x.inbox.done = nil, false, false, 0, [urgencies]int{}
	x.inbox.mu.Unlock()
	x.unwritten -= written
	for u, n := range done {
		x.held[u] -= n
		x.inMemory.Add(-int64(n))
	}
	if unread {
		x.more = everyUrgency()
	}
	if changed {
		x.until = time.Time{} // what waits for the limit of the hour is dead-lettered at once if the webhook was turned off
	}
	if len(rows) > 0 {
		x.fed = time.Now()
	}
	for _, row := range rows {
		x.handed(row)
	}
}

// handed takes up a delivery as it was put. The store is read instead where nothing was read yet, where the window is
// full, and where something that was put before it is not known yet.
func (x *session) handed(row store.PlacedDelivery) {
	switch u := row.Urgency; {
	case row.Seq <= x.read[u]: // it was read meanwhile
	case !x.known || row.Behind > x.read[u] || x.held[u] >= x.window():
		x.more[u] = true
	default:
		x.inMemory.Add(1)
		x.addRow(row.Delivery)
	}
}

// addRow takes a delivery into memory, behind those of its line.
func (x *session) addRow(row store.Delivery) {
	if l := x.add(row); l.state == idle && len(l.items) == 1 {
		x.arm(l, x.due(row))
	}
}

// due is how long a delivery that was read has to wait: for what is left of the pause after its last attempt, and
// never for more, since the clock may have been set meanwhile. A first attempt has no pause before it.
func (x *session) due(row store.Delivery) time.Duration {
	return min(row.NextAt.Sub(x.Now()), row.Pause)
}

// arm lets the first of an idle line go, now or after a wait.
func (x *session) arm(l *line, wait time.Duration) {
	if wait <= 0 {
		x.markReady(l)
		return
	}
	l.state, l.at = sleeping, time.Now().Add(wait)
	x.asleep[l] = true
	if x.wakeAt.IsZero() || l.at.Before(x.wakeAt) {
		x.wakeAt = l.at
	}
}

// wakeLines lets go what has waited for long enough.
func (x *session) wakeLines(now time.Time) {
	if x.wakeAt.IsZero() || x.wakeAt.After(now) {
		return
	}
	var due []*line
	x.wakeAt = time.Time{}
	for l := range x.asleep {
		switch {
		case !l.at.After(now):
			due = append(due, l)
			delete(x.asleep, l)
		case x.wakeAt.IsZero() || l.at.Before(x.wakeAt):
			x.wakeAt = l.at
		}
	}
	slices.SortFunc(due, func(a, b *line) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.items[0].Seq, b.items[0].Seq))
	})
	for _, l := range due {
		x.markReady(l)
	}
}

// window is how many deliveries of an urgency may be in memory now.
func (x *session) window() int {
	if x.inMemory.Load()+int64(urgencies*fullWindow) > maxHeld {
		return smallWindow
	}
	return fullWindow
}

// fill reads on in what waits, where that is worth while.
func (x *session) fill(ctx context.Context) {
	now := time.Now()
	// While the relay of this node hands over, others hardly put anything, and what they do put stands before what is
	// handed over next.
	if since := now.Sub(x.polled); since >= x.pollEvery && (now.Sub(x.fed) >= x.pollEvery || since >= 10*x.pollEvery) {
		x.polled, x.more = now, everyUrgency()
	}
	for !x.readAt.After(now) && (!x.gone || x.job == nil) {
		room, worth := x.room(x.window())
		if !worth {
			return
		}
		if err := x.load(ctx, room); err != nil {
			if ctx.Err() == nil {
				x.Logger.Error("reading what waits for a webhook failed: it is read again", "webhook", x.id, "error", err)
			}
			x.more, x.readAt = everyUrgency(), now.Add(readAgain)
			return
		}
	}
}

// load reads what waits behind what was read of each urgency, as much as there is room for.
func (x *session) load(ctx context.Context, room [urgencies]int) error {
	reserved := 0
	for u := range room {
		reserved += room[u]
	}
	x.inMemory.Add(int64(reserved))
	known := x.subscriptionsNow()
	var rows []store.Delivery
	var more [urgencies]bool
	err := x.Store.View(ctx, func(tx store.Tx) error {
		rows, more = nil, [urgencies]bool{}
		r, err := known.hook(tx, x.id)
		if x.gone = err != nil; err != nil {
			known.damaged("webhook", string(x.id), err)
			return nil
		}
		if !x.known {
			x.configure(tx, r.Webhook)
		}
		for u, n := range room {
			if n == 0 {
				continue
			}
			found, err := tx.DeliveriesOf(x.id, store.Position{Urgency: store.Urgency(u), Seq: x.read[u]}, n)
			if err != nil {
				return err
			}
			more[u] = len(found) == n
			rows = append(rows, found...)
		}
		return nil
	})
	x.inMemory.Add(int64(len(rows) - reserved))
	if err != nil {
		x.inMemory.Add(-int64(len(rows)))
		return err
	}
	for u := range room {
		x.more[u] = more[u] || x.more[u] && room[u] == 0
	}
	for _, row := range rows {
		x.addRow(row)
	}
	return nil
}

// configure takes from a webhook how it is to be treated. One that failed before is asked sparingly from the start.
func (x *session) configure(tx store.Tx, hook wallet.Webhook) {
	x.known = true
	if hook.Listener {
		x.width = 1                                                               // one connection
		x.owner = wallet.UserID(cmp.Or(string(hook.Owner), string(hook.Lineage))) // which it shares slots with
	}
	if health, err := tx.WebhookHealth(x.id); err == nil && !health.FailingSince.IsZero() {
		x.failures = health.Failures
	}
}

// pump sends what may be sent now.
func (x *session) pump(ctx context.Context) {
	for {
		l := x.next(time.Now())
		if l == nil {
			if x.blocked {
				x.blocked = false
				x.slots.leave(x)
			}
			return
		}
		if x.blocked = !x.slots.take(x); x.blocked {
			x.putBack(l)
			return
		}
		for _, old := range l.skip() {
			x.write(outcome{delivery: old.Delivery, state: store.DeliverySuperseded})
		}
		first := l.items[0].Delivery
		x.busy.Go(func() {
			result := x.attempt(ctx, first)
			x.slots.release(x.owner)
			x.ended <- attemptDone{l, result} // it has room for all that are on their way
		})
	}
}

// attemptEnded takes an attempt's end, and goes on with its line.
func (x *session) attemptEnded(a attemptDone) {
	x.inFlight--
	x.recordAttempt(a)
	x.adapt(&a.result)
	a.line.items[0].Delivery = a.result.delivery
	wait := a.result.wait
	if a.result.state != store.DeliveryWaiting {
		x.finish(a.line)
		if len(a.line.items) > 0 {
			wait = x.due(a.line.items[0].Delivery)
		}
	}
	if len(a.line.items) > 0 {
		x.arm(a.line, wait)
	}
	x.gone = x.gone || a.result.missing
}

// adapt takes from an attempt how the webhook is to be treated.
func (x *session) adapt(f *attemptResult) {
	if f.limit.Limit > 0 {
		x.left = int(min(f.limit.Remaining, width))
	}
	switch {
	case f.overLimit():
		x.until = time.Now().Add(max(f.limit.Reset, time.Second))
	case f.err != nil:
		f.wait = readAgain
	case f.state == store.DeliveryDelivered:
		x.failures = 0
	case f.attempt != nil:
		x.failures++
	}
	if f.attempt != nil && x.width > 1 {
		x.adaptWidth(f.attempt.Latency)
	}
}

// recordAttempt hands what an attempt came to to the recorder, unless it came to nothing.
func (x *session) recordAttempt(a attemptDone) {
	if a.result.err != nil || a.result.overLimit() {
		return
	}
	first := a.line.items[0]
	if a.result.attempt != nil {
		first.attempted = append(first.attempted, *a.result.attempt)
	}
	x.write(outcome{delivery: a.result.delivery, state: a.result.state, attempted: first.attempted,
		sent: a.result.attempt != nil, gone: a.result.gone})
}

func (x *session) write(o outcome) {
	o.of, o.at = x, x.Now().UTC()
	x.unwritten++
	x.record.add(o)
}

// close gives back what the session had of what all share.
func (x *session) close() {
	x.slots.leave(x)
	held := 0
	for _, n := range x.held {
		held += n
	}
	x.inMemory.Add(-int64(held))
	x.forget(x)
}

// end ends the webhook's job, in the Update that ends the session. While anything waits the job stays, behind those of the
// owner's other webhooks.
func (x *session) end(tx store.Tx, ref store.Ref, next time.Time) error {
	for u := range urgencies {
		if !next.IsZero() && !next.After(x.Now()) || x.gone {
			break
		}
		unread, err := tx.DeliveriesOf(x.id, store.Position{Urgency: store.Urgency(u), Seq: x.read[u]}, 1)
		if err != nil {
			return err
		}
		if len(unread) > 0 { // put since the last look
			next = x.Now()
		}
	}
	switch {
	case next.IsZero():
		return tx.DoneJobs(ref)
	case !next.After(x.Now()): // at once, also if the clock is set back meanwhile
		next = time.Time{}
	}
	return tx.YieldJobs(next, ref)
}
