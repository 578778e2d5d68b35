package storetest

import (
	"fmt"
	"testing"
	"time"

	"purser/store"
)

// testYieldedJobs: a job that gives way goes behind what waits of its owner, also when what waits is put with a later
// number, and everything else of it stays.
func testYieldedJobs(t *testing.T, open Open) {
	s := freshJobs(t, open)
	yield := func(notBefore time.Time, all ...store.Job) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return tx.YieldJobs(notBefore, refs(all)...) })
	}
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_a", 1)) })
	busy := aJob("busy//o")
	busy.About, busy.Priority = "usr_a", store.JobNormal
	others := someJobs("b//o", "c//o", "d//p")
	for i := range others {
		others[i].Priority = store.JobNormal
	}
	s.put(append([]store.Job{busy}, others...)...)

	one := at(noon(), 1)
	first := s.claim(one)
	same(t, "the oldest", jobIDs(first), "busy")
	yield(noon(), first...)
	now := get(t, s, func(tx store.Tx) (store.Job, error) { return tx.Job(queue, "busy") })
	want := first[0]
	want.NotBefore, want.Seq = noon(), now.Seq
	same(t, "all but its place", now, want)
	if now.Seq <= first[0].Seq+3 {
		t.Errorf("it went from %d to %d", first[0].Seq, now.Seq)
	}
	same(t, "counted once", get(t, s, func(tx store.Tx) (int, error) { return tx.CountJobs(queue, "o") }), 3)
	same(t, "not in flight", get(t, s, func(tx store.Tx) (int, error) { return tx.CountInFlight(queue, "o") }), 0)
	same(t, "stats", get(t, s, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue) }), store.JobStats{Waiting: 4, Oldest: noon()})
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.DoneJobs(first[0].Ref()) })

	var order []store.Job
	for range 4 {
		order = append(order, s.claim(one)...)
	}
	same(t, "behind its owner's", jobIDs(order), "d b c busy")
	same(t, "attempts go on", order[3].Attempt, 2)

	yield(noon().Add(time.Hour), order[3])
	same(t, "not before its time", jobIDs(s.claim(at(noon(), 9))), "")
	s.done(order[:3]...)
	same(t, "at its time", jobIDs(s.claim(at(noon().Add(time.Hour), 9))), "busy")

	held := get(t, s, func(tx store.Tx) (store.Job, error) { return tx.Job(queue, "busy") })
	newer := busy
	newer.Body, newer.NotBefore = []byte("newer"), noon().Add(3*time.Hour)
	s.put(newer)
	yield(noon().Add(2*time.Hour), held)
	same(t, "what was put meanwhile waits for its own time", jobIDs(s.claim(at(noon().Add(3*time.Hour-1), 9))), "")
	got := s.claim(at(noon().Add(3*time.Hour), 9))
	same(t, "and is what was put", string(got[0].Body), "newer")

	update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(queue, "busy") })
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.YieldJobs(noon(), refs(got)...) })
	absent(t, s, "removed", func(tx store.Tx) error { _, err := tx.Job(queue, "busy"); return err })
	testYieldedIDs(t, open)
}

// testYieldedIDs: an ID of the store's own is found after its job gave way, and a key keeps its order.
func testYieldedIDs(t *testing.T, open Open) {
	s := freshJobs(t, open)
	made := s.put(store.Job{Queue: queue, At: noon()})
	held := s.claim(at(noon(), 1))
	update(t, s, func(tx store.Tx) error { return tx.YieldJobs(time.Time{}, held[0].Ref()) })
	s.put(store.Job{Queue: queue, At: noon(), Body: []byte("another")})
	now := get(t, s, func(tx store.Tx) (store.Job, error) { return tx.Job(queue, made[0].ID) })
	same(t, "by the ID that the store made", []any{now.ID, string(now.Body), now.Seq > made[0].Seq}, []any{made[0].ID, "", true})
	s.put(now)
	same(t, "put again it is the same job", len(s.claim(at(noon(), 9))), 2)

	s = freshJobs(t, open)
	s.put(someJobs("x/k", "y/k")...)
	held = s.claim(at(noon(), 9))
	err := s.Update(t.Context(), func(tx store.Tx) error { return tx.YieldJobs(noon(), held[0].Ref()) })
	if err == nil {
		t.Error("a job gave way to the next one of its key")
	}
	same(t, "the key's order", s.drained(noon().Add(time.Hour)), "x y")
}

// testYieldsOfNodes: the jobs of one owner are never finished and more than may be in flight. On two nodes whose holders
// give way when their time is over, each of them has its turns.
func testYieldsOfNodes(t *testing.T, open Open) {
	const jobs, perOwner, rounds = 7, 4, 14
	s := freshJobs(t, open)
	for i := range jobs {
		s.put(aJob(fmt.Sprintf("%d//o", i)))
	}
	turns := map[store.JobID]int{}
	held := map[string][]store.Job{}
	for round := range rounds {
		now := noon().Add(time.Duration(round) * time.Minute)
		for _, node := range []string{"a", "b"} {
			if len(held[node]) > 0 {
				update(t, s, func(tx store.Tx) error { return tx.YieldJobs(now, refs(held[node])...) })
			}
			c := at(now, perOwner/2)
			c.Node, c.PerOwner, c.Lease = node, perOwner, 3*time.Minute
			held[node] = s.claim(c)
			for _, j := range held[node] {
				turns[j.ID]++
			}
		}
		n := get(t, s, func(tx store.Tx) (int, error) { return tx.CountInFlight(queue, "o") })
		if want := len(held["a"]) + len(held["b"]); n != want || n > perOwner {
			t.Fatalf("%d in flight on both nodes, which hold %d", n, want)
		}
	}
	for i := range jobs {
		if got := turns[store.JobID(fmt.Sprint(i))]; got != rounds*perOwner/jobs {
			t.Errorf("%d had %d turns: %v", i, got, turns)
		}
	}
}

// testSecondLives: an ID is put again after its job has ended. A node that slept since its claim of the first one holds
// nothing of the second, although both are in their first attempt.
func testSecondLives(t *testing.T, open Open) {
	s := freshJobs(t, open)
	s.put(aJob("x"))
	slept := s.claim(at(noon(), 1))
	other := at(noon().Add(time.Hour), 1)
	other.Node = "b"
	s.done(s.claim(other)...)
	s.put(aJob("x"))
	other.Now = other.Now.Add(time.Second)
	second := s.claim(other)
	same(t, "attempts begin again", []int{slept[0].Attempt, second[0].Attempt}, []int{1, 1})
	lost := get(t, s, func(tx store.Tx) ([]store.Ref, error) { return tx.LostJobs(slept[0].Ref(), second[0].Ref()) })
	same(t, "lost", lost, []store.Ref{slept[0].Ref()})
	for name, end := range map[string]func(store.Tx, store.Ref) error{
		"done":   func(tx store.Tx, r store.Ref) error { return tx.DoneJobs(r) },
		"retry":  func(tx store.Tx, r store.Ref) error { return tx.RetryJobs(noon(), r) },
		"snooze": func(tx store.Tx, r store.Ref) error { return tx.SnoozeJobs(noon(), r) },
		"yield":  func(tx store.Tx, r store.Ref) error { return tx.YieldJobs(noon(), r) },
	} {
		if err := s.Update(t.Context(), func(tx store.Tx) error { return end(tx, slept[0].Ref()) }); err != store.ErrConflict {
			t.Errorf("%s by a node that slept: %v", name, err)
		}
	}
	s.done(second...)
}
