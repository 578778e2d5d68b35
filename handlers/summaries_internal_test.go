package handlers

import (
	"testing"

	"purser/wallet"
)

// TestRewardsAreCountedOnce: each epoch's rewards stand in one summary, once they are paid in all wallets.
func TestRewardsAreCountedOnce(t *testing.T) {
	of := func(last uint64, rewards ...Reward) Rewards { return Rewards{Last: last, All: rewards} }
	one := func(epoch, lamports uint64) Reward {
		return Reward{InflationReward: wallet.InflationReward{Epoch: epoch, Lamports: lamports}}
	}
	for _, c := range []struct {
		name    string
		from    uint64 // the first epoch that no summary counted; 0 before the first check
		due     bool
		earned  []Rewards
		counted uint64
		next    uint64
	}{
		{"no stakes", 7, true, nil, 0, 7},
		{"the first check counts nothing", 0, false, []Rewards{of(9, one(9, 5))}, 0, 10},
		{"the epochs since then", 10, true, []Rewards{of(12, one(12, 3), one(10, 2), one(9, 100))}, 5, 13},
		{"between two summaries, for the message alone", 10, false, []Rewards{of(12, one(11, 3))}, 3, 10},
		{"where a wallet has its rewards later", 10, true, []Rewards{of(12, one(12, 7), one(11, 3)), of(11, one(11, 4))}, 7, 12},
		{"whichever wallet comes first", 10, true, []Rewards{of(11, one(11, 4)), of(12, one(12, 7), one(11, 3))}, 7, 12},
		{"a node that is behind", 13, true, []Rewards{of(11, one(11, 4))}, 0, 13},
	} {
		s := PortfolioSummary{Due: c.due, next: wallet.Portfolio{RewardsFrom: c.from}}
		s.countRewards(c.earned)
		if s.Summary.Rewards != c.counted || s.next.RewardsFrom != c.next {
			t.Errorf("%s: %d lamports are counted and the next epoch is %d, want %d and %d", c.name, s.Summary.Rewards, s.next.RewardsFrom, c.counted, c.next)
		}
	}
}
