package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/store"
	"purser/work"
)

// testNodes runs three nodes over one database, kills and pauses them at random, and holds: every job is handled, none of a
// key out of order, none is committed twice, what a paused node ends too late writes nothing, and one node at a time
// leads. Time is a bubble's (testing/synctest).
func testNodes(t *testing.T, open Open) {
	for _, seed := range []uint64{1, 2, uint64(time.Now().UnixNano())} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t, t.TempDir())
				defer func() {
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				}()
				proves := seed <= 2 // a random course may be a quiet one
				c := &cluster{T: t, proves: proves, store: s, stores: [3]store.Store{s, besideOf(t, s), besideOf(t, s)}, random: rand.New(rand.NewPCG(seed, 1)), ended: map[work.Outcome]int{}, leading: map[*life]bool{}}
				c.run()
			})
		})
	}
}

const (
	nodeJobs  = 240
	nodeKeys  = 12
	nodeLease = 10 * time.Second
	longPause = 3 * time.Minute
)

// cluster is three nodes over one database, each with a Store of its own.
type cluster struct {
	*testing.T
	proves bool        // jobs must be lost and retried, and the leader must change: else the course shows nothing
	store  store.Store // the first of stores
	stores [3]store.Store
	random *rand.Rand // of the driver alone

	nodes [3]*life
	busy  sync.WaitGroup // everything that lives started

	mu      sync.Mutex
	ended   map[work.Outcome]int
	leading map[*life]bool
	led     int // how often somebody became the leader
}

// life is one node from its start until it is killed. It sees the store through a gate.
type life struct {
	store.Store
	node string
	pool *work.Pool
	stop context.CancelFunc
	dead chan struct{}

	mu   sync.Mutex
	gate chan struct{} // closed while the node runs
}

var errDead = errors.New("storetest: this node is dead")

// Update is the store's, as a process that can be paused or killed before it and after it would see it.
func (l *life) Update(ctx context.Context, change func(store.Tx) error) error {
	if !l.pass() {
		return errDead
	}
	err := l.Store.Update(ctx, change)
	if !l.pass() {
		return errDead
	}
	return err
}

// pass waits until the node runs, and tells whether it lives.
func (l *life) pass() bool {
	l.mu.Lock()
	gate := l.gate
	l.mu.Unlock()
	select {
	case <-gate:
	case <-l.dead:
	}
	select {
	case <-l.dead:
		return false
	default:
		return true
	}
}

func (l *life) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate = make(chan struct{})
}

func (l *life) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.gate)
}

func (l *life) paused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.gate:
		return false
	default:
		return true
	}
}

// chance is a source of chance that many goroutines may read.
type chance struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (c *chance) Read(into []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range into {
		into[i] = byte(c.r.Uint32())
	}
	return len(into), nil
}

// start begins a life of a node: what an earlier one held is released.
func (c *cluster) start(n int) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{Store: c.stores[n], node: fmt.Sprint("node ", n), stop: cancel, dead: make(chan struct{}), gate: make(chan struct{})}
	l.resume()
	c.nodes[n] = l
	update(c.T, c.stores[n], func(tx store.Tx) error { return tx.ReleaseNode(l.node) })
	l.pool = &work.Pool{Store: l, Queue: queue, Node: l.node, Width: 3, Window: 2, PerOwner: 4, Lease: nodeLease, Now: time.Now, Metrics: c,
		Schedule: work.Schedule{First: time.Second, Most: 4 * time.Second, Random: &chance{r: rand.New(rand.NewPCG(c.random.Uint64(), 2))}}, Grace: time.Second,
		Handle: c.handler(rand.New(rand.NewPCG(c.random.Uint64(), 3)))}
	leader := work.Leader{Store: l, Name: "leader", Node: l.node, Lease: nodeLease, Now: time.Now}
	c.busy.Go(func() { _ = l.pool.Run(ctx) }) // the error of a dead node
	c.busy.Go(func() {
		_ = leader.Run(ctx, func(ctx context.Context) error {
			c.mu.Lock()
			c.leading[l] = true
			c.led++
			c.mu.Unlock()
			<-ctx.Done()
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.leading, l)
			return nil
		})
	})
}

func (c *cluster) kill(n int) {
	close(c.nodes[n].dead)
	c.nodes[n].stop()
}

func (c *cluster) Claimed(store.Queue, int) {}

func (c *cluster) Ended(_ store.Queue, outcome work.Outcome, _, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[outcome]++
}

// handler takes a random time, heeding its ctx or not, and fails or panics now and then. What it commits notes in the
// store whether it was the turn of that job, and whether it was done before.
func (c *cluster) handler(r *rand.Rand) work.Handle {
	var mu sync.Mutex
	return func(ctx context.Context, job store.Job) (work.Result, error) {
		mu.Lock()
		wait, heeds, fails := time.Duration(r.Int64N(int64(3*time.Second))), r.IntN(2) == 0, r.IntN(20)
		mu.Unlock()
		cut := ctx.Done()
		if !heeds {
			cut = nil
		}
		select {
		case <-time.After(wait):
		case <-cut:
			return work.Result{}, ctx.Err()
		}
		switch fails {
		case 0:
			panic("as it happens")
		case 1, 2:
			return work.Result{}, errors.New("failed")
		}
		return work.Result{Commit: func(tx store.Tx) error { return commitInTurn(tx, job) }}, nil
	}
}

// numberOf is a small number in the store: a card's message.
func numberOf(tx store.Tx, name string) (int, error) {
	n, err := tx.Card(1, name)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return n, err
}

func count(tx store.Tx, name string) error {
	n, err := numberOf(tx, name)
	if err != nil {
		return err
	}
	return tx.PutCard(1, name, n+1, time.Time{})
}

// commitInTurn counts the jobs of a key, whose number each has in its body, and notes what must not happen.
func commitInTurn(tx store.Tx, job store.Job) error {
	want, err := strconv.Atoi(string(job.Body))
	if err != nil {
		return err
	}
	before, err := numberOf(tx, "key "+job.Key)
	if err != nil {
		return err
	}
	if before+1 != want {
		if err := count(tx, "out of order"); err != nil {
			return err
		}
	}
	return errors.Join(count(tx, "key "+job.Key), count(tx, "job "+string(job.ID)))
}

func (c *cluster) run() {
	for n := range c.nodes {
		c.start(n)
	}
	next := map[int]int{} // number of the last job of each key
	put := 0
	pausedUntil := map[int]time.Time{}
	deadUntil := map[int]time.Time{}
	for round := 0; put < nodeJobs || len(pausedUntil)+len(deadUntil) > 0; round++ {
		for some := 1 + c.random.IntN(6); some > 0 && put < nodeJobs; some-- {
			c.putOne(put, next)
			put++
		}
		if n := c.random.IntN(3); put < nodeJobs && pausedUntil[n].IsZero() && deadUntil[n].IsZero() {
			pause := time.Duration(c.random.Int64N(int64(3 * nodeLease)))
			if c.random.IntN(8) == 0 {
				pause = longPause // the queue takes no clock for slow that differs by less than a minute
			}
			switch c.random.IntN(5) {
			case 0:
				c.kill(n)
				deadUntil[n] = time.Now().Add(pause)
			case 1:
				c.nodes[n].pause()
				pausedUntil[n] = time.Now().Add(pause)
			}
		}
		time.Sleep(time.Duration(c.random.Int64N(int64(2 * time.Second))))
		for n := range c.nodes {
			if until, paused := pausedUntil[n]; paused && time.Now().After(until) {
				c.nodes[n].resume()
				delete(pausedUntil, n)
			}
			if until, dead := deadUntil[n]; dead && time.Now().After(until) {
				c.start(n)
				delete(deadUntil, n)
			}
		}
		synctest.Wait()
		c.oneLeader()
	}
	c.timeIsTrue()
	c.finish(next)
}

// timeIsTrue checks that no pause has moved the queue's time on: what was put to wait for three minutes is due then and
// not before, by any node's claim. The nodes go on meanwhile.
func (c *cluster) timeIsTrue() {
	time.Sleep(5 * time.Second)
	begin := time.Now()
	job := store.Job{ID: "waits", Queue: queue, At: begin, NotBefore: begin.Add(longPause), Body: []byte("1")}
	update(c.T, c.store, func(tx store.Tx) error { _, err := tx.PutJobs([]store.Job{job}, nil); return err })
	time.Sleep(longPause - time.Nanosecond)
	waits := get(c.T, c.store, func(tx store.Tx) (store.Job, error) { return tx.Job(queue, "waits") })
	same(c.T, "attempts at what waits for three minutes", waits.Attempt, 0)
}

// putOne puts the next job of a random key, at times with an offer of a node to take it at once.
func (c *cluster) putOne(number int, next map[int]int) {
	key := c.random.IntN(nodeKeys)
	next[key]++
	job := store.Job{ID: store.JobID(fmt.Sprint("job ", number)), Queue: queue, Key: fmt.Sprint(key), Owner: fmt.Sprint("owner ", key%4),
		At: time.Now(), Body: []byte(strconv.Itoa(next[key]))}
	var offer *store.Claim
	l := c.nodes[c.random.IntN(3)]
	if c.random.IntN(2) == 0 && !l.paused() {
		offer = l.pool.Offer()
	}
	var out []store.Job
	update(c.T, c.store, func(tx store.Tx) (err error) { out, err = tx.PutJobs([]store.Job{job}, offer); return err })
	if offer != nil && c.random.IntN(4) > 0 { // else it died between the commit and the hand-over
		l.pool.Hand(out)
	}
}

// oneLeader checks that no two nodes that run believe that they lead.
func (c *cluster) oneLeader() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var who []string
	for l := range c.leading {
		if !l.paused() && l.pass() {
			who = append(who, l.node)
		}
	}
	if len(who) > 1 {
		c.Errorf("%s lead at the same time", strings.Join(who, " and "))
	}
}

// finish lets the nodes go on undisturbed and checks what has become of all.
func (c *cluster) finish(next map[int]int) {
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	for _, l := range c.nodes {
		l.stop()
	}
	c.busy.Wait()
	same(c.T, "left", get(c.T, c.store, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue) }), store.JobStats{})
	view(c.T, c.store, func(tx store.Tx) error {
		number := func(name string) int {
			n, err := numberOf(tx, name)
			if err != nil {
				c.Error(err)
			}
			return n
		}
		same(c.T, "jobs out of order", number("out of order"), 0)
		for n := range nodeJobs {
			if times := number(fmt.Sprint("job job ", n)); times != 1 {
				c.Errorf("job %d was committed %d times", n, times)
			}
		}
		for key, last := range next {
			same(c.T, fmt.Sprint("of key ", key), number(fmt.Sprint("key ", key)), last)
		}
		return nil
	})
	if c.proves && (c.ended[work.Lost] == 0 || c.ended[work.Retried] == 0 || c.led < 2) {
		c.Errorf("nothing was proven: %v, %d leaders", c.ended, c.led)
	}
	c.Logf("%v, %d leaders", c.ended, c.led)
}
