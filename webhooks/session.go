// Long: one goroutine owns a session, so all that it does with the state of one stands together.

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
	// linger is how long a session stays when nothing waits for its webhook. Where events come often, its job is then
	// claimed and ended once for many of them.
	linger = 5 * time.Second
	// patience is how long a session waits for the next attempt of a failed delivery. If the wait is longer, the
	// session ends, and the job waits in the store.
	patience = time.Minute
	// turn is how long a session that always has something to send may go on while others wait for its place.
	turn = time.Minute
	// readAgain is the pause after the store could not be read.
	readAgain = time.Second
	// lastWrites is how long a session whose ctx has ended waits for the outcomes of its attempts to be written.
	lastWrites = time.Second
	// maxHeld is how many deliveries are in a node's memory, or about to be, before windows shrink.
	maxHeld = 32768
)

// session is one webhook's turn on this node. It begins when the node claims the webhook's job, or with the
// connection of a listener, and sends what waits for the webhook for as long as anything does. Meanwhile the job is
// leased to this node, so no other node sends to the webhook.
//
// The goroutine of run owns all fields except three: inbox has a lock of its own, slot belongs to slots, and
// confirmed to the recorder. Attempts run in goroutines that only send their result to ended.
type session struct {
	*sender
	queue
	id    wallet.WebhookID
	job   *store.Job // nil for a listener, which can be served only by the node of its connection
	owner wallet.UserID

	known     bool                        // the webhook's row was read
	gone      bool                        // the webhook does not exist any more
	blocked   bool                        // it waits for a slot
	stopped   bool                        // it begins no new attempt, and ends when those in flight have ended
	givesWay  bool                        // stopped because others wait for its place
	unwritten int                         // outcomes that the recorder has and has not written yet
	asleep    map[*orderedDeliveries]bool // lines that wait for their time
	wakeAt    time.Time                   // earliest time of the lines asleep; zero: none
	begun     time.Time
	idle      time.Time        // since when nothing waits; zero while something does
	polled    time.Time        // when the store was last asked for deliveries that other nodes put
	fed       time.Time        // when the relay of this node last handed over a delivery
	readAt    time.Time        // the store is not read before, since the last read failed
	ended     chan attemptDone // buffered for all attempts that can run at once
	confirmed time.Time        // when the store last said that the job is this node's; only the recorder touches it after the start

	inbox inbox
	slot  slotState
}

// attemptDone is the result of an attempt at the first delivery of a line.
type attemptDone struct {
	line   *orderedDeliveries
	result attemptResult
}

// inbox is what other goroutines leave for a session: the relay, the recorder, and Service.Wake. mu guards all but
// wake.
type inbox struct {
	mu      sync.Mutex
	rows    []store.PlacedDelivery // deliveries that were just stored, in their order
	unread  bool                   // the store has deliveries that are not in rows
	changed bool                   // the webhook itself may have been changed
	lost    bool                   // another node has the job, or it was removed
	written int                    // outcomes that were written since the session last looked
	done    [urgencies]int         // of these, the ones that ended a delivery
	wake    chan struct{}          // one slot: several changes may give one signal
}

// ring wakes the session. It never blocks.
func (in *inbox) ring() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// put changes the inbox and wakes its session.
func (in *inbox) put(change func(*inbox)) {
	in.mu.Lock()
	change(in)
	in.mu.Unlock()
	in.ring()
}

// run sends until nothing waits, until others need the place, or until ctx ends, which interrupts the attempts in
// flight. It returns when the webhook's next
// session is to begin: the zero time if nothing waits.
func (x *session) run(ctx context.Context) (next time.Time) {
	defer x.close()
	timer := time.NewTimer(x.pollEvery)
	defer timer.Stop()
	stopping, done := x.stopping, ctx.Done()
	var tooLong <-chan time.Time
	for {
		// Take what others left, then read, then send. None of it waits for a receiver.
		x.takeIn()
		x.wakeLines(time.Now()) // whatever woke the loop: while events keep coming, the timer may never be the one
		x.giveWay(ctx)
		if ctx.Err() == nil && !x.stopped {
			x.fill(ctx)
			x.pump(ctx)
		}
		// Wait for the first of: the end, something in the inbox, the end of an attempt, or the time of a line.
		wait, next, over := x.rest(ctx, time.Now())
		if over {
			return next
		}
		if ctx.Err() != nil && x.inFlight+x.unwritten == 0 {
			return x.Now()
		}
		timer.Reset(wait)
		select {
		case <-done: // attempts end with ctx: what is left is to write their outcomes, if the store can
			done, tooLong = nil, time.After(lastWrites)
		case <-tooLong:
			return x.Now()
		case <-stopping:
			x.stopped, stopping = true, nil
		case <-x.record.over:
			return x.Now() // the recorder has ended: the store takes no more writes
		case <-x.inbox.wake:
		case a := <-x.ended:
			x.attemptEnded(a)
			for range len(x.ended) { // attempts that ended meanwhile
				x.attemptEnded(<-x.ended)
			}
		case <-timer.C:
		}
	}
}

// giveWay stops a session that has had its turn, if others wait for its place. It then begins no attempt. When those
// in flight have ended, its job goes behind the jobs of the others.
func (x *session) giveWay(ctx context.Context) {
	if x.job == nil || x.stopped || time.Since(x.begun) < turn {
		return
	}
	if x.givesWay = x.places.yields(ctx, x.owner); x.givesWay {
		x.stopped = true
	}
}

// rest returns how long the session has nothing to do but wait. Or it returns over, with the time when the next
// session is to begin. Unless another node has the job, a session does not end while an attempt
// runs or an outcome is unwritten.
func (x *session) rest(ctx context.Context, now time.Time) (wait time.Duration, next time.Time, over bool) {
	due := x.nextDue(now)
	switch {
	// Another node has the job: there is nothing to end here.
	case x.isLost():
		return 0, time.Time{}, true
	case x.inFlight+x.unwritten > 0:
		x.idle = time.Time{}
	case x.stopped && len(x.lines) > 0:
		return 0, x.Now(), true
	case x.stopped:
		return 0, time.Time{}, true
	// Something waits. The session ends if its place is needed, or if the wait is longer than patience.
	case len(x.lines) > 0:
		x.idle = time.Time{}
		if x.job != nil && !x.blocked && !due.IsZero() && (x.places.crowded(ctx, x.owner) || due.Sub(now) > patience && !x.until.After(now)) {
			return 0, x.Now().Add(due.Sub(now)), true
		}
	case x.gone && x.job != nil:
		return 0, time.Time{}, true
	case x.readAt.After(now):
		due = x.readAt
	// Nothing waits: stay for linger, in case more events come.
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

// nextDue returns when the next waiting delivery may be sent. The zero time means that this depends on others: on the
// end of an attempt, or on a slot.
func (x *session) nextDue(now time.Time) time.Time {
	due := x.wakeAt
	if x.until.After(now) && (due.IsZero() || x.until.Before(due)) {
		due = x.until
	}
	return due
}

// lose tells the session that another node has the job. What it still sends is not written.
func (x *session) lose() { x.inbox.put(func(in *inbox) { in.lost = true }) }

// isLost reports whether another node has the job.
func (x *session) isLost() bool {
	x.inbox.mu.Lock()
	defer x.inbox.mu.Unlock()
	return x.inbox.lost
}

// takeIn empties the inbox. Outcomes that were written make room in the window: a delivery counts as held until then.
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
		x.until = time.Time{} // if the webhook was turned off, what waits for the hourly limit is dead-lettered now
	}
	if len(rows) > 0 {
		x.fed = time.Now()
	}
	for _, row := range rows {
		x.handed(row)
	}
}

// handed takes up a delivery as it was stored. The store is read instead if nothing was read yet, if the window is
// full, or if a delivery that was stored before this one is not known here: order comes first.
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

// addRow takes a delivery into memory, behind the others of its line.
func (x *session) addRow(row store.Delivery) {
	if l := x.add(row); l.state == idle && len(l.items) == 1 {
		x.arm(l, x.due(row))
	}
}

// due is how long a delivery that was read has to wait: what is left of the pause after its last attempt. It is never
// more than that pause, since the clock may have been set meanwhile. Before a first attempt there is no pause.
func (x *session) due(row store.Delivery) time.Duration {
	return min(row.NextAt.Sub(x.Now()), row.Pause)
}

// arm schedules the first delivery of an idle line, now or after a wait.
func (x *session) arm(l *orderedDeliveries, wait time.Duration) {
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

// wakeLines makes the lines ready whose time has come, in the order of their times.
func (x *session) wakeLines(now time.Time) {
	if x.wakeAt.IsZero() || x.wakeAt.After(now) {
		return
	}
	var due []*orderedDeliveries
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
	slices.SortFunc(due, func(a, b *orderedDeliveries) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.items[0].Seq, b.items[0].Seq))
	})
	for _, l := range due {
		x.markReady(l)
	}
}

// window is how many deliveries of an urgency the session may hold in memory now. It shrinks while the node as a
// whole holds many (maxHeld).
func (x *session) window() int {
	if x.inMemory.Load()+int64(urgencies*fullWindow) > maxHeld {
		return smallWindow
	}
	return fullWindow
}

// fill reads more of what waits into memory, if there is room for enough of it. A failed read is repeated after
// readAgain.
func (x *session) fill(ctx context.Context) {
	now := time.Now()
	// While the relay of this node hands over deliveries, other nodes hardly store any: one node relays. What they do
	// store is then read with the next delivery that is handed over (PlacedDelivery.Behind), so it is asked for less
	// often.
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

// load reads what waits behind the last delivery that was read of each urgency, as much as room says. Memory is
// reserved before the read, so that many sessions that read at once stay within maxHeld.
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
		// A webhook that is gone or damaged ends the session: nothing can be sent to it.
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
	// Give back what was reserved and not used.
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

// configure takes from a webhook how it is to be treated. One that failed before begins with its failures, so that an
// outage that goes on costs one attempt at a time (tripAt).
func (x *session) configure(tx store.Tx, hook wallet.Webhook) {
	x.known = true
	if hook.Listener {
		x.width = 1                                                               // one connection
		x.owner = wallet.UserID(cmp.Or(string(hook.Owner), string(hook.Lineage))) // shares the slots of this owner
	}
	if health, err := tx.WebhookHealth(x.id); err == nil && !health.FailingSince.IsZero() {
		x.failures = health.Failures
	}
}

// pump starts attempts until the queue has nothing to send now, or no slot is free. Each attempt has a goroutine.
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
		// Without a slot the line goes back to its place. slots wakes the session when it has one.
		if x.blocked = !x.slots.take(x); x.blocked {
			x.putBack(l)
			return
		}
		// A newer balance or price makes the waiting older ones pointless.
		for _, old := range l.skip() {
			x.write(outcome{delivery: old.Delivery, state: store.DeliverySuperseded})
		}
		first := l.items[0].Delivery
		x.busy.Go(func() {
			result := x.attempt(ctx, first)
			x.slots.release(x.owner)
			x.ended <- attemptDone{l, result} // never blocks: the channel has room for all attempts
		})
	}
}

// attemptEnded takes the result of an attempt: it hands the outcome to the recorder, and schedules the line's next
// delivery, or the same one again.
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

// adapt adjusts the pace of the webhook to an attempt: its share of the hourly limit, its failures in a row, and how
// many attempts may run at once.
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

// recordAttempt hands the outcome of an attempt to the recorder. There is none if nothing was sent, or if nobody
// knows whether it was. Of a first attempt that was interrupted, what is written is that it was counted.
func (x *session) recordAttempt(a attemptDone) {
	first := a.line.items[0]
	switch {
	case a.result.delivery.Counted && !first.Counted:
		x.write(outcome{delivery: a.result.delivery, state: store.DeliveryWaiting})
		return
	case a.result.err != nil || a.result.overLimit():
		return
	}
	if a.result.attempt != nil {
		first.attempted = append(first.attempted, *a.result.attempt)
	}
	x.write(outcome{delivery: a.result.delivery, state: a.result.state, attempted: first.attempted,
		sent: a.result.attempt != nil, gone: a.result.gone})
}

// write hands an outcome to the recorder. The session stays until the recorder has written it.
func (x *session) write(o outcome) {
	o.of, o.at = x, x.Now().UTC()
	x.unwritten++
	x.record.add(o)
}

// close gives back what the session had of shared things: slots, memory, its place.
func (x *session) close() {
	x.slots.leave(x)
	held := 0
	for _, n := range x.held {
		held += n
	}
	x.inMemory.Add(-int64(held))
	x.forget(x)
}

// end ends the webhook's job, in the Update that ends the session. While anything waits, the job stays, behind those
// of the owner's other webhooks. The look at the store is in this Update: a delivery that was put since the last read
// is seen here, or its Update comes later and puts the job again.
func (x *session) end(tx store.Tx, ref store.Ref, next time.Time) error {
	for u := range urgencies {
		if !next.IsZero() && !next.After(x.Now()) || x.gone {
			break
		}
		unread, err := tx.DeliveriesOf(x.id, store.Position{Urgency: store.Urgency(u), Seq: x.read[u]}, 1)
		if err != nil {
			return err
		}
		if len(unread) > 0 { // put since the last read
			next = x.Now()
		}
	}
	switch {
	case next.IsZero():
		return tx.DoneJobs(ref)
	case !next.After(x.Now()): // zero means at once, even if the clock is set back meanwhile
		next = time.Time{}
	}
	return tx.YieldJobs(next, ref)
}
