package solana

import (
	"errors"
	"fmt"
	"time"
)

// What a test may turn while the cluster runs: how long a slot lasts, what rent costs, and how soon
// a block is final. Go programs call the methods, others sandbox_set over JSON-RPC.

// rentChange is a new rent from the block of that height on.
type rentChange struct {
	Height  uint64   `json:"height"`
	PerByte rentRate `json:"lamports_per_byte"`
}

var errRent = fmt.Errorf("solana sandbox: rent is at most %d lamports a byte", maxLamportsPerByte)

// rentAt is the rent in the block of that height.
func (c *Cluster) rentAt(height uint64) rentRate {
	for i := len(c.rents) - 1; i > 0; i-- {
		if c.rents[i].Height <= height {
			return c.rents[i].PerByte
		}
	}
	return c.rents[0].PerByte
}

func (c *Cluster) changeRent(r rentChange) {
	c.rents = append(c.rents, r)
	c.state.set(rentSysvar, r.Height, r.PerByte.sysvar(), c.heightOf(finalized))
}

func (c *Cluster) setRent(perByte uint64) error {
	if perByte == 0 || perByte > maxLamportsPerByte {
		return errRent
	}
	r := rentChange{Height: c.tip + 1, PerByte: rentRate(perByte)}
	c.changeRent(r)
	return c.write(record{Rent: &r})
}

// SetLamportsPerByte changes the rent from the next block on. Accounts below a higher minimum stay,
// and may not sink further.
func (c *Cluster) SetLamportsPerByte(n uint64) error {
	return c.turn(func() error { return c.setRent(n) })
}

// SetSlotTime changes the length of a slot from now on; 0 moves the cluster by Advance only.
func (c *Cluster) SetSlotTime(d time.Duration) error {
	return c.turn(func() error { return c.setSlotTime(d) })
}

func (c *Cluster) setSlotTime(d time.Duration) error {
	if d < 0 || d > 0 && d < time.Millisecond {
		return errors.New("solana sandbox: a slot lasts at least a millisecond, or 0 to stop the clock")
	}
	p := pace{Slot: slotOf(c.tip), At: c.now(), SlotTime: d}
	c.paces = append(c.paces, p)
	select {
	case c.paced <- struct{}{}:
	default: // Run has not looked since the last change
	}
	return c.write(record{Pace: &p})
}

// SetFinality changes after how many further blocks a block is confirmed and finalized. With 0 and 0
// it is final as soon as it is seen, as with Alpenglow: a status goes from null to finalized. What
// was confirmed or finalized before stays so. It is not kept over a restart.
func (c *Cluster) SetFinality(confirmed, finalized int) error {
	return c.turn(func() error { return c.setFinality(confirmed, finalized) })
}

func (c *Cluster) setFinality(confirmedAfter, finalizedAfter int) error {
	if confirmedAfter < 0 || finalizedAfter < confirmedAfter {
		return errors.New("solana sandbox: a block is confirmed first, then finalized")
	}
	c.reached = map[string]uint64{confirmed: c.heightOf(confirmed), finalized: c.heightOf(finalized)}
	c.confirmedLag, c.finalizedLag = uint64(confirmedAfter), uint64(finalizedAfter)
	return nil
}

// turn changes a running cluster that the clock has caught up with.
func (c *Cluster) turn(change func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	c.catchUp()
	return change()
}

// setKnobs turns what the object names, and answers with how everything stands. Slot time is in
// milliseconds. An impossible value changes nothing.
func setKnobs(c *Cluster, p params) (any, *rpcError) {
	var want struct {
		SlotTime  *uint32 `json:"slotTimeMs"`
		Rent      *uint64 `json:"lamportsPerByte"`
		Confirmed *uint16 `json:"confirmedAfter"`
		Finalized *uint16 `json:"finalizedAfter"`
	}
	if p.has(0) {
		if bad := p.read(0, &want); bad != nil {
			return nil, bad
		}
	}
	if want.Rent != nil && (*want.Rent == 0 || *want.Rent > maxLamportsPerByte) {
		return nil, invalidParams("Invalid params: %s", errRent)
	}
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
	if err != nil {
		return nil, &rpcError{Code: codeInternal, Message: err.Error()}
	}
	return object{
		"slotTimeMs":      c.paces[len(c.paces)-1].SlotTime.Milliseconds(),
		"lamportsPerByte": c.rentAt(c.tip + 1),
		"confirmedAfter":  c.confirmedLag,
		"finalizedAfter":  c.finalizedLag,
	}, nil
}
