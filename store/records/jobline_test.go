package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/store/engine"
)

// TestLinesAreTheSortedSetOfTheirJobs adds and removes jobs of two keys in any order, and compares with sorted sets. Numbers
// come as in life: most are the newest, some are put back among older ones.
func TestLinesAreTheSortedSetOfTheirJobs(t *testing.T) {
	s := fresh(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		lines := [][]byte{bytes.Repeat([]byte{1}, hashSize), bytes.Repeat([]byte{2}, hashSize)}
		type member struct {
			class byte
			seq   uint64
		}
		sets := [2]map[member]bool{{}, {}}
		newest := uint64(0)
		for range 40 {
			mustUpdate(t, s, func(contract store.Tx) error {
				q, err := contract.(*tx).jobQueue("lines")
				if err != nil {
					return err
				}
				for range 1 + r.IntN(60) {
					which, class := r.IntN(2), byte(1+r.IntN(2))
					set, line := sets[which], lines[which]
					newest += 1 + r.Uint64N(300)
					m := member{class, newest}
					if r.IntN(4) == 0 {
						m.seq = 1 + r.Uint64N(newest) // put back
					}
					if remove := r.IntN(3) == 0; remove {
						for one := range set { // any
							m = one
							break
						}
						if err := q.delist(line, m.class, m.seq); err != nil {
							return err
						}
						delete(set, m)
						continue
					}
					if err := q.enlist(line, m.class, m.seq, len(set) == 0); err != nil {
						return err
					}
					set[m] = true
				}
				for which, set := range sets {
					want := make([]member, 0, len(set))
					for m := range set {
						want = append(want, m)
					}
					slices.SortFunc(want, func(a, b member) int {
						return bytes.Compare(binary.BigEndian.AppendUint64([]byte{a.class}, a.seq), binary.BigEndian.AppendUint64([]byte{b.class}, b.seq))
					})
					var numbers []uint64
					for seq := range q.lineOf(lines[which]) {
						numbers = append(numbers, seq)
					}
					if !slices.EqualFunc(want, numbers, func(m member, seq uint64) bool { return m.seq == seq }) {
						t.Fatalf("seed %d: line %d is %v, want %v", seed, which, numbers, want)
					}
					first := q.firstOfLine(lines[which])
					if first.found != (len(want) > 0) || first.found && (member{first.class, first.seq}) != want[0] {
						t.Fatalf("seed %d: the first is %+v of %v", seed, first, want)
					}
				}
				return nil
			})
		}
		// Runs are full enough to save pages, and none is too long.
		mustUpdate(t, s, func(contract store.Tx) error {
			q, err := contract.(*tx).jobQueue("lines")
			if err != nil {
				return err
			}
			for which, line := range lines {
				entries := q.prefixed(jobs, q.at(lineOfKey, line))
				for _, e := range entries {
					if n := len(decodeRun(binary.BigEndian.Uint64(e.key[len(e.key)-8:]), e.value)); n > runSize {
						t.Errorf("seed %d: a run of %d", seed, n)
					}
				}
				if len(sets[which]) > 400 && len(entries) > len(sets[which])/8 {
					t.Errorf("seed %d: %d jobs in %d entries", seed, len(sets[which]), len(entries))
				}
				for m := range sets[which] {
					if err := q.delist(line, m.class, m.seq); err != nil {
						return err
					}
				}
				if left := q.prefixed(jobs, q.at(lineOfKey, line)); len(left) > 0 {
					t.Errorf("seed %d: %d entries of no job", seed, len(left))
				}
			}
			return nil
		})
	}
}

// TestADamagedRunInventsNoJob: what cannot be read ends the run, whatever stands behind it.
func TestADamagedRunInventsNoJob(t *testing.T) {
	whole := run{5, 6, 300, 301}
	value := whole.encode()
	for _, c := range []struct {
		value []byte
		want  run
	}{
		{nil, run{5}},
		{value, whole},
		{value[:1], run{5, 6}},
		{value[:2], run{5, 6}},                      // a number is cut off
		{append([]byte{1, 0}, value...), run{5, 6}}, // no difference
		{append([]byte{1}, bytes.Repeat([]byte{0xff}, 12)...), run{5, 6}}, // more than 64 bits
		{binary.AppendUvarint([]byte{1}, 1<<64-1), run{5, 6}},             // beyond the largest number
		{bytes.Repeat([]byte{1}, 500), func() (r run) {
			for i := range uint64(runSize) {
				r = append(r, 5+i)
			}
			return r
		}()},
	} {
		if got := decodeRun(5, c.value); !slices.Equal(got, c.want) {
			t.Errorf("%x is read as %v, want %v", c.value, got, c.want)
		}
	}
}

// TestARunThatNamesOthersJobsClaimsNoneOfThem damages the run of a key, so that it names a job of another key: one that is in
// flight, or one that waits behind another. That one is not claimed out of its turn, and the damaged key goes on.
func TestARunThatNamesOthersJobsClaimsNoneOfThem(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for behind, what := range []string{"in flight", "waits"} {
		s := fresh(t)
		claim := func(most int) (ids []string, refs []store.Ref) {
			mustUpdate(t, s, func(tx store.Tx) error {
				claimed, _, err := tx.ClaimJobs(store.Claim{Queue: "work", Node: "a", Now: at, Max: most, Lease: time.Minute})
				for _, j := range claimed {
					ids, refs = append(ids, string(j.ID)), append(refs, j.Ref())
				}
				return err
			})
			return ids, refs
		}
		put := func(id, key string) (seq uint64) {
			mustUpdate(t, s, func(tx store.Tx) error {
				put, err := tx.PutJobs([]store.Job{{ID: store.JobID(id), Queue: "work", Key: key, Owner: key, At: at}}, nil)
				if err == nil {
					seq = put[0].Seq
				}
				return err
			})
			return seq
		}
		first := put("a0", "a")
		foreign := []uint64{put("b0", "b"), put("b1", "b")}[behind]
		put("a1", "a")
		put("a2", "a")
		got, held := claim(9)
		if !slices.Equal(got, []string{"a0", "b0"}) {
			t.Fatalf("claimed %v", got)
		}
		mustUpdate(t, s, func(contract store.Tx) error {
			q, err := contract.(*tx).jobQueue("work")
			if err != nil {
				return err
			}
			line := bytes.Clone(q.hash("a"))
			of := q.runAt(line, waitingClass(0), first+9)
			if len(of) != 2 {
				t.Fatalf("the run is %v", of)
			}
			return errors.Join(q.delete(jobs, q.lineKey(line, waitingClass(0), of[0])), q.putRun(line, waitingClass(0), run{foreign, of[1]}))
		})
		mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(held[0]) })
		if got, _ = claim(9); !slices.Equal(got, []string{"a2"}) {
			t.Errorf("%s: then claimed %v, want what its own key has next", what, got)
		}
		mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(held[1]) })
		if got, _ = claim(9); !slices.Equal(got, []string{"b1"}) {
			t.Errorf("%s: at last claimed %v", what, got)
		}
	}
}

// TestManyJobsOfOneKeyLieOnFewPages: 1,000 jobs of one person change few entries beside their rows.
func TestManyJobsOfOneKeyLieOnFewPages(t *testing.T) {
	s := fresh(t)
	mustUpdate(t, s, func(contract store.Tx) error {
		for range 1000 {
			if _, err := contract.PutJobs([]store.Job{{Queue: "many", Key: "k", Owner: "k"}}, nil); err != nil {
				return err
			}
		}
		q, err := contract.(*tx).jobQueue("many")
		if err != nil {
			return err
		}
		entries := 0
		for range q.scan(jobs, engine.Prefix(q.at(lineOfKey))) {
			entries++
		}
		if entries > 1000/runSize+2 {
			t.Errorf("%d entries for 1,000 jobs", entries)
		}
		listed, err := contract.JobsOfKey("many", "k", 999)
		if err != nil || len(listed) != 999 || !slices.IsSortedFunc(listed, func(a, b store.Job) int { return int(a.Seq) - int(b.Seq) }) {
			t.Errorf("%d jobs of the key, %v", len(listed), err)
		}
		return nil
	})
}
