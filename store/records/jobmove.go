package records

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"purser/store"
)

// This file is the only place that changes the index of jobs (jobqueue.go has its layout). The order of its functions
// is that of a change: move finds the first job of the key, relist and count write what concerns the job alone, then
// moveFrom corrects the head of its key, and retarget later gives the owner a turn.

// move changes a job from what it was (nil: it is new) to what it is (nil: it is removed), with its row, its index
// entries and the counters. ID and ordering key of a job never change.
func (q *jobQueue) move(was, is *storedJob) error {
	switch {
	case was != nil && q.isFresh(was.seq):
		return q.moveFresh(was, is)
	case was == nil:
		return q.moveFrom(q.firstOfLine(is.Ordering), nil, is)
	case was.inFlight(): // a job in flight is the first of its key
		return q.moveFrom(firstJob{0, was.seq, true}, was, is)
	}
	return q.moveFrom(q.firstOfLine(was.Ordering), was, is)
}

// moveFrom is move for a caller that knows the first job of the key before the change.
func (q *jobQueue) moveFrom(first firstJob, was, is *storedJob) error {
	// First the job's own entries.
	if err := q.relist(first, was, is); err != nil {
		return err
	}
	return q.rehead(first, was, is)
}

// rehead corrects the head of a job's key after the job has changed: which job of the key may be claimed now. first is the
// first job of the key before the change.
func (q *jobQueue) rehead(first firstJob, was, is *storedJob) error {
	wasHeld, isHeld := was != nil && was.inFlight(), is != nil && is.inFlight()
	j := is
	if j == nil {
		j = was
	}
	switch {
	// A renewed lease changes no head.
	case wasHeld && isHeld:
		return nil
	// A job without a key orders nothing: it is its own head whenever it waits.
	case j.Ordering == nil:
		var err error
		if was != nil && !wasHeld {
			err = q.dropHead(was)
		}
		if is != nil && !isHeld {
			err = errors.Join(err, q.addHead(is))
		}
		return err
	// It goes into flight: its key has no head until the attempt ends.
	case isHeld:
		if first.isHead() {
			return q.dropHeadOf(first.seq, was)
		}
		return nil
	case was == nil && first.found && (first.class == 0 || first.class <= is.class()): // it waits behind others
		return nil
	}
	// The key had a head, and the change may have made another job the first.
	if first.isHead() {
		after := q.firstOfLine(j.Ordering)
		if after.isHead() && first.seq == after.seq && first.seq != j.seq { // the same other job is still the head
			return nil
		}
		if err := q.dropHeadOf(first.seq, was); err != nil {
			return err
		}
	}
	return q.raiseHead(j.Ordering, is)
}

// dropHeadOf removes the head with this number from the heads. changed is the job that is being changed, as it was: it
// is used instead of reading its row again, which may hold the new state already.
func (q *jobQueue) dropHeadOf(seq uint64, changed *storedJob) error {
	if changed != nil && changed.seq == seq {
		return q.dropHead(changed)
	}
	old, err := q.read(seq)
	if err != nil { // the entry leads to an unreadable row: a claim that finds it removes it
		return q.skipJob(seq, err)
	}
	return q.dropHead(old)
}

// raiseHead makes the first job of an ordering key claimable, unless one of the key is in flight. changed is the job
// that is being changed, as it is now. Damaged jobs on the way lose their entries, so that the key goes on behind
// them, and so do numbers that a damaged run invented.
func (q *jobQueue) raiseHead(line []byte, changed *storedJob) error {
	for {
		first := q.firstOfLine(line)
		if !first.isHead() {
			return nil
		}
		if changed != nil && changed.seq == first.seq {
			return q.addHead(changed)
		}
		next, err := q.read(first.seq)
		switch {
		case err == nil && next.class() == first.class && bytes.Equal(next.Ordering, line) && !q.isFresh(next.seq):
			return q.addHead(next)
		case err == nil: // the run was damaged, and names a job that is no head here: its own key, lease or entries lead to it
			q.skipDamaged(jobs, q.at(lineOfKey, line, []byte{first.class}, numberKey(first.seq)), store.ErrDamaged)
		default:
			if err := q.skipJob(first.seq, err); err != nil {
				return err
			}
		}
		if err := q.delist(line, first.class, first.seq); err != nil {
			return err
		}
	}
}

// skipJob handles the error of a job that cannot be read: it reports the row to the operator and returns nil, so that
// the queue goes on. The row stays in the file. Errors that are not about the row are returned.
func (q *jobQueue) skipJob(seq uint64, err error) error {
	if !store.IsDamaged(err) && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	q.skipDamaged(jobs, q.rowKey(seq), err)
	return nil
}

// addHead makes a job claimable once it is due, and marks its owner for settle.
func (q *jobQueue) addHead(j *storedJob) error {
	q.touch(q.owner(j.Owner), j.Priority)
	q.woke = true
	return q.put(jobs, q.headKey(j), j.Ordering)
}

// dropHead makes a job unclaimable, and marks its owner for settle.
func (q *jobQueue) dropHead(j *storedJob) error {
	q.touch(q.owner(j.Owner), j.Priority)
	return q.delete(jobs, q.headKey(j))
}

// touch marks an owner for settle. It looks only at the last 16 marks for a duplicate, to stay cheap with many jobs: a
// second mark costs a little and changes nothing.
func (q *jobQueue) touch(o *jobOwner, priority int) {
	mark := touchedTurn{o, priority}
	if !slices.Contains(q.touched[max(0, len(q.touched)-16):], mark) { // a second mark does no harm
		q.touched = append(q.touched, mark)
	}
}

// relist writes a job's row, its counters, and the index entries that do not depend on other jobs: its place in its
// key, its lease and its ID. first is the first job of the key before the change.
func (q *jobQueue) relist(first firstJob, was, is *storedJob) error {
	q.awakeJob = ""
	q.count(was, is)
	var errs [6]error // joined once: most are nil
	// Its place among the jobs of its key.
	if was != nil && was.Ordering != nil && (is == nil || is.class() != was.class()) {
		errs[0] = q.delist(was.Ordering, was.class(), was.seq)
	}
	if is != nil && is.Ordering != nil && (was == nil || is.class() != was.class()) {
		errs[1] = q.enlist(is.Ordering, is.class(), is.seq, !first.found)
	}
	// Its lease. The entry repeats owner, key and node, so that a lease can end although the row is damaged.
	if was != nil && was.inFlight() && (is == nil || !is.End.Equal(was.End)) {
		errs[2] = q.delete(jobs, q.leaseKey(was))
	}
	if is != nil && is.inFlight() {
		errs[3] = q.put(jobs, q.leaseKey(is), join(ownerHash(is.Owner), ownerHash(is.Ordering), []byte(is.Node)))
	}
	// Its ID and its row.
	switch {
	case is == nil:
		if was.Name != nil {
			errs[4] = q.delete(jobs, q.idKey(was.Name))
		}
		errs[5] = q.delete(jobs, q.rowKey(was.seq))
	default:
		if was == nil && is.Name != nil {
			errs[4] = q.put(jobs, q.idKey(is.Name), numberKey(is.seq))
		}
		errs[5] = q.rewriteJob(jobs, is)
	}
	return errors.Join(errs[:]...)
}

// count subtracts a job as it was and adds it as it is, in the counters of the queue and of the owner.
func (q *jobQueue) count(was, is *storedJob) {
	if was != nil && is != nil && was.inFlight() == is.inFlight() && bytes.Equal(was.Owner, is.Owner) {
		return
	}
	q.state.dirty = true
	if was != nil {
		o := q.owner(was.Owner)
		o.count = less(o.count)
		q.changes(o)
		if was.inFlight() {
			q.state.inFlight = less(q.state.inFlight)
			q.landed(o)
		} else {
			q.state.waiting = less(q.state.waiting)
		}
	}
	if is != nil {
		o := q.owner(is.Owner)
		o.count++
		q.changes(o)
		if is.inFlight() {
			q.state.inFlight++
			o.inFlight++
		} else {
			q.state.waiting++
		}
	}
}

// landed notes that an owner has one job less in flight. An owner who was at the limit (Claim.PerOwner) had lost
// their turns: settle gives them back.
func (q *jobQueue) landed(o *jobOwner) {
	o.inFlight = less(o.inFlight)
	q.changes(o)
	for p := range o.full {
		if o.full[p] {
			o.full[p] = false
			q.touch(o, p)
			q.woke = true
		}
	}
}

// less is n - 1, and 0 for 0: a damaged counter must not wrap around.
func less[N uint32 | uint64](n N) N {
	if n == 0 { // a count that was damaged
		return 0
	}
	return n - 1
}

// firstHead returns when an owner's first head of a priority is due, in the queue's time. The zero time is at once.
func (q *jobQueue) firstHead(o *jobOwner, priority int) (due time.Time, found bool) {
	prefix := append(append(q.key(headOf), o.hash[:]...), byte(priority))
	key, _ := q.firstUnder(jobs, prefix)
	if key == nil {
		return time.Time{}, false
	}
	return headDue(key[len(prefix):]), true
}

// headDue reads the due time that begins the rest of a head's key.
func headDue(rest []byte) time.Time {
	if len(rest) < timeSize || bytes.Equal(rest[:timeSize], nobody[:timeSize]) {
		return time.Time{}
	}
	at, _ := keyTime(rest)
	return at
}

// retarget sets an owner's turn of a priority to what their first head asks for: none without a head or at the limit, a
// place behind all others for a head that may go at once, an alarm for one with a time. An owner who already has a
// place among the ready ones keeps it, even if the head has gone meanwhile: the claim that visits them finds out.
func (q *jobQueue) retarget(o *jobOwner, priority int) error {
	due, found := q.firstHead(o, priority)
	now := o.turns[priority]
	var want turn
	switch {
	case !found || o.full[priority]:
	case now.isReady():
		return nil
	case due.IsZero():
		q.state.turns, q.state.dirty = q.state.turns+1, true
		want = ready(q.state.turns)
	default:
		want = later(due)
	}
	if now == want {
		return nil
	}
	return q.setTurn(o, priority, want)
}

// setTurn replaces an owner's entry among the turns of a priority. The zero turn removes it.
func (q *jobQueue) setTurn(o *jobOwner, priority int, want turn) error {
	var err error
	if o.turns[priority] != (turn{}) {
		err = q.delete(jobs, q.turnKey(o, priority))
	}
	if o.turns[priority] != want {
		o.turns[priority] = want
		q.changes(o)
	}
	if want != (turn{}) {
		err = errors.Join(err, q.put(jobs, q.turnKey(o, priority), nil))
	}
	return err
}

// turnKey is the entry of an owner's present turn.
func (q *jobQueue) turnKey(o *jobOwner, priority int) []byte {
	at := &o.turns[priority]
	return append(append(append(q.key(turnOf), byte(priority)), at.at[:at.size]...), o.hash[:]...)
}

// turnPrefix begins the turns of a priority: with readyTurn those whose turn it is, with laterTurn the alarms.
func (q *jobQueue) turnPrefix(priority int, which byte) []byte {
	return append(q.key(turnOf), byte(priority), which)
}

// dropTurn takes an owner out of the turns of a priority.
func (q *jobQueue) dropTurn(o *jobOwner, priority int) error { return q.setTurn(o, priority, turn{}) }
