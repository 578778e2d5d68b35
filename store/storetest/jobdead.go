package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func testDeadLetters(t *testing.T, open Open) {
	s := freshJobs(t, open)
	s.put(someJobs("bad/k/o", "good/k/o")...)
	bad := s.claim(at(noon(), 1))
	update(t, s, func(tx store.Tx) error { return tx.DeadLetterJobs(noon(), "no such thing", bad[0].Ref()) })
	letters := func() []store.DeadLetter {
		return get(t, s, func(tx store.Tx) ([]store.DeadLetter, error) { return tx.DeadLetters(queue, 10) })
	}
	same(t, "kept", letters(), []store.DeadLetter{{Job: bad[0], Reason: "no such thing", DiedAt: noon()}})
	same(t, "its key goes on", s.drained(noon()), "good")
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.ReplayDeadLetter(queue, "good", noon()) })
	s.put(aJob("bad/k/o"))
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.ReplayDeadLetter(queue, "bad", noon()) })
	s.done(s.claim(at(noon(), 1))...)
	update(t, s, func(tx store.Tx) error { return tx.ReplayDeadLetter(queue, "bad", noon()) })
	again := s.claim(at(noon(), 1))
	same(t, "replayed", []any{jobIDs(again), again[0].Failures, string(again[0].Body), len(letters())}, []any{"bad", 0, "body of bad", 0})
	update(t, s, func(tx store.Tx) error { return tx.DeadLetterJobs(noon(), "again", again[0].Ref()) })
	sweep := func(now time.Time) (n int) {
		update(t, s, func(tx store.Tx) (err error) { n, err = tx.Sweep(now, 100); return err })
		return n
	}
	same(t, "kept for a while", []int{sweep(noon().Add(store.DeadLettersFor - 1)), len(letters())}, []int{0, 1})
	same(t, "not for ever", []int{sweep(noon().Add(store.DeadLettersFor)), len(letters())}, []int{1, 0})

	update(t, s, func(tx store.Tx) error { // the oldest give way
		for i := range store.DeadLettersKept + 2 {
			put, err := tx.PutJobs(someJobs(fmt.Sprint("d", i)), &store.Claim{Queue: queue, Node: "a", Now: noon(), Max: 1, Lease: time.Minute})
			if err != nil {
				return err
			}
			if err := tx.DeadLetterJobs(noon().Add(time.Duration(i)), "", put[0].Ref()); err != nil {
				return err
			}
		}
		all, err := tx.DeadLetters(queue, store.DeadLettersKept+10)
		same(t, "bounded", len(all), store.DeadLettersKept)
		same(t, "the newest", []store.JobID{all[0].ID, all[len(all)-1].ID}, []store.JobID{store.JobID(fmt.Sprint("d", store.DeadLettersKept+1)), "d2"})
		return err
	})
}

// testDeadEvents: a dead letter of the queue Events is replayed by its event's ID, as often as it dies, and the event that waits
// again cannot be emitted twice.
func testDeadEvents(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.Emit(event("a"), event("b")) })
	die := func(n int) {
		t.Helper()
		update(t, s, func(tx store.Tx) error {
			jobs, _, err := tx.ClaimJobs(store.Claim{Queue: store.Events, Node: "a", Now: noon(), Max: n, Lease: time.Minute})
			for _, job := range jobs {
				err = errors.Join(err, tx.DeadLetterJobs(noon(), "", job.Ref()))
			}
			return err
		})
	}
	left := func() (out []string) {
		for _, e := range get(t, s, func(tx store.Tx) ([]wallet.Event, error) { return tx.PendingEvents(10) }) {
			out = append(out, e.ID)
		}
		return out
	}
	for range 3 {
		die(1)
	}
	same(t, "both died", len(left()), 0)
	for range 2 {
		update(t, s, func(tx store.Tx) error { return tx.ReplayDeadLetter(store.Events, "b", noon()) })
		same(t, "it waits again", left(), []string{"b"})
		refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.ReplayDeadLetter(store.Events, "b", noon()) })
		update(t, s, func(tx store.Tx) error { return tx.Emit(event("b")) })
		same(t, "once", left(), []string{"b"})
		die(1)
	}
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.ReplayDeadLetter(store.Events, "c", noon()) })
	update(t, s, func(tx store.Tx) error { return tx.ReplayDeadLetter(store.Events, "a", noon()) })
	same(t, "the other", left(), []string{"a"})
}
