package records

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"purser/store"
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
