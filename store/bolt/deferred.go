package bolt

import (
	"sync"
	"sync/atomic"
	"time"
)

// deferred holds Updates that may wait for the commit of others.
type deferred struct {
	limit time.Duration // for which the first of them waits at most; store.DeferFor outside of tests

	some atomic.Bool // there are any

	mu      sync.Mutex // guards what follows
	waiting []*pendingUpdate
	timer   *time.Timer // of the first of them
}

// add lets an Update wait. When the first one has waited long enough, commitDeferred is called.
func (d *deferred) add(u *pendingUpdate, commitDeferred func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, u)
	d.some.Store(true)
	// The timer comes last: when it fires, take must find the Update. Otherwise an Update could wait for ever.
	if len(d.waiting) == 1 {
		d.timer = time.AfterFunc(d.limit, commitDeferred)
	}
}

// again has commitDeferred called once more after a while, if any wait still.
func (d *deferred) again(commitDeferred func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) > 0 {
		d.timer = time.AfterFunc(d.limit, commitDeferred)
	}
}

// take appends all that wait to a batch.
func (d *deferred) take(batch []*pendingUpdate) []*pendingUpdate {
	if !d.some.Load() {
		return batch
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	batch = append(batch, d.waiting...)
	clear(d.waiting)
	d.waiting = d.waiting[:0]
	d.timer.Stop()
	d.some.Store(false)
	return batch
}
