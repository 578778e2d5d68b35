package storetest

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
)

// What holds of jobs whatever the clocks of nodes say, and whichever node dies.

// testJobClock: a clock that is set back stops nothing, and one that is set forward ends nothing twice.
func testJobClock(t *testing.T, open Open) {
	s := freshJobs(t, open)
	s.claim(at(noon(), 1))
	soon := aJob("soon")
	soon.NotBefore = noon().Add(time.Minute)
	s.put(soon, aJob("now"))
	held := s.claim(at(noon(), 1))
	same(t, "now", jobIDs(held), "now")
	back := noon().Add(-24 * time.Hour)
	same(t, "set back", jobIDs(s.claim(at(back, 9))), "")
	s.put(func() store.Job { j := aJob("late"); j.At, j.NotBefore = back, back.Add(30*time.Second); return j }())
	_, next := s.claimNext(at(back.Add(time.Second), 9))
	same(t, "the next by the new clock", next.Equal(back.Add(30*time.Second)), true)
	late := s.claim(at(back.Add(30*time.Second), 9))
	same(t, "what was put since", jobIDs(late), "late")
	update(t, s, func(tx store.Tx) error { // renewed by the new clock
		lost, err := tx.RenewJobs(back.Add(10*time.Minute), late[0].Ref())
		same(t, "lost", len(lost), 0)
		return err
	})
	same(t, "the waits go on from where they were", jobIDs(s.claim(at(back.Add(time.Minute), 9))), "soon now")
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.DoneJobs(refs(held)...) })
	same(t, "a lease that was renewed since ends in its time", jobIDs(s.claim(at(back.Add(10*time.Minute-1), 9))), "soon now")
	same(t, "and not later", jobIDs(s.claim(at(back.Add(10*time.Minute), 9))), "late")
}

// testSkewedClocks: of two nodes whose clocks differ by minutes, neither drives the queue's time on: it goes on as fast as
// time does, and each node's waits and leases last what they were asked to last.
func testSkewedClocks(t *testing.T, open Open) {
	s := freshJobs(t, open)
	const ahead = 5 * time.Minute
	claim := func(node string, now time.Time) []store.Job {
		c := at(now, 9)
		c.Node = node
		return s.claim(c)
	}
	slow, fast := noon(), noon().Add(ahead)
	pass := func(d time.Duration) { slow, fast = slow.Add(d), fast.Add(d) }
	same(t, "nothing yet", len(claim("slow", slow))+len(claim("fast", fast)), 0)
	waits := aJob("waits") // put by the fast one; the store does not know by whom
	waits.At, waits.NotBefore = fast, fast.Add(10*time.Minute)
	s.put(waits, aJob("held"))
	held := claim("slow", slow)
	same(t, "held by the slow one", jobIDs(held), "held")
	for range 59 { // they take turns, a second each
		pass(time.Second)
		same(t, "not due, nor is its lease over", jobIDs(append(claim("fast", fast), claim("slow", slow)...)), "")
	}
	update(t, s, func(tx store.Tx) error { // by the slow one's clock
		lost, err := tx.RenewJobs(slow.Add(time.Minute), held[0].Ref())
		same(t, "lost", len(lost), 0)
		return err
	})
	pass(time.Minute - 1)
	same(t, "renewed", jobIDs(claim("fast", fast)), "")
	pass(1)
	taken := claim("fast", fast)
	same(t, "and over in time", jobIDs(taken), "held")
	update(t, s, func(tx store.Tx) error { return tx.RetryJobs(fast.Add(2*time.Minute), taken[0].Ref()) })
	pass(2*time.Minute - 1)
	same(t, "a wait by the fast one's clock, at the slow one's", jobIDs(claim("slow", slow)), "")
	pass(1)
	taken = claim("slow", slow)
	same(t, "in its time", jobIDs(taken), "held")
	s.done(taken...)
	for slow.Before(noon().Add(10 * time.Minute)) {
		same(t, "not due", jobIDs(append(claim("slow", slow), claim("fast", fast)...)), "")
		pass(time.Second)
	}
	same(t, "due after ten minutes of both", jobIDs(claim("slow", slow)), "waits")
	c := at(fast.Add(time.Hour), 9)
	c.Node = "third"
	_, next := s.claimNext(c)
	same(t, "a third one's clock leaps once, to what it says", next.IsZero(), false)
	for i := range 20 { // nodes that come and go
		for range 2 {
			pass(time.Second)
			claim(fmt.Sprint("node ", i), slow)
			claim("third", fast.Add(time.Hour))
		}
	}
	later := aJob("later")
	later.At, later.NotBefore = slow, slow.Add(time.Hour)
	s.put(later)
	_, next = s.claimNext(at(slow, 9))
	if wait := next.Sub(slow); wait < 0 || wait > time.Hour {
		t.Errorf("what was to wait for an hour waits for %v", wait)
	}
}

// testLateClaims: a claim that arrives long after its clock was read, as of a node that slept, moves the queue's time neither
// back nor forward. Nor does a clock that was set back and is put right, while others go on. A day without any node is one.
func testLateClaims(t *testing.T, open Open) {
	for _, skew := range []time.Duration{0, -5 * time.Minute} { // of the node that sleeps
		s := freshJobs(t, open)
		claim := func(node string, now time.Time) []store.Job {
			c := at(now, 9)
			c.Node = node
			return s.claim(c)
		}
		now := noon()
		awake := func(d time.Duration, nodes ...string) {
			for range d / (10 * time.Second) {
				now = now.Add(10 * time.Second)
				for _, node := range nodes {
					wall := now
					if node == "sleeper" {
						wall = now.Add(skew)
					}
					same(t, "nothing is due", jobIDs(claim(node, wall)), "")
				}
			}
		}
		awake(time.Minute, "other", "sleeper")
		asleep := now.Add(skew)
		for range 3 { // a second pause is as the first one
			awake(10*time.Minute, "other")
			retry := aJob("retry")
			retry.At, retry.NotBefore = now, now.Add(9*time.Minute)
			s.put(aJob("held"), retry)
			held := claim("other", now)
			same(t, "held", jobIDs(held), "held")
			same(t, "late", jobIDs(claim("sleeper", asleep.Add(time.Second))), "")
			awake(50*time.Second, "sleeper", "other")
			s.done(held...)
			awake(8*time.Minute, "sleeper", "other")
			update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(queue, "retry") })
			asleep = now.Add(skew)
		}
		s.put(aJob("held"))
		held := claim("other", now)
		same(t, "set back by an hour", jobIDs(claim("sleeper", now.Add(skew-time.Hour))), "")
		awake(50*time.Second, "sleeper", "other")
		s.done(held...)
		tomorrow := aJob("tomorrow")
		tomorrow.At, tomorrow.NotBefore = now, now.Add(24*time.Hour)
		s.put(tomorrow)
		same(t, "set back again", jobIDs(claim("sleeper", now.Add(skew-time.Hour))), "")
		now = now.Add(24 * time.Hour)
		same(t, "after a day of nobody", jobIDs(claim("sleeper", now.Add(skew-time.Hour))), "tomorrow")
	}
}

func testLeaders(t *testing.T, open Open) {
	s := fresh(t, open)
	lead := func(node string, now time.Time) (leads bool) {
		t.Helper()
		update(t, s, func(tx store.Tx) (err error) { leads, err = tx.Lead("poll", node, now, time.Minute); return err })
		return leads
	}
	same(t, "the first", lead("a", noon()), true)
	same(t, "nobody else", lead("b", noon().Add(time.Minute-1)), false)
	same(t, "again", lead("a", noon().Add(30*time.Second)), true)
	same(t, "renewed", lead("b", noon().Add(time.Minute)), false)
	same(t, "over", lead("b", noon().Add(90*time.Second)), true)
	same(t, "lost", lead("a", noon().Add(90*time.Second)), false)
	same(t, "a lease from before the clock was set back", lead("a", noon().Add(-time.Hour)), true)
	update(t, s, func(tx store.Tx) error { return tx.ReleaseNode("a") })
	same(t, "released", lead("b", noon().Add(-time.Hour)), true)
	update(t, s, func(tx store.Tx) error { return tx.ReleaseNode("a") })
	same(t, "of that node alone", lead("a", noon().Add(-time.Hour)), false)
}

// testHeartbeats: each node has a count of its own, which a new life of the node goes on with.
func testHeartbeats(t *testing.T, open Open) {
	folder := t.TempDir()
	s := open(t, folder)
	beat := func(node string) { update(t, s, func(tx store.Tx) error { return tx.Heartbeat(node) }) }
	counts := func() (counts []uint64) {
		view(t, s, func(tx store.Tx) error {
			for _, node := range []string{"a", "b", "c"} {
				n, err := tx.Heartbeats(node)
				if err != nil {
					return err
				}
				counts = append(counts, n)
			}
			return nil
		})
		return counts
	}
	beat("a")
	beat("b")
	beat("a")
	same(t, "counted", counts(), []uint64{2, 1, 0})
	update(t, s, func(tx store.Tx) error { return tx.ReleaseNode("a") })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, folder)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	beat("a")
	same(t, "in another life", counts(), []uint64{3, 1, 0})
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.Heartbeat("") }); err == nil {
		t.Error("a node without a name lives")
	}
}

// testReleaseNode: a node that starts again waits for no lease of its earlier life, and keeps others' leases.
func testReleaseNode(t *testing.T, open Open) {
	s := freshJobs(t, open)
	another := aJob("elsewhere")
	another.Queue = "queue 2"
	s.put(append(someJobs("x/k", "y"), another)...)
	x := s.claim(at(noon(), 1))
	c := at(noon(), 1)
	c.Node = "b"
	y := s.claim(c)
	c.Node, c.Queue = "a", "queue 2"
	same(t, "of another queue", jobIDs(s.claim(c)), "elsewhere")
	update(t, s, func(tx store.Tx) error { return tx.ReleaseNode("a") })
	same(t, "released", jobIDs(s.claim(at(noon(), 9))), "x")
	same(t, "everywhere", jobIDs(s.claim(c)), "elsewhere")
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.DoneJobs(x[0].Ref()) })
	s.done(y...)
}
