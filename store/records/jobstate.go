package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"purser/store"
	"purser/store/engine"
)

// What the index of jobs (jobqueue.go) keeps of a queue and of each owner in it, in one entry each.

// jobOwner is what the index knows of an owner of jobs in a queue.
type jobOwner struct {
	hash     []byte
	count    uint32
	inFlight uint32
	turns    [store.Priorities][]byte // where in the index each turn stands, behind priority: 0 turn, or 1 time; nil: nowhere
	full     [store.Priorities]bool   // has no turn because as many as may be are in flight

	dirty bool
}

// queueState is what the index knows of a queue.
type queueState struct {
	turns    uint64 // how many turns were given out
	picks    uint64 // how many jobs were claimed
	waiting  uint64
	inFlight uint64
	dead     uint64
	offset   time.Duration // what the clock was set back by, in all
	clock    time.Time     // the latest time that a claim has told of, in the queue's time

	dirty bool
}

func (o *jobOwner) encode() []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 64), o.count)
	out = binary.BigEndian.AppendUint32(out, o.inFlight)
	for p, turn := range o.turns {
		full := byte(0)
		if o.full[p] {
			full = 1
		}
		out = append(append(out, full, byte(len(turn))), turn...)
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
		if n := int(raw[1]); n > 0 {
			o.turns[p] = bytes.Clone(raw[2 : 2+n])
		}
		raw = raw[2+int(raw[1]):]
	}
}

func (s *queueState) encode() []byte {
	out := make([]byte, 0, 6*8+timeSize)
	for _, n := range []uint64{s.turns, s.picks, s.waiting, s.inFlight, s.dead, uint64(s.offset)} {
		out = binary.BigEndian.AppendUint64(out, n)
	}
	return append(out, timeKey(s.clock)...)
}

func (s *queueState) decode(raw []byte) error {
	if raw == nil {
		return nil
	}
	if len(raw) != 6*8+timeSize {
		return fmt.Errorf("state of a queue: %w", store.ErrDamaged)
	}
	for i, n := range []*uint64{&s.turns, &s.picks, &s.waiting, &s.inFlight, &s.dead} {
		*n = binary.BigEndian.Uint64(raw[8*i:])
	}
	s.offset = time.Duration(binary.BigEndian.Uint64(raw[40:]))
	var err error
	s.clock, err = keyTime(raw[48:])
	return err
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

// recount makes a queue's state out of the entries that lead to its jobs. By what the clock was set back is lost: what
// was put for a time of then may wait longer by as much.
func (q *jobQueue) recount() queueState {
	s := queueState{dirty: true}
	for priority := range store.Priorities { // the last turn given out that somebody still has
		prefix := q.at(turnOf, []byte{byte(priority), readyTurn})
		last := engine.Prefix(prefix)
		last.Backward = true
		for key := range q.scan(jobIndex, last) {
			if len(key) == len(prefix)+8+hashSize {
				s.turns = max(s.turns, binary.BigEndian.Uint64(key[len(prefix):]))
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
