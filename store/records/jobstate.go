package records

import (
	"encoding/binary"
	"fmt"
	"time"

	"purser/store"
	"purser/store/engine"
)

// What the index of jobs (jobqueue.go) keeps of a queue and of each owner in it, in one entry each.

// jobOwner is what the index knows of an owner of jobs in a queue.
type jobOwner struct {
	hash     [hashSize]byte
	count    uint32
	inFlight uint32
	turns    [store.Priorities]turn // where they stand
	full     [store.Priorities]bool // has no turn because as many as may be are in flight

	open  bool // it was read
	dirty bool
}

// turn is where an owner stands among the turns of a priority, as it lies in the index: readyTurn and a number, or
// laterTurn and a time. The zero turn is nowhere.
type turn struct {
	at   [1 + timeSize]byte
	size uint8
}

const (
	readyTurn byte = 0
	laterTurn byte = 1
)

func ready(number uint64) turn {
	t := turn{size: 9}
	binary.BigEndian.PutUint64(t.at[1:], number)
	return t
}

func later(due time.Time) turn {
	t := turn{size: 1 + timeSize}
	t.at[0] = laterTurn
	appendTime(t.at[1:1], due)
	return t
}

// readTurn reads a turn as it lies; what is no turn is nowhere.
func readTurn(raw []byte) (t turn) {
	if len(raw) == 9 && raw[0] == readyTurn || len(raw) == 1+timeSize && raw[0] == laterTurn {
		t.size = uint8(copy(t.at[:], raw))
	}
	return t
}

func (t turn) isReady() bool { return t.size > 0 && t.at[0] == readyTurn }

// queueState is what the index knows of a queue.
type queueState struct {
	turns    uint64 // how many turns were given out
	picks    uint64 // how many jobs were claimed
	waiting  uint64
	inFlight uint64
	dead     uint64
	clock    time.Time   // the latest time that a claim has told of, in the queue's time
	nodes    []nodeClock // of those that claim; see setClock

	dirty bool
}

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

// decode reads what encode wrote. What is damaged is a new owner: counts are of use, and none of them money.
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

// stateSize is how long what is known of a queue is before its nodes.
const stateSize = 5*8 + timeSize

func (s *queueState) encode() []byte {
	out := make([]byte, 0, stateSize+len(s.nodes)*64)
	for _, n := range []uint64{s.turns, s.picks, s.waiting, s.inFlight, s.dead} {
		out = binary.BigEndian.AppendUint64(out, n)
	}
	out = appendTime(out, s.clock)
	for _, n := range s.nodes {
		out = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16(out, uint16(len(n.node))), uint64(n.offset))
		out = append(appendTime(out, n.seen), n.node...)
	}
	return out
}

func (s *queueState) decode(raw []byte) (err error) {
	if raw == nil {
		return nil
	}
	bad := fmt.Errorf("state of a queue: %w", store.ErrDamaged)
	if len(raw) < stateSize {
		return bad
	}
	for i, n := range []*uint64{&s.turns, &s.picks, &s.waiting, &s.inFlight, &s.dead} {
		*n = binary.BigEndian.Uint64(raw[8*i:])
	}
	if s.clock, err = keyTime(raw[stateSize-timeSize:]); err != nil {
		return err
	}
	const head = 2 + 8 + timeSize
	for raw = raw[stateSize:]; len(raw) > 0; {
		if len(raw) < head {
			return bad
		}
		size := head + int(binary.BigEndian.Uint16(raw))
		if len(raw) < size {
			return bad
		}
		n := nodeClock{offset: time.Duration(binary.BigEndian.Uint64(raw[2:])), node: string(raw[head:size])}
		if n.seen, err = keyTime(raw[10:]); err != nil {
			return err
		}
		s.nodes, raw = append(s.nodes, n), raw[size:]
	}
	return nil
}

// readState reads the queue's entry. A damaged one stops nothing: what it said is counted again from the index, the
// operator hears of it once, and the next call that changes the queue writes it anew.
func (q *jobQueue) readState() {
	key := q.at(stateOf)
	if q.state.decode(q.get(jobIndex, key)) == nil {
		return
	}
	if q.store.damageReports.first(jobIndex.String(), key) {
		q.store.log.Error("what the store noted of a queue is damaged and is counted again from its jobs; no job is lost by it",
			"table", jobIndex.String(), "queue", string(q.name))
	}
	q.state = q.recount()
}

// recount makes a queue's state out of the entries that lead to its jobs. By what clocks were set back is lost: what
// was put for a time of then may wait longer by as much.
func (q *jobQueue) recount() queueState {
	s := queueState{dirty: true}
	for priority := range store.Priorities { // the last turn given out that somebody still has
		last := engine.Prefix(q.at(turnOf, []byte{byte(priority), readyTurn}))
		last.Backward = true
		for key := range q.scan(jobIndex, last) {
			if len(key) == len(last.From)+8+hashSize {
				s.turns = max(s.turns, binary.BigEndian.Uint64(key[len(last.From):]))
				break
			}
		}
	}
	lines := q.at(lineOfKey)
	for key := range q.scan(jobIndex, engine.Prefix(lines)) {
		if len(key) == len(lines)+hashSize+9 && key[len(lines)+hashSize] > 0 { // class 0 is in flight, and counted among the leases
			s.waiting++
		}
	}
	for _, line := range q.scan(jobIndex, engine.Prefix(q.at(headOf))) {
		if len(line) == 0 { // one without a key; the others were counted above
			s.waiting++
		}
	}
	for range q.scan(jobIndex, engine.Prefix(q.at(leaseOf))) {
		s.inFlight++
	}
	for range q.scan(deadJobs, engine.Prefix(q.prefix)) {
		s.dead++
	}
	return s
}
