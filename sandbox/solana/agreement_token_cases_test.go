package solana

import "math"

// tokenCases are the cases of the token programs, the associated account program and the lookup
// tables. alice and bob have 10 SOL each; mint belongs to mallory; alice's account from holds 1000
// units, bob's account to holds 50.
func tokenCases(lite *liteSVM) []agreementCase {
	b := &caseBook{lite: lite}
	for _, program := range []address{tokenProgram, token2022Program} {
		b.prefix, b.program = "token: ", program
		if program == token2022Program {
			b.prefix = "token-2022: "
		}
		baseTokenCases(b)
		nativeCases(b)
		associatedCases(b)
	}
	b.prefix, b.program = "extensions: ", token2022Program
	feeCases(b)
	extensionCases(b)
	initExtensionCases(b)
	b.prefix = "order: "
	orderCases(b)
	b.prefix, b.program = "lookup: ", tokenProgram
	lookupCases(b)
	return b.cases
}

// caseBook collects cases.
type caseBook struct {
	lite    *liteSVM
	prefix  string
	program address
	cases   []agreementCase
}

var (
	alice, bob, carol, mallory = addressOf("alice"), addressOf("bob"), addressOf("carol"), addressOf("mallory")
	theMint, otherMint         = addressOf("mint"), addressOf("other mint")
	from, to                   = addressOf("from"), addressOf("to")
	fresh                      = addressOf("fresh")
)

// add notes a case: accounts besides the usual ones, and calls signed by everybody.
func (b *caseBook) add(name, want string, change map[address]account, calls ...call) *agreementCase {
	return b.addDrafts(name, want, change, draft{calls: calls})
}

func (b *caseBook) addDrafts(name, want string, change map[address]account, drafts ...draft) *agreementCase {
	c := agreementCase{name: b.prefix + name, want: want, accounts: map[address]account{
		alice:     {Lamports: 10 * sol},
		bob:       {Lamports: 10 * sol},
		mallory:   {Lamports: 10 * sol},
		theMint:   aMint(b.program, mallory, 1050),
		otherMint: aMint(b.program, mallory, 500),
		from:      aHolding(b.program, theMint, alice, 1000),
		to:        aHolding(b.program, theMint, bob, 50),
	}}
	for key, a := range change {
		c.accounts[key] = a
	}
	for _, d := range drafts {
		d.payer, d.blockhash = "alice", b.lite.blockhash
		d.signers = []string{"bob", "carol", "mallory", "fresh", "from", "to", "mint"}
		c.wires = append(c.wires, d.bytes())
	}
	b.cases = append(b.cases, c)
	return &b.cases[len(b.cases)-1]
}

type accounts = map[address]account

func baseTokenCases(b *caseBook) {
	p := b.program
	own := func(amount uint64, change func(tokenAccount)) accounts {
		return accounts{from: aHolding(p, theMint, alice, amount).changed(change)}
	}
	pay := func(amount uint64) call { return transferTokens(p, from, to, alice, amount) }
	checked := func(amount uint64, decimals byte) call {
		return transferChecked(p, from, theMint, to, alice, amount, decimals)
	}
	foreign, overflow, wallet := "ExternalAccountDataModified", "null", "InvalidAccountData"
	garbage, lamports, init := "InvalidAccountData", "ExternalAccountLamportSpend", "ExternalAccountDataModified"
	malformed, badTypes := customError(0, 12), customError(0, 12)
	if p == token2022Program {
		foreign, malformed = "IncorrectProgramId", instr(0, "InvalidInstructionData")
		overflow, wallet, garbage = customError(0, 14), "IncorrectProgramId", "UninitializedAccount"
		lamports, init = "IncorrectProgramId", "IncorrectProgramId"
	}

	b.add("transfer", "null", nil, pay(10))
	b.add("transfer of everything", "null", nil, pay(1000))
	b.add("transfer of nothing", "null", nil, pay(0))
	b.add("transfer of too much", customError(0, 1), nil, pay(1001))
	b.add("transfer to oneself", "null", nil, transferTokens(p, from, from, alice, 10))
	b.add("transfer to oneself of too much", customError(0, 1), nil, transferTokens(p, from, from, alice, 1001))
	b.add("transfer by a stranger", customError(0, 4), nil, transferTokens(p, from, to, bob, 10))
	b.add("transfer without signature", instr(0, "MissingRequiredSignature"), nil,
		transferTokens(p, to, from, alice, 0), tokenCall(p, pack(byte(3), uint64(1)), w(to), w(from), r(bob))).want = customError(0, 4)
	b.add("owner who does not sign", instr(0, "MissingRequiredSignature"), nil,
		tokenCall(p, pack(byte(3), uint64(1)), w(to), w(from), r(bob)))
	b.add("transfer to another mint's account", customError(0, 3), accounts{to: aHolding(p, otherMint, bob, 5)}, pay(10))
	b.add("transfer from a frozen account", customError(0, 17), own(1000, frozenState), pay(10))
	b.add("transfer to a frozen account", customError(0, 17), accounts{to: aHolding(p, theMint, bob, 0).changed(frozenState)}, pay(10))
	b.add("transfer that overflows", overflow, accounts{to: aHolding(p, theMint, bob, math.MaxUint64-5)}, pay(10))
	b.add("transfer from nothing", instr(0, wallet), nil, transferTokens(p, fresh, to, alice, 10))
	b.add("transfer to a wallet", instr(0, wallet), nil, transferTokens(p, from, bob, alice, 10))
	b.add("transfer to a mint", instr(0, "InvalidAccountData"), nil, transferTokens(p, from, theMint, alice, 10))
	b.add("transfer from an uninitialized account", instr(0, "UninitializedAccount"), accounts{from: rented(p, make([]byte, accountSize))}, pay(10))
	b.add("transfer to an uninitialized account", instr(0, "UninitializedAccount"), accounts{to: rented(p, make([]byte, accountSize))}, pay(10))
	b.add("transfer to a garbage state", instr(0, garbage), accounts{to: aHolding(p, theMint, bob, 1).changed(func(h tokenAccount) { h[108] = 7 })}, pay(10))
	b.add("transfer from a fake account", instr(0, foreign), accounts{from: aHolding(mallory, theMint, alice, 1000)}, pay(10))
	b.add("transfer to a fake account", instr(0, foreign), accounts{to: aHolding(mallory, theMint, bob, 0)}, pay(10))
	b.add("transfer of nothing to a fake account", instr(0, "IncorrectProgramId"), accounts{to: aHolding(mallory, theMint, bob, 0)}, pay(0))
	b.add("transfer from a read-only account", instr(0, "ReadonlyDataModified"), nil, tokenCall(p, pack(byte(3), uint64(1)), r(from), w(to), s(alice)))
	b.add("transfer to a read-only account", instr(0, "ReadonlyDataModified"), nil, tokenCall(p, pack(byte(3), uint64(1)), w(from), r(to), s(alice)))
	b.add("transfer with two accounts", instr(0, "NotEnoughAccountKeys"), nil, tokenCall(p, pack(byte(3), uint64(1)), w(from), w(to)))
	b.add("transfer with short data", malformed, nil, tokenCall(p, []byte{3, 1}, w(from), w(to), s(alice)))
	b.add("transfer and back", "null", nil, pay(10), transferTokens(p, to, from, bob, 60))
	b.add("second transfer fails, the first is undone", customError(1, 1), nil, pay(10), pay(991))
	b.add("transfer with a reference", "null", nil, tokenCall(p, pack(byte(12), uint64(7), byte(6)), w(from), r(theMint), w(to), s(alice), r(addressOf("reference"))))
	b.add("no data", badTypes, nil, tokenCall(p, nil, w(from)))
	b.add("unknown instruction", badTypes, nil, tokenCall(p, []byte{200}, w(from)))

	b.add("transfer checked", "null", nil, checked(10, 6))
	b.add("transfer checked with wrong decimals", customError(0, 18), nil, checked(10, 9))
	b.add("transfer checked with the wrong mint", customError(0, 3), nil, transferChecked(p, from, otherMint, to, alice, 10, 6))
	b.add("transfer checked of too much", customError(0, 1), nil, checked(5000, 6))
	b.add("transfer checked, mint gone", instr(0, wallet), accounts{theMint: {Lamports: sol}}, checked(10, 6))
	b.add("transfer checked, short data", malformed, nil, tokenCall(p, pack(byte(12), uint64(1)), w(from), r(theMint), w(to), s(alice)))
	b.add("transfer checked, three accounts", instr(0, "NotEnoughAccountKeys"), nil, tokenCall(p, pack(byte(12), uint64(1), byte(6)), w(from), r(theMint), w(to)))

	// Delegates.
	approve := func(to address, amount uint64) call {
		return tokenCall(p, pack(byte(4), amount), w(from), r(to), s(alice))
	}
	b.add("approve", "null", nil, approve(bob, 100))
	b.add("approve and spend all", "null", nil, approve(bob, 100), transferTokens(p, from, to, bob, 100))
	b.add("approve and spend some", "null", nil, approve(bob, 100), transferTokens(p, from, to, bob, 40))
	b.add("approve and overspend", customError(1, 1), nil, approve(bob, 100), transferTokens(p, from, to, bob, 101))
	b.add("delegate spends more than held", customError(0, 1), own(10, delegated(bob, 100)), transferTokens(p, from, to, bob, 50))
	b.add("delegate to oneself", "null", own(100, delegated(bob, 100)), transferTokens(p, from, from, bob, 50))
	b.add("approve by a stranger", customError(0, 4), nil, tokenCall(p, pack(byte(4), uint64(1)), w(from), r(bob), s(mallory)))
	b.add("approve frozen", customError(0, 17), own(10, frozenState), approve(bob, 1))
	b.add("approve replaces", "null", own(10, delegated(mallory, 9)), approve(bob, 1))
	b.add("approve read-only", instr(0, "ReadonlyDataModified"), nil, tokenCall(p, pack(byte(4), uint64(1)), r(from), r(bob), s(alice)))
	b.add("approve checked", "null", nil, tokenCall(p, pack(byte(13), uint64(5), byte(6)), w(from), r(theMint), r(bob), s(alice)))
	b.add("approve checked, wrong decimals", customError(0, 18), nil, tokenCall(p, pack(byte(13), uint64(5), byte(5)), w(from), r(theMint), r(bob), s(alice)))
	b.add("approve checked, wrong mint", customError(0, 3), nil, tokenCall(p, pack(byte(13), uint64(5), byte(6)), w(from), r(otherMint), r(bob), s(alice)))
	revoke := func(by address) call { return tokenCall(p, []byte{5}, w(from), s(by)) }
	b.add("revoke", "null", own(10, delegated(bob, 100)), revoke(alice))
	b.add("revoke nothing", "null", nil, revoke(alice))
	b.add("revoke by a stranger", customError(0, 4), own(10, delegated(bob, 100)), revoke(mallory))
	b.add("revoke by the delegate", "null", own(10, delegated(bob, 100)), revoke(bob))
	b.add("revoke frozen", customError(0, 17), own(10, frozenState), revoke(alice))
	b.add("revoke and spend", customError(1, 4), own(10, delegated(bob, 100)), revoke(alice), transferTokens(p, from, to, bob, 1))
	// Accounts behind the owner are looked at only if the owner is a multisig.
	b.add("revoke with a reference", "null", own(10, delegated(bob, 100)), tokenCall(p, []byte{5}, w(from), s(alice), r(addressOf("reference"))))
	b.add("revoke by a stranger with the owner behind", customError(0, 4), own(10, delegated(bob, 100)), tokenCall(p, []byte{5}, w(from), s(mallory), s(alice)))
	b.add("revoke with data behind", "null", own(10, delegated(bob, 100)), tokenCall(p, []byte{5, 9}, w(from), s(alice)))
	b.add("revoke without an owner", instr(0, "NotEnoughAccountKeys"), own(10, delegated(bob, 100)), tokenCall(p, []byte{5}, w(from)))

	// Minting and burning.
	mint := func(to address, amount uint64) call {
		return tokenCall(p, pack(byte(7), amount), w(theMint), w(to), s(mallory))
	}
	b.add("mint", "null", nil, mint(to, 77))
	b.add("mint nothing", "null", nil, mint(to, 0))
	b.add("mint by a stranger", customError(0, 4), nil, tokenCall(p, pack(byte(7), uint64(1)), w(theMint), w(to), s(alice)))
	b.add("mint over the top", customError(0, 14), accounts{theMint: aMint(p, mallory, math.MaxUint64)}, mint(to, 1))
	b.add("mint to a frozen account", customError(0, 17), accounts{to: aHolding(p, theMint, bob, 0).changed(frozenState)}, mint(to, 1))
	b.add("mint to another mint's account", customError(0, 3), accounts{to: aHolding(p, otherMint, bob, 0)}, mint(to, 1))
	b.add("mint of a fixed supply", customError(0, 5), accounts{theMint: rented(p, mintData(nil, 6))}, mint(to, 1))
	b.add("mint checked", "null", nil, tokenCall(p, pack(byte(14), uint64(5), byte(6)), w(theMint), w(to), s(mallory)))
	b.add("mint checked, wrong decimals", customError(0, 18), nil, tokenCall(p, pack(byte(14), uint64(5), byte(7)), w(theMint), w(to), s(mallory)))
	b.add("mint with a read-only mint", instr(0, "ReadonlyDataModified"), nil, tokenCall(p, pack(byte(7), uint64(5)), r(theMint), w(to), s(mallory)))
	b.add("mint of a fake mint", instr(0, foreign), accounts{theMint: aMint(bob, mallory, 5)}, mint(to, 1))
	burn := func(by address, amount uint64) call {
		return tokenCall(p, pack(byte(8), amount), w(from), w(theMint), s(by))
	}
	b.add("burn", "null", nil, burn(alice, 100))
	b.add("burn nothing", "null", nil, burn(alice, 0))
	b.add("burn too much", customError(0, 1), nil, burn(alice, 1001))
	b.add("burn by a stranger", customError(0, 4), nil, burn(mallory, 1))
	b.add("burn by a delegate", "null", own(1000, delegated(bob, 30)), burn(bob, 30))
	b.add("burn by a delegate, too much", customError(0, 1), own(1000, delegated(bob, 30)), burn(bob, 31))
	b.add("burn frozen", customError(0, 17), own(10, frozenState), burn(alice, 1))
	b.add("burn with the wrong mint", customError(0, 3), nil, tokenCall(p, pack(byte(8), uint64(1)), w(from), w(otherMint), s(alice)))
	b.add("burn checked", "null", nil, tokenCall(p, pack(byte(15), uint64(1), byte(6)), w(from), w(theMint), s(alice)))
	b.add("burn checked, wrong decimals", customError(0, 18), nil, tokenCall(p, pack(byte(15), uint64(1), byte(0)), w(from), w(theMint), s(alice)))
	b.add("burn what the incinerator holds", "null", accounts{from: aHolding(p, theMint, incinerator, 10)}, burn(bob, 10))

	// Freezing.
	freeze := func(kind byte, by address) call { return tokenCall(p, []byte{kind}, w(from), r(theMint), s(by)) }
	b.add("freeze", "null", nil, freeze(10, mallory))
	b.add("freeze twice", customError(1, 13), nil, freeze(10, mallory), freeze(10, mallory))
	b.add("freeze by a stranger", customError(0, 4), nil, freeze(10, alice))
	b.add("freeze and thaw", "null", nil, freeze(10, mallory), freeze(11, mallory))
	b.add("thaw what is not frozen", customError(0, 13), nil, freeze(11, mallory))
	b.add("freeze with the wrong mint", customError(0, 3), nil, tokenCall(p, []byte{10}, w(from), r(otherMint), s(mallory)))
	b.add("freeze where nobody can", customError(0, 16), accounts{theMint: rented(p, mintData(nil, 6))}, freeze(10, mallory))
	b.add("freeze, then transfer", customError(1, 17), nil, freeze(10, mallory), pay(1))

	// Closing.
	closing := func(by address) call { return tokenCall(p, []byte{9}, w(from), w(bob), s(by)) }
	b.add("close", "null", own(0, func(tokenAccount) {}), closing(alice))
	b.add("close with a balance", customError(0, 11), nil, closing(alice))
	b.add("close by a stranger", customError(0, 4), own(0, func(tokenAccount) {}), closing(bob))
	b.add("close to itself", instr(0, "InvalidAccountData"), own(0, func(tokenAccount) {}), tokenCall(p, []byte{9}, w(from), w(from), s(alice)))
	b.add("close by the closer", "null", own(0, func(h tokenAccount) { h.closer().set(carol) }), closing(carol))
	b.add("close by the owner where a closer is set", customError(0, 4), own(0, func(h tokenAccount) { h.closer().set(carol) }), closing(alice))
	b.add("close frozen", "null", own(0, frozenState), closing(alice))
	b.add("close read-only", instr(0, "ReadonlyLamportChange"), own(0, func(tokenAccount) {}), tokenCall(p, []byte{9}, r(from), w(bob), s(alice)))
	b.add("close an empty transfer's source", "null", nil, pay(1000), closing(alice))
	b.add("close the incinerator's", "null", accounts{from: aHolding(p, theMint, incinerator, 0)}, tokenCall(p, []byte{9}, w(from), w(incinerator), s(alice)))
	b.add("close the incinerator's to bob", instr(0, "InvalidAccountData"), accounts{from: aHolding(p, theMint, incinerator, 0)}, closing(alice))
	b.add("close a wallet", instr(0, wallet), accounts{from: {Lamports: sol}}, closing(alice))
	b.add("close a fake account", instr(0, lamports), accounts{from: aHolding(mallory, theMint, alice, 0)}, closing(alice))

	// Authorities.
	set := func(account address, kind byte, by address, next []byte) call {
		return tokenCall(p, join([]byte{6, kind}, next), w(account), s(by))
	}
	some := func(k address) []byte { return append([]byte{1}, k[:]...) }
	none := []byte{0}
	b.add("give an account away", "null", nil, set(from, 2, alice, some(carol)))
	b.add("give an account away, delegate forgotten", "null", own(5, delegated(bob, 5)), set(from, 2, alice, some(carol)))
	b.add("give an account to nobody", customError(0, 12), nil, set(from, 2, alice, none))
	b.add("give another's account away", customError(0, 4), nil, set(from, 2, bob, some(carol)))
	b.add("set the closer", "null", nil, set(from, 3, alice, some(carol)))
	b.add("unset the closer", "null", own(5, func(h tokenAccount) { h.closer().set(carol) }), set(from, 3, carol, none))
	b.add("set an account's minter", customError(0, 15), nil, set(from, 0, alice, some(carol)))
	b.add("set a frozen account's closer", customError(0, 17), own(5, frozenState), set(from, 3, alice, some(carol)))
	b.add("set the minter", "null", nil, set(theMint, 0, mallory, some(carol)))
	b.add("unset the minter", "null", nil, set(theMint, 0, mallory, none))
	b.add("set the minter of a fixed supply", customError(1, 5), nil, set(theMint, 0, mallory, none), set(theMint, 0, mallory, some(carol)))
	b.add("set the freezer", "null", nil, set(theMint, 1, mallory, some(carol)))
	b.add("unset the freezer twice", customError(1, 16), nil, set(theMint, 1, mallory, none), set(theMint, 1, mallory, none))
	b.add("set a mint's owner", customError(0, 15), nil, set(theMint, 2, mallory, some(carol)))
	b.add("set the minter by a stranger", customError(0, 4), nil, set(theMint, 0, alice, some(carol)))
	b.add("set an unknown authority", customError(0, 12), nil, set(from, 99, alice, some(carol)))
	b.add("set with half an address", malformed, nil, set(from, 3, alice, []byte{1, 2, 3}))

	// Initializing.
	b.add("initialize mint", "null", accounts{fresh: rented(p, make([]byte, mintSize))},
		tokenCall(p, join([]byte{0, 9}, mallory[:], some(carol)), w(fresh), r(rentSysvar)))
	b.add("initialize mint 2", "null", accounts{fresh: rented(p, make([]byte, mintSize))},
		tokenCall(p, join([]byte{20, 9}, mallory[:], none), w(fresh)))
	b.add("initialize mint with another rent", instr(0, "InvalidArgument"), accounts{fresh: rented(p, make([]byte, mintSize))},
		tokenCall(p, join([]byte{0, 9}, mallory[:], none), w(fresh), r(bob)))
	b.add("initialize mint twice", customError(1, 6), accounts{fresh: rented(p, make([]byte, mintSize))},
		tokenCall(p, join([]byte{20, 9}, mallory[:], none), w(fresh)), tokenCall(p, join([]byte{20, 8}, mallory[:], none), w(fresh)))
	b.add("initialize mint below rent", customError(0, 0), accounts{fresh: {Lamports: 1000, Owner: p, Data: make([]byte, mintSize)}},
		tokenCall(p, join([]byte{20, 9}, mallory[:], none), w(fresh)))
	b.add("initialize mint of the wrong size", instr(0, "InvalidAccountData"), accounts{fresh: rented(p, make([]byte, 81))},
		tokenCall(p, join([]byte{20, 9}, mallory[:], none), w(fresh)))
	b.add("initialize mint, data cut", malformed, accounts{fresh: rented(p, make([]byte, mintSize))},
		tokenCall(p, join([]byte{20, 9}, mallory[:20]), w(fresh)))
	b.add("initialize mint of others", instr(0, init), accounts{fresh: rented(bob, make([]byte, mintSize))},
		tokenCall(p, join([]byte{20, 9}, mallory[:], none), w(fresh)))
	empty := accounts{fresh: rented(p, make([]byte, accountSize))}
	b.add("initialize account", "null", empty, tokenCall(p, []byte{1}, w(fresh), r(theMint), r(carol), r(rentSysvar)))
	b.add("initialize account 2", "null", empty, tokenCall(p, append([]byte{16}, carol[:]...), w(fresh), r(theMint), r(rentSysvar)))
	b.add("initialize account 3", "null", empty, tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(theMint)))
	b.add("initialize account twice", customError(1, 6), empty,
		tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(theMint)), tokenCall(p, append([]byte{18}, bob[:]...), w(fresh), r(theMint)))
	b.add("initialize account of no mint", customError(0, 2), accounts{fresh: empty[fresh], theMint: rented(p, make([]byte, mintSize))},
		tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(theMint)))
	b.add("initialize account of another program's mint", instr(0, "IncorrectProgramId"), accounts{fresh: empty[fresh], theMint: aMint(bob, mallory, 0)},
		tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(theMint)))
	b.add("initialize account below rent", customError(0, 0), accounts{fresh: {Lamports: 1000, Owner: p, Data: make([]byte, accountSize)}},
		tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(theMint)))
	b.add("initialize account of the wrong size", instr(0, "InvalidAccountData"), accounts{fresh: rented(p, make([]byte, 164))},
		tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(theMint)))
	b.add("initialize account with half an owner", malformed, empty, tokenCall(p, append([]byte{18}, carol[:16]...), w(fresh), r(theMint)))
	b.add("create and initialize", "null", nil,
		system(pack(uint32(0), rentMinimum(accountSize), uint64(accountSize), p), meta{alice, "sw"}, meta{fresh, "sw"}),
		tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(theMint)),
		transferTokens(p, from, fresh, alice, 3))
	b.add("account data size", "null", nil, tokenCall(p, []byte{21}, r(theMint)))
	b.add("account data size of no mint", customError(0, 2), nil, tokenCall(p, []byte{21}, r(from)))
	b.add("account data size of a wallet", instr(0, "IncorrectProgramId"), nil, tokenCall(p, []byte{21}, r(bob)))
	b.add("amount as text", "null", nil, tokenCall(p, pack(byte(23), uint64(1_234_500)), r(theMint)))
	b.add("small amount as text", "null", nil, tokenCall(p, pack(byte(23), uint64(5)), r(theMint)))
	b.add("nothing as text", "null", nil, tokenCall(p, pack(byte(23), uint64(0)), r(theMint)))
	for name, text := range map[string]string{"1.5": "1.5", "whole": "12", "point first": ".25", "plus": "+3"} {
		b.add("text as amount: "+name, "null", nil, tokenCall(p, append([]byte{24}, text...), r(theMint)))
	}
	for name, text := range map[string]string{"none": "", "point": ".", "letters": "1a", "two points": "1.2.3", "too fine": "0.1234567", "minus": "-1", "huge": "99999999999999999999"} {
		b.add("text as amount: "+name, instr(0, "InvalidArgument"), nil, tokenCall(p, append([]byte{24}, text...), r(theMint)))
	}
}

func nativeCases(b *caseBook) {
	p, mint := b.program, nativeMint
	if p == token2022Program {
		mint = nativeMint2022
	}
	wrapped := accounts{
		mint: rented(p, mintData(nil, 9)),
		from: aWrapped(p, mint, alice, 5*sol),
		to:   aWrapped(p, mint, bob, sol),
	}
	with := func(a account) accounts { return accounts{mint: wrapped[mint], from: a, to: wrapped[to]} }
	b.add("wrapped SOL moves", "null", wrapped, transferTokens(p, from, to, alice, 2*sol))
	b.add("wrapped SOL moves, checked", "null", wrapped, transferChecked(p, from, mint, to, alice, 2*sol, 9))
	b.add("wrapped SOL moves to its own account", "null", wrapped, transferTokens(p, from, from, alice, sol))
	b.add("wrapped SOL, too much", customError(0, 1), wrapped, transferTokens(p, from, to, alice, 6*sol))
	b.add("wrapped SOL is unwrapped", "null", wrapped, tokenCall(p, []byte{9}, w(from), w(alice), s(alice)))
	b.add("wrapped SOL is not burnt", customError(0, 10), wrapped, tokenCall(p, pack(byte(8), uint64(1)), w(from), w(mint), s(alice)))
	b.add("wrapped SOL is not minted", customError(0, 10), wrapped, tokenCall(p, pack(byte(7), uint64(1)), w(mint), w(from), s(alice)))
	b.add("wrapped SOL is not frozen", customError(0, 10), wrapped, tokenCall(p, []byte{10}, w(from), r(mint), s(alice)))
	b.add("sync", "null", wrapped, transferTo(alice, from, sol), tokenCall(p, []byte{17}, w(from)))
	b.add("sync nothing", "null", wrapped, tokenCall(p, []byte{17}, w(from)))
	b.add("sync of another mint", customError(0, 19), nil, tokenCall(p, []byte{17}, w(from)))
	b.add("sync of a wallet", instr(0, "IncorrectProgramId"), nil, tokenCall(p, []byte{17}, w(bob)))
	b.add("wrap", "null", accounts{mint: wrapped[mint], fresh: {Lamports: rentMinimum(accountSize) + sol, Owner: p, Data: make([]byte, accountSize)}},
		tokenCall(p, append([]byte{18}, carol[:]...), w(fresh), r(mint)))
	b.add("give wrapped SOL away, closer forgotten", "null", with(wrapped[from].changed(func(h tokenAccount) { h.closer().set(bob) })),
		tokenCall(p, join([]byte{6, 2, 1}, carol[:]), w(from), s(alice)))
	// The steps that purser puts around a swap, without the swap.
	own := first(associatedAddress(alice, p, mint))
	b.add("wrapped, named, and unwrapped again", "null", accounts{mint: wrapped[mint]},
		createATA([]byte{1}, alice, alice, mint, p), transferTo(alice, own, sol), tokenCall(p, []byte{17}, w(own)),
		createATA([]byte{1}, alice, alice, theMint, p),
		system(pack(uint32(2), uint64(0)), meta{alice, "sw"}, meta{alice, "sw"}, r(fresh)),
		tokenCall(p, []byte{9}, w(own), w(alice), s(alice)))
	closed := map[address]string{tokenProgram: "InvalidAccountData", token2022Program: "IncorrectProgramId"}[p]
	b.add("unwrapped twice", instr(2, closed), accounts{mint: wrapped[mint], own: aWrapped(p, mint, alice, sol)},
		transferTo(alice, bob, 1), tokenCall(p, []byte{9}, w(own), w(alice), s(alice)), tokenCall(p, []byte{9}, w(own), w(alice), s(alice)))
	b.add("wrap by the associated account", "null", accounts{mint: wrapped[mint]},
		createATA([]byte{1}, alice, alice, mint, p),
		transferTo(alice, first(associatedAddress(alice, p, mint)), sol),
		tokenCall(p, []byte{17}, w(first(associatedAddress(alice, p, mint)))))
}

func first(k address, _ int) address { return k }
