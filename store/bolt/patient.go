package bolt

import (
	"sync"
	"sync/atomic"
	"time"
)

// patient holds Updates that may wait for the commit of others.
type patient struct {
	patience time.Duration // for which the first of them waits at most; store.Patience outside of tests

	some atomic.Bool // there are any

	mu      sync.Mutex // guards what follows
	waiting []*pendingUpdate
	timer   *time.Timer // of the first of them
}

// add lets an Update wait. When the first one has waited long enough, hurry is called.
func (p *patient) add(j *pendingUpdate, hurry func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.timer = time.AfterFunc(p.patience, hurry)
	}
	p.waiting = append(p.waiting, j)
	p.some.Store(true)
}

// again has hurry called once more after a while, if any wait still.
func (p *patient) again(hurry func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		p.timer = time.AfterFunc(p.patience, hurry)
	}
}

// take appends all that wait to a batch.
func (p *patient) take(batch []*pendingUpdate) []*pendingUpdate {
	if !p.some.Load() {
		return batch
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	batch = append(batch, p.waiting...)
	clear(p.waiting)
	p.waiting = p.waiting[:0]
	p.timer.Stop()
	p.some.Store(false)
	return batch
}
