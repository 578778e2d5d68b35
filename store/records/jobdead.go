package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// DeadLetterJobs moves jobs to the dead letters of their queue, from which the operator can replay them. reason is
// stored in the clear, so it must not contain anything personal.
func (t *tx) DeadLetterJobs(now time.Time, reason string, refs ...store.Ref) error {
	return t.end(refs, func(q *jobQueue, j *storedJob) error {
		if j.Replaced { // the old content failed; the new one has not been tried
			return q.release(j, j.NotBefore, j.Due, 0, 0)
		}
		if err := q.move(j, nil); err != nil {
			return err
		}
		return q.addDeadLetter(j, now, reason)
	})
}

// addDeadLetter keeps a job as a dead letter, under the key that it had in jobs. Its sealed field is copied: it is
// still sealed to its old place, and opens for that. An older dead letter of the same ID goes, and so does the oldest
// one of the queue beyond store.DeadLettersKept.
func (q *jobQueue) addDeadLetter(j *storedJob, now time.Time, reason string) error {
	// The row without its lease, with the reason.
	dead := *j
	dead.Node, dead.End, dead.Replaced, dead.Reason, dead.DiedAt = "", time.Time{}, false, reason, now
	// One dead letter for an ID.
	if j.Name != nil {
		if seq, err := keyNumber(q.get(jobs, q.deadKey(j.Name))); err == nil {
			if err := q.removeDeadLetter(q.rowKey(seq)); err != nil {
				return err
			}
		}
	}
	// A bounded number for a queue: the oldest is dropped, not the newest.
	if q.state.dead >= store.DeadLettersKept {
		if oldest := q.firstOf(deadJobs, q.prefix, 1); len(oldest) == 1 {
			if err := q.removeDeadLetter(oldest[0].key); err != nil {
				return err
			}
		}
	}
	// Row, note for Sweep, and the entry of the ID.
	q.state.dead, q.state.dirty = q.state.dead+1, true
	err := errors.Join(q.rewriteJob(deadJobs, &dead), q.expire(deadJobOver, now.Add(store.DeadLettersFor), q.rowKey(j.seq)))
	if j.Name != nil {
		err = errors.Join(err, q.put(jobs, q.deadKey(j.Name), numberKey(j.seq)))
	}
	return err
}

// deadKey is the entry that leads from an ID to a dead letter.
func (q *jobQueue) deadKey(name []byte) []byte { return append(q.key(deadIDOf), name...) }

// removeDeadLetter removes the dead letter of a key, its note for Sweep and the entry of its ID. If there is none, it
// does nothing.
func (q *jobQueue) removeDeadLetter(key []byte) error {
	raw := q.get(deadJobs, key)
	if raw == nil {
		return nil
	}
	q.state.dead, q.state.dirty = less(q.state.dead), true
	j, err := q.readRow(deadJobs, key, bytes.Clone(raw))
	if err != nil { // damaged: its note and its ID entry stay, and lead to nothing
		return q.delete(deadJobs, key)
	}
	err = errors.Join(q.delete(deadJobs, key), q.unexpire(deadJobOver, j.DiedAt.Add(store.DeadLettersFor), key))
	if j.Name != nil && bytes.Equal(q.get(jobs, q.deadKey(j.Name)), key[len(key)-8:]) {
		err = errors.Join(err, q.delete(jobs, q.deadKey(j.Name)))
	}
	return err
}

// DeadLetters lists a queue's dead letters, beginning with the job that was put last. It leaves out damaged ones.
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

// openDead decrypts a dead letter. ErrNotFound: its person was erased.
func (q *jobQueue) openDead(key, raw []byte) (store.DeadLetter, error) {
	j, err := q.readRow(deadJobs, key, raw)
	if err != nil {
		return store.DeadLetter{}, err
	}
	job, err := q.unsealJob(j)
	return store.DeadLetter{Job: job, Reason: j.Reason, DiedAt: j.DiedAt}, err
}

// findDead returns key and row of the dead letter of an ID, which in the queue Events may be that of the event.
// ErrNotFound: there is none.
func (q *jobQueue) findDead(id store.JobID) (key, raw []byte, err error) {
	seq, made := numberOfMade(id)
	if !made && q.name == store.Events {
		seq, made = q.jobOfEvent(string(id))
	}
	if made {
		key = q.rowKey(seq)
		raw = bytes.Clone(q.get(deadJobs, key))
		if j, err := q.readRow(deadJobs, key, raw); err == nil && j.Name == nil {
			return key, raw, nil
		}
	}
	seq, err = keyNumber(q.get(jobs, q.deadKey(q.hashID(id))))
	if err != nil && q.name == store.Events {
		seq, err = q.findDeadEvent(string(id))
	}
	if err != nil {
		return nil, nil, store.ErrNotFound
	}
	key = q.rowKey(seq)
	if raw = bytes.Clone(q.get(deadJobs, key)); raw == nil {
		return nil, nil, store.ErrNotFound
	}
	return key, raw, nil
}

// findDeadEvent looks through all dead letters for that of an event: eventIDs has the number of its first job only, and forgets
// it with the proposal.
func (q *jobQueue) findDeadEvent(id string) (seq uint64, err error) {
	for key, raw := range q.scan(deadJobs, engine.Prefix(q.prefix)) {
		letter, err := q.openDead(key, raw)
		if err != nil {
			continue // damaged or erased: it cannot be replayed
		}
		if e, err := store.EventOf(letter.Job); err == nil && e.ID == id {
			return letter.Seq, nil
		}
	}
	return 0, store.ErrNotFound
}

// ReplayDeadLetter puts a dead letter back into its queue as a new job of the same ID. It becomes due at once, and
// its failures count from 0.
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
	// An ID names one job in the queue.
	if _, err := q.find(letter.ID); !errors.Is(err, store.ErrNotFound) {
		return errors.Join(err, store.ErrConflict)
	}
	if err := q.removeDeadLetter(key); err != nil {
		return err
	}
	job := letter.Job
	job.At, job.NotBefore = now, time.Time{}
	_, err = t.PutJobs([]store.Job{job}, nil)
	return err
}

// removeDeadJob removes a dead letter whose time is over, for Sweep.
func (t *tx) removeDeadJob(key []byte) error {
	queue, ok := queueOfRow(key)
	if !ok {
		return store.ErrDamaged
	}
	q, err := t.jobQueue(queue)
	if err != nil {
		return err
	}
	return q.removeDeadLetter(key)
}

// jobsWalked is how many jobs one transaction looks at to find those about a person. It bounds how long other writers
// wait.
const jobsWalked = 20_000

// dropJobsAbout removes up to limit jobs and dead letters about a person. It looks at up to `among` rows, beginning
// at the place `from`, and returns how many it removed and where to go on (nil: it has seen all).
//
// It walks all queues. Erasing is rare, and an index of jobs by person would cost every job an entry. Nothing is
// missed behind the walk, because no new job about an erased person is stored.
func (t *tx) dropJobsAbout(person wallet.UserID, from []byte, limit, among int) (n int, next []byte, err error) {
	type place struct {
		in  table
		key []byte
	}
	// First walk, and collect what is to be removed.
	var found []place
	looked := 0
walk:
	for b, r := range t.jobRows() {
		// A place is walkPlace of the table, then the key. Places rise as the walk goes on.
		if len(from) > 0 {
			switch at := from[1:]; {
			case walkPlace(b) < from[0]:
				continue
			case walkPlace(b) == from[0] && bytes.Compare(r.From, at) < 0: // nothing is left of the queues before that place
				r.From = at
			}
		}
		for key, raw := range t.scan(b, r) {
			if looked++; looked > among || len(found) >= limit {
				next = append([]byte{walkPlace(b)}, key...)
				break walk
			}
			if isAbout(raw, person) {
				found = append(found, place{b, bytes.Clone(key)})
			}
		}
	}
	// Removing changes the tables, so it begins when the walk has ended.
	for _, p := range found {
		if err := t.dropJob(p.in, p.key); err != nil {
			return 0, nil, err
		}
	}
	return len(found), next, t.settleJobs()
}

// walkPlace is the byte that stands for a table in a stored place of the walk. A table's own number would not do: it
// changes with the list of tables.
func walkPlace(b table) byte {
	if b == deadJobs {
		return 2
	}
	return 1
}

// jobRows yields the ranges in which rows of jobs and dead letters lie, in rising order: one for each queue, then one
// for all dead letters.
func (t *tx) jobRows() iter.Seq2[table, engine.Range] {
	return func(yield func(table, engine.Range) bool) {
		for _, prefix := range t.queuePrefixes() {
			if !yield(jobs, engine.Prefix(append(prefix, rowOf))) {
				return
			}
		}
		yield(deadJobs, all())
	}
}

// isAbout tells whether a row of jobs or dead letters is about a person. It does not check the tag: hashing each row
// of every queue would take long. dropJob checks the tag of those that match.
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
	queue, ok := queueOfRow(key)
	if !ok {
		return nil
	}
	q, err := t.jobQueue(queue)
	if err != nil {
		return err
	}
	if b == deadJobs {
		return q.removeDeadLetter(key)
	}
	seq := binary.BigEndian.Uint64(key[len(key)-8:])
	j, err := q.read(seq)
	if err != nil { // damaged: nobody can decrypt it, and a claim that finds its entry removes that
		return q.skipJob(seq, err)
	}
	// The worker that has it in hand may end it in this very Update: end then finds nothing to do (wasErased).
	if j.inFlight() {
		t.erased = append(t.erased, store.Ref{Queue: q.name, Seq: seq, Attempt: j.Attempt})
	}
	return q.move(j, nil)
}
