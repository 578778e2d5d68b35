package solana

import (
	"encoding/binary"
	"math"
)

// aTable holds addresses; change may spoil it.
func aTable(authority *address, change func(*lookupTable), keys ...address) account {
	t := lookupTable{Deactivated: tableActive, Authority: authority}
	if change != nil {
		change(&t)
	}
	data := t.meta()
	for _, k := range keys {
		data = append(data, k[:]...)
	}
	return rented(lookupProgram, data)
}

// looked is a transfer whose recipient stands in a table.
func looked(table address, writable, readonly []byte) draft {
	lookups := join([]byte{1}, table[:], []byte{byte(len(writable))}, writable, []byte{byte(len(readonly))}, readonly)
	return draft{versioned: true, lookups: lookups, calls: []call{transferTo(alice, bob, 5)}}
}

// toLooked sends 7 lamports from alice to the account at place i of the message.
func toLooked(d draft, i byte) draft {
	d.calls = []call{system(pack(uint32(2), uint64(7)), meta{alice, "sw"}, meta{alice, "sw"})}
	d.message = func(m []byte) []byte {
		// one static key besides the program; the second account of the only instruction
		at := len(m) - len(d.lookups) - 12 - 1 - 1
		m[at] = i
		return m
	}
	return d
}

func lookupCases(b *caseBook) {
	table := addressOf("table")
	with := func(a account) accounts { return accounts{table: a} }
	plain := aTable(&alice, nil, carol, bob, mallory, theMint)
	b.addDrafts("recipient from a table", "null", with(plain), toLooked(looked(table, []byte{1}, nil), 2))
	b.addDrafts("second recipient from a table", "null", with(plain), toLooked(looked(table, []byte{1, 2}, nil), 3))
	b.addDrafts("read-only recipient from a table", instr(0, "ReadonlyLamportChange"), with(plain), toLooked(looked(table, nil, []byte{1}), 2))
	b.addDrafts("writable before read-only", "null", with(plain), toLooked(looked(table, []byte{2}, []byte{1, 3}), 2))
	b.addDrafts("unused addresses of a table", "null", with(plain), looked(table, []byte{2}, []byte{0}))
	b.addDrafts("index beyond the table", quoted("InvalidAddressLookupTableIndex"), with(plain), looked(table, []byte{4}, nil))
	b.addDrafts("table that is not there", quoted("AddressLookupTableNotFound"), nil, looked(table, []byte{0}, nil))
	b.addDrafts("table of another program", quoted("InvalidAddressLookupTableOwner"), with(rented(tokenProgram, plain.Data)), looked(table, []byte{0}, nil))
	b.addDrafts("table of garbage", quoted("InvalidAddressLookupTableData"), with(rented(lookupProgram, []byte("garbage that is long enough to be a table's first part ......"))), looked(table, []byte{0}, nil))
	b.addDrafts("table that is empty data", quoted("InvalidAddressLookupTableData"), with(rented(lookupProgram, make([]byte, tableMeta))), looked(table, []byte{0}, nil))
	b.addDrafts("table with half an address", quoted("InvalidAddressLookupTableData"), with(rented(lookupProgram, plain.Data[:len(plain.Data)-3])), looked(table, []byte{0}, nil))
	b.addDrafts("payer twice by a table", quoted("AccountLoadedTwice"), with(aTable(&alice, nil, alice)), looked(table, []byte{0}, nil))
	b.addDrafts("address twice by a table", quoted("AccountLoadedTwice"), with(plain), looked(table, []byte{0, 0}, nil))
	b.addDrafts("program from a table", "null", with(aTable(&alice, nil, memoV3)), looked(table, nil, []byte{0}))
	b.addDrafts("sysvar written by a table", "null", with(aTable(&alice, nil, rentSysvar, bob)), looked(table, []byte{0}, nil))
	slot := b.lite.slot
	b.addDrafts("address added in this slot", quoted("InvalidAddressLookupTableIndex"), with(aTable(&alice, func(t *lookupTable) { t.Extended, t.Before = slot, 2 }, carol, mallory, theMint)), looked(table, []byte{2}, nil))
	b.addDrafts("address added before this slot's", "null", with(aTable(&alice, func(t *lookupTable) { t.Extended, t.Before = slot, 2 }, carol, mallory, theMint)), looked(table, []byte{1}, nil))
	b.addDrafts("address added a slot ago", "null", with(aTable(&alice, func(t *lookupTable) { t.Extended, t.Before = slot-1, 2 }, carol, mallory, theMint)), looked(table, []byte{2}, nil))
	deactivated := func(at uint64) account {
		return aTable(&alice, func(t *lookupTable) { t.Deactivated = at }, carol, mallory, theMint)
	}
	b.addDrafts("table deactivated now", "null", with(deactivated(slot)), looked(table, []byte{2}, nil))
	b.addDrafts("table deactivated lately", "null", with(deactivated(slot-512)), looked(table, []byte{2}, nil))
	b.addDrafts("table deactivated long ago", quoted("AddressLookupTableNotFound"), with(deactivated(slot-513)), looked(table, []byte{2}, nil))
	b.addDrafts("table without authority", "null", with(aTable(nil, nil, carol)), looked(table, []byte{0}, nil))

	// The program.
	seeds := func(authority address, at uint64) (address, byte) {
		key, bump, _ := findDerived(lookupProgram, authority[:], binary.LittleEndian.AppendUint64(nil, at))
		return key, bump
	}
	born, bump := seeds(alice, slot-1)
	create := func(at uint64, bump byte, table, authority address) call {
		return call{lookupProgram, []meta{w(table), r(authority), {alice, "sw"}, r(systemProgram)}, pack(uint32(0), at, bump)}
	}
	extend := func(table address, by address, keys ...address) call {
		data := pack(uint32(2), uint64(len(keys)))
		for _, k := range keys {
			data = append(data, k[:]...)
		}
		return call{lookupProgram, []meta{w(table), s(by), {alice, "sw"}, r(systemProgram)}, data}
	}
	simple := func(kind uint32, table, by address) call {
		return call{lookupProgram, []meta{w(table), s(by)}, pack(kind)}
	}
	closing := func(table, by, to address) call {
		return call{lookupProgram, []meta{w(table), s(by), w(to)}, pack(uint32(4))}
	}
	b.add("create", "null", nil, create(slot-1, bump, born, alice))
	b.add("create again", "null", nil, create(slot-1, bump, born, alice), create(slot-1, bump, born, alice))
	b.add("create for somebody else", "null", nil, func() call { k, n := seeds(bob, slot-9); return create(slot-9, n, k, bob) }())
	b.add("create in this very slot", instr(0, "InvalidInstructionData"), nil, func() call { k, n := seeds(alice, slot); return create(slot, n, k, alice) }())
	b.add("create in a slot long ago", instr(0, "InvalidInstructionData"), nil, func() call { k, n := seeds(alice, slot-513); return create(slot-513, n, k, alice) }())
	b.add("create elsewhere", instr(0, "InvalidArgument"), nil, create(slot-1, bump, fresh, alice))
	b.add("create over lamports", "null", accounts{born: {Lamports: 777}}, create(slot-1, bump, born, alice))
	b.add("create, payer not signing", instr(0, "MissingRequiredSignature"), nil,
		call{lookupProgram, []meta{w(born), r(alice), w(bob), r(systemProgram)}, pack(uint32(0), slot-1, bump)})
	b.add("create, two accounts", instr(0, "NotEnoughAccountKeys"), nil, call{lookupProgram, []meta{w(born), r(alice)}, pack(uint32(0), slot-1, bump)})
	b.add("create, data cut", instr(0, "InvalidInstructionData"), nil, call{lookupProgram, []meta{w(born), r(alice)}, pack(uint32(0), slot-1)})
	b.add("create and extend", "null", nil, create(slot-1, bump, born, alice), extend(born, alice, bob, carol))
	b.addDrafts("create, extend, use too early", quoted("InvalidAddressLookupTableIndex"), nil,
		draft{calls: []call{create(slot-1, bump, born, alice), extend(born, alice, bob, carol)}}, looked(born, []byte{0}, nil))
	b.add("extend", "null", with(plain), extend(table, alice, fresh))
	b.add("extend twice in a slot", "null", with(plain), extend(table, alice, fresh), extend(table, alice, to))
	b.add("extend with nothing", instr(0, "InvalidInstructionData"), with(plain), extend(table, alice))
	b.add("extend by a stranger", instr(0, "IncorrectAuthority"), with(plain), extend(table, bob, fresh))
	b.add("extend frozen", instr(0, "Immutable"), with(aTable(nil, nil, carol)), extend(table, alice, fresh))
	b.add("extend deactivated", instr(0, "InvalidArgument"), with(deactivated(slot-1)), extend(table, alice, fresh))
	b.add("extend full", instr(0, "InvalidArgument"), with(aTable(&alice, nil, make([]address, 256)...)), extend(table, alice, fresh))
	b.add("extend over the top", instr(0, "InvalidInstructionData"), with(aTable(&alice, nil, make([]address, 255)...)), extend(table, alice, fresh, to))
	b.add("extend with absurd length", instr(0, "InvalidInstructionData"), with(plain),
		call{lookupProgram, []meta{w(table), s(alice), {alice, "sw"}, r(systemProgram)}, pack(uint32(2), uint64(math.MaxUint64))})
	b.add("extend read-only", customError(0, 10), with(plain),
		call{lookupProgram, []meta{r(table), s(alice), {alice, "sw"}, r(systemProgram)}, append(pack(uint32(2), uint64(1)), bob[:]...)})
	b.add("extend another program's", instr(0, "InvalidAccountOwner"), with(rented(tokenProgram, plain.Data)), extend(table, alice, fresh))
	b.add("extend without payer", instr(0, "NotEnoughAccountKeys"), with(plain),
		call{lookupProgram, []meta{w(table), s(alice)}, append(pack(uint32(2), uint64(1)), bob[:]...)})
	b.add("freeze", "null", with(plain), simple(1, table, alice))
	b.add("freeze empty", instr(0, "InvalidInstructionData"), with(aTable(&alice, nil)), simple(1, table, alice))
	b.add("freeze twice", instr(1, "Immutable"), with(plain), simple(1, table, alice), simple(1, table, alice))
	b.add("deactivate", "null", with(plain), simple(3, table, alice))
	b.add("deactivate twice", instr(1, "InvalidArgument"), with(plain), simple(3, table, alice), simple(3, table, alice))
	b.add("close", "null", with(deactivated(slot-600)), closing(table, alice, bob))
	b.add("close too early", instr(0, "InvalidArgument"), with(deactivated(slot-10)), closing(table, alice, bob))
	b.add("close in the slot of deactivation", instr(0, "InvalidArgument"), with(deactivated(slot)), closing(table, alice, bob))
	b.add("close active", instr(0, "InvalidArgument"), with(plain), closing(table, alice, bob))
	b.add("close to itself", instr(0, "InvalidArgument"), with(deactivated(slot-600)), closing(table, alice, table))
	b.add("close by a stranger", instr(0, "IncorrectAuthority"), with(deactivated(slot-600)), closing(table, bob, bob))
	b.add("unknown instruction", instr(0, "InvalidInstructionData"), with(plain), simple(9, table, alice))
	b.add("no data", instr(0, "InvalidInstructionData"), with(plain), call{lookupProgram, []meta{w(table)}, nil})

	// Tokens by a table, as wallets and routers send them.
	keys := []address{from, to, theMint}
	b.addDrafts("tokens whose mint stands in a table", "null", with(aTable(nil, nil, keys...)),
		draft{versioned: true, lookups: join([]byte{1}, table[:], []byte{0, 1, 2}), calls: []call{transferChecked(b.program, from, theMint, to, alice, 5, 6)},
			message: nil}).want = quoted("AccountLoadedTwice")
}
