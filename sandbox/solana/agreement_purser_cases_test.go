package solana

import (
	"crypto/ed25519"

	"purser/chain"
	"purser/wallet"
)

// purserStakeCases run the messages that purser writes for staking: the bytes that its devices sign, with the reference
// behind the accounts of an instruction, and the wallet as custodian of a withdrawal. They are written by chain, so that
// these cases fail when it writes something that the program does not take.
func purserStakeCases(lite *liteSVM) []agreementCase {
	b := &purserStakes{stakeBook{lite: lite}}
	b.delegations()
	b.undelegations()
	b.withdrawals()
	return b.cases
}

// purserStakes collects cases over stakes whose only authority is alice.
type purserStakes struct{ stakeBook }

// add adds a case in which purser's transactions run one after the other.
func (b *purserStakes) add(name, want string, change accounts, all ...wallet.Transaction) {
	c := b.stakeBook.add("purser's "+name, want, change)
	c.wires = nil
	c.accounts[stakeConfig] = oldStakeConfig // LiteSVM has it from the start. The program does not look at it
	for _, t := range all {
		c.wires = append(c.wires, signedByAlice(t, b.lite.blockhash))
	}
}

// oldStakeConfig is the account of the config of old versions, as a cluster has it since its genesis.
var oldStakeConfig = account{Lamports: 1, Owner: configProgram, Data: []byte{14: 0xd0, 15: 0x3f, 16: 0x0c}}

// signedByAlice is a transaction as it is broadcast.
func signedByAlice(t wallet.Transaction, blockhash hash) []byte {
	rules := map[wallet.Kind]wallet.Rules{wallet.Stake: wallet.StakeRules(), wallet.Unstake: wallet.UnstakeRules(), wallet.Withdraw: wallet.WithdrawRules(), wallet.Revoke: wallet.RevokeRules()}[t.Kind]
	message, err := chain.Codec{}.Build(t, rules.Actions(t))
	if err != nil {
		panic(err)
	}
	if message, err = chain.WithBlockhash(message, blockhash); err != nil {
		panic(err)
	}
	wire, err := chain.Assemble(message, wallet.Signature(ed25519.Sign(person("alice"), message)))
	if err != nil {
		panic(err)
	}
	return wire
}

// step is a step of alice's. Its reference follows from a name, and with it the account that it creates.
func step(kind wallet.Kind, name string, lamports uint64, change func(*wallet.Transaction)) wallet.Transaction {
	t := wallet.Transaction{Kind: kind, From: wallet.Address(alice), To: wallet.Address(alice), Token: wallet.SOL, Amount: lamports, Reference: wallet.Address(addressOf(name))}
	if change != nil {
		change(&t)
	}
	return t
}

func newStake(name string, lamports uint64) wallet.Transaction {
	return step(wallet.Stake, name, lamports, func(t *wallet.Transaction) { t.To, t.Rent = wallet.Address(voteA), stakeReserve })
}

// about names the account that a step is about, and those that are merged into it.
func about(account address, merged ...address) func(*wallet.Transaction) {
	return func(t *wallet.Transaction) {
		terms := wallet.StakeTerms{Account: wallet.Address(account)}
		for _, m := range merged {
			terms.Merged = append(terms.Merged, wallet.Address(m))
		}
		t.Terms = terms.Terms()
	}
}

// apart is about for a part of the account.
func apart(account address, merged ...address) func(*wallet.Transaction) {
	return func(t *wallet.Transaction) {
		about(account, merged...)(t)
		terms := t.StakeTerms()
		terms.Split = true
		t.Terms, t.Rent = terms.Terms(), stakeReserve
	}
}

// owned is an account whose withdrawer is alice too.
func owned(change func(*stakeState)) func(*stakeState) {
	return func(s *stakeState) {
		s.Withdrawer = alice
		if change != nil {
			change(s)
		}
	}
}

func (b *purserStakes) delegations() {
	b.add("delegation", "null", nil, newStake("first", 2*sol))
	b.add("delegation of the minimum", "null", nil, newStake("first", sol))
	b.add("delegation of less", customError(2, 12), nil, newStake("first", sol-1))
	b.add("delegation of all", "null", nil, newStake("first", 100*sol-stakeReserve-5000))
	b.add("delegation with a budget", "null", nil, step(wallet.Stake, "first", 2*sol, func(t *wallet.Transaction) {
		t.To, t.Rent, t.ComputeUnitLimit, t.ComputeUnitPrice = wallet.Address(voteA), stakeReserve, 60_000, 1000
	}))
	b.add("two delegations", "null", nil, newStake("first", 2*sol), newStake("second", 3*sol))
	b.add("delegation to no validator", `{"InstructionError":[2,"IncorrectProgramId"]}`, nil,
		step(wallet.Stake, "first", sol, func(t *wallet.Transaction) { t.To, t.Rent = wallet.Address(carol), stakeReserve }))
	b.add("delegation while rewards are paid", customError(1, 16), payingRewards(), newStake("first", 2*sol))
	first := newStake("first", 2*sol)
	account := address(first.NewStakeAccount())
	b.add("whole life in one epoch", "null", nil, first, step(wallet.Unstake, "back", 2*sol, about(account)), step(wallet.Withdraw, "home", 2*sol+stakeReserve, about(account)))
}

// payingRewards is the state in which the Stake program refuses changes.
func payingRewards() accounts {
	return accounts{rewardsSysvar: {Lamports: 1, Owner: sysvarOwner, Data: append(make([]byte, rewardsActiveAt), 1)}}
}

func (b *purserStakes) undelegations() {
	mine, other := aStake(5*sol, owned(nil)), aStake(3*sol, owned(func(s *stakeState) { s.Credits = 2000 }))
	b.add("undelegation", "null", a(mine), step(wallet.Unstake, "back", 5*sol, about(stakeA)))
	b.add("undelegation of a stake that warms up", "null", a(aStake(2*sol, owned(func(s *stakeState) { s.Activated = testEpoch }))), step(wallet.Unstake, "back", 2*sol, about(stakeA)))
	b.add("undelegation of somebody else's", instr(0, "MissingRequiredSignature"), a(aStake(5*sol, func(s *stakeState) { s.Staker = bob })), step(wallet.Unstake, "back", 5*sol, about(stakeA)))
	b.add("undelegation twice", customError(0, 2), a(mine), step(wallet.Unstake, "back", 5*sol, about(stakeA)), step(wallet.Unstake, "again", 5*sol, about(stakeA)))
	b.add("undelegation while rewards are paid", customError(0, 16), accounts{stakeA: mine, rewardsSysvar: payingRewards()[rewardsSysvar]}, step(wallet.Unstake, "back", 5*sol, about(stakeA)))
	b.add("undelegation of a part", "null", a(mine), step(wallet.Unstake, "back", 2*sol, apart(stakeA)))
	b.add("undelegation of a part, down to the minimum", "null", a(mine), step(wallet.Unstake, "back", 4*sol, apart(stakeA)))
	b.add("undelegation of a part that leaves too little", customError(1, 12), a(mine), step(wallet.Unstake, "back", 4*sol+1, apart(stakeA)))
	b.add("undelegation of too small a part", customError(1, 12), a(mine), step(wallet.Unstake, "back", sol-1, apart(stakeA)))
	b.add("undelegation of a part of a stake that warms up", "null", a(aStake(5*sol, owned(func(s *stakeState) { s.Activated = testEpoch }))), step(wallet.Unstake, "back", 2*sol, apart(stakeA)))
	b.add("undelegation of two", "null", ab(mine, other), step(wallet.Unstake, "back", 8*sol, about(stakeA, stakeB)))
	b.add("undelegation of a part of two", "null", ab(mine, other), step(wallet.Unstake, "back", 6*sol, apart(stakeA, stakeB)))
	b.add("undelegation of two validators' stakes", customError(0, 6), ab(mine, aStake(3*sol, owned(func(s *stakeState) { s.Voter = voteB }))), step(wallet.Unstake, "back", 8*sol, about(stakeA, stakeB)))
	six := accounts{stakeA: mine}
	var merged []address
	for _, name := range []string{"c", "d", "e", "f", "g"} {
		six[addressOf("stake "+name)] = other
		merged = append(merged, addressOf("stake "+name))
	}
	b.add("undelegation of a part of six", "null", six, step(wallet.Unstake, "back", 19*sol, apart(stakeA, merged...)))
}

func (b *purserStakes) withdrawals() {
	gone := func(s *stakeState) { s.Deactivated = 1 }
	cold, locked := aStake(5*sol, owned(gone)), func(custodian address) account {
		return aStake(5*sol, owned(func(s *stakeState) { s.Deactivated, s.Lockup = 1, lockup{0, testEpoch + 1, custodian} }))
	}
	all := step(wallet.Withdraw, "home", 5*sol+stakeReserve, about(stakeA))
	b.add("withdrawal", "null", a(cold), all)
	b.add("withdrawal of a part", "null", a(cold), step(wallet.Withdraw, "home", 2*sol, about(stakeA)))
	b.add("withdrawal down to the rent", "null", a(cold), step(wallet.Withdraw, "home", 5*sol, about(stakeA)))
	b.add("withdrawal into the rent", instr(0, "InsufficientFunds"), a(cold), step(wallet.Withdraw, "home", 5*sol+1, about(stakeA)))
	b.add("withdrawal of two", "null", ab(cold, aStake(3*sol, owned(gone))), step(wallet.Withdraw, "home", 8*sol+2*stakeReserve, about(stakeA, stakeB)))
	b.add("withdrawal of what was never delegated", "null", a(anInitialized(2*sol, owned(nil))), step(wallet.Withdraw, "home", 2*sol+stakeReserve, about(stakeA)))
	b.add("withdrawal of what lies beside an active stake", "null", a(aStake(5*sol, owned(nil)).plus(sol)), step(wallet.Withdraw, "home", sol, about(stakeA)))
	b.add("withdrawal of what is active", instr(0, "InsufficientFunds"), a(aStake(5*sol, owned(nil)).plus(sol)), step(wallet.Withdraw, "home", sol+1, about(stakeA)))
	b.add("withdrawal of somebody else's", instr(0, "MissingRequiredSignature"), a(aStake(5*sol, gone)), all)
	b.add("withdrawal from a lockup", customError(0, 1), a(locked(carol)), all)
	b.add("withdrawal from a lockup of one's own", "null", a(locked(alice)), all)
	b.add("withdrawal while rewards are paid", customError(0, 16), accounts{stakeA: cold, rewardsSysvar: payingRewards()[rewardsSysvar]}, all)
}

// purserRevokeCases run the messages that purser writes for revocations, with the reference behind the owner.
func purserRevokeCases(lite *liteSVM) []agreementCase {
	b := &caseBook{lite: lite}
	for _, program := range []address{tokenProgram, token2022Program} {
		b.prefix, b.program = "purser's revocation: "+program.String()+": ", program
		t := wallet.Transaction{Kind: wallet.Revoke, From: wallet.Address(alice), To: wallet.Address(alice), Token: wallet.SOL, Reference: wallet.Address(addressOf("reference")),
			Terms: wallet.RevokeTerms{Account: wallet.Address(from), Token: wallet.Token{Mint: wallet.Address(theMint), Program: wallet.Address(program)}, Delegate: wallet.Address(bob)}.Terms()}
		priced := t
		priced.ComputeUnitLimit, priced.ComputeUnitPrice = 5_000, 1_000
		add := func(name, want string, change accounts, t wallet.Transaction) {
			b.add(name, want, change).wires = [][]byte{signedByAlice(t, lite.blockhash)}
		}
		held := func(changes ...func(tokenAccount)) accounts {
			holding := aHolding(program, theMint, alice, 1000)
			for _, change := range changes {
				holding = holding.changed(change)
			}
			return accounts{from: holding}
		}
		add("of a delegate", "null", held(delegated(bob, 100)), t)
		add("with a budget", "null", held(delegated(bob, 100)), priced)
		add("of nobody", "null", held(), t)
		add("of a frozen account", customError(0, 17), held(delegated(bob, 100), frozenState), t)
		add("of somebody else's account", customError(0, 4), accounts{from: aHolding(program, theMint, carol, 1000).changed(delegated(bob, 100))}, t)
		closed := map[address]string{tokenProgram: "InvalidAccountData", token2022Program: "IncorrectProgramId"}[program]
		add("of a closed account", instr(0, closed), accounts{from: {Lamports: sol}}, t)
	}
	return b.cases
}
