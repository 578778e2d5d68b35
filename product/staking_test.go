package product_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"purser/chain"
	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// staker plays somebody who stakes, with the device that signs.
type staker struct {
	*world.World
	*world.Person
	rewards *uint64 // lamports that all epochs so far have brought
}

func newStaker(t *testing.T, lamports uint64) staker {
	w := world.New(t, world.Options{})
	return staker{w, w.Rich(1001, "Alice", lamports), new(uint64)}
}

// request is a request of one step; amount "max" is all.
func request(kind wallet.Kind, amount string) handlers.StakeRequest {
	return handlers.StakeRequest{Kind: kind, Amount: world.Quantity(amount)}
}

// does carries one step from its proposal to the end, as the person and their device do.
func (s staker) does(req handlers.StakeRequest) wallet.Transaction {
	s.Helper()
	proposal, err := s.Stakes.Prepare(context.Background(), s.Caller(), req)
	s.Must(err)
	s.Must(s.Update(func(tx store.Tx) error { return s.Transactions.Commit(tx, proposal) }))
	t, err := s.Confirm(s.Caller(), proposal.Transaction.ID)
	s.Must(err)
	message := s.Issue(t.SignID)
	if _, err := chain.Decode(message, s.Address()); err != nil {
		s.Fatal(err)
	}
	_, err = s.HandIn(s.Person, t.SignID, message)
	s.Must(err)
	if t = s.Settled(t.ID); t.Status != wallet.Confirmed || !t.Closed {
		s.Fatalf("it ended as %s: %s %s", t.Status, t.ErrorCode, t.ErrorReason)
	}
	return t
}

// refused is the reason for which a step is refused.
func (s staker) refused(code wallet.Code, reason string, req handlers.StakeRequest) {
	s.Helper()
	_, err := s.Stakes.Prepare(context.Background(), s.Caller(), req)
	if wallet.CodeOf(err) != code || wallet.ReasonOf(err).Key != reason {
		s.Errorf("refused with %v, want %s %s", err, code, reason)
	}
}

func (s staker) positions() []handlers.Position {
	s.Helper()
	p, err := s.Stakes.Positions(context.Background(), s.Address())
	s.Must(err)
	return p.All
}

// states are the states of all positions, the largest first.
func (s staker) states() (out []wallet.StakeState) {
	for _, p := range s.positions() {
		out = append(out, p.State)
	}
	return out
}

// liquid is what the wallet holds.
func (s staker) liquid() uint64 {
	s.Helper()
	accounts, err := s.Chain.Accounts(context.Background(), []wallet.Address{s.Address()})
	s.Must(err)
	return accounts[0].Lamports
}

// held is what all stake accounts hold.
func (s staker) held() (sum uint64) {
	s.Helper()
	for _, p := range s.positions() {
		sum += p.Lamports
	}
	return sum
}

// epoch lets the present epoch end, and its rewards be paid. While they are, steps are refused.
func (s staker) epoch() {
	s.Helper()
	before := s.held()
	defer func() { *s.rewards += s.held() - before }()
	e, err := s.Chain.StakeEpoch(context.Background())
	s.Must(err)
	s.Blocks(int(e.SlotsLeft))
	for {
		now, err := s.Chain.StakeEpoch(context.Background())
		s.Must(err)
		if now.Paying {
			s.refused(wallet.Conflict, "stakes.paying", request(wallet.Stake, "1"))
		}
		if now.Epoch > e.Epoch && !now.Paying {
			return
		}
		s.Blocks(1)
	}
}

// TestTheWholeLifeOfAStake: delegated, active, a part of it and then the rest undelegated, withdrawn. Staked and liquid
// lamports, fees and rewards add up at each step.
func TestTheWholeLifeOfAStake(t *testing.T) {
	s := newStaker(t, 10*world.SOL)
	began, fees := s.liquid(), uint64(0)
	adds := func(t wallet.Transaction) wallet.Transaction {
		s.Helper()
		fees += t.Fee
		if liquid := s.liquid(); liquid+s.held()+fees != began+*s.rewards {
			s.Errorf("after %s: %d liquid, %d staked and %d of fees are not %d and %d of rewards", t.Kind, liquid, s.held(), fees, began, *s.rewards)
		}
		if liquid := s.liquid(); t.BalanceLeft != liquid {
			s.Errorf("after %s the wallet holds %d, it was told %d", t.Kind, liquid, t.BalanceLeft)
		}
		return t
	}
	staked := adds(s.does(request(wallet.Stake, "4")))
	best, err := s.Stakes.Validators(context.Background())
	s.Must(err)
	if staked.To != best[0].Vote || staked.StakeTerms().ValidatorName == "" || staked.Rent == 0 {
		t.Errorf("staked: %+v", staked)
	}
	if got := s.states(); !slices.Equal(got, []wallet.StakeState{wallet.StakeActivating}) {
		t.Errorf("at first it is %v", got)
	}
	s.refused(wallet.InvalidRequest, "stakes.nothing_to_withdraw", request(wallet.Withdraw, "max"))
	s.epoch()
	if p := s.positions()[0]; p.State != wallet.StakeActive || p.Stake != 4*world.SOL || p.Withdrawable != 0 || p.Validator.Name != staked.StakeTerms().ValidatorName {
		t.Errorf("in the next epoch it is %+v", p)
	}
	part := adds(s.does(request(wallet.Unstake, "1.5")))
	if !part.StakeTerms().Split || part.Rent == 0 || !part.StakeTerms().CooldownEnd.After(s.Now()) {
		t.Errorf("a part was undelegated: %+v", part)
	}
	if got := s.states(); !slices.Equal(got, []wallet.StakeState{wallet.StakeActive, wallet.StakeDeactivating}) {
		t.Errorf("of a part undelegated it is %v", got)
	}
	s.epoch()
	back := adds(s.does(request(wallet.Withdraw, "max")))
	if back.Amount < 1_500_000_000+part.Rent || back.Amount > 1_600_000_000 || back.To != s.Address() {
		t.Errorf("withdrawn: %+v", back)
	}
	adds(s.does(request(wallet.Unstake, "max")))
	s.epoch()
	adds(s.does(request(wallet.Withdraw, "max")))
	if rest := s.positions(); len(rest) != 0 || s.liquid() != began+*s.rewards-fees || *s.rewards == 0 {
		t.Errorf("left are %+v, and %d of %d", rest, s.liquid(), began)
	}
	s.announced(map[wallet.EventName]int{wallet.StakeDelegated: 1, wallet.StakeUndelegated: 2})
}

// announced counts the kinds' own events.
func (s staker) announced(want map[wallet.EventName]int) {
	s.Helper()
	s.View(func(tx store.Tx) error {
		all, err := tx.PendingEvents(1000)
		for _, event := range all {
			want[event.Name]--
			if event.Name != wallet.StakeUndelegated {
				continue
			}
			var data wallet.StakeUndelegatedData
			s.Must(json.Unmarshal(event.Data, &data))
			if data.CooldownEnd <= data.UndelegatedAt || data.WalletAddress != s.Address() || data.TransactionSignature.IsZero() || data.ValidatorAddress.IsZero() {
				s.Errorf("announced: %s", event.Data)
			}
		}
		return err
	})
	for name, missing := range want {
		if missing > 0 {
			s.Errorf("%d of %s are missing", missing, name)
		}
	}
}

// TestStakesAreMergedWhereOneIsNotEnough: more is undelegated than one account has, and two are withdrawn at once.
func TestStakesAreMergedWhereOneIsNotEnough(t *testing.T) {
	s := newStaker(t, 10*world.SOL)
	s.does(request(wallet.Stake, "2"))
	s.does(request(wallet.Stake, "3"))
	s.epoch()
	s.refused(wallet.InsufficientFunds, "stakes.more_than_staked", request(wallet.Unstake, "5.1"))
	s.refused(wallet.InvalidRequest, "stakes.rest_too_small", request(wallet.Unstake, "4.5"))
	half := s.does(request(wallet.Unstake, "4"))
	if len(half.StakeTerms().Merged) != 1 || !half.StakeTerms().Split || half.Amount != 4*world.SOL {
		t.Errorf("undelegated: %+v", half.StakeTerms())
	}
	s.does(request(wallet.Unstake, "max"))
	s.epoch()
	back := s.does(request(wallet.Withdraw, "max"))
	if len(back.StakeTerms().Merged) != 1 || len(s.positions()) != 0 {
		t.Errorf("withdrawn: %+v, left %v", back.StakeTerms(), s.positions())
	}
}

// TestWhatStakingRefuses, in the words of a person: too little, too much, whom nobody can earn with, and what is busy.
func TestWhatStakingRefuses(t *testing.T) {
	s := newStaker(t, 5*world.SOL)
	s.Blocks(200) // so long does a silent validator take to be delinquent
	all, err := s.Stakes.Validators(context.Background())
	s.Must(err)
	silent := all[len(all)-1]
	if len(all) != len(solana.Validators("purser")) || !silent.Delinquent || all[0].Delinquent || all[0].Name == "" {
		t.Fatalf("the validators are %+v", all)
	}
	s.refused(wallet.InvalidRequest, "stakes.too_small", request(wallet.Stake, "0.999999999"))
	s.refused(wallet.InsufficientFunds, "stakes.short", request(wallet.Stake, "5"))
	s.refused(wallet.InvalidRequest, "stakes.none", request(wallet.Unstake, "1"))
	toSilent := request(wallet.Stake, "1")
	toSilent.Validator = silent.Vote
	s.refused(wallet.InvalidRequest, "stakes.delinquent", toSilent)
	toSilent.Validator = s.Address()
	s.refused(wallet.InvalidRequest, "stakes.no_validator", toSilent)
	strange := request(wallet.Unstake, "max")
	strange.Account = all[0].Vote
	s.refused(wallet.InvalidRequest, "stakes.no_account", strange)

	most := s.does(request(wallet.Stake, "max"))
	if left := s.liquid(); left == 0 || left > world.SOL/100 {
		t.Errorf("of everything %d lamports stay, staked are %d", left, most.Amount)
	}
	s.epoch()
	// A step that is signed and not landed keeps its account from another one.
	proposal, err := s.Stakes.Prepare(context.Background(), s.Caller(), request(wallet.Unstake, "max"))
	s.Must(err)
	s.Must(s.Update(func(tx store.Tx) error { return s.Transactions.Commit(tx, proposal) }))
	if _, err := s.Confirm(s.Caller(), proposal.Transaction.ID); err != nil {
		t.Fatal(err)
	}
	s.refused(wallet.Conflict, "stakes.busy", request(wallet.Unstake, "max"))
}
