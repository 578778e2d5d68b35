package solana

import (
	"errors"
	"fmt"
	"time"
)

// What a test may change while the cluster runs: the length of a slot, the rent, how soon a block is final, and what
// knobs_stake.go and epochs.go add. Go programs call the methods, others call sandbox_set over JSON-RPC.

// rentChange is a new rent, in lamports per byte, from the block of that height on.
type rentChange struct {
	Height  uint64   `json:"height"`
	PerByte rentRate `json:"lamports_per_byte"`
}

// errRent is the error for a rent beyond maxLamportsPerByte.
var errRent = fmt.Errorf("solana sandbox: rent is at most %d lamports a byte", maxLamportsPerByte)

// rentAt is the rent in the block of that height. Callers hold mu.
func (c *Cluster) rentAt(height uint64) rentRate {
	for i := len(c.rents) - 1; i > 0; i-- {
		if c.rents[i].Height <= height {
			return c.rents[i].PerByte
		}
	}
	return c.rents[0].PerByte
}

// changeRent applies a change and updates the Rent sysvar. It does not write the journal; replay calls it too.
func (c *Cluster) changeRent(r rentChange) {
	c.rents = append(c.rents, r)
	c.state.set(rentSysvar, r.Height, r.PerByte.sysvar(), c.heightOf(finalized))
}

// setRent changes the rent from the next block on and writes the journal. Callers hold mu.
func (c *Cluster) setRent(perByte uint64) error {
	if perByte == 0 || perByte > maxLamportsPerByte {
		return errRent
	}
	r := rentChange{Height: c.tip + 1, PerByte: rentRate(perByte)}
	c.changeRent(r)
	return c.write(record{Rent: &r})
}

// SetLamportsPerByte changes the rent from the next block on. Accounts below a higher minimum stay, but their balance
// may not fall. It fails for 0 and for more than maxLamportsPerByte.
func (c *Cluster) SetLamportsPerByte(n uint64) error {
	return c.turn(func() error { return c.setRent(n) })
}

// SetSlotTime changes the length of a slot from now on. With 0 only Advance makes blocks. It fails below one
// millisecond.
func (c *Cluster) SetSlotTime(d time.Duration) error {
	return c.turn(func() error { return c.setSlotTime(d) })
}

// setSlotTime starts a new pace at the newest block. Callers hold mu and have called catchUp.
func (c *Cluster) setSlotTime(d time.Duration) error {
	if d < 0 || d > 0 && d < time.Millisecond {
		return errors.New("solana sandbox: a slot lasts at least a millisecond, or 0 to stop the clock")
	}
	p := pace{Slot: slotOf(c.tip), At: c.now(), SlotTime: d}
	c.paces = append(c.paces, p)
	select {
	case c.paced <- struct{}{}:
	default: // a wake-up is pending already
	}
	return c.write(record{Pace: &p})
}

// SetFinality sets how many further blocks it takes until a block is confirmed and finalized. With 0 and 0 a block is
// final as soon as it is seen, as with Alpenglow: a status goes from null to finalized. Blocks that were confirmed or
// finalized before stay so. The setting is not kept over a restart.
func (c *Cluster) SetFinality(confirmed, finalized int) error {
	return c.turn(func() error { return c.setFinality(confirmed, finalized) })
}

// setFinality is SetFinality without the lock. Callers hold mu and have called catchUp.
func (c *Cluster) setFinality(confirmedAfter, finalizedAfter int) error {
	if confirmedAfter < 0 || finalizedAfter < confirmedAfter {
		return errors.New("solana sandbox: a block is confirmed first, then finalized")
	}
	// Levels reached so far are kept as a lower bound, so that a longer lag takes no finality back.
	c.reached = map[string]uint64{confirmed: c.heightOf(confirmed), finalized: c.heightOf(finalized)}
	c.confirmedLag, c.finalizedLag = uint64(confirmedAfter), uint64(finalizedAfter)
	return nil
}

// turn changes a running cluster: it takes the lock and first makes the blocks that are due under the old settings.
func (c *Cluster) turn(change func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.catchUp()
	return change()
}

// setKnobs is sandbox_set: it changes the settings that the object names and returns all of them. Slot time is in
// milliseconds. A value that is out of range is refused.
func setKnobs(c *Cluster, p params) (any, *rpcError) {
	var want struct {
		SlotTime  *uint32 `json:"slotTimeMs"`
		Rent      *uint64 `json:"lamportsPerByte"`
		Confirmed *uint16 `json:"confirmedAfter"`
		Finalized *uint16 `json:"finalizedAfter"`
		stakeKnobs
	}
	if p.has(0) {
		if bad := p.read(0, &want); bad != nil {
			return nil, bad
		}
	}
	if err := want.stakeKnobs.check(); err != nil {
		return nil, invalidParams("Invalid params: %s", err)
	}
	// Rent is checked before anything changes, because it is applied last.
	if want.Rent != nil && (*want.Rent == 0 || *want.Rent > maxLamportsPerByte) {
		return nil, invalidParams("Invalid params: %s", errRent)
	}
	// Finality is checked as a pair, with the present value for the one that is not given.
	if want.Confirmed != nil || want.Finalized != nil {
		confirmedAfter, finalizedAfter := int(c.confirmedLag), int(c.finalizedLag)
		if want.Confirmed != nil {
			confirmedAfter = int(*want.Confirmed)
		}
		if want.Finalized != nil {
			finalizedAfter = int(*want.Finalized)
		}
		if err := c.setFinality(confirmedAfter, finalizedAfter); err != nil {
			return nil, invalidParams("Invalid params: %s", err)
		}
	}
	var err error
	if want.SlotTime != nil {
		err = c.setSlotTime(time.Duration(*want.SlotTime) * time.Millisecond)
	}
	if want.Rent != nil && err == nil {
		err = c.setRent(*want.Rent)
	}
	if err == nil {
		err = c.turnStakeKnobs(want.stakeKnobs)
	}
	if err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	return object{
		"slotTimeMs":      c.paces[len(c.paces)-1].SlotTime.Milliseconds(),
		"lamportsPerByte": c.rentAt(c.tip + 1),
		"confirmedAfter":  c.confirmedLag,
		"finalizedAfter":  c.finalizedLag,

		"slotsPerEpoch":     c.lengths[len(c.lengths)-1].Slots,
		"minimumDelegation": c.minimumAt(c.tip + 1),
		"validators":        c.showValidators(),
	}, nil
}
