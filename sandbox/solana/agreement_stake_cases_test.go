package solana

// stakeCases run the Stake program on both sides, in epoch 2.
func stakeCases(lite *liteSVM) []agreementCase {
	b := &stakeBook{lite: lite}
	stakeSetupCases(b)
	stakeAuthorityCases(b)
	stakeLockupCases(b)
	stakeDelegateCases(b)
	stakeWithdrawCases(b)
	stakeSplitCases(b)
	stakeMergeCases(b)
	stakeMoveCases(b)
	stakeEpochCases(b)
	return b.cases
}

// stakeBook collects cases over two stake accounts, two vote accounts and a history in which all change at once.
type stakeBook struct {
	lite  *liteSVM
	cases []agreementCase
}

func (b *stakeBook) add(name, want string, change accounts, calls ...call) *agreementCase {
	c := agreementCase{name: "stake: " + name, want: want, accounts: accounts{
		alice: {Lamports: 100 * sol}, bob: {Lamports: 10 * sol}, carol: {Lamports: 10 * sol}, mallory: {Lamports: 10 * sol},
		stakeA: aStake(5*sol, nil), stakeB: anEmptyStake(0), voteA: aVote(0, 1, 2), voteB: aVote(1, 2),
		historySysvar: aHistory(activation{1000 * sol, 0, 10 * sol}, activation{1000 * sol, 0, 10 * sol}),
	}}
	for key, a := range change {
		c.accounts[key] = a
	}
	d := draft{payer: "alice", blockhash: b.lite.blockhash, calls: calls, signers: []string{"bob", "carol", "mallory", "fresh", "stake a", "stake b"}}
	c.wires = append(c.wires, d.bytes())
	b.cases = append(b.cases, c)
	return &b.cases[len(b.cases)-1]
}

func a(x account) accounts     { return accounts{stakeA: x} }
func ab(x, y account) accounts { return accounts{stakeA: x, stakeB: y} }

func stakeSetupCases(b *stakeBook) {
	fresh := anEmptyStake(3 * sol)
	unsigned := func(key address) meta { return r(key) }
	b.add("initialize", "null", a(fresh), initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize with lockup", "null", a(fresh), initializeStake(stakeA, alice, bob, lockup{-5, 9, carol}))
	b.add("initialize without the sysvar", "null", a(fresh), stakeCall(0, pack(alice, bob, 0, 0, address{}), w(stakeA)))
	b.add("initialize again", instr(1, "InvalidAccountData"), a(fresh), initializeStake(stakeA, alice, bob, lockup{}), initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize a delegated one", instr(0, "InvalidAccountData"), nil, initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize below rent", instr(0, "InsufficientFunds"), a(account{stakeReserve - 1, stakeProgram, make([]byte, stakeSize), false}), initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize at rent", "null", a(anEmptyStake(0)), initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize a short account", instr(0, "InvalidAccountData"), a(account{sol, stakeProgram, make([]byte, 199), false}), initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize a long account", instr(0, "InvalidAccountData"), a(account{sol, stakeProgram, make([]byte, 201), false}), initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize another program's", instr(0, "InvalidAccountOwner"), a(account{sol, tokenProgram, make([]byte, stakeSize), false}), initializeStake(stakeA, alice, bob, lockup{}))
	b.add("initialize read-only", instr(0, "ReadonlyDataModified"), a(fresh), stakeCall(0, pack(alice, bob, 0, 0, address{}), r(stakeA)))
	b.add("initialize, cut", instr(0, "InvalidInstructionData"), a(fresh), stakeCall(0, pack(alice, bob, 0, 0), w(stakeA)))
	b.add("initialize, bytes behind", "null", a(fresh), stakeCall(0, pack(alice, bob, 0, 0, address{}, "more"), w(stakeA)))
	b.add("initialize, no account", instr(0, "NotEnoughAccountKeys"), nil, stakeCall(0, pack(alice, bob, 0, 0, address{})))
	b.add("initialize checked", "null", a(fresh), stakeCall(9, nil, w(stakeA), r(alice), s(bob)))
	b.add("initialize checked with the sysvar", "null", a(fresh), stakeCall(9, nil, w(stakeA), r(rentSysvar), r(alice), s(bob)))
	b.add("initialize checked, withdrawer silent", instr(0, "MissingRequiredSignature"), a(fresh), stakeCall(9, nil, w(stakeA), r(alice), unsigned(voteA)))
	b.add("initialize checked, accounts missing", instr(0, "NotEnoughAccountKeys"), a(fresh), stakeCall(9, nil, w(stakeA), r(alice)))
	b.add("create and initialize", "null", nil,
		system(pack(uint32(0), 2*sol, uint64(stakeSize), stakeProgram), meta{alice, "sw"}, meta{addressOf("fresh"), "sw"}),
		initializeStake(addressOf("fresh"), alice, bob, lockup{}), delegateStake(addressOf("fresh"), voteA, alice))
	derived := seeded(alice, "stake:0", stakeProgram)
	b.add("create with seed and delegate", "null", nil,
		system(pack(uint32(3), alice, "stake:0", 2*sol, uint64(stakeSize), stakeProgram), meta{alice, "sw"}, w(derived)),
		initializeStake(derived, alice, alice, lockup{}), delegateStake(derived, voteB, alice))
	b.add("no data", instr(0, "InvalidInstructionData"), nil, call{stakeProgram, []meta{w(stakeA)}, nil})
	b.add("unknown instruction", instr(0, "InvalidInstructionData"), nil, stakeCall(18, nil, w(stakeA)))
	b.add("redelegate is gone", instr(0, "InvalidInstructionData"), nil, stakeCall(15, nil, w(stakeA), w(stakeB), r(voteB), s(alice)))
	b.add("minimum delegation", "null", nil, stakeCall(13, nil))
}

func stakeAuthorityCases(b *stakeBook) {
	change := func(kind authority, key address, metas ...meta) call {
		return stakeCall(1, pack(key, uint32(kind)), append([]meta{w(stakeA)}, metas...)...)
	}
	b.add("new staker by the staker", "null", nil, change(staker, carol, s(alice)))
	b.add("new staker by the withdrawer", "null", nil, change(staker, carol, s(bob)))
	b.add("new staker by a stranger", instr(0, "MissingRequiredSignature"), nil, change(staker, carol, s(mallory)))
	b.add("new withdrawer", "null", nil, change(withdrawer, carol, s(bob)))
	b.add("new withdrawer by the staker", instr(0, "MissingRequiredSignature"), nil, change(withdrawer, carol, s(alice)))
	b.add("new staker, old accounts", "null", nil, change(staker, carol, r(clockSysvar), s(alice)))
	b.add("new staker, old accounts, nobody", instr(0, "NotEnoughAccountKeys"), nil, change(staker, carol, r(clockSysvar)))
	b.add("new staker, unsigned", instr(0, "MissingRequiredSignature"), nil, change(staker, carol, r(voteA)))
	b.add("new authority of an unknown kind", instr(0, "InvalidInstructionData"), nil, change(2, carol, s(alice)))
	b.add("new staker of an initialized one", "null", a(anInitialized(sol, nil)), change(staker, carol, s(alice)))
	b.add("new staker of an empty one", instr(0, "InvalidAccountData"), a(anEmptyStake(0)), change(staker, carol, s(alice)))
	b.add("new staker of garbage", instr(0, "InvalidAccountData"), a(account{sol, stakeProgram, []byte{9, 0, 0, 0}, false}), change(staker, carol, s(alice)))
	b.add("new staker of a pool", instr(0, "InvalidAccountData"), a(account{sol, stakeProgram, resized([]byte{3}, stakeSize), false}), change(staker, carol, s(alice)))

	checked := func(kind authority, metas ...meta) call {
		return stakeCall(10, pack(uint32(kind)), append([]meta{w(stakeA)}, metas...)...)
	}
	b.add("checked staker", "null", nil, checked(staker, s(alice), s(carol)))
	b.add("checked staker, old accounts", "null", nil, checked(staker, r(clockSysvar), s(alice), s(carol)))
	b.add("checked staker who is silent", instr(0, "MissingRequiredSignature"), nil, checked(staker, s(alice), r(voteA)))
	b.add("checked staker missing", instr(0, "NotEnoughAccountKeys"), nil, checked(staker, s(alice)))

	owner := addressOf("some program")
	base := func(s *stakeState) { s.Staker = seeded(carol, "my seed", owner) }
	seed := func(text string, metas ...meta) call {
		return stakeCall(8, pack(mallory, uint32(staker), text, owner), append([]meta{w(stakeA)}, metas...)...)
	}
	b.add("by a derived staker", "null", a(aStake(sol, base)), seed("my seed", s(carol)))
	b.add("by a derived staker, old accounts", "null", a(aStake(sol, base)), seed("my seed", s(carol), r(clockSysvar)))
	b.add("by a wrong seed", instr(0, "MissingRequiredSignature"), a(aStake(sol, base)), seed("your seed", s(carol)))
	b.add("by a derived staker who is silent", instr(0, "MissingRequiredSignature"), a(aStake(sol, base)), seed("my seed", r(voteB)))
	b.add("by a long seed", instr(0, "MaxSeedLengthExceeded"), a(aStake(sol, base)), seed("123456789012345678901234567890123", s(carol)))
	b.add("by a derived staker, custodian silent", instr(0, "MissingRequiredSignature"), a(aStake(sol, base)), seed("my seed", s(carol), r(voteA)))
	b.add("seed that is no text", instr(0, "InvalidInstructionData"), a(aStake(sol, base)), seed("\xff", s(carol)))
	seedChecked := func(metas ...meta) call {
		return stakeCall(11, pack(uint32(staker), "my seed", owner), append([]meta{w(stakeA)}, metas...)...)
	}
	b.add("checked by a derived staker", "null", a(aStake(sol, base)), seedChecked(s(carol), s(mallory)))
	b.add("checked by a derived staker, old accounts", "null", a(aStake(sol, base)), seedChecked(s(carol), r(clockSysvar), s(mallory)))
	b.add("checked by a derived staker, new one silent", instr(0, "MissingRequiredSignature"), a(aStake(sol, base)), seedChecked(s(carol), r(voteA)))
	b.add("checked by a derived staker, new one missing", instr(0, "NotEnoughAccountKeys"), a(aStake(sol, base)), seedChecked(s(carol)))
}

func stakeLockupCases(b *stakeBook) {
	locked := a(aStake(2*sol, func(s *stakeState) { s.Lockup = lockup{0, testEpoch + 1, carol} }))
	timed := a(anInitialized(2*sol, func(s *stakeState) { s.Lockup = lockup{1_700_000_001, 0, carol} }))
	over := a(anInitialized(2*sol, func(s *stakeState) { s.Lockup = lockup{1_700_000_000, testEpoch, carol} }))
	change := func(args []byte, metas ...meta) call {
		return stakeCall(6, args, append([]meta{w(stakeA)}, metas...)...)
	}
	later := pack(byte(1), uint64(7), byte(1), uint64(99), byte(1), mallory)
	b.add("lockup by the withdrawer", "null", nil, change(later, s(bob)))
	b.add("lockup by the staker", instr(0, "MissingRequiredSignature"), nil, change(later, s(alice)))
	b.add("lockup by the custodian", "null", locked, change(later, s(carol)))
	b.add("lockup in force, by the withdrawer", instr(0, "MissingRequiredSignature"), locked, change(later, s(bob)))
	b.add("lockup by time, by the withdrawer", instr(0, "MissingRequiredSignature"), timed, change(later, s(bob)))
	b.add("lockup that is over", "null", over, change(later, s(bob)))
	b.add("lockup of one value", "null", nil, change(pack(byte(0), byte(1), uint64(4), byte(0)), s(bob)))
	b.add("lockup with a wrong option", instr(0, "InvalidInstructionData"), nil, change([]byte{2, 0, 0}, s(bob)))
	b.add("lockup, cut", instr(0, "InvalidInstructionData"), nil, change([]byte{0, 0}, s(bob)))
	b.add("lockup of an empty one", instr(0, "InvalidAccountData"), a(anEmptyStake(0)), change(later, s(bob)))
	checked := func(metas ...meta) call {
		return stakeCall(12, pack(byte(1), uint64(7), byte(0)), append([]meta{w(stakeA)}, metas...)...)
	}
	b.add("checked lockup", "null", nil, checked(s(bob), s(mallory)))
	b.add("checked lockup, custodian silent", instr(0, "MissingRequiredSignature"), nil, checked(s(bob), r(voteA)))
	b.add("checked lockup without custodian", "null", nil, checked(s(bob)))
	withdrawTo := func(metas ...meta) call {
		return stakeCall(1, pack(mallory, uint32(withdrawer)), append([]meta{w(stakeA)}, metas...)...)
	}
	b.add("locked withdrawer changes", customError(0, 7), locked, withdrawTo(s(bob)))
	b.add("locked withdrawer changes with custodian", "null", locked, withdrawTo(s(bob), s(carol)))
	b.add("locked withdrawer changes with a wrong custodian", customError(0, 1), locked, withdrawTo(s(bob), s(mallory)))
	b.add("withdraw from a locked one", customError(0, 1), timed, withdrawStake(stakeA, carol, bob, sol))
	b.add("withdraw from a locked one with custodian", "null", timed, withdrawStake(stakeA, mallory, bob, sol, s(carol)))
	b.add("withdraw from a locked one, custodian silent", instr(0, "MissingRequiredSignature"), timed, withdrawStake(stakeA, mallory, bob, sol, r(voteA)))
	b.add("withdraw from one whose lockup is over", "null", over, withdrawStake(stakeA, carol, bob, sol))
}

func stakeDelegateCases(b *stakeBook) {
	b.add("delegate", "null", a(anInitialized(2*sol, nil)), delegateStake(stakeA, voteA, alice))
	b.add("delegate, old accounts", "null", a(anInitialized(2*sol, nil)),
		stakeCall(2, nil, w(stakeA), r(voteA), r(clockSysvar), r(historySysvar), r(configProgram), s(alice)))
	b.add("delegate, old accounts, no config", instr(0, "NotEnoughAccountKeys"), a(anInitialized(2*sol, nil)),
		stakeCall(2, nil, w(stakeA), r(voteA), r(clockSysvar), r(historySysvar)))
	b.add("delegate the minimum", "null", a(anInitialized(sol, nil)), delegateStake(stakeA, voteA, alice))
	b.add("delegate less than the minimum", customError(0, 12), a(anInitialized(sol-1, nil)), delegateStake(stakeA, voteA, alice))
	b.add("delegate by the withdrawer", instr(0, "MissingRequiredSignature"), a(anInitialized(2*sol, nil)), delegateStake(stakeA, voteA, bob))
	b.add("delegate to no vote account", instr(0, "IncorrectProgramId"), a(anInitialized(2*sol, nil)), delegateStake(stakeA, carol, alice))
	b.add("delegate to a broken vote account", instr(0, "InvalidAccountData"),
		accounts{stakeA: anInitialized(2*sol, nil), voteA: {sol, voteProgram, []byte{9, 9}, false}}, delegateStake(stakeA, voteA, alice))
	b.add("delegate to an old empty vote account", instr(0, "InvalidAccountData"),
		accounts{stakeA: anInitialized(2*sol, nil), voteA: {sol, voteProgram, make([]byte, voteSize), false}}, delegateStake(stakeA, voteA, alice))
	b.add("delegate to a vote account without credits", "null", accounts{stakeA: anInitialized(2*sol, nil), voteA: aVote()}, delegateStake(stakeA, voteA, alice))
	b.add("delegate an empty one", instr(0, "InvalidAccountData"), a(anEmptyStake(2*sol)), delegateStake(stakeA, voteA, alice))
	b.add("delegate twice", "null", a(anInitialized(2*sol, nil)), delegateStake(stakeA, voteA, alice), delegateStake(stakeA, voteB, alice))
	b.add("delegate an active one elsewhere", customError(0, 3), nil, delegateStake(stakeA, voteB, alice))
	b.add("delegate an active one again", customError(0, 3), nil, delegateStake(stakeA, voteA, alice))
	gone := aStake(2*sol, func(s *stakeState) { s.Activated, s.Deactivated = 0, 0 })
	b.add("delegate an inactive one", "null", a(gone), delegateStake(stakeA, voteB, alice))
	leaving := aStake(2*sol, func(s *stakeState) { s.Deactivated = testEpoch })
	b.add("take a deactivation back", "null", a(leaving), delegateStake(stakeA, voteA, alice))
	b.add("take a deactivation back elsewhere", customError(0, 3), a(leaving), delegateStake(stakeA, voteB, alice))
	b.add("take a deactivation back with too little", customError(0, 12),
		a(aStake(2*sol, func(s *stakeState) { s.Deactivated, s.Stake = testEpoch, 3*sol })), delegateStake(stakeA, voteA, alice))
	b.add("deactivate", "null", nil, deactivateStake(stakeA, alice))
	b.add("deactivate, old accounts", "null", nil, stakeCall(5, nil, w(stakeA), r(clockSysvar), s(alice)))
	b.add("deactivate twice", customError(1, 2), nil, deactivateStake(stakeA, alice), deactivateStake(stakeA, alice))
	b.add("deactivate by the withdrawer", instr(0, "MissingRequiredSignature"), nil, deactivateStake(stakeA, bob))
	b.add("deactivate an initialized one", instr(0, "InvalidAccountData"), a(anInitialized(sol, nil)), deactivateStake(stakeA, alice))
	b.add("deactivate what was delegated now", "null", a(anInitialized(2*sol, nil)), delegateStake(stakeA, voteA, alice), deactivateStake(stakeA, alice))

	delinquent := func(metas ...meta) call { return stakeCall(14, nil, metas...) }
	b.add("delinquent without reference votes", customError(0, 9), nil, delinquent(w(stakeA), r(voteA), r(voteB)))
	b.add("delinquent, accounts missing", instr(0, "NotEnoughAccountKeys"), nil, delinquent(w(stakeA), r(voteA)))
	b.add("delinquent, no vote account", instr(0, "IncorrectProgramId"), nil, delinquent(w(stakeA), r(voteA), r(carol)))
}

func stakeWithdrawCases(b *stakeBook) {
	extra := a(aStake(2*sol, nil).plus(sol))
	b.add("withdraw what is not staked", "null", extra, withdrawStake(stakeA, carol, bob, sol))
	b.add("withdraw one lamport of the stake", instr(0, "InsufficientFunds"), extra, withdrawStake(stakeA, carol, bob, sol+1))
	b.add("withdraw an active stake", instr(0, "InsufficientFunds"), nil, withdrawStake(stakeA, carol, bob, stakeReserve+5*sol))
	b.add("withdraw by the staker", instr(0, "MissingRequiredSignature"), extra, withdrawStake(stakeA, carol, alice, sol))
	b.add("withdraw, old accounts", "null", extra,
		stakeCall(4, pack(sol), w(stakeA), w(carol), r(clockSysvar), r(historySysvar), s(bob)))
	b.add("withdraw, old accounts, nobody", instr(0, "NotEnoughAccountKeys"), extra,
		stakeCall(4, pack(sol), w(stakeA), w(carol), r(clockSysvar), r(historySysvar)))
	b.add("withdraw unsigned", instr(0, "MissingRequiredSignature"), extra, stakeCall(4, pack(sol), w(stakeA), w(carol), r(voteA)))
	b.add("withdraw to itself", instr(0, "InvalidArgument"), extra, withdrawStake(stakeA, stakeA, bob, sol))
	idle := a(anInitialized(2*sol, nil))
	b.add("withdraw all of an initialized one", "null", idle, withdrawStake(stakeA, carol, bob, 2*sol+stakeReserve))
	b.add("withdraw all but the rent", "null", idle, withdrawStake(stakeA, carol, bob, 2*sol))
	b.add("withdraw into the rent", instr(0, "InsufficientFunds"), idle, withdrawStake(stakeA, carol, bob, 2*sol+1))
	b.add("withdraw more than there is", instr(0, "InsufficientFunds"), idle, withdrawStake(stakeA, carol, bob, 9*sol))
	b.add("withdraw an absurd amount", instr(0, "InsufficientFunds"), idle, withdrawStake(stakeA, carol, bob, never))
	b.add("withdraw nothing", "null", idle, withdrawStake(stakeA, carol, bob, 0))
	b.add("withdraw from an empty one", "null", a(anEmptyStake(sol)), withdrawStake(stakeA, carol, stakeA, stakeReserve+sol))
	b.add("withdraw a part from an empty one", "null", a(anEmptyStake(sol)), withdrawStake(stakeA, carol, stakeA, sol))
	b.add("withdraw from an empty one by another", instr(0, "MissingRequiredSignature"), a(anEmptyStake(sol)), withdrawStake(stakeA, carol, bob, sol))
	b.add("withdraw from one without data", "null", a(account{sol, stakeProgram, nil, false}), withdrawStake(stakeA, carol, stakeA, sol))
	b.add("withdraw from a pool", instr(0, "InvalidAccountData"), a(account{sol, stakeProgram, resized([]byte{3}, stakeSize), false}), withdrawStake(stakeA, carol, bob, 1))
	cold := a(aStake(2*sol, func(s *stakeState) { s.Deactivated = 1 }))
	b.add("withdraw all of an inactive one", "null", cold, withdrawStake(stakeA, carol, bob, 2*sol+stakeReserve))
	b.add("withdraw a part of an inactive one", "null", cold, withdrawStake(stakeA, carol, bob, sol))
	b.add("withdraw in the epoch of deactivation", instr(0, "InsufficientFunds"), a(aStake(2*sol, func(s *stakeState) { s.Deactivated = testEpoch })),
		withdrawStake(stakeA, carol, bob, sol))
	b.add("withdraw what was never active", "null", a(aStake(2*sol, func(s *stakeState) { s.Activated, s.Deactivated = testEpoch, testEpoch })),
		withdrawStake(stakeA, carol, bob, 2*sol+stakeReserve))
	b.add("withdraw what is activating", instr(0, "InsufficientFunds"), a(aStake(2*sol, func(s *stakeState) { s.Activated = testEpoch })),
		withdrawStake(stakeA, carol, bob, sol))
}
