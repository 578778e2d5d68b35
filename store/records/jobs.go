package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
)

// The verbs of store.Jobs that put, end, renew and remove jobs. Reading them is in jobread.go, claims are in jobclaim.go,
// dead letters in jobdead.go, and the index that all of them change in jobqueue.go and jobmove.go.

// sealedJob is the sealed field of a job. ID, key, owner and body share one ciphertext, since each ciphertext costs
// 40 bytes: the first three have their length in front, as a uvarint, and the body is the rest.
func sealedJob(j *store.Job) field {
	out := make([]byte, 0, 3*binary.MaxVarintLen32+len(j.ID)+len(j.Key)+len(j.Owner)+len(j.Body))
	for _, part := range [...]string{string(j.ID), j.Key, j.Owner} {
		out = append(binary.AppendUvarint(out, uint64(len(part))), part...)
	}
	return field{"job", append(out, j.Body...)}
}

// unsealJob returns a stored job in full. ErrNotFound: the person it is about was erased. ErrUnsealed or ErrDamaged:
// the row is not what was written.
func (q *jobQueue) unsealJob(j *storedJob) (store.Job, error) {
	sealed, err := q.unsealFields(jobs.String(), q.rowKey(j.seq), j.raw, "job")
	if err != nil {
		return store.Job{}, err
	}
	out := store.Job{Queue: q.name, Priority: store.Priority(j.Priority), NotBefore: j.NotBefore, At: j.At, Attempt: j.Attempt,
		Failures: j.Failures, ExpiredLeases: j.ExpiredLeases, About: j.About, Seq: j.seq}
	// The reverse of sealedJob.
	rest := sealed[0]
	for _, into := range []func([]byte){
		func(b []byte) { out.ID = store.JobID(b) }, func(b []byte) { out.Key = string(b) }, func(b []byte) { out.Owner = string(b) },
	} {
		part, behind, err := cutPart(rest)
		if err != nil {
			return store.Job{}, err
		}
		into(part)
		rest = behind
	}
	if len(rest) > 0 {
		out.Body = rest
	}
	return out, nil
}

// checkJob refuses a job that cannot be stored. That is a mistake of the program, and the Update fails.
func checkJob(j store.Job) error {
	if j.ID != "" {
		if err := checkID(string(j.ID)); err != nil {
			return err
		}
	}
	if j.Priority < 0 || int(j.Priority) >= store.Priorities {
		return fmt.Errorf("store: a job has a priority of 0 to %d, not %d", store.Priorities-1, j.Priority)
	}
	return nil
}

// PutJobs stores jobs, each in the queue that it names. If handTo is set, jobs of its queue that nothing is ahead of
// are leased to its node at once, up to handTo.Max: the caller handles them without a ClaimJobs.
func (t *tx) PutJobs(all []store.Job, handTo *store.Claim) ([]store.Job, error) {
	var put []store.Job
	handed := 0
	for _, j := range all {
		if err := checkJob(j); err != nil {
			return nil, err
		}
		// Nothing new is stored about an erased person.
		if t.isErased(j.About) {
			continue
		}
		q, err := t.jobQueue(j.Queue)
		if err != nil {
			return nil, err
		}
		// A claim is for one queue, and for at most Max jobs.
		to := handTo
		if to != nil && (to.Queue != j.Queue || handed >= to.Max) {
			to = nil
		}
		put = append(put, j)
		last := &put[len(put)-1]
		if err := q.putJob(last, to); err != nil {
			return nil, err
		}
		if last.Attempt > 0 {
			handed++
		}
	}
	return put, t.settleJobs()
}

// putJob stores one job and completes j: its Seq, an ID if it had none, and Attempt 1 if it was leased to handTo.
func (q *jobQueue) putJob(j *store.Job, handTo *store.Claim) error {
	was, err := q.find(j.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	is := &storedJob{jobRow: jobRow{Ordering: q.hash(j.Key), Owner: q.hash(j.Owner), Priority: int(j.Priority),
		NotBefore: j.NotBefore, At: j.At, About: j.About}}
	// The due time is kept in the queue's own time (jobclock.go). A job that is due when it is put has none.
	if j.NotBefore.After(j.At) {
		is.Due = j.NotBefore.Add(q.offset())
	}
	j.Attempt, j.Failures, j.ExpiredLeases = 0, 0, 0
	if was != nil {
		return q.replace(j, was, is, handTo)
	}
	if is.seq, err = q.next(jobs); err != nil {
		return err
	}
	// An ID in the form of madeID leads to its job by the number in it. Of others only the hash is kept, in the index.
	switch made, ok := numberOfMade(j.ID); {
	case j.ID == "":
		j.ID = madeID(is.seq)
	case ok && made >= is.seq:
		return fmt.Errorf("store: only the store makes IDs such as %q", j.ID)
	default:
		is.Name = q.hashID(j.ID)
	}
	j.Seq = is.seq
	// The next claim makes the other entries.
	if q.putsFresh() {
		if err := q.sealJob(is, j); err != nil {
			return err
		}
		return q.putFresh(is)
	}
	// What is handed over is leased as it is put, which saves the entries of a waiting job. It must not overtake: its
	// key has no other job, or only less urgent ones.
	first := q.firstOfLine(is.Ordering)
	before := !first.found || first.isHead() && first.class > waitingClass(is.Priority)
	if handTo != nil && before && q.mayHandOver(is, *handTo) {
		q.leaseTo(is, *handTo)
		j.Attempt = is.Attempt
	} else {
		q.woke = true // one that waits for its time, too: a worker's alarm may be later
	}
	if err := q.sealJob(is, j); err != nil {
		return err
	}
	return q.moveFrom(first, nil, is)
}

// replace gives a waiting job new content. A job in flight goes on: the new content waits behind the attempt
// (storedJob.Replaced), and neither the attempt's success nor its failure removes it. Number, place and attempts stay.
func (q *jobQueue) replace(j *store.Job, was, is *storedJob, handTo *store.Claim) error {
	if !bytes.Equal(was.Ordering, is.Ordering) {
		return errors.New("store: a job that is replaced keeps its key")
	}
	is.seq, is.Name, is.Attempt = was.seq, was.Name, was.Attempt
	if was.inFlight() {
		is.Node, is.End, is.Replaced = was.Node, was.End, true
	}
	j.Seq, q.woke = is.seq, true
	if err := errors.Join(q.sealJob(is, j), q.move(was, is)); err != nil || handTo == nil || is.inFlight() {
		return err
	}
	// It is handed over only as the first of its key.
	if first := q.firstOfLine(is.Ordering); is.Ordering != nil && (!first.isHead() || first.seq != is.seq) || !q.mayHandOver(is, *handTo) {
		return nil
	}
	var err error
	if is.raw, err = decodeRow(is.whole); err != nil {
		return err
	}
	leased, err := q.lease(is, *handTo)
	j.Attempt = leased.Attempt
	return err
}

// sealJob makes the row of a job, sealed for the person that it is about.
func (q *jobQueue) sealJob(is *storedJob, j *store.Job) (err error) {
	var plain [192]byte
	is.whole, err = q.sealBeside(jobs.String(), q.rowKey(is.seq), is.About, is.jobRow.append(plain[:0]), sealedJob(j))
	return err
}

// find returns the plain part of the job with an ID, ErrNotFound without one. A damaged job counts as absent, so its ID
// may be put again.
func (q *jobQueue) find(id store.JobID) (*storedJob, error) {
	if id == "" {
		return nil, store.ErrNotFound
	}
	// An ID that the store made names its row.
	if seq, ok := numberOfMade(id); ok {
		switch j, err := q.read(seq); {
		case err == nil && j.Name == nil:
			return j, nil
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return nil, errors.Join(q.skipJob(seq, err), store.ErrNotFound)
		}
	}
	// Any other ID is found by its hash.
	raw := q.get(jobs, q.idKey(q.hashID(id)))
	if raw == nil {
		return nil, store.ErrNotFound
	}
	seq, err := keyNumber(raw)
	if err != nil {
		return nil, store.ErrNotFound
	}
	j, err := q.read(seq)
	if err != nil {
		return nil, errors.Join(q.skipJob(seq, err), store.ErrNotFound)
	}
	return j, nil
}

// mayHandOver tells whether a job that is the first of its key may be leased to c now: it is due, its owner is below
// Claim.PerOwner, and no owner waits for a turn of the same or a more urgent priority.
func (q *jobQueue) mayHandOver(j *storedJob, c store.Claim) bool {
	if q.state.fresh != 0 || !j.Due.IsZero() && j.Due.After(q.dueAt(c.Node, c.Now)) || q.owner(j.Owner).isFull(c) {
		return false
	}
	for p := range j.Priority + 1 {
		if q.anyReady(p) {
			return false
		}
	}
	return true
}

// isFull tells whether an owner has as many jobs in flight as Claim.PerOwner allows. Jobs without an owner have no
// limit.
func (o *jobOwner) isFull(c store.Claim) bool {
	return c.PerOwner > 0 && o.hash != nobody && int(o.inFlight) >= c.PerOwner
}

// leaseTo makes j a job in flight at the claim's node. The new Attempt fences every earlier one.
func (q *jobQueue) leaseTo(j *storedJob, c store.Claim) {
	j.Attempt++
	j.Node, j.End = c.Node, q.dueAt(c.Node, c.Now).Add(c.Lease)
}

// lease gives a waiting job to a node and returns it as it now is.
func (q *jobQueue) lease(was *storedJob, c store.Claim) (*storedJob, error) {
	is := *was
	is.whole = nil
	q.leaseTo(&is, c)
	return &is, q.move(was, &is)
}

// held returns the job that a Ref says is in flight. ErrConflict: that attempt no longer holds it, because its lease
// ended, or the job was removed. A number is never used again, so a later job of the same ID has another row.
func (q *jobQueue) held(ref store.Ref) (*storedJob, error) {
	j, err := q.read(ref.Seq)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, store.ErrConflict
	case err != nil: // a damaged job counts as absent
		return nil, errors.Join(q.skipJob(ref.Seq, err), store.ErrConflict)
	case !j.inFlight() || j.Attempt != ref.Attempt:
		return nil, store.ErrConflict
	}
	return j, nil
}

// wasErased reports whether the job of a claim was in flight by that claim when this Update removed it with its
// person.
func (t *tx) wasErased(ref store.Ref) bool {
	ref.ID = ""
	return slices.Contains(t.erased, ref)
}

// end ends claims, all or none: it checks every Ref before how changes any job.
func (t *tx) end(refs []store.Ref, how func(*jobQueue, *storedJob) error) error {
	type claim struct {
		*jobQueue
		*storedJob
	}
	// First check all claims.
	var few [4]claim
	found := few[:0]
	for i, ref := range refs {
		q, err := t.jobQueue(ref.Queue)
		if err != nil {
			return err
		}
		if slices.Contains(refs[:i], ref) {
			return store.ErrConflict
		}
		if t.wasErased(ref) { // nothing is left to end
			continue
		}
		j, err := q.held(ref)
		if err != nil {
			return err
		}
		found = append(found, claim{q, j})
	}
	// All of them hold: end them.
	for _, c := range found {
		if err := how(c.jobQueue, c.storedJob); err != nil {
			return err
		}
	}
	return t.settleJobs()
}

// DoneJobs removes jobs that are finished. A job that was put again meanwhile now waits, with its new content.
func (t *tx) DoneJobs(refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Replaced {
			return q.release(j, j.NotBefore, j.Due, 0, 0)
		}
		return q.move(j, nil)
	})
}

// RetryJobs ends failed attempts: Failures rises by one, ExpiredLeases returns to 0.
func (t *tx) RetryJobs(notBefore time.Time, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Replaced {
			return q.release(j, j.NotBefore, j.Due, 0, 0)
		}
		return q.release(j, notBefore, q.dueAt(j.Node, notBefore), j.Failures+1, 0)
	})
}

// SnoozeJobs ends attempts that did not fail: Failures stay. With the zero time the handler never ran, so ExpiredLeases stay
// too.
func (t *tx) SnoozeJobs(notBefore time.Time, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Replaced {
			return q.release(j, j.NotBefore, j.Due, 0, 0)
		}
		expiredLeases := 0
		if notBefore.IsZero() {
			expiredLeases = j.ExpiredLeases
		}
		return q.release(j, notBefore, q.dueAt(j.Node, notBefore), j.Failures, expiredLeases)
	})
}

// release ends a lease, after which the job waits. notBefore is shown to callers, due is the same moment in the queue's
// time.
func (q *jobQueue) release(was *storedJob, notBefore, due time.Time, failures, expiredLeases int) error {
	is := *was
	is.Node, is.End, is.Replaced = "", time.Time{}, false
	is.NotBefore, is.Due, is.Failures, is.ExpiredLeases = notBefore, due, failures, expiredLeases
	q.woke = true
	return q.move(was, &is)
}

// RenewJobs moves the end of leases to until, and returns the claims that are lost.
func (t *tx) RenewJobs(until time.Time, refs ...store.Ref) (lost []store.Ref, _ error) {
	for _, ref := range refs {
		q, err := t.jobQueue(ref.Queue)
		if err != nil {
			return nil, err
		}
		was, err := q.held(ref)
		if errors.Is(err, store.ErrConflict) {
			lost = append(lost, ref)
			continue
		}
		if err != nil {
			return nil, err
		}
		is := *was
		is.End = q.dueAt(was.Node, until)
		if err := q.move(was, &is); err != nil {
			return nil, err
		}
	}
	return lost, t.settleJobs()
}

// LostJobs returns the claims that are lost, and changes nothing.
func (t *tx) LostJobs(refs ...store.Ref) (lost []store.Ref, _ error) {
	for _, ref := range refs {
		if t.wasErased(ref) {
			continue
		}
		q, err := t.jobQueue(ref.Queue)
		if err != nil {
			return nil, err
		}
		switch _, err := q.held(ref); {
		case errors.Is(err, store.ErrConflict):
			lost = append(lost, ref)
		case err != nil:
			return nil, err
		}
	}
	return lost, nil
}

// RemoveJobs removes jobs whatever their state. The end of an attempt that is under way finds ErrConflict.
func (t *tx) RemoveJobs(queue store.Queue, ids ...store.JobID) error {
	q, err := t.jobQueue(queue)
	if err != nil {
		return err
	}
	for _, id := range ids {
		switch j, err := q.find(id); {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		default:
			if err := q.move(j, nil); err != nil {
				return err
			}
		}
	}
	return q.settle()
}
