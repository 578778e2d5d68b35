package solana

// orderCases have two faults each: which one a Token-2022 instruction names tells the order of its
// checks. The random transactions found them; here they keep a name.
func orderCases(b *caseBook) {
	p, other := b.program, tokenProgram
	foreign := aHolding(other, theMint, bob, 50)
	foreignMint := aMint(other, mallory, 1050)
	wrong := instr(0, "IncorrectProgramId")
	checked := func(amount uint64) call { return transferChecked(p, from, theMint, to, alice, amount, 6) }

	b.add("too much, to another program's account", wrong, accounts{to: foreign}, checked(1001))
	b.add("too much, of another program's mint", customError(0, 1), accounts{theMint: foreignMint}, checked(1001))
	b.add("of another program's mint that is not the account's", wrong, accounts{otherMint: foreignMint},
		transferChecked(p, from, otherMint, to, alice, 1, 6))
	b.add("frozen, of another program's mint", customError(0, 17),
		accounts{theMint: foreignMint, from: aHolding(p, theMint, alice, 9).changed(frozenState)}, checked(1))
	b.add("burn of another program's mint, without authority", wrong, accounts{theMint: foreignMint},
		tokenCall(p, pack(byte(8), uint64(1)), w(from), w(theMint)))
	b.add("burn of one's mint, without authority", instr(0, "NotEnoughAccountKeys"), nil,
		tokenCall(p, pack(byte(8), uint64(1)), w(from), w(theMint)))
	b.add("approval in another program's account, without authority", wrong, accounts{from: foreign},
		tokenCall(p, pack(byte(4), uint64(1)), w(from), r(bob)))
	b.add("approval of another program's mint that is not the account's", wrong, accounts{otherMint: foreignMint},
		tokenCall(p, pack(byte(13), uint64(1), byte(6)), w(from), r(otherMint), r(bob), s(alice)))
	b.add("account of another program, without rent's", wrong, accounts{fresh: rented(other, make([]byte, accountSize))},
		tokenCall(p, []byte{1}, w(fresh), r(theMint), r(alice)))
	b.add("account in use, of another program's mint", wrong, accounts{theMint: foreignMint},
		tokenCall(p, []byte{1}, w(from), r(theMint), r(alice), r(rentSysvar)))
	b.add("mint of another program, without rent's", wrong, accounts{fresh: rented(other, make([]byte, mintSize))},
		tokenCall(p, join([]byte{0, 6}, alice[:], []byte{0}), w(fresh)))
	b.add("fees of a mint without any, to another program's account", wrong, accounts{to: foreign},
		tokenCall(p, []byte{26, 2}, w(theMint), w(to), s(mallory)))
	b.add("fees harvested from another program's account of another mint", "null",
		accounts{theMint: feeWorld()[theMint], to: aHolding(other, otherMint, bob, 50)},
		tokenCall(p, []byte{26, 4}, w(theMint), w(to)))
	b.add("memos required without saying", instr(0, "InvalidInstructionData"), nil, tokenCall(p, []byte{30}, w(from), s(alice)))
	b.add("memos required by an unknown number", customError(0, 12), nil, tokenCall(p, []byte{30, 2}, w(from), s(alice)))
	b.add("room made in a read-only account", instr(0, "PrivilegeEscalation"), nil,
		tokenCall(p, []byte{29, extMemoTransfer, 0}, r(from), meta{alice, "sw"}, r(systemProgram), s(alice)))
	private := func(allowed byte) accounts {
		value := make([]byte, 295)
		value[262] = allowed
		return accounts{to: aHolding(p, theMint, bob, 50, extension{extConfidentialAccount, value})}
	}
	b.add("to an account that takes confidential transfers only", customError(0, 49), private(0), checked(1))
	b.add("to an account that takes confidential transfers too", "null", private(1), checked(1))
	hooked := accounts{
		theMint: aMint(p, mallory, 1050, keyExtension(extTransferHook, mallory, alice)),
		from:    aHolding(p, theMint, alice, 50, extension{extTransferHookAccount, []byte{0}}),
		to:      aHolding(p, theMint, bob, 50, extension{extTransferHookAccount, []byte{0}}),
	}
	b.add("hook that is the payer", instr(0, "UnsupportedProgramId"), hooked, checked(1))

	b.program, b.prefix = tokenProgram, "order, token: "
	p = tokenProgram
	half := accounts{from: rented(p, make([]byte, 12))}
	b.add("revocation in half an account, without authority", instr(0, "InvalidAccountData"), half, tokenCall(p, []byte{5}, w(from)))
	b.add("revocation in a frozen account, without authority", instr(0, "NotEnoughAccountKeys"),
		accounts{from: aHolding(p, theMint, alice, 9).changed(frozenState)}, tokenCall(p, []byte{5}, w(from)))
}
