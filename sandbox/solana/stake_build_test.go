package solana

import "encoding/binary"

// Builders of stake and vote accounts and of the Stake program's instructions, for tests.

// testEpoch is the epoch of the agreement tests.
const testEpoch = 2

var (
	stakeA, stakeB = addressOf("stake a"), addressOf("stake b")
	voteA, voteB   = addressOf("vote a"), addressOf("vote b")
	stakeReserve   = rentMinimum(stakeSize)
)

// aStake is an account whose staker is alice and whose withdrawer is bob, with its rent and these lamports staked to
// voteA since genesis.
func aStake(lamports uint64, change func(*stakeState)) account {
	s := stakeState{
		Kind: stakeDelegated, Reserve: pseudoReserve, Staker: alice, Withdrawer: bob,
		delegation: delegation{Voter: voteA, Stake: lamports, Activated: never, Deactivated: never}, Rate: defaultRate, Credits: 1000,
	}
	if change != nil {
		change(&s)
	}
	return account{Lamports: stakeReserve + lamports, Owner: stakeProgram, Data: resized(s.bytes(), stakeSize)}
}

// plus changes the lamports of an account by that much.
func (a account) plus(lamports uint64) account {
	a.Lamports += lamports
	return a
}

// anInitialized account has its rent and these lamports beside.
func anInitialized(lamports uint64, change func(*stakeState)) account {
	return aStake(lamports, func(s *stakeState) {
		s.Kind = stakeInitialized
		if change != nil {
			change(s)
		}
	})
}

// anEmptyStake is an account that was made for the program, but not initialized.
func anEmptyStake(lamports uint64) account {
	return account{Lamports: stakeReserve + lamports, Owner: stakeProgram, Data: make([]byte, stakeSize)}
}

// aVote is a vote account with credits in these epochs, 500 in each.
func aVote(epochs ...uint64) account {
	v := voteState{Node: carol, Withdrawer: carol, InflationCollector: voteA, RevenueCollector: carol, InflationCommission: 500}
	for i, epoch := range epochs {
		v.Credits = append(v.Credits, epochCredits{epoch, uint64(i+1) * 500, uint64(i) * 500})
	}
	return account{Lamports: rentMinimum(voteSize), Owner: voteProgram, Data: v.bytes()}
}

// aHistory is the StakeHistory sysvar of the epochs before testEpoch, newest first.
func aHistory(entries ...activation) account {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(entries)))
	for i, e := range entries {
		for _, n := range []uint64{testEpoch - 1 - uint64(i), e.Effective, e.Activating, e.Deactivating} {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
	}
	return account{Lamports: 1, Owner: sysvarOwner, Data: b}
}

// stakeCall is an instruction; short forms of the metas are w, s and r.
func stakeCall(kind uint32, args []byte, metas ...meta) call {
	return call{stakeProgram, metas, append(pack(kind), args...)}
}

func initializeStake(account, staker, withdrawer address, l lockup) call {
	return stakeCall(0, pack(staker, withdrawer, uint64(l.Unix), l.Epoch, l.Custodian), w(account), r(rentSysvar))
}

func delegateStake(account, vote, by address) call {
	return stakeCall(2, nil, w(account), r(vote), s(by))
}

func splitStake(source, target, by address, lamports uint64) call {
	return stakeCall(3, pack(lamports), w(source), w(target), s(by))
}

func withdrawStake(account, to, by address, lamports uint64, more ...meta) call {
	return stakeCall(4, pack(lamports), append([]meta{w(account), w(to), s(by)}, more...)...)
}

func deactivateStake(account, by address) call {
	return stakeCall(5, nil, w(account), s(by))
}

func mergeStake(target, source, by address) call {
	return stakeCall(7, nil, w(target), w(source), s(by))
}

func moveStake(kind uint32, source, target, by address, lamports uint64) call {
	return stakeCall(kind, pack(lamports), w(source), w(target), s(by))
}
