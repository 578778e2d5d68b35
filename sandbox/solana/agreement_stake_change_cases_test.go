package solana

// Cases that split, merge and move stake, and those in which an epoch decides.

func stakeSplitCases(b *stakeBook) {
	free := anEmptyStake(0)
	b.add("split", "null", nil, splitStake(stakeA, stakeB, alice, 2*sol))
	b.add("split by the withdrawer", instr(0, "MissingRequiredSignature"), nil, splitStake(stakeA, stakeB, bob, 2*sol))
	b.add("split leaving the minimum", "null", nil, splitStake(stakeA, stakeB, alice, 4*sol))
	b.add("split leaving less", customError(0, 12), nil, splitStake(stakeA, stakeB, alice, 4*sol+1))
	b.add("split less than the minimum", customError(0, 12), nil, splitStake(stakeA, stakeB, alice, sol-1))
	b.add("split the minimum", "null", nil, splitStake(stakeA, stakeB, alice, sol))
	b.add("split more than the stake", customError(0, 12), nil, splitStake(stakeA, stakeB, alice, 5*sol+1))
	b.add("split all", "null", nil, splitStake(stakeA, stakeB, alice, 5*sol+stakeReserve))
	b.add("split all into one without rent", "null", ab(aStake(5*sol, nil), account{0, stakeProgram, nil, false}), splitStake(stakeA, stakeB, alice, 5*sol+stakeReserve)).want = instr(0, "InvalidAccountOwner")
	b.add("split all into one below rent", "null", ab(aStake(5*sol, nil), account{1, stakeProgram, make([]byte, stakeSize), false}), splitStake(stakeA, stakeB, alice, 5*sol+stakeReserve))
	b.add("split all of too little stake", customError(0, 12), ab(aStake(sol-1, nil), free), splitStake(stakeA, stakeB, alice, sol-1+stakeReserve))
	b.add("split nothing", instr(0, "InsufficientFunds"), nil, splitStake(stakeA, stakeB, alice, 0))
	b.add("split more than there is", instr(0, "InsufficientFunds"), nil, splitStake(stakeA, stakeB, alice, 50*sol))
	b.add("split into itself", instr(0, "InvalidArgument"), nil, splitStake(stakeA, stakeA, alice, sol))
	b.add("split into a stake", instr(0, "InvalidAccountData"), ab(aStake(5*sol, nil), anInitialized(0, nil)), splitStake(stakeA, stakeB, alice, sol))
	b.add("split into a short one", instr(0, "InvalidAccountData"), ab(aStake(5*sol, nil), account{sol, stakeProgram, make([]byte, 199), false}), splitStake(stakeA, stakeB, alice, sol))
	b.add("split into another program's", instr(0, "InvalidAccountOwner"), ab(aStake(5*sol, nil), account{sol, tokenProgram, make([]byte, stakeSize), false}), splitStake(stakeA, stakeB, alice, sol))
	b.add("split into one below rent", instr(0, "InsufficientFunds"), ab(aStake(5*sol, nil), account{stakeReserve - 1, stakeProgram, make([]byte, stakeSize), false}), splitStake(stakeA, stakeB, alice, sol))
	b.add("split a stake with more lamports", "null", ab(aStake(5*sol, nil).plus(3*sol), free), splitStake(stakeA, stakeB, alice, 2*sol))
	b.add("split keeps a lockup", "null", ab(aStake(5*sol, func(s *stakeState) { s.Lockup, s.Reserve = lockup{0, 9, carol}, 77 }), free), splitStake(stakeA, stakeB, alice, 2*sol))
	idle := anInitialized(3*sol, nil)
	b.add("split an initialized one", "null", ab(idle, free), splitStake(stakeA, stakeB, alice, 1))
	b.add("split an initialized one into its rent", instr(0, "InsufficientFunds"), ab(idle, free), splitStake(stakeA, stakeB, alice, 3*sol+1))
	b.add("split all of an initialized one", "null", ab(idle, free), splitStake(stakeA, stakeB, alice, 3*sol+stakeReserve))
	b.add("split funds the rent of the new one", "null", ab(idle, account{1, stakeProgram, make([]byte, stakeSize), false}), splitStake(stakeA, stakeB, alice, stakeReserve-1))
	b.add("split an empty one", "null", ab(anEmptyStake(sol), free), splitStake(stakeA, stakeB, stakeA, 1))
	b.add("split all of an empty one", "null", ab(anEmptyStake(sol), free), splitStake(stakeA, stakeB, stakeA, sol+stakeReserve))
	b.add("split an empty one, unsigned", instr(0, "MissingRequiredSignature"), ab(anEmptyStake(sol), free), splitStake(stakeA, stakeB, alice, 1))
	cold := aStake(5*sol, func(s *stakeState) { s.Deactivated = 1 })
	b.add("split an inactive one", "null", ab(cold, free), splitStake(stakeA, stakeB, alice, 1))
	b.add("split all of an inactive one", "null", ab(cold, free), splitStake(stakeA, stakeB, alice, 5*sol+stakeReserve))
	b.add("split an activating one", "null", ab(aStake(5*sol, func(s *stakeState) { s.Activated = testEpoch }), free), splitStake(stakeA, stakeB, alice, 2*sol))
	b.add("split a deactivating one", "null", ab(aStake(5*sol, func(s *stakeState) { s.Deactivated = testEpoch }), free), splitStake(stakeA, stakeB, alice, 2*sol))
	b.add("split and deactivate", "null", nil, splitStake(stakeA, stakeB, alice, 2*sol), deactivateStake(stakeB, alice))
}

func stakeMergeCases(b *stakeBook) {
	merge := mergeStake(stakeA, stakeB, alice)
	active, idle := aStake(5*sol, nil), anInitialized(3*sol, nil)
	activating := aStake(5*sol, func(s *stakeState) { s.Activated, s.Credits = testEpoch, 1500 })
	cold := aStake(5*sol, func(s *stakeState) { s.Deactivated = 1 })
	leaving := aStake(5*sol, func(s *stakeState) { s.Deactivated = testEpoch })
	late := aStake(3*sol, func(s *stakeState) { s.Credits = 2001 }).plus(sol)
	b.add("merge active ones", "null", ab(active, late), merge)
	b.add("merge idle ones", "null", ab(idle, idle), merge)
	b.add("merge idle into activating", "null", ab(activating, idle), merge)
	b.add("merge activating into idle", "null", ab(idle, activating), merge)
	b.add("merge activating ones", "null", ab(activating, aStake(sol, func(s *stakeState) { s.Activated, s.Credits = testEpoch, 1499 })), merge)
	b.add("merge idle into active", customError(0, 6), ab(active, idle), merge)
	b.add("merge active into idle", customError(0, 6), ab(idle, active), merge)
	b.add("merge activating into active", customError(0, 6), ab(active, activating), merge)
	b.add("merge inactive into idle", "null", ab(idle, cold), merge)
	b.add("merge inactive ones", "null", ab(cold, cold), merge)
	b.add("merge inactive into activating", "null", ab(activating, cold), merge)
	b.add("merge a leaving one", customError(0, 5), ab(active, leaving), merge)
	b.add("merge into a leaving one", customError(0, 5), ab(leaving, active), merge)
	b.add("merge with itself", instr(0, "InvalidArgument"), nil, mergeStake(stakeA, stakeA, alice))
	b.add("merge by the withdrawer", instr(0, "MissingRequiredSignature"), ab(active, late), mergeStake(stakeA, stakeB, bob))
	b.add("merge with an empty one", instr(0, "InvalidAccountData"), ab(active, anEmptyStake(0)), merge)
	b.add("merge, old accounts", "null", ab(active, late), stakeCall(7, nil, w(stakeA), w(stakeB), r(clockSysvar), r(historySysvar), s(alice)))
	b.add("merge of different stakers", customError(0, 6), ab(active, aStake(sol, func(s *stakeState) { s.Staker = bob })), merge)
	b.add("merge of different withdrawers", customError(0, 6), ab(active, aStake(sol, func(s *stakeState) { s.Withdrawer = carol })), merge)
	b.add("merge of different validators", customError(0, 6), ab(active, aStake(sol, func(s *stakeState) { s.Voter = voteB })), merge)
	b.add("merge of different lockups", customError(0, 6), ab(active, aStake(sol, func(s *stakeState) { s.Lockup = lockup{0, 9, carol} })), merge)
	b.add("merge of lockups that are over", "null", ab(active, aStake(sol, func(s *stakeState) { s.Lockup = lockup{5, 1, carol} })), merge)
	b.add("merge of equal lockups", "null", ab(aStake(2*sol, func(s *stakeState) { s.Lockup = lockup{0, 9, carol} }), aStake(sol, func(s *stakeState) { s.Lockup = lockup{0, 9, carol} })), merge)
	b.add("merge of different reserves", "null", ab(active, aStake(sol, func(s *stakeState) { s.Reserve = 5 })), merge)
	b.add("merge of an inactive one's flags", "null", ab(activating, aStake(sol, func(s *stakeState) { s.Deactivated, s.Flags = 1, 2 })), merge)
	b.add("merge of flags", "null", ab(aStake(5*sol, func(s *stakeState) { s.Activated, s.Flags = testEpoch, 1 }), aStake(sol, func(s *stakeState) { s.Activated, s.Flags = testEpoch, 2 })), merge)
}

func stakeMoveCases(b *stakeBook) {
	active := aStake(5*sol, nil)
	late := aStake(3*sol, func(s *stakeState) { s.Credits = 2001 }).plus(sol)
	idle := anInitialized(0, nil)
	move := func(n uint64) call { return moveStake(16, stakeA, stakeB, alice, n) }
	pay := func(n uint64) call { return moveStake(17, stakeA, stakeB, alice, n) }
	b.add("move to an active one", "null", ab(active, late), move(sol))
	b.add("move all to an active one", "null", ab(active, late), move(5*sol))
	b.add("move leaving the minimum", "null", ab(active, late), move(4*sol))
	b.add("move leaving less", instr(0, "InvalidArgument"), ab(active, late), move(4*sol+1))
	b.add("move too much", instr(0, "InvalidArgument"), ab(active, late), move(5*sol+1))
	b.add("move nothing", instr(0, "InvalidArgument"), ab(active, late), move(0))
	b.add("move one lamport to an active one", "null", ab(active, late), move(1))
	b.add("move to an idle one", "null", ab(active, idle), move(sol))
	b.add("move all to an idle one", "null", ab(active, idle), move(5*sol))
	b.add("move to an idle one below the minimum", instr(0, "InvalidArgument"), ab(active, idle), move(sol-1))
	b.add("move to an inactive one", "null", ab(active, aStake(sol, func(s *stakeState) { s.Deactivated, s.Voter = 1, voteB })), move(2*sol))
	b.add("move to another validator", customError(0, 10), ab(active, aStake(sol, func(s *stakeState) { s.Voter = voteB })), move(sol))
	b.add("move to an activating one", instr(0, "InvalidAccountData"), ab(active, aStake(sol, func(s *stakeState) { s.Activated = testEpoch })), move(sol))
	b.add("move from an activating one", instr(0, "InvalidAccountData"), ab(aStake(2*sol, func(s *stakeState) { s.Activated = testEpoch }), active), move(sol))
	b.add("move from an idle one", instr(0, "InvalidAccountData"), ab(anInitialized(3*sol, nil), active), move(sol))
	b.add("move from a leaving one", customError(0, 5), ab(aStake(2*sol, func(s *stakeState) { s.Deactivated = testEpoch }), active), move(sol))
	b.add("move by the withdrawer", instr(0, "MissingRequiredSignature"), ab(active, late), moveStake(16, stakeA, stakeB, bob, sol))
	b.add("move unsigned", instr(0, "MissingRequiredSignature"), ab(active, late), stakeCall(16, pack(sol), w(stakeA), w(stakeB), r(voteA)))
	b.add("move to itself", instr(0, "InvalidInstructionData"), nil, moveStake(16, stakeA, stakeA, alice, sol))
	b.add("move read-only", instr(0, "InvalidInstructionData"), ab(active, late), stakeCall(16, pack(sol), w(stakeA), r(stakeB), s(alice)))
	b.add("move, accounts missing", instr(0, "NotEnoughAccountKeys"), ab(active, late), stakeCall(16, pack(sol), w(stakeA), w(stakeB)))
	b.add("move to a stranger's", customError(0, 6), ab(active, aStake(sol, func(s *stakeState) { s.Withdrawer = mallory })), move(sol))
	b.add("move from a long account", instr(0, "InvalidAccountData"), ab(account{6 * sol, stakeProgram, resized(active.Data, 201), false}, late), move(sol))
	b.add("move clears flags", "null", ab(aStake(5*sol, func(s *stakeState) { s.Flags = 1 }), late), move(sol))

	b.add("move lamports between active ones", "null", ab(late, active), pay(sol))
	b.add("move too many lamports", instr(0, "InvalidArgument"), ab(late, active), pay(sol+1))
	b.add("move lamports of an idle one", "null", ab(anInitialized(sol, nil), active), pay(sol))
	b.add("move rent of an idle one", instr(0, "InvalidArgument"), ab(anInitialized(sol, nil), active), pay(sol+1))
	b.add("move lamports to an activating one", "null", ab(late, aStake(sol, func(s *stakeState) { s.Activated = testEpoch })), pay(sol))
	b.add("move lamports of an activating one", instr(0, "InvalidAccountData"), ab(aStake(sol, func(s *stakeState) { s.Activated = testEpoch }).plus(sol), active), pay(1))
	b.add("move no lamports", instr(0, "InvalidArgument"), ab(late, active), pay(0))
}

// stakeEpochCases have a history in which stakes change partially.
func stakeEpochCases(b *stakeBook) {
	slow := aHistory(activation{1000 * sol, 900 * sol, 500 * sol}, activation{900 * sol, 7777 * sol, 333*sol + 1})
	world := func(change func(*stakeState)) accounts {
		return accounts{stakeA: aStake(5*sol+7, change), historySysvar: slow}
	}
	warming := world(func(s *stakeState) { s.Activated = 0 })
	cooling := world(func(s *stakeState) { s.Deactivated = 0 })
	both := world(func(s *stakeState) { s.Activated, s.Deactivated = 0, 1 })
	for name, w := range map[string]accounts{"warming": warming, "cooling": cooling, "both": both} {
		b.add(name+" cannot be delegated", customError(0, 3), w, delegateStake(stakeA, voteA, alice))
		b.add(name+" splits", "null", w, splitStake(stakeA, stakeB, alice, 2*sol))
		merging := accounts{stakeA: w[stakeA], stakeB: w[stakeA], historySysvar: slow}
		b.add(name+" cannot be merged", customError(0, 5), merging, mergeStake(stakeA, stakeB, alice))
	}
	for _, w := range []struct {
		name string
		accounts
	}{{"cooling", cooling}, {"both", both}} {
		s, _ := readStake(w.accounts[stakeA].Data)
		left := s.at(testEpoch, historyIn(slow.Data, testEpoch)).Effective
		b.add(w.name+" lets go what has cooled down", "null", w.accounts, withdrawStake(stakeA, carol, bob, 5*sol+7-left))
		b.add(w.name+" lets go no lamport more", instr(0, "InsufficientFunds"), w.accounts, withdrawStake(stakeA, carol, bob, 5*sol+8-left))
	}
	b.add("a stake older than the history is effective", customError(0, 5), accounts{
		stakeA: aStake(5*sol, func(s *stakeState) { s.Activated = 1 }), stakeB: aStake(5*sol, func(s *stakeState) { s.Activated = 1 }), historySysvar: slow,
	}, mergeStake(stakeA, stakeB, alice))
	paying := accounts{rewardsSysvar: {Lamports: 1, Owner: sysvarOwner, Data: append(make([]byte, rewardsActiveAt), 1)}}
	b.add("delegate while rewards are paid", customError(0, 16), paying, delegateStake(stakeA, voteA, alice))
	b.add("withdraw while rewards are paid", customError(0, 16), paying, withdrawStake(stakeA, carol, bob, 1))
	b.add("garbage while rewards are paid", instr(0, "InvalidInstructionData"), paying, stakeCall(99, nil, w(stakeA)))
	b.add("redelegate while rewards are paid", customError(0, 16), paying, stakeCall(15, nil, w(stakeA)))
	b.add("minimum while rewards are paid", "null", paying, stakeCall(13, nil))
}
