package solana

import "math/bits"

// The instructions that split, merge and move stake.

// stakeSplit moves lamports, and the stake they stand for, into an empty stake account.
func (in *invocation) stakeSplit(args *systemArgs) *InstructionError {
	lamports := args.u64()
	list := accountsOf{invocation: in}
	source, target := list.next(), list.next()
	if list.err != nil {
		return list.err
	}
	if in.key(source) == in.key(target) {
		return refused("InvalidArgument")
	}
	old, err := in.stakeAt(target)
	if err != nil {
		return err
	}
	if old.Kind != stakeUninitialized {
		return refused("InvalidAccountData")
	}
	held := in.account(source).Lamports
	if lamports > held || lamports == 0 {
		return refused("InsufficientFunds")
	}
	if len(in.account(target).Data) != stakeSize {
		return refused("InvalidAccountData")
	}
	s, active, err := in.splittable(source)
	if err != nil {
		return err
	}
	switch {
	case lamports == held:
		return in.splitAll(source, target, s, active)
	case !active:
		return in.splitInactive(source, target, s, lamports)
	}
	return in.splitActive(source, target, s, lamports)
}

// splittable checks who splits, and says whether any of the stake is effective or activating.
func (in *invocation) splittable(place int) (s stakeState, active bool, err *InstructionError) {
	if s, err = in.stakeAt(place); err != nil {
		return s, false, err
	}
	if err := in.chargeKind(s, 6_100, 13_500); err != nil {
		return s, false, err
	}
	switch s.Kind {
	case stakeUninitialized:
		if !in.signs(place) {
			return s, false, refused("MissingRequiredSignature")
		}
		return s, false, nil
	case stakeRewardsPool:
		return s, false, refused("InvalidAccountData")
	}
	if err := s.allows(in.allSigners(), staker); err != nil {
		return s, false, err
	}
	if s.Kind == stakeDelegated {
		status := s.at(in.clock().epoch, in.history())
		active = status.Effective > 0 || status.Activating > 0
	}
	return s, active, nil
}

// copied is the state that the new account of a split begins with.
func (s stakeState) copied() stakeState {
	if s.Kind != stakeUninitialized {
		s.Reserve = pseudoReserve
	}
	return s
}

// splitAll moves everything and ends the source.
func (in *invocation) splitAll(source, target int, s stakeState, active bool) *InstructionError {
	staked := uint64(0)
	if s.Kind == stakeDelegated && active {
		staked = s.Stake
	}
	lamports := in.account(source).Lamports
	together := lamports + in.account(target).Lamports
	if together < lamports {
		together = ^uint64(0)
	}
	if together-min(together, staked) < in.reserve(target) {
		return refused("InsufficientFunds")
	}
	if active && staked < in.minimumDelegation {
		return custom(stakeInsufficient)
	}
	if err := in.setStake(target, s.copied()); err != nil {
		return err
	}
	in.account(source).Data = nil
	return in.relocate(source, target, lamports)
}

// splitInactive moves lamports that are not staked. Both accounts must hold their rent afterwards.
func (in *invocation) splitInactive(source, target int, s stakeState, lamports uint64) *InstructionError {
	after := in.account(target).Lamports + lamports
	if after < lamports {
		return refused("ArithmeticOverflow")
	}
	if in.account(source).Lamports-lamports < in.reserve(source) || after < in.reserve(target) {
		return refused("InsufficientFunds")
	}
	if err := in.setStake(target, s.copied()); err != nil {
		return err
	}
	return in.relocate(source, target, lamports)
}

// splitActive divides the delegation. The new account must hold its rent before, and both parts need the minimum
// delegation.
func (in *invocation) splitActive(source, target int, s stakeState, lamports uint64) *InstructionError {
	if in.account(target).Lamports < in.reserve(target) {
		return refused("InsufficientFunds")
	}
	if s.Stake < lamports || s.Stake-lamports < in.minimumDelegation {
		return custom(stakeInsufficient)
	}
	part := s.copied()
	s.Stake -= lamports
	if left := in.account(source).Lamports - lamports; left-min(left, s.Stake) < in.reserve(source) {
		return refused("InsufficientFunds")
	}
	if part.Stake = lamports; lamports < in.minimumDelegation {
		return custom(stakeInsufficient)
	}
	if err := in.setStake(source, s); err != nil {
		return err
	}
	if err := in.setStake(target, part); err != nil {
		return err
	}
	return in.relocate(source, target, lamports)
}

// mergeKind says what of an account can be merged.
type mergeKind int

const (
	mergeInactive   mergeKind = iota
	mergeActivating           // all of it, none effective yet
	mergeActive               // all of it
)

// mergeable classifies a stake account. A stake of which a part is effective cannot be merged or moved.
func (in *invocation) mergeable(place int) (s stakeState, kind mergeKind, err *InstructionError) {
	if s, err = in.stakeAt(place); err != nil {
		return s, 0, err
	}
	if err := in.chargeKind(s, 2_000, 5_000); err != nil {
		return s, 0, err
	}
	switch s.Kind {
	case stakeInitialized:
		return s, mergeInactive, nil
	case stakeDelegated:
	default:
		return s, 0, refused("InvalidAccountData")
	}
	status := s.at(in.clock().epoch, in.history())
	switch {
	case status == activation{}:
		return s, mergeInactive, nil
	case status.Effective == 0:
		return s, mergeActivating, nil
	case status.Activating == 0 && status.Deactivating == 0:
		return s, mergeActive, nil
	}
	in.say("%s", stakeTransientText)
	return s, 0, custom(stakeTransient)
}

// metasMerge requires equal authorities, and equal lockups unless both are over.
func (in *invocation) metasMerge(a, b stakeState) *InstructionError {
	now := in.clock()
	lockups := a.Lockup == b.Lockup || !a.Lockup.inForce(now, nil) && !b.Lockup.inForce(now, nil)
	if a.Staker == b.Staker && a.Withdrawer == b.Withdrawer && lockups {
		return nil
	}
	in.say("Unable to merge due to metadata mismatch")
	return custom(stakeMergeMismatch)
}

// stakeMerge moves everything of the second account into the first and ends the second.
func (in *invocation) stakeMerge(*systemArgs) *InstructionError {
	list := accountsOf{invocation: in}
	target, source := list.next(), list.next()
	list.branch(clockSysvar, 1)
	if list.err != nil {
		return list.err
	}
	if in.key(source) == in.key(target) {
		return refused("InvalidArgument")
	}
	in.say("Checking if destination stake is mergeable")
	to, kind, err := in.mergeable(target)
	if err != nil {
		return err
	}
	if err := to.allows(in.allSigners(), staker); err != nil {
		return err
	}
	in.say("Checking if source stake is mergeable")
	from, other, err := in.mergeable(source)
	if err != nil {
		return err
	}
	in.say("Merging stake accounts")
	if err := in.metasMerge(to, from); err != nil {
		return err
	}
	if kind != mergeInactive && other != mergeInactive {
		switch {
		case to.Voter != from.Voter:
			in.say("Unable to merge due to voter mismatch")
			return custom(stakeMergeMismatch)
		case to.Deactivated != never || from.Deactivated != never:
			in.say("Unable to merge due to stake deactivation")
			return custom(stakeMergeMismatch)
		}
	}
	lamports := in.account(source).Lamports
	if err := in.mergeInto(target, to, kind, from, other, lamports); err != nil {
		return err
	}
	in.account(source).Data = nil
	return in.relocate(source, target, lamports)
}

// mergeInto writes the merged state. Lamports of a source that is not yet effective become stake, its rent included; an
// active source gives its stake alone, and its rent can be withdrawn.
func (in *invocation) mergeInto(target int, to stakeState, kind mergeKind, from stakeState, other mergeKind, lamports uint64) *InstructionError {
	flags := byte(0)
	if from.Kind == stakeDelegated {
		flags = from.Flags
	}
	switch {
	case kind == mergeInactive && other != mergeActive:
		return nil
	case kind == mergeActivating && other == mergeInactive:
		if to.Stake+lamports < lamports {
			return refused("InsufficientFunds")
		}
		to.Stake, to.Flags = to.Stake+lamports, to.Flags|flags
	case kind == mergeActivating && other == mergeActivating:
		if err := to.absorb(lamports, from.Credits); err != nil {
			return err
		}
		to.Flags |= flags
	case kind == mergeActive && other == mergeActive:
		if err := to.absorb(from.Stake, from.Credits); err != nil {
			return err
		}
		to.Flags = 0
	default:
		return custom(stakeMergeMismatch)
	}
	return in.setStake(target, to)
}

// absorb adds stake. The credits become the average by stake, rounded up, so that no reward is paid twice.
func (s *stakeState) absorb(lamports, credits uint64) *InstructionError {
	sum, overflow := bits.Add64(s.Stake, lamports, 0)
	if s.Credits != credits {
		if overflow != 0 {
			return refused("ArithmeticOverflow")
		}
		// (own credits * own stake + other credits * other stake + sum - 1) / sum
		high, low := bits.Mul64(s.Credits, s.Stake)
		otherHigh, otherLow := bits.Mul64(credits, lamports)
		low, carry := bits.Add64(low, otherLow, 0)
		high, over := bits.Add64(high, otherHigh, carry)
		low, carry = bits.Add64(low, sum-1, 0)
		high, more := bits.Add64(high, 0, carry)
		if over+more > 0 || high >= sum {
			return refused("ArithmeticOverflow")
		}
		s.Credits, _ = bits.Div64(high, low, sum)
	}
	if overflow != 0 {
		return refused("InsufficientFunds")
	}
	s.Stake = sum
	return nil
}

// movable makes the checks that MoveStake and MoveLamports share.
func (in *invocation) movable(amount uint64) (from stakeState, kind mergeKind, to stakeState, other mergeKind, err *InstructionError) {
	list := accountsOf{invocation: in}
	source, target, by := list.next(), list.next(), list.next()
	fail := func(e *InstructionError) (stakeState, mergeKind, stakeState, mergeKind, *InstructionError) {
		return from, kind, to, other, e
	}
	switch {
	case list.err != nil:
		return fail(list.err)
	case !in.signs(by):
		return fail(refused("MissingRequiredSignature"))
	case in.key(source) == in.key(target) || !in.writable(source) || !in.writable(target):
		return fail(refused("InvalidInstructionData"))
	case amount == 0:
		return fail(refused("InvalidArgument"))
	}
	if from, kind, err = in.mergeable(source); err != nil {
		return fail(err)
	}
	if err := from.allows(signers{in.key(by): true}, staker); err != nil {
		return fail(err)
	}
	if to, other, err = in.mergeable(target); err != nil {
		return fail(err)
	}
	return fail(in.metasMerge(from, to))
}

// stakeMove moves effective stake from account 0 to account 1, which is active at the same validator, or inactive.
func (in *invocation) stakeMove(args *systemArgs) *InstructionError {
	amount := args.u64()
	from, kind, to, other, err := in.movable(amount)
	if err != nil {
		return err
	}
	if len(in.account(0).Data) != stakeSize || len(in.account(1).Data) != stakeSize || kind != mergeActive {
		return refused("InvalidAccountData")
	}
	if amount > from.Stake {
		return refused("InvalidArgument")
	}
	left := from.Stake - amount
	if left != 0 && left < in.minimumDelegation {
		return refused("InvalidArgument")
	}
	switch other {
	case mergeActive:
		if from.Voter != to.Voter {
			return custom(stakeVoteMismatch)
		}
		if to.Stake+amount < amount {
			return refused("ArithmeticOverflow")
		}
		if to.Stake+amount < in.minimumDelegation {
			return refused("InvalidArgument")
		}
		if err := to.absorb(amount, from.Credits); err != nil {
			return err
		}
	case mergeInactive:
		if amount < in.minimumDelegation {
			return refused("InvalidArgument")
		}
		to.Kind, to.delegation, to.Rate, to.Credits = stakeDelegated, from.delegation, from.Rate, from.Credits
		to.Stake = amount
	default:
		return refused("InvalidAccountData")
	}
	to.Flags = 0
	if err := in.setStake(1, to); err != nil {
		return err
	}
	from.Stake, from.Flags = left, 0
	if left == 0 {
		from.Kind = stakeInitialized
	}
	if err := in.setStake(0, from); err != nil {
		return err
	}
	if err := in.relocate(0, 1, amount); err != nil {
		return err
	}
	if in.account(0).Lamports < in.reserve(0) || in.account(1).Lamports < in.reserve(1) {
		in.say("Delegation calculations violated lamport balance assumptions")
		return refused("InvalidArgument")
	}
	return nil
}

// stakeMoveLamports moves lamports that are neither staked nor needed for rent.
func (in *invocation) stakeMoveLamports(args *systemArgs) *InstructionError {
	amount := args.u64()
	from, kind, _, _, err := in.movable(amount)
	if err != nil {
		return err
	}
	if kind == mergeActivating {
		return refused("InvalidAccountData")
	}
	free := in.account(0).Lamports
	if kind == mergeActive {
		free -= min(free, from.Stake)
	}
	free -= min(free, in.reserve(0))
	if amount > free {
		return refused("InvalidArgument")
	}
	return in.relocate(0, 1, amount)
}
