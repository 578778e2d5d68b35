package product_test

import (
	"context"
	"errors"
	"testing"

	"purser/e2e/world"
	"purser/handlers"
	"purser/wallet"
)

// payday is a chain that counts what is asked about rewards, and answers other than it would.
type payday struct {
	handlers.StakeChain
	asked *[]uint64
	fails map[uint64]error // by epoch
	blank bool             // nothing was paid
}

func (p payday) StakeRewards(ctx context.Context, accounts []wallet.Address, epoch uint64) ([]*wallet.InflationReward, error) {
	*p.asked = append(*p.asked, epoch)
	if err := p.fails[epoch]; err != nil {
		return nil, err
	}
	if p.blank {
		return make([]*wallet.InflationReward, len(accounts)), nil
	}
	return p.StakeChain.StakeRewards(ctx, accounts, epoch)
}

func (s staker) earned(epochs uint64) handlers.Rewards {
	s.Helper()
	r, err := s.Stakes.Rewards(context.Background(), s.Address(), epochs)
	s.Must(err)
	return r
}

// pays ends an epoch, and returns what each account gained by that once it is final.
func (s staker) pays() map[wallet.Address]uint64 {
	s.Helper()
	gained := map[wallet.Address]uint64{}
	for _, p := range s.positions() {
		gained[p.Address] -= p.Lamports
	}
	s.epoch()
	s.Blocks(40)
	for _, p := range s.positions() {
		gained[p.Address] += p.Lamports
	}
	return gained
}

// TestRewardsAreWhatStakesGained, to the lamport, by account and epoch; what came otherwise is shown apart.
func TestRewardsAreWhatStakesGained(t *testing.T) {
	s := newStaker(t, 30*world.SOL)
	if r := s.earned(5); len(r.All) != 0 || r.First <= r.Last || r.Total != 0 || r.Yield != 0 || r.NotStaked != 0 {
		t.Errorf("without a stake: %+v", r)
	}
	ranked, err := s.Stakes.Validators(context.Background())
	s.Must(err)
	first := s.does(request(wallet.Stake, "4"))
	elsewhere := request(wallet.Stake, "3")
	elsewhere.Validator = ranked[1].Vote
	second := s.does(elsewhere)
	if r := s.earned(5); len(r.All) != 0 || r.First <= r.Last {
		t.Errorf("in its first epoch: %+v", r)
	}
	names := map[wallet.Address]string{first.NewStakeAccount(): ranked[0].Name, second.NewStakeAccount(): ranked[1].Name}
	var want []map[wallet.Address]uint64
	var total uint64
	for range 4 {
		want = append(want, s.pays())
	}
	r := s.earned(5)
	if r.First != 0 || r.Last != 3 || r.Waiting || r.Pruned || r.Address != s.Address() || len(r.All) != 6 {
		t.Fatalf("after four epochs: %+v", r)
	}
	last := uint64(3)
	for i, one := range r.All {
		if one.Lamports == 0 || one.Lamports != want[one.Epoch][one.Account] || one.Validator.Name != names[one.Account] || one.Epoch > last {
			t.Errorf("reward %d is %+v, want %d", i, one, want[one.Epoch][one.Account])
		}
		if i%2 == 1 && one.Lamports > r.All[i-1].Lamports {
			t.Errorf("the larger of epoch %d comes second", one.Epoch)
		}
		total, last = total+one.Lamports, one.Epoch
	}
	if r.Total != total || r.NotStaked != 0 || r.Yield == 0 || r.Yield > 2000 {
		t.Errorf("together %d, want %d; beside it %d; %d basis points a year", r.Total, total, r.NotStaked, r.Yield)
	}
	if r := s.earned(2); r.First != 2 || r.Last != 3 || len(r.All) != 4 {
		t.Errorf("of two epochs: %+v", r)
	}
	s.Fund(first.NewStakeAccount(), 7_000_000) // a tip
	if r := s.earned(1); r.NotStaked != 7_000_000 || r.Total != want[3][first.NewStakeAccount()]+want[3][second.NewStakeAccount()] {
		t.Errorf("with a tip: %+v", r)
	}
	all := request(wallet.Unstake, "max")
	all.Account = first.NewStakeAccount()
	s.does(all)
	s.epoch()
	s.Blocks(40)
	if r := s.earned(1); r.NotStaked != 0 || r.Last != 4 || len(r.All) != 2 {
		t.Errorf("of what is withdrawable as a whole: %+v", r)
	}
}

// TestRewardsThatNobodyKnowsYetOrAnyMore are said to be so, and other trouble is trouble.
func TestRewardsThatNobodyKnowsYetOrAnyMore(t *testing.T) {
	s := newStaker(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	for range 3 {
		s.pays()
	}
	_, err := s.Cluster.NextEpoch()
	s.Must(err)
	s.Blocks(2)
	if r := s.earned(5); !r.Waiting || r.First != 0 || r.Last != 2 || len(r.All) != 2 {
		t.Errorf("while they are paid: %+v", r)
	}
	s.Blocks(40)
	if r := s.earned(5); r.Waiting || r.First != 0 || r.Last != 3 || len(r.All) != 3 {
		t.Errorf("afterwards: %+v", r)
	}
	real, trouble := s.Stakes.Chain, errors.New("trouble")
	for name, c := range map[string]struct {
		fails map[uint64]error
		want  handlers.Rewards
		asked int
	}{
		"pruned":            {map[uint64]error{1: wallet.ErrHistoryPruned}, handlers.Rewards{First: 2, Last: 3, Pruned: true}, 3},
		"all pruned":        {map[uint64]error{3: wallet.ErrHistoryPruned}, handlers.Rewards{First: 4, Last: 3, Pruned: true}, 1},
		"waiting, pruned":   {map[uint64]error{3: wallet.ErrRewardsNotPaid, 2: wallet.ErrHistoryPruned}, handlers.Rewards{First: 3, Last: 2, Pruned: true, Waiting: true}, 2},
		"not paid long ago": {map[uint64]error{1: wallet.ErrRewardsNotPaid}, handlers.Rewards{}, 3},
		"trouble":           {map[uint64]error{3: trouble}, handlers.Rewards{}, 1},
	} {
		var asked []uint64
		s.Stakes.Chain = payday{real, &asked, c.fails, false}
		r, err := s.Stakes.Rewards(context.Background(), s.Address(), 5)
		if len(asked) != c.asked || (err != nil) != (c.want.Last == 0) {
			t.Errorf("%s: asked for %v, %v", name, asked, err)
		}
		if err == nil && (r.First != c.want.First || r.Last != c.want.Last || r.Pruned != c.want.Pruned || r.Waiting != c.want.Waiting) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestRewardsAreNotAskedInVain: not before the oldest stake was delegated, and never of more epochs than allowed.
func TestRewardsAreNotAskedInVain(t *testing.T) {
	s := newStaker(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	_, err := s.Cluster.NextEpoch()
	s.Must(err)
	s.Blocks(2)
	if r := s.earned(5); !r.Waiting || r.First <= r.Last || len(r.All) != 0 {
		t.Errorf("at the end of the very first epoch: %+v", r)
	}
	real := s.Stakes.Chain
	for name, c := range map[string]struct {
		activated, epochs uint64
		first             uint64
		asked             int
	}{
		"younger than asked for": {97, 5, 97, 3},
		"older":                  {50, 5, 95, 5},
		"as many as allowed":     {50, handlers.MaxRewardEpochs, 90, handlers.MaxRewardEpochs},
		"too many":               {50, 1000, 90, handlers.MaxRewardEpochs},
		"since genesis":          {wallet.NeverEpoch, 3, 97, 3},
		"none":                   {50, 0, 100, 0},
		"of this epoch":          {100, 5, 100, 0},
	} {
		var asked []uint64
		s.Stakes.Chain = payday{StakeChain: bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Activated = c.activated }, epoch: func(e *wallet.StakeEpoch) { e.Epoch = 100 }}, asked: &asked, blank: true}
		if r := s.earned(c.epochs); r.First != c.first || r.Last != 99 || len(asked) != c.asked || r.Total != 0 || r.Yield != 0 {
			t.Errorf("%s: asked for %v: %+v", name, asked, r)
		}
	}
}
