package records

import (
	"slices"
	"sync"

	"purser/wallet"
)

// recentEvents are the outbox events that this process has emitted and not relayed yet, by their number. The relay reads
// each event soon after its commit: what it finds here need not be decrypted and decoded again. It only saves work: which
// events wait is read from the database each time, and an event that is not here is read from its row. Any goroutine may
// use it.
type recentEvents struct {
	mu    sync.Mutex
	all   map[uint64]wallet.Event
	order []uint64 // the oldest first; may name some that are gone: at most 2*maxRecent in all
	bytes int      // of their data
}

// The bounds of recentEvents. The oldest goes first: another node may have relayed it.
const (
	maxRecent      = 4096
	maxRecentBytes = 8 << 20
)

// numberedEvent is an event with its number in the outbox.
type numberedEvent struct {
	number uint64
	event  wallet.Event
}

// add keeps events whose commit succeeded.
func (r *recentEvents) add(events []numberedEvent) {
	if len(events) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[uint64]wallet.Event{}
	}
	for _, e := range events {
		r.all[e.number] = e.event
		r.order = append(r.order, e.number)
		r.bytes += len(e.event.Data)
	}
	for len(r.all) > maxRecent || r.bytes > maxRecentBytes {
		r.remove(r.order[0])
		r.order = r.order[1:]
	}
	// One that stays at the front must not keep the places of those that came and went behind it.
	if len(r.order) > 2*maxRecent {
		r.order = slices.DeleteFunc(r.order, func(number uint64) bool { _, here := r.all[number]; return !here })
	}
}

// remove forgets one event. r.mu is held.
func (r *recentEvents) remove(number uint64) {
	if e, ok := r.all[number]; ok {
		r.bytes -= len(e.Data)
		delete(r.all, number)
	}
}

// get returns an event, if it is here.
func (r *recentEvents) get(number uint64) (wallet.Event, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.all[number]
	return e, ok
}

// done forgets events that were relayed.
func (r *recentEvents) done(numbers []uint64) {
	if len(numbers) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, number := range numbers {
		r.remove(number)
	}
	// What is gone leaves the front of the order, so that it does not grow.
	for len(r.order) > 0 {
		if _, ok := r.all[r.order[0]]; ok {
			break
		}
		r.order = r.order[1:]
	}
}
