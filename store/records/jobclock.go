package records

import (
	"slices"
	"time"
)

// A queue has a time of its own, so that waits and leases still end after a node's clock was set back. The queue's
// time is the clock of the node that claims, plus an offset that the queue keeps for that node.
//
// Why each node has an offset of its own: the clocks of nodes differ. A node whose clock is slow gets the difference
// as its offset, and keeps it. With one offset for all nodes, the slow node would raise it at each claim, and the
// fast node would then be ahead by as much again: the queue's time would run away from both.
//
// The rule for a claim. T is the claiming node's clock plus its offset, Q is the queue's time:
//
//   - T is more than clockSlack behind Q: the offset grows by the difference, and the queue's time stays Q. The clock was
//     set back, or is slow.
//   - T is more than clockSlack ahead of Q, and would be within clockSlack of Q without an offset, or with the offset before
//     it last grew: the node returns to that offset. Its clock was set back and then corrected. Or a claim of the node was
//     delayed on its way to the store, which looked like a clock that was set back.
//   - Otherwise the offset stays, and the queue's time becomes T if T is later.
//
// So the queue's time runs as the nodes' clocks do. It jumps only when a node claims whose clock is ahead of all that
// claimed before: once, by the difference. Such a jump ends leases early, which the fencing of attempts makes
// harmless. The queue's time is never ahead of every clock, unless clocks were set back.
//
// After a day without a claim, the first claim sees that a day has passed, whatever the offsets are. There is one
// exception: if nobody claimed for about as long as the offset is, the claim looks like a clock that was corrected.
// The waits then continue from where they were. They end late by the offset, once, and none ends early.
const (
	// clockSlack is how far a node's clock may be from the queue's time before its offset changes. Clocks differ a
	// little, and a claim may wait for its commit.
	clockSlack = time.Minute
	// clockWrite is how far the queue's time advances before a claim that takes nothing stores it.
	clockWrite = 10 * time.Second
	// clocksKept is how many nodes a queue remembers. If there are more, the one that has not claimed for longest is
	// forgotten. Its next claim adds it again.
	clocksKept = 16
	// clockRecent is how long after its last claim a node still counts as one that may put jobs.
	clockRecent = 10 * time.Minute
)

// nodeClock is what a queue knows of a node's clock.
type nodeClock struct {
	node   string
	offset time.Duration // the node's clock plus offset is the queue's time
	before time.Duration // offset before it last grew; 0: none
	seen   time.Time     // last claim that was stored, in the queue's time
}

// setClock notes the clock of a node that claims (wall), and returns the queue's time at that moment.
func (q *jobQueue) setClock(node string, wall time.Time) time.Time {
	s := &q.state
	at := slices.IndexFunc(s.nodes, func(n nodeClock) bool { return n.node == node })
	if at < 0 {
		s.nodes, s.dirty = append(s.nodes, nodeClock{node: node}), true
		at = len(s.nodes) - 1
	}
	n := &s.nodes[at]
	now := wall.Add(n.offset)
	// This clock was set back, or is slow.
	if behind := s.clock.Sub(now); behind > clockSlack {
		n.before, n.offset = n.offset, n.offset+behind
		now, s.dirty = wall.Add(n.offset), true
	}
	// This clock was corrected, or the offset came from a claim that was delayed.
	if now.Sub(s.clock) > clockSlack {
		for _, offset := range [...]time.Duration{n.before, 0} {
			if offset < n.offset && wall.Add(offset).Sub(s.clock).Abs() <= clockSlack {
				n.offset, n.before = offset, 0
				now, s.dirty = wall.Add(offset), true
				break
			}
		}
	}
	// The time is stored together with another change of the state, and otherwise once in clockWrite: the claims of
	// an idle worker commit nothing.
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

// offsetOf returns the offset of a node's clock. For a node that never claimed it is offset.
func (q *jobQueue) offsetOf(node string) time.Duration {
	for _, n := range q.state.nodes {
		if n.node == node {
			return n.offset
		}
	}
	return q.offset()
}

// offset is the offset used for a job that is put, since a put does not say which node it is from. It is the smallest
// offset of the nodes that claimed lately. If their clocks differ, a job with a time may be early by the difference,
// and is never late.
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

// dueAt converts a time of a node's clock to the queue's time. The zero time stays zero.
func (q *jobQueue) dueAt(node string, at time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(q.offsetOf(node))
}
