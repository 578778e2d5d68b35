// Package quota knows limits: how often something may be done in any rolling span of time, across
// restarts and crashes, without a durable write on the way of what is counted; and the list of them that
// operators set. A Meter refuses to know who is limited and what they do.
//
// Counts live in memory and are written behind, many at once. What a crash can lose of a counter is
// bounded (allowance), and after a crash every counter begins with that much spent: so a limit is never
// exceeded, and a clean stop costs nothing.
package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"purser/store"
)

// Limit is how often in any span. It is held to within a sixtieth of the span, on the strict side.
type Limit struct {
	Count uint64
	Span  time.Duration // whole minutes: a slot is a sixtieth of it
}

// slots is how many slots a span has.
const slots = 60

func (l Limit) slot() int64 { return int64(l.Span / time.Second / slots) }

// allowance is how much of a limit may be spent without having been written.
func (l Limit) allowance() uint64 {
	const share = 20
	return max(1, l.Count/share)
}

// Quota is what is left of a limit after one more was asked for, granted (OK) or not, or after a look.
type Quota struct {
	OK    bool
	Limit uint64
	Left  uint64
	Reset time.Duration // until one more is free again; zero when nothing is spent
}

// Meter counts. One of it runs for one store.
type Meter struct {
	Store store.Store
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time // wakes Run; nil: time.After
	Log   *slog.Logger

	once     sync.Once
	mu       sync.Mutex
	counters map[string]*counter
	dirty    map[string]struct{}
	wake     chan struct{} // something is to be written
	hurry    chan struct{} // somebody waits for that
	written  chan struct{} // closed and replaced after each writing
	start    time.Time     // of this run
	began    time.Time     // start, where the run before crashed; else zero
	known    bool          // began is decided
	failed   error         // of the last writing
}

// counter is one limit's count in memory.
type counter struct {
	limit   Limit
	slots   []store.Slot // oldest first
	unsaved uint64
	lost    uint64 // what a crash may have lost, and is counted as spent
}

// writeEvery is how long counts gather before they are written.
const writeEvery = 500 * time.Millisecond

// running is the name of the mark that tells a crash from a clean stop.
const running = "quota/running"

func (m *Meter) init() {
	m.once.Do(func() {
		m.counters, m.dirty = map[string]*counter{}, map[string]struct{}{}
		m.wake, m.hurry, m.written = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	})
}

// Take counts one more under a name, unless the limit is reached. It may wait for a write only where
// much was done at once. Errors are the store's, and ctx's.
func (m *Meter) Take(ctx context.Context, name string, limit Limit) (Quota, error) {
	m.init()
	if err := m.begin(ctx); err != nil {
		return Quota{}, err
	}
	for {
		quota, written, err := m.take(ctx, name, limit)
		if err != nil || written == nil {
			return quota, err
		}
		select {
		case m.hurry <- struct{}{}:
		default:
		}
		select {
		case <-written:
		case <-ctx.Done():
			return Quota{}, ctx.Err()
		}
		m.mu.Lock()
		err = m.failed
		m.mu.Unlock()
		if err != nil {
			return Quota{}, err
		}
	}
}

// take counts; a channel says that what was counted before must be written first.
func (m *Meter) take(ctx context.Context, name string, limit Limit) (Quota, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.counter(ctx, name, limit)
	if err != nil {
		return Quota{}, nil, err
	}
	if more := limit.allowance() - min(c.lost, limit.allowance()); c.lost > 0 && more > 0 { // another tier: more may have been lost
		c.slots, c.lost = append(c.slots, store.Slot{Start: floor(m.began.Unix(), limit.slot()), Count: more}), c.lost+more
	}
	c.limit = limit // it may have another tier by now
	now := m.seconds()
	used := c.live(now)
	if used >= limit.Count {
		return c.quota(used, now), nil, nil
	}
	if c.unsaved >= limit.allowance() {
		return Quota{}, m.written, nil
	}
	c.add(now)
	m.dirty[name] = struct{}{}
	select {
	case m.wake <- struct{}{}:
	default:
	}
	q := c.quota(used+1, now)
	q.OK = true
	return q, nil, nil
}

// Look is what is left of a limit; nothing is counted.
func (m *Meter) Look(ctx context.Context, name string, limit Limit) (Quota, error) {
	m.init()
	if err := m.begin(ctx); err != nil {
		return Quota{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.counter(ctx, name, limit)
	if err != nil {
		return Quota{}, err
	}
	now := m.seconds()
	q := c.quota(c.live(now), now)
	q.OK = q.Left > 0
	return q, nil
}

// counter is the one of a name, read if need be.
func (m *Meter) counter(ctx context.Context, name string, limit Limit) (*counter, error) {
	if c := m.counters[name]; c != nil {
		return c, nil
	}
	c, err := m.load(ctx, name, limit)
	if err == nil {
		m.counters[name] = c
	}
	return c, err
}

// load reads a counter. After a crash it begins with what may have been lost.
func (m *Meter) load(ctx context.Context, name string, limit Limit) (*counter, error) {
	c := &counter{limit: limit}
	err := m.Store.View(ctx, func(tx store.Tx) error {
		row, err := tx.Counter(name)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		c.slots = row.Slots
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the counter %s: %w", name, err)
	}
	if !m.began.IsZero() {
		c.lost = limit.allowance()
		c.slots = append(c.slots, store.Slot{Start: floor(m.began.Unix(), limit.slot()), Count: c.lost})
	}
	return c, nil
}

// floor is when the slot of a time begins.
func floor(at, width int64) int64 { return at - at%width }

// add counts one in the slot of now. A clock that went back counts in the newest slot.
func (c *counter) add(now int64) {
	start := floor(now, c.limit.slot())
	if last := len(c.slots) - 1; last >= 0 && c.slots[last].Start >= start {
		c.slots[last].Count++
	} else {
		c.slots = append(c.slots, store.Slot{Start: start, Count: 1})
	}
	c.unsaved++
}

// ends is when nothing of a slot is in the span any more.
func (c *counter) ends(s store.Slot) int64 {
	return s.Start + c.limit.slot() + int64(c.limit.Span/time.Second)
}

// live drops slots that are over, and sums up the rest.
func (c *counter) live(now int64) (used uint64) {
	for i := range c.slots { // of a clock that ran ahead
		c.slots[i].Start = min(c.slots[i].Start, floor(now, c.limit.slot()))
	}
	c.slots = slices.DeleteFunc(c.slots, func(s store.Slot) bool { return c.ends(s) <= now })
	for _, s := range c.slots {
		used += s.Count
	}
	return used
}

func (c *counter) quota(used uint64, now int64) Quota {
	q := Quota{Limit: c.limit.Count, Left: c.limit.Count - min(used, c.limit.Count)}
	if len(c.slots) > 0 {
		q.Reset = time.Duration(c.ends(c.slots[0])-now) * time.Second
	}
	return q
}

// begin finds out, once, whether the run before ended in a crash, and marks this one as running.
func (m *Meter) begin(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known {
		return nil
	}
	now := m.Now()
	var crashed bool
	err := m.Store.Update(ctx, func(tx store.Tx) error {
		mark, err := tx.Counter(running)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		crashed = len(mark.Slots) > 0
		return tx.PutCounters([]store.Counter{{Name: running, Slots: []store.Slot{{Start: now.Unix(), Count: 1}}}})
	})
	if err != nil {
		return fmt.Errorf("begin to count: %w", err)
	}
	if m.known, m.start = true, now; crashed {
		m.began = now
	}
	return nil
}

// seconds is now, by a clock that does not jump within a run where the system has one (time.Time's
// monotonic reading): whoever sets the machine's clock changes no limit.
func (m *Meter) seconds() int64 {
	return m.start.Add(m.Now().Sub(m.start)).Unix()
}

// Run writes what is counted until ctx ends, and then the rest. Its error is store.ErrUnknownOutcome;
// other trouble is logged and tried again.
func (m *Meter) Run(ctx context.Context) error {
	m.init()
	after := m.After
	if after == nil {
		after = time.After
	}
	if err := m.begin(ctx); errors.Is(err, store.ErrUnknownOutcome) {
		return err
	} else if err != nil && ctx.Err() == nil {
		m.Log.Warn("counting could not begin; trying again at the first request", "error", err)
	}
	for {
		select {
		case <-ctx.Done():
			return m.stop(context.WithoutCancel(ctx))
		case <-m.wake:
		}
		select {
		case <-ctx.Done():
		case <-m.hurry:
		case <-after(writeEvery):
		}
		if err := m.flush(context.WithoutCancel(ctx)); errors.Is(err, store.ErrUnknownOutcome) {
			return fmt.Errorf("write counters: %w", err)
		} else if err != nil {
			m.Log.Warn("counters could not be written; trying again", "error", err)
		}
	}
}

// stop writes the rest, with the mark of a clean end.
func (m *Meter) stop(ctx context.Context) error {
	if err := m.flush(ctx, store.Counter{Name: running}); err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	return nil
}

// flush writes every counter that changed, and others, and forgets those that are over.
func (m *Meter) flush(ctx context.Context, rows ...store.Counter) error {
	m.mu.Lock()
	now := m.seconds()
	saved := map[string]uint64{}
	for name := range m.dirty {
		c := m.counters[name]
		c.live(now)
		row := store.Counter{Name: name, Slots: slices.Clone(c.slots)}
		if n := len(c.slots); n > 0 {
			row.ExpiresAt = time.Unix(c.ends(c.slots[n-1]), 0).UTC()
			rows = append(rows, row)
		}
		saved[name] = c.unsaved
	}
	m.dirty = map[string]struct{}{}
	m.mu.Unlock()
	var err error
	if len(rows) > 0 {
		err = m.Store.Update(ctx, func(tx store.Tx) error { return tx.PutCounters(rows) })
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = err
	for name, n := range saved {
		if err == nil {
			m.counters[name].unsaved -= n
		} else {
			m.dirty[name] = struct{}{}
		}
	}
	if err != nil && len(m.dirty) > 0 {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
	maps.DeleteFunc(m.counters, func(name string, c *counter) bool {
		_, waits := m.dirty[name]
		return !waits && c.unsaved == 0 && len(c.slots) > 0 && c.live(now) == 0
	})
	close(m.written)
	m.written = make(chan struct{})
	return err
}
