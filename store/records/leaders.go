package records

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
)

// leader is the row of a name in the table leaders: which node leads it, and until when by that node's clock.
type leader struct {
	Node  string    `json:"node"`
	Until time.Time `json:"until"`
}

// Lead gives a node the lease of a name if nobody else holds it, and prolongs the node's own. False: another node
// leads. A damaged row counts as free, so that the work goes on. Until may differ from the truth by as much as the
// nodes' clocks do.
func (t *tx) Lead(name, node string, now time.Time, lease time.Duration) (bool, error) {
	if err := errors.Join(checkID(name), checkID(node)); err != nil {
		return false, err
	}
	var l leader
	if raw := t.get(leaders, []byte(name)); raw != nil {
		var err error
		if l, _, err = plainOf[leader](t, leaders, []byte(name), raw); err != nil {
			t.skipDamaged(leaders, []byte(name), err)
			l = leader{}
		}
	}
	// A lease never ends later than now + lease on any node's clock. One that ends much later was taken before a
	// clock was set back, and does not count.
	if l.Node != node && l.Until.After(now) && !l.Until.After(now.Add(2*lease+clockSlack)) {
		return false, nil
	}
	raw, err := t.seal(leaders, []byte(name), "", leader{node, now.Add(lease).UTC()})
	if err != nil {
		return false, err
	}
	return true, t.putRow(leaders, []byte(name), raw)
}

// Heartbeat raises the node's count by one. A damaged count begins again at 1: to a node that watches, any change is
// a sign of life.
func (t *tx) Heartbeat(node string) error {
	if err := checkID(node); err != nil {
		return err
	}
	n, err := t.Heartbeats(node)
	if err != nil {
		return err
	}
	return t.put(heartbeats, []byte(node), numberKey(n+1))
}

// Heartbeats returns the count. A damaged one is reported and counts as 0.
func (t *tx) Heartbeats(node string) (uint64, error) {
	raw := t.get(heartbeats, []byte(node))
	if raw == nil {
		return 0, nil
	}
	n, err := keyNumber(raw)
	if err != nil {
		t.skipDamaged(heartbeats, []byte(node), err)
		return 0, nil
	}
	return n, nil
}

// ReleaseNode ends the leases of a node's earlier process. A node calls it when it starts, before it claims anything:
// two processes under one name would release each other's leases.
func (t *tx) ReleaseNode(node string) error {
	// Jobs first: the entry of a lease names its node.
	for _, name := range t.queueNames() {
		q, err := t.jobQueue(name)
		if err != nil {
			return err
		}
		for _, e := range t.prefixed(jobs, q.at(leaseOf)) {
			if len(e.value) < 2*hashSize || string(e.value[2*hashSize:]) != node {
				continue
			}
			// As if the lease had just ended: the attempt counts as an expired lease.
			if err := q.endLease(e, q.state.clock); err != nil {
				return err
			}
		}
	}
	// Then the names that the node leads.
	for _, e := range t.prefixed(leaders, nil) {
		if l, _, err := plainOf[leader](t, leaders, e.key, e.value); err == nil && l.Node == node {
			if err := t.delete(leaders, e.key); err != nil {
				return err
			}
		}
	}
	return t.settleJobs()
}

// queueNames lists the queues that are stored, and those that only this transaction has opened.
func (t *tx) queueNames() (names []store.Queue) {
	for _, q := range t.queues {
		names = append(names, q.name)
	}
	for _, prefix := range t.queuePrefixes() {
		if name := store.Queue(prefix[:len(prefix)-1]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// queuePrefixes lists the prefix of each queue's keys in jobs: its name and a zero byte. It reads one key of each
// queue and seeks to the next queue from there, so it costs nothing for each job.
func (t *tx) queuePrefixes() (prefixes [][]byte) {
	key, _ := t.first(jobs, all())
	for key != nil {
		name, _, _ := bytes.Cut(key, []byte{0})
		prefixes = append(prefixes, join(name, []byte{0}))
		key, _ = t.first(jobs, engine.Range{From: join(name, []byte{1})})
	}
	return prefixes
}
