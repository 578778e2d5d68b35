package handlers

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Reward is what one stake earned in one epoch.
type Reward struct {
	wallet.InflationReward
	Validator wallet.Validator // to which it is delegated now
}

// Rewards are what the stakes that a wallet has now earned from inflation in the last epochs. Stakes that it cannot use (Hold)
// do not count: what they earn may be somebody else's.
type Rewards struct {
	Address     wallet.Address
	First, Last uint64   // the epochs that are covered; none if First is above Last
	All         []Reward // the newest epoch first, the largest of an epoch first
	Total       uint64   // lamports
	InStakes    uint64   // lamports in all stakes that the wallet can use, rent included
	// NotStaked is what the accounts hold beyond stake and rent, in lamports. It did not come from inflation: tips that
	// validators share, or the deposits of merged accounts. It can be withdrawn.
	NotStaked uint64
	// Yield is what the covered epochs would be in a year, compounded, in basis points; 0 without a reward.
	Yield uint64
	// Waiting means that the last epoch's rewards are still being paid. Pruned means that the node has forgotten those before First.
	Waiting, Pruned bool
}

// How many epochs are looked back, usually and at most. Each costs a call to the node.
const (
	UsualRewardEpochs = 5
	MaxRewardEpochs   = 10
)

// Rewards reads the rewards of a wallet's stakes in the last epochs that are over, at most MaxRewardEpochs.
func (s *Stakes) Rewards(ctx context.Context, owner wallet.Address, epochs uint64) (Rewards, error) {
	p, err := s.Positions(ctx, owner)
	if err != nil {
		return Rewards{}, err
	}
	rent, err := s.Chain.RentMinimum(ctx, wallet.StakeAccountSize)
	if err != nil {
		return Rewards{}, err
	}
	out := Rewards{Address: owner, First: 1}
	var delegated []Position
	oldest := p.Epoch.Epoch
	for _, one := range p.All {
		if one.Hold != wallet.HoldNone {
			continue
		}
		out.InStakes += one.Lamports
		if one.State != wallet.StakeInactive {
			out.NotStaked += one.Withdrawable
		}
		if !one.Delegated() {
			continue
		}
		delegated = append(delegated, one)
		if one.Activated == wallet.NeverEpoch {
			oldest = 0
		}
		oldest = min(oldest, one.Activated)
	}
	if p.Epoch.Epoch == 0 {
		return out, nil
	}
	out.First, out.Last = p.Epoch.Epoch, p.Epoch.Epoch-1
	if len(delegated) == 0 {
		return out, nil
	}
	base, err := s.lookBack(ctx, &out, delegated, oldest, min(epochs, MaxRewardEpochs), rent)
	if err != nil {
		return Rewards{}, err
	}
	out.Yield = p.Epoch.AnnualYield(out.Total, base)
	return out, nil
}

// lookBack adds the rewards of stakes to out, from the epoch before out.First back to the oldest, at most so many epochs.
// It returns the sum of what the rewards were paid on, in lamports.
func (s *Stakes) lookBack(ctx context.Context, out *Rewards, stakes []Position, oldest, epochs, rent uint64) (base uint64, _ error) {
	accounts := make([]wallet.Address, len(stakes))
	for i, one := range stakes {
		accounts[i] = one.Address
	}
	for ; epochs > 0 && out.First > oldest; epochs-- {
		paid, err := s.Chain.StakeRewards(ctx, accounts, out.First-1)
		switch {
		case errors.Is(err, wallet.ErrRewardsNotPaid) && out.First == out.Last+1:
			if out.Waiting = true; out.Last == 0 {
				return base, nil // there is no epoch before it: none is covered
			}
			out.First, out.Last = out.Last, out.Last-1
			continue
		case errors.Is(err, wallet.ErrHistoryPruned):
			out.Pruned = true
			return base, nil
		case err != nil:
			return 0, err
		}
		out.First--
		var of []Reward
		for i, r := range paid {
			if r == nil {
				continue
			}
			of = append(of, Reward{*r, stakes[i].Validator})
			before := r.Balance - r.Lamports
			out.Total, base = out.Total+r.Lamports, base+before-min(rent, before)
		}
		slices.SortStableFunc(of, func(a, b Reward) int { return cmp.Compare(b.Lamports, a.Lamports) })
		out.All = append(out.All, of...)
	}
	return base, nil
}

// RewardsFor is Rewards of the caller's wallet, or of one that they may read. WALLET_NOT_FOUND for others.
func (s *Stakes) RewardsFor(ctx context.Context, who Caller, address wallet.Address, epochs uint64) (Rewards, error) {
	if _, err := read(ctx, s.Store, func(tx store.Tx) (wallet.Wallet, error) { return authorizeRead(tx, who, address) }); err != nil {
		return Rewards{}, err
	}
	return s.Rewards(ctx, address, epochs)
}
