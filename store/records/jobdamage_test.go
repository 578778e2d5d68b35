package records

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/store/storetest"
)

// TestADamagedJobHoldsUpNobody damages the row of a job that waits at the head of its key, in the middle of it, or in
// flight: what is behind it in its key and whose share it used up goes on.
func TestADamagedJobHoldsUpNobody(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for what, how := range storetest.WaysOfDamage() {
		for nth := range 3 {
			for _, inFlight := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d %v", what, nth, inFlight), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "purser.db")
					s := openAt(t, path)
					claim := store.Claim{Queue: "work", Node: "a", Now: at, Max: 10, PerOwner: 1, Lease: time.Minute}
					mustUpdate(t, s, func(tx store.Tx) error {
						var all []store.Job
						for i := range 3 {
							all = append(all, store.Job{ID: store.JobID(fmt.Sprint(i)), Queue: "work", Key: "key", Owner: "owner", At: at})
						}
						_, err := tx.PutJobs(all, nil)
						if err == nil && inFlight {
							_, _, err = tx.ClaimJobs(claim)
						}
						return err
					})
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					inFile(t, path, jobs, nth, how)
					s = openAt(t, path)
					claim.Now = at.Add(time.Hour)
					var got []string
					for range 5 {
						mustUpdate(t, s, func(tx store.Tx) error {
							claimed, _, err := tx.ClaimJobs(claim)
							for _, j := range claimed {
								got = append(got, string(j.ID))
								err = tx.DoneJobs(j.Ref())
							}
							return err
						})
					}
					want := slices.Delete([]string{"0", "1", "2"}, nth, nth+1)
					if !slices.Equal(got, want) {
						t.Errorf("claimed %v, want %v", got, want)
					}
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}
