// Package quota enforces limits: how often something may be done in any rolling span of time, on all nodes together,
// across restarts and crashes. It does not know who is limited, or what they do.
//
// A Meter counts what writes nothing else, such as requests that read. It needs no durable write for each count. A
// Direct limit is counted in the store transaction of the operation itself. Limits is the list of limits that operators
// set.
//
// How a Meter avoids writes: a node leases a part of a limit (its allowance, a twentieth) in one write and spends that
// from memory. Later it writes many counters at once, which also renews their leases. What other nodes have leased
// counts as spent, so no limit is exceeded however many nodes count. A counter that nobody uses any more is given back.
//
// When a node crashes, what it had leased counts as spent, once. So one crash within a span exceeds no limit, and each
// further crash of the same node can exceed it by at most the allowance. Many crashes lock nobody out, and a clean stop
// costs nothing.
package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"purser/store"
)

// Limit is how often something may be done in any span of this length. Slots make it inexact by up to a sixtieth of the
// span, always on the strict side.
type Limit struct {
	Count uint64
	Span  time.Duration // whole minutes: a slot is a sixtieth of it
	exact bool          // a slot is one second instead (Direct)
}

// slots is how many slots a span has.
const slots = 60

// slot is the length of a slot in seconds.
func (l Limit) slot() int64 {
	if l.exact {
		return 1
	}
	return int64(l.Span / time.Second / slots)
}

// allowance is how much of a limit a node leases at once, and so the most that it can spend without having written it.
func (l Limit) allowance() uint64 {
	const share = 20
	return max(1, l.Count/share)
}

// Quota is the state of a limit after one more was asked for, or after a look.
type Quota struct {
	OK        bool // one more was granted; after a look: would be granted
	Limit     uint64
	Remaining uint64
	Reset     time.Duration // until one more is free again; zero if nothing is spent
}

// Meter counts for one node. Each node of a store has a name of its own. Any number of goroutines may use a Meter.
type Meter struct {
	Store store.Store
	Node  string // this node's name, the same after a restart; "" is a name too
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time // wakes Run; nil: time.After
	Log   *slog.Logger

	once     sync.Once
	mu       sync.Mutex // guards what follows
	counters map[string]*counter
	dirty    map[string]struct{} // names of counters to be written
	wake     chan struct{}       // something is to be written
	writing  chan struct{}       // a lock with one slot, held while writing; taken before mu
	start    time.Time           // of this run
	run      int64               // names this run: nanoseconds of Unix time, later than every earlier run's
	known    atomic.Bool         // run was written, and start and run do not change any more
}

// counter is one limit's count in the memory of a node. Meter.mu guards it.
type counter struct {
	limit   Limit
	view                 // as it was last read or written
	read    int64        // when that was, in seconds of Unix time
	swept   int64        // when slots that do not count any more were last dropped from view, in seconds of Unix time
	spent   []store.Slot // counted here since then, oldest first
	saving  []store.Slot // the part of it that is being written now
	unsaved uint64       // sum of spent and saving
	granted uint64       // the lease: how much may be unsaved
	until   int64        // its end, in seconds of Unix time
	used    int64        // when it was last asked for, in seconds of Unix time
	fenced  bool         // a later run of this node has the lease
}

// writeEvery is how long counts gather before they are written.
const writeEvery = 500 * time.Millisecond

// closeAfter is how long a counter stays leased after its last use.
const closeAfter = leaseFor

// readAfter is the age, in seconds, of what is known of other nodes' leases at which a counter that has reached its
// limit is read again.
const readAfter = 1 // second

// init makes the maps and channels of a Meter, once.
func (m *Meter) init() {
	m.once.Do(func() {
		m.counters, m.dirty = map[string]*counter{}, map[string]struct{}{}
		m.wake, m.writing = make(chan struct{}, 1), make(chan struct{}, 1)
	})
}

// ErrReplaced says that a later process counts under this node's name. This process may not count any more.
var ErrReplaced = errors.New("quota: another process counts under this node's name: give each node a name of its own")

// Take counts one more under a name, unless the limit is reached (Quota.OK). It waits for a write if the counter was
// not used for a while, or if the lease is spent. Errors: the store's, ctx's, ErrReplaced.
func (m *Meter) Take(ctx context.Context, name string, limit Limit) (Quota, error) {
	return m.TakeAt(ctx, m.Now(), name, limit)
}

// TakeAt is Take for a caller that has just read Meter.Now itself.
func (m *Meter) TakeAt(ctx context.Context, now time.Time, name string, limit Limit) (Quota, error) {
	if err := m.Begin(ctx); err != nil {
		return Quota{}, err
	}
	for {
		quota, lease, err := m.take(ctx, m.secondsAt(now), name, limit)
		if err != nil || !lease {
			return quota, err
		}
		if err := m.lease(ctx, name); err != nil {
			return Quota{}, err
		}
		now = m.Now() // the write took its time
	}
}

// take counts, or returns lease if more must be leased first.
func (m *Meter) take(ctx context.Context, now int64, name string, limit Limit) (_ Quota, lease bool, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, now, err := m.counter(ctx, now, name, limit)
	if err != nil {
		return Quota{}, false, err
	}
	c.limit = limit // it may have another tier by now
	used, first := c.live(now)
	// Refuse, ask for a lease, or count.
	switch {
	case c.fenced:
		return Quota{}, false, ErrReplaced
	case used >= limit.Count && (c.other == 0 || now-c.read < readAfter):
		return c.quota(used, first, now), false, nil
	case used >= limit.Count || c.unsaved >= c.granted || now >= c.until || now < c.until-int64(leaseFor/time.Second):
		c.used = now
		m.dirty[name] = struct{}{}
		return Quota{}, true, nil
	}
	c.used = now
	first = c.count(first, now)
	m.dirty[name] = struct{}{}
	m.wakeUp()
	q := c.quota(used+1, first, now)
	q.OK = true
	return q, false, nil
}

// wakeUp tells Run that something is to be written.
func (m *Meter) wakeUp() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// lease writes all that is to be written, and so renews the lease of the counter. If another goroutine did so while
// this one waited, nothing is left to do.
func (m *Meter) lease(ctx context.Context, name string) error {
	select {
	case m.writing <- struct{}{}:
		defer func() { <-m.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m.mu.Lock()
	_, wanted := m.dirty[name]
	m.mu.Unlock()
	if !wanted {
		return nil
	}
	return m.write(context.WithoutCancel(ctx), false)
}

// Look returns the state of a limit and counts nothing.
func (m *Meter) Look(ctx context.Context, name string, limit Limit) (Quota, error) {
	if err := m.Begin(ctx); err != nil {
		return Quota{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, now, err := m.counter(ctx, m.seconds(), name, limit)
	if err != nil {
		return Quota{}, err
	}
	used, first := c.live(now)
	q := c.quota(used, first, now)
	q.OK = q.Remaining > 0
	return q, nil
}

// counter returns the counter of a name, and the time after it. It reads the row again if this node holds no lease: other
// nodes may have counted meanwhile. m.mu is held.
func (m *Meter) counter(ctx context.Context, now int64, name string, limit Limit) (*counter, int64, error) {
	c := m.counters[name]
	if c != nil && (c.unsaved > 0 || c.granted > 0 && now < c.until || now-c.read < readAfter && now >= c.read) {
		return c, now, nil
	}
	var row store.Counter
	err := m.Store.View(ctx, func(tx store.Tx) (err error) {
		if row, err = tx.Counter(name); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read the counter %s: %w", name, err)
	}
	if c == nil {
		c = &counter{}
		m.counters[name] = c
	}
	c.limit, c.view, c.read = limit, account{limit, now}.read(row, m.life()), now
	return c, m.seconds(), nil // the read may have waited
}

// life names this run of this node.
func (m *Meter) life() life { return life{m.Node, m.run} }

// live is how much of the limit is spent at now, by all nodes, as far as this node knows, and when the first of it leaves
// the span: 0 if nothing does.
func (c *counter) live(now int64) (used uint64, first int64) {
	a := account{c.limit, now}
	if c.swept != now { // once a second is enough: counts passes over what does not count
		c.slots, c.lost, c.swept = a.live(c.slots), a.live(c.lost), now
	}
	used = c.other
	for _, some := range [...][]store.Slot{c.slots, c.lost, c.saving, c.spent} {
		count, end := a.counts(some)
		used += count
		if first == 0 || end != 0 && end < first {
			first = end
		}
	}
	return used, first
}

// count counts one more at now, and returns when the first of all that is spent leaves the span. first was that before.
func (c *counter) count(first, now int64) int64 {
	a := account{c.limit, now}
	one := store.Slot{Start: floor(now, a.slot()), Count: 1}
	// In place: a write that failed, whose slots these may be, has ended.
	if last := len(c.spent) - 1; last >= 0 && c.spent[last].Start >= one.Start {
		c.spent[last].Count++
	} else {
		c.spent = append(c.spent, one)
	}
	c.unsaved++
	if first == 0 { // no other slot ends later than the newest
		first = a.ends(one)
	}
	return first
}

// quota is the Quota of a counter of which `used` is spent. first is when the first of it leaves the span; 0: nothing does.
func (c *counter) quota(used uint64, first, now int64) Quota {
	q := Quota{Limit: c.limit.Count, Remaining: c.limit.Count - min(used, c.limit.Count)}
	// Only other nodes' leases are in the way: these end soon.
	if first == 0 && c.other > 0 {
		first = now + int64(leaseFor/time.Second)
	}
	if first > 0 {
		q.Reset = time.Duration(first-now) * time.Second
	}
	return q
}

// Begin names this run of the node, once, durably, and later than every earlier run. Take and Look call it. So does
// main at the start, to see early that the store can be written.
func (m *Meter) Begin(ctx context.Context) error {
	m.init()
	if m.known.Load() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known.Load() { // by another goroutine meanwhile
		return nil
	}
	now := m.Now()
	var run int64
	err := m.Store.Update(ctx, func(tx store.Tx) error {
		name := tx.CounterName("quota", m.Node)
		row, err := tx.Counter(name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		run = now.UnixNano()
		for _, l := range row.Leases {
			run = max(run, l.Run+1) // the clock may have gone back
		}
		return tx.PutCounters([]store.Counter{{Name: name, Leases: []store.QuotaLease{{Node: m.Node, Run: run}}}})
	})
	if err != nil {
		return fmt.Errorf("begin to count: %w", err)
	}
	m.start, m.run = now, run
	m.known.Store(true)
	return nil
}

// seconds is now in seconds of Unix time. Within a run it follows the monotonic clock (time.Time's monotonic reading),
// so setting the machine's clock changes no limit.
func (m *Meter) seconds() int64 { return m.secondsAt(m.Now()) }

// secondsAt is seconds for a time of Meter.Now.
func (m *Meter) secondsAt(now time.Time) int64 {
	return m.start.Add(now.Sub(m.start)).Unix()
}

// Run writes counters until ctx ends, and then what is left. It returns an error only for store.ErrUnknownOutcome.
// Other errors are logged, and the write is tried again.
func (m *Meter) Run(ctx context.Context) error {
	m.init()
	after := m.After
	if after == nil {
		after = time.After
	}
	if err := m.Begin(ctx); store.IsFatal(err) {
		return err
	} else if err != nil && ctx.Err() == nil {
		m.Log.Warn("counting could not begin; trying again at the first request", "error", err)
	}
	for {
		var idle <-chan time.Time
		if m.anyLeased() {
			idle = after(closeAfter)
		}
		select {
		case <-ctx.Done():
			return m.flush(context.WithoutCancel(ctx), true)
		case <-idle:
		case <-m.wake:
			select {
			case <-ctx.Done():
			case <-after(writeEvery):
			}
		}
		if err := m.flush(context.WithoutCancel(ctx), false); store.IsFatal(err) {
			return err
		} else if err != nil {
			m.Log.Warn("counters could not be written; trying again", "error", err)
		}
	}
}

// anyLeased tells whether a counter has to be given back at some time.
func (m *Meter) anyLeased() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.counters {
		if c.granted > 0 {
			return true
		}
	}
	return false
}

// flush writes every counter that changed, gives back those that nobody uses (all of them if last), and forgets those
// that have nothing left in their span.
func (m *Meter) flush(ctx context.Context, last bool) error {
	m.writing <- struct{}{}
	defer func() { <-m.writing }()
	if err := m.write(ctx, last); err != nil {
		return fmt.Errorf("write counters: %w", err)
	}
	return nil
}

// saving is one counter on its way to the store.
type saving struct {
	account
	spent []store.Slot // to be added to the row
	count uint64       // their sum
	want  uint64       // how much to lease; 0: give back

	row     store.Counter // the result of merge, as committed
	granted uint64
	fenced  bool
}

// write is flush for a caller that holds writing.
func (m *Meter) write(ctx context.Context, last bool) error {
	all := m.toWrite(last)
	var err error
	if len(all) > 0 {
		err = m.Store.Update(ctx, func(tx store.Tx) error { return m.put(tx, all) })
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range all {
		c := m.counters[name]
		// Not written: what was taken out of memory goes back, for the next try.
		if err != nil {
			for _, later := range c.spent { // counted meanwhile
				c.saving = add(c.saving, later)
			}
			c.spent, c.saving = c.saving, nil
			m.dirty[name] = struct{}{}
			continue
		}
		c.unsaved -= s.count
		c.saving = nil
		c.view, c.read = s.read(s.row, m.life()), s.now
		c.granted, c.until, c.fenced = s.granted, s.now+int64(leaseFor/time.Second), s.fenced
	}
	if err != nil && len(m.dirty) > 0 {
		m.wakeUp()
	}
	now := m.seconds()
	maps.DeleteFunc(m.counters, func(name string, c *counter) bool {
		_, waits := m.dirty[name]
		used, _ := c.live(now)
		return !waits && c.unsaved == 0 && c.granted == 0 && used == 0
	})
	return err
}

// toWrite takes what is to be written out of memory.
func (m *Meter) toWrite(last bool) map[string]*saving {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.seconds()
	idle := func(c *counter) bool {
		return last || now-c.used >= int64(closeAfter/time.Second) || now < c.used
	}
	for name, c := range m.counters {
		if c.granted > 0 && idle(c) {
			m.dirty[name] = struct{}{}
		}
	}
	all := map[string]*saving{}
	for name := range m.dirty {
		c := m.counters[name]
		s := &saving{account: account{c.limit, now}, spent: c.spent, count: c.unsaved}
		if !idle(c) {
			s.want = c.limit.allowance()
		}
		c.spent, c.saving = nil, c.spent
		all[name] = s
	}
	m.dirty = map[string]struct{}{}
	return all
}

// put merges counters with their rows. It may run more than once, so it starts from s.spent each time.
func (m *Meter) put(tx store.Tx, all map[string]*saving) error {
	rows := make([]store.Counter, 0, len(all))
	for name, s := range all {
		row, err := tx.Counter(name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		s.row, s.granted, s.fenced = s.merge(row, m.life(), s.spent, s.want)
		s.row.Name = name
		rows = append(rows, s.row)
	}
	return tx.PutCounters(rows)
}
