package records

import (
	"slices"
	"time"
)

// A queue has a time of its own, so that waits and leases go on after a clock is set back. It is the clock of whichever
// node claims, plus an offset: the sum of what that node's clock was set back by. Each node has an offset of its own in
// each queue.
//
// A node's clock may also just be behind those of others. Then its offset is the difference, and stays so. One offset
// for all nodes would not do. With two clocks that differ, the slow one would raise it at each claim, the fast one
// would then be ahead by as much again, and the queue's time would run away from both.
//
// The rule, for a claim by a node whose clock plus offset is T, where the queue's time is Q:
//
//   - T is behind Q by more than clockSlack: the offset grows by the difference. The queue's time stays Q.
//   - T is ahead of Q by more than clockSlack, and would be near Q (within clockSlack) by no offset, or by the one before it
//     last grew: the node takes that offset again. Its clock was set back and then put right, or it slept while a claim of
//     its was on its way, and that claim looked like a clock set back.
//   - Else the offset stays, and the queue's time goes on to T if that is later.
//
// So time passes as a node's clock does, and leaps only to a clock that is ahead of all that claimed before: once, by the
// difference. A leap ends leases early, which fencing makes harmless. The queue's time is never ahead of all clocks,
// unless these were set back.
//
// When no node claimed for a day, the first claim sees that a day has passed, whatever the offsets. Only if nobody
// claimed for just as long as an offset is, that looks like a clock that was put right: then the waits go on from where
// they were, late by the offset once, and none is early.
const (
	// clockSlack is how far a node may be from the queue's time before its offset changes: clocks differ a little, and
	// a claim may wait for its commit.
	clockSlack = time.Minute
	// clockWrite is how far the clock advances before a claim that takes nothing writes it.
	clockWrite = 10 * time.Second
	// clocksKept is how many nodes a queue remembers. Beyond that the node whose last claim is oldest is forgotten; its
	// next claim adds it again.
	clocksKept = 16
	// clockRecent is the age of a node's last claim up to which the node may be putting jobs now.
	clockRecent = 10 * time.Minute
)

// nodeClock is what a queue knows of a node's clock.
type nodeClock struct {
	node   string
	offset time.Duration // added to the node's clock it gives the queue's time
	before time.Duration // the offset before it last grew; 0: none
	seen   time.Time     // the last claim that was written, in the queue's time
}

// setClock notes the clock of a node that claims, and returns the queue's time at that moment.
func (q *jobQueue) setClock(node string, wall time.Time) time.Time {
	s := &q.state
	at := slices.IndexFunc(s.nodes, func(n nodeClock) bool { return n.node == node })
	if at < 0 {
		s.nodes, s.dirty = append(s.nodes, nodeClock{node: node}), true
		at = len(s.nodes) - 1
	}
	n := &s.nodes[at]
	now := wall.Add(n.offset)
	// This clock was set back, or was always behind.
	if behind := s.clock.Sub(now); behind > clockSlack {
		n.before, n.offset = n.offset, n.offset+behind
		now, s.dirty = wall.Add(n.offset), true
	}
	// This clock was put right, or the offset came of a claim that was late.
	if now.Sub(s.clock) > clockSlack {
		for _, offset := range [...]time.Duration{n.before, 0} {
			if offset < n.offset && wall.Add(offset).Sub(s.clock).Abs() <= clockSlack {
				n.offset, n.before = offset, 0
				now, s.dirty = wall.Add(offset), true
				break
			}
		}
	}
	// The state is written when it changes anyway, and else once in clockWrite: an idle worker's claims commit nothing.
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

// offsetOf is the offset of a node's clock; of a node that never claimed, offset.
func (q *jobQueue) offsetOf(node string) time.Duration {
	for _, n := range q.state.nodes {
		if n.node == node {
			return n.offset
		}
	}
	return q.offset()
}

// offset is the offset of the clock of the node that puts a job. Nobody knows which node that is, so it is the smallest of
// the nodes that claimed lately. Where their clocks differ, a job with a time may be early by the difference, and is
// not late.
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
