package solana

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// The System program's own error numbers, as Custom codes (SystemError).
const (
	alreadyInUse      = 0
	negativeBalance   = 1
	invalidDataLength = 3
	seedMismatch      = 5
)

// system runs one System instruction. There are no nonce accounts here: their instructions fail as invalid
// (docs/sandbox-differences.md).
//
// Long: one case for each instruction, by its number.
func (in *invocation) system() *InstructionError {
	args := &systemArgs{rest: in.data}
	kind := args.u32()
	switch kind {
	case 0: // CreateAccount
		lamports, space, owner := args.u64(), args.u64(), args.key()
		if err := in.ready(args, 2); err != nil {
			return err
		}
		return in.createAccount(in.key(1), lamports, space, owner)
	case 1: // Assign
		owner := args.key()
		if err := in.ready(args, 1); err != nil {
			return err
		}
		return in.assign(0, in.key(0), owner)
	case 2: // Transfer
		lamports := args.u64()
		if err := in.ready(args, 2); err != nil {
			return err
		}
		return in.transfer(0, 1, lamports)
	case 3: // CreateAccountWithSeed
		base, seed := args.key(), args.text()
		lamports, space, owner := args.u64(), args.u64(), args.key()
		if err := in.ready(args, 2); err != nil {
			return err
		}
		if err := in.derived(1, base, seed, owner); err != nil {
			return err
		}
		return in.createAccount(base, lamports, space, owner)
	case 8: // Allocate
		space := args.u64()
		if err := in.ready(args, 1); err != nil {
			return err
		}
		return in.allocate(0, in.key(0), space)
	case 9: // AllocateWithSeed
		base, seed, space, owner := args.key(), args.text(), args.u64(), args.key()
		if err := in.ready(args, 1); err != nil {
			return err
		}
		if err := in.derived(0, base, seed, owner); err != nil {
			return err
		}
		if err := in.allocate(0, base, space); err != nil {
			return err
		}
		return in.assign(0, base, owner)
	case 10: // AssignWithSeed
		base, seed, owner := args.key(), args.text(), args.key()
		if err := in.ready(args, 1); err != nil {
			return err
		}
		if err := in.derived(0, base, seed, owner); err != nil {
			return err
		}
		return in.assign(0, base, owner)
	case 11: // TransferWithSeed
		lamports, seed, owner := args.u64(), args.text(), args.key()
		if err := in.ready(args, 3); err != nil {
			return err
		}
		return in.transferWithSeed(lamports, seed, owner)
	case 4, 5, 6, 7, 12:
		in.log("Nonce accounts are not kept by this sandbox")
	}
	return refused("InvalidInstructionData")
}

// ready refuses data that could not be parsed, and then too few accounts.
func (in *invocation) ready(args *systemArgs, accounts int) *InstructionError {
	if args.bad {
		return refused("InvalidInstructionData")
	}
	return in.need(accounts)
}

// derived requires account i to be the address that base, seed and owner give.
func (in *invocation) derived(i int, base address, seed string, owner address) *InstructionError {
	want, err := withSeed(base, seed, owner)
	if err != nil {
		return err
	}
	if in.key(i) != want {
		in.log("Create: address %s does not match derived address %s", in.key(i), want)
		return custom(seedMismatch)
	}
	return nil
}

// createAccount makes account 1 with lamports from account 0. authority is the key that must have signed for account
// 1: its own, or its base key. An account that already has lamports is in use.
func (in *invocation) createAccount(authority address, lamports, space uint64, owner address) *InstructionError {
	if in.account(1).Lamports > 0 {
		in.log("Create Account: account %s already in use", in.named(1, authority))
		return custom(alreadyInUse)
	}
	if err := in.allocate(1, authority, space); err != nil {
		return err
	}
	if err := in.assign(1, authority, owner); err != nil {
		return err
	}
	return in.transfer(0, 1, lamports)
}

// allocate sets the data size, in bytes, of an account that is still empty.
func (in *invocation) allocate(i int, authority address, space uint64) *InstructionError {
	if !in.signed(authority) {
		in.log("Allocate: 'to' account %s must sign", in.named(i, authority))
		return refused("MissingRequiredSignature")
	}
	// An account with data or another owner is in use, even without lamports.
	if a := in.account(i); len(a.Data) > 0 || a.Owner != systemProgram {
		in.log("Allocate: account %s already in use", in.named(i, authority))
		return custom(alreadyInUse)
	}
	if space > maxData {
		in.log("Allocate: requested %d, max allowed %d", space, maxData)
		return custom(invalidDataLength)
	}
	return in.setSize(i, int(space))
}

// assign gives an account to another program. It is a success without signature if that program has it already.
func (in *invocation) assign(i int, authority, owner address) *InstructionError {
	if in.account(i).Owner == owner {
		return nil
	}
	if !in.signed(authority) {
		in.log("Assign: account %s must sign", in.named(i, authority))
		return refused("MissingRequiredSignature")
	}
	return in.setOwner(i, owner)
}

// transfer moves lamports from an account that has signed.
func (in *invocation) transfer(from, to int, lamports uint64) *InstructionError {
	if !in.signs(from) {
		in.log("Transfer: `from` account %s must sign", in.key(from))
		return refused("MissingRequiredSignature")
	}
	return in.move(from, to, lamports)
}

// transferWithSeed moves lamports from account 0 to account 2. Account 1 is the base key of account 0 and signs for
// it.
func (in *invocation) transferWithSeed(lamports uint64, seed string, owner address) *InstructionError {
	if !in.signs(1) {
		in.log("Transfer: 'from' account %s must sign", in.key(1))
		return refused("MissingRequiredSignature")
	}
	want, err := withSeed(in.key(1), seed, owner)
	if err != nil {
		return err
	}
	if in.key(0) != want {
		in.log("Transfer: 'from' address %s does not match derived address %s", in.key(0), want)
		return custom(seedMismatch)
	}
	return in.move(0, 2, lamports)
}

// move moves lamports. The source may not have data, because then it belongs to a program's use.
func (in *invocation) move(from, to int, lamports uint64) *InstructionError {
	source := in.account(from)
	if len(source.Data) > 0 {
		in.log("Transfer: `from` must not carry data")
		return refused("InvalidArgument")
	}
	// The balance may become 0, which ends the account.
	if lamports > source.Lamports {
		in.log("Transfer: insufficient lamports %d, need %d", source.Lamports, lamports)
		return custom(negativeBalance)
	}
	if err := in.setLamports(from, source.Lamports-lamports); err != nil {
		return err
	}
	held := in.account(to).Lamports
	if held > math.MaxUint64-lamports {
		return refused("ArithmeticOverflow")
	}
	return in.setLamports(to, held+lamports)
}

// named is how Agave's System program logs an account and its base key.
func (in *invocation) named(i int, authority address) string {
	base := "None"
	if authority != in.key(i) {
		base = "Some(" + authority.String() + ")"
	}
	return "Address { address: " + in.key(i).String() + ", base: " + base + " }"
}

// systemArgs reads bincode: little-endian integers, and strings with a u64 length. Missing bytes set bad, and later
// results mean nothing. Bytes after the last field are ignored, as in Agave.
type systemArgs struct {
	rest []byte
	bad  bool
}

// take returns n bytes, or nil if fewer are left.
func (a *systemArgs) take(n uint64) []byte {
	if a.bad || n > uint64(len(a.rest)) {
		a.bad = true
		return nil
	}
	b := a.rest[:n]
	a.rest = a.rest[n:]
	return b
}

// u32 returns a value that no instruction has if bytes are missing.
func (a *systemArgs) u32() uint32 {
	if b := a.take(4); !a.bad {
		return binary.LittleEndian.Uint32(b)
	}
	return math.MaxUint32
}

// u64 returns 0 if bytes are missing; ready then refuses the instruction.
func (a *systemArgs) u64() uint64 {
	if b := a.take(8); !a.bad {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (a *systemArgs) key() (k address) {
	copy(k[:], a.take(32))
	return k
}

func (a *systemArgs) text() string {
	b := a.take(a.u64())
	if !utf8.Valid(b) {
		a.bad = true
	}
	return string(b)
}
