package solana

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Transaction version 1 (SIMD-0385) has its compute budget in the message header instead of in instructions. It has
// no lookup tables, and its signatures follow the message.
const (
	v1Prefix = 0x80 | 1 // the first byte of a version 1 message and so of its transaction

	maxV1Wire       = 4096 // bytes of a serialized version 1 transaction, signatures included
	maxV1Keys       = 64
	maxV1Signatures = 12
)

// The bits of a version 1 message's config mask. The priority fee takes two bits, which are both set or both clear.
const (
	maskPriorityFee = 0b00011
	maskUnits       = 0b00100
	maskLoadedData  = 0b01000
	maskHeap        = 0b10000
	maskKnown       = 0b11111
)

// messageConfig is the compute budget of a version 1 message. Values that the message leaves out are nil.
type messageConfig struct {
	PriorityFee *uint64 // lamports for the whole transaction
	Units       *uint32
	LoadedData  *uint32 // bytes
	Heap        *uint32 // bytes
}

// parseV1 parses exactly one serialized version 1 transaction.
func parseV1(wire []byte) (*transaction, error) {
	if len(wire) > maxV1Wire {
		return nil, fmt.Errorf("too large: %d bytes (max: %d bytes)", len(wire), maxV1Wire)
	}
	r := &reader{rest: wire}
	m := r.messageV1()
	if r.err != nil {
		return nil, r.err
	}
	m.Raw = wire[:len(wire)-len(r.rest)]
	tx := &transaction{Wire: wire, message: *m}
	for range m.Required {
		tx.Signatures = append(tx.Signatures, signature(r.take(64)))
		if r.err != nil {
			return nil, r.err
		}
	}
	if len(r.rest) > 0 {
		return nil, errors.New("bytes after the end of the transaction")
	}
	return tx, nil
}

// messageV1 reads a version 1 message with its prefix. The headers of all instructions come before the accounts and
// data of the first one.
func (r *reader) messageV1() *message {
	m := &message{Versioned: true, Version: 1}
	r.byte() // the prefix
	m.Required, m.ReadSigned, m.ReadUnsigned = int(r.byte()), int(r.byte()), int(r.byte())
	mask := r.uint32()
	// Unknown bits are refused, because their values would shift everything that follows.
	if fee := mask & maskPriorityFee; r.err == nil && (mask&^maskKnown != 0 || bits.OnesCount32(fee) == 1) {
		r.err = errors.New("invalid value: invalid transaction config mask")
	}
	m.Blockhash = hash(r.take(32))
	instructions, keys := int(r.byte()), int(r.byte())
	for range keys {
		m.Keys = append(m.Keys, address(r.take(32)))
		if r.err != nil {
			return m
		}
	}
	m.Config = r.messageConfig(mask)
	type header struct{ accounts, data int }
	headers := make([]header, instructions)
	for i := range headers {
		m.Instructions = append(m.Instructions, instruction{Program: int(r.byte())})
		headers[i] = header{int(r.byte()), int(binary.LittleEndian.Uint16(r.take(2)))}
	}
	// Accounts and data come after all headers, in the same order.
	for i, h := range headers {
		if r.err != nil {
			return m
		}
		m.Instructions[i].Accounts = r.take(h.accounts)
		m.Instructions[i].Data = r.take(h.data)
	}
	return m
}

// messageConfig reads the values that the mask announces, in the order of its bits.
func (r *reader) messageConfig(mask uint32) messageConfig {
	var c messageConfig
	if mask&maskPriorityFee != 0 {
		fee := binary.LittleEndian.Uint64(r.take(8))
		c.PriorityFee = &fee
	}
	for _, field := range []struct {
		bit   uint32
		value **uint32
	}{{maskUnits, &c.Units}, {maskLoadedData, &c.LoadedData}, {maskHeap, &c.Heap}} {
		if mask&field.bit != 0 {
			value := r.uint32()
			*field.value = &value
		}
	}
	return c
}

func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

// soundV1 applies the structural rules that only version 1 has.
func (m *message) soundV1() bool {
	if m.Required > maxV1Signatures || len(m.Keys) > maxV1Keys || m.repeats() {
		return false
	}
	heap := m.Config.Heap
	return heap == nil || validHeap(uint64(*heap))
}

// validHeap says whether a heap size, in bytes, is within limits and a multiple of 1024.
func validHeap(size uint64) bool { return size >= minHeap && size <= maxHeap && size%1024 == 0 }

// budget is the budget that the message asks for. A value that it leaves out counts as zero: no compute units, no
// account data.
func (c messageConfig) budget() budget {
	var b budget
	if c.PriorityFee != nil {
		b.Fee = *c.PriorityFee
	}
	if c.Units != nil {
		b.Units = min(uint64(*c.Units), maxUnits)
	}
	if c.LoadedData != nil {
		b.LoadedData = int(min(*c.LoadedData, maxLoadedData))
	}
	return b
}

// show is TransactionConfig as JSON-RPC shows it. Values that the message leaves out are null.
func (c messageConfig) show() object {
	return object{
		"priorityFee": c.PriorityFee, "computeUnitLimit": c.Units,
		"loadedAccountsDataSizeLimit": c.LoadedData, "heapSize": c.Heap,
	}
}
