package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"purser/store"
	"purser/store/engine"
)

func (t *tx) DeadLetterJobs(now time.Time, reason string, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Anew { // what failed is what it was before; what was put since then has not been tried
			return q.release(j, j.NotBefore, j.Due, 0)
		}
		if err := q.move(j, nil); err != nil {
			return err
		}
		return q.bury(j, now, reason)
	})
}

// bury keeps what is left of a job. What is sealed stays as it is, so it opens in its old place: among the jobs. A dead
// letter of the same ID gives way to it, and so does the oldest where there are too many.
func (q *jobQueue) bury(j *storedJob, now time.Time, reason string) error {
	dead := *j
	dead.Node, dead.End, dead.Anew, dead.Reason, dead.DiedAt = "", time.Time{}, false, reason, now
	if raw := q.get(jobIndex, q.at(deadIDOf, j.Name)); raw != nil {
		if seq, err := keyNumber(raw); err == nil {
			if err := q.unbury(q.rowKey(seq)); err != nil {
				return err
			}
		}
	}
	if q.state.dead >= store.DeadLettersKept {
		if oldest := q.firstOf(deadJobs, q.prefix, 1); len(oldest) == 1 {
			if err := q.unbury(oldest[0].key); err != nil {
				return err
			}
		}
	}
	key := q.rowKey(j.seq)
	q.state.dead, q.state.dirty = q.state.dead+1, true
	err := errors.Join(q.rewrite(deadJobs, key, dead.raw, dead.jobRow), q.put(jobIndex, q.at(deadIDOf, j.Name), numberKey(j.seq)),
		q.expire(deadJobOver, now.Add(store.DeadLettersFor), key))
	if j.About != "" {
		err = errors.Join(err, q.put(jobsAbout, q.aboutKey(j), nil))
	}
	return err
}

// unbury forgets a dead letter.
func (q *jobQueue) unbury(key []byte) error {
	raw := q.get(deadJobs, key)
	if raw == nil {
		return nil
	}
	q.state.dead, q.state.dirty = less(q.state.dead), true
	plain, _, err := plainOf[jobRow](q.tx, deadJobs, key, raw)
	if err != nil { // what leads to it leads to nothing then
		return q.delete(deadJobs, key)
	}
	err = errors.Join(q.delete(deadJobs, key), q.unexpire(deadJobOver, plain.DiedAt.Add(store.DeadLettersFor), key))
	if at := q.at(deadIDOf, plain.Name); bytes.Equal(q.get(jobIndex, at), key[len(key)-8:]) {
		err = errors.Join(err, q.delete(jobIndex, at))
	}
	if plain.About != "" {
		err = errors.Join(err, q.delete(jobsAbout, join(userPrefix(plain.About), key)))
	}
	return err
}

func (t *tx) DeadLetters(queue store.Queue, limit int) ([]store.DeadLetter, error) {
	q, err := t.jobQueue(queue)
	if err != nil {
		return nil, err
	}
	var out []store.DeadLetter
	r := engine.Prefix(q.prefix)
	r.Backward = true
	for key, raw := range t.scan(deadJobs, r) {
		if len(out) >= limit {
			break
		}
		letter, err := q.openDead(key, raw)
		switch {
		case err == nil:
			out = append(out, letter)
		case !erased(err):
			t.skipDamaged(deadJobs, bytes.Clone(key), err)
		}
	}
	return out, nil
}

func (q *jobQueue) openDead(key, raw []byte) (store.DeadLetter, error) {
	plain, r, err := plainOf[jobRow](q.tx, deadJobs, key, raw)
	if err != nil {
		return store.DeadLetter{}, err
	}
	job, err := q.unsealJob(&storedJob{jobRow: plain, seq: binary.BigEndian.Uint64(key[len(key)-8:]), raw: r})
	return store.DeadLetter{Job: job, Reason: plain.Reason, DiedAt: plain.DiedAt}, err
}

func (t *tx) ReplayDeadLetter(queue store.Queue, id store.JobID, now time.Time) error {
	q, err := t.jobQueue(queue)
	if err != nil {
		return err
	}
	raw := t.get(jobIndex, q.at(deadIDOf, q.hash("id", string(id))))
	seq, err := keyNumber(raw)
	if err != nil {
		return store.ErrNotFound
	}
	key := q.rowKey(seq)
	if raw = bytes.Clone(t.get(deadJobs, key)); raw == nil {
		return store.ErrNotFound
	}
	letter, err := q.openDead(key, raw)
	if err != nil {
		return err
	}
	if _, err := q.find(id); !errors.Is(err, store.ErrNotFound) {
		return errors.Join(err, store.ErrConflict)
	}
	if err := errors.Join(q.unbury(key), q.flush()); err != nil {
		return err
	}
	job := letter.Job
	job.At, job.NotBefore = now, time.Time{}
	_, err = t.PutJobs([]store.Job{job}, nil)
	return err
}

// removeDeadJob forgets a dead letter whose time is over.
func (t *tx) removeDeadJob(key []byte) error {
	if len(key) < 10 {
		return store.ErrDamaged
	}
	q, err := t.jobQueue(store.Queue(key[:len(key)-9]))
	if err != nil {
		return err
	}
	return errors.Join(q.unbury(key), q.flush())
}

// dropJobsAbout removes up to limit jobs and dead letters about a person, and tells how many.
func (t *tx) dropJobsAbout(person []byte, limit int) (int, error) {
	queues := t.jobQueues()
	prefix := join(person, []byte{0})
	found := t.firstOf(jobsAbout, prefix, limit)
	for _, e := range found {
		key := e.key[len(prefix):]
		if len(key) >= 10 {
			if err := queues.drop(key); err != nil {
				return 0, err
			}
		}
		if err := t.delete(jobsAbout, e.key); err != nil {
			return 0, err
		}
	}
	return len(found), queues.flush()
}

// drop removes the job or dead letter of a key.
func (s *jobQueues) drop(key []byte) error {
	q, err := s.of(store.Queue(key[:len(key)-9]))
	if err != nil {
		return err
	}
	seq := binary.BigEndian.Uint64(key[len(key)-8:])
	switch j, err := q.read(seq); {
	case err == nil:
		return q.move(j, nil)
	case errors.Is(err, store.ErrNotFound):
		return q.unbury(key)
	default: // without their data key nothing in it opens; the claim that meets its entry passes over it
		return q.skipJob(seq, err)
	}
}
