// Package quota knows limits: how often something may be done in any rolling span of time, across
// restarts and crashes, without a durable write on the way of what is counted; and the list of them that
// operators set. A Meter refuses to know who is limited and what they do.
//
// Counts live in memory and are written behind, many at once. Before a counter is used it is opened: one write
// says how much of it a crash can lose (allowance). It is closed again when it was not used for a while. After a
// crash each counter that was open has that much counted as spent, once: a further crash does not add to it. So
// one crash in a span exceeds no limit, each further one can by the allowance at most, many crashes lock nobody
// out, and a clean stop costs nothing.
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
	run      int64         // its name: start in nanoseconds of Unix, and later than that of every run before
	crashed  []store.Slot  // runs that ended in a crash: each began at Start, in nanoseconds of Unix; oldest first
	known    bool          // crashed is
	failed   error         // of the last writing

	writing sync.Mutex // held by who writes
}

// counter is one limit's count in memory.
type counter struct {
	limit   Limit
	slots   []store.Slot // oldest first
	unsaved uint64
	open    uint64     // how much of it may be unsaved: so much is written as open
	used    int64      // when it was last asked for, in seconds
	lost    store.Slot // what a crash may have lost, and is counted as spent
}

// writeEvery is how long counts gather before they are written.
const writeEvery = 500 * time.Millisecond

// closeAfter is how long a counter stays open that nobody uses.
const closeAfter = 10 * time.Second

// running is the name of the mark that tells a crash from a clean stop: it holds the run that goes on, and those
// before it that ended in a crash.
const running = "quota/running"

// Crashed runs are remembered for as long as counters can know them: longer than the longest span, and not more
// than these.
const (
	crashesKept = 48 * time.Hour
	mostCrashes = 256
)

func (m *Meter) init() {
	m.once.Do(func() {
		m.counters, m.dirty = map[string]*counter{}, map[string]struct{}{}
		m.wake, m.hurry, m.written = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	})
}

// Take counts one more under a name, unless the limit is reached. It waits for a write where the counter was not
// used for a while, and where much was done at once. Errors are the store's, and ctx's.
func (m *Meter) Take(ctx context.Context, name string, limit Limit) (Quota, error) {
	m.init()
	if err := m.Begin(ctx); err != nil {
		return Quota{}, err
	}
	for {
		quota, closed, written, err := m.take(ctx, name, limit)
		if closed && err == nil {
			if err = m.openCounter(ctx, name, limit); err == nil {
				continue
			}
		}
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

// take counts. The counter may be closed, and must be opened first; or a channel says that what was counted before
// must be written first.
func (m *Meter) take(ctx context.Context, name string, limit Limit) (_ Quota, closed bool, written <-chan struct{}, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, err := m.counter(ctx, name, limit)
	if err != nil {
		return Quota{}, false, nil, err
	}
	c.limit = limit // it may have another tier by now
	now := m.seconds()
	used := c.live(now)
	if used >= limit.Count {
		return c.quota(used, now), false, nil, nil
	}
	c.used = now
	switch {
	case c.unsaved >= c.open && c.open < limit.allowance():
		return Quota{}, true, nil, nil
	case c.unsaved >= limit.allowance():
		return Quota{}, false, m.written, nil
	}
	c.add(now)
	m.dirty[name] = struct{}{}
	select {
	case m.wake <- struct{}{}:
	default:
	}
	q := c.quota(used+1, now)
	q.OK = true
	return q, false, nil, nil
}

// openCounter opens a counter for a limit, unless somebody else did meanwhile.
func (m *Meter) openCounter(ctx context.Context, name string, limit Limit) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	c := m.counters[name] // nil: forgotten meanwhile, and the caller reads it again
	wanted := c != nil && c.open < limit.allowance()
	if wanted {
		m.dirty[name] = struct{}{}
	}
	m.mu.Unlock()
	if !wanted {
		return nil
	}
	return m.write(context.WithoutCancel(ctx), false)
}

// Look is what is left of a limit; nothing is counted.
func (m *Meter) Look(ctx context.Context, name string, limit Limit) (Quota, error) {
	m.init()
	if err := m.Begin(ctx); err != nil {
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

// load reads a counter. Where it was open in a run that crashed, it begins with what may have been lost.
func (m *Meter) load(ctx context.Context, name string, limit Limit) (*counter, error) {
	c := &counter{limit: limit}
	var row store.Counter
	err := m.Store.View(ctx, func(tx store.Tx) (err error) {
		if row, err = tx.Counter(name); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the counter %s: %w", name, err)
	}
	c.slots, c.lost = row.Slots, row.Lost
	if row.Open.Start == m.run { // it was forgotten, and is still open
		c.open = row.Open.Count
		return c, nil
	}
	for i, run := range m.crashed {
		if run.Start != row.Open.Start {
			continue
		}
		end := m.run // at the latest it ended when the next one began
		if i+1 < len(m.crashed) {
			end = m.crashed[i+1].Start
		}
		c.lost = store.Slot{Start: floor(time.Unix(0, end).Unix(), limit.slot()), Count: row.Open.Count}
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
	c.lost.Start = min(c.lost.Start, floor(now, c.limit.slot()))
	if c.ends(c.lost) <= now {
		c.lost = store.Slot{}
	}
	return used + c.lost.Count
}

func (c *counter) quota(used uint64, now int64) Quota {
	q := Quota{Limit: c.limit.Count, Left: c.limit.Count - min(used, c.limit.Count)}
	first := int64(0)
	if len(c.slots) > 0 {
		first = c.ends(c.slots[0])
	}
	if end := c.ends(c.lost); c.lost.Count > 0 && (first == 0 || end < first) {
		first = end
	}
	if first > 0 {
		q.Reset = time.Duration(first-now) * time.Second
	}
	return q
}

// over is when nothing of a counter is in the span any more.
func (c *counter) over(now int64) int64 {
	last := now
	if n := len(c.slots); n > 0 {
		last = max(last, c.ends(c.slots[n-1]))
	}
	if c.lost.Count > 0 {
		last = max(last, c.ends(c.lost))
	}
	return last
}

// Begin finds out, once, which runs before ended in a crash, and marks this one as running, durably. Whatever needs
// it calls it; the start of the program does, to see that it can write.
func (m *Meter) Begin(ctx context.Context) error {
	m.init()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known {
		return nil
	}
	now := m.Now()
	var crashed []store.Slot
	run := now.UnixNano()
	err := m.Store.Update(ctx, func(tx store.Tx) error {
		mark, err := tx.Counter(running)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		crashed = remembered(mark.Slots, now)
		if n := len(crashed); n > 0 {
			run = max(run, crashed[n-1].Start+1) // the clock may have gone back
		}
		return tx.PutCounters([]store.Counter{{Name: running, Slots: append(slices.Clone(crashed), store.Slot{Start: run, Count: 1})}})
	})
	if err != nil {
		return fmt.Errorf("begin to count: %w", err)
	}
	m.known, m.start, m.run, m.crashed = true, now, run, crashed
	return nil
}

// remembered are the runs of a mark that counters can still know. A run ended when the next one began, and the last
// one lately.
func remembered(runs []store.Slot, now time.Time) []store.Slot {
	first := max(0, len(runs)-mostCrashes)
	for first+1 < len(runs) && now.Sub(time.Unix(0, runs[first+1].Start)) > crashesKept {
		first++
	}
	return runs[first:]
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
	if err := m.Begin(ctx); errors.Is(err, store.ErrUnknownOutcome) {
		return err
	} else if err != nil && ctx.Err() == nil {
		m.Log.Warn("counting could not begin; trying again at the first request", "error", err)
	}
	for {
		var idle <-chan time.Time
		if m.anyOpen() {
			idle = after(closeAfter)
		}
		select {
		case <-ctx.Done():
			return m.stop(context.WithoutCancel(ctx))
		case <-idle:
		case <-m.wake:
			select {
			case <-ctx.Done():
			case <-m.hurry:
			case <-after(writeEvery):
			}
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
	m.writing.Lock()
	defer m.writing.Unlock()
	if err := m.write(ctx, true); err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	return nil
}

// anyOpen tells whether a counter is to be closed some time.
func (m *Meter) anyOpen() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.counters {
		if c.open > 0 {
			return true
		}
	}
	return false
}

// flush writes every counter that changed, closes those that nobody uses, and forgets those that are over.
func (m *Meter) flush(ctx context.Context) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	return m.write(ctx, false)
}

// write is flush for who holds writing already; at the end of the run it also takes away its mark.
func (m *Meter) write(ctx context.Context, last bool) error {
	m.mu.Lock()
	now := m.seconds()
	for name, c := range m.counters {
		if c.open > 0 && c.unsaved == 0 && (now-c.used >= int64(closeAfter/time.Second) || now < c.used) {
			m.dirty[name] = struct{}{}
		}
	}
	type written struct{ counts, open uint64 }
	saved := map[string]written{}
	var rows []store.Counter
	for name := range m.dirty {
		c := m.counters[name]
		c.live(now)
		w := written{counts: c.unsaved}
		if c.unsaved > 0 || now-c.used < int64(closeAfter/time.Second) && now >= c.used {
			w.open = max(c.open, c.limit.allowance())
		} else if c.open > 0 {
			c.open = 0 // whoever comes now opens it again, after this write
		}
		row, over := store.Counter{Name: name, Slots: slices.Clone(c.slots), Lost: c.lost}, c.over(now)
		if w.open > 0 {
			row.Open, over = store.Slot{Start: m.run, Count: w.open}, max(over, c.ends(store.Slot{Start: now}))
		}
		row.ExpiresAt = time.Unix(over, 0).UTC()
		rows, saved[name] = append(rows, row), w
	}
	if last && m.known {
		rows = append(rows, store.Counter{Name: running, Slots: m.crashed})
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
	for name, w := range saved {
		if c := m.counters[name]; err == nil {
			c.unsaved -= w.counts
			c.open = w.open
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
		return !waits && c.unsaved == 0 && c.open == 0 && c.live(now) == 0
	})
	close(m.written)
	m.written = make(chan struct{})
	return err
}
