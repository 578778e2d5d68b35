package api

import (
	"context"
	"sync"
	"time"
)

// deadline is the context of one request: base, with an end. Most requests are answered without ever
// waiting for anything, so the timer is made when somebody asks for it.
type deadline struct {
	base context.Context
	at   time.Time

	mu     sync.Mutex
	timed  context.Context
	cancel context.CancelFunc
	over   bool
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

// end lets go of the timer; what still waits is notified.
func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.cancel != nil {
		d.cancel()
	}
}
