package solana

import (
	"encoding/binary"
	"math"
)

// The layout of an address lookup table: a u32 discriminator, the slot in which it was deactivated (all ones: never),
// the slot in which it was last extended, the number of addresses that it had before that, its authority as an
// option, and padding up to tableMeta bytes. The addresses follow.
const (
	tableMeta         = 56
	tableMaxAddresses = 256
	tableActive       = math.MaxUint64
	tableHistory      = 512 // slots in SlotHashes, for which a deactivated table can still be used
)

// lookupTable is a parsed table. Authority is nil for a frozen table.
type lookupTable struct {
	Deactivated uint64
	Extended    uint64
	Before      byte
	Authority   *address
	Addresses   []byte // 32 bytes each
}

// readTable parses an account's data. Its error is the one that the program itself returns.
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
	// The remaining bytes must be whole addresses.
	if r.err != nil || kind != 1 || option > 1 || len(data) < tableMeta || (len(data)-tableMeta)%32 != 0 {
		return t, refused("InvalidAccountData")
	}
	t.Addresses = data[tableMeta:]
	return t, nil
}

// meta encodes the first tableMeta bytes of the table, without the addresses.
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

// gone says whether a table was deactivated so long ago that transactions cannot use it any more.
func (b bank) gone(t lookupTable) bool {
	if t.Deactivated == tableActive || t.Deactivated == b.slot {
		return false
	}
	_, recent := b.recentSlot(t.Deactivated)
	return !recent
}

// lookUp adds the addresses from lookup tables to a transaction. Addresses can be used from the slot after the one in
// which they were added. Errors here mean that the transaction does not land.
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
		// A table that was deactivated long enough ago counts as missing.
		if b.gone(t) {
			return tx, failed("AddressLookupTableNotFound")
		}
		n := len(t.Addresses) / 32
		// In the slot of an extension, only the older addresses count.
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

// runTable parses the instruction: 0 create, 1 freeze, 2 extend, 3 deactivate, 4 close.
func (in *invocation) runTable() *InstructionError {
	// bincode reads no more than a packet, whatever the data claims.
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

// unitsOfTable is about how many compute units each instruction uses besides its calls.
var unitsOfTable = [...]uint64{2000, 1500, 3500, 3100, 2300}

// The program's own errors, as Custom codes.
const (
	tableInvalidSeeds = 1
	tableReadonly     = 10
)

// createTable creates the table in account 0 for the authority in account 1; account 2 pays. The address derives from
// the authority and a recent slot, so a closed table's address cannot be taken again.
func (in *invocation) createTable(slot uint64, bump byte) *InstructionError {
	if err := in.atLeast(3); err != nil {
		return err
	}
	// The checks and their log lines are in the program's order.
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
	// A table that exists already is a success.
	if in.account(0).Owner == lookupProgram {
		return nil
	}
	// The account is topped up to the rent minimum, allocated, and assigned, in three calls.
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

// changing reads the table in account 0 and checks that account 1 is its authority and has signed. frozen is the
// program's log line for a table without an authority. The order of the checks is the program's.
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

// tableFrozen is the program's log line for a table that cannot change any more.
const tableFrozen = "Lookup table is frozen"

// freezeTable removes the authority for good.
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

// extendTable appends addresses. If the balance falls below the rent minimum, account 2 pays the difference.
func (in *invocation) extendTable(keys []byte) *InstructionError {
	t, err := in.changing(2, tableFrozen)
	if err != nil {
		return err
	}
	// Sizes are in addresses.
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
	// Several extensions in one slot count as one, so Before stays what it was at the first.
	if in.slot != t.Extended {
		t.Extended, t.Before = in.slot, byte(held)
	}
	// The program checks the right to write only here, after its own checks.
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

// deactivateTable begins the waiting time before a table can be closed.
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

// closeTable sends the table's lamports to account 2. It waits until no transaction can use the table any more.
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
		// A deactivated table still serves transactions for up to 512 slots, so it cannot go yet.
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
	a.Lamports, a.Data = 0, nil // the owner stays until the account is gone
	return nil
}
