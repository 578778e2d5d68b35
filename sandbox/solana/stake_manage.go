package solana

// The instructions that initialize, authorize, lock up, delegate, deactivate and withdraw.

// stakeInitialize gives a new account its authorities and lockup.
func (in *invocation) stakeInitialize(args *systemArgs) *InstructionError {
	s := stakeState{Staker: args.key(), Withdrawer: args.key()}
	s.Lockup = lockup{int64(args.u64()), args.u64(), args.key()}
	list := accountsOf{invocation: in}
	account := list.next()
	if list.err != nil {
		return list.err
	}
	return in.initializeStake(account, s)
}

// stakeInitializeChecked takes the authorities from the accounts; the withdrawer signs.
func (in *invocation) stakeInitializeChecked(*systemArgs) *InstructionError {
	list := accountsOf{invocation: in}
	account, by := list.next(), list.next()
	if list.err == nil && in.key(by) == rentSysvar {
		by = list.next()
	}
	owner := list.next()
	if list.err != nil {
		return list.err
	}
	if !in.signs(owner) {
		return refused("MissingRequiredSignature")
	}
	return in.initializeStake(account, stakeState{Staker: in.key(by), Withdrawer: in.key(owner)})
}

// initializeStake requires an empty account of the right size that holds its rent.
func (in *invocation) initializeStake(place int, s stakeState) *InstructionError {
	if len(in.account(place).Data) != stakeSize {
		return refused("InvalidAccountData")
	}
	old, err := in.stakeAt(place)
	if err != nil {
		return err
	}
	if old.Kind != stakeUninitialized {
		return refused("InvalidAccountData")
	}
	if in.account(place).Lamports < in.reserve(place) {
		return refused("InsufficientFunds")
	}
	s.Kind, s.Reserve = stakeInitialized, pseudoReserve
	return in.setStake(place, s)
}

// stakeAuthorize replaces an authority by any key.
func (in *invocation) stakeAuthorize(args *systemArgs) *InstructionError {
	key, which := args.key(), args.authority()
	list := accountsOf{invocation: in}
	account := list.next()
	list.branch(clockSysvar, 1)
	if list.err != nil {
		return list.err
	}
	return in.authorizeStake(account, in.allSigners(), key, which, list.custodian())
}

// stakeAuthorizeChecked replaces an authority by a key that signs.
func (in *invocation) stakeAuthorizeChecked(args *systemArgs) *InstructionError {
	which := args.authority()
	list := accountsOf{invocation: in}
	account := list.next()
	list.branch(clockSysvar, 1)
	if list.err != nil {
		return list.err
	}
	key := list.next()
	if list.err != nil {
		return list.err
	}
	custodian := list.custodian()
	if !in.signs(key) {
		return refused("MissingRequiredSignature")
	}
	return in.authorizeStake(account, in.allSigners(), in.key(key), which, custodian)
}

// custodian is the next account, if it is there and signs.
func (a *accountsOf) custodian() *address {
	place, ok := a.maybe()
	if !ok || !a.signs(place) {
		return nil
	}
	key := a.key(place)
	return &key
}

// strictCustodian is the next account, which must sign if it is there.
func (a *accountsOf) strictCustodian(signed signers) (*address, *InstructionError) {
	place, ok := a.maybe()
	if !ok {
		return nil, nil
	}
	if !a.signs(place) {
		return nil, refused("MissingRequiredSignature")
	}
	key := a.key(place)
	signed[key] = true
	return &key, nil
}

// stakeAuthorizeWithSeed is stakeAuthorize for an authority that derives from a base key, which signs for it.
func (in *invocation) stakeAuthorizeWithSeed(args *systemArgs) *InstructionError {
	key, which, seed, owner := args.key(), args.authority(), args.text(), args.key()
	list := accountsOf{invocation: in}
	account, base := list.next(), list.next()
	if list.err != nil {
		return list.err
	}
	if list.at < len(in.accounts) && in.key(list.at) == clockSysvar {
		list.at++
	}
	signed := signers{}
	custodian, err := list.strictCustodian(signed)
	if err != nil {
		return err
	}
	if err := in.signSeeded(signed, base, seed, owner); err != nil {
		return err
	}
	return in.authorizeStake(account, signed, key, which, custodian)
}

// stakeAuthorizeCheckedWithSeed is the same for a new authority that signs.
func (in *invocation) stakeAuthorizeCheckedWithSeed(args *systemArgs) *InstructionError {
	which, seed, owner := args.authority(), args.text(), args.key()
	list := accountsOf{invocation: in}
	account, base := list.next(), list.next()
	key := list.next()
	if list.err == nil && in.key(key) == clockSysvar {
		key = list.next()
	}
	if list.err != nil {
		return list.err
	}
	if !in.signs(key) {
		return refused("MissingRequiredSignature")
	}
	signed := signers{in.key(key): true}
	custodian, err := list.strictCustodian(signed)
	if err != nil {
		return err
	}
	if err := in.signSeeded(signed, base, seed, owner); err != nil {
		return err
	}
	return in.authorizeStake(account, signed, in.key(key), which, custodian)
}

// signSeeded adds the address that derives from a base key, if that key has signed.
func (in *invocation) signSeeded(signed signers, base int, seed string, owner address) *InstructionError {
	if !in.signs(base) {
		return nil
	}
	key, err := withSeed(in.key(base), seed, owner)
	if err != nil {
		// The program returns these as the runtime's errors, and System as codes of its own.
		if err.Code == 0 {
			return refused("MaxSeedLengthExceeded")
		}
		return refused("IllegalOwner")
	}
	signed[key] = true
	return nil
}

func (in *invocation) authorizeStake(place int, signed signers, key address, which authority, custodian *address) *InstructionError {
	s, err := in.stakeAt(place)
	if err != nil {
		return err
	}
	if s.Kind != stakeInitialized && s.Kind != stakeDelegated {
		return refused("InvalidAccountData")
	}
	if err := s.authorize(signed, key, which, in.clock(), custodian); err != nil {
		return err
	}
	return in.setStake(place, s)
}

// stakeSetLockup changes the lockup: by its custodian while it is in force, else by the withdrawer.
func (in *invocation) stakeSetLockup(args *systemArgs) *InstructionError {
	change := args.lockup(true)
	list := accountsOf{invocation: in}
	account := list.next()
	if list.err != nil {
		return list.err
	}
	return in.setLockup(account, change)
}

// stakeSetLockupChecked takes the new custodian from the accounts, where it signs.
func (in *invocation) stakeSetLockupChecked(args *systemArgs) *InstructionError {
	change := args.lockup(false)
	list := accountsOf{invocation: in}
	account := list.next()
	if list.err != nil {
		return list.err
	}
	list.maybe()
	custodian, err := list.strictCustodian(signers{})
	if err != nil {
		return err
	}
	change.custodian = custodian
	return in.setLockup(account, change)
}

func (in *invocation) setLockup(place int, change lockupChange) *InstructionError {
	s, err := in.stakeAt(place)
	if err != nil {
		return err
	}
	if s.Kind != stakeInitialized && s.Kind != stakeDelegated {
		return refused("InvalidAccountData")
	}
	signed := in.allSigners()
	by := s.Withdrawer
	if s.Lockup.inForce(in.clock(), nil) {
		by = s.Lockup.Custodian
	}
	if !signed[by] {
		return refused("MissingRequiredSignature")
	}
	if change.unix != nil {
		s.Lockup.Unix = int64(*change.unix)
	}
	if change.epoch != nil {
		s.Lockup.Epoch = *change.epoch
	}
	if change.custodian != nil {
		s.Lockup.Custodian = *change.custodian
	}
	return in.setStake(place, s)
}

// stakeDelegate begins a delegation, or takes back a deactivation of the same epoch.
func (in *invocation) stakeDelegate(*systemArgs) *InstructionError {
	list := accountsOf{invocation: in}
	account, vote := list.next(), list.next()
	list.branch(clockSysvar, 2)
	if list.err != nil {
		return list.err
	}
	v, err := in.voteAt(vote)
	if err != nil {
		return err
	}
	s, err := in.stakeAt(account)
	if err != nil {
		return err
	}
	if s.Kind != stakeInitialized && s.Kind != stakeDelegated {
		return refused("InvalidAccountData")
	}
	if err := s.allows(in.allSigners(), staker); err != nil {
		return err
	}
	lamports := in.account(account).Lamports
	amount := lamports - min(lamports, in.reserve(account))
	if amount < in.minimumDelegation {
		return custom(stakeInsufficient)
	}
	epoch := in.clock().epoch
	switch {
	case s.Kind == stakeInitialized:
		s.Flags = 0
		s = s.newStake(in.key(vote), amount, v.credits(), epoch)
	case s.at(epoch, in.history()).Effective == 0:
		s = s.newStake(in.key(vote), amount, v.credits(), epoch)
	case epoch == s.Deactivated && s.Voter == in.key(vote):
		if amount < s.Stake {
			return custom(stakeInsufficient)
		}
		s.Deactivated = never
	default:
		return custom(stakeTooSoon)
	}
	return in.setStake(account, s)
}

// stakeDeactivate begins the cooldown.
func (in *invocation) stakeDeactivate(*systemArgs) *InstructionError {
	list := accountsOf{invocation: in}
	account := list.next()
	list.branch(clockSysvar, 0)
	if list.err != nil {
		return list.err
	}
	s, err := in.stakeAt(account)
	if err != nil {
		return err
	}
	if s.Kind != stakeDelegated {
		return refused("InvalidAccountData")
	}
	if err := s.allows(in.allSigners(), staker); err != nil {
		return err
	}
	if err := s.deactivate(in.clock().epoch); err != nil {
		return err
	}
	return in.setStake(account, s)
}

// stakeDeactivateDelinquent lets anybody deactivate a stake whose validator has not voted for five epochs, while
// another one has.
func (in *invocation) stakeDeactivateDelinquent(*systemArgs) *InstructionError {
	list := accountsOf{invocation: in}
	account, vote, other := list.next(), list.next(), list.next()
	if list.err != nil {
		return list.err
	}
	silent, err := in.voteAt(vote)
	if err != nil {
		return err
	}
	reference, err := in.voteAt(other)
	if err != nil {
		return err
	}
	epoch := in.clock().epoch
	if !reference.votedUpTo(epoch) {
		return custom(stakeReferenceVotes)
	}
	s, err := in.stakeAt(account)
	if err != nil {
		return err
	}
	if s.Kind != stakeDelegated {
		return refused("InvalidAccountData")
	}
	if s.Voter != in.key(vote) {
		return custom(stakeVoteMismatch)
	}
	if n := len(silent.Credits); n > 0 && (epoch < delinquentEpochs || silent.Credits[n-1].Epoch > epoch-delinquentEpochs) {
		return custom(stakeNotDelinquent)
	}
	if err := s.deactivate(epoch); err != nil {
		return err
	}
	return in.setStake(account, s)
}

// votedUpTo says whether the validator has credits in each of the last five epochs, the present one included.
func (v voteState) votedUpTo(epoch uint64) bool {
	if len(v.Credits) < delinquentEpochs {
		return false
	}
	for i := range v.Credits[len(v.Credits)-delinquentEpochs:] {
		if v.Credits[len(v.Credits)-1-i].Epoch != epoch-min(epoch, uint64(i)) {
			return false
		}
	}
	return true
}

// stakeWithdraw takes lamports that are not staked; all of them end the account.
func (in *invocation) stakeWithdraw(args *systemArgs) *InstructionError {
	lamports := args.u64()
	list := accountsOf{invocation: in}
	account, to := list.next(), list.next()
	by := list.next()
	if list.err != nil {
		return list.err
	}
	if in.key(by) == clockSysvar {
		list.next()
		if by = list.next(); list.err != nil {
			return list.err
		}
	} else if !in.signs(by) {
		return refused("MissingRequiredSignature")
	}
	second, hasSecond := list.maybe()
	if in.key(account) == in.key(to) {
		return refused("InvalidArgument")
	}
	if !in.signs(by) {
		return refused("MissingRequiredSignature")
	}
	signed := signers{in.key(by): true}
	var custodian *address
	if hasSecond {
		list.at = second
		var err *InstructionError
		if custodian, err = list.strictCustodian(signed); err != nil {
			return err
		}
	}
	locked, kept, staked, err := in.withdrawable(account, signed)
	if err != nil {
		return err
	}
	if locked.inForce(in.clock(), custodian) {
		return custom(stakeLocked)
	}
	a := in.account(account)
	if lamports == a.Lamports {
		if staked {
			return refused("InsufficientFunds")
		}
		a.Data = nil
	} else if lamports+kept < kept || lamports+kept > a.Lamports {
		return refused("InsufficientFunds")
	}
	return in.relocate(account, to, lamports)
}

// withdrawable checks who withdraws, and returns the lockup, the lamports that have to stay in a partial withdrawal,
// and whether any of them are staked.
func (in *invocation) withdrawable(place int, signed signers) (l lockup, kept uint64, staked bool, err *InstructionError) {
	s, err := in.stakeAt(place)
	empty := err != nil && err.Name == "InvalidAccountData" && len(in.account(place).Data) == 0
	switch {
	case err != nil && !empty:
		return l, 0, false, err
	case empty || s.Kind == stakeUninitialized:
		if !signed[in.key(place)] {
			return l, 0, false, refused("MissingRequiredSignature")
		}
		return lockup{}, 0, false, nil
	case s.Kind == stakeRewardsPool:
		return l, 0, false, refused("InvalidAccountData")
	}
	if err := s.allows(signed, withdrawer); err != nil {
		return l, 0, false, err
	}
	if err := in.chargeKind(s, 3_500, 4_700); err != nil {
		return l, 0, false, err
	}
	reserve := in.reserve(place)
	if s.Kind == stakeInitialized {
		return s.Lockup, reserve, false, nil
	}
	// Before its deactivation all of the stake has to stay, because more of it may become effective.
	still := s.Stake
	if epoch := in.clock().epoch; epoch >= s.Deactivated {
		still = s.at(epoch, in.history()).Effective
	}
	if still+reserve < reserve {
		return l, 0, false, refused("InsufficientFunds")
	}
	return s.Lockup, still + reserve, still != 0, nil
}
