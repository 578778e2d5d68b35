package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"purser/store"
	"purser/store/engine"
)

// Jobs of the queue Events are put without the entries that lead to them: an event is emitted in a commit that a person or a
// program waits for, and with many people these entries would lie on as many pages. The row lies beside that of the event
// before, and so does the entry of its ID if the caller chose it. The next claim makes the other entries, of many jobs at once (enterJobs). Until then
// such a job is called fresh.
//
// queueState.fresh is the number of the first fresh job: all rows from there on are fresh, and none before. So jobs get their
// entries in the order in which they were put, which keeps the order of each key. A fresh job counts as waiting in its queue.
// It is not yet counted for its owner, so CountJobs and JobsOfKey look at the fresh rows too.

// enteredAtOnce is how many fresh jobs one claim gives their entries. It bounds how long other writers wait.
const enteredAtOnce = 1000

// putsFresh tells whether new jobs of the queue are put without entries.
func (q *jobQueue) putsFresh() bool { return q.name == store.Events }

// isFresh tells whether the job with a number has no entries yet.
func (q *jobQueue) isFresh(seq uint64) bool { return q.state.fresh != 0 && seq >= q.state.fresh }

// putFresh stores the row of a new job and the entry of its ID.
func (q *jobQueue) putFresh(j *storedJob) error {
	if q.state.fresh == 0 {
		q.state.fresh = j.seq
	}
	q.state.waiting, q.state.dirty, q.woke, q.awakeJob = q.state.waiting+1, true, true, ""
	err := q.rewriteJob(jobs, j)
	if j.Name != nil {
		err = errors.Join(err, q.put(jobs, q.idKey(j.Name), numberKey(j.seq)))
	}
	return err
}

// moveFresh is move for a fresh job: it is removed (is == nil), or gets new content.
func (q *jobQueue) moveFresh(was, is *storedJob) error {
	q.changed, q.awakeJob = true, ""
	if is != nil {
		return q.rewriteJob(jobs, is)
	}
	q.state.waiting, q.state.dirty = less(q.state.waiting), true
	err := q.delete(jobs, q.rowKey(was.seq))
	if was.Name != nil {
		err = errors.Join(err, q.delete(jobs, q.idKey(was.Name)))
	}
	return err
}

// freshRows is the range of the rows of fresh jobs, if there are any.
func (q *jobQueue) freshRows() engine.Range {
	r := engine.Prefix(q.at(rowOf))
	r.From = q.rowKey(q.state.fresh)
	return r
}

// enterJobs gives up to enteredAtOnce fresh jobs the entries that lead to them, in the order in which they were put. The caller
// settles. A damaged row gets none: it is reported, and holds up nobody.
func (q *jobQueue) enterJobs() error {
	if q.state.fresh == 0 {
		return nil
	}
	var rows []entry
	for key, raw := range q.scan(jobs, q.freshRows()) {
		if rows = append(rows, entry{bytes.Clone(key), bytes.Clone(raw)}); len(rows) == enteredAtOnce {
			break
		}
	}
	for _, row := range rows {
		seq := binary.BigEndian.Uint64(row.key[len(row.key)-8:])
		q.state.fresh = seq + 1
		j, err := q.readRow(jobs, row.key, row.value)
		if err == nil && j.inFlight() { // an older row of a job that had this number: nobody holds it
			err = store.ErrDamaged
		}
		if err != nil {
			q.state.waiting = less(q.state.waiting)
			err = q.skipJob(seq, err)
		} else {
			err = q.enter(j)
		}
		if err != nil {
			return err
		}
	}
	if len(rows) < enteredAtOnce {
		q.state.fresh = 0
	}
	q.state.dirty, q.awakeJob = true, ""
	return nil
}

// enter writes the entries of one fresh job, and counts it for its owner.
func (q *jobQueue) enter(j *storedJob) error {
	o := q.owner(j.Owner)
	o.count++
	q.changes(o)
	first := q.firstOfLine(j.Ordering)
	if j.Ordering != nil {
		if err := q.enlist(j.Ordering, j.class(), j.seq, !first.found); err != nil {
			return err
		}
	}
	return q.rehead(first, nil, j)
}

// enterAll enters the fresh jobs however many there are, for a caller that is about to put a job that is not fresh.
func (q *jobQueue) enterAll() error {
	for q.state.fresh != 0 {
		if err := q.enterJobs(); err != nil {
			return err
		}
	}
	return nil
}

// eachFresh calls each with every fresh job whose row can be read.
func (q *jobQueue) eachFresh(each func(*storedJob)) {
	if q.state.fresh == 0 {
		return
	}
	for key, raw := range q.scan(jobs, q.freshRows()) {
		if j, err := q.readRow(jobs, key, raw); err == nil {
			each(j)
		}
	}
}

// recountFresh finds the fresh jobs again after the queue's state was damaged, and adds them to s: they are those that wait
// and have neither a place in their key nor a head.
func (q *jobQueue) recountFresh(s *queueState) {
	if !q.putsFresh() {
		return
	}
	for key, raw := range q.scan(jobs, engine.Prefix(q.at(rowOf))) {
		if s.fresh == 0 {
			j, err := q.readRow(jobs, key, raw)
			if err != nil || j.inFlight() || q.isEntered(j) {
				continue
			}
			s.fresh = j.seq
		}
		s.waiting++
	}
}

// isEntered tells whether a job that waits has its place in its key, or its head if it has no key.
func (q *jobQueue) isEntered(j *storedJob) bool {
	if j.Ordering != nil {
		return slices.Contains(q.runAt(j.Ordering, j.class(), j.seq), j.seq)
	}
	found, _ := q.firstUnder(jobs, q.headKey(j))
	return found != nil
}
