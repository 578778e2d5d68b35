package webhooks

import (
	"context"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// maxInFlight is how many deliveries are on their way at once, to all webhooks.
	maxInFlight = 2048
	// maxOfOwner is how many are on their way to the webhooks of one owner.
	maxOfOwner = 512
	// reservedForEach is how many of each owner go even while all slots are taken, as many again in all: nobody
	// waits for other people's slow receivers.
	reservedForEach = 16
	// maxHeld is how many are in memory, or about to be, before windows shrink.
	maxHeld = 32768
	// loadAtOnce is how many lines are read in one look into the store.
	loadAtOnce = 64
)

// dispatcher decides which delivery goes when. One goroutine owns all of it; what takes time (reading the
// store, sending, writing) is done by others, which report to it.
type dispatcher struct {
	*Service
	ctx context.Context // of what is read and sent

	queues   map[wallet.WebhookID]*queue
	owners   map[wallet.UserID]*owner
	inFlight int
	waiting  []*owner // could send, and wait for others to land
	held     int      // deliveries in memory, of all webhooks
	reserved int      // more that are just being read, at most
	alarms   alarms
	record   *recorder

	loads    chan []*load
	attempts chan attemptDone
	busy     sync.WaitGroup // goroutines that report
}

// attemptDone is how an attempt of the first of a line ended.
type attemptDone struct {
	line   *line
	result attemptResult
}

// dispatch sends what waits until ctx ends; what is on its way then has until cutoff ends.
func (s *Service) dispatch(ctx, cutoff context.Context, record *recorder) error {
	d := &dispatcher{Service: s, ctx: cutoff, queues: map[wallet.WebhookID]*queue{}, owners: map[wallet.UserID]*owner{}, record: record,
		loads: make(chan []*load, 64), attempts: make(chan attemptDone, 256)}
	waiting, err := s.waiting(ctx)
	if err != nil {
		return err
	}
	s.pending.add(waiting...)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(d.alarms.wait(time.Now()))
		select {
		case <-ctx.Done():
		case <-s.pending.signal():
			rows, ids := s.pending.take()
			d.handed(rows)
			d.want(ids)
		case all := <-d.loads:
			for _, l := range all {
				d.loaded(l)
			}
		case l := <-d.attempts:
			d.attemptEnded(l)
			for range len(d.attempts) { // those that ended meanwhile
				d.attemptEnded(<-d.attempts)
			}
		case done := <-record.written:
			d.released(done)
		case <-timer.C:
		}
		d.alarms.ring(time.Now())
	}
	return d.drain()
}

// drain waits for what is on its way, and hands it to the recorder.
func (d *dispatcher) drain() error {
	landed := make(chan struct{})
	go func() {
		d.busy.Wait()
		close(landed)
	}()
	for {
		select {
		case l := <-d.attempts:
			d.write(l)
		case <-d.loads:
		case <-d.record.written:
		case <-landed:
			for len(d.attempts) > 0 {
				d.write(<-d.attempts)
			}
			return nil
		}
	}
}

// queue of a webhook.
func (d *dispatcher) queue(id wallet.WebhookID) *queue {
	q := d.queues[id]
	if q == nil {
		q = newQueue(id)
		d.queues[id] = q
	}
	return q
}

// due is how long a delivery that was read has to wait: for what is left of the pause after its last attempt, and
// never for more, since the clock may have been set meanwhile. A first attempt has no pause before it.
func (d *dispatcher) due(row store.Delivery) time.Duration {
	return min(row.NextAt.Sub(d.Now()), row.Pause)
}

// arm lets the first of an idle line go, now or after a wait.
func (d *dispatcher) arm(l *line, wait time.Duration) {
	if wait <= 0 {
		l.markReady()
		return
	}
	l.state = sleeping
	l.queue.sleeping++
	d.alarms.set(time.Now().Add(wait), func() {
		l.queue.sleeping--
		l.markReady()
		d.pump(l.queue)
	})
}

// pump sends what a webhook may be sent now.
func (d *dispatcher) pump(q *queue) {
	if q.blocked {
		return
	}
	for {
		l := q.next(time.Now())
		if l == nil {
			return
		}
		if !d.hasSlot(q.owner) {
			q.putBack(l)
			q.blocked = true
			q.owner.blocked = append(q.owner.blocked, q)
			d.enlist(q.owner)
			return
		}
		for _, old := range l.skip() {
			d.record.add(outcome{delivery: old.Delivery, state: store.DeliverySuperseded, at: d.Now().UTC()})
		}
		d.inFlight++
		q.owner.inFlight++
		d.busy.Add(1)
		go func(first store.Delivery) {
			defer d.busy.Done()
			d.attempts <- attemptDone{l, d.attempt(d.ctx, first)}
		}(l.items[0].Delivery)
	}
}

// hasSlot tells whether there is a slot for one more of an owner.
func (d *dispatcher) hasSlot(o *owner) bool {
	return o.inFlight < maxOfOwner && (d.inFlight < maxInFlight || o.inFlight < reservedForEach && d.inFlight < 2*maxInFlight)
}

// serve lets queues of an owner go on who waited for a slot.
func (d *dispatcher) serve(o *owner) {
	for len(o.blocked) > 0 && d.hasSlot(o) {
		q := o.blocked[0]
		o.blocked = o.blocked[1:]
		q.blocked = false
		d.pump(q)
	}
	d.enlist(o)
}

// enlist has an owner wait for anybody's landing, if it is not their own that they wait for.
func (d *dispatcher) enlist(o *owner) {
	if len(o.blocked) > 0 && !o.waiting && o.inFlight < maxOfOwner {
		o.waiting = true
		d.waiting = append(d.waiting, o)
	}
}

// owner of webhooks.
func (d *dispatcher) owner(id wallet.UserID) *owner {
	o := d.owners[id]
	if o == nil {
		o = &owner{id: id}
		d.owners[id] = o
	}
	return o
}

// attemptEnded takes an attempt's end, and goes on with its line, with who waits longest for a slot, and with the
// webhook.
func (d *dispatcher) attemptEnded(l attemptDone) {
	q := l.line.queue
	d.inFlight--
	q.inFlight--
	q.owner.inFlight--
	d.write(l)
	d.adapt(q, &l.result)
	l.line.items[0].Delivery = l.result.delivery
	wait := l.result.wait
	if l.result.state != store.DeliveryWaiting {
		l.line.done()
		if len(l.line.items) > 0 {
			wait = d.due(l.line.items[0].Delivery)
		}
	}
	if len(l.line.items) > 0 {
		d.arm(l.line, wait)
	}
	for len(d.waiting) > 0 && d.inFlight < maxInFlight {
		o := d.waiting[0]
		d.waiting = d.waiting[1:]
		o.waiting = false
		d.serve(o)
	}
	d.pump(q)
	d.serve(q.owner)
	if l.result.missing {
		q.gone = true
		d.forget(q)
	}
}

// adapt takes from an attempt how its webhook is to be treated.
func (d *dispatcher) adapt(q *queue, f *attemptResult) {
	if f.limit.Limit > 0 {
		q.left = int(min(f.limit.Left, width))
	}
	switch {
	case f.overLimit():
		q.until = time.Now().Add(max(f.limit.Reset, time.Second))
		d.alarms.set(q.until, func() { d.pump(q) })
	case f.err != nil:
		f.wait = readAgain
	case f.state == store.DeliveryDelivered:
		q.failures = 0
	case f.attempt != nil:
		q.failures++
	}
	if f.attempt != nil && q.width > 1 {
		q.adaptWidth(f.attempt.Latency)
	}
}

// forget drops the queue of a webhook that is gone, when nothing of it is left.
func (d *dispatcher) forget(q *queue) {
	if q.gone && !q.loading && len(q.lanes) == 0 && q.held == [urgencies]int{} {
		delete(d.queues, q.id)
		if q.owner == nil {
			return
		}
		if q.owner.queues--; q.owner.queues == 0 {
			delete(d.owners, q.owner.id)
		}
	}
}

// write hands what an attempt came to to the recorder, unless it came to nothing.
func (d *dispatcher) write(l attemptDone) {
	if l.result.err != nil || l.result.overLimit() {
		return
	}
	first := l.line.items[0]
	if l.result.attempt != nil {
		first.attempted = append(first.attempted, *l.result.attempt)
	}
	d.record.add(outcome{delivery: l.result.delivery, state: l.result.state, attempted: first.attempted,
		sent: l.result.attempt != nil, gone: l.result.gone, at: d.Now().UTC()})
}

// released makes room: what became of these deliveries is written.
func (d *dispatcher) released(done []store.Delivery) {
	touched := map[wallet.WebhookID]bool{}
	for _, was := range done {
		d.queue(was.Webhook).held[was.Urgency]--
		touched[was.Webhook] = true
	}
	d.held -= len(done)
	for id := range touched {
		d.fill(d.queues[id])
		d.forget(d.queues[id])
	}
}
