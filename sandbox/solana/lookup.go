package solana

import (
	"encoding/binary"
	"math"
)

// The layout of an address lookup table: a u32 that says what it is, the slot in which it was
// deactivated (all ones: never), the slot in which it grew last and how many addresses it had
// before that, its authority as an option, padding; then the addresses.
const (
	tableMeta         = 56
	tableMaxAddresses = 256
	tableActive       = math.MaxUint64
	tableHistory      = 512 // slots that a deactivated table stays good for: what SlotHashes holds
)

type lookupTable struct {
	Deactivated uint64
	Extended    uint64
	Before      byte
	Authority   *address
	Addresses   []byte // 32 bytes each
}

// readTable reads an account's data; its error is the program's own.
func readTable(data []byte) (t lookupTable, err *InstructionError) {
	r := &reader{rest: data}
	kind := binary.LittleEndian.Uint32(r.take(4))
	if r.err == nil && kind == 0 {
		return t, refused("UninitializedAccount")
	}
	t.Deactivated = binary.LittleEndian.Uint64(r.take(8))
	t.Extended = binary.LittleEndian.Uint64(r.take(8))
	t.Before = r.byte()
	option := r.byte()
	if option == 1 {
		k := address(r.take(32))
		t.Authority = &k
	}
	r.take(2)
	if r.err != nil || kind != 1 || option > 1 || len(data) < tableMeta || (len(data)-tableMeta)%32 != 0 {
		return t, refused("InvalidAccountData")
	}
	t.Addresses = data[tableMeta:]
	return t, nil
}

// meta is the table's first bytes.
func (t lookupTable) meta() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, tableMeta), 1)
	b = binary.LittleEndian.AppendUint64(b, t.Deactivated)
	b = binary.LittleEndian.AppendUint64(b, t.Extended)
	b = append(b, t.Before)
	if t.Authority != nil {
		b = append(append(b, 1), t.Authority[:]...)
	}
	return b[:tableMeta]
}

// gone says whether a table was deactivated so long ago that it names nothing any more.
func (b bank) gone(t lookupTable) bool {
	if t.Deactivated == tableActive || t.Deactivated == b.slot {
		return false
	}
	_, recent := b.recentSlot(t.Deactivated)
	return !recent
}

// lookUp completes a transaction with the addresses that its lookup tables hold. Addresses count
// from the slot after the one that they were added in.
func (b bank) lookUp(tx *transaction) (*transaction, *TransactionError) {
	if len(tx.Lookups) == 0 || tx.static > 0 {
		return tx, nil
	}
	var writable, readonly []address
	for _, l := range tx.Lookups {
		a := b.read(l.Table)
		if !a.exists() {
			return tx, failed("AddressLookupTableNotFound")
		}
		if a.Owner != lookupProgram {
			return tx, failed("InvalidAddressLookupTableOwner")
		}
		t, err := readTable(a.Data)
		if err != nil {
			return tx, failed("InvalidAddressLookupTableData")
		}
		if b.gone(t) {
			return tx, failed("AddressLookupTableNotFound")
		}
		n := len(t.Addresses) / 32
		if b.slot <= t.Extended {
			n = min(n, int(t.Before))
		}
		for _, part := range []struct {
			places []byte
			into   *[]address
		}{{l.Writable, &writable}, {l.Readonly, &readonly}} {
			for _, i := range part.places {
				if int(i) >= n {
					return tx, failed("InvalidAddressLookupTableIndex")
				}
				*part.into = append(*part.into, keyAt(t.Addresses, 32*int(i)))
			}
		}
	}
	return tx.with(writable, readonly), nil
}

// lookupTable runs one instruction of the address lookup table program.
func (in *invocation) lookupTable() *InstructionError {
	return in.complain(in.runTable(), map[uint32]string{
		tableInvalidSeeds: "Provided seeds do not result in a valid address",
		tableReadonly:     "Instruction modified data of a read-only account",
	})
}

func (in *invocation) runTable() *InstructionError {
	args := &systemArgs{rest: in.data[:min(len(in.data), maxPacket)]}
	kind := args.u32()
	if kind < uint32(len(unitsOfTable)) {
		if err := in.spend(unitsOfTable[kind]); err != nil {
			return err
		}
	}
	switch {
	case kind == 0 && len(args.rest) >= 9:
		in.say("Instruction: CreateLookupTable")
		return in.createTable(args.u64(), args.take(1)[0])
	case kind == 1:
		in.say("Instruction: FreezeLookupTable")
		return in.freezeTable()
	case kind == 2 && len(args.rest) >= 8:
		n := args.u64()
		keys := args.take(min(n, maxPacket) * 32)
		if args.bad {
			break
		}
		in.say("Instruction: ExtendLookupTable")
		return in.extendTable(keys)
	case kind == 3:
		in.say("Instruction: DeactivateLookupTable")
		return in.deactivateTable()
	case kind == 4:
		in.say("Instruction: CloseLookupTable")
		return in.closeTable()
	}
	return refused("InvalidInstructionData")
}

// unitsOfTable is about what each instruction of that program uses besides its calls.
var unitsOfTable = [...]uint64{2000, 1500, 3500, 3100, 2300}

// The program's own errors, as Custom codes.
const (
	tableInvalidSeeds = 1
	tableReadonly     = 10
)

func (in *invocation) createTable(slot uint64, bump byte) *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	if !in.signs(2) {
		in.say("Payer account must be a signer")
		return refused("MissingRequiredSignature")
	}
	if _, recent := in.recentSlot(slot); !recent {
		in.say("%d is not a recent slot", slot)
		return refused("InvalidInstructionData")
	}
	authority := in.key(1)
	table, ok := derive(lookupProgram, authority[:], binary.LittleEndian.AppendUint64(nil, slot), []byte{bump})
	if !ok {
		return custom(tableInvalidSeeds)
	}
	if in.key(0) != table {
		in.say("Table address must match derived address: %s", table)
		return refused("InvalidArgument")
	}
	if in.account(0).Owner == lookupProgram {
		return nil
	}
	if reserve, held := in.rent.minimum(tableMeta), in.account(0).Lamports; held < reserve {
		if err := in.callTransfer(in.key(2), table, reserve-held); err != nil {
			return err
		}
	}
	if err := in.atLeast(4); err != nil {
		return err
	}
	data := binary.LittleEndian.AppendUint32(nil, 8)
	if err := in.callCosting(systemProgram, binary.LittleEndian.AppendUint64(data, tableMeta), []address{table}, callMeta{table, true, true}); err != nil {
		return err
	}
	data = binary.LittleEndian.AppendUint32(nil, 1)
	if err := in.callCosting(systemProgram, append(data, lookupProgram[:]...), []address{table}, callMeta{table, true, true}); err != nil {
		return err
	}
	in.account(0).Data = lookupTable{Deactivated: tableActive, Authority: &authority}.meta()
	return nil
}

// changing reads the table at place 0, which account 1 must be the signing authority of. frozen is
// what the program says of a table that has none.
func (in *invocation) changing(accounts int, frozen string) (t lookupTable, err *InstructionError) {
	if err := in.atLeast(1); err != nil {
		return t, err
	}
	if in.account(0).Owner != lookupProgram {
		in.say("Lookup table owner should be the Address Lookup Table program")
		return t, refused("InvalidAccountOwner")
	}
	if err := in.atLeast(2); err != nil {
		return t, err
	}
	if !in.signs(1) {
		in.say("Authority account must be a signer")
		return t, refused("MissingRequiredSignature")
	}
	if err := in.atLeast(accounts); err != nil {
		return t, err
	}
	if accounts > 2 && in.same(0, 2) {
		in.say("Lookup table cannot be the recipient of reclaimed lamports")
		return t, refused("InvalidArgument")
	}
	if t, err = readTable(in.account(0).Data); err != nil {
		return t, err
	}
	switch {
	case t.Authority == nil:
		in.say("%s", frozen)
		return t, refused("Immutable")
	case *t.Authority != in.key(1):
		in.say("Incorrect lookup table authority")
		return t, refused("IncorrectAuthority")
	}
	return t, nil
}

const tableFrozen = "Lookup table is frozen"

func (in *invocation) freezeTable() *InstructionError {
	t, err := in.changing(2, "Lookup table is already frozen")
	if err != nil {
		return err
	}
	if t.Deactivated != tableActive {
		in.say("Deactivated tables cannot be frozen")
		return refused("InvalidArgument")
	}
	if len(t.Addresses) == 0 {
		in.say("Empty lookup tables cannot be frozen")
		return refused("InvalidInstructionData")
	}
	t.Authority = nil
	copy(in.account(0).Data, t.meta())
	return nil
}

func (in *invocation) extendTable(keys []byte) *InstructionError {
	t, err := in.changing(2, tableFrozen)
	if err != nil {
		return err
	}
	held, total := len(t.Addresses)/32, (len(t.Addresses)+len(keys))/32
	switch {
	case t.Deactivated != tableActive:
		in.say("Deactivated tables cannot be extended")
		return refused("InvalidArgument")
	case held >= tableMaxAddresses:
		in.say("Lookup table is full and cannot contain more addresses")
		return refused("InvalidArgument")
	case len(keys) == 0:
		in.say("Must extend with at least one address")
		return refused("InvalidInstructionData")
	case total > tableMaxAddresses:
		in.say("Extended lookup table length %d would exceed max capacity of %d", total, tableMaxAddresses)
		return refused("InvalidInstructionData")
	}
	if in.slot != t.Extended {
		t.Extended, t.Before = in.slot, byte(held)
	}
	if !in.writable(0) {
		return custom(tableReadonly)
	}
	a := in.account(0)
	a.Data = append(append(t.meta(), t.Addresses...), keys...)
	reserve := in.rent.minimum(len(a.Data))
	if a.Lamports >= reserve {
		return nil
	}
	if err := in.atLeast(3); err != nil {
		return err
	}
	if !in.signs(2) {
		in.say("Payer account must be a signer")
		return refused("MissingRequiredSignature")
	}
	if err := in.atLeast(4); err != nil {
		return err
	}
	return in.callTransfer(in.key(2), in.key(0), reserve-a.Lamports)
}

func (in *invocation) deactivateTable() *InstructionError {
	t, err := in.changing(2, tableFrozen)
	if err != nil {
		return err
	}
	if t.Deactivated != tableActive {
		in.say("Lookup table is already deactivated")
		return refused("InvalidArgument")
	}
	t.Deactivated = in.slot
	copy(in.account(0).Data, t.meta())
	return nil
}

func (in *invocation) closeTable() *InstructionError {
	t, err := in.changing(3, tableFrozen)
	if err != nil {
		return err
	}
	if t.Deactivated == tableActive {
		in.say("Lookup table is not deactivated")
		return refused("InvalidArgument")
	}
	if !in.gone(t) {
		left := tableHistory + 1
		if place, recent := in.recentSlot(t.Deactivated); recent && t.Deactivated != in.slot {
			left = tableHistory - place
		}
		in.say("Table cannot be closed until it's fully deactivated in %d blocks", left)
		return refused("InvalidArgument")
	}
	a, to := in.account(0), in.account(2)
	if a.Lamports > math.MaxUint64-to.Lamports {
		return refused("ArithmeticOverflow")
	}
	if !in.writable(0) {
		return custom(tableReadonly)
	}
	to.Lamports += a.Lamports
	a.Lamports, a.Data = 0, nil // the table keeps its owner
	return nil
}
