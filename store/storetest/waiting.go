package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"purser/store"
)

// errLooked rolls back what was done only to look.
var errLooked = errors.New("storetest: looked")

// Jobs lists all jobs of a queue, in the order in which they were put: those that wait, also for a time, and those that
// are in flight. It is for tests of other packages; a worker of a queue claims.
func Jobs(t testing.TB, s store.Store, queue store.Queue) []store.Job {
	t.Helper()
	var all []store.Job
	err := s.Update(context.Background(), func(tx store.Tx) error {
		all = nil
		for late := time.Now().AddDate(100, 0, 0); ; { // all leases are over by then
			claimed, _, err := tx.ClaimJobs(store.Claim{Queue: queue, Node: "storetest", Now: late, Max: 1 << 16, Lease: time.Minute})
			if err != nil {
				return err
			}
			if len(claimed) == 0 {
				return errLooked
			}
			var refs []store.Ref
			for _, job := range claimed {
				refs = append(refs, job.Ref())
				job.Attempt--
				all = append(all, job)
			}
			if err := tx.DoneJobs(refs...); err != nil {
				return err
			}
		}
	})
	if !errors.Is(err, errLooked) {
		t.Fatalf("look into %s: %v", queue, err)
	}
	slices.SortFunc(all, func(a, b store.Job) int { return int(a.Seq) - int(b.Seq) })
	return all
}

// Outbox lists the replies that wait to be sent, in the order in which they were put. What is no reply is left out.
func Outbox(t testing.TB, s store.Store) (replies []store.Reply) {
	t.Helper()
	for _, job := range Jobs(t, s, store.Outbox) {
		if reply, err := store.ReplyOf(job); err == nil {
			replies = append(replies, reply)
		}
	}
	return replies
}
