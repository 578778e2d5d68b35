package settle

import (
	"sync"
	"sync/atomic"
	"time"

	"purser/wallet"
)

// watch is what is remembered of one transaction between two looks; a restart begins without it. Its mutex is held
// during a look: an attempt whose lease ran out may still be at work when the next begins.
type watch struct {
	sync.Mutex
	broadcastAt time.Time // when the bytes may be sent again
	searchAt    time.Time // when history may be searched again
	knownAt     time.Time // when the cheap poll last knew it, or watching began
	landedAt    time.Time // when it was first seen landed
	askedAt     time.Time // the owner's newest request that was followed
	troubles    int       // looks in a row in which it had some

	judged map[wallet.Signature]bool // of a request: mentions that need no second look
	found  []wallet.Signature        // of a request: what paid it at the last look, and was to be stored

	news chan struct{} // the chain hinted at it

	usedAt time.Time // by memory, under its lock
}

// memory holds the watches of the transactions that were looked at lately.
type memory struct {
	mu      sync.Mutex
	watches map[wallet.TransactionID]*watch
	hinted  map[wallet.Signature]*watch
	limit   int // how many there may be before the idle ones are dropped
}

// forgetAfter is how long a transaction that nobody looked at is remembered.
const forgetAfter = 10 * time.Minute

// of is what is remembered of a transaction.
func (m *memory) of(id wallet.TransactionID, now time.Time) *watch {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.watches[id]
	if w == nil {
		m.drop(now)
		w = &watch{knownAt: now, news: make(chan struct{}, 1)}
		m.watches[id] = w
	}
	w.usedAt = now
	return w
}

// drop makes room when there are twice as many as were in use the last time. m.mu is held.
func (m *memory) drop(now time.Time) {
	const small = 1024
	if m.watches == nil {
		m.watches, m.hinted, m.limit = map[wallet.TransactionID]*watch{}, map[wallet.Signature]*watch{}, small
	}
	if len(m.watches) < m.limit {
		return
	}
	for id, w := range m.watches {
		if now.Sub(w.usedAt) > forgetAfter {
			delete(m.watches, id)
		}
	}
	for signature, w := range m.hinted {
		if now.Sub(w.usedAt) > forgetAfter {
			delete(m.hinted, signature)
		}
	}
	m.limit = max(small, 2*len(m.watches))
}

// forget drops a transaction that has ended.
func (m *memory) forget(t wallet.TransactionID, signature wallet.Signature) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watches, t)
	delete(m.hinted, signature)
}

// hint has wake find a watch by its signature; false when it did so already.
func (m *memory) hint(signature wallet.Signature, w *watch) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hinted[signature] == w {
		return false
	}
	m.hinted[signature] = w
	return true
}

func (m *memory) wake(signature wallet.Signature) {
	m.mu.Lock()
	w := m.hinted[signature]
	m.mu.Unlock()
	if w == nil {
		return
	}
	select {
	case w.news <- struct{}{}:
	default: // it has not heard of the last one yet
	}
}

// counter counts what is in hand.
type counter struct{ n atomic.Int64 }

// enter counts one more, unless there are limit already.
func (c *counter) enter(limit int64) bool {
	if c.n.Add(1) <= limit {
		return true
	}
	c.n.Add(-1)
	return false
}

func (c *counter) leave() { c.n.Add(-1) }
