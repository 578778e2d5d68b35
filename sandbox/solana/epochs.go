package solana

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Epochs: how long they are, where they begin, and what their first block does. A block whose epoch is not that of the
// block before it is a boundary. It writes down what the ended epoch had at stake (the StakeHistory sysvar), from which
// every stake's warm-up and cooldown follow, and begins to pay the rewards (rewards.go).

// SlotsPerEpoch is the length of an epoch on the public clusters, and of a Cluster unless Options say otherwise.
const SlotsPerEpoch = 432_000

// minSlotsPerEpoch is Agave's MINIMUM_SLOTS_PER_EPOCH; maxSlotsPerEpoch keeps sums of slots far within 64 bits.
const (
	minSlotsPerEpoch = 32
	maxSlotsPerEpoch = 1_000_000_000
)

// errEpochLength is the error for a length outside of these limits.
var errEpochLength = fmt.Errorf("solana sandbox: an epoch has %d to %d slots", minSlotsPerEpoch, maxSlotsPerEpoch)

// epochLength is the length of epochs, in slots, from one epoch on. Slot is the first slot of that epoch.
type epochLength struct {
	Epoch uint64 `json:"epoch"`
	Slot  uint64 `json:"slot"`
	Slots uint64 `json:"slots"`
}

// epochLengths are all lengths so far, and at most one for the epoch to come. The first begins at slot 0.
type epochLengths []epochLength

// of is the epoch of a slot.
func (l epochLengths) of(slot uint64) uint64 {
	e := l[0]
	for _, next := range l[1:] {
		if next.Slot <= slot {
			e = next
		}
	}
	return e.Epoch + (slot-e.Slot)/e.Slots
}

// in is the length that holds in an epoch.
func (l epochLengths) in(epoch uint64) epochLength {
	e := l[0]
	for _, next := range l[1:] {
		if next.Epoch <= epoch {
			e = next
		}
	}
	return e
}

// first is the first slot of an epoch.
func (l epochLengths) first(epoch uint64) uint64 {
	e := l.in(epoch)
	return e.Slot + (epoch-e.Epoch)*e.Slots
}

// firstBlock is the height of an epoch's first block. The first slot may have none.
func (l epochLengths) firstBlock(epoch uint64) uint64 {
	slot := l.first(epoch)
	height := heightAt(slot)
	if slotOf(height) < slot {
		height++
	}
	return height
}

// sysvar is the EpochSchedule sysvar's data for the length that holds in an epoch. A warm-up of epochs does not exist
// here, so that a later first epoch says that the length was changed.
func (e epochLength) sysvar() []byte {
	b := binary.LittleEndian.AppendUint64(nil, e.Slots)
	b = append(binary.LittleEndian.AppendUint64(b, e.Slots), 0)
	b = binary.LittleEndian.AppendUint64(b, e.Epoch)
	return binary.LittleEndian.AppendUint64(b, e.Slot)
}

// epochAt is the epoch of the block of that height.
func (c *Cluster) epochAt(height uint64) uint64 { return c.lengths.of(slotOf(height)) }

// setSlotsPerEpoch changes the length from the next epoch on. A change that still waits is replaced. Callers hold mu.
func (c *Cluster) setSlotsPerEpoch(slots uint64) error {
	if slots < minSlotsPerEpoch || slots > maxSlotsPerEpoch {
		return errEpochLength
	}
	next := c.epochAt(c.tip) + 1
	l := epochLength{Epoch: next, Slot: c.lengths.first(next), Slots: slots}
	c.changeLength(l)
	return c.write(record{EpochLength: &l})
}

// changeLength adds a length in place of those that begin no earlier. It does not write the journal; replay calls it
// too.
func (c *Cluster) changeLength(l epochLength) {
	kept := c.lengths[:0:0]
	for _, e := range c.lengths {
		if e.Epoch < l.Epoch {
			kept = append(kept, e)
		}
	}
	c.lengths = append(kept, l)
}

// SetSlotsPerEpoch changes the length of epochs from the next epoch on. NextEpoch gets there at once. It fails for
// less than 32 and more than 1,000,000,000 slots.
func (c *Cluster) SetSlotsPerEpoch(n uint64) error {
	return c.turn(func() error { return c.setSlotsPerEpoch(n) })
}

// NextEpoch makes the first block of the next epoch, as if all slots until then had passed, and returns that epoch. A
// waiting transaction lands in the first block that accepts it. Blockhashes expire as they do with time. With a
// SlotTime the clock continues from there. The stakes are paid their rewards in the blocks after it.
func (c *Cluster) NextEpoch() (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, errClosed
	}
	c.catchUp()
	return c.warp()
}

// warp is NextEpoch without the lock. Callers hold mu and have called catchUp.
func (c *Cluster) warp() (uint64, error) {
	next := c.epochAt(c.tip) + 1
	height := c.lengths.firstBlock(next)
	if height > maxHeight {
		return 0, errors.New("solana sandbox: no further epoch fits into the slots")
	}
	return next, c.advance(height)
}

// maxHeight ends warping long before slots overflow.
const maxHeight = 1 << 60

// nextEvent is the height of the first block above the tip that changes accounts by itself. It is one more than upTo if
// there is none until then. After a pause of more epochs than the stake history holds, the older ones are passed over: nothing
// can be read of them any more.
func (c *Cluster) nextEvent(upTo uint64) uint64 {
	if c.tip < upTo && c.paying(c.tip+1) != nil {
		return c.tip + 1
	}
	next := c.epochAt(c.tip) + 1
	if last := c.epochAt(upTo); last > next+maxHistoryEpochs {
		next = last - maxHistoryEpochs
	}
	return min(c.lengths.firstBlock(next), upTo+1)
}

// boundary is what the first block of an epoch does before its transactions. The journal keeps it with its numbers, so
// that a later version of this code replays the same chain.
type boundary struct {
	Height uint64     `json:"height"`
	Ended  uint64     `json:"ended"`  // the epoch before
	Staked activation `json:"staked"` // what all stakes together were in that epoch
	Payout *payout    `json:"payout,omitempty"`

	commissions map[address]uint16 // of all vote accounts when the new epoch begins, in basis points
}

// begins says whether the block of that height is the first one of an epoch. The block at height 0 is not: nothing
// ended before it.
func (c *Cluster) begins(height uint64) bool {
	return height > 0 && c.epochAt(height) != c.epochAt(height-1)
}

// newBoundary works out what the first block of an epoch does. It changes nothing. Callers hold mu.
func (c *Cluster) newBoundary(height uint64) *boundary {
	b := &boundary{Height: height, Ended: c.epochAt(height - 1)}
	history := historyIn(c.state.at(historySysvar, height-1).Data, b.Ended)
	for key := range c.state {
		if s, ok := c.delegated(key, height-1); ok {
			now := s.at(b.Ended, history)
			b.Staked.Effective += now.Effective
			b.Staked.Activating += now.Activating
			b.Staked.Deactivating += now.Deactivating
		}
	}
	b.Payout = c.newPayout(b)
	return b
}

// delegated reads the delegation of a stake account as of a height. It is false for every other account.
func (c *Cluster) delegated(key address, height uint64) (s stakeState, ok bool) {
	a := c.state.at(key, height)
	if a.Owner != stakeProgram || !a.exists() {
		return s, false
	}
	s, ok = readStake(a.Data)
	return s, ok && s.Kind == stakeDelegated
}

// cross does what the boundary says. Open calls it too when it replays the journal.
func (c *Cluster) cross(b *boundary) {
	final := c.heightOf(finalized)
	history := c.state.at(historySysvar, b.Height)
	history.Data = remembered(history.Data, b.Ended, b.Staked)
	c.state.set(historySysvar, b.Height, history, final)
	c.raiseCommissions(b, final)
	if length := c.lengths.in(c.epochAt(b.Height)); length.Epoch > b.Ended {
		schedule := c.state.at(scheduleSysvar, b.Height)
		schedule.Data = length.sysvar()
		c.state.set(scheduleSysvar, b.Height, schedule, final)
	}
	b.commissions = map[address]uint16{}
	for key := range c.state {
		if a := c.state.at(key, b.Height); a.Owner == voteProgram {
			if v, ok := readVote(key, a.Data); ok {
				b.commissions[key] = v.InflationCommission
			}
		}
	}
	if b.Payout != nil { // absent in journals from before there were rewards
		c.payCommissions(b, final)
	}
	c.boundaries = append(c.boundaries, b)
}

// remembered puts an epoch in front of the StakeHistory sysvar's data, and drops what is too old.
func remembered(data []byte, epoch uint64, staked activation) []byte {
	old := data[min(8, len(data)):]
	old = old[:min(len(old), (maxHistoryEpochs-1)*historyEntry)]
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(old)/historyEntry)+1)
	for _, n := range []uint64{epoch, staked.Effective, staked.Activating, staked.Deactivating} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return append(b, old...)
}
