package records

import (
	"errors"
	"time"

	"purser/store"
)

// errYieldsKey refuses to give a job of an ordering key another place: the next job of the key would overtake it.
var errYieldsKey = errors.New("store: a job with a key keeps its place")

// YieldJobs ends attempts that did not fail, and moves their jobs behind the others of their owners. Failures stay.
func (t *tx) YieldJobs(notBefore time.Time, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Replaced { // the new content was never tried
			return q.yield(j, j.NotBefore, j.Due, 0)
		}
		return q.yield(j, notBefore, q.dueAt(j.Node, notBefore), j.Failures)
	})
}

// yield ends a lease, after which the job waits under a new number. A row is sealed to its number, so it is sealed
// again. Attempt goes on counting, so an attempt of the old number is never mistaken for one of the new. A job that
// cannot be opened keeps its number: the claim that finds it leaves it out.
func (q *jobQueue) yield(was *storedJob, notBefore, due time.Time, failures int) error {
	if was.Ordering != nil {
		return errYieldsKey
	}
	content, err := q.unsealJob(was)
	switch {
	case erased(err): // the person was erased: what is left of the job goes too
		return q.move(was, nil)
	case err != nil:
		return q.release(was, notBefore, due, failures, 0)
	}
	// Its new number is behind those of fresh jobs, and it is none.
	if err := q.enterAll(); err != nil {
		return err
	}
	// Remove the old row with its entries, then put the job again.
	if err := q.move(was, nil); err != nil {
		return err
	}
	is := &storedJob{jobRow: was.jobRow}
	is.Node, is.End, is.Replaced = "", time.Time{}, false
	is.NotBefore, is.Due, is.Failures, is.ExpiredLeases = notBefore, due, failures, 0
	if is.seq, err = q.next(jobs); err != nil {
		return err
	}
	// The store made the ID from the old number. From now on the job is found by the hash of its ID.
	if was.Name == nil {
		is.Name = q.hashID(content.ID)
	}
	q.woke = true
	return errors.Join(q.sealJob(is, &content), q.move(nil, is))
}
