package bolt

import (
	"errors"
	"testing"
	"time"

	"purser/store"
)

// TestJobsAreCountedAcrossACommit puts jobs of one owner in several Updates that share a commit. Some fail, with jobs put
// or after a claim that took nothing: none of what they counted stays, and the others are counted once.
func TestJobsAreCountedAcrossACommit(t *testing.T) {
	s, failed := fresh(t), errors.New("failed")
	one := func(id store.JobID) func(store.Tx) error {
		return func(tx store.Tx) error {
			_, err := tx.PutJobs([]store.Job{{ID: id, Queue: "bench", Key: string(id), Owner: "owner", At: benchNow(), NotBefore: benchNow().Add(time.Hour)}}, nil)
			return err
		}
	}
	claimAt := func(after time.Duration, claimed *[]store.Job, next *time.Time) func(store.Tx) error {
		return func(tx store.Tx) (err error) {
			claim := benchClaim(8)
			claim.Now = benchNow().Add(after)
			*claimed, *next, err = tx.ClaimJobs(claim)
			return err
		}
	}
	var claimed []store.Job
	var next time.Time
	mustUpdate(t, s, claimAt(0, &claimed, &next))
	outcomes := together(t, s, one("a"),
		func(tx store.Tx) error { return errors.Join(one("b")(tx), failed) },
		one("c"),
		func(tx store.Tx) error { return errors.Join(claimAt(50*time.Minute, &claimed, &next)(tx), failed) }, // it would move the queue's time
		one("d"),
		func(tx store.Tx) error {
			if n, err := tx.CountJobs("bench", "owner"); n != 3 || err != nil {
				t.Errorf("a later Update of the commit counts %d jobs (%v)", n, err)
			}
			return nil
		})
	for i, err := range outcomes {
		if failing := i == 1 || i == 3; failing != errors.Is(err, failed) || !failing && err != nil {
			t.Errorf("Update %d: %v", i, err)
		}
	}
	if err := s.View(t.Context(), func(tx store.Tx) error {
		n, err := tx.CountJobs("bench", "owner")
		stats, err2 := tx.JobStats("bench")
		if n != 3 || stats.Waiting != 3 || stats.InFlight != 0 {
			t.Errorf("3 jobs are counted as %d of the owner, and as %+v", n, stats)
		}
		return errors.Join(err, err2)
	}); err != nil {
		t.Fatal(err)
	}
	// The clock of the claim that failed left nothing: had it, 5 minutes would look like a clock set back by 45.
	mustUpdate(t, s, claimAt(5*time.Minute, &claimed, &next))
	mustUpdate(t, s, claimAt(20*time.Minute, &claimed, &next))
	if len(claimed) != 0 || !next.Equal(benchNow().Add(time.Hour)) {
		t.Errorf("%d jobs are claimed 40 minutes early, and the next is due at %v", len(claimed), next)
	}
}
