package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// How jobs lie. Rows are in the table jobs, under their queue and number; all that leads to them is in
// the table jobIndex, whose keys begin with the queue and one byte that says what they are:
//
//	'i' H(id)                          -> number
//	'k' H(key) class number            -> -: the jobs of a key. Class 0 is in flight, else 1 + priority. The first of a
//	                                      key is the one in flight, or else its head: the only one that may be claimed.
//	'h' H(owner) priority due number   -> H(key): heads, and jobs without a key. due is 12 zero bytes for at once.
//	't' priority 0 turn H(owner)       -> -: owners with a head that may be claimed, in the order of their turns
//	't' priority 1 time H(owner)       -> -: owners whose first head is due at a time
//	'l' end number                     -> H(owner) H(key) node: leases
//	'a' H(owner) number                -> -: all jobs of an owner
//	'o' H(owner)                       -> jobOwner
//	'q'                                -> queueState
//	'd' H(id)                          -> number, of dead letters
//
// An owner has at most one entry among the turns for each priority, whatever waits behind it. So a claim reads the owners
// whose turn it is and one job of each, and neither 100,000 jobs of one owner nor 100,000 of one key cost it more.
//
// Times in these keys are the queue's own: the clock, and what it was ever set back by (queueState.offset), so that
// nothing that waits for a time waits longer because the clock was set back.

// hashSize is how much of a keyed hash stands in the index of jobs.
const hashSize = 16

const (
	idOf       = 'i'
	lineOfKey  = 'k'
	headOf     = 'h'
	turnOf     = 't'
	leaseOf    = 'l'
	allOfOwner = 'a'
	ownerOf    = 'o'
	stateOf    = 'q'
	deadIDOf   = 'd'
)

// jobRow is the plain part of a job's row; id, key, owner and body are sealed. Name, Line and Owner are keyed hashes,
// by which its index is found when it cannot be unsealed.
type jobRow struct {
	Name      []byte        `json:"name"`
	Ordering  []byte        `json:"line,omitempty"`  // nil without a key
	Owner     []byte        `json:"owner,omitempty"` // nil without an owner
	Priority  int           `json:"priority,omitempty"`
	NotBefore time.Time     `json:"not_before,omitzero"` // as it was put
	Due       time.Time     `json:"due,omitzero"`        // the same in the queue's time; zero: at once
	At        time.Time     `json:"at"`
	Attempt   int           `json:"attempt,omitempty"`
	Failures  int           `json:"failures,omitempty"`
	About     wallet.UserID `json:"about,omitempty"`

	Node string    `json:"node,omitempty"` // whose lease
	End  time.Time `json:"end,omitzero"`   // of the lease, in the queue's time; zero: it is not in flight
	Anew bool      `json:"anew,omitempty"` // it was put anew while in flight: the end of the attempt does not remove it

	Reason string    `json:"reason,omitempty"` // of a dead letter
	DiedAt time.Time `json:"died_at,omitzero"`
}

func (r jobRow) inFlight() bool { return !r.End.IsZero() }

// class is where the job stands in its line.
func (r jobRow) class() byte {
	if r.inFlight() {
		return 0
	}
	return byte(1 + r.Priority)
}

// storedJob is a job as it lies in the table.
type storedJob struct {
	jobRow
	seq uint64
	raw row // its sealed field stays as it is when the plain part changes
}

// jobQueue is one queue within a transaction. Every change goes through move, and ends with flush.
type jobQueue struct {
	*tx
	name    store.Queue
	prefix  []byte
	state   queueState
	owners  map[string]*jobOwner
	touched []touchedTurn
	woke    bool // something may be claimable that was not
}

type touchedTurn struct {
	owner    *jobOwner
	priority int
}

func (t *tx) jobQueue(name store.Queue) (*jobQueue, error) {
	if err := checkID(string(name)); err != nil {
		return nil, err
	}
	q := &jobQueue{tx: t, name: name, prefix: append([]byte(name), 0), owners: map[string]*jobOwner{}}
	q.readState()
	return q, nil
}

// at is a key of the index.
func (q *jobQueue) at(what byte, parts ...[]byte) []byte {
	size := len(q.prefix) + 1
	for _, part := range parts {
		size += len(part)
	}
	out := append(append(make([]byte, 0, size), q.prefix...), what)
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

func (q *jobQueue) rowKey(seq uint64) []byte { return join(q.prefix, numberKey(seq)) }

func (q *jobQueue) aboutKey(j *storedJob) []byte { return join(userPrefix(j.About), q.rowKey(j.seq)) }

// hash is a keyed hash of a name in this queue, nil of none.
func (q *jobQueue) hash(kind, name string) []byte {
	if name == "" {
		return nil
	}
	hash := q.store.lookup.Text(store.ByJob, string(q.name), kind, name)
	return hash[:hashSize]
}

// ownerHash fills the place of an owner in a key, also where there is none.
func ownerHash(hash []byte) []byte {
	if hash == nil {
		return make([]byte, hashSize)
	}
	return hash
}

// dueKey is a time in the index: zero bytes for at once.
func dueKey(at time.Time) []byte {
	if at.IsZero() {
		return make([]byte, timeSize)
	}
	return timeKey(at)
}

func (q *jobQueue) lineKey(j *storedJob) []byte {
	return q.at(lineOfKey, j.Ordering, []byte{j.class()}, numberKey(j.seq))
}

func (q *jobQueue) headKey(j *storedJob) []byte {
	return q.at(headOf, ownerHash(j.Owner), []byte{byte(j.Priority)}, dueKey(j.Due), numberKey(j.seq))
}

func (q *jobQueue) leaseKey(j *storedJob) []byte {
	return q.at(leaseOf, timeKey(j.End), numberKey(j.seq))
}

// owner reads what is known of an owner, by the hash of their name.
func (q *jobQueue) owner(hash []byte) *jobOwner {
	name := string(ownerHash(hash))
	if o := q.owners[name]; o != nil {
		return o
	}
	o := &jobOwner{hash: []byte(name)}
	if raw := q.get(jobIndex, q.at(ownerOf, o.hash)); raw != nil {
		o.decode(raw)
	}
	q.owners[name] = o
	return o
}

// firstOfLine is the first entry of a key: its class and number.
func (q *jobQueue) firstOfLine(line []byte) (class byte, seq uint64, found bool) {
	prefix := q.at(lineOfKey, line)
	key, _ := q.first(jobIndex, engine.Prefix(prefix))
	if key == nil || len(key) != len(prefix)+9 {
		return 0, 0, false
	}
	rest := key[len(prefix):]
	return rest[0], binary.BigEndian.Uint64(rest[1:]), true
}

// read reads the plain part of a job: ErrNotFound without one, store.ErrDamaged for one that is not what was written.
func (q *jobQueue) read(seq uint64) (*storedJob, error) {
	key := q.rowKey(seq)
	raw := q.get(jobs, key)
	if raw == nil {
		return nil, store.ErrNotFound
	}
	plain, r, err := plainOf[jobRow](q.tx, jobs, key, bytes.Clone(raw)) // it outlives the next write
	if err == nil && (plain.Priority < 0 || plain.Priority >= store.Priorities) {
		err = store.ErrDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	return &storedJob{jobRow: plain, seq: seq, raw: r}, nil
}

// move changes a job from what it was (nil: it is new) to what it is (nil: it goes), its row and all that leads to
// it: the one place where that is written.
func (q *jobQueue) move(was, is *storedJob) error {
	j := is
	if j == nil {
		j = was
	}
	headBefore, seqBefore := q.lineHead(j)
	if err := errors.Join(q.unlist(was, is), q.list(is, was)); err != nil {
		return err
	}
	if j.Ordering == nil {
		if was != nil && !was.inFlight() {
			if err := q.dropHead(was); err != nil {
				return err
			}
		}
		if is != nil && !is.inFlight() {
			return q.addHead(is)
		}
		return nil
	}
	headAfter, seqAfter := q.lineHead(j)
	unchanged := headBefore == headAfter && seqBefore == seqAfter && seqAfter != j.seq
	if unchanged {
		return nil
	}
	if headBefore {
		if err := q.dropHeadOf(seqBefore, was); err != nil {
			return err
		}
	}
	return q.raiseHead(j.Ordering, is)
}

// lineHead is the head of a job's key: the first of it, if none is in flight.
func (q *jobQueue) lineHead(j *storedJob) (head bool, seq uint64) {
	if j.Ordering == nil {
		return false, 0
	}
	class, seq, found := q.firstOfLine(j.Ordering)
	return found && class > 0, seq
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
		class, seq, found := q.firstOfLine(line)
		if !found || class == 0 {
			return nil
		}
		if changed != nil && changed.seq == seq {
			return q.addHead(changed)
		}
		next, err := q.read(seq)
		if err == nil {
			return q.addHead(next)
		}
		if err := errors.Join(q.skipJob(seq, err), q.delete(jobIndex, q.at(lineOfKey, line, []byte{class}, numberKey(seq)))); err != nil {
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
	o := q.owner(j.Owner)
	q.touch(o, j.Priority)
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

// list writes a job's row and the entries that do not depend on other jobs, except what was there of it already.
func (q *jobQueue) list(is, was *storedJob) error {
	if is == nil {
		return nil
	}
	var err error
	if is.Ordering != nil {
		err = errors.Join(err, q.put(jobIndex, q.lineKey(is), nil))
	}
	if is.Owner != nil && (was == nil || !bytes.Equal(is.Owner, was.Owner)) {
		err = errors.Join(err, q.put(jobIndex, q.at(allOfOwner, is.Owner, numberKey(is.seq)), nil))
	}
	if is.About != "" && (was == nil || is.About != was.About) {
		err = errors.Join(err, q.put(jobsAbout, q.aboutKey(is), nil))
	}
	if was == nil {
		err = errors.Join(err, q.put(jobIndex, q.at(idOf, is.Name), numberKey(is.seq)))
	}
	o := q.owner(is.Owner)
	o.count, o.dirty, q.state.dirty = o.count+1, true, true
	if is.inFlight() {
		err = errors.Join(err, q.put(jobIndex, q.leaseKey(is), join(ownerHash(is.Owner), ownerHash(is.Ordering), []byte(is.Node))))
		q.state.inFlight++
		o.inFlight++
	} else {
		q.state.waiting++
	}
	return errors.Join(err, q.rewrite(jobs, q.rowKey(is.seq), is.raw, is.jobRow))
}

// unlist takes out what list wrote, except what is to stay.
func (q *jobQueue) unlist(was, is *storedJob) error {
	if was == nil {
		return nil
	}
	var err error
	if was.Ordering != nil {
		err = errors.Join(err, q.delete(jobIndex, q.lineKey(was)))
	}
	if was.Owner != nil && (is == nil || !bytes.Equal(is.Owner, was.Owner)) {
		err = errors.Join(err, q.delete(jobIndex, q.at(allOfOwner, was.Owner, numberKey(was.seq))))
	}
	if was.About != "" && (is == nil || is.About != was.About) {
		err = errors.Join(err, q.delete(jobsAbout, q.aboutKey(was)))
	}
	if is == nil {
		err = errors.Join(err, q.delete(jobIndex, q.at(idOf, was.Name)), q.delete(jobs, q.rowKey(was.seq)))
	}
	o := q.owner(was.Owner)
	o.count, o.dirty, q.state.dirty = less(o.count), true, true
	if was.inFlight() {
		err = errors.Join(err, q.delete(jobIndex, q.leaseKey(was)))
		q.state.inFlight = less(q.state.inFlight)
		q.landed(o)
	} else {
		q.state.waiting = less(q.state.waiting)
	}
	return err
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
	prefix := q.at(headOf, o.hash, []byte{byte(priority)})
	key, _ := q.first(jobIndex, engine.Prefix(prefix))
	if key == nil {
		return time.Time{}, false
	}
	return headDue(key[len(prefix):]), true
}

// headDue reads the time of an entry of heads.
func headDue(rest []byte) time.Time {
	if len(rest) < timeSize || bytes.Equal(rest[:timeSize], make([]byte, timeSize)) {
		return time.Time{}
	}
	at, _ := keyTime(rest)
	return at
}

const (
	readyTurn byte = 0
	laterTurn byte = 1
)

// retarget makes an owner's turn what their first head asks for. Who is among those that are ready stays there: what
// is not due after all is found out when it is their turn.
func (q *jobQueue) retarget(o *jobOwner, priority int) error {
	due, found := q.firstHead(o, priority)
	now := o.turns[priority]
	var want []byte
	switch {
	case !found || o.full[priority]:
	case now != nil && now[0] == readyTurn:
		return nil
	case due.IsZero():
		q.state.turns, q.state.dirty = q.state.turns+1, true
		want = append([]byte{readyTurn}, numberKey(q.state.turns)...)
	default:
		want = append([]byte{laterTurn}, timeKey(due)...)
	}
	if bytes.Equal(now, want) {
		return nil
	}
	if err := q.dropTurn(o, priority); err != nil || want == nil {
		return err
	}
	o.turns[priority], o.dirty = want, true
	return q.put(jobIndex, q.turnKey(o, priority), nil)
}

func (q *jobQueue) turnKey(o *jobOwner, priority int) []byte {
	return q.at(turnOf, []byte{byte(priority)}, o.turns[priority], o.hash)
}

func (q *jobQueue) dropTurn(o *jobOwner, priority int) error {
	if o.turns[priority] == nil {
		return nil
	}
	key := q.turnKey(o, priority)
	o.turns[priority], o.dirty = nil, true
	return q.delete(jobIndex, key)
}

// flush writes what was gathered.
func (q *jobQueue) flush() error {
	for _, mark := range q.touched {
		if err := q.retarget(mark.owner, mark.priority); err != nil {
			return err
		}
	}
	q.touched = nil
	for _, o := range q.owners {
		if !o.dirty {
			continue
		}
		o.dirty = false
		key := q.at(ownerOf, o.hash)
		var err error
		if o.count == 0 && o.inFlight == 0 {
			err = q.delete(jobIndex, key)
		} else {
			err = q.put(jobIndex, key, o.encode())
		}
		if err != nil {
			return err
		}
	}
	if q.woke {
		q.signal(q.name)
	}
	if !q.state.dirty {
		return nil
	}
	q.state.dirty = false
	return q.put(jobIndex, q.at(stateOf), q.state.encode())
}
