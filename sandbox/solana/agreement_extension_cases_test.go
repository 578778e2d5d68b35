package solana

import "math"

func associatedCases(b *caseBook) {
	p := b.program
	ata := first(associatedAddress(bob, p, theMint))
	twice := customError(1, 0)
	for name, data := range map[string][]byte{"create": nil, "create by number": {0}, "create idempotent": {1}} {
		b.add(name, "null", nil, createATA(data, alice, bob, theMint, p))
		b.add(name+" over lamports", "null", accounts{ata: {Lamports: 5000}}, createATA(data, alice, bob, theMint, p))
		b.add(name+" over enough lamports", "null", accounts{ata: {Lamports: sol}}, createATA(data, alice, bob, theMint, p))
		b.add(name+" at the wrong address", instr(0, "InvalidSeeds"), nil,
			call{associatedProgram, []meta{{alice, "sw"}, w(fresh), r(bob), r(theMint), r(systemProgram), r(p)}, data})
		b.add(name+" without mint", instr(0, "IncorrectProgramId"), accounts{theMint: {}}, createATA(data, alice, bob, theMint, p))
		b.add(name+" with a payer too poor", customError(0, 1), accounts{carol: {Lamports: 1000}}, createATA(data, carol, bob, theMint, p))
		b.add(name+" with five accounts", instr(0, "NotEnoughAccountKeys"), nil,
			call{associatedProgram, []meta{{alice, "sw"}, w(ata), r(bob), r(theMint), r(systemProgram)}, data})
		b.add(name+" with a payer who does not sign", instr(0, "PrivilegeEscalation"), nil,
			call{associatedProgram, []meta{w(mallory), w(ata), r(bob), r(theMint), r(systemProgram), r(p)}, data})
		b.add(name+" read-only", instr(0, "PrivilegeEscalation"), nil,
			call{associatedProgram, []meta{{alice, "sw"}, r(ata), r(bob), r(theMint), r(systemProgram), r(p)}, data})
		b.add(name+" without the System program", instr(0, "MissingAccount"), nil,
			call{associatedProgram, []meta{{alice, "sw"}, w(ata), r(bob), r(theMint), r(rentSysvar), r(p)}, data})
		b.add(name+" for another program's mint", "", accounts{theMint: aMint(otherProgram(p), mallory, 1)}, createATA(data, alice, bob, theMint, p)).want = instr(0, "IncorrectProgramId")
		b.add(name+" of a program that is none", instr(0, "IncorrectProgramId"), nil, createATA(data, alice, bob, theMint, memoV3))
		b.add(name+" where another program sits", instr(0, "IllegalOwner"), accounts{ata: rented(mallory, make([]byte, 3))}, createATA(data, alice, bob, theMint, p))
		b.add(name+" where half an account sits", instr(0, "IllegalOwner"), accounts{ata: rented(p, make([]byte, accountSize))}, createATA(data, alice, bob, theMint, p))
		b.add(name+" and send", "null", nil, createATA(data, alice, bob, theMint, p), transferChecked(p, from, theMint, ata, alice, 3, 6))
		b.add(name+" for an off-curve wallet", "null", nil, createATA(data, alice, ata, theMint, p))
	}
	b.add("create twice", twice, nil, createATA(nil, alice, bob, theMint, p), createATA(nil, alice, bob, theMint, p)).want = instr(1, "IllegalOwner")
	b.add("create idempotent twice", "null", nil, createATA([]byte{1}, alice, bob, theMint, p), createATA([]byte{1}, alice, bob, theMint, p))
	b.add("create idempotent over another owner's", customError(0, 0), accounts{ata: aHolding(p, theMint, mallory, 4)}, createATA([]byte{1}, alice, bob, theMint, p))
	b.add("create idempotent over another mint's", instr(0, "InvalidAccountData"), accounts{ata: aHolding(p, otherMint, bob, 4)}, createATA([]byte{1}, alice, bob, theMint, p))
	b.add("create by an unknown number", instr(0, "InvalidInstructionData"), nil, createATA([]byte{3}, alice, bob, theMint, p))
	b.add("create with data to spare", instr(0, "InvalidInstructionData"), nil, createATA([]byte{1, 1}, alice, bob, theMint, p))
	b.add("create by a price", "null", nil, unitLimit(100_000), unitPrice(1000), createATA([]byte{1}, alice, bob, theMint, p))
}

func otherProgram(p address) address {
	if p == tokenProgram {
		return token2022Program
	}
	return tokenProgram
}

// feeWorld is a mint with a fee of 2.5 percent, at most 40 units, and accounts that can hold it.
func feeWorld() accounts {
	p := token2022Program
	return accounts{
		theMint: aMint(p, mallory, 5000, feeExtension(mallory, mallory, 250, 40, 7)),
		from:    aHolding(p, theMint, alice, 3000, heldFee(11)),
		to:      aHolding(p, theMint, bob, 50, heldFee(3), extension{extImmutableOwner, nil}),
	}
}

func feeCases(b *caseBook) {
	p := b.program
	with := func(key address, a account) accounts {
		world := feeWorld()
		world[key] = a
		return world
	}
	checked := func(amount uint64) call { return transferChecked(p, from, theMint, to, alice, amount, 6) }
	withFee := func(amount, fee uint64) call {
		return tokenCall(p, pack(byte(26), byte(1), amount, byte(6), fee), w(from), r(theMint), w(to), s(alice))
	}
	b.add("fee withheld", "null", feeWorld(), checked(1000))
	b.add("fee rounded up", "null", feeWorld(), checked(1))
	b.add("fee at its maximum", "null", feeWorld(), checked(3000))
	b.add("fee of nothing", "null", feeWorld(), checked(0))
	b.add("fee of a transfer to oneself", "null", feeWorld(), transferChecked(p, from, theMint, from, alice, 100, 6))
	b.add("fee, unchecked", customError(0, 31), feeWorld(), transferTokens(p, from, to, alice, 10))
	b.add("fee as expected", "null", feeWorld(), withFee(1000, 25))
	b.add("fee unlike expected", customError(0, 32), feeWorld(), withFee(1000, 24))
	b.add("fee expected where none is", "null", nil, withFee(1000, 0))
	b.add("fee expected in vain", customError(0, 32), nil, withFee(1000, 1))
	b.add("fee to an account without room", customError(0, 13), with(to, aHolding(p, theMint, bob, 0)), checked(1000))
	b.add("fee by a delegate", "null", with(from, aHolding(p, theMint, alice, 3000, heldFee(0)).changed(delegated(bob, 500))),
		transferChecked(p, from, theMint, to, bob, 500, 6))
	later := feeWorld()[theMint].changed(func(h tokenAccount) { writeFee(h[extensionsAt+4+feeNewerAt:], 3, 999, 5000) })
	b.add("fee of a later epoch", "null", with(theMint, later), checked(1000))
	set := func(points uint16, most uint64) call {
		return tokenCall(p, join([]byte{26, 5}, u16(points), pack(most)), w(theMint), s(mallory))
	}
	b.add("set fee", "null", feeWorld(), set(100, 5))
	b.add("set fee twice", "null", feeWorld(), set(100, 5), set(200, 6), checked(1000))
	b.add("set fee too high", customError(0, 30), feeWorld(), set(10_001, 5))
	b.add("set fee by a stranger", customError(0, 4), feeWorld(), tokenCall(p, join([]byte{26, 5}, u16(1), pack(uint64(1))), w(theMint), s(bob)))
	b.add("set fee of a plain mint", "", nil, set(1, 1)).want = instr(0, "InvalidAccountData")
	b.add("set fee, data cut", customError(0, 12), feeWorld(), tokenCall(p, []byte{26, 5, 1}, w(theMint), s(mallory)))
	b.add("unknown fee instruction", customError(0, 12), feeWorld(), tokenCall(p, []byte{26, 9}, w(theMint), s(mallory)))
	b.add("fee instruction without number", customError(0, 12), feeWorld(), tokenCall(p, []byte{26}, w(theMint), s(mallory)))
	b.add("harvest", "null", feeWorld(), tokenCall(p, []byte{26, 4}, w(theMint), w(from), w(to)))
	b.add("harvest from the mint itself", instr(0, "ProgramFailedToComplete"), feeWorld(), tokenCall(p, []byte{26, 4}, w(theMint), w(from), w(theMint)))
	b.add("withdraw from the mint as an account", instr(0, "ProgramFailedToComplete"), feeWorld(), tokenCall(p, []byte{26, 3, 1}, r(theMint), w(to), s(mallory), r(theMint)))
	b.add("harvest the wrong ones", "null", with(fresh, aHolding(p, otherMint, bob, 0, heldFee(5))),
		tokenCall(p, []byte{26, 4}, w(theMint), w(from), w(fresh), w(bob)))
	b.add("withdraw from the mint", "null", feeWorld(), tokenCall(p, []byte{26, 2}, w(theMint), w(to), s(mallory)))
	b.add("withdraw from the mint by a stranger", customError(0, 4), feeWorld(), tokenCall(p, []byte{26, 2}, w(theMint), w(to), s(bob)))
	b.add("withdraw from accounts", "null", feeWorld(), tokenCall(p, []byte{26, 3, 2}, r(theMint), w(to), s(mallory), w(from), w(to)))
	b.add("withdraw to a frozen account", customError(0, 17), with(to, feeWorld()[to].changed(frozenState)), tokenCall(p, []byte{26, 2}, w(theMint), w(to), s(mallory)))
	b.add("harvest, withdraw, close", "null", with(from, aHolding(p, theMint, alice, 0, heldFee(11))),
		tokenCall(p, []byte{26, 4}, w(theMint), w(from)),
		tokenCall(p, []byte{26, 2}, w(theMint), w(to), s(mallory)),
		tokenCall(p, []byte{9}, w(from), w(alice), s(alice)))
	b.add("close with withheld fees", customError(0, 35), with(from, aHolding(p, theMint, alice, 0, heldFee(11))), tokenCall(p, []byte{9}, w(from), w(alice), s(alice)))
	b.add("associated account with a fee", "null", feeWorld(), createATA([]byte{1}, alice, carol, theMint, p),
		transferChecked(p, from, theMint, first(associatedAddress(carol, p, theMint)), alice, 1000, 6))
	hostile := feeWorld()[theMint].changed(func(h tokenAccount) { writeFee(h[extensionsAt+4+feeNewerAt:], 0, math.MaxUint64, 65535) })
	b.add("fee of a mad mint", customError(0, 14), with(theMint, hostile), checked(1000))
}

func extensionCases(b *caseBook) {
	p := b.program
	on, off := []byte{1}, []byte{0}
	checked := func(amount uint64) call { return transferChecked(p, from, theMint, to, alice, amount, 6) }

	// Memos.
	strict := accounts{to: aHolding(p, theMint, bob, 0, extension{extMemoTransfer, on})}
	b.add("memo missing", customError(0, 36), strict, checked(10))
	b.add("memo before", "null", strict, memoCall(memoV3, "rent"), checked(10))
	b.add("memo of version 4 before, which the program does not know", customError(1, 36), strict, memoCall(memoV4, "rent"), checked(10))
	b.add("memo v1 before", "null", strict, memoCall(memoV1, "rent"), checked(10))
	b.add("memo after", customError(0, 36), strict, checked(10), memoCall(memoV3, "rent"))
	b.add("memo too early", customError(2, 36), strict, memoCall(memoV3, "rent"), transferTo(alice, bob, 1), checked(10))
	b.add("memo for two transfers", customError(2, 36), strict, memoCall(memoV3, "rent"), checked(10), checked(11))
	b.add("memo before an unchecked transfer", "null", strict, memoCall(memoV3, "rent"), transferTokens(p, from, to, alice, 5))
	b.add("memo not wanted any more", "null", accounts{to: aHolding(p, theMint, bob, 0, extension{extMemoTransfer, off})}, checked(10))
	b.add("memo wanted from oneself", customError(0, 36), accounts{from: aHolding(p, theMint, alice, 9, extension{extMemoTransfer, on})},
		transferTokens(p, from, from, alice, 5))
	b.add("memo between an account's creation and a transfer", "null", strict, createATA([]byte{1}, alice, bob, theMint, p), memoCall(memoV3, "x"), checked(1))
	toggle := func(kind, state byte, by address) call { return tokenCall(p, []byte{kind, state}, w(from), s(by)) }
	roomy := accounts{from: aHolding(p, theMint, alice, 9, extension{extImmutableOwner, nil}, extension{extMemoTransfer, off})}
	b.add("memo required", "null", roomy, toggle(30, 0, alice))
	b.add("memo required by a stranger", customError(0, 4), roomy, toggle(30, 0, bob))
	b.add("memo required without room", instr(0, "InvalidAccountData"), nil, toggle(30, 0, alice))
	b.add("memo required and not", "null", roomy, toggle(30, 0, alice), toggle(30, 1, alice))
	b.add("memo required, unknown", customError(0, 12), roomy, toggle(30, 5, alice))
	grow := func(kinds ...uint16) call {
		data := []byte{29}
		for _, k := range kinds {
			data = append(data, u16(k)...)
		}
		return tokenCall(p, data, w(from), meta{alice, "sw"}, r(systemProgram), s(alice))
	}
	b.add("reallocate", "null", nil, grow(extMemoTransfer))
	b.add("reallocate and require memos", "null", nil, grow(extMemoTransfer), toggle(30, 0, alice))
	b.add("reallocate for two", "null", nil, grow(extMemoTransfer, extCPIGuard), toggle(30, 0, alice), toggle(34, 0, alice))
	b.add("reallocate for what is there", "null", roomy, grow(extMemoTransfer))
	b.add("reallocate twice", "null", nil, grow(extMemoTransfer), grow(extMemoTransfer))
	b.add("reallocate for a mint's extension", customError(0, 13), nil, grow(extTransferFeeConfig))
	b.add("reallocate for the unknown", instr(0, "InvalidAccountData"), nil, grow(77))
	b.add("reallocate another's", customError(0, 4), nil, tokenCall(p, []byte{29, 8, 0}, w(to), meta{alice, "sw"}, r(systemProgram), s(alice)))
	b.add("reallocate with rent to spare", "null", accounts{from: {Lamports: sol, Owner: p, Data: aHolding(p, theMint, alice, 9).Data}}, grow(extMemoTransfer))
	b.add("reallocate wrapped SOL", "null", accounts{nativeMint2022: rented(p, mintData(nil, 9)), from: aWrapped(p, nativeMint2022, alice, sol)}, grow(extMemoTransfer))

	// Immutable owners.
	bound := accounts{from: aHolding(p, theMint, alice, 9, extension{extImmutableOwner, nil})}
	b.add("immutable owner", customError(0, 34), bound, tokenCall(p, join([]byte{6, 2, 1}, carol[:]), w(from), s(alice)))
	b.add("immutable owner, closer set", "null", bound, tokenCall(p, join([]byte{6, 3, 1}, carol[:]), w(from), s(alice)))
	b.add("immutable owner initialized", "null", accounts{fresh: rented(p, make([]byte, extensionsAt+4))},
		tokenCall(p, []byte{22}, w(fresh)), tokenCall(p, append([]byte{18}, bob[:]...), w(fresh), r(theMint)))
	b.add("immutable owner too late", customError(0, 6), nil, tokenCall(p, []byte{22}, w(from)))
	b.add("immutable owner without room", instr(0, "InvalidAccountData"), accounts{fresh: rented(p, make([]byte, accountSize))}, tokenCall(p, []byte{22}, w(fresh)))

	// Non-transferable.
	soul := accounts{
		theMint: aMint(p, mallory, 100, extension{extNonTransferable, nil}),
		from:    aHolding(p, theMint, alice, 50, extension{extNonTransferableOwned, nil}, extension{extImmutableOwner, nil}),
		to:      aHolding(p, theMint, bob, 50, extension{extNonTransferableOwned, nil}, extension{extImmutableOwner, nil}),
	}
	b.add("non-transferable", customError(0, 37), soul, checked(1))
	b.add("non-transferable, unchecked", customError(0, 37), soul, transferTokens(p, from, to, alice, 1))
	b.add("non-transferable is minted", "null", soul, tokenCall(p, pack(byte(7), uint64(4)), w(theMint), w(to), s(mallory)))
	b.add("non-transferable is burnt", "null", soul, tokenCall(p, pack(byte(8), uint64(4)), w(from), w(theMint), s(alice)))
	b.add("non-transferable minted to a movable account", customError(0, 38), accounts{theMint: soul[theMint], to: aHolding(p, theMint, bob, 0)},
		tokenCall(p, pack(byte(7), uint64(4)), w(theMint), w(to), s(mallory)))
	b.add("non-transferable associated account", "null", soul, createATA([]byte{1}, alice, carol, theMint, p))

	// Permanent delegates.
	seized := accounts{theMint: aMint(p, mallory, 1050, keyExtension(extPermanentDelegate, mallory))}
	b.add("permanent delegate takes", "null", seized, transferChecked(p, from, theMint, to, mallory, 400, 6))
	b.add("permanent delegate takes, unchecked", customError(0, 4), seized, transferTokens(p, from, to, mallory, 400))
	b.add("permanent delegate burns", "null", seized, tokenCall(p, pack(byte(8), uint64(4)), w(from), w(theMint), s(mallory)))
	b.add("permanent delegate, owner still moves", "null", seized, checked(5))
	b.add("permanent delegate changes", "null", seized, tokenCall(p, join([]byte{6, 8, 1}, carol[:]), w(theMint), s(mallory)))
	b.add("permanent delegate resigns", "null", seized, tokenCall(p, []byte{6, 8, 0}, w(theMint), s(mallory)))
	b.add("permanent delegate becomes nobody's address", instr(0, "InvalidArgument"), seized, tokenCall(p, join([]byte{6, 8, 1}, make([]byte, 32)), w(theMint), s(mallory)))
	b.add("permanent delegate warned of", "null", seized, createATA([]byte{1}, alice, carol, theMint, p))

	// Default state.
	iced := accounts{theMint: aMint(p, mallory, 1050, extension{extDefaultState, []byte{2}})}
	b.add("default state frozen", "null", iced, createATA([]byte{1}, alice, carol, theMint, p))
	b.add("default state frozen, transfer", customError(1, 17), iced, createATA([]byte{1}, alice, carol, theMint, p),
		transferChecked(p, from, theMint, first(associatedAddress(carol, p, theMint)), alice, 1, 6))
	b.add("default state changes", "null", iced, tokenCall(p, []byte{28, 1, 1}, w(theMint), s(mallory)))
	b.add("default state changed by a stranger", customError(0, 4), iced, tokenCall(p, []byte{28, 1, 1}, w(theMint), s(bob)))
	b.add("default state of none", customError(0, 13), iced, tokenCall(p, []byte{28, 1, 0}, w(theMint), s(mallory)))
	b.add("default state of an unknown kind", customError(0, 12), iced, tokenCall(p, []byte{28, 1, 9}, w(theMint), s(mallory)))

	// Closing mints.
	b.add("close a mint", "null", accounts{theMint: aMint(p, mallory, 0, keyExtension(extMintCloseAuthority, carol))}, tokenCall(p, []byte{9}, w(theMint), w(bob), s(carol)))
	b.add("close a mint with supply", customError(0, 28), accounts{theMint: aMint(p, mallory, 1, keyExtension(extMintCloseAuthority, carol))}, tokenCall(p, []byte{9}, w(theMint), w(bob), s(carol)))
	b.add("close a mint by a stranger", customError(0, 4), accounts{theMint: aMint(p, mallory, 0, keyExtension(extMintCloseAuthority, carol))}, tokenCall(p, []byte{9}, w(theMint), w(bob), s(mallory)))
	b.add("close a plain mint", instr(0, "InvalidAccountData"), nil, tokenCall(p, []byte{9}, w(otherMint), w(bob), s(mallory)))
	b.add("closer of a mint changes", "null", accounts{theMint: aMint(p, mallory, 0, keyExtension(extMintCloseAuthority, carol))}, tokenCall(p, join([]byte{6, 6, 1}, bob[:]), w(theMint), s(carol)))

	// CPI guards.
	guarded := accounts{from: aHolding(p, theMint, alice, 9, extension{extCPIGuard, on})}
	b.add("guard lets its owner pay", "null", guarded, checked(5))
	b.add("guard keeps its owner", customError(0, 47), guarded, tokenCall(p, join([]byte{6, 2, 1}, carol[:]), w(from), s(alice)))
	b.add("guard switched off", "null", guarded, toggle(34, 1, alice))
	b.add("guard, approve", "null", guarded, tokenCall(p, pack(byte(4), uint64(1)), w(from), r(bob), s(alice)))

	// Transfer hooks.
	hooked := func(program address) accounts {
		return accounts{
			theMint: aMint(p, mallory, 1050, keyExtension(extTransferHook, mallory, program)),
			from:    aHolding(p, theMint, alice, 50, extension{extTransferHookAccount, off}),
			to:      aHolding(p, theMint, bob, 50, extension{extTransferHookAccount, off}),
		}
	}
	b.add("hook that the transaction does not bring", instr(0, "MissingAccount"), hooked(addressOf("hook")), checked(5))
	b.add("hook of an unchecked transfer", customError(0, 31), hooked(addressOf("hook")), transferTokens(p, from, to, alice, 5))
	b.add("hook not set", "null", hooked(address{}), checked(5))
	b.add("hook changes", "null", hooked(addressOf("hook")), tokenCall(p, append([]byte{36, 1}, carol[:]...), w(theMint), s(mallory)))
	b.add("hook that is the token program", instr(0, "IncorrectProgramId"), hooked(addressOf("hook")), tokenCall(p, append([]byte{36, 1}, p[:]...), w(theMint), s(mallory)))
	b.add("hook, associated account", "null", hooked(addressOf("hook")), createATA([]byte{1}, alice, carol, theMint, p))

	// Pausing, and data that nobody should have written.
	b.add("paused", customError(0, 67), accounts{
		theMint: aMint(p, mallory, 1050, extension{extPausable, append(mallory[:len(mallory):len(mallory)], 1)}),
		from:    aHolding(p, theMint, alice, 50, extension{extPausableAccount, nil}),
		to:      aHolding(p, theMint, bob, 50, extension{extPausableAccount, nil}),
	}, checked(5))
	b.add("metadata pointer changes", "null", accounts{theMint: aMint(p, mallory, 1, keyExtension(extMetadataPointer, mallory, theMint))},
		tokenCall(p, append([]byte{39, 1}, carol[:]...), w(theMint), s(mallory)))
	b.add("metadata pointer changed by a stranger", customError(0, 4), accounts{theMint: aMint(p, mallory, 1, keyExtension(extMetadataPointer, mallory, theMint))},
		tokenCall(p, append([]byte{39, 1}, carol[:]...), w(theMint), s(bob)))
	b.add("unknown extension in a mint", "", accounts{theMint: aMint(p, mallory, 1050, extension{999, []byte("??")})}, checked(5)).want = "null"
	b.add("unknown extension in an account", "", accounts{from: aHolding(p, theMint, alice, 50, extension{999, []byte("??")})}, checked(5)).want = "null"
	b.add("extensions cut", "", accounts{to: aHolding(p, theMint, bob, 50, extension{extMemoTransfer, on}).changed(func(h tokenAccount) { h[extensionsAt+2] = 200 })}, checked(5)).want = "null"
	b.add("account that says it is a mint", instr(0, "InvalidAccountData"), accounts{to: aHolding(p, theMint, bob, 50, extension{extMemoTransfer, on}).changed(func(h tokenAccount) { h[kindAt] = kindMint })}, checked(5))
	b.add("account of a multisig's size", instr(0, "InvalidAccountData"), accounts{to: rented(p, append(aHolding(p, theMint, bob, 5).Data, make([]byte, multisigSize-accountSize)...))}, checked(5))
	b.add("mint with 255 decimals", "null", accounts{theMint: rented(p, mintData(&mallory, 255))}, transferChecked(p, from, theMint, to, alice, 5, 255))
}

func initExtensionCases(b *caseBook) {
	p := b.program
	room := func(sizes ...int) accounts {
		n := extensionsAt
		for _, size := range sizes {
			n += 4 + size
		}
		return accounts{fresh: rented(p, make([]byte, n))}
	}
	init := tokenCall(p, join([]byte{20, 6}, mallory[:], []byte{1}, mallory[:]), w(fresh))
	noFreezer := tokenCall(p, join([]byte{20, 6}, mallory[:], []byte{0}), w(fresh))
	on := func(data ...byte) call { return tokenCall(p, data, w(fresh)) }
	fee := on(join([]byte{26, 0, 1}, mallory[:], []byte{1}, bob[:], u16(100), pack(uint64(9)))...)
	b.add("new mint with a fee", "null", room(108), fee, init)
	b.add("new mint with a fee that nobody may change", "null", room(108), on(join([]byte{26, 0, 0, 0}, u16(100), pack(uint64(9)))...), init)
	b.add("new mint with too high a fee", customError(0, 30), room(108), on(join([]byte{26, 0, 0, 0}, u16(20_000), pack(uint64(9)))...), init)
	b.add("new mint with a fee, data cut", customError(0, 12), room(108), on(26, 0, 1, 2), init)
	b.add("new mint with a fee after its initialization", customError(1, 6), accounts{fresh: rented(p, make([]byte, mintSize))}, init, fee)
	b.add("new mint with a fee without room", instr(0, "InvalidAccountData"), accounts{fresh: rented(p, make([]byte, mintSize))}, fee)
	b.add("new mint with more room than extensions", instr(1, "InvalidAccountData"), room(108, 50), fee, init)
	b.add("new mint of an account's size", instr(0, "InvalidAccountData"), accounts{fresh: rented(p, make([]byte, accountSize))}, init)
	b.add("new mint with a closer", "null", room(32), on(append([]byte{25, 1}, carol[:]...)...), init)
	b.add("new mint without a closer", "null", room(32), on(25, 0), init)
	b.add("new mint with half a closer", instr(0, "InvalidInstructionData"), room(32), on(25, 1, 3), init)
	b.add("new mint, frozen by default", "null", room(1), on(28, 0, 2), init)
	b.add("new mint, frozen by default, no freezer", customError(1, 16), room(1), on(28, 0, 2), noFreezer)
	b.add("new mint, ready by default", "null", room(1), on(28, 0, 1), noFreezer)
	b.add("new mint, nothing by default", customError(0, 13), room(1), on(28, 0, 0), init)
	b.add("new mint, non-transferable", "null", room(0), on(32), init)
	b.add("new mint with a permanent delegate", "null", room(32), on(append([]byte{35}, carol[:]...)...), init)
	b.add("new mint with a permanent delegate of zeros", instr(0, "InvalidArgument"), room(32), on(append([]byte{35}, make([]byte, 32)...)...), init)
	b.add("new mint with a hook", "null", room(64), on(join([]byte{36, 0}, mallory[:], carol[:])...), init)
	b.add("new mint with no hook at all", customError(0, 12), room(64), on(join([]byte{36, 0}, make([]byte, 64))...), init)
	b.add("new mint with itself as hook program", instr(0, "IncorrectProgramId"), room(64), on(join([]byte{36, 0}, mallory[:], p[:])...), init)
	b.add("new mint with a metadata pointer", "null", room(64), on(join([]byte{39, 0}, mallory[:], fresh[:])...), init)
	b.add("new mint with no metadata at all", customError(0, 12), room(64), on(join([]byte{39, 0}, make([]byte, 64))...), init)
	b.add("new mint with a metadata pointer, data cut", instr(0, "InvalidInstructionData"), room(64), on(39, 0, 1), init)
	b.add("new mint with three extensions", "null", room(108, 32, 0), fee, on(append([]byte{25, 1}, carol[:]...)...), on(32), init)
	b.add("new mint with a fee twice", "null", room(108), fee, fee, init)
	b.add("new mint of somebody else", "", accounts{fresh: rented(bob, make([]byte, extensionsAt+4+32))}, on(append([]byte{25, 1}, carol[:]...)...)).want = instr(0, "IncorrectProgramId")
	b.add("new account with room to spare", "null", accounts{fresh: rented(p, make([]byte, extensionsAt+50))}, tokenCall(p, append([]byte{18}, bob[:]...), w(fresh), r(theMint)))
	fees := feeWorld()
	fees[fresh] = rented(p, make([]byte, accountSize))
	b.add("new account without room for its mint's fees", instr(0, "InvalidAccountData"), fees, tokenCall(p, append([]byte{18}, bob[:]...), w(fresh), r(theMint)))
	b.add("account data size with fees", "null", feeWorld(), tokenCall(p, []byte{21}, r(theMint)))
	b.add("account data size with more", "null", feeWorld(), tokenCall(p, []byte{21, 7, 0, 8, 0, 7, 0}, r(theMint)))
	b.add("account data size of a mint's extension", customError(0, 20), nil, tokenCall(p, []byte{21, 1, 0}, r(theMint)))
	b.add("account data size of the unknown", instr(0, "InvalidAccountData"), nil, tokenCall(p, []byte{21, 99, 9}, r(theMint)))
	b.add("account data size of half a number", instr(0, "InvalidAccountData"), nil, tokenCall(p, []byte{21, 7}, r(theMint)))
}
