package webhooks

import (
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// Bounds of what one session holds in memory and sends at once.
const (
	urgencies = int(store.Prices) + 1
	// fullWindow is how many deliveries of one urgency a session holds in memory. The rest stays in the store. While the
	// node as a whole holds too many (maxHeld), the bound is smallWindow.
	fullWindow, smallWindow = 512, 16
	// width is how many attempts to one webhook may run at once. The bound is slowWidth for a receiver that takes one second
	// (slow) to answer, and verySlowWidth for one that takes five (verySlow).
	width, slowWidth, verySlowWidth = 64, 16, 4
	slow, verySlow                  = time.Second, 5 * time.Second
	// tripAt is how many failed attempts in a row make a webhook count as broken. A broken webhook gets one attempt at a
	// time, and no delivery gets its first attempt while another one waits for a retry. So an outage does not use up the
	// attempts of deliveries that arrive during it.
	tripAt = 10
)

// queue is the part of one webhook's waiting deliveries that is in memory: a window on the store, in sending order. The
// more urgent deliveries go first. Within an urgency, deliveries with the same ordering key form a line and go one after the
// other, while lines do not wait for each other. A queue belongs to the goroutine of its session, so it has no lock.
type queue struct {
	lines map[lineKey]*orderedDeliveries
	ready [urgencies][]*orderedDeliveries // lines whose first delivery may be sent now

	read [urgencies]uint64 // how far each urgency has been read: the Seq of the last one
	held [urgencies]int    // deliveries in memory; each counts until its outcome is in the store
	more [urgencies]bool   // the store may hold deliveries behind read

	inFlight int       // attempts that run now
	width    int       // how many attempts may run at once
	failures int       // attempts that failed in a row
	left     int       // deliveries left of the hourly limit, by the last attempt; no more attempts than these run at once
	until    time.Time // before this time only what was counted is sent: the hourly limit is reached
}

// lineKey identifies a line: one ordering key within one urgency.
type lineKey struct {
	key     string // store.Delivery.OrderingKey
	urgency store.Urgency
}

// orderedDeliveries is a line: deliveries that must arrive in order, so only its first one may have an attempt running. It
// exists while it has deliveries.
type orderedDeliveries struct {
	lineKey
	items []*item // in sending order; an attempt of the first one may be running
	state lineState
	at    time.Time // when a sleeping line wakes
}

// lineState is where the first delivery of a line stands: not scheduled yet (idle), listed in queue.ready (ready), with an
// attempt running (inFlight), or waiting for its time (sleeping).
type lineState int

const (
	idle lineState = iota
	ready
	inFlight
	sleeping
)

// item is one delivery in memory.
type item struct {
	store.Delivery
	attempted []store.Attempt // attempts made by this process; earlier ones are in the delivery log
}

// newQueue returns an empty queue. It assumes that the store has deliveries of every urgency, so the first fill reads all.
func newQueue() queue {
	return queue{lines: map[lineKey]*orderedDeliveries{}, more: everyUrgency(), left: 1, width: width}
}

// everyUrgency returns true for each urgency.
func everyUrgency() [urgencies]bool { return [urgencies]bool{true, true, true} }

// room returns how many deliveries of each urgency fit into a window of size. worth is false until half of a window that has
// more to read is empty: many small reads would cost more than one large one.
func (q *queue) room(size int) (room [urgencies]int, worth bool) {
	for u := range room {
		if q.more[u] {
			room[u] = max(0, size-q.held[u])
			worth = worth || room[u] >= size/2
		}
	}
	return room, worth
}

// add appends a delivery to its line and returns the line. Deliveries of one urgency must be added by rising Seq, because
// the next read begins behind the last Seq that was added.
func (q *queue) add(d store.Delivery) *orderedDeliveries {
	q.read[d.Urgency] = d.Seq
	q.held[d.Urgency]++
	key := lineKey{d.OrderingKey, d.Urgency}
	l := q.lines[key]
	if l == nil {
		l = &orderedDeliveries{lineKey: key}
		q.lines[key] = l
	}
	l.items = append(l.items, &item{Delivery: d})
	return l
}

// supersedes reports whether newer makes older pointless: both report the same balance or price, and older was never
// attempted. A delivery that somebody asked to resend is always sent.
func supersedes(newer, older store.Delivery) bool {
	return older.Event == newer.Event && older.User == newer.User && older.Attempts == 0 && !older.Resend && !newer.Resend &&
		(older.Event == wallet.BalanceUpdated || older.Event == wallet.PriceSignificantChange)
}

// skip removes the deliveries at the front of a line that the next one supersedes, and returns them. The caller records them
// as superseded.
func (l *orderedDeliveries) skip() (skipped []*item) {
	for len(l.items) > 1 && supersedes(l.items[1].Delivery, l.items[0].Delivery) {
		skipped = append(skipped, l.items[0])
		l.items = l.items[1:]
	}
	return skipped
}

// markReady puts a line behind the other ready lines of its urgency.
func (q *queue) markReady(l *orderedDeliveries) {
	l.state = ready
	q.ready[l.urgency] = append(q.ready[l.urgency], l)
}

// next returns the line whose first delivery is to be sent now, marked as in flight. It returns nil if none may be sent. The
// caller starts the attempt, or calls putBack.
func (q *queue) next(now time.Time) *orderedDeliveries {
	broken := q.failures >= tripAt
	switch {
	case q.inFlight >= min(q.width, max(1, q.left)), broken && q.inFlight > 0:
		return nil
	}
	// Urgencies are numbered from the most urgent. A line whose first attempt has to wait is passed over and keeps its place.
	for u := range q.ready {
		for i, l := range q.ready[u] {
			first := l.items[0].Delivery
			if !wasCounted(first) && q.until.After(now) || first.Attempts == 0 && broken && q.waitsForAttempt() {
				continue
			}
			q.ready[u] = append(q.ready[u][:i], q.ready[u][i+1:]...)
			q.inFlight++
			l.state = inFlight
			return l
		}
	}
	return nil
}

// putBack undoes next: the line is the first of its urgency again.
func (q *queue) putBack(l *orderedDeliveries) {
	q.inFlight--
	l.state = ready
	q.ready[l.urgency] = slices.Insert(q.ready[l.urgency], 0, l)
}

// waitsForAttempt reports whether any delivery waits for a retry.
func (q *queue) waitsForAttempt() bool {
	for _, l := range q.lines {
		if l.state == sleeping || l.state == ready && l.items[0].Attempts > 0 {
			return true
		}
	}
	return false
}

// adaptWidth sets the width by the latency of the last attempt. A slow receiver may hold only a few of the slots that all
// webhooks of the node share.
func (q *queue) adaptWidth(latency time.Duration) {
	switch {
	case latency >= verySlow:
		q.width = verySlowWidth
	case latency >= slow:
		q.width = slowWidth
	default:
		q.width = width
	}
}

// finish removes the first delivery of a line, and the line itself when it is empty. The line is idle afterwards.
func (q *queue) finish(l *orderedDeliveries) {
	l.items = l.items[1:]
	if l.state = idle; len(l.items) == 0 {
		delete(q.lines, l.lineKey)
	}
}
