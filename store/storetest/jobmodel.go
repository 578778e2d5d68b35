package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"purser/store"
)

// modelJob is a job as it should be.
type modelJob struct {
	store.Job
	end         time.Time // of its lease; zero: it waits
	replacement *store.Job
}

// owner is whose it is as it was put last.
func (j *modelJob) owner() string {
	if j.replacement != nil {
		return j.replacement.Owner
	}
	return j.Owner
}

// jobModel is what a queue should hold.
type jobModel struct {
	*testing.T
	store.Store
	now   time.Time
	share int
	queue store.Queue
	jobs  []*modelJob // in the order of their places
	dead  []store.JobID
}

// testJobModel runs random steps against an engine and a list, and compares all that can be read and claimed. The queue Events
// puts its jobs in a way of its own.
func testJobModel(t *testing.T, open Open) {
	for _, of := range []store.Queue{queue, store.Events} {
		seed := uint64(time.Now().UnixNano())
		t.Logf("queue %s, seed %d", of, seed)
		r := rand.New(rand.NewPCG(seed, 1))
		m := &jobModel{T: t, Store: fresh(t, open), now: noon(), share: r.IntN(4), queue: of}
		for round := range 400 {
			m.now = m.now.Add(time.Duration(r.IntN(3)) * 500 * time.Millisecond)
			switch r.IntN(10) {
			case 0, 1, 2, 3:
				m.put(r)
			case 4, 5:
				m.claim(r, 1+r.IntN(4))
			case 6:
				m.claim(r, 1000)
			default:
				m.end(r)
			}
			m.compare()
			if t.Failed() {
				t.Fatalf("in round %d", round)
			}
		}
	}
}

func (m *jobModel) find(id store.JobID) *modelJob {
	for _, j := range m.jobs {
		if j.ID == id {
			return j
		}
	}
	return nil
}

func (m *jobModel) put(r *rand.Rand) {
	n := r.IntN(30)
	job := store.Job{ID: store.JobID(fmt.Sprint("id ", n)), Queue: m.queue, Owner: []string{"", "o1", "o2", "o3"}[r.IntN(4)], Priority: store.Priority(r.IntN(store.Priorities)),
		At: m.now, Body: fmt.Append(nil, "body ", r.IntN(1000))}
	if n%3 > 0 { // its key goes with its id
		job.Key = fmt.Sprint("key ", n%4)
	}
	if r.IntN(3) == 0 {
		job.NotBefore = m.now.Add(time.Duration(r.IntN(4)) * time.Second)
	}
	var out []store.Job
	update(m.T, m, func(tx store.Tx) (err error) { out, err = tx.PutJobs([]store.Job{job}, nil); return err })
	switch old := m.find(job.ID); {
	case old == nil:
		job.Seq = out[0].Seq
		m.jobs = append(m.jobs, &modelJob{Job: job})
	case old.end.IsZero():
		job.Seq, job.Attempt = old.Seq, old.Attempt
		old.Job = job
	default:
		old.replacement = &job
	}
}

// claimable lists the heads that are due.
func (m *jobModel) claimable() (out []*modelJob) {
	first := map[string]*modelJob{}
	for _, j := range m.ofKey("") {
		if j.end.IsZero() && !j.NotBefore.After(m.now) {
			out = append(out, j)
		}
	}
	for _, j := range m.jobs {
		if j.Key != "" && first[j.Key] == nil {
			first[j.Key] = m.ofKey(j.Key)[0]
		}
	}
	for _, j := range first {
		if j.end.IsZero() && !j.NotBefore.After(m.now) {
			out = append(out, j)
		}
	}
	return out
}

// ofKey lists jobs in the order in which they are to be handled.
func (m *jobModel) ofKey(key string) (out []*modelJob) {
	for _, j := range m.jobs {
		if j.Key == key {
			out = append(out, j)
		}
	}
	slices.SortStableFunc(out, func(a, b *modelJob) int {
		if a.end.IsZero() != b.end.IsZero() { // in flight first
			return cmp.Compare(b.end.Unix(), a.end.Unix())
		}
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Seq, b.Seq))
	})
	return out
}

func (m *jobModel) claim(r *rand.Rand, most int) {
	share := m.share
	for _, j := range m.jobs { // leases that are over
		if !j.end.IsZero() && !j.end.After(m.now) {
			expiredLeases, notBefore := j.ExpiredLeases+1, j.NotBefore
			if wait := store.ExpiredLeaseWait(expiredLeases, j.Seq); wait > 0 {
				notBefore = m.now.Add(wait)
			}
			replaced := j.replacement != nil
			m.release(j, notBefore, j.Failures)
			if !replaced {
				j.ExpiredLeases = expiredLeases
			}
		}
	}
	inFlight := map[string]int{}
	for _, j := range m.jobs {
		if !j.end.IsZero() {
			inFlight[j.owner()]++
		}
	}
	could := map[store.JobID]bool{}
	owners := map[string]int{}
	for _, j := range m.claimable() {
		could[j.ID] = true
		owners[j.Owner]++
	}
	may := 0
	for owner, n := range owners {
		if owner != "" && share > 0 {
			n = min(n, max(share-inFlight[owner], 0))
		}
		may += n
	}
	c := at(m.now, most)
	c.Queue, c.Lease, c.PerOwner = m.queue, time.Duration(1+r.IntN(5))*time.Second, share
	var out []store.Job
	var next time.Time
	update(m.T, m, func(tx store.Tx) (err error) { out, next, err = tx.ClaimJobs(c); return err })
	if len(out) != min(may, most) {
		m.Errorf("%d jobs were claimed, not %d", len(out), min(may, most))
	}
	for _, got := range out {
		j := m.find(got.ID)
		if j == nil || !could[got.ID] {
			m.Errorf("%s was claimed", got.ID)
			continue
		}
		j.Attempt++
		j.end = m.now.Add(c.Lease)
		inFlight[j.Owner]++
		if got.Attempt != j.Attempt || string(got.Body) != string(j.Body) || got.Failures != j.Failures || got.ExpiredLeases != j.ExpiredLeases || got.Seq != j.Seq {
			m.Errorf("claimed %+v, want %+v", got, j.Job)
		}
		if share > 0 && j.Owner != "" && inFlight[j.Owner] > share {
			m.Errorf("%s has %d in flight", j.Owner, inFlight[j.Owner])
		}
	}
	if len(out) < most {
		m.next(next)
	}
}

// next checks when there is more to be claimed: the earliest time of a head that waits, and of a lease. A share that is
// used up hides what waits behind it.
func (m *jobModel) next(got time.Time) {
	var want time.Time
	sooner := func(at time.Time) {
		if want.IsZero() || at.Before(want) {
			want = at
		}
	}
	heads := map[string]bool{}
	for _, j := range m.jobs {
		if !j.end.IsZero() {
			sooner(j.end)
		}
		if j.Key == "" && j.end.IsZero() || j.Key != "" && !heads[j.Key] {
			heads[j.Key] = true
			head := j
			if j.Key != "" {
				head = m.ofKey(j.Key)[0]
			}
			if head.end.IsZero() {
				sooner(head.NotBefore)
			}
		}
	}
	if m.share == 0 && !got.Equal(want) {
		m.Errorf("the next is due at %s, not %s", got, want)
	}
}

// release has a job wait again.
func (m *jobModel) release(j *modelJob, notBefore time.Time, failures int) {
	j.end = time.Time{}
	switch {
	case j.replacement != nil:
		seq, attempt := j.Seq, j.Attempt
		j.Job, j.replacement = *j.replacement, nil
		j.Seq, j.Attempt = seq, attempt
	default:
		j.NotBefore, j.Failures, j.ExpiredLeases = notBefore, failures, 0
	}
}

// yields is the way of jobModel.end that gives a job another place.
const yields = 6

func (m *jobModel) end(r *rand.Rand) {
	if len(m.jobs) == 0 {
		return
	}
	j := m.jobs[r.IntN(len(m.jobs))]
	ref := store.Ref{Queue: m.queue, ID: j.ID, Seq: j.Seq, Attempt: j.Attempt}
	outdated := r.IntN(5) == 0
	if outdated {
		ref.Attempt--
	}
	then := m.now.Add(time.Duration(r.IntN(3)) * time.Second)
	way := r.IntN(7)
	if way == yields && j.Key != "" { // refused: see testYieldedJobs
		way = 3
	}
	err := m.Update(m.Context(), func(tx store.Tx) error {
		switch way {
		case 0, 1:
			return tx.DoneJobs(ref)
		case 2:
			return tx.RetryJobs(then, ref)
		case 3:
			return tx.SnoozeJobs(then, ref)
		case 4:
			return tx.DeadLetterJobs(m.now, "reason", ref)
		case yields:
			return tx.YieldJobs(then, ref)
		}
		return tx.RemoveJobs(m.queue, ref.ID)
	})
	if way != 5 && (outdated || j.end.IsZero()) {
		if !errors.Is(err, store.ErrConflict) {
			m.Errorf("an attempt that does not hold %s was ended: %v", j.ID, err)
		}
		return
	}
	if err != nil {
		m.Error(err)
	}
	switch {
	case (way < 2 || way == 4) && j.replacement != nil: // what was put meanwhile has not been tried
		m.release(j, time.Time{}, 0)
	case way == 2:
		m.release(j, then, j.Failures+1)
	case way == 3:
		m.release(j, then, j.Failures)
	case way == yields: // to the last place, under a number that nobody had
		m.release(j, then, j.Failures)
		last := m.jobs[len(m.jobs)-1].Seq
		m.jobs = append(slices.DeleteFunc(m.jobs, func(one *modelJob) bool { return one == j }), j)
		j.Seq = get(m.T, m, func(tx store.Tx) (store.Job, error) { return tx.Job(m.queue, j.ID) }).Seq
		if j.Seq <= last {
			m.Errorf("%s gave way to the number %d, and there is %d", j.ID, j.Seq, last)
		}
	default:
		m.jobs = slices.DeleteFunc(m.jobs, func(one *modelJob) bool { return one == j })
		if way == 4 {
			m.dead = append(slices.DeleteFunc(m.dead, func(id store.JobID) bool { return id == j.ID }), j.ID)
		}
	}
}

// compare reads everything.
func (m *jobModel) compare() {
	view(m.T, m, func(tx store.Tx) error {
		stats := store.JobStats{Dead: len(m.dead)}
		for _, j := range m.jobs {
			if j.end.IsZero() {
				stats.Waiting++
			} else {
				stats.InFlight++
			}
			if stats.Oldest.IsZero() {
				if stats.Oldest = j.At; j.replacement != nil {
					stats.Oldest = j.replacement.At
				}
			}
			got, err := tx.Job(m.queue, j.ID)
			want := j.Job
			if j.replacement != nil { // it reads as it was replaced
				want = *j.replacement
				want.Attempt, want.Seq = j.Attempt, j.Seq
			}
			if err != nil || got.Attempt != want.Attempt || string(got.Body) != string(want.Body) || got.Priority != want.Priority || !got.NotBefore.Equal(want.NotBefore) && j.end.IsZero() {
				m.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		}
		got, err := tx.JobStats(m.queue)
		same(m.T, "stats", got, stats)
		for _, owner := range []string{"", "o1", "o2", "o3"} {
			n, err := tx.CountJobs(m.queue, owner)
			if err != nil {
				return err
			}
			want := 0
			for _, j := range m.jobs {
				if j.owner() == owner {
					want++
				}
			}
			same(m.T, "jobs of "+owner, n, want)
		}
		for k := range 4 {
			key := fmt.Sprint("key ", k)
			all, err := tx.JobsOfKey(m.queue, key, 100)
			if err != nil {
				return err
			}
			want := m.ofKey(key)
			if len(all) != len(want) {
				m.Errorf("%s: %s", key, jobIDs(all))
				continue
			}
			for i := range all {
				if all[i].ID != want[i].ID {
					m.Errorf("%s: %s at %d, want %s", key, all[i].ID, i, want[i].ID)
				}
			}
		}
		letters, lerr := tx.DeadLetters(m.queue, 100)
		same(m.T, "dead letters", len(letters), len(m.dead))
		return errors.Join(err, lerr)
	})
}
