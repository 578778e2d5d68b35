package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
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

// tables are what a transaction reads and writes entries by.
type tables interface {
	get(b table, key []byte) []byte
	put(b table, key, value []byte) error
}

// TestADamagedStateOfAQueueIsCountedAgain damages the entry of a queue that has a job in flight, two that wait in a key,
// one without a key and a dead letter: all goes on, and what was counted again is written.
func TestADamagedStateOfAQueueIsCountedAgain(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	put := func(tx store.Tx, id, key string) error {
		_, err := tx.PutJobs([]store.Job{{ID: store.JobID(id), Queue: "work", Key: key, Owner: id, At: at}}, nil)
		return err
	}
	claim := store.Claim{Queue: "work", Node: "a", Now: at, Max: 1, Lease: time.Minute}
	mustUpdate(t, s, func(tx store.Tx) error {
		if err := put(tx, "dead", ""); err != nil {
			return err
		}
		claimed, _, err := tx.ClaimJobs(claim)
		if err != nil {
			return err
		}
		if err := tx.DeadLetterJobs(at, "broken", claimed[0].Ref()); err != nil {
			return err
		}
		for _, j := range [][2]string{{"0", "key"}, {"1", "key"}, {"2", "key"}, {"3", ""}} {
			if err := put(tx, j[0], j[1]); err != nil {
				return err
			}
		}
		_, _, err = tx.ClaimJobs(claim)
		return err
	})
	entry := func(tx store.Tx) []byte {
		return tx.(tables).get(jobs, []byte("work\x00s"))
	}
	var turns uint64
	mustUpdate(t, s, func(tx store.Tx) error {
		turns = binary.BigEndian.Uint64(entry(tx))
		return tx.(tables).put(jobs, []byte("work\x00s"), []byte{1, 2, 3})
	})
	mustUpdate(t, s, func(tx store.Tx) error {
		got, err := tx.JobStats("work")
		if want := (store.JobStats{Waiting: 3, InFlight: 1, Dead: 1, Oldest: at}); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
		if err != nil {
			return err
		}
		return put(tx, "4", "")
	})
	mustUpdate(t, s, func(tx store.Tx) error {
		raw := entry(tx)
		if len(raw) < 24 {
			t.Fatalf("the entry is still %x", raw)
		}
		if got := binary.BigEndian.Uint64(raw); got <= turns {
			t.Errorf("the turn after %d is %d", turns, got)
		}
		if waiting := binary.BigEndian.Uint64(raw[16:]); waiting != 4 {
			t.Errorf("the entry tells of %d that wait, want 4", waiting)
		}
		return nil
	})
}

// TestADamagedAlarmIsRemoved puts an alarm whose time is cut short before those of a job that waits for a time: the next
// claim removes it, and the job is claimed when its time has come.
func TestADamagedAlarmIsRemoved(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	alarm := []byte("work\x00t\x00\x01\x00\x00") // priority 0, and two bytes of a time
	mustUpdate(t, s, func(tx store.Tx) error {
		_, err := tx.PutJobs([]store.Job{{Queue: "work", Owner: "owner", At: at, NotBefore: at.Add(time.Hour)}}, nil)
		return errors.Join(err, tx.(tables).put(jobs, alarm, []byte{1}))
	})
	claim := store.Claim{Queue: "work", Node: "a", Now: at, Max: 1, Lease: time.Minute}
	for _, want := range []int{0, 1} {
		mustUpdate(t, s, func(tx store.Tx) error {
			claimed, _, err := tx.ClaimJobs(claim)
			if len(claimed) != want {
				t.Errorf("%d jobs claimed at %v, want %d", len(claimed), claim.Now, want)
			}
			if tx.(tables).get(jobs, alarm) != nil {
				t.Error("the damaged alarm is still there")
			}
			return err
		})
		claim.Now = at.Add(time.Hour)
	}
}

// TestADeadLetterLeavesWhatReplacedIt puts a job again while an attempt of what it was before is in flight and fails for
// good: the new one is tried.
func TestADeadLetterLeavesWhatReplacedIt(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
	claim := store.Claim{Queue: "work", Node: "a", Now: at, Max: 1, Lease: time.Minute}
	mustUpdate(t, s, func(tx store.Tx) error {
		if _, err := tx.PutJobs([]store.Job{{ID: "x", Queue: "work", At: at, Body: []byte("old")}}, nil); err != nil {
			return err
		}
		claimed, _, err := tx.ClaimJobs(claim)
		if err != nil {
			return err
		}
		if _, err := tx.PutJobs([]store.Job{{ID: "x", Queue: "work", At: at, Body: []byte("new")}}, nil); err != nil {
			return err
		}
		return tx.DeadLetterJobs(at, "broken", claimed[0].Ref())
	})
	mustUpdate(t, s, func(tx store.Tx) error {
		claimed, _, err := tx.ClaimJobs(claim)
		if err != nil {
			return err
		}
		if len(claimed) != 1 || string(claimed[0].Body) != "new" || claimed[0].Failures != 0 {
			t.Errorf("claimed %+v, want what was put anew", claimed)
		}
		letters, err := tx.DeadLetters("work", 9)
		if len(letters) != 0 {
			t.Errorf("dead letters %+v, want none", letters)
		}
		return err
	})
}

// TestErasingWalksAllJobsInPieces: however few jobs are looked at or removed in one transaction, all about the person go,
// of each queue and of the dead, and nobody else's.
func TestErasingWalksAllJobsInPieces(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, bound := range [][2]int{{100, 1}, {1, 100}, {2, 3}, {100, 100}} {
		s := openAt(t, filepath.Join(t.TempDir(), "purser.db"))
		mustUpdate(t, s, func(tx store.Tx) error {
			for _, queue := range []store.Queue{"first", "second"} {
				var all []store.Job
				for i := range 8 {
					all = append(all, store.Job{Queue: queue, Key: fmt.Sprint(i % 3), At: at, About: wallet.UserID(fmt.Sprint("usr_", i%2))})
				}
				put, err := tx.PutJobs(all, &store.Claim{Queue: queue, Node: "a", Now: at, Max: 2, Lease: time.Minute})
				if err != nil {
					return err
				}
				for _, j := range put[:2] { // one of each person
					if err := tx.DeadLetterJobs(at, "no", j.Ref()); err != nil {
						return err
					}
				}
			}
			return nil
		})
		var from []byte
		removed := 0
		for pieces := 1; ; pieces++ {
			mustUpdate(t, s, func(contract store.Tx) error {
				n, next, err := contract.(*tx).dropJobsAbout("usr_1", from, bound[0], bound[1])
				from = next
				removed += n
				return err
			})
			if from == nil {
				break
			}
			if pieces > 100 {
				t.Fatalf("%v: it never ends, at %q", bound, from)
			}
		}
		if err := s.View(t.Context(), func(tx store.Tx) error {
			for _, queue := range []store.Queue{"first", "second"} {
				stats, err := tx.JobStats(queue)
				if want := (store.JobStats{Waiting: 3, Dead: 1, Oldest: at}); err != nil || stats != want {
					t.Errorf("%v: left in %s: %+v, want %+v (%v)", bound, queue, stats, want, err)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if removed != 8 {
			t.Errorf("%v: %d removed, want 8", bound, removed)
		}
	}
}

// TestCountingWholeJobsReportsNoDamage: what leads to the rows lies in the same table, and is not taken for a row.
func TestCountingWholeJobsReportsNoDamage(t *testing.T) {
	var log strings.Builder
	o := at(filepath.Join(t.TempDir(), "purser.db"))
	o.log = slog.New(slog.NewTextHandler(&log, nil))
	s := o.mustOpen(t)
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	mustUpdate(t, s, func(tx store.Tx) error {
		_, err := tx.PutJobs([]store.Job{
			{ID: "0", Queue: "work", Key: "key", Owner: "owner", At: at},
			{ID: "1", Queue: "work", Key: "key", Owner: "owner", At: at},
			{ID: "2", Queue: "work", NotBefore: at.Add(time.Hour), At: at},
		}, nil)
		if err != nil {
			return err
		}
		_, _, err = tx.ClaimJobs(store.Claim{Queue: "work", Node: "a", Now: at, Max: 1, Lease: time.Minute})
		return err
	})
	count := func(want store.JobStats) {
		t.Helper()
		mustUpdate(t, s, func(tx store.Tx) error {
			if got, err := tx.JobStats("work"); err != nil || got != want {
				t.Errorf("counted %+v and %v, want %+v", got, err, want)
			}
			return nil
		})
	}
	count(store.JobStats{Waiting: 2, InFlight: 1, Oldest: at})
	// Without rows everything that is left is entries.
	mustUpdate(t, s, func(tx store.Tx) error {
		for now := at; now.Before(at.Add(3 * time.Hour)); now = now.Add(time.Hour) {
			claimed, _, err := tx.ClaimJobs(store.Claim{Queue: "work", Node: "b", Now: now, Max: 3, Lease: time.Minute})
			if err != nil {
				return err
			}
			for _, j := range claimed {
				if err := tx.DeadLetterJobs(now, "broken", j.Ref()); err != nil {
					return err
				}
			}
		}
		return nil
	})
	count(store.JobStats{Dead: 3})
	if log.Len() > 0 {
		t.Errorf("reported %s", log.String())
	}
}
