package webhooks

import (
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// How much of one webhook's line is in memory, and on its way.
const (
	urgencies = int(store.Prices) + 1
	// fullWindow is how many deliveries of one urgency are held at once; the rest stays in the store. Where very
	// many webhooks have much to be sent, it is smallWindow.
	fullWindow, smallWindow = 512, 16
	// width is how many are on their way to one webhook at once; fewer where its receiver is slow.
	width, slowWidth, verySlowWidth = 64, 16, 4
	slow, verySlow                  = time.Second, 5 * time.Second
	// tripAt is after how many failed attempts in a row a webhook is taken for broken. Then one delivery at a
	// time is on its way, and no new one is begun while another waits for its next attempt: what comes
	// meanwhile waits with all its attempts before it.
	tripAt = 10
)

// queue is a window of what waits for one webhook, in the order in which it goes.
type queue struct {
	lines map[lineKey]*line
	ready [urgencies][]*line // whose first may go now

	read [urgencies]uint64 // how far each urgency has been read: the Seq of the last one
	held [urgencies]int    // in memory, until it is written what became of them
	more [urgencies]bool   // the store may hold some that were not read

	inFlight int       // on their way
	width    int       // how many may be
	failures int       // attempts that failed in a row
	left     int       // of the limit of an hour, when that was last asked; where little is left, what goes first counts
	until    time.Time // none goes for the first time before: the limit of an hour is reached
}

// lineKey names a line: deliveries that keep their order.
type lineKey struct {
	key     string // store.Delivery.OrderingKey
	urgency store.Urgency
}

// line is a row of deliveries of which one at a time is on its way.
type line struct {
	lineKey
	items []*item // first to go first; the first one may be on its way
	state lineState
	at    time.Time // of one that sleeps: when it wakes
}

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
	attempted []store.Attempt // by this process
}

func newQueue() queue {
	return queue{lines: map[lineKey]*line{}, more: everyUrgency(), left: 1, width: width}
}

// everyUrgency marks all of them.
func everyUrgency() [urgencies]bool { return [urgencies]bool{true, true, true} }

// room is how many deliveries of each urgency are to be read on into windows of a size, and whether it is
// worth while: where few have left a full window, more are waited for.
func (q *queue) room(size int) (room [urgencies]int, worth bool) {
	for u := range room {
		if q.more[u] {
			room[u] = max(0, size-q.held[u])
			worth = worth || room[u] >= size/2
		}
	}
	return room, worth
}

// add puts a delivery that was read, or handed over, behind those of its line.
func (q *queue) add(d store.Delivery) *line {
	q.read[d.Urgency] = d.Seq
	q.held[d.Urgency]++
	key := lineKey{d.OrderingKey, d.Urgency}
	l := q.lines[key]
	if l == nil {
		l = &line{lineKey: key}
		q.lines[key] = l
	}
	l.items = append(l.items, &item{Delivery: d})
	return l
}

// supersedes reports whether a newer delivery says all that an older one would have said.
func supersedes(newer, older store.Delivery) bool {
	return older.Event == newer.Event && older.User == newer.User && older.Attempts == 0 && !older.Resend && !newer.Resend &&
		(older.Event == wallet.BalanceUpdated || older.Event == wallet.PriceSignificantChange)
}

// skip takes the deliveries from the front of a line that a later one of it supersedes.
func (l *line) skip() (skipped []*item) {
	for len(l.items) > 1 && supersedes(l.items[1].Delivery, l.items[0].Delivery) {
		skipped = append(skipped, l.items[0])
		l.items = l.items[1:]
	}
	return skipped
}

// markReady lets the first of a line go.
func (q *queue) markReady(l *line) {
	l.state = ready
	q.ready[l.urgency] = append(q.ready[l.urgency], l)
}

// next takes the line whose first goes next; nil when none may at now.
func (q *queue) next(now time.Time) *line {
	broken := q.failures >= tripAt
	switch {
	case q.inFlight >= min(q.width, max(1, q.left)), broken && q.inFlight > 0:
		return nil
	}
	for u := range q.ready {
		for i, l := range q.ready[u] {
			if l.items[0].Attempts == 0 && (q.until.After(now) || broken && q.waitsForAttempt()) {
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

// putBack undoes next.
func (q *queue) putBack(l *line) {
	q.inFlight--
	l.state = ready
	q.ready[l.urgency] = slices.Insert(q.ready[l.urgency], 0, l)
}

// waitsForAttempt reports whether a delivery that was attempted before waits for its next attempt.
func (q *queue) waitsForAttempt() bool {
	for _, l := range q.lines {
		if l.state == sleeping || l.state == ready && l.items[0].Attempts > 0 {
			return true
		}
	}
	return false
}

// adaptWidth adapts the width to how long a receiver takes: one that answers late may hold few of the slots that all
// share.
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

// finish takes the first of a line away, and the line with it when it was the last.
func (q *queue) finish(l *line) {
	l.items = l.items[1:]
	if l.state = idle; len(l.items) == 0 {
		delete(q.lines, l.lineKey)
	}
}
