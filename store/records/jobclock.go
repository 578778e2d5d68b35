package records

import (
	"slices"
	"time"
)

// A queue has a time of its own, so that waits and leases go on where a clock is set back. It is the clock of whichever
// node claims, and what that node's clock was set back by in all: a node has an offset of its own in each queue.
//
// A node's clock may also just be behind those of others. Then its offset is what it is behind by, and stays so. Were there
// one offset for all nodes, then of two whose clocks differ the slow one would raise it at each claim, the fast one would
// then be ahead by as much again, and the queue's time would run away from both.
//
// An offset only ever brings a node up to where the queue's time is already. So that time goes on by what passes on a
// node's clock, and leaps only to a clock that is ahead of all that claimed before: once, by what it is ahead. With it
// leases end early, which the fence makes up for. It is never ahead of all clocks, unless these were set back.

const (
	// clockSlack is by how much a node may be behind the queue's time without an offset: clocks differ a little, and a claim
	// may wait for its commit.
	clockSlack = time.Minute
	// clockWrite is how far the clock goes on before the queue notes it by itself.
	clockWrite = 10 * time.Second
	// clocksKept is how many nodes a queue knows; of more, those who claimed longest ago are forgotten, and set anew by
	// their next claim.
	clocksKept = 16
	// clockRecent is how long ago a node claimed at most that may be putting jobs now.
	clockRecent = 10 * time.Minute
)

// nodeClock is what a queue knows of a node's clock.
type nodeClock struct {
	node   string
	offset time.Duration // from the node's clock to the queue's time
	seen   time.Time     // of its last claim that was noted, in the queue's time
}

// setClock notes the time of a node that claims, and returns the queue's time.
func (q *jobQueue) setClock(node string, wall time.Time) time.Time {
	s := &q.state
	at := slices.IndexFunc(s.nodes, func(n nodeClock) bool { return n.node == node })
	if at < 0 {
		s.nodes, s.dirty = append(s.nodes, nodeClock{node: node}), true
		at = len(s.nodes) - 1
	}
	n := &s.nodes[at]
	now := wall.Add(n.offset)
	if behind := s.clock.Sub(now); behind > clockSlack {
		n.offset += behind
		now, s.dirty = wall.Add(n.offset), true
	}
	s.dirty = s.dirty || now.Sub(s.clock) > clockWrite || now.Sub(n.seen) > clockWrite
	if !s.dirty {
		return now
	}
	n.seen = now
	if now.After(s.clock) {
		s.clock = now
	}
	if len(s.nodes) > clocksKept {
		oldest := 0
		for i := range s.nodes {
			if s.nodes[i].seen.Before(s.nodes[oldest].seen) {
				oldest = i
			}
		}
		s.nodes = slices.Delete(s.nodes, oldest, oldest+1)
	}
	return now
}

// offsetOf is from a node's clock to the queue's time.
func (q *jobQueue) offsetOf(node string) time.Duration {
	for _, n := range q.state.nodes {
		if n.node == node {
			return n.offset
		}
	}
	return q.offset()
}

// offset is from the clock of whoever puts a job to the queue's time: nobody knows which node that is, so it is the
// smallest of all that are about. Where their clocks differ, what waits for a time may be early by as much, and is not late.
func (q *jobQueue) offset() time.Duration {
	var least time.Duration
	found := false
	for _, n := range q.state.nodes {
		if n.seen.Before(q.state.clock.Add(-clockRecent)) {
			continue
		}
		if !found || n.offset < least {
			least, found = n.offset, true
		}
	}
	return least
}

// dueAt is a time of a node's clock in the queue's time; the zero time stays zero.
func (q *jobQueue) dueAt(node string, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(q.offsetOf(node))
}
