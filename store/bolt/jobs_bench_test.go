package bolt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
)

func benchJobs(n, from int, owner string) []store.Job {
	all, body := make([]store.Job, n), make([]byte, 300)
	for i := range all {
		all[i] = store.Job{ID: store.JobID(fmt.Sprint("job ", from+i)), Queue: "bench", Key: fmt.Sprint("key ", from+i), Owner: owner, At: benchNow(), Body: body}
	}
	return all
}

func benchNow() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func benchClaim(n int) store.Claim {
	return store.Claim{Queue: "bench", Node: "a", Now: benchNow(), Max: n, Lease: time.Minute}
}

// BenchmarkJobs is the life of jobs in three Updates: so many are put, claimed and done. Beside it in the same run, as many
// rows that are neither sealed nor indexed are written, read and deleted in three Updates of bare bbolt.
func BenchmarkJobs(b *testing.B) {
	for _, n := range []int{1, 64, 1000} {
		b.Run(fmt.Sprintf("%dinUpdate", n), func(b *testing.B) {
			s, bare := fresh(b), bareBolt(b)
			var ours, raw time.Duration
			for round := range b.N {
				begin := time.Now()
				liveJobs(b, s, benchJobs(n, round*n, "owner"))
				ours += time.Since(begin)
				begin = time.Now()
				liveRows(b, bare, n)
				raw += time.Since(begin)
			}
			b.ReportMetric(float64(n*b.N)/ours.Seconds(), "jobs/s")
			b.ReportMetric(float64(n*b.N)/raw.Seconds(), "bare-rows/s")
			b.ReportMetric(ours.Seconds()/raw.Seconds(), "x-bare-time")
		})
	}
}

func liveJobs(b *testing.B, s *whole, jobs []store.Job) {
	mustUpdate(b, s, func(tx store.Tx) error { _, err := tx.PutJobs(jobs, nil); return err })
	var claimed []store.Job
	mustUpdate(b, s, func(tx store.Tx) (err error) { claimed, _, err = tx.ClaimJobs(benchClaim(len(jobs))); return err })
	if len(claimed) != len(jobs) {
		b.Fatalf("%d of %d jobs were claimed", len(claimed), len(jobs))
	}
	refs := make([]store.Ref, len(claimed))
	for i, j := range claimed {
		refs[i] = j.Ref()
	}
	mustUpdate(b, s, func(tx store.Tx) error { return tx.DoneJobs(refs...) })
}

func liveRows(b *testing.B, db *bbolt.DB, n int) {
	body, first := make([]byte, 300), uint64(0)
	for _, step := range []func(rows *bbolt.Bucket) error{
		func(rows *bbolt.Bucket) error {
			first = rows.Sequence() + 1
			for range n {
				seq, err := rows.NextSequence()
				if err != nil {
					return err
				}
				if err := rows.Put(binary.BigEndian.AppendUint64(nil, seq), body); err != nil {
					return err
				}
			}
			return nil
		},
		func(rows *bbolt.Bucket) error { // a claim writes who has it
			for i := range n {
				if err := rows.Put(binary.BigEndian.AppendUint64(nil, first+uint64(i)), body); err != nil {
					return err
				}
			}
			return nil
		},
		func(rows *bbolt.Bucket) error {
			for i := range n {
				if err := rows.Delete(binary.BigEndian.AppendUint64(nil, first+uint64(i))); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		if err := db.Update(func(tx *bbolt.Tx) error { return step(tx.Bucket([]byte("rows"))) }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClaimBehindOthers claims and ends one job of another owner while 100,000 of one owner wait in front of it.
func BenchmarkClaimBehindOthers(b *testing.B) {
	for _, waiting := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("%dwaiting", waiting), func(b *testing.B) {
			s := fresh(b)
			for from := 0; from < waiting; from += 10_000 {
				mustUpdate(b, s, func(tx store.Tx) error { _, err := tx.PutJobs(benchJobs(10_000, from, "crowd"), nil); return err })
			}
			id := store.JobID("job 1000000")
			b.ResetTimer()
			for range b.N {
				mustUpdate(b, s, func(tx store.Tx) error { _, err := tx.PutJobs(benchJobs(1, 1_000_000, "another"), nil); return err })
				mustUpdate(b, s, func(tx store.Tx) error {
					claimed, _, err := tx.ClaimJobs(benchClaim(2))
					if err != nil {
						return err
					}
					for _, j := range claimed {
						if j.ID == id {
							return tx.DoneJobs(j.Ref())
						}
					}
					return fmt.Errorf("the other owner's job was not among the next two: %d claimed", len(claimed))
				})
			}
		})
	}
}

// TestAClaimCostsWhatItClaims counts the pages that a claim reads and writes behind 20,000 jobs of one owner, of which
// half wait for a time that is the same for all.
func TestAClaimCostsWhatItClaims(t *testing.T) {
	s := fresh(t)
	all := benchJobs(20_000, 0, "crowd")
	for i := range all[:10_000] {
		all[i].NotBefore = benchNow().Add(time.Second)
	}
	for some := range slices.Chunk(all, 1000) { // bbolt's time for many new keys in one transaction is their square
		mustUpdate(t, s, func(tx store.Tx) error { _, err := tx.PutJobs(some, nil); return err })
	}
	mustUpdate(t, s, func(tx store.Tx) error { _, err := tx.PutJobs(benchJobs(1, 1_000_000, "another"), nil); return err })
	claim := benchClaim(2)
	claim.Now = benchNow().Add(time.Hour)
	var claimed []store.Job
	rollback := errors.New("rolled back")
	allocs := testing.AllocsPerRun(1, func() {
		err := s.Update(context.Background(), func(tx store.Tx) (err error) {
			if claimed, _, err = tx.ClaimJobs(claim); err != nil {
				return err
			}
			return rollback
		})
		if !errors.Is(err, rollback) {
			t.Error(err)
		}
	})
	if len(claimed) != 2 || claimed[0].ID != "job 1000000" && claimed[1].ID != "job 1000000" {
		t.Errorf("%d jobs were claimed", len(claimed))
	}
	if allocs > 1500 { // some pages of the file, and the two jobs
		t.Errorf("%.0f allocations for two jobs", allocs)
	}
}
