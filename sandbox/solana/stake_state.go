package solana

import (
	"encoding/binary"
	"math"
)

// Sizes of a stake account's data in bytes: the whole account, and what the program writes for its kinds. An account
// that is initialized again keeps the bytes of an older delegation behind its meta, as on a real cluster.
const (
	stakeSize          = 200
	stakeInitialLength = 124
	stakeLength        = 197
)

// The kinds of a stake account (StakeStateV2).
const (
	stakeUninitialized = 0
	stakeInitialized   = 1
	stakeDelegated     = 2
	stakeRewardsPool   = 3
)

// never is the deactivation epoch of a stake that is not deactivated. As an activation epoch it marks a stake that has
// been effective since genesis.
const never = math.MaxUint64

// pseudoReserve is what the program writes as rent_exempt_reserve, whatever the rent is. It ignores the value.
const pseudoReserve = 2_282_880

// defaultRate is what the program writes as warmup_cooldown_rate. The rate that counts is rateOfChange.
const defaultRate = 0.25

// stakeState is a parsed stake account. Everything behind Lockup belongs to the kind stakeDelegated alone.
type stakeState struct {
	Kind       uint32
	Reserve    uint64 // rent_exempt_reserve in lamports; not to be trusted
	Staker     address
	Withdrawer address
	Lockup     lockup
	delegation
	Rate    float64 // warmup_cooldown_rate, which the program writes but does not use
	Credits uint64  // credits_observed: the vote account's credits up to which rewards were paid
	Flags   byte
}

// lockup keeps the withdrawer from taking lamports until both its time and its epoch have passed.
type lockup struct {
	Unix      int64 // seconds
	Epoch     uint64
	Custodian address
}

// inForce says whether the lockup still holds for a transaction in which the custodian signed, if one did.
func (l lockup) inForce(now clock, custodian *address) bool {
	if custodian != nil && *custodian == l.Custodian {
		return false
	}
	return l.Unix > now.unix || l.Epoch > now.epoch
}

// delegation is the stake that counts for a vote account. Stake is in lamports.
type delegation struct {
	Voter       address
	Stake       uint64
	Activated   uint64 // epoch
	Deactivated uint64 // epoch, or never
}

// newStake is a fresh delegation from this epoch on.
func (s stakeState) newStake(voter address, stake, credits, epoch uint64) stakeState {
	s.Kind = stakeDelegated
	s.delegation = delegation{Voter: voter, Stake: stake, Activated: epoch, Deactivated: never}
	s.Rate, s.Credits = defaultRate, credits
	return s
}

// readStake parses a stake account's data. It returns false for data that the program refuses as invalid.
func readStake(data []byte) (s stakeState, ok bool) {
	r := &reader{rest: data}
	s.Kind = binary.LittleEndian.Uint32(r.take(4))
	if s.Kind == stakeInitialized || s.Kind == stakeDelegated {
		s.Reserve = r.u64()
		s.Staker, s.Withdrawer = address(r.take(32)), address(r.take(32))
		s.Lockup = lockup{int64(r.u64()), r.u64(), address(r.take(32))}
	}
	if s.Kind == stakeDelegated {
		s.delegation = delegation{address(r.take(32)), r.u64(), r.u64(), r.u64()}
		s.Rate = math.Float64frombits(r.u64())
		s.Credits, s.Flags = r.u64(), r.byte()
	}
	return s, r.err == nil && s.Kind <= stakeRewardsPool
}

// bytes encodes the state, as long as its kind needs it.
func (s stakeState) bytes() []byte {
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, stakeSize), s.Kind)
	if s.Kind != stakeInitialized && s.Kind != stakeDelegated {
		return b
	}
	b = binary.LittleEndian.AppendUint64(b, s.Reserve)
	b = append(append(b, s.Staker[:]...), s.Withdrawer[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Lockup.Unix))
	b = binary.LittleEndian.AppendUint64(b, s.Lockup.Epoch)
	b = append(b, s.Lockup.Custodian[:]...)
	if s.Kind == stakeInitialized {
		return b
	}
	b = append(b, s.Voter[:]...)
	for _, n := range []uint64{s.Stake, s.Activated, s.Deactivated} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.Rate))
	return append(binary.LittleEndian.AppendUint64(b, s.Credits), s.Flags)
}

// u64 reads a little-endian integer.
func (r *reader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// authority names one of the two keys that rule a stake account, with its number in instructions.
type authority uint32

const (
	staker     authority = 0
	withdrawer authority = 1
)

// signers are the keys that count as having signed an instruction.
type signers map[address]bool

// allows requires the signature of one of the account's authorities.
func (s stakeState) allows(signed signers, by authority) *InstructionError {
	key := s.Staker
	if by == withdrawer {
		key = s.Withdrawer
	}
	if !signed[key] {
		return refused("MissingRequiredSignature")
	}
	return nil
}

// authorize replaces an authority. The withdrawer may replace the staker too; a lockup in force protects the
// withdrawer unless the custodian signs.
func (s *stakeState) authorize(signed signers, key address, which authority, now clock, custodian *address) *InstructionError {
	if which == staker {
		if !signed[s.Staker] && !signed[s.Withdrawer] {
			return refused("MissingRequiredSignature")
		}
		s.Staker = key
		return nil
	}
	if s.Lockup.inForce(now, nil) {
		switch {
		case custodian == nil:
			return custom(stakeCustodianMissing)
		case !signed[*custodian]:
			return custom(stakeCustodianUnsigned)
		case s.Lockup.inForce(now, custodian):
			return custom(stakeLocked)
		}
	}
	if err := s.allows(signed, withdrawer); err != nil {
		return err
	}
	s.Withdrawer = key
	return nil
}

// deactivate begins the cooldown. It can be asked for once.
func (s *stakeState) deactivate(epoch uint64) *InstructionError {
	if s.Deactivated != never {
		return custom(stakeDeactivated)
	}
	s.Deactivated = epoch
	return nil
}
