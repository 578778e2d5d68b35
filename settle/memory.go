package settle

import (
	"sync"
	"sync/atomic"
	"time"

	"purser/wallet"
)

// watch caches what earlier looks learned of one transaction. It is not stored: a restart begins with an empty one.
//
// The mutex is held for a whole look. An attempt that lost its lease may still run when the next attempt begins, and the
// two must not use the fields at once.
type watch struct {
	sync.Mutex
	broadcastAt time.Time // earliest time of the next broadcast
	searchAt    time.Time // earliest time of the next search through history
	known       bool      // Statuses has known the transaction
	knownAt     time.Time // when that was last, or when watching began
	landedAt    time.Time // when it was first seen on chain; zero while it is not
	askedAt     time.Time // the owner's newest recheck request that was followed
	troubles    int       // failed looks in a row; sets the next wait (later)

	judged map[wallet.Signature]bool // for a payment request: signatures that need no second look
	found  []wallet.Signature        // for a payment request: payments of the last look, which may not be committed yet

	news chan struct{} // holds one token while a hint is waiting to be noticed

	usedAt time.Time // last look; guarded by memory.mu, not by the watch's own mutex
}

// memory holds the watches of recently examined transactions. mu guards its maps and watch.usedAt. The rest of a watch is
// guarded by the watch itself.
type memory struct {
	mu      sync.Mutex
	watches map[wallet.TransactionID]*watch
	hinted  map[wallet.Signature]*watch // watches by signature, for hints
	limit   int                         // size of watches at which unused ones are dropped
}

// forgetAfter is how long an unused watch is kept.
const forgetAfter = 10 * time.Minute

// of returns the watch of a transaction, and creates it if there is none. The caller locks it.
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

// drop removes unused watches once their number reaches limit, then sets limit to twice what is left. Each watch is so
// scanned a constant number of times on average. The caller holds m.mu.
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

// forget drops the watch of a transaction that is closed.
func (m *memory) forget(t wallet.TransactionID, signature wallet.Signature) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.watches, t)
	delete(m.hinted, signature)
}

// hint registers a watch under its signature, so that wake finds it. It returns false if it was registered already, which
// means that the chain is watching the signature too.
func (m *memory) hint(signature wallet.Signature, w *watch) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hinted[signature] == w {
		return false
	}
	m.hinted[signature] = w
	return true
}

// wake tells the look that holds a signature's watch about a hint. It never blocks, and drops hints that nobody waits
// for.
func (m *memory) wake(signature wallet.Signature) {
	m.mu.Lock()
	w := m.hinted[signature]
	m.mu.Unlock()
	if w == nil {
		return
	}
	select {
	case w.news <- struct{}{}:
	default: // a hint is already waiting, and one is enough
	}
}

// counter limits how many jobs are kept between polls.
type counter struct{ n atomic.Int64 }

// enter takes one of limit places. It returns false when all are taken. The caller gives its place back with leave.
func (c *counter) enter(limit int64) bool {
	if c.n.Add(1) <= limit {
		return true
	}
	c.n.Add(-1)
	return false
}

// leave gives back a place that enter took.
func (c *counter) leave() { c.n.Add(-1) }
