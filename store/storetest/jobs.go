package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/store"
)

// queue is the queue of the suite's jobs.
const queue store.Queue = "work"

// jobs is a store with what the tests about jobs do in it.
type jobs struct {
	*testing.T
	store.Store
}

func freshJobs(t *testing.T, open Open) jobs { return jobs{t, fresh(t, open)} }

func (s jobs) put(all ...store.Job) []store.Job {
	s.Helper()
	var out []store.Job
	update(s.T, s, func(tx store.Tx) (err error) { out, err = tx.PutJobs(all, nil); return err })
	return out
}

// at makes a claim by node a for a minute.
func at(now time.Time, most int) store.Claim {
	return store.Claim{Queue: queue, Node: "a", Now: now, Max: most, Lease: time.Minute}
}

func (s jobs) claim(c store.Claim) []store.Job {
	s.Helper()
	out, _ := s.claimNext(c)
	return out
}

func (s jobs) claimNext(c store.Claim) (out []store.Job, next time.Time) {
	s.Helper()
	update(s.T, s, func(tx store.Tx) (err error) { out, next, err = tx.ClaimJobs(c); return err })
	return out, next
}

func (s jobs) done(all ...store.Job) {
	s.Helper()
	update(s.T, s, func(tx store.Tx) error { return tx.DoneJobs(refs(all)...) })
}

func refs(all []store.Job) (out []store.Ref) {
	for _, j := range all {
		out = append(out, j.Ref())
	}
	return out
}

func jobIDs(all []store.Job) string {
	out := []string{}
	for _, j := range all {
		out = append(out, string(j.ID))
	}
	return strings.Join(out, " ")
}

// aJob is a job of the suite: "id", "id/key" or "id/key/owner".
func aJob(name string) store.Job {
	parts := append(strings.Split(name, "/"), "", "")
	return store.Job{ID: store.JobID(parts[0]), Queue: queue, Key: parts[1], Owner: parts[2], At: noon(), Body: []byte("body of " + parts[0])}
}

func someJobs(names ...string) (out []store.Job) {
	for _, name := range names {
		out = append(out, aJob(name))
	}
	return out
}

// drained claims and ends one job after the other until none is left, and tells in which order they came.
func (s jobs) drained(now time.Time) string {
	s.Helper()
	var all []store.Job
	for range 1000 {
		some := s.claim(at(now, 1))
		if len(some) == 0 {
			break
		}
		s.done(some...)
		all = append(all, some...)
	}
	return jobIDs(all)
}

func testJobs(t *testing.T, open Open) {
	s := freshJobs(t, open)
	whole := store.Job{ID: "whole", Queue: queue, Key: "chat 7", Owner: "person 7", Priority: store.JobSoon, NotBefore: noon().Add(time.Second),
		At: noon(), About: "usr_a", Body: []byte("letter")}
	put := s.put(whole)
	whole.Seq = put[0].Seq
	same(t, "what was put", put, []store.Job{whole})
	same(t, "not due", len(s.claim(at(noon().Add(time.Second-1), 10))), 0)
	_, next := s.claimNext(at(noon(), 10))
	same(t, "next", next.Equal(whole.NotBefore), true)
	claimed := s.claim(at(noon().Add(time.Second), 10))
	whole.Attempt = 1
	same(t, "every field", claimed, []store.Job{whole})
	same(t, "by its id", get(t, s, func(tx store.Tx) (store.Job, error) { return tx.Job(queue, "whole") }), whole)
	same(t, "in flight", len(s.claim(at(noon().Add(time.Second), 10))), 0)
	s.done(claimed...)
	absent(t, s, "done", func(tx store.Tx) error { _, err := tx.Job(queue, "whole"); return err })
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.DoneJobs(claimed[0].Ref()) })
	same(t, "nothing left", get(t, s, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue) }), store.JobStats{})

	named := s.put(store.Job{Queue: queue, At: noon()}, store.Job{Queue: queue, At: noon()})
	if named[0].ID == "" || named[0].ID == named[1].ID {
		t.Fatalf("the store named them %q and %q", named[0].ID, named[1].ID)
	}
	same(t, "in order", jobIDs(s.claim(at(noon(), 10))), jobIDs(named))
	for _, bad := range []store.Job{{Queue: queue, Priority: 4}, {Queue: queue, Priority: -1}, {Queue: ""}, {Queue: queue, ID: "a\x00b"}} {
		if err := s.Update(t.Context(), func(tx store.Tx) error { _, err := tx.PutJobs([]store.Job{bad}, nil); return err }); err == nil {
			t.Errorf("%+v was put", bad)
		}
	}
}

// testJobOrder: within a key in order and one at a time, the smaller priority first; owners take turns.
func testJobOrder(t *testing.T, open Open) {
	s := freshJobs(t, open)
	s.put(someJobs("a1/a", "a2/a", "a3/a", "b1/b")...)
	some := s.claim(at(noon(), 10))
	same(t, "one of each key", jobIDs(some), "a1 b1")
	same(t, "none beside it", jobIDs(s.claim(at(noon(), 10))), "")
	urgent := aJob("a0/a")
	late := aJob("a4/a")
	late.Priority = store.JobBackground
	soon := aJob("a9/a")
	soon.Priority = store.JobNormal
	s.put(late, soon, urgent)
	same(t, "what is in flight is first", jobIDs(get(t, s, func(tx store.Tx) ([]store.Job, error) { return tx.JobsOfKey(queue, "a", 10) })), "a1 a2 a3 a0 a9 a4")
	same(t, "some", jobIDs(get(t, s, func(tx store.Tx) ([]store.Job, error) { return tx.JobsOfKey(queue, "a", 2) })), "a1 a2")
	s.done(some...)
	same(t, "the rest in order", s.drained(noon()), "a2 a3 a0 a9 a4")

	lower := aJob("low/k")
	lower.Priority = store.JobNormal
	s.put(lower)
	s.put(aJob("high/k")) // becomes the head
	same(t, "a more urgent one goes before one that waited", s.drained(noon()), "high low")

	waits := aJob("waits/k")
	waits.NotBefore = noon().Add(time.Minute)
	s.put(waits, aJob("behind/k"))
	same(t, "what waits for its time holds up its key", jobIDs(s.claim(at(noon(), 10))), "")
	same(t, "until then", s.drained(noon().Add(time.Minute)), "waits behind")
}

func testJobFairness(t *testing.T, open Open) {
	s := freshJobs(t, open)
	var crowd []store.Job
	for i := range 300 {
		crowd = append(crowd, aJob(fmt.Sprintf("c%d//crowd", i)))
	}
	s.put(crowd...)
	s.put(someJobs("one//one", "two/k/two", "three/k/two", "free")...)
	first := s.claim(at(noon(), 7))
	same(t, "turns", jobIDs(first), "c0 one two free c1 c2 c3")
	same(t, "of an owner", get(t, s, func(tx store.Tx) (int, error) { return tx.CountJobs(queue, "two") }), 2)
	same(t, "counted", get(t, s, func(tx store.Tx) (int, error) { return tx.CountJobs(queue, "crowd") }), 300)
	same(t, "in flight", get(t, s, func(tx store.Tx) (int, error) { return tx.CountInFlight(queue, "crowd") }), 4)
	same(t, "of nobody known", get(t, s, func(tx store.Tx) (int, error) { return tx.CountInFlight(queue, "unknown") }), 0)

	c := at(noon(), 100)
	c.PerOwner = 6
	second := s.claim(c)
	same(t, "no more than an owner's share", jobIDs(second), "c4 c5")
	same(t, "which is full", jobIDs(s.claim(c)), "")
	s.done(first[4], second[0])
	same(t, "a place for each that ended", jobIDs(s.claim(c)), "c6 c7")
	stats := get(t, s, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue) })
	same(t, "stats", stats, store.JobStats{Waiting: 293, InFlight: 9, Oldest: noon()})
}

// testJobStarvation: what is urgent goes first, but not for ever, and within an owner always.
func testJobStarvation(t *testing.T, open Open) {
	s := freshJobs(t, open)
	var all []store.Job
	background := func(name string) {
		j := aJob(name)
		j.Priority = store.JobBackground
		all = append(all, j)
	}
	for n := range 3 {
		for i := range 50 {
			all = append(all, aJob(fmt.Sprintf("urgent%d//crowd%d", i, n)))
			all[len(all)-1].ID = store.JobID(fmt.Sprintf("c%d-%d", n, i))
		}
		background(fmt.Sprintf("last%d//crowd%d", n, n))
	}
	background("other//other")
	s.put(all...)
	order := strings.Fields(s.drained(noon()))
	same(t, "all of them", len(order), len(all))
	if at := slices.Index(order, "other"); at < 2 || at > 70 {
		t.Errorf("the other owner's job was number %d", at)
	}
	for n := range 3 {
		last := slices.Index(order, fmt.Sprint("last", n))
		for i, id := range order {
			if i > last && strings.HasPrefix(id, fmt.Sprintf("c%d-", n)) {
				t.Errorf("%s came after the same owner's background job", id)
			}
		}
	}
}

func testJobLeases(t *testing.T, open Open) {
	s := freshJobs(t, open)
	put := s.put(someJobs("x/k", "y/k")...)
	first := s.claim(at(noon(), 10))
	never := []store.Ref{{Queue: queue, ID: "x", Seq: put[0].Seq, Attempt: 7}, {Queue: queue, ID: "y", Seq: put[1].Seq}}
	end := noon().Add(time.Minute)
	same(t, "held", jobIDs(s.claim(at(end.Add(-1), 10))), "")
	update(t, s, func(tx store.Tx) error {
		lost, err := tx.RenewJobs(end.Add(time.Minute), first[0].Ref(), never[0], never[1])
		same(t, "lost", lost, never)
		return err
	})
	same(t, "renewed", jobIDs(s.claim(at(end, 10))), "")
	other := at(end.Add(time.Minute), 10)
	other.Node = "b"
	second := s.claim(other)
	same(t, "taken over", jobIDs(second), "x")
	same(t, "attempt", second[0].Attempt, 2)
	for _, outdated := range []func(tx store.Tx, r store.Ref) error{
		func(tx store.Tx, r store.Ref) error { return tx.DoneJobs(second[0].Ref(), r) },
		func(tx store.Tx, r store.Ref) error { return tx.RetryJobs(noon(), r) },
		func(tx store.Tx, r store.Ref) error { return tx.SnoozeJobs(noon(), r) },
		func(tx store.Tx, r store.Ref) error { return tx.YieldJobs(noon(), r) },
		func(tx store.Tx, r store.Ref) error { return tx.DeadLetterJobs(noon(), "", r) },
	} {
		update(t, s, func(tx store.Tx) error { // it wrote nothing: the closure may go on
			if err := outdated(tx, first[0].Ref()); err != store.ErrConflict {
				return fmt.Errorf("an outdated attempt: %v", err)
			}
			return nil
		})
	}
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.DoneJobs(second[0].Ref(), second[0].Ref()) })
	same(t, "still held", get(t, s, func(tx store.Tx) (store.Job, error) { return tx.Job(queue, "x") }).Attempt, 2)
	s.done(second...)

	retry := noon().Add(time.Hour)
	third := s.claim(at(noon(), 1))
	update(t, s, func(tx store.Tx) error { return tx.RetryJobs(retry, third[0].Ref()) })
	same(t, "not before", jobIDs(s.claim(at(retry.Add(-1), 1))), "")
	again := s.claim(at(retry, 1))
	same(t, "failures", []int{again[0].Failures, again[0].Attempt}, []int{1, 2})
	update(t, s, func(tx store.Tx) error { return tx.SnoozeJobs(time.Time{}, again[0].Ref()) })
	again = s.claim(at(noon(), 1))
	same(t, "a snooze is no failure", []int{again[0].Failures, again[0].Attempt}, []int{1, 3})
	update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(queue, "y", "unknown") })
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.DoneJobs(again[0].Ref()) })
	same(t, "nothing left", get(t, s, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue) }), store.JobStats{})
}

// testJobExpiredLeases: claims that nobody ends are counted until somebody ends one, and from the third on they make wait, each
// job for a time of its own.
func testJobExpiredLeases(t *testing.T, open Open) {
	s := freshJobs(t, open)
	s.put(someJobs("a", "b")...)
	now := noon()
	letExpire := func(max int, kill bool) string {
		t.Helper()
		got := s.claim(at(now, max))
		if kill {
			update(t, s, func(tx store.Tx) error { return tx.ReleaseNode(at(now, 1).Node) })
		} else {
			now = now.Add(time.Minute)
		}
		var out []string
		for _, j := range got {
			out = append(out, fmt.Sprint(j.ID, j.ExpiredLeases))
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	same(t, "the first", letExpire(9, true), "a0 b0")
	same(t, "after a restart", letExpire(9, true), "a1 b1")
	same(t, "once more", letExpire(9, true), "a2 b2")
	same(t, "now they wait", letExpire(9, true), "")
	wait := []time.Duration{store.ExpiredLeaseWait(3, 1), store.ExpiredLeaseWait(3, 2)}
	if wait[0] < time.Second || wait[1] <= wait[0] || wait[1] > 2*time.Second {
		t.Fatalf("they wait for %v", wait)
	}
	now = noon().Add(wait[0])
	same(t, "not one moment longer, and alone", letExpire(9, false), "a3")
	same(t, "a lease that is over counts as well", letExpire(1, true), "b3")
	now = now.Add(time.Hour)
	got := s.claim(at(now, 9))
	same(t, "both", fmt.Sprint(got[0].ExpiredLeases, got[1].ExpiredLeases), "4 4")
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.SnoozeJobs(time.Time{}, got[0].Ref()), tx.SnoozeJobs(now, got[1].Ref()))
	})
	again := s.claim(at(now, 9))
	same(t, "what was given back still counts, what was handled does not", fmt.Sprint(again[0].ExpiredLeases, again[1].ExpiredLeases), "4 0")
	update(t, s, func(tx store.Tx) error { return tx.RetryJobs(now, again[0].Ref()) })
	same(t, "nor after a failure", s.claim(at(now, 9))[0].ExpiredLeases, 0)
	for expiredLeases, most := 0, time.Duration(0); expiredLeases < 100; expiredLeases++ {
		for seq := range uint64(40) {
			most = max(most, store.ExpiredLeaseWait(expiredLeases, seq))
		}
		if most > time.Minute || expiredLeases < 3 && most != 0 {
			t.Fatalf("after %d claims a job waits for %s", expiredLeases, most)
		}
	}
}

// testReplacedJobs: an id that is put again.
func testReplacedJobs(t *testing.T, open Open) {
	s := freshJobs(t, open)
	s.put(someJobs("a", "b", "c")...)
	newer := aJob("a//owner")
	newer.Body, newer.Priority = []byte("newer"), store.JobUrgent
	s.put(newer)
	got := s.claim(at(noon(), 2))
	same(t, "the old place", jobIDs(got), "b a")
	same(t, "the new body", string(got[1].Body), "newer")
	newest := newer
	newest.Body, newest.NotBefore = []byte("newest"), noon().Add(time.Hour)
	s.put(newest)
	same(t, "that attempt goes on", jobIDs(s.claim(at(noon(), 9))), "c")
	s.done(got...)
	same(t, "and it waits again", jobIDs(s.claim(at(noon(), 9))), "")
	got = s.claim(at(noon().Add(time.Hour), 9))
	same(t, "when it is due", fmt.Sprint(jobIDs(got), " ", string(got[len(got)-1].Body)), "c a newest")
	other := aJob("a/key")
	if err := s.Update(t.Context(), func(tx store.Tx) error { _, err := tx.PutJobs([]store.Job{other}, nil); return err }); err == nil {
		t.Error("a job changed its key")
	}
}

// testJobHandOver: what was put is leased with it, if nothing goes before it.
func testJobHandOver(t *testing.T, open Open) {
	s := freshJobs(t, open)
	hand := func(c store.Claim, all ...store.Job) (out []store.Job) {
		t.Helper()
		update(t, s, func(tx store.Tx) (err error) { out, err = tx.PutJobs(all, &c); return err })
		return out
	}
	attempts := func(all []store.Job) (out []int) {
		for _, j := range all {
			out = append(out, j.Attempt)
		}
		return out
	}
	later := aJob("later")
	later.NotBefore = noon().Add(time.Second)
	some := hand(at(noon(), 2), append([]store.Job{later}, someJobs("a/k", "b/k", "c", "d")...)...)
	same(t, "as many as were asked for, heads that are due", attempts(some), []int{0, 1, 0, 1, 0})
	same(t, "the rest is claimed", jobIDs(s.claim(at(noon(), 9))), "d")
	s.done(some[1], some[3])
	same(t, "one is ready: nothing goes before it", attempts(hand(at(noon(), 9), aJob("e"))), []int{0})
	same(t, "in turn", jobIDs(s.claim(at(noon(), 9))), "b e")
	share := at(noon(), 9)
	share.PerOwner = 1
	same(t, "an owner's share", attempts(hand(share, someJobs("f//o", "g//o")...)), []int{1, 0})
	waits := aJob("waits/w")
	waits.NotBefore = noon().Add(time.Hour)
	s.put(waits)
	same(t, "what waits for its time is not overtaken in its key", attempts(hand(at(noon(), 9), aJob("hasty/w"))), []int{0})
	another := at(noon(), 9)
	another.Queue = "another"
	same(t, "of the claim's queue alone", attempts(hand(another, aJob("h"))), []int{0})
}

// testMadeIDs: a job whose ID the store made can be replaced, ended, given up and replayed by it like any other.
func testMadeIDs(t *testing.T, open Open) {
	s := freshJobs(t, open)
	nameless := func(body string) store.Job { return store.Job{Queue: queue, Key: "k", At: noon(), Body: []byte(body)} }
	put := s.put(nameless("a"), nameless("b"))
	newer := nameless("newer")
	newer.ID = put[0].ID
	same(t, "it keeps its place", s.put(newer)[0].Seq, put[0].Seq)
	job := get(t, s, func(tx store.Tx) (store.Job, error) { return tx.Job(queue, put[0].ID) })
	same(t, "by its ID", []string{string(job.ID), string(job.Body)}, []string{string(put[0].ID), "newer"})
	for _, bad := range []store.JobID{"~zzzzzz", put[0].ID + "0"} {
		if err := s.Update(t.Context(), func(tx store.Tx) error {
			_, err := tx.PutJobs([]store.Job{{ID: bad, Queue: queue, At: noon()}}, nil)
			return err
		}); err == nil {
			t.Errorf("%q was put, which the store may make some day", bad)
		}
	}
	for _, unknown := range []store.JobID{"~zzzzzz", "~0", "~", "~-1", "~0" + put[0].ID[1:]} {
		absent(t, s, string(unknown), func(tx store.Tx) error { _, err := tx.Job(queue, unknown); return err })
	}
	named := s.put(aJob("named"))
	absent(t, s, "a named one by its number", func(tx store.Tx) error {
		_, err := tx.Job(queue, store.JobID("~"+strconv.FormatUint(named[0].Seq, 36)))
		return err
	})
	update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(queue, "named") })
	absent(t, s, "in another queue", func(tx store.Tx) error { _, err := tx.Job("another", put[0].ID); return err })
	first := s.claim(at(noon(), 9))
	same(t, "in order", jobIDs(first), string(put[0].ID))
	update(t, s, func(tx store.Tx) error { return tx.DeadLetterJobs(noon(), "no", first[0].Ref()) })
	absent(t, s, "given up", func(tx store.Tx) error { _, err := tx.Job(queue, put[0].ID); return err })
	update(t, s, func(tx store.Tx) error { return tx.ReplayDeadLetter(queue, put[0].ID, noon()) })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.ReplayDeadLetter(queue, put[0].ID, noon()) })
	same(t, "behind the other", s.drained(noon()), string(put[1].ID+" "+put[0].ID))
	s.put(func() store.Job { j := nameless("again"); j.ID = put[1].ID; return j }())
	again := s.claim(at(noon(), 9))
	same(t, "an ID that is free may be put", jobIDs(again), string(put[1].ID))
	update(t, s, func(tx store.Tx) error { return tx.DeadLetterJobs(noon(), "no", again[0].Ref()) })
	update(t, s, func(tx store.Tx) error { return tx.ReplayDeadLetter(queue, put[1].ID, noon()) })
	update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(queue, put[1].ID) })
	same(t, "nothing left", get(t, s, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue) }), store.JobStats{})
}
