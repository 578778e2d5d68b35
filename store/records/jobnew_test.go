package records

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// noon is the time of the tests of fresh jobs.
func noon() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

// emitEvents emits n events of people in turns, named by their number.
func emitEvents(t *testing.T, s *Store, from, n, people int) {
	t.Helper()
	mustUpdate(t, s, func(tx store.Tx) error {
		for i := from; i < from+n; i++ {
			e := wallet.Event{ID: fmt.Sprintf("evt_%04d", i), Name: wallet.TransactionReceived, User: wallet.UserID(fmt.Sprint("usr_", i%people)), At: noon(), Data: []byte("{}")}
			if err := tx.Emit(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// claimEvents claims up to most events.
func claimEvents(t *testing.T, s *Store, most int) (claimed []store.Job, next time.Time) {
	t.Helper()
	mustUpdate(t, s, func(tx store.Tx) (err error) {
		claimed, next, err = tx.ClaimJobs(store.Claim{Queue: store.Events, Node: "a", Now: noon(), Max: most, Lease: time.Minute})
		return err
	})
	return claimed, next
}

// nameOf is the id of the event of a job.
func nameOf(t *testing.T, j store.Job) string {
	t.Helper()
	e, err := store.EventOf(j)
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// eventStats is the state of the queue of events.
func eventStats(t *testing.T, s *Store) (stats store.JobStats) {
	t.Helper()
	if err := s.View(t.Context(), func(tx store.Tx) (err error) { stats, err = tx.JobStats(store.Events); return err }); err != nil {
		t.Fatal(err)
	}
	return stats
}

// TestEmittingWritesNothingThatLeadsToAnEvent but its row: the first claim writes the rest.
func TestEmittingWritesNothingThatLeadsToAnEvent(t *testing.T) {
	s := fresh(t)
	kinds := func() (found string) {
		if err := s.View(t.Context(), func(contract store.Tx) error {
			for key := range contract.(*tx).scan(jobs, all()) {
				found += string(key[len("events\x00")])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	emitEvents(t, s, 0, 3, 1)
	if got := kinds(); got != "rrrs" {
		t.Errorf("emitting three events wrote %s", got)
	}
	claimEvents(t, s, 1)
	if got := kinds(); got != "kkkrrrsu" { // the key's job in flight, a run of those that wait, their owner, and the lease
		t.Errorf("then a claim wrote %s", got)
	}
}

// TestEventsThatWaitedLongAreClaimedInOrder: more than one claim gives entries to. Each person's events come in order and once,
// and while some have no entries, there is more to claim at once.
func TestEventsThatWaitedLongAreClaimedInOrder(t *testing.T) {
	s := fresh(t)
	const n, people = 2*enteredAtOnce + 500, 50
	emitEvents(t, s, 0, n, people)
	if got, want := eventStats(t, s), (store.JobStats{Waiting: n, Oldest: noon()}); got != want {
		t.Errorf("before a claim: %+v, want %+v", got, want)
	}
	last, count := map[string]string{}, 0
	for i := range n {
		claimed, next := claimEvents(t, s, people)
		if more := next.Equal(noon()); more != (i < 2) { // the third claim gives the last ones their entries
			t.Fatalf("after claim %d and %d of %d events there is more at %v", i, count, n, next)
		}
		if len(claimed) == 0 {
			break
		}
		mustUpdate(t, s, func(tx store.Tx) error {
			for _, j := range claimed {
				name := nameOf(t, j)
				if name <= last[j.Key] {
					t.Errorf("%s came after %s", name, last[j.Key])
				}
				last[j.Key] = name
				if err := tx.DoneJobs(j.Ref()); err != nil {
					return err
				}
			}
			return nil
		})
		if count += len(claimed); count == people { // the first claim entered some, and counted them for their owners
			if err := s.View(t.Context(), func(tx store.Tx) error {
				for i := range people {
					owner := fmt.Sprint("usr_", i)
					left, err := tx.CountJobs(store.Events, owner)
					of, kerr := tx.JobsOfKey(store.Events, owner, n)
					if want := (n-i+people-1)/people - 1; left != want || len(of) != want || err != nil || kerr != nil {
						t.Errorf("%s has %d jobs, %d by key, want %d (%v, %v)", owner, left, len(of), want, err, kerr)
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count != n {
		t.Errorf("%d of %d were claimed", count, n)
	}
	if got := eventStats(t, s); got != (store.JobStats{}) {
		t.Errorf("at the end: %+v", got)
	}
}

// TestADamagedStateFindsFreshJobsAgain damages the entry of the queue while one event is in flight, two wait with entries and
// two without: nothing is lost, and nothing is claimed twice.
func TestADamagedStateFindsFreshJobsAgain(t *testing.T) {
	s := fresh(t)
	mustUpdate(t, s, func(tx store.Tx) error { // it has no place in a key
		_, err := tx.PutJobs([]store.Job{{Queue: store.Events, At: noon()}}, nil)
		return err
	})
	loose, _ := claimEvents(t, s, 1)
	emitEvents(t, s, 0, 3, 1)
	first, _ := claimEvents(t, s, 1)
	emitEvents(t, s, 3, 2, 1)
	mustUpdate(t, s, func(tx store.Tx) error {
		return tx.(tables).put(jobs, []byte("events\x00s"), []byte{1, 2, 3})
	})
	want := store.JobStats{Waiting: 4, InFlight: 2, Oldest: noon()}
	if got := eventStats(t, s); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	got := []string{nameOf(t, first[0])}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(loose[0].Ref(), first[0].Ref()) })
	for range 9 {
		claimed, _ := claimEvents(t, s, 9)
		for _, j := range claimed {
			got = append(got, nameOf(t, j))
			mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(j.Ref()) })
		}
	}
	if want := []string{"evt_0000", "evt_0001", "evt_0002", "evt_0003", "evt_0004"}; !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
	if got := eventStats(t, s); got != (store.JobStats{}) {
		t.Errorf("at the end: %+v", got)
	}
}

// TestADamagedRunClaimsNoFreshEvent damages the run of a person, so that it names an event that has no entries yet and gets none
// with the next claim, which may not take it: it is claimed later, once, and can be ended.
func TestADamagedRunClaimsNoFreshEvent(t *testing.T) {
	s := fresh(t)
	emitEvents(t, s, 0, 2, 1) // the second is lost to the run
	held, _ := claimEvents(t, s, 1)
	emitEvents(t, s, 2, enteredAtOnce+1, 1) // the last is not entered by the next claim
	mustUpdate(t, s, func(contract store.Tx) error {
		q, err := contract.(*tx).jobQueue(store.Events)
		if err != nil {
			return err
		}
		line, class := slices.Clone(q.hash("usr_0")), waitingClass(int(held[0].Priority))
		of := q.runAt(line, class, held[0].Seq+1)
		if len(of) != 1 {
			t.Fatalf("the run is %v", of)
		}
		return errors.Join(q.delete(jobs, q.lineKey(line, class, of[0])), q.putRun(line, class, run{held[0].Seq + 2 + enteredAtOnce}))
	})
	next := 2
	for len(held) > 0 || next < 2+enteredAtOnce+1 {
		var refs []store.Ref
		for _, j := range held {
			refs = append(refs, j.Ref())
		}
		mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(refs...) })
		if held, _ = claimEvents(t, s, 9); len(held) != 1 && next < 2+enteredAtOnce+1 {
			t.Fatalf("%d are claimed, want one of the person", len(held))
		}
		for _, j := range held {
			if got, want := nameOf(t, j), fmt.Sprintf("evt_%04d", next); got != want {
				t.Fatalf("claimed %s, want %s", got, want)
			}
			next++
		}
	}
	if got := eventStats(t, s); got.Waiting != 1 || got.InFlight != 0 {
		t.Errorf("left: %+v, want the one that was lost", got)
	}
}

// TestABitOfTheStateLosesNoEvent flips each bit of the entry of the queue, while nothing is fresh and while two events are:
// all events are claimed, once and in order, also those that are emitted later.
func TestABitOfTheStateLosesNoEvent(t *testing.T) {
	for _, entered := range []bool{true, false} {
		s := fresh(t)
		emitted := 0
		emit := func(n int) {
			emitEvents(t, s, emitted, n, 1)
			emitted += n
		}
		claimed := 0
		drain := func(bit int) {
			t.Helper()
			for range 4 {
				jobs, _ := claimEvents(t, s, 9)
				for _, j := range jobs {
					if got, want := nameOf(t, j), fmt.Sprintf("evt_%04d", claimed); got != want {
						t.Fatalf("bit %d, entered %v: claimed %s, want %s", bit, entered, got, want)
					}
					claimed++
					mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(j.Ref()) })
				}
			}
			if claimed != emitted {
				t.Fatalf("bit %d, entered %v: %d of %d events were claimed", bit, entered, claimed, emitted)
			}
			if got := eventStats(t, s); got != (store.JobStats{}) {
				t.Fatalf("bit %d, entered %v: at the end %+v", bit, entered, got)
			}
		}
		emit(1)
		drain(-1)
		step := 1
		if testing.Short() {
			step = 7
		}
		for bit := 0; ; bit += step {
			emit(2)
			if entered { // the first is in flight and the second waits, with all entries
				jobs, _ := claimEvents(t, s, 1)
				mustUpdate(t, s, func(tx store.Tx) error { return tx.SnoozeJobs(time.Time{}, jobs[0].Ref()) })
			}
			over := false
			mustUpdate(t, s, func(contract store.Tx) error {
				tx, key := contract.(tables), []byte("events\x00s")
				raw := slices.Clone(tx.get(jobs, key))
				if over = bit >= 8*len(raw); over {
					return nil
				}
				raw[bit/8] ^= 1 << (bit % 8)
				return tx.put(jobs, key, raw)
			})
			if got, want := eventStats(t, s), (store.JobStats{Waiting: 2, Oldest: noon()}); got != want {
				t.Fatalf("bit %d, entered %v: counted %+v, want %+v", bit, entered, got, want)
			}
			emit(1)
			drain(bit)
			if over {
				break
			}
		}
	}
}

// TestADamagedFreshJobHoldsUpNobody: the events before and behind it are claimed, and it is counted no more.
func TestADamagedFreshJobHoldsUpNobody(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		for nth := range 3 {
			t.Run(fmt.Sprint(what, nth), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "purser.db")
				s := openAt(t, path)
				emitEvents(t, s, 0, 3, 1)
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				inFile(t, path, jobs, nth, how)
				s = openAt(t, path)
				var got []string
				for range 5 {
					claimed, _ := claimEvents(t, s, 9)
					for _, j := range claimed {
						got = append(got, nameOf(t, j))
						mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneJobs(j.Ref()) })
					}
				}
				if want := slices.Delete([]string{"evt_0000", "evt_0001", "evt_0002"}, nth, nth+1); !slices.Equal(got, want) {
					t.Errorf("claimed %v, want %v", got, want)
				}
				if got := eventStats(t, s); got.Waiting != 0 || got.InFlight != 0 {
					t.Errorf("left: %+v", got)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestFreshJobsGoWithTheirPerson, and only theirs.
func TestFreshJobsGoWithTheirPerson(t *testing.T) {
	s := fresh(t)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_1", TelegramID: 7}) })
	emitEvents(t, s, 0, 6, 2)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
	if got, want := eventStats(t, s), (store.JobStats{Waiting: 3, Oldest: noon()}); got != want {
		t.Errorf("left: %+v, want %+v", got, want)
	}
	claimed, _ := claimEvents(t, s, 9)
	if len(claimed) != 1 || claimed[0].Key != "usr_0" {
		t.Errorf("claimed %v", claimed)
	}
}

// TestAFreshJobThatIsRemovedLeavesNothing that leads to it.
func TestAFreshJobThatIsRemovedLeavesNothing(t *testing.T) {
	s := fresh(t)
	mustUpdate(t, s, func(tx store.Tx) error {
		_, err := tx.PutJobs([]store.Job{{ID: "x", Queue: store.Events, Key: "k", Owner: "o", At: noon()}}, nil)
		return err
	})
	mustUpdate(t, s, func(tx store.Tx) error { return tx.RemoveJobs(store.Events, "x") })
	if err := s.View(t.Context(), func(contract store.Tx) error {
		for key := range contract.(*tx).scan(jobs, all()) {
			if kind := key[len("events\x00")]; kind != stateOf {
				t.Errorf("an entry of kind %c is left", kind)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := eventStats(t, s); got != (store.JobStats{}) {
		t.Errorf("left: %+v", got)
	}
}

// TestAJobInFlightIsEnteredNoSecondTime although its number is taken for that of a fresh one: it is counted once, and its
// attempt goes on.
func TestAJobInFlightIsEnteredNoSecondTime(t *testing.T) {
	s := fresh(t)
	emitEvents(t, s, 0, 1, 1)
	held, _ := claimEvents(t, s, 1)
	mustUpdate(t, s, func(contract store.Tx) error {
		q, err := contract.(*tx).jobQueue(store.Events)
		if err == nil {
			q.state.fresh, q.state.dirty = held[0].Seq, true
		}
		return err
	})
	if again, _ := claimEvents(t, s, 9); len(again) != 0 {
		t.Errorf("claimed again: %v", again)
	}
	mustUpdate(t, s, func(tx store.Tx) error {
		if n, err := tx.CountJobs(store.Events, "usr_0"); n != 1 || err != nil {
			t.Errorf("counted %d (%v), want 1", n, err)
		}
		return tx.DoneJobs(held[0].Ref())
	})
	if got := eventStats(t, s); got != (store.JobStats{}) {
		t.Errorf("left: %+v", got)
	}
}

// TestADamagedDeadLetterHidesNoOther: an event that died twice is found among all dead letters, behind a damaged one.
func TestADamagedDeadLetterHidesNoOther(t *testing.T) {
	s := fresh(t)
	emitEvents(t, s, 0, 2, 2)
	die := func(most int) {
		t.Helper()
		claimed, _ := claimEvents(t, s, most)
		if len(claimed) != most {
			t.Fatalf("claimed %d, want %d", len(claimed), most)
		}
		mustUpdate(t, s, func(tx store.Tx) error {
			for _, j := range claimed {
				if err := tx.DeadLetterJobs(noon(), "no", j.Ref()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	replay := func(tx store.Tx) error { return tx.ReplayDeadLetter(store.Events, "evt_0001", noon()) }
	die(2)
	mustUpdate(t, s, replay)
	die(1) // under another number than that of its first job
	mustUpdate(t, s, func(contract store.Tx) error {
		key, _ := contract.(*tx).first(deadJobs, all())
		return contract.(tables).put(deadJobs, slices.Clone(key), []byte("garbage"))
	})
	mustUpdate(t, s, replay)
	if claimed, _ := claimEvents(t, s, 9); len(claimed) != 1 || nameOf(t, claimed[0]) != "evt_0001" {
		t.Errorf("claimed %v", claimed)
	}
}
