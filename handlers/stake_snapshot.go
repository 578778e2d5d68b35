package handlers

import (
	"cmp"
	"context"
	"slices"

	"purser/store"
	"purser/wallet"
)

// stakeSnapshot is the Snapshot of the kinds of staking. All amounts are in lamports. free and open are set by
// NetOfReservations.
type stakeSnapshot struct {
	owner    wallet.Address
	account  wallet.Account
	free     uint64                // of the wallet, not reserved
	open     []wallet.Transaction  // of the wallet, that may still change its stake accounts
	floor    uint64                // rent minimum of the wallet
	rent     uint64                // rent minimum of a stake account
	minimum  uint64                // of a delegation
	accounts []wallet.StakeAccount // of the wallet, the largest first; not loaded for a new stake
	epoch    wallet.StakeEpoch
	all      bool // the largest possible amount is asked for
	stakeStep
}

// stakeStep is what is particular to a kind of staking.
type stakeStep struct {
	// fits judges a transaction of the kind.
	fits func(stakeSnapshot, wallet.Transaction) error
	// takes says that the amount leaves the wallet, and brings that it comes into it. Otherwise it is moved within stake accounts.
	takes, brings bool
}

func stakingStep() stakeStep     { return stakeStep{fits: stakeSnapshot.fitsStake, takes: true} }
func unstakingStep() stakeStep   { return stakeStep{fits: stakeSnapshot.fitsUnstake} }
func withdrawingStep() stakeStep { return stakeStep{fits: stakeSnapshot.fitsWithdraw, brings: true} }

// fetchFunds reads what all kinds of staking are judged by.
func (s *Stakes) fetchFunds(ctx context.Context, owner wallet.Address) (f stakeSnapshot, err error) {
	f.owner = owner
	if f.floor, err = s.Chain.RentMinimum(ctx, 0); err != nil {
		return f, err
	}
	if f.rent, err = s.Chain.RentMinimum(ctx, wallet.StakeAccountSize); err != nil {
		return f, err
	}
	if f.minimum, err = s.Chain.MinimumDelegation(ctx); err != nil {
		return f, err
	}
	accounts, err := s.Chain.Accounts(ctx, []wallet.Address{owner})
	if err != nil {
		return f, err
	}
	f.account = accounts[0]
	f.epoch, err = s.Chain.StakeEpoch(ctx)
	return f, err
}

// fetchStakes is fetchFunds with the stake accounts.
func (s *Stakes) fetchStakes(ctx context.Context, owner wallet.Address) (stakeSnapshot, error) {
	f, err := s.fetchFunds(ctx, owner)
	if err != nil {
		return f, err
	}
	if f.accounts, err = s.Chain.StakeAccounts(ctx, owner); err != nil {
		return f, err
	}
	slices.SortFunc(f.accounts, func(a, b wallet.StakeAccount) int {
		return cmp.Or(cmp.Compare(b.Lamports, a.Lamports), slices.Compare(a.Address[:], b.Address[:]))
	})
	return f, nil
}

// loadStake, loadUnstake and loadWithdraw read again what a stored transaction is judged by.
func (s *Stakes) loadStake(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	f, err := s.fetchFunds(ctx, t.From)
	f.stakeStep = stakingStep()
	return f, err
}

func (s *Stakes) loadUnstake(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	f, err := s.fetchStakes(ctx, t.From)
	f.stakeStep = unstakingStep()
	return f, err
}

func (s *Stakes) loadWithdraw(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	f, err := s.fetchStakes(ctx, t.From)
	f.stakeStep = withdrawingStep()
	return f, err
}

// NetOfReservations subtracts reserved funds, and notes what else is under way.
func (f stakeSnapshot) NetOfReservations(tx store.Tx) (Snapshot, error) {
	reserved, err := Reserved(tx, f.owner, f.account.Slot)
	if err != nil {
		return f, err
	}
	f.free = f.account.Lamports - min(reserved.Lamports, f.account.Lamports)
	open, err := tx.UnsettledFrom(f.owner)
	if err != nil {
		return f, err
	}
	f.open = slices.DeleteFunc(open, func(t wallet.Transaction) bool { return !t.Reserves(f.account.Slot) })
	return f, nil
}

// feesKept is how many lamports a wallet keeps beside its rent minimum when all of it is staked: enough for the fees of
// undelegating and withdrawing, also with the highest priority fee.
const feesKept = 1_000_000

// Complete sets the amount if the largest possible one is asked for, and judges it.
func (f stakeSnapshot) Complete(t wallet.Transaction) (wallet.Transaction, error) {
	if f.all { // of a new stake
		if kept := t.Rent + t.Fee + f.floor + feesKept; f.free > kept {
			t.Amount = f.free - kept
		}
	}
	return t, f.StillFits(t)
}

// StillFits judges a transaction by this snapshot.
func (f stakeSnapshot) StillFits(t wallet.Transaction) error {
	terms := t.StakeTerms()
	switch {
	case f.account.Exists && f.account.Owner != wallet.SystemProgram:
		return wallet.Refuse(wallet.PolicyViolation, "sender.owned_by_program")
	case f.epoch.Paying:
		return wallet.Refuse(wallet.Conflict, "stakes.paying")
	// Two open steps on one stake account could both be signed, and the second would not do what its card said.
	case slices.ContainsFunc(f.open, func(other wallet.Transaction) bool { return other.ID != t.ID && other.StakeTerms().Touches(terms) }):
		return wallet.Refuse(wallet.Conflict, "stakes.busy")
	}
	if err := f.fits(f, t); err != nil {
		return err
	}
	return f.covers(t)
}

// covers checks that the wallet can pay for a transaction, and does not end between zero and its rent minimum.
func (f stakeSnapshot) covers(t wallet.Transaction) error {
	// Only a new stake takes its amount from the wallet. The other steps move what is in stake accounts.
	staked := uint64(0)
	if f.takes {
		staked = t.Amount
	}
	// Numbers of an RPC node: no sum may overflow.
	left, short := f.free, false
	for _, cost := range []uint64{t.Fee, t.Rent, staked} {
		short = short || cost > left
		left -= min(cost, left)
	}
	switch {
	case short && staked > 0:
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "stakes.short", wallet.AmountArg("Free", wallet.Lamports(f.free)),
			wallet.AmountArg("Amount", wallet.Lamports(staked)), wallet.AmountArg("Rent", wallet.Lamports(t.Rent)), wallet.AmountArg("Fee", wallet.Lamports(t.Fee))))
	case short && t.Rent > 0:
		return wallet.Refuse(wallet.InsufficientFunds, "funds.rent_short",
			wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Rent", wallet.Lamports(t.Rent)), wallet.AmountArg("Fee", wallet.Lamports(t.Fee)))
	case short:
		return wallet.Refuse(wallet.InsufficientFunds, "funds.fee_short", wallet.AmountArg("Free", wallet.Lamports(f.free)), wallet.AmountArg("Fee", wallet.Lamports(t.Fee)))
	case left > 0 && left < f.floor:
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "funds.fee_leaves_dust",
			wallet.AmountArg("Left", wallet.Lamports(left)), wallet.AmountArg("Floor", wallet.Lamports(f.floor))))
	}
	return nil
}

// Remaining returns the lamports that remain in the wallet.
func (f stakeSnapshot) Remaining(t wallet.Transaction) uint64 {
	switch left := f.free - t.Fee - t.Rent; {
	case f.takes:
		return left - t.Amount
	case f.brings:
		return left + t.Amount
	default:
		return left
	}
}

// FillRuleInput sets nothing: a stake moves no token.
func (f stakeSnapshot) FillRuleInput(*wallet.RuleInput) {}

// find returns the stake account at an address if the owner can use it.
func (f stakeSnapshot) find(at wallet.Address) (wallet.StakeAccount, error) {
	i := slices.IndexFunc(f.accounts, func(a wallet.StakeAccount) bool { return a.Address == at })
	if i < 0 {
		return wallet.StakeAccount{}, wallet.About(FieldAccount, wallet.Refuse(wallet.InvalidRequest, "stakes.no_account"))
	}
	switch f.epoch.Hold(f.accounts[i], f.owner) {
	case wallet.HoldForeign:
		return f.accounts[i], wallet.About(FieldAccount, wallet.Refuse(wallet.PolicyViolation, "stakes.foreign"))
	case wallet.HoldLocked:
		return f.accounts[i], wallet.About(FieldAccount, wallet.Refuse(wallet.PolicyViolation, "stakes.locked"))
	}
	return f.accounts[i], nil
}

// usable lists the accounts that the owner can use and that pass a test, the largest first.
func (f stakeSnapshot) usable(test func(wallet.StakeAccount, wallet.StakeState) bool) (out []wallet.StakeAccount) {
	for _, a := range f.accounts {
		if state, _ := f.epoch.StakeState(a); f.epoch.Hold(a, f.owner) == wallet.HoldNone && test(a, state) {
			out = append(out, a)
		}
	}
	return out
}

// delegated reports whether an account can be undelegated.
func delegated(_ wallet.StakeAccount, state wallet.StakeState) bool {
	return state == wallet.StakeActive || state == wallet.StakeActivating
}

// withdrawable returns the lamports of an account that can be withdrawn: all of an inactive one, and otherwise what it
// holds beyond stake and rent.
func (f stakeSnapshot) withdrawable(a wallet.StakeAccount) uint64 {
	if state, _ := f.epoch.StakeState(a); state == wallet.StakeInactive {
		return a.Lamports
	}
	kept := a.Stake + f.rent
	if kept < a.Stake || kept > a.Lamports {
		return 0
	}
	return a.Lamports - kept
}
