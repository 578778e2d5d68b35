package quota

import (
	"slices"
	"time"

	"purser/store"
)

// leaseFor is how long a node may spend what it has leased of a limit without writing again.
const leaseFor = 10 * time.Second

// life names one run of a node. A node that restarts has a larger run.
type life struct {
	node string
	run  int64
}

// view is what a counter's row says to one node.
type view struct {
	slots []store.Slot // spent and written, oldest first
	lost  []store.Slot // what crashed or paused nodes may have spent: counts as spent
	other uint64       // what other nodes have leased: counts as spent
}

// account is the arithmetic of a limit at one time, in seconds of Unix time. Its methods change nothing outside.
type account struct {
	Limit
	now int64
}

// ends is when a slot leaves the span.
func (a account) ends(s store.Slot) int64 { return s.Start + a.slot() + int64(a.Span/time.Second) }

// live returns the slots that still count. A slot in the future, written under a clock that ran ahead, counts from now.
func (a account) live(all []store.Slot) []store.Slot {
	var out []store.Slot
	for _, s := range all {
		if s.Start = min(s.Start, floor(a.now, a.slot())); s.Count > 0 && a.ends(s) > a.now {
			out = append(out, s)
		}
	}
	return out
}

// counts returns the sum of the slots that live keeps, and when the first of them leaves the span: 0 for none. It makes no
// copy, since a Meter asks for every request.
func (a account) counts(all []store.Slot) (count uint64, first int64) {
	newest := floor(a.now, a.slot())
	for _, s := range all {
		s.Start = min(s.Start, newest)
		end := a.ends(s)
		if s.Count == 0 || end <= a.now {
			continue
		}
		count += s.Count
		if first == 0 || end < first {
			first = end
		}
	}
	return count, first
}

// sum is the count of all slots.
func sum(all []store.Slot) (n uint64) {
	for _, s := range all {
		n += s.Count
	}
	return n
}

// read is what a row says to a node.
func (a account) read(row store.Counter, me life) view {
	v := view{slots: a.live(row.Slots)}
	for _, l := range row.Leases {
		l = a.crashed(l, me)
		v.lost = append(v.lost, a.live([]store.Slot{l.Lost})...)
		switch {
		case l.Node == me.node: // it knows itself what it has spent
		case l.Until >= a.now:
			v.other += l.Count
		default: // the node is gone or paused: it may have spent all of it
			v.lost = append(v.lost, a.live([]store.Slot{a.spentBy(l)})...)
		}
	}
	return v
}

// spentBy counts a whole lease as spent, at the last time at which it could be.
func (a account) spentBy(l store.QuotaLease) store.Slot {
	return store.Slot{Start: floor(min(l.Until, a.now), a.slot()), Count: l.Count}
}

// crashed turns the lease of an earlier run of this node into a loss. It replaces the loss before it, so that many
// crashes in a row lock nobody out.
func (a account) crashed(l store.QuotaLease, me life) store.QuotaLease {
	if l.Node == me.node && l.Run < me.run && l.Count > 0 {
		l.Lost, l.Count = a.spentBy(l), 0
	}
	return l
}

// merge adds what a node has spent to a row, and leases it up to want more. The lease is no more than what the limit
// leaves beside everything that is spent, lost, or leased by other nodes. A run that was followed by another one is
// fenced: its counts are added, and it gets no lease.
func (a account) merge(row store.Counter, me life, spent []store.Slot, want uint64) (_ store.Counter, granted uint64, fenced bool) {
	row.Slots = a.live(row.Slots)
	for _, s := range spent {
		row.Slots = add(row.Slots, s)
	}
	// Sort the leases: this node's, and those of others that still matter.
	mine := store.QuotaLease{Node: me.node}
	var leases []store.QuotaLease
	for _, l := range row.Leases {
		l = a.crashed(l, me)
		if l.Node == me.node {
			fenced = l.Run > me.run
			mine = l
			continue
		}
		if len(a.live([]store.Slot{a.spentBy(l), l.Lost})) > 0 {
			leases = append(leases, l)
		}
	}
	// Grant this node a new lease in place of its old one.
	if !fenced {
		mine.Count = 0
		row.Leases = append(leases, mine)
		v := a.read(row, me)
		used := sum(v.slots) + sum(v.lost) + v.other
		granted = min(want, a.Count-min(used, a.Count))
		mine.Run, mine.Count, mine.Until = me.run, granted, a.now+int64(leaseFor/time.Second)
	}
	if mine.Count > 0 || len(a.live([]store.Slot{mine.Lost})) > 0 {
		leases = append(leases, mine)
	}
	row.Leases = leases
	row.ExpiresAt = time.Unix(a.over(row), 0).UTC()
	return row, granted, fenced
}

// over is when nothing of a row is in the span any more: Sweep may remove it then.
func (a account) over(row store.Counter) int64 {
	last := a.now
	for _, s := range row.Slots {
		last = max(last, a.ends(s))
	}
	for _, l := range row.Leases {
		if l.Count > 0 {
			last = max(last, a.ends(store.Slot{Start: l.Until}))
		}
		if l.Lost.Count > 0 {
			last = max(last, a.ends(l.Lost))
		}
	}
	return last
}

// add counts a slot into slots in their order. One that is older than the newest slot is counted in the newest.
func add(all []store.Slot, s store.Slot) []store.Slot {
	if last := len(all) - 1; last >= 0 && all[last].Start >= s.Start {
		all = slices.Clone(all)
		all[last].Count += s.Count
		return all
	}
	return append(all, s)
}

// floor is the start of the slot that a time is in.
func floor(at, width int64) int64 { return at - at%width }
