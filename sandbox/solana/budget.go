package solana

import (
	"encoding/binary"
	"math/bits"
)

// Fees and limits of Agave's runtime. Lamports where the name says so, otherwise compute units or bytes.
const (
	lamportsPerSignature = 5000

	maxUnits         = 1_400_000 // compute units that a transaction can have at most
	unitsPerBuiltin  = 3_000     // default for each instruction of a builtin program (SIMD-0170)
	unitsPerProgram  = 200_000   // default for each instruction of any other program
	minHeap, maxHeap = 32 << 10, 256 << 10

	maxLoadedData  = 64 << 20 // bytes of accounts that a transaction may load
	loadedOverhead = 64       // bytes counted for each loaded account (SIMD-0186)
)

// budget is what a transaction may use, and what it pays beyond the fee for its signatures.
type budget struct {
	Units      uint64 // compute units that it may use
	Price      uint64 // micro-lamports per compute unit; legacy and version 0
	Fee        uint64 // priority fee in lamports; version 1
	LoadedData int    // bytes of account data that it may load
}

// priority is the priority fee in lamports: price times the compute unit limit, rounded up. It does not depend on the
// units used. A product that does not fit is capped at the largest uint64.
func (b budget) priority() uint64 {
	if b.Fee > 0 {
		return b.Fee
	}
	high, low := bits.Mul64(b.Price, b.Units)
	low, carry := bits.Add64(low, 999_999, 0)
	high += carry
	if high >= 1_000_000 {
		return ^uint64(0)
	}
	fee, _ := bits.Div64(high, low, 1_000_000)
	return fee
}

// price is the priority fee in micro-lamports per compute unit, rounded down. Version 1 sets the fee itself, so it is
// divided there.
func (b budget) price() uint64 {
	if b.Fee == 0 || b.Units == 0 {
		return b.Price
	}
	high, low := bits.Mul64(b.Fee, 1_000_000)
	if high >= b.Units {
		return ^uint64(0)
	}
	price, _ := bits.Div64(high, low, b.Units)
	return price
}

// fee is what the message costs in lamports, whether it succeeds or fails on chain.
func (m *message) fee(b budget) uint64 {
	signatures := uint64(m.Required)
	for _, ix := range m.Instructions {
		if precompiles[m.Keys[ix.Program]] && len(ix.Data) > 0 {
			signatures += uint64(ix.Data[0]) // the first byte is the number of signatures that they verify
		}
	}
	// A sum that does not fit is capped. No payer has that much, so the transaction fails for its funds.
	fee, carry := bits.Add64(signatures*lamportsPerSignature, b.priority(), 0)
	if carry != 0 {
		return ^uint64(0)
	}
	return fee
}

// readBudget reads a message's Compute Budget instructions. Each kind may occur once, at any place. In version 1 the
// message header has these values instead, and such instructions have no effect.
func readBudget(m *message) (budget, *TransactionError) {
	if m.Version == 1 {
		return m.Config.budget(), nil
	}
	b := budget{LoadedData: maxLoadedData}
	var units, granted uint64
	var seen [5]bool
	limited := false
	// Without a limit of its own, a transaction gets a default for each of its instructions.
	for i, ix := range m.Instructions {
		program := m.Keys[ix.Program]
		if program != budgetProgram {
			if builtins[program] {
				granted += unitsPerBuiltin
			} else {
				granted += unitsPerProgram
			}
			continue
		}
		granted += unitsPerBuiltin
		invalid := &TransactionError{Name: "InstructionError", Index: i, Instruction: refused("InvalidInstructionData")}
		kind, value, ok := budgetRequest(ix.Data)
		if !ok {
			return budget{}, invalid
		}
		if seen[kind] {
			return budget{}, &TransactionError{Name: "DuplicateInstruction", Index: i}
		}
		seen[kind] = true
		switch kind {
		case 1:
			if !validHeap(value) {
				return budget{}, invalid
			}
		case 2:
			units, limited = value, true
		case 3:
			b.Price = value
		case 4:
			if value == 0 {
				return budget{}, failed("InvalidLoadedAccountsDataSizeLimit")
			}
			b.LoadedData = int(min(value, maxLoadedData))
		}
	}
	// The limit that the transaction sets wins over the default, and neither exceeds the maximum.
	b.Units = min(granted, maxUnits)
	if limited {
		b.Units = min(units, maxUnits)
	}
	return b, nil
}

// budgetRequest reads one instruction. Its kind is 1 for a heap size, 2 for a unit limit, 3 for a unit price, and 4
// for a limit of loaded data in bytes. Bytes after the value are ignored, as Agave's borsh reader ignores them.
func budgetRequest(data []byte) (kind byte, value uint64, ok bool) {
	if len(data) == 0 {
		return 0, 0, false
	}
	kind, rest := data[0], data[1:]
	switch {
	case kind == 3 && len(rest) >= 8:
		return kind, binary.LittleEndian.Uint64(rest), true
	case (kind == 1 || kind == 2 || kind == 4) && len(rest) >= 4:
		return kind, uint64(binary.LittleEndian.Uint32(rest)), true
	}
	return 0, 0, false
}

// builtins are the programs whose instructions get unitsPerBuiltin by default, including those that this sandbox
// cannot run (Agave: BUILTIN_INSTRUCTION_COSTS).
var builtins = map[address]bool{
	systemProgram: true, budgetProgram: true, voteProgram: true, ed25519Program: true, secp256k1Program: true,
	loaderV1: true, loaderV2: true, loaderV3: true, loaderV4: true,
}

// precompiles are the programs that verify signatures. Each signature that they verify costs as much as a signer's.
var precompiles = map[address]bool{ed25519Program: true, secp256k1Program: true, secp256r1Program: true}
