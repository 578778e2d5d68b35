package webhooks

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// sessionsAtOnce is how many webhooks have a session on a node at once. sessionsOfOwner is how many webhooks of
	// one owner have one on all nodes together (store.Claim.PerOwner).
	sessionsAtOnce, sessionsOfOwner = 4096, 512
	// crowdedNode and crowdedOwner are how many sessions a node and an owner may have before the sessions that only
	// wait give up their place.
	crowdedNode, crowdedOwner = sessionsAtOnce / 2, sessionsOfOwner / 2
	// fewOfOwner is how many sessions of one owner a node may have without asking the store for the count of all
	// nodes. It saves the read in the usual case.
	fewOfOwner = 16
	// countEvery is how long a count of the store is used.
	countEvery = time.Second
)

// places counts sessions and decides which of them give up their place: on this node from memory, of one owner on all
// nodes by the store's counts. Any goroutine may use it. Listeners have no place, since they have no job.
type places struct {
	store store.Store
	log   *slog.Logger

	// mu guards what follows. It is not held while the store is read.
	mu     sync.Mutex
	node   crowd
	owners map[wallet.UserID]*crowd // those with a session here
}

// crowd is what is known of the sessions of one owner, or of the node.
type crowd struct {
	here    int // sessions on this node
	leaving int // of these, the ones that give way to others
	// The store's counts at countedAt: jobs with a session on any node, and jobs that wait for one, due or not.
	inFlight, waiting int
	countedAt         time.Time
}

// enter notes that a session of an owner has begun.
func (p *places) enter(owner wallet.UserID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.owners[owner]
	if c == nil {
		c = &crowd{}
		p.owners[owner] = c
	}
	c.here++
	p.node.here++
}

// leave notes that a session has ended, and whether it had given way.
func (p *places) leave(owner wallet.UserID, gaveWay bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.owners[owner]
	c.here--
	p.node.here--
	if gaveWay {
		c.leaving--
		p.node.leaving--
	}
	if c.here == 0 {
		delete(p.owners, owner)
	}
}

// crowded reports whether there are so many sessions that one that only waits must give up its place.
func (p *places) crowded(ctx context.Context, owner wallet.UserID) bool {
	p.mu.Lock()
	node, own := p.node.here, p.owners[owner].here
	p.mu.Unlock()
	switch {
	case node > crowdedNode:
		return true
	case own <= fewOfOwner:
		return false
	}
	p.count(ctx, owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owners[owner].inFlight > crowdedOwner
}

// yields reports whether a session that has had its turn gives way: its owner has all the sessions that one may have, or
// the node has, and jobs wait. As many sessions give way at once as jobs wait, so that one more webhook than there are
// places does not stop all of them. A session that gets true must leave with gaveWay.
func (p *places) yields(ctx context.Context, owner wallet.UserID) bool {
	p.count(ctx, owner)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.owners[owner]
	full := c.inFlight >= sessionsOfOwner && c.leaving < c.waiting ||
		p.node.here >= sessionsAtOnce && p.node.leaving < p.node.waiting
	if full {
		c.leaving++
		p.node.leaving++
	}
	return full
}

// count asks the store for its counts, unless it did so less than countEvery ago. Sessions of the same owner that ask
// meanwhile get the older counts. If the read fails, the older counts stay.
func (p *places) count(ctx context.Context, owner wallet.UserID) {
	p.mu.Lock()
	c := p.owners[owner]
	if time.Since(c.countedAt) < countEvery {
		p.mu.Unlock()
		return
	}
	c.countedAt = time.Now()
	p.mu.Unlock()

	var inFlight, all int
	var stats store.JobStats
	err := p.store.View(ctx, func(tx store.Tx) (err error) {
		if inFlight, err = tx.CountInFlight(store.Deliveries, string(owner)); err != nil {
			return err
		}
		if all, err = tx.CountJobs(store.Deliveries, string(owner)); err != nil {
			return err
		}
		stats, err = tx.JobStats(store.Deliveries)
		return err
	})
	if err != nil {
		if ctx.Err() == nil {
			p.log.Warn("the sessions of webhooks could not be counted", "error", err)
		}
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.inFlight, c.waiting = inFlight, all-inFlight
	p.node.waiting = stats.Waiting
}
