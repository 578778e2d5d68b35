package api

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of one request: base, with an end at a time. Most requests are answered without waiting for
// anything, so the timer is made only when Done is called. Any goroutine may use it.
type deadline struct {
	base context.Context
	at   time.Time // when it ends

	// mu guards what follows.
	mu     sync.Mutex
	timed  context.Context // with a timer; nil until Done is called
	cancel context.CancelFunc
	over   bool // the request has ended
}

// Deadline implements context.Context.
func (d *deadline) Deadline() (time.Time, bool) { return d.at, true }

// Done implements context.Context.
func (d *deadline) Done() <-chan struct{} { return d.context().Done() }

// Err implements context.Context.
func (d *deadline) Err() error {
	d.mu.Lock()
	timed := d.timed
	d.mu.Unlock()
	switch {
	case timed != nil:
		return timed.Err()
	case d.base.Err() != nil:
		return d.base.Err()
	case !time.Now().Before(d.at):
		return context.DeadlineExceeded
	}
	return nil
}

// Value implements context.Context.
func (d *deadline) Value(key any) any { return d.base.Value(key) }

// context returns the context with a timer, which it makes at the first call.
func (d *deadline) context() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timed == nil {
		d.timed, d.cancel = context.WithDeadline(d.base, d.at)
		if d.over {
			d.cancel()
		}
	}
	return d.timed
}

// end stops the timer when the request has ended, and wakes what still waits.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.cancel != nil {
		d.cancel()
	}
}
