package records

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"purser/store"
	"purser/store/engine"
)

// The index of jobs (jobqueue.go) has one entry with the state of each queue, and one for each owner in it.

// jobOwner is what the index knows of an owner of jobs in a queue: one entry, under the key of kind 'k' with
// ownerMark. It has nothing to do with money. After damage its counts are a little wrong, and no job is lost.
type jobOwner struct {
	hash     [hashSize]byte         // of the owner; nobody for jobs without one
	count    uint32                 // jobs of the owner, waiting and in flight
	inFlight uint32                 // those in flight; compared with Claim.PerOwner
	turns    [store.Priorities]turn // the owner's place among the turns of each priority
	full     [store.Priorities]bool // the priority has no turn because the owner is at Claim.PerOwner; landed restores it

	open  bool // the entry was read in this transaction
	dirty bool // the value is in jobQueue.dirty: write stores it
}

// turn is the place of an owner among the turns of a priority, in the bytes of the index key: readyTurn and a number
// of 8 bytes, or laterTurn and a time of 12. The zero turn is no place.
type turn struct {
	at   [1 + timeSize]byte
	size uint8
}

// A ready turn sorts before every later one.
const (
	readyTurn byte = 0
	laterTurn byte = 1
)

// ready is a place in the line. Numbers are drawn in rising order, so a new place is behind all others.
func ready(number uint64) turn {
	t := turn{size: 9}
	binary.BigEndian.PutUint64(t.at[1:], number)
	return t
}

// later is an alarm: a claim at or after due turns it into a ready turn (promoteDue).
func later(due time.Time) turn {
	t := turn{size: 1 + timeSize}
	t.at[0] = laterTurn
	appendTime(t.at[1:1], due)
	return t
}

// readTurn reads a turn. Damaged bytes are the zero turn.
func readTurn(raw []byte) (t turn) {
	if len(raw) == 9 && raw[0] == readyTurn || len(raw) == 1+timeSize && raw[0] == laterTurn {
		t.size = uint8(copy(t.at[:], raw))
	}
	return t
}

// isReady is false for an alarm and for the zero turn.
func (t turn) isReady() bool { return t.size > 0 && t.at[0] == readyTurn }

// queueState is what the index knows of a queue: its one entry of kind 's'. Every Update that puts, claims or ends a
// job changes it, in memory. It is written once for each commit (jobQueue.write).
type queueState struct {
	turns    uint64      // turns given out so far: the number of the last one
	picks    uint64      // jobs claimed so far: every 8th may be of a later priority
	waiting  uint64      // jobs without a lease
	inFlight uint64      // jobs with a lease
	dead     uint64      // dead letters that are kept
	fresh    uint64      // number of the first job that has no entries yet; 0: none (jobnew.go)
	clock    time.Time   // latest time of any claim, in the queue's time
	nodes    []nodeClock // clocks of the nodes that claim (setClock)

	dirty bool // this Update changed it
}

// encode writes both counts (4 bytes each), then for each priority one byte for full, one for the size of the turn,
// and the turn.
func (o *jobOwner) encode() []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 64), o.count)
	out = binary.BigEndian.AppendUint32(out, o.inFlight)
	for p := range o.turns {
		full, t := byte(0), &o.turns[p]
		if o.full[p] {
			full = 1
		}
		out = append(append(out, full, t.size), t.at[:t.size]...)
	}
	return out
}

// decode reads what encode wrote. If the entry is damaged, the fields from there on stay those of a new owner.
func (o *jobOwner) decode(raw []byte) {
	if len(raw) < 8 {
		return
	}
	o.count, o.inFlight = binary.BigEndian.Uint32(raw), binary.BigEndian.Uint32(raw[4:])
	raw = raw[8:]
	for p := range o.turns {
		if len(raw) < 2 || len(raw) < 2+int(raw[1]) {
			return
		}
		o.full[p] = raw[0] == 1
		o.turns[p] = readTurn(raw[2 : 2+int(raw[1])])
		raw = raw[2+int(raw[1]):]
	}
}

// stateSize is the length of the fixed part of a queue's state, in bytes: six numbers and the clock. Its nodes follow, and
// then the checksum.
const stateSize = 6*8 + timeSize

// sumSize is the length of the checksum that ends a queue's state, in bytes. Its fresh says which jobs no entry leads to, so a
// damaged bit of it could lose jobs. All bits are checked.
const sumSize = crc32.Size

// stateSum returns the checksum of a state's other bytes. It finds damage, not forgery: like all entries, it holds no secret.
func stateSum(raw []byte) uint32 { return crc32.Checksum(raw, crc32.MakeTable(crc32.Castagnoli)) }

// encode writes the fixed part, then for each node: length of the name (2 bytes), both offsets in nanoseconds (8
// bytes each), the last claim (12 bytes), the name. The checksum ends it.
func (s *queueState) encode() []byte {
	out := make([]byte, 0, stateSize+len(s.nodes)*72+sumSize)
	for _, n := range []uint64{s.turns, s.picks, s.waiting, s.inFlight, s.dead, s.fresh} {
		out = binary.BigEndian.AppendUint64(out, n)
	}
	out = appendTime(out, s.clock)
	for _, n := range s.nodes {
		out = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16(out, uint16(len(n.node))), uint64(n.offset))
		out = binary.BigEndian.AppendUint64(out, uint64(n.before))
		out = append(appendTime(out, n.seen), n.node...)
	}
	return binary.BigEndian.AppendUint32(out, stateSum(out))
}

// errState says that what is stored of a queue is not what encode wrote.
var errState = fmt.Errorf("state of a queue: %w", store.ErrDamaged)

// decode reads what encode wrote; nil is a new queue. On ErrDamaged readState counts again.
func (s *queueState) decode(raw []byte) (err error) {
	if raw == nil {
		return nil
	}
	end := len(raw) - sumSize
	if end < stateSize || binary.BigEndian.Uint32(raw[end:]) != stateSum(raw[:end]) {
		return errState
	}
	raw = raw[:end]
	for i, n := range []*uint64{&s.turns, &s.picks, &s.waiting, &s.inFlight, &s.dead, &s.fresh} {
		*n = binary.BigEndian.Uint64(raw[8*i:])
	}
	if s.clock, err = keyTime(raw[stateSize-timeSize:]); err != nil {
		return err
	}
	// The fixed part of each node: length of the name, two offsets, last claim.
	const head = 2 + 2*8 + timeSize
	for raw = raw[stateSize:]; len(raw) > 0; {
		if len(raw) < head {
			return errState
		}
		size := head + int(binary.BigEndian.Uint16(raw))
		if len(raw) < size {
			return errState
		}
		n := nodeClock{offset: time.Duration(binary.BigEndian.Uint64(raw[2:])), before: time.Duration(binary.BigEndian.Uint64(raw[10:])),
			node: string(raw[head:size])}
		if n.seen, err = keyTime(raw[18:]); err != nil {
			return err
		}
		s.nodes, raw = append(s.nodes, n), raw[size:]
	}
	return nil
}

// readState reads the queue's entry. A damaged one stops nothing: its numbers are counted again from the index, the
// operator's log reports it once, and the next change of the queue writes a good entry.
func (q *jobQueue) readState() {
	key := q.at(stateOf)
	if q.state.decode(q.get(jobs, key)) == nil {
		return
	}
	if q.store.damageReports.first(jobs.String(), key) {
		q.store.log.Error("what the store noted of a queue is damaged and is counted again from its jobs; no job is lost by it",
			"table", jobs.String(), "queue", string(q.name))
	}
	q.state = q.recount()
}

// recount makes a queue's state from the entries that lead to its jobs. It walks all of them, however many there are.
// The offsets of clocks are lost: if a clock was set back, a job with a time may wait longer by as much.
func (q *jobQueue) recount() queueState {
	s := queueState{dirty: true}
	for priority := range store.Priorities { // the last turn given out that somebody still has
		last := engine.Prefix(q.at(turnOf, []byte{byte(priority), readyTurn}))
		last.Backward = true
		for key := range q.scan(jobs, last) {
			if len(key) == len(last.From)+8+hashSize {
				s.turns = max(s.turns, binary.BigEndian.Uint64(key[len(last.From):]))
				break
			}
		}
	}
	// Jobs with a key.
	lines := q.at(lineOfKey)
	for key, value := range q.scan(jobs, engine.Prefix(lines)) {
		if len(key) == len(lines)+hashSize+9 && key[len(lines)+hashSize] > 0 { // class 0 is in flight, and counted among the leases
			s.waiting += uint64(len(decodeRun(binary.BigEndian.Uint64(key[len(key)-8:]), value)))
		}
	}
	// Jobs without a key, which have a head and no other entry.
	for _, line := range q.scan(jobs, engine.Prefix(q.at(headOf))) {
		if len(line) == 0 { // a job without a key; those with a key were counted above
			s.waiting++
		}
	}
	// Leases and dead letters have one entry each.
	for range q.scan(jobs, engine.Prefix(q.at(leaseOf))) {
		s.inFlight++
	}
	for range q.scan(deadJobs, engine.Prefix(q.prefix)) {
		s.dead++
	}
	q.recountFresh(&s)
	return s
}
