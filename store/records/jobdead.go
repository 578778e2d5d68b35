package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

func (t *tx) DeadLetterJobs(now time.Time, reason string, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Anew { // what failed is what it was before; what was put since then has not been tried
			return q.release(j, j.NotBefore, j.Due, 0, 0)
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
	if j.Name != nil {
		if seq, err := keyNumber(q.get(jobIndex, q.deadKey(j.Name))); err == nil {
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
	q.state.dead, q.state.dirty = q.state.dead+1, true
	err := errors.Join(q.rewriteJob(deadJobs, &dead), q.expire(deadJobOver, now.Add(store.DeadLettersFor), q.rowKey(j.seq)))
	if j.Name != nil {
		err = errors.Join(err, q.put(jobIndex, q.deadKey(j.Name), numberKey(j.seq)))
	}
	return err
}

func (q *jobQueue) deadKey(name []byte) []byte { return append(q.key(deadIDOf), name...) }

// unbury forgets a dead letter.
func (q *jobQueue) unbury(key []byte) error {
	raw := q.get(deadJobs, key)
	if raw == nil {
		return nil
	}
	q.state.dead, q.state.dirty = less(q.state.dead), true
	j, err := q.readRow(deadJobs, key, bytes.Clone(raw))
	if err != nil { // what leads to it leads to nothing then
		return q.delete(deadJobs, key)
	}
	err = errors.Join(q.delete(deadJobs, key), q.unexpire(deadJobOver, j.DiedAt.Add(store.DeadLettersFor), key))
	if j.Name != nil && bytes.Equal(q.get(jobIndex, q.deadKey(j.Name)), key[len(key)-8:]) {
		err = errors.Join(err, q.delete(jobIndex, q.deadKey(j.Name)))
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
	j, err := q.readRow(deadJobs, key, raw)
	if err != nil {
		return store.DeadLetter{}, err
	}
	job, err := q.unsealJob(j)
	return store.DeadLetter{Job: job, Reason: j.Reason, DiedAt: j.DiedAt}, err
}

// findDead is the key and row of the dead letter of an ID; ErrNotFound without one.
func (q *jobQueue) findDead(id store.JobID) (key, raw []byte, err error) {
	if seq, ok := numberOfMade(id); ok {
		key = q.rowKey(seq)
		raw = bytes.Clone(q.get(deadJobs, key))
		if j, err := q.readRow(deadJobs, key, raw); err == nil && j.Name == nil {
			return key, raw, nil
		}
	}
	seq, err := keyNumber(q.get(jobIndex, q.deadKey(q.hashID(id))))
	if err != nil {
		return nil, nil, store.ErrNotFound
	}
	key = q.rowKey(seq)
	if raw = bytes.Clone(q.get(deadJobs, key)); raw == nil {
		return nil, nil, store.ErrNotFound
	}
	return key, raw, nil
}

func (t *tx) ReplayDeadLetter(queue store.Queue, id store.JobID, now time.Time) error {
	q, err := t.jobQueue(queue)
	if err != nil {
		return err
	}
	key, raw, err := q.findDead(id)
	if err != nil {
		return err
	}
	letter, err := q.openDead(key, raw)
	if err != nil {
		return err
	}
	if _, err := q.find(id); !errors.Is(err, store.ErrNotFound) {
		return errors.Join(err, store.ErrConflict)
	}
	if err := q.unbury(key); err != nil {
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
	return q.unbury(key)
}

// jobsWalked is how many jobs are looked at in one transaction for those about a person.
const jobsWalked = 20_000

// dropJobsAbout removes up to limit jobs and dead letters about a person, among so many from a place in their tables on,
// and tells how many, and where to go on; nil: it has seen all. It walks all queues: erasing is rare, and an index for it would burden
// each job. Nothing about the person is put behind its back, since jobs about who was erased are left out.
func (t *tx) dropJobsAbout(person wallet.UserID, from []byte, limit, among int) (n int, next []byte, err error) {
	type place struct {
		in  table
		key []byte
	}
	var found []place
	looked := 0
walk:
	for _, b := range [...]table{jobs, deadJobs} {
		var r engine.Range
		if len(from) > 0 {
			if from[0] != byte(b) {
				continue
			}
			r.From, from = from[1:], nil
		}
		for key, raw := range t.scan(b, r) {
			if looked++; looked > among || len(found) >= limit {
				next = append([]byte{byte(b)}, key...)
				break walk
			}
			if isAbout(raw, person) {
				found = append(found, place{b, bytes.Clone(key)})
			}
		}
	}
	for _, p := range found {
		if err := t.dropJob(p.in, p.key); err != nil {
			return 0, nil, err
		}
	}
	return len(found), next, t.settleJobs()
}

// isAbout tells whether a row of jobs or dead letters is about a person, as far as it can be read without its tag.
func isAbout(raw []byte, person wallet.UserID) bool {
	if len(raw) < tagSize {
		return false
	}
	r, err := decodeRow(raw[:len(raw)-tagSize])
	if err != nil {
		return false
	}
	var j jobRow
	return j.read(r.plain) == nil && j.About == person
}

// dropJob removes the job or dead letter of a key.
func (t *tx) dropJob(b table, key []byte) error {
	if len(key) < 10 {
		return nil
	}
	q, err := t.jobQueue(store.Queue(key[:len(key)-9]))
	if err != nil {
		return err
	}
	if b == deadJobs {
		return q.unbury(key)
	}
	seq := binary.BigEndian.Uint64(key[len(key)-8:])
	j, err := q.read(seq)
	if err != nil { // without their data key nothing in it opens; the claim that meets its entry passes over it
		return q.skipJob(seq, err)
	}
	return q.move(j, nil)
}
