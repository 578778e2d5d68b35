package solana

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Every twentieth slot has no block. So block height and slot number drift apart, as on a real cluster, and a client
// that mixes them up fails here too.
const blocksPerTwentySlots = 19

// slotOf is the slot of the block with that height.
func slotOf(height uint64) uint64 { return height + height/blocksPerTwentySlots }

// heightAt is the height of the newest block at or before that slot.
func heightAt(slot uint64) uint64 { return slot - (slot+1)/(blocksPerTwentySlots+1) }

// skipped says whether a slot has no block.
func skipped(slot uint64) bool { return slotOf(heightAt(slot)) != slot }

// pace says how slots follow the clock from one moment on. SetSlotTime adds one, and so does opening a kept cluster
// with another SlotTime. Each is in the journal, so that block times stay the same after a restart.
type pace struct {
	Slot     uint64        `json:"slot"`
	At       time.Time     `json:"at"`
	SlotTime time.Duration `json:"slot_time_ns"` // 0: only Advance makes blocks
}

// slot is the slot at that moment. A clock that went back to before the pace began stands still.
func (p pace) slot(now time.Time) uint64 {
	if p.SlotTime <= 0 || now.Before(p.At) {
		return p.Slot
	}
	return p.Slot + uint64(now.Sub(p.At)/p.SlotTime)
}

// time is when the slot begins.
func (p pace) time(slot uint64) time.Time {
	length := p.SlotTime
	if length <= 0 {
		length = DefaultSlotTime // for a manual clock
	}
	return p.At.Add(time.Duration(slot-p.Slot) * length)
}

// blockTime is the block's Unix time in seconds, as getBlockTime returns it. Callers hold mu.
func (c *Cluster) blockTime(height uint64) int64 {
	slot := slotOf(height)
	for i := len(c.paces) - 1; i > 0; i-- {
		if c.paces[i].Slot <= slot {
			return c.paces[i].time(slot).Unix()
		}
	}
	return c.paces[0].time(slot).Unix()
}

// fork is an abandoned part of the chain: blocks above Base were replaced by others.
type fork struct {
	Base uint64 `json:"base"` // height of the last block that is kept
}

// blockhash derives the hash of a block from the cluster's seed, its height and the number of forks that replaced it.
// A replaced block so gets another hash, and a message that names the old hash never lands.
func (c *Cluster) blockhash(height uint64) hash {
	remade := 0
	for _, f := range c.forks {
		if f.Base < height {
			remade++
		}
	}
	b := append([]byte("block"), c.world[:]...)
	b = binary.LittleEndian.AppendUint64(b, height)
	b = binary.LittleEndian.AppendUint64(b, uint64(remade))
	return sha256.Sum256(b)
}

// maxAge is how many blocks a blockhash stays valid for (MAX_PROCESSING_AGE).
const maxAge = 150

// ageOf looks for a blockhash among the ones that are valid at that height. It returns the height of the block that
// has it.
func (c *Cluster) ageOf(h hash, height uint64) (named uint64, ok bool) {
	for back := uint64(0); back <= maxAge && back <= height; back++ {
		if c.blockhash(height-back) == h {
			return height - back, true
		}
	}
	return 0, false
}

// Commitment levels, by the names that clients use in JSON-RPC.
const (
	processed = "processed"
	confirmed = "confirmed"
	finalized = "finalized"
)

// heightOf is the height of the newest block at a commitment level. It never goes back when SetFinality raises a lag.
func (c *Cluster) heightOf(level string) uint64 {
	lag := uint64(0)
	switch level {
	case confirmed:
		lag = c.confirmedLag
	case finalized:
		lag = c.finalizedLag
	}
	return max(c.tip-min(lag, c.tip), c.reached[level])
}

// levelOf is the commitment that a block has reached.
func (c *Cluster) levelOf(height uint64) string {
	switch {
	case height <= c.heightOf(finalized):
		return finalized
	case height <= c.heightOf(confirmed):
		return confirmed
	}
	return processed
}
