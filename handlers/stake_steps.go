package handlers

import (
	"context"
	"slices"

	"purser/wallet"
)

// severalStakes is the reason why all of it cannot be undelegated at once: the owner has to say which stake.
const severalStakes = "stakes.several"

// NeedsStakeChoice reports whether an undelegation was refused only because the owner has to choose one of several stakes.
func NeedsStakeChoice(err error) bool { return wallet.ReasonOf(err).Key == severalStakes }

// maxMerged is how many stake accounts are merged in one transaction at most, so that it fits into a packet.
const maxMerged = 6

// prepareStake fills in the draft of a new stake.
func (s *Stakes) prepareStake(ctx context.Context, req StakeRequest, t wallet.Transaction) (wallet.Transaction, Snapshot, error) {
	v, err := s.validator(ctx, req.Validator)
	if err != nil {
		return t, nil, err
	}
	f, err := s.fetchFunds(ctx, t.From)
	if err != nil {
		return t, nil, err
	}
	// If everything is to be staked, the minimum stands in until the fees are known: Complete then sets the amount.
	t.To, t.Rent, t.Terms = v.Vote, f.rent, wallet.StakeTerms{ValidatorName: v.Name}.Terms()
	if f.all = req.Amount.Max; f.all {
		t.Amount = f.minimum
	}
	f.stakeStep = stakingStep()
	return t, f, nil
}

// fitsStake judges a new stake.
func (f stakeSnapshot) fitsStake(t wallet.Transaction) error {
	switch {
	case t.Amount < f.minimum:
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest, "stakes.too_small", wallet.AmountArg("Minimum", wallet.Lamports(f.minimum))))
	case f.rent > t.Rent:
		return wallet.Refuse(wallet.InvalidRequest, "proposal.rent_grew")
	}
	return nil
}

// prepareUnstake chooses the stake accounts that are undelegated.
func (s *Stakes) prepareUnstake(ctx context.Context, req StakeRequest, t wallet.Transaction) (wallet.Transaction, Snapshot, error) {
	f, err := s.fetchStakes(ctx, t.From)
	if err != nil {
		return t, nil, err
	}
	f.stakeStep = unstakingStep()
	var chosen []wallet.StakeAccount
	if req.Account.IsZero() {
		chosen, err = f.chooseStakes(t.Amount, req.Amount.Max)
	} else {
		var one wallet.StakeAccount
		one, err = f.find(req.Account)
		chosen = []wallet.StakeAccount{one}
	}
	if err != nil {
		return t, nil, err
	}
	all := uint64(0)
	for _, a := range chosen {
		all += a.Stake
	}
	if req.Amount.Max {
		t.Amount = all
	}
	// The others are merged into the first, which is then undelegated: the whole of it, or a part that is split off. A new
	// account for the part needs a deposit.
	t.To = chosen[0].Voter
	terms := about(chosen)
	if terms.Split = t.Amount < all; terms.Split {
		t.Rent = f.rent
	}
	if terms.ValidatorName, err = s.nameOf(ctx, t.To); err != nil {
		return t, nil, err
	}
	// Estimates for the card. What Solana does depends on the epoch in which the transaction lands.
	terms.CooldownEnd, terms.EpochEnd = f.epoch.CooldownEnd(chosen[0], t.Amount), f.epoch.EndsAfter(1).UTC()
	terms.EpochLength = f.epoch.EndsAfter(2).Sub(f.epoch.EndsAfter(1))
	t.Terms = terms.Terms()
	return t, f, nil
}

// about names the accounts that a step changes: the others are merged into the first.
func about(chosen []wallet.StakeAccount) wallet.StakeTerms {
	out := wallet.StakeTerms{Account: chosen[0].Address}
	for _, a := range chosen[1:] {
		out.Merged = append(out.Merged, a.Address)
	}
	return out
}

// nameOf returns what a validator calls itself; "" without.
func (s *Stakes) nameOf(ctx context.Context, vote wallet.Address) (string, error) {
	all, err := s.Chain.Validators(ctx)
	if at := slices.IndexFunc(all, func(v wallet.Validator) bool { return v.Vote == vote }); at >= 0 {
		return all[at].Name, err
	}
	return "", err
}

// chooseStakes chooses from which accounts an amount is undelegated: one that has exactly it, else the smallest from which
// it can be split off, else active ones of one validator, which are merged. With everything, there must be one account or
// several of one validator.
func (f stakeSnapshot) chooseStakes(amount uint64, everything bool) ([]wallet.StakeAccount, error) {
	all := f.usable(delegated)
	if len(all) == 0 {
		return nil, wallet.Refuse(wallet.InvalidRequest, "stakes.none")
	}
	if everything {
		if len(all) == 1 {
			return all, nil
		}
		merged := f.mergeable(all[0].Voter)
		if len(merged) != len(all) || len(merged) > maxMerged {
			return nil, wallet.About(FieldAccount, wallet.Refuse(wallet.InvalidRequest, severalStakes))
		}
		return merged, nil
	}
	// The list is sorted by what accounts hold, the largest first.
	for _, fits := range []func(wallet.StakeAccount) bool{
		func(a wallet.StakeAccount) bool { return a.Stake == amount },
		func(a wallet.StakeAccount) bool { return a.Stake >= amount && a.Stake-amount >= f.minimum },
	} {
		for _, a := range slices.Backward(all) {
			if fits(a) {
				return []wallet.StakeAccount{a}, nil
			}
		}
	}
	// No single account fits. The active accounts of each validator are tried together, as many as one transaction can merge.
	byVoter := map[wallet.Address][]wallet.StakeAccount{} // grouped once: anybody can give a wallet stakes at any number of validators
	for _, a := range f.usable(func(_ wallet.StakeAccount, state wallet.StakeState) bool { return state == wallet.StakeActive }) {
		byVoter[a.Voter] = append(byVoter[a.Voter], a)
	}
	var largest uint64
	for _, a := range all {
		together, sum := byVoter[a.Voter], uint64(0)
		delete(byVoter, a.Voter) // tried once
		for n, part := range together[:min(len(together), maxMerged)] {
			sum += part.Stake
			if sum == amount || sum > amount && sum-amount >= f.minimum {
				return together[:n+1], nil
			}
		}
		largest = max(largest, a.Stake, sum)
	}
	return nil, f.tooMuch(amount, largest)
}

// tooMuch refuses an amount that cannot be undelegated: held is the most that there is at one validator.
func (f stakeSnapshot) tooMuch(amount, held uint64) error {
	if amount > held {
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "stakes.more_than_staked", wallet.AmountArg("Staked", wallet.Lamports(held))))
	}
	return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest, "stakes.rest_too_small",
		wallet.AmountArg("Staked", wallet.Lamports(held)), wallet.AmountArg("Minimum", wallet.Lamports(f.minimum))))
}

// mergeable lists the active accounts of a validator, which can be merged, the largest first.
func (f stakeSnapshot) mergeable(voter wallet.Address) []wallet.StakeAccount {
	return f.usable(func(a wallet.StakeAccount, state wallet.StakeState) bool {
		return state == wallet.StakeActive && a.Voter == voter
	})
}

// fitsUnstake judges an undelegation.
func (f stakeSnapshot) fitsUnstake(t wallet.Transaction) error {
	total, terms := uint64(0), t.StakeTerms()
	for _, at := range append([]wallet.Address{terms.Account}, terms.Merged...) {
		a, err := f.find(at)
		if err != nil {
			return err
		}
		state, _ := f.epoch.StakeState(a)
		if !delegated(a, state) || a.Voter != t.To || len(terms.Merged) > 0 && state != wallet.StakeActive {
			return wallet.About(FieldAccount, wallet.Refuse(wallet.InvalidRequest, "stakes.not_delegated"))
		}
		total += a.Stake
	}
	switch {
	// The accounts are read again before each step, so they may have changed since the amount was shown.
	case !terms.Split && t.Amount > total:
		return wallet.Refuse(wallet.InvalidRequest, "stakes.changed")
	case !terms.Split:
		return nil // rewards may have added to it: all of it is undelegated
	case t.Amount < f.minimum:
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest, "stakes.part_too_small", wallet.AmountArg("Minimum", wallet.Lamports(f.minimum))))
	case t.Amount > total || total-t.Amount < f.minimum:
		return f.tooMuch(t.Amount, total)
	case f.rent > t.Rent:
		return wallet.Refuse(wallet.InvalidRequest, "proposal.rent_grew")
	}
	return nil
}

// prepareWithdraw chooses what is withdrawn.
func (s *Stakes) prepareWithdraw(ctx context.Context, req StakeRequest, t wallet.Transaction) (wallet.Transaction, Snapshot, error) {
	f, err := s.fetchStakes(ctx, t.From)
	if err != nil {
		return t, nil, err
	}
	f.stakeStep = withdrawingStep()
	var chosen []wallet.StakeAccount
	if req.Account.IsZero() {
		chosen = f.usable(func(_ wallet.StakeAccount, state wallet.StakeState) bool { return state == wallet.StakeInactive })
		// What does not fit into this transaction is withdrawn with the next one.
		chosen = chosen[:min(len(chosen), maxMerged)]
		if len(chosen) == 0 {
			return t, nil, wallet.Refuse(wallet.InvalidRequest, "stakes.nothing_to_withdraw")
		}
	} else {
		one, err := f.find(req.Account)
		if err != nil {
			return t, nil, err
		}
		chosen = []wallet.StakeAccount{one}
	}
	t.Terms = about(chosen).Terms()
	if req.Amount.Max {
		t.Amount, _, _ = f.withdrawing(t)
	}
	return t, f, nil
}

// withdrawing sums up what the accounts of a withdrawal allow to take, and what they hold.
func (f stakeSnapshot) withdrawing(t wallet.Transaction) (most, held uint64, _ error) {
	terms := t.StakeTerms()
	for _, at := range append([]wallet.Address{terms.Account}, terms.Merged...) {
		a, err := f.find(at)
		if err != nil {
			return 0, 0, err
		}
		if state, _ := f.epoch.StakeState(a); len(terms.Merged) > 0 && state != wallet.StakeInactive {
			return 0, 0, wallet.Refuse(wallet.InvalidRequest, "stakes.changed")
		}
		most, held = most+f.withdrawable(a), held+a.Lamports
	}
	return most, held, nil
}

// fitsWithdraw judges a withdrawal: everything, or so much that the account keeps its rent.
func (f stakeSnapshot) fitsWithdraw(t wallet.Transaction) error {
	most, held, err := f.withdrawing(t)
	switch {
	case err != nil:
		return err
	case most == 0:
		return wallet.About(FieldAccount, wallet.Refuse(wallet.InvalidRequest, "stakes.nothing_to_withdraw"))
	case t.Amount > most:
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InsufficientFunds, "stakes.more_than_withdrawable", wallet.AmountArg("Most", wallet.Lamports(most))))
	// An account that is not emptied must keep its rent, or Solana refuses the withdrawal.
	case t.Amount < held && most == held && held-t.Amount < f.rent:
		return wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest, "stakes.withdraw_leaves_dust",
			wallet.AmountArg("All", wallet.Lamports(most)), wallet.AmountArg("Rent", wallet.Lamports(f.rent))))
	}
	return nil
}
