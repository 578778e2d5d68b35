package records

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"purser/store"
)

// How jobs lie. Rows are in the table jobs, under their queue and number; all that leads to them is in
// the table jobIndex, whose keys begin with one byte that says what they are, then the queue and a zero byte:
//
//	'i' H(id)                          -> number, of jobs whose ID was chosen by whoever put them
//	'k' H(key) class number            -> -: the jobs of a key. Class 0 is in flight, else 1 + priority. The first of a
//	                                      key is the one in flight, or else its head: the only one that may be claimed.
//	'h' H(owner) priority due number   -> H(key): heads, and jobs without a key. due is 12 zero bytes for at once.
//	't' priority 0 turn H(owner)       -> -: owners with a head that may be claimed, in the order of their turns
//	't' priority 1 time H(owner)       -> -: owners whose first head is due at a time
//	'l' end number                     -> H(owner) H(key) node: leases
//	'o' H(owner)                       -> jobOwner
//	'q'                                -> queueState
//	'd' H(id)                          -> number, of dead letters
//
// An owner has at most one entry among the turns for each priority, whatever waits behind it. So a claim reads the owners
// whose turn it is and one job of each, and neither 100,000 jobs of one owner nor 100,000 of one key cost it more.
//
// A job that waits behind others of its key has its row and its entry in 'k', and one that was handed over as it was put
// has these and its lease: each entry is a page that a commit may have to write, so there is none that a job can do without.
//
// Times in these keys are the queue's own: the clock of a node, and what it was ever set back by (queueState.nodes), so
// that nothing that waits for a time waits longer because a clock was set back.

// hashSize is how much of a keyed hash stands in the index of jobs.
const hashSize = 16

const (
	idOf      = 'i'
	lineOfKey = 'k'
	headOf    = 'h'
	turnOf    = 't'
	leaseOf   = 'l'
	ownerOf   = 'o'
	stateOf   = 'q'
	deadIDOf  = 'd'
)

// storedJob is a job as it lies in the table.
type storedJob struct {
	jobRow
	seq   uint64
	raw   row    // its sealed field stays as it is when the plain part changes
	whole []byte // its row without the tag, where it was sealed by this call; nil: raw has what is sealed
}

// jobQueue is one queue within a transaction. Every change goes through move. What leads to jobs is written at once,
// whose turn it is by settle at the end of each verb, and what is counted once, when the transaction ends (write).
type jobQueue struct {
	*tx
	name    store.Queue
	prefix  []byte
	state   queueState
	one     jobOwner                     // the first owner that is asked for, of most transactions the only one
	owners  map[[hashSize]byte]*jobOwner // the others
	touched []touchedTurn
	woke    bool // something may be claimable that was not

	names    [40]byte // room for prefix
	buf      [96]byte // see key
	hashed   string   // the name of which hashedAs is the hash
	hashedAs []byte
}

type touchedTurn struct {
	owner    *jobOwner
	priority int
}

// jobQueue opens a queue, once in a transaction.
func (t *tx) jobQueue(name store.Queue) (*jobQueue, error) {
	for _, q := range t.queues {
		if q.name == name {
			return q, nil
		}
	}
	if err := checkID(string(name)); err != nil {
		return nil, err
	}
	q := &jobQueue{tx: t, name: name}
	q.prefix = append(append(q.names[:0], name...), 0)
	q.readState()
	if t.queues == nil {
		t.queues = t.few[:0]
	}
	t.queues = append(t.queues, q)
	return q, nil
}

// key begins a key of the index. It is overwritten by the next one: whoever keeps it copies it (at).
func (q *jobQueue) key(what byte) []byte { return append(append(q.buf[:0], what), q.prefix...) }

// at is a key of the index that may be kept.
func (q *jobQueue) at(what byte, parts ...[]byte) []byte {
	size := len(q.prefix) + 1
	for _, part := range parts {
		size += len(part)
	}
	out := append(append(make([]byte, 0, size), what), q.prefix...)
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

func (q *jobQueue) rowKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, len(q.prefix)+8), q.prefix...), seq)
}

// hash is a keyed hash of a key or an owner in this queue, nil of none. The two are often the same: it is made once.
func (q *jobQueue) hash(name string) []byte {
	if name == "" {
		return nil
	}
	if q.hashed != name {
		hash := q.store.lookup.Text(store.ByJob, string(q.name), "name", name)
		q.hashed, q.hashedAs = name, bytes.Clone(hash[:hashSize])
	}
	return q.hashedAs
}

// hashID is a keyed hash of a job's ID.
func (q *jobQueue) hashID(id store.JobID) []byte {
	hash := q.store.lookup.Text(store.ByJob, string(q.name), "id", string(id))
	return bytes.Clone(hash[:hashSize])
}

// nobody fills the place of an owner or a key in a key of the index where there is none, and a time at once.
var nobody [hashSize]byte

func ownerHash(hash []byte) []byte {
	if hash == nil {
		return nobody[:]
	}
	return hash
}

func (q *jobQueue) idKey(name []byte) []byte { return append(q.key(idOf), name...) }

func (q *jobQueue) lineKey(line []byte, class byte, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append(q.key(lineOfKey), line...), class), seq)
}

func (q *jobQueue) headKey(j *storedJob) []byte {
	key := append(append(q.key(headOf), ownerHash(j.Owner)...), byte(j.Priority))
	if j.Due.IsZero() {
		key = append(key, nobody[:timeSize]...)
	} else {
		key = appendTime(key, j.Due)
	}
	return binary.BigEndian.AppendUint64(key, j.seq)
}

func (q *jobQueue) leaseKey(j *storedJob) []byte {
	return binary.BigEndian.AppendUint64(appendTime(q.key(leaseOf), j.End), j.seq)
}

func (q *jobQueue) ownerKey(o *jobOwner) []byte { return append(q.key(ownerOf), o.hash[:]...) }

// owner reads what is known of an owner, by the hash of their name.
func (q *jobQueue) owner(hash []byte) *jobOwner {
	name := [hashSize]byte(ownerHash(hash))
	if q.one.open && q.one.hash == name {
		return &q.one
	}
	if o := q.owners[name]; o != nil {
		return o
	}
	o := &q.one
	if o.open {
		if q.owners == nil {
			q.owners = map[[hashSize]byte]*jobOwner{}
		}
		o = &jobOwner{}
		q.owners[name] = o
	}
	o.hash, o.open = name, true
	if raw := q.get(jobIndex, q.ownerKey(o)); raw != nil {
		o.decode(raw)
	}
	return o
}

// firstJob is the first entry of a key, if one was found.
type firstJob struct {
	class byte // 0: it is in flight
	seq   uint64
	found bool
}

// isHead tells whether it may be claimed.
func (f firstJob) isHead() bool { return f.found && f.class > 0 }

// firstOfLine is the first entry of a key.
func (q *jobQueue) firstOfLine(line []byte) firstJob {
	if line == nil {
		return firstJob{}
	}
	prefix := append(q.key(lineOfKey), line...)
	key, _ := q.firstUnder(jobIndex, prefix)
	if len(key) != len(prefix)+9 {
		return firstJob{}
	}
	rest := key[len(prefix):]
	return firstJob{rest[0], binary.BigEndian.Uint64(rest[1:]), true}
}

// read reads the plain part of a job: ErrNotFound without one, store.ErrDamaged for one that is not what was written.
func (q *jobQueue) read(seq uint64) (*storedJob, error) {
	key := q.rowKey(seq)
	raw := q.get(jobs, key)
	if raw == nil {
		return nil, store.ErrNotFound
	}
	return q.readRow(jobs, key, bytes.Clone(raw)) // it outlives the next write
}

// readRow reads the plain part of a job or a dead letter.
func (q *jobQueue) readRow(b table, key, raw []byte) (*storedJob, error) {
	r, err := q.row(b, key, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	j := &storedJob{seq: binary.BigEndian.Uint64(key[len(key)-8:]), raw: r}
	return j, j.jobRow.read(r.plain)
}

// rewriteJob puts a job's row with its plain part as it is now.
func (q *jobQueue) rewriteJob(b table, j *storedJob) error {
	if j.whole != nil {
		return q.putRow(b, q.rowKey(j.seq), j.whole)
	}
	var plain [192]byte
	r := j.raw
	r.plain = j.jobRow.append(plain[:0])
	return q.putRow(b, q.rowKey(j.seq), r.encode())
}

// settle gives turns to those whose heads changed, and has workers woken: the end of each verb.
func (q *jobQueue) settle() error {
	for _, mark := range q.touched {
		if err := q.retarget(mark.owner, mark.priority); err != nil {
			return err
		}
	}
	q.touched = q.touched[:0]
	if q.woke {
		q.signal(q.name)
	}
	q.woke = false
	return nil
}

// settleJobs is settle for all queues that are open.
func (t *tx) settleJobs() error {
	for _, q := range t.queues {
		if err := q.settle(); err != nil {
			return err
		}
	}
	return nil
}

// writeJobs writes what was counted of queues and owners: the end of an Update.
func (t *tx) writeJobs() error {
	for _, q := range t.queues {
		if err := q.write(); err != nil {
			return err
		}
	}
	return nil
}

func (q *jobQueue) write() error {
	if err := q.writeOwner(&q.one); err != nil {
		return err
	}
	for _, o := range q.owners {
		if err := q.writeOwner(o); err != nil {
			return err
		}
	}
	if !q.state.dirty {
		return nil
	}
	q.state.dirty = false
	return q.put(jobIndex, q.key(stateOf), q.state.encode())
}

func (q *jobQueue) writeOwner(o *jobOwner) error {
	if !o.dirty {
		return nil
	}
	o.dirty = false
	if o.count == 0 && o.inFlight == 0 {
		return q.delete(jobIndex, q.ownerKey(o))
	}
	return q.put(jobIndex, q.ownerKey(o), o.encode())
}
