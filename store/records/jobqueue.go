package records

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"purser/store"
	"purser/store/engine"
)

// How jobs lie. Rows and all entries that lead to them are in the table jobs, so that a commit walks and writes one tree.
// Some words first:
//
//   - the line of an ordering key is its jobs in the order of handling
//   - the head of a line is the only job of it that may be claimed. A line with a job in flight has no head. A job without
//     an ordering key is a head while it waits
//   - a turn is the place of an owner in the queue of owners who have a head. There is one for each priority. If the
//     owner's first head has a time, the turn is an alarm for that time
//   - a lease is the claim of a node on a job, until a time
//
// Keys begin with the queue and a zero byte, then one byte that says what they are:
//
//	'd' H(id)                          -> number, of dead letters
//	'h' H(owner) priority due number   -> H(key): heads, and jobs without a key. due is 12 zero bytes for at once.
//	'i' H(id)                          -> number, of jobs whose ID the caller chose (hashID)
//	'k' H(key) class number            -> numbers: the jobs of a key, in runs (jobline.go). Class 0 is in flight, else
//	                                      1 + priority. The first of a key is the one in flight, or else its head: the
//	                                      only one that may be claimed.
//	'k' H(owner) 255                   -> jobOwner
//	'r' number                         -> row of the job
//	's'                                -> queueState
//	't' priority 0 turn H(owner)       -> -: owners with a head that may be claimed, in the order of their turns
//	't' priority 1 time H(owner)       -> -: owners whose first head is due at a time
//	'u' end number                     -> H(owner) H(key) node: leases, until when
//
// An owner has at most one turn for each priority, whatever waits behind it. So a claim reads the owners whose turn it is
// and one job of each. Neither 100,000 jobs of one owner nor 100,000 of one key make it slower.
//
// Each page that a commit changes costs more than the entries on it. So a job has as few entries as possible, and what
// changes together lies together. The newest row is next to the state of its queue, the turns and the leases. The entry of
// an owner follows the jobs of the key of the same name, since most keys are the name of their owner. A job that waits
// behind others of its key has its row, its place in a run of 'k', and an entry in 'i' if the caller chose its ID. A job that was
// leased as it was put has its lease too, and never had a head. A job of the queue Events has its row alone until the next
// claim (jobnew.go).

// hashSize is how many bytes of a keyed hash stand in the index of jobs. 16 bytes are enough: no two of 2^60 names in
// a queue are expected to share a hash.
const hashSize = 16

// What a key of jobs is, in the byte behind its queue: see the table above.
const (
	deadIDOf  = 'd'
	headOf    = 'h'
	idOf      = 'i'
	lineOfKey = 'k'
	rowOf     = 'r'
	stateOf   = 's'
	turnOf    = 't'
	leaseOf   = 'u'
)

// ownerMark stands where a job of a key has its class: the entry of the owner of that name lies behind these jobs.
const ownerMark = 255

// storedJob is a job as it lies in the table jobs. To change a job, copy it, change the copy, and hand both to move,
// which compares them. Neither is changed afterwards.
type storedJob struct {
	jobRow
	seq   uint64 // its number: the order in which jobs were put, and the last 8 bytes of its key
	raw   row    // as it was read; its sealed field stays as it is when the plain part changes
	whole []byte // the row without its tag, if this call has just sealed it; nil: the sealed field is in raw
}

// jobQueue is one queue within one transaction of the engine. It is opened once: all verbs, and all Updates that
// share a commit, share what they have read and counted. One goroutine at a time uses it (the one whose closure
// runs).
//
// Every change of a job goes through move. Three things are written at three times:
//
//   - rows and index entries of jobs: at once, by move
//   - turns of owners: at the end of each verb, by settle, since one verb may change several heads of an owner
//   - counters of the queue and of its owners: once, before the commit, by write
//
// An Update that fails leaves none of it: the engine rolls back, and the other Updates of the commit run again.
type jobQueue struct {
	*tx
	name    store.Queue
	prefix  []byte                       // the name and a zero byte: begins the queue's keys in jobs and deadJobs
	state   queueState                   // write puts it if it is dirty
	one     jobOwner                     // the first owner read; most transactions read no other, and then need no map
	owners  map[[hashSize]byte]*jobOwner // the owners read after it, by hash
	touched []touchedTurn                // owners whose heads changed since the last settle
	woke    bool                         // something became claimable, or a wait changed: settle has workers signalled

	changed bool         // this Update changed state or an owner
	unsaved bool         // state differs from what is stored
	dirty   []*jobOwner  // owners that differ from what is stored
	early   [2]*jobOwner // memory for the first of them

	names    [40]byte // memory of prefix, so that a queue allocates nothing for it
	buf      [96]byte // memory of the last key: see key
	hashed   string   // the last name that was hashed
	hashedAs []byte   // its hash

	awakeJob store.JobID // a job that is in flight or may be claimed at once: see awake. "" after each change of the queue
}

// touchedTurn is an owner whose heads of one priority changed, so that their turn may have to change too.
type touchedTurn struct {
	owner    *jobOwner
	priority int
}

// jobQueue opens a queue, or returns it if this transaction has opened it. It reads the queue's state. The only error
// is that of a name that cannot be part of a key.
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

// key begins a key of jobs in a buffer of the queue, which the next call overwrites. A key that is needed longer
// comes from at.
func (q *jobQueue) key(what byte) []byte { return append(append(q.buf[:0], q.prefix...), what) }

// at makes a key of jobs in memory of its own, so it may be kept.
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

// rowKeyRest is how many bytes of the key of a row stand behind the prefix of its queue.
const rowKeyRest = 1 + 8

// queueOfRow returns the queue of a row's key. ok is false for a key that cannot be one.
func queueOfRow(key []byte) (queue store.Queue, ok bool) {
	name := len(key) - rowKeyRest - 1 // a zero byte ends the name
	if name < 1 {
		return "", false
	}
	return store.Queue(key[:name]), true
}

// rowKey is the key of a job in the table jobs, and of its dead letter in deadJobs. It ends in the job's number.
func (q *jobQueue) rowKey(seq uint64) []byte {
	return binary.BigEndian.AppendUint64(append(append(make([]byte, 0, len(q.prefix)+rowKeyRest), q.prefix...), rowOf), seq)
}

// hash returns the keyed hash of an ordering key or an owner in this queue, nil for "". Two queues hash the same name
// differently. The last hash is remembered, because key and owner of a job are often the same name.
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

// hashID returns the keyed hash of a job's ID. It differs from the hash of an equal key or owner. If the ID is that
// of a transaction or of its event, the time digits in it replace the first 9 bytes: entries of jobs that are put at
// about the same time then lie on the same pages. The other 7 bytes distinguish the jobs of one millisecond.
func (q *jobQueue) hashID(id store.JobID) []byte {
	hash := q.store.lookup.Text(store.ByJob, string(q.name), "id", string(id))
	if at, ok := transactionTime(string(id)); ok {
		copy(hash[:], at)
	}
	return bytes.Clone(hash[:hashSize])
}

// nobody stands in a key of the index where a job has no owner or no ordering key. Its first 12 bytes stand for the
// time "at once".
var nobody [hashSize]byte

// ownerHash returns the hash as it stands in keys of the index: nobody where there is none.
func ownerHash(hash []byte) []byte {
	if hash == nil {
		return nobody[:]
	}
	return hash
}

// idKey is the entry that leads from an ID to a job.
func (q *jobQueue) idKey(name []byte) []byte { return append(q.key(idOf), name...) }

// headKey is the entry of a job that may be claimed as soon as it is due. Jobs that may go at once sort before those
// with a time.
func (q *jobQueue) headKey(j *storedJob) []byte {
	key := append(append(q.key(headOf), ownerHash(j.Owner)...), byte(j.Priority))
	if j.Due.IsZero() {
		key = append(key, nobody[:timeSize]...)
	} else {
		key = appendTime(key, j.Due)
	}
	return binary.BigEndian.AppendUint64(key, j.seq)
}

// leaseKey is the entry of a lease. Leases sort by their end.
func (q *jobQueue) leaseKey(j *storedJob) []byte {
	return binary.BigEndian.AppendUint64(appendTime(q.key(leaseOf), j.End), j.seq)
}

// ownerKey is the entry with the counts and turns of an owner.
func (q *jobQueue) ownerKey(o *jobOwner) []byte {
	return append(append(q.key(lineOfKey), o.hash[:]...), ownerMark)
}

// owner reads what is known of an owner, by the hash of their name. Each owner is read once in a transaction: all
// callers change the same value, and write stores it.
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
	if raw := q.get(jobs, q.ownerKey(o)); raw != nil {
		o.decode(raw)
	}
	return o
}

// firstJob is the first entry of an ordering key: the job in flight, or else the head. The zero value says that no job
// has that key.
type firstJob struct {
	class byte // 0: in flight; else 1 + priority
	seq   uint64
	found bool
}

// isHead tells whether the first job of the key waits. Only then may it be claimed.
func (f firstJob) isHead() bool { return f.found && f.class > 0 }

// firstOfLine returns the first entry of an ordering key, by its hash. A nil hash has none.
func (q *jobQueue) firstOfLine(line []byte) firstJob {
	if line == nil {
		return firstJob{}
	}
	prefix := append(q.key(lineOfKey), line...)
	key, _ := q.firstUnder(jobs, prefix)
	// No entry, or a damaged one.
	if len(key) != len(prefix)+9 {
		return firstJob{}
	}
	rest := key[len(prefix):]
	return firstJob{rest[0], binary.BigEndian.Uint64(rest[1:]), true}
}

// read returns the plain part of a job, copied, so that it outlives the next write. ErrNotFound: there is no row.
// ErrDamaged: the row is not what was written.
func (q *jobQueue) read(seq uint64) (*storedJob, error) {
	key := q.rowKey(seq)
	raw := q.get(jobs, key)
	if raw == nil {
		return nil, store.ErrNotFound
	}
	return q.readRow(jobs, key, bytes.Clone(raw)) // it outlives the next write
}

// readRow returns the plain part of a job or a dead letter. The result points into raw.
func (q *jobQueue) readRow(b table, key, raw []byte) (*storedJob, error) {
	r, err := q.row(b, key, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b, err)
	}
	j := &storedJob{seq: binary.BigEndian.Uint64(key[len(key)-8:]), raw: r}
	return j, j.jobRow.read(r.plain)
}

// rewriteJob puts a job's row with its current plain part. The sealed part is copied as it is, so that a lease or a
// retry encrypts nothing.
func (q *jobQueue) rewriteJob(b table, j *storedJob) error {
	if j.whole != nil {
		return q.putRow(b, q.rowKey(j.seq), j.whole)
	}
	var plain [192]byte
	r := j.raw
	r.plain = j.jobRow.append(plain[:0])
	return q.putRow(b, q.rowKey(j.seq), r.encode())
}

// settle is the end of each verb: it gives turns to the owners whose heads changed, and signals the queue's workers
// after the commit if something became claimable.
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

// settleJobs settles all queues that this transaction has opened.
func (t *tx) settleJobs() error {
	for _, q := range t.queues {
		if err := q.settle(); err != nil {
			return err
		}
	}
	return nil
}

// takeQueues takes over the queues that earlier Updates of the same commit have opened, with all that they counted.
func (t *tx) takeQueues() {
	t.queues, _ = t.in.Shared().Value.([]*jobQueue)
	for _, q := range t.queues {
		q.tx = t
	}
}

// leaveQueues leaves the open queues to the next Update of the commit, or to write. It reports to the engine
// (Changed) whether this Update changed one of them: if it did and fails, the engine rolls back the whole
// transaction, and the others begin again without it.
func (t *tx) leaveQueues() {
	for _, q := range t.queues {
		if q.changed || q.state.dirty {
			t.in.Changed()
		}
		q.changed, q.unsaved, q.state.dirty = false, q.unsaved || q.state.dirty, false
	}
	if shared := t.in.Shared(); len(t.queues) > 0 {
		shared.Value, shared.Flush = t.queues, t.store.writeJobs
	}
}

// writeJobs writes the counters of all open queues. The engine calls it once before each commit (Shared.Flush).
func (s *Store) writeJobs(in engine.Tx) error {
	t := &tx{in: in, store: s}
	t.takeQueues()
	for _, q := range t.queues {
		if err := q.write(); err != nil {
			return err
		}
	}
	return nil
}

// changes notes that an owner differs from what is stored, so that write stores it.
func (q *jobQueue) changes(o *jobOwner) {
	q.changed = true
	if o.dirty {
		return
	}
	if q.dirty == nil {
		q.dirty = q.early[:0]
	}
	o.dirty, q.dirty = true, append(q.dirty, o)
}

// write puts the counters that changed: of the owners, then of the queue.
func (q *jobQueue) write() error {
	for _, o := range q.dirty {
		if err := q.writeOwner(o); err != nil {
			return err
		}
	}
	if !q.unsaved {
		return nil
	}
	return q.put(jobs, q.key(stateOf), q.state.encode())
}

// writeOwner puts what is known of an owner. An owner without jobs has no entry.
func (q *jobQueue) writeOwner(o *jobOwner) error {
	if o.count == 0 && o.inFlight == 0 {
		return q.delete(jobs, q.ownerKey(o))
	}
	return q.put(jobs, q.ownerKey(o), o.encode())
}
