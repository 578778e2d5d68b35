package records

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"purser/store"
)

// move changes a job from what it was (nil: it is new) to what it is (nil: it goes), its row and all that leads to
// it: with moveFrom the one place where that is written.
func (q *jobQueue) move(was, is *storedJob) error {
	switch {
	case was == nil:
		return q.moveFrom(q.firstOfLine(is.Ordering), nil, is)
	case was.inFlight(): // what is in flight is the first of its key
		return q.moveFrom(firstJob{0, was.seq, true}, was, is)
	}
	return q.moveFrom(q.firstOfLine(was.Ordering), was, is)
}

// moveFrom is move for a job whose key has that first job before.
func (q *jobQueue) moveFrom(first firstJob, was, is *storedJob) error {
	if err := q.relist(was, is); err != nil {
		return err
	}
	wasHeld, isHeld := was != nil && was.inFlight(), is != nil && is.inFlight()
	j := is
	if j == nil {
		j = was
	}
	switch {
	case wasHeld && isHeld:
		return nil
	case j.Ordering == nil:
		var err error
		if was != nil && !wasHeld {
			err = q.dropHead(was)
		}
		if is != nil && !isHeld {
			err = errors.Join(err, q.addHead(is))
		}
		return err
	case isHeld:
		if first.isHead() {
			return q.dropHeadOf(first.seq, was)
		}
		return nil
	case was == nil && first.found && (first.class == 0 || first.class <= is.class()): // it waits behind others
		return nil
	}
	if first.isHead() {
		after := q.firstOfLine(j.Ordering)
		if after.isHead() && first.seq == after.seq && first.seq != j.seq { // it is about none of the first
			return nil
		}
		if err := q.dropHeadOf(first.seq, was); err != nil {
			return err
		}
	}
	return q.raiseHead(j.Ordering, is)
}

// dropHeadOf takes the head with a number out of the heads; changed is the job that is being changed, as it was.
func (q *jobQueue) dropHeadOf(seq uint64, changed *storedJob) error {
	if changed != nil && changed.seq == seq {
		return q.dropHead(changed)
	}
	old, err := q.read(seq)
	if err != nil { // its entry leads to a row that nobody can read: the claim that meets it takes it out
		return q.skipJob(seq, err)
	}
	return q.dropHead(old)
}

// raiseHead makes the first of a line claimable, if none of it is in flight. changed is the job that is being changed,
// as it is.
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
		if err == nil {
			return q.addHead(next)
		}
		if err := errors.Join(q.skipJob(first.seq, err), q.delete(jobIndex, q.lineKey(line, first.class, first.seq))); err != nil {
			return err
		}
	}
}

// skipJob passes over a damaged row: it stays in the file, and nothing leads a worker to it any more.
func (q *jobQueue) skipJob(seq uint64, err error) error {
	if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrUnsealed) && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	q.skipDamaged(jobs, q.rowKey(seq), err)
	return nil
}

func (q *jobQueue) addHead(j *storedJob) error {
	q.touch(q.owner(j.Owner), j.Priority)
	q.woke = true
	return q.put(jobIndex, q.headKey(j), j.Ordering)
}

func (q *jobQueue) dropHead(j *storedJob) error {
	q.touch(q.owner(j.Owner), j.Priority)
	return q.delete(jobIndex, q.headKey(j))
}

func (q *jobQueue) touch(o *jobOwner, priority int) {
	mark := touchedTurn{o, priority}
	if !slices.Contains(q.touched[max(0, len(q.touched)-16):], mark) { // a second time does no harm
		q.touched = append(q.touched, mark)
	}
}

// relist brings a job's row, and the entries that do not depend on other jobs, from what it was to what it is. A key
// and an ID stay what they are.
func (q *jobQueue) relist(was, is *storedJob) error {
	q.count(was, is)
	var errs [6]error // joined once: most are nil
	if was != nil && was.Ordering != nil && (is == nil || is.class() != was.class()) {
		errs[0] = q.delete(jobIndex, q.lineKey(was.Ordering, was.class(), was.seq))
	}
	if is != nil && is.Ordering != nil && (was == nil || is.class() != was.class()) {
		errs[1] = q.put(jobIndex, q.lineKey(is.Ordering, is.class(), is.seq), nil)
	}
	if was != nil && was.inFlight() && (is == nil || !is.End.Equal(was.End)) {
		errs[2] = q.delete(jobIndex, q.leaseKey(was))
	}
	if is != nil && is.inFlight() {
		errs[3] = q.put(jobIndex, q.leaseKey(is), join(ownerHash(is.Owner), ownerHash(is.Ordering), []byte(is.Node)))
	}
	switch {
	case is == nil:
		if was.Name != nil {
			errs[4] = q.delete(jobIndex, q.idKey(was.Name))
		}
		errs[5] = q.delete(jobs, q.rowKey(was.seq))
	default:
		if was == nil && is.Name != nil {
			errs[4] = q.put(jobIndex, q.idKey(is.Name), numberKey(is.seq))
		}
		errs[5] = q.rewriteJob(jobs, is)
	}
	return errors.Join(errs[:]...)
}

// count counts a job out as what it was and in as what it is.
func (q *jobQueue) count(was, is *storedJob) {
	if was != nil && is != nil && was.inFlight() == is.inFlight() && bytes.Equal(was.Owner, is.Owner) {
		return
	}
	q.state.dirty = true
	if was != nil {
		o := q.owner(was.Owner)
		o.count, o.dirty = less(o.count), true
		if was.inFlight() {
			q.state.inFlight = less(q.state.inFlight)
			q.landed(o)
		} else {
			q.state.waiting = less(q.state.waiting)
		}
	}
	if is != nil {
		o := q.owner(is.Owner)
		o.count, o.dirty = o.count+1, true
		if is.inFlight() {
			q.state.inFlight++
			o.inFlight++
		} else {
			q.state.waiting++
		}
	}
}

// landed notes that one job less of an owner is in flight, and gives back the turns that they lost for it.
func (q *jobQueue) landed(o *jobOwner) {
	o.inFlight, o.dirty = less(o.inFlight), true
	for p := range o.full {
		if o.full[p] {
			o.full[p] = false
			q.touch(o, p)
			q.woke = true
		}
	}
}

func less[N uint32 | uint64](n N) N {
	if n == 0 { // a count that was damaged
		return 0
	}
	return n - 1
}

// firstHead is when an owner's first head of a priority is due: zero for at once.
func (q *jobQueue) firstHead(o *jobOwner, priority int) (due time.Time, found bool) {
	prefix := append(append(q.key(headOf), o.hash[:]...), byte(priority))
	key, _ := q.firstUnder(jobIndex, prefix)
	if key == nil {
		return time.Time{}, false
	}
	return headDue(key[len(prefix):]), true
}

// headDue reads the time of an entry of heads.
func headDue(rest []byte) time.Time {
	if len(rest) < timeSize || bytes.Equal(rest[:timeSize], nobody[:timeSize]) {
		return time.Time{}
	}
	at, _ := keyTime(rest)
	return at
}

// retarget makes an owner's turn what their first head asks for. Who is among those that are ready stays there: what
// is not due after all is found out when it is their turn.
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

// setTurn puts an owner where they stand among the turns of a priority; the zero turn is nowhere.
func (q *jobQueue) setTurn(o *jobOwner, priority int, want turn) error {
	var err error
	if o.turns[priority] != (turn{}) {
		err = q.delete(jobIndex, q.turnKey(o, priority))
	}
	if o.turns[priority] != want {
		o.turns[priority], o.dirty = want, true
	}
	if want != (turn{}) {
		err = errors.Join(err, q.put(jobIndex, q.turnKey(o, priority), nil))
	}
	return err
}

func (q *jobQueue) turnKey(o *jobOwner, priority int) []byte {
	at := &o.turns[priority]
	return append(append(append(q.key(turnOf), byte(priority)), at.at[:at.size]...), o.hash[:]...)
}

// turnPrefix begins the turns of a priority that are ready, or those that come later.
func (q *jobQueue) turnPrefix(priority int, which byte) []byte {
	return append(q.key(turnOf), byte(priority), which)
}

func (q *jobQueue) dropTurn(o *jobOwner, priority int) error { return q.setTurn(o, priority, turn{}) }
