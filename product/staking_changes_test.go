package product_test

import (
	"context"
	"testing"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// pricey is a chain whose rent has changed, or where the wallet belongs to a program.
type pricey struct {
	handlers.StakeChain
	more  uint64 // lamports that a stake account must hold beyond today's
	owner wallet.Address
}

func (p pricey) RentMinimum(ctx context.Context, size uint64) (uint64, error) {
	rent, err := p.StakeChain.RentMinimum(ctx, size)
	if size == wallet.StakeAccountSize {
		rent += p.more
	}
	return rent, err
}

func (p pricey) Accounts(ctx context.Context, addresses []wallet.Address) ([]wallet.Account, error) {
	all, err := p.StakeChain.Accounts(ctx, addresses)
	for i := range all {
		if p.owner != (wallet.Address{}) {
			all[i].Owner = p.owner
		}
	}
	return all, err
}

// TestWhatHasChangedIsNotConfirmed: a proposal is judged again by the chain of the moment of its Confirm.
func TestWhatHasChangedIsNotConfirmed(t *testing.T) {
	s := newStaker(t, 20*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.does(request(wallet.Stake, "3"))
	s.epoch()
	real, other := s.Stakes.Chain, s.Stranger()
	steps := map[string]handlers.StakeRequest{"new": request(wallet.Stake, "1"), "all": request(wallet.Unstake, "4"), "part": request(wallet.Unstake, "2.5"), "merged": request(wallet.Unstake, "7")}
	for _, c := range []struct {
		name, step string
		now        handlers.StakeChain
		code       wallet.Code
		reason     string
	}{
		{"another validator", "all", bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Voter = other }}, wallet.InvalidRequest, "stakes.not_delegated"},
		{"undelegated elsewhere", "all", bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Deactivated = a.Activated + 1 }}, wallet.InvalidRequest, "stakes.not_delegated"},
		{"merged ones are new", "merged", bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Activated++ }}, wallet.InvalidRequest, "stakes.not_delegated"},
		{"smaller", "all", bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Stake-- }}, wallet.InvalidRequest, "stakes.changed"},
		{"too small for a part", "part", bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Stake -= world.SOL }}, wallet.InvalidRequest, "stakes.rest_too_small"},
		{"given away", "part", bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Withdrawer = other }}, wallet.PolicyViolation, "stakes.foreign"},
		{"rent has grown", "part", pricey{StakeChain: real, more: 1}, wallet.InvalidRequest, "proposal.rent_grew"},
		{"rent of a new one has grown", "new", pricey{StakeChain: real, more: 1}, wallet.InvalidRequest, "proposal.rent_grew"},
		{"a wallet of a program", "new", pricey{StakeChain: real, owner: wallet.StakeProgram}, wallet.PolicyViolation, "sender.owned_by_program"},
	} {
		s.Stakes.Chain = real
		step := s.proposed(steps[c.step])
		s.Stakes.Chain = c.now
		if _, err := s.Confirm(s.Caller(), step.ID); wallet.CodeOf(err) != c.code || wallet.ReasonOf(err).Key != c.reason {
			t.Errorf("%s: confirmed with %v, want %s", c.name, err, c.reason)
		}
		s.Stakes.Chain = real
		s.ends(step.ID)
	}
	// More stake than before, as rewards add it, and rent that has fallen are no reasons.
	for name, now := range map[string]handlers.StakeChain{
		"all": bent{StakeChain: real, account: func(a *wallet.StakeAccount) { a.Stake++ }}, "new": pricey{StakeChain: real, more: ^uint64(0)},
	} {
		step := s.proposed(steps[name])
		s.Stakes.Chain = now
		if _, err := s.Confirm(s.Caller(), step.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s.Stakes.Chain = real
	}
}

// ends marks a transaction as one that can never land.
func (s staker) ends(id wallet.TransactionID) wallet.Transaction {
	s.Helper()
	s.Must(s.Update(func(tx store.Tx) error {
		ended, err := tx.Transaction(id)
		if err != nil {
			return err
		}
		ended.Status, ended.Closed = wallet.Failed, true
		return tx.PutTransaction(ended)
	}))
	return s.Transaction(id)
}

// TestNamedStakesKeepTheMinimum: what a person names is judged as what is chosen for them.
func TestNamedStakesKeepTheMinimum(t *testing.T) {
	s := newStaker(t, 20*world.SOL)
	account := s.does(request(wallet.Stake, "3")).NewStakeAccount()
	s.does(request(wallet.Stake, "5"))
	for amount, reason := range map[string]string{"2.000000001": "stakes.rest_too_small", "2.999999999": "stakes.rest_too_small", "3.000000001": "stakes.changed", "0.9": "stakes.part_too_small"} {
		named := request(wallet.Unstake, amount)
		named.Account = account
		s.refused(wallet.InvalidRequest, reason, named)
	}
	for amount, split := range map[string]bool{"1": true, "2": true, "3": false} {
		named := request(wallet.Unstake, amount)
		named.Account = account
		if got := s.prepared(named).StakeTerms(); got.Account != account || got.Split != split {
			t.Errorf("of %s it is %+v", amount, got)
		}
	}
}

// TestWithdrawalsLeaveNoDust: a stake account holds nothing, or at least its rent.
func TestWithdrawalsLeaveNoDust(t *testing.T) {
	s := newStaker(t, 20*world.SOL)
	first := s.does(request(wallet.Stake, "2"))
	s.does(request(wallet.Unstake, "max"))
	held := 2*world.SOL + first.Rent
	if got := s.prepared(request(wallet.Withdraw, "max")); got.Amount != held {
		t.Errorf("all is %d, want %d", got.Amount, held)
	}
	for lamports, reason := range map[uint64]string{held - 1: "stakes.withdraw_leaves_dust", held - first.Rent + 1: "stakes.withdraw_leaves_dust"} {
		s.refused(wallet.InvalidRequest, reason, request(wallet.Withdraw, wallet.Lamports(lamports).String()))
	}
	s.refused(wallet.InsufficientFunds, "stakes.more_than_withdrawable", request(wallet.Withdraw, wallet.Lamports(held+1).String()))
	for _, lamports := range []uint64{1, held - first.Rent, held} {
		if got := s.prepared(request(wallet.Withdraw, wallet.Lamports(lamports).String())); got.Amount != lamports {
			t.Errorf("of %d it is %d", lamports, got.Amount)
		}
	}
}

// TestManyStakes are undelegated one by one or by amount, and withdrawn six at a time, as many as fit into a packet.
func TestManyStakes(t *testing.T) {
	s := newStaker(t, 30*world.SOL)
	var accounts []wallet.Address
	for range 7 {
		accounts = append(accounts, s.does(request(wallet.Stake, "1")).NewStakeAccount())
	}
	s.refused(wallet.InvalidRequest, "stakes.several", request(wallet.Unstake, "max")) // they are not active, so they are not merged
	s.epoch()
	s.refused(wallet.InvalidRequest, "stakes.several", request(wallet.Unstake, "max"))
	s.refused(wallet.InsufficientFunds, "stakes.more_than_staked", request(wallet.Unstake, "7"))
	if got := s.prepared(request(wallet.Unstake, "6")).StakeTerms(); len(got.Merged) != 5 || got.Split {
		t.Errorf("six of seven: %+v", got)
	}
	other, err := s.Stakes.Validators(context.Background())
	s.Must(err)
	for _, at := range accounts {
		one := request(wallet.Unstake, "max")
		one.Account = at
		s.does(one)
	}
	elsewhere := request(wallet.Stake, "2")
	elsewhere.Validator = other[1].Vote
	s.does(elsewhere)
	s.does(request(wallet.Stake, "2"))
	s.epoch()
	s.refused(wallet.InvalidRequest, "stakes.several", request(wallet.Unstake, "max")) // of two validators
	for _, merged := range []int{5, 0} {
		if back := s.does(request(wallet.Withdraw, "max")); len(back.StakeTerms().Merged) != merged {
			t.Errorf("withdrawn with %d merged, want %d", len(back.StakeTerms().Merged), merged)
		}
	}
	s.refused(wallet.InvalidRequest, "stakes.nothing_to_withdraw", request(wallet.Withdraw, "max"))
}

// TestAnotherTryIsTheSameStep: of the same validator, account and amount; all of a stake is all that it is now.
func TestAnotherTryIsTheSameStep(t *testing.T) {
	s := newStaker(t, 30*world.SOL)
	ranked, err := s.Stakes.Validators(context.Background())
	s.Must(err)
	delegate := request(wallet.Stake, "3")
	delegate.Validator = ranked[1].Vote
	again := func(req handlers.StakeRequest) (first, second wallet.Transaction) {
		t.Helper()
		first = s.ends(s.proposed(req).ID)
		p, err := s.Transactions.PrepareRetry(context.Background(), s.Caller(), first.ID)
		s.Must(err)
		if p.Transaction.RetryOf != first.ID || p.Transaction.Kind != first.Kind || p.Transaction.ID == first.ID {
			t.Errorf("tried again as %+v", p.Transaction)
		}
		return first, p.Transaction
	}
	if first, second := again(delegate); second.To != delegate.Validator || second.Amount != first.Amount || second.NewStakeAccount() == first.NewStakeAccount() {
		t.Errorf("a stake is tried again as %+v", second)
	}
	s.does(delegate)
	s.does(delegate)
	s.epoch()
	for _, amount := range []string{"1", "3", "4", "6"} { // a part, one, two and a part of them, both
		first, second := again(request(wallet.Unstake, amount))
		if second.Amount != first.Amount || second.StakeTerms().Account != first.StakeTerms().Account || second.StakeTerms().Split != first.StakeTerms().Split || len(second.StakeTerms().Merged) != len(first.StakeTerms().Merged) {
			t.Errorf("%s is tried again as %+v, first was %+v", amount, second, first)
		}
	}
	first := s.ends(s.proposed(request(wallet.Unstake, "3")).ID)
	s.epoch() // with rewards
	p, err := s.Transactions.PrepareRetry(context.Background(), s.Caller(), first.ID)
	s.Must(err)
	if got := p.Transaction; got.StakeTerms().Account != first.StakeTerms().Account || got.StakeTerms().Split || got.Amount <= first.Amount {
		t.Errorf("all of one with rewards is tried again as %d of %d", got.Amount, first.Amount)
	}
	s.does(request(wallet.Unstake, "max"))
	s.epoch()
	if first, second := again(request(wallet.Withdraw, "1")); second.Amount != first.Amount || second.StakeTerms().Account != first.StakeTerms().Account {
		t.Errorf("a withdrawal is tried again as %+v", second)
	}
}
