package wallet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/bits"
	"slices"
	"time"
)

// StakeProgram is Solana's native Stake program.
var StakeProgram = MustAddress("Stake11111111111111111111111111111111111111")

// StakeAccountSize is the size of a stake account in bytes. It must hold the rent of that size beside its stake.
const StakeAccountSize = 200

// NeverEpoch is the deactivation epoch of a stake that is not deactivated. As an activation epoch it marks a stake that
// has been active since genesis.
const NeverEpoch = math.MaxUint64

// StakeSeed returns the seed of the stake account that t creates. It comes from t's reference, so no two transactions
// create the same account.
func (t Transaction) StakeSeed() string { return hex.EncodeToString(t.Reference[:16]) }

// NewStakeAccount returns the stake account that t creates. It has no key of its own: it derives from the wallet.
func (t Transaction) NewStakeAccount() Address {
	return AddressWithSeed(t.From, t.StakeSeed(), StakeProgram)
}

// AddressWithSeed returns the address that the System program derives from a base key, a seed and the owning program
// (Pubkey::create_with_seed).
func AddressWithSeed(base Address, seed string, program Address) Address {
	return sha256.Sum256(slices.Concat(base[:], []byte(seed), program[:]))
}

// StakeAccount is a stake account as the chain holds it. Amounts are in lamports.
type StakeAccount struct {
	Address     Address
	Lamports    uint64 // all that it holds, rent included
	Staker      Address
	Withdrawer  Address
	LockedUntil time.Time // of its lockup; before 1970 or zero: no lockup by time
	LockedEpoch uint64    // of its lockup: locked while the epoch is lower
	// The delegation. Voter is zero for an account that was never delegated.
	Voter       Address
	Stake       uint64
	Activated   uint64 // epoch
	Deactivated uint64 // epoch, or NeverEpoch
	Slot        uint64 // of the node's answer
}

// Delegated reports whether the account has a delegation, active or not.
func (a StakeAccount) Delegated() bool { return !a.Voter.IsZero() }

// StakeActivation is how much of a stake counts in an epoch, and how much is on the way, in lamports. Summed over the
// whole cluster it is an entry of the stake history. Deactivating lamports are effective too.
type StakeActivation struct{ Effective, Activating, Deactivating uint64 }

// StakeEpoch is what stakes are judged by: the current epoch and the cluster's history.
type StakeEpoch struct {
	Epoch     uint64
	At        time.Time     // of the node's answer
	SlotsLeft uint64        // until the epoch ends
	SlotTime  time.Duration // measured over the last minutes
	Slots     uint64        // of a whole epoch
	// Paying means that the rewards of the last epoch are being paid out. The Stake program refuses all changes then.
	Paying bool
	// History has what the whole cluster had at the end of earlier epochs.
	History map[uint64]StakeActivation
}

// EndsAfter estimates when n more epoch boundaries have passed: 1 is the end of the current epoch. It is an estimate: the
// length of slots changes.
func (e StakeEpoch) EndsAfter(n uint64) time.Time {
	if n == 0 {
		return e.At
	}
	slots := min(e.SlotsLeft, maxSlotsAhead) + (min(n, maxEpochsAhead)-1)*min(e.Slots, maxSlotsAhead)
	return e.At.Add(time.Duration(min(slots, maxSlotsAhead)) * min(e.SlotTime, maxSlotTime))
}

// These keep estimates from overflowing, whatever a node says.
const (
	maxEpochsAhead = 1_000
	maxSlotsAhead  = 1 << 32
	maxSlotTime    = 2 * time.Second
)

// ChangesAt estimates when the warm-up or cooldown of an account ends; zero if none is under way. Most end with their
// epoch. One takes several when more stake of the cluster changes than may change in one epoch.
func (e StakeEpoch) ChangesAt(a StakeAccount) time.Time {
	var last StakeActivation // of the whole cluster, in the last epoch
	if e.Epoch > 0 {
		last = e.History[e.Epoch-1]
	}
	switch state, now := e.StakeState(a); state {
	case StakeActivating:
		return e.EndsAfter(epochsUntilChanged(now.Activating, last.Activating, last.Effective, a.Activated == e.Epoch)).UTC()
	case StakeDeactivating:
		return e.EndsAfter(epochsUntilChanged(now.Deactivating, last.Deactivating, last.Effective, a.Deactivated == e.Epoch)).UTC()
	}
	return time.Time{}
}

// CooldownEnd estimates when lamports that are deactivated now can be withdrawn: at once where the account has not become
// active.
func (e StakeEpoch) CooldownEnd(a StakeAccount, lamports uint64) time.Time {
	if _, now := e.StakeState(a); now.Effective == 0 {
		return e.At.UTC()
	}
	return e.ChangesAt(StakeAccount{Voter: a.Voter, Stake: lamports, Activated: NeverEpoch, Deactivated: e.Epoch})
}

// epochsUntilChanged estimates how many epoch boundaries pass until own lamports have changed. waiting is what the whole
// cluster wanted to change in the last epoch, effective its stake then. isNew: own was not among what waited. What else
// has come since is not known before the epoch ends, so this is the least.
func epochsUntilChanged(own, waiting, effective uint64, isNew bool) uint64 {
	high, low := bits.Mul64(effective, changePercent)
	if high >= 100 {
		return 1
	}
	may, _ := bits.Div64(high, low, 100)
	if may == 0 {
		return 1 // the node tells no history
	}
	waiting -= min(waiting, may) // changed when the present epoch began
	if isNew {
		waiting += min(own, math.MaxUint64-waiting)
	}
	waiting = max(waiting, own, 1)
	return (waiting-1)/may + 1
}

// changePercent is the part of the cluster's effective stake that may become active or inactive in one epoch, in percent.
const changePercent = 9

// StakeState is a stage in the life of a stake account.
type StakeState string

// The states.
const (
	StakeActivating   StakeState = "activating"   // delegated, and does not earn rewards yet
	StakeActive       StakeState = "active"       // earns rewards
	StakeDeactivating StakeState = "deactivating" // undelegated, and cannot be withdrawn yet
	StakeInactive     StakeState = "inactive"     // can be withdrawn
)

// StakeState returns the state of an account in an epoch, and how much of it counts.
func (e StakeEpoch) StakeState(a StakeAccount) (StakeState, StakeActivation) {
	now := e.activation(a)
	switch {
	case !a.Delegated(), now == StakeActivation{}:
		return StakeInactive, now
	case now.Deactivating > 0:
		return StakeDeactivating, now
	case now.Activating > 0:
		return StakeActivating, now
	}
	return StakeActive, now
}

// activation follows the Stake program: a stake takes its share of what the cluster may change in each epoch, from the
// epoch of its activation and then of its deactivation.
func (e StakeEpoch) activation(a StakeAccount) StakeActivation {
	if !a.Delegated() {
		return StakeActivation{}
	}
	up := e.warmedUp(a)
	switch {
	case e.Epoch < a.Deactivated:
		return up
	case e.Epoch == a.Deactivated:
		return StakeActivation{Effective: up.Effective, Deactivating: up.Effective}
	}
	cluster, known := e.History[a.Deactivated]
	if !known {
		return StakeActivation{} // long ago
	}
	left := up.Effective
	for next := a.Deactivated + 1; cluster.Deactivating > 0; next++ {
		left -= min(left, max(changeShare(left, cluster.Deactivating, cluster.Effective), 1))
		if left == 0 || next >= e.Epoch {
			break
		}
		if cluster, known = e.History[next]; !known {
			break
		}
	}
	return StakeActivation{Effective: left, Deactivating: left}
}

// warmedUp is activation without the deactivation.
func (e StakeEpoch) warmedUp(a StakeAccount) StakeActivation {
	switch {
	case a.Activated == NeverEpoch:
		return StakeActivation{Effective: a.Stake}
	case a.Activated == a.Deactivated, e.Epoch < a.Activated:
		return StakeActivation{}
	case e.Epoch == a.Activated:
		return StakeActivation{Activating: a.Stake}
	}
	cluster, known := e.History[a.Activated]
	if !known {
		return StakeActivation{Effective: a.Stake}
	}
	effective := uint64(0)
	for next := a.Activated + 1; cluster.Activating > 0; next++ {
		effective += min(a.Stake-effective, max(changeShare(a.Stake-effective, cluster.Activating, cluster.Effective), 1))
		if effective == a.Stake || next >= e.Epoch || next >= a.Deactivated {
			break
		}
		if cluster, known = e.History[next]; !known {
			break
		}
	}
	return StakeActivation{Effective: effective, Activating: a.Stake - effective}
}

// changeShare is what a stake may change by in one epoch: its part (own of waiting) of the 9 % of the cluster's effective
// stake that may change. It is rounded down, and at most own.
func changeShare(own, waiting, effective uint64) uint64 {
	// own * effective * 9 / (waiting * 100), in two steps so that nothing overflows.
	high, low := bits.Mul64(effective, changePercent)
	if high >= 100 {
		return own
	}
	may, _ := bits.Div64(high, low, 100)
	if may >= waiting {
		return own
	}
	high, low = bits.Mul64(own, may)
	if high >= waiting {
		return own
	}
	share, _ := bits.Div64(high, low, waiting)
	return min(share, own)
}

// StakeHold is why a stake account is shown and not offered: nothing here may be done with it.
type StakeHold string

// The holds.
const (
	HoldNone    StakeHold = ""
	HoldForeign StakeHold = "foreign_authority" // somebody else may undelegate or withdraw it too
	HoldLocked  StakeHold = "locked"            // its lockup has not ended
)

// Hold returns why owner cannot use an account.
func (e StakeEpoch) Hold(a StakeAccount, owner Address) StakeHold {
	switch {
	case a.Staker != owner || a.Withdrawer != owner:
		return HoldForeign
	case a.LockedUntil.After(e.At) || a.LockedEpoch > e.Epoch:
		return HoldLocked
	}
	return HoldNone
}

// Validator is a validator that stake can be delegated to.
type Validator struct {
	Vote          Address // its vote account, which identifies it
	Identity      Address
	Name          string          // what it calls itself on chain; "" without
	Commission    uint64          // of the rewards, in basis points
	Stake         uint64          // lamports that are delegated to it
	Delinquent    bool            // it does not vote
	Superminority bool            // it is one of the largest that together hold over a third of all stake
	Credits       [5]EpochCredits // of the last epochs; entries without credits are not known
}

// RankValidators marks the superminority and sorts: who votes before who does not, who is not in the superminority before
// who is, then by the lowest commission, then by the most stake. preferred come before all others, in their own order,
// unless they are delinquent.
func RankValidators(all []Validator, preferred []Address) []Validator {
	out := slices.Clone(all)
	slices.SortFunc(out, func(a, b Validator) int {
		return cmp.Or(cmp.Compare(b.Stake, a.Stake), slices.Compare(a.Vote[:], b.Vote[:]))
	})
	var total, larger uint64
	for _, v := range out {
		total += v.Stake / 3
	}
	for i := range out {
		out[i].Superminority = larger <= total && out[i].Stake > 0
		larger += out[i].Stake
	}
	place := func(v Validator) int {
		if at := slices.Index(preferred, v.Vote); at >= 0 {
			return at
		}
		return len(preferred)
	}
	slices.SortStableFunc(out, func(a, b Validator) int {
		return cmp.Or(compareBool(a.Delinquent, b.Delinquent), cmp.Compare(place(a), place(b)),
			compareBool(a.Superminority, b.Superminority), cmp.Compare(a.Commission, b.Commission))
	})
	return out
}

// compareBool sorts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
