package product_test

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// bent is the chain with stakes that are other than they are, and an epoch that is.
type bent struct {
	handlers.StakeChain
	account func(*wallet.StakeAccount)
	epoch   func(*wallet.StakeEpoch)
}

func (b bent) StakeAccounts(ctx context.Context, owner wallet.Address) ([]wallet.StakeAccount, error) {
	all, err := b.StakeChain.StakeAccounts(ctx, owner)
	for i := range all {
		if b.account != nil {
			b.account(&all[i])
		}
	}
	return all, err
}

func (b bent) StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error) {
	e, err := b.StakeChain.StakeEpoch(ctx)
	if b.epoch != nil {
		b.epoch(&e)
	}
	return e, err
}

// prepared is a step as it is proposed. Nothing of it is stored.
func (s staker) prepared(req handlers.StakeRequest) wallet.Transaction {
	s.Helper()
	p, err := s.Stakes.Prepare(context.Background(), s.Caller(), req)
	s.Must(err)
	return p.Transaction
}

// proposed is a step that waits for its Confirm.
func (s staker) proposed(req handlers.StakeRequest) wallet.Transaction {
	s.Helper()
	p, err := s.Stakes.Prepare(context.Background(), s.Caller(), req)
	s.Must(err)
	s.Must(s.Update(func(tx store.Tx) error { return s.Transactions.Commit(tx, p) }))
	return s.Transaction(p.Transaction.ID)
}

// confirmed is a step that waits for its signature.
func (s staker) confirmed(req handlers.StakeRequest) wallet.Transaction {
	s.Helper()
	t, err := s.Confirm(s.Caller(), s.proposed(req).ID)
	s.Must(err)
	return t
}

// TestNoStakeChangesWhileRewardsArePaid: the Stake program would refuse it, so it is refused before it costs a fee.
func TestNoStakeChangesWhileRewardsArePaid(t *testing.T) {
	s := newStaker(t, 10*world.SOL)
	s.does(request(wallet.Stake, "2"))
	waiting := s.proposed(request(wallet.Stake, "1"))
	_, err := s.Cluster.NextEpoch()
	s.Must(err)
	s.Blocks(1) // now the first block of the epoch is confirmed, and no stake has been paid
	s.refused(wallet.Conflict, "stakes.paying", request(wallet.Stake, "1"))
	s.refused(wallet.Conflict, "stakes.paying", request(wallet.Unstake, "max"))
	if _, err := s.Confirm(s.Caller(), waiting.ID); wallet.CodeOf(err) != wallet.Conflict || wallet.ReasonOf(err).Key != "stakes.paying" {
		t.Errorf("one that was proposed before is confirmed with %v", err)
	}
	s.Blocks(3)
	s.does(request(wallet.Unstake, "max"))
	if _, err := s.Confirm(s.Caller(), waiting.ID); err != nil {
		t.Errorf("afterwards it is refused: %v", err)
	}
}

// TestStakingLeavesNoDust: a wallet holds nothing, or at least its rent.
func TestStakingLeavesNoDust(t *testing.T) {
	s := newStaker(t, 5*world.SOL)
	one := s.prepared(request(wallet.Stake, "1"))
	spare := 5*world.SOL - one.Rent - one.Fee
	floor, err := s.Chain.RentMinimum(context.Background(), 0)
	s.Must(err)
	leaving := func(lamports uint64) handlers.StakeRequest {
		return request(wallet.Stake, wallet.Lamports(spare-lamports).String())
	}
	for _, dust := range []uint64{1, floor - 1} {
		s.refused(wallet.InsufficientFunds, "funds.fee_leaves_dust", leaving(dust))
	}
	for _, rest := range []uint64{0, floor} {
		if got := s.prepared(leaving(rest)); got.Amount != spare-rest || got.Fee != one.Fee {
			t.Errorf("leaving %d it is %+v", rest, got)
		}
	}
}

// TestHeldStakesAreShownAndNotTouched: those of which somebody else has an authority, and those that are locked up.
func TestHeldStakesAreShownAndNotTouched(t *testing.T) {
	s := newStaker(t, 5*world.SOL)
	s.does(request(wallet.Stake, "2"))
	s.epoch()
	other, real := s.Stranger(), s.Stakes.Chain
	for name, c := range map[string]struct {
		change func(*wallet.StakeAccount)
		hold   wallet.StakeHold
		reason string
	}{
		"a foreign staker":     {func(a *wallet.StakeAccount) { a.Staker = other }, wallet.HoldForeign, "stakes.foreign"},
		"a foreign withdrawer": {func(a *wallet.StakeAccount) { a.Withdrawer = other }, wallet.HoldForeign, "stakes.foreign"},
		"a lockup by epoch":    {func(a *wallet.StakeAccount) { a.LockedEpoch = 1000 }, wallet.HoldLocked, "stakes.locked"},
		"a lockup by time":     {func(a *wallet.StakeAccount) { a.LockedUntil = s.Now().Add(time.Hour) }, wallet.HoldLocked, "stakes.locked"},
	} {
		for _, inactive := range []bool{false, true} {
			s.Stakes.Chain = bent{StakeChain: real, account: func(a *wallet.StakeAccount) {
				if c.change(a); inactive {
					a.Activated, a.Deactivated = 0, 0
				}
			}}
			p := s.positions()
			if len(p) != 1 || p[0].Hold != c.hold {
				t.Errorf("%s: %+v", name, p)
			}
			for _, kind := range []wallet.Kind{wallet.Unstake, wallet.Withdraw} {
				named := request(kind, "max")
				named.Account = p[0].Address
				s.refused(wallet.PolicyViolation, c.reason, named)
			}
			s.refused(wallet.InvalidRequest, "stakes.none", request(wallet.Unstake, "max"))
			s.refused(wallet.InvalidRequest, "stakes.nothing_to_withdraw", request(wallet.Withdraw, "max"))
		}
	}
}

// crowd is a chain on which somebody has made stake accounts that name a wallet as their staker.
type crowd struct {
	handlers.StakeChain
	more []wallet.StakeAccount
}

func (c crowd) StakeAccounts(ctx context.Context, owner wallet.Address) ([]wallet.StakeAccount, error) {
	own, err := c.StakeChain.StakeAccounts(ctx, owner)
	return append(slices.Clone(c.more), own...), err
}

// TestOthersStakesDoNotCrowdOutOnesOwn: a stranger makes eleven that are larger, and can withdraw them all. They come last, and
// count nowhere.
func TestOthersStakesDoNotCrowdOutOnesOwn(t *testing.T) {
	s := newStaker(t, 5*world.SOL)
	s.does(request(wallet.Stake, "2"))
	s.pays()
	s.pays()
	s.Blocks(40)
	want, positions := s.earned(5), s.positions()
	theirs := crowd{StakeChain: s.Stakes.Chain}
	for i := range 11 {
		a := positions[0].StakeAccount
		a.Address[0] ^= byte(i + 1)
		a.Withdrawer, a.Stake, a.Lamports = s.Stranger(), a.Stake*5, a.Lamports*6
		theirs.more = append(theirs.more, a)
	}
	s.Stakes.Chain = theirs
	got := s.positions()
	if len(got) != 12 || got[0] != positions[0] {
		t.Fatalf("first comes %+v of %d", got[0], len(got))
	}
	for _, one := range got[1:] {
		if one.Hold != wallet.HoldForeign || one.Withdrawable != 0 {
			t.Errorf("somebody else's: %+v", one)
		}
	}
	if r := s.earned(5); len(want.All) == 0 || !reflect.DeepEqual(r, want) {
		t.Errorf("earned are %+v, want %+v", r, want)
	}
	s.refused(wallet.InsufficientFunds, "stakes.more_than_staked", request(wallet.Unstake, "3"))
	if got := s.prepared(request(wallet.Unstake, "max")).StakeTerms(); got.Account != positions[0].Address || len(got.Merged) > 0 {
		t.Errorf("undelegated would be %+v", got)
	}
}

// TestWhichStakeIsUndelegated: the one with exactly the amount, else the smallest that keeps the minimum, else several that
// together keep it.
func TestWhichStakeIsUndelegated(t *testing.T) {
	s := newStaker(t, 20*world.SOL)
	small, large := s.does(request(wallet.Stake, "2")).NewStakeAccount(), s.does(request(wallet.Stake, "5")).NewStakeAccount()
	for amount, want := range map[string]struct {
		account wallet.Address
		split   bool
	}{"2": {small, false}, "1": {small, true}, "1.000000001": {large, true}, "4": {large, true}, "5": {large, false}} {
		if got := s.prepared(request(wallet.Unstake, amount)).StakeTerms(); got.Account != want.account || got.Split != want.split || len(got.Merged) > 0 {
			t.Errorf("of %s it is %+v, want %+v", amount, got, want)
		}
	}
	s.refused(wallet.InvalidRequest, "stakes.part_too_small", request(wallet.Unstake, "0.999999999"))

	s = newStaker(t, 20*world.SOL)
	first := s.does(request(wallet.Stake, "3")).NewStakeAccount()
	s.does(request(wallet.Stake, "2"))
	s.does(request(wallet.Stake, "2"))
	s.epoch() // only active ones can be merged. The first rewards come an epoch later
	for amount, want := range map[string]struct {
		merged int
		split  bool
	}{"5": {1, false}, "4": {1, true}, "4.000000001": {2, true}, "6": {2, true}, "7": {2, false}} {
		if got := s.prepared(request(wallet.Unstake, amount)).StakeTerms(); got.Account != first || len(got.Merged) != want.merged || got.Split != want.split {
			t.Errorf("of %s it is %+v, want %+v", amount, got, want)
		}
	}
}

// TestConfirmedStepsReserveTheirLamports: what is proposed next sees what the first will take, before it lands.
func TestConfirmedStepsReserveTheirLamports(t *testing.T) {
	s := newStaker(t, 8*world.SOL)
	s.does(request(wallet.Stake, "2"))
	s.epoch()
	free := s.liquid()
	for _, req := range []handlers.StakeRequest{request(wallet.Stake, "3"), request(wallet.Unstake, "1")} {
		all := s.prepared(request(wallet.Stake, "max")).Amount
		reserved := s.confirmed(req)
		takes := reserved.Fee + reserved.Rent
		if req.Kind == wallet.Stake {
			takes += reserved.Amount
		}
		if left := s.prepared(request(wallet.Stake, "max")).Amount; all-left != takes || takes == reserved.Fee {
			t.Errorf("a confirmed %s takes %d of what can be staked, want %d", req.Kind, all-left, takes)
		}
	}
	if s.liquid() != free {
		t.Error("something has landed")
	}
	s.refused(wallet.InsufficientFunds, "stakes.short", request(wallet.Stake, "3"))
}

// TestStakesAreAnnouncedWhenTheyAreFinal, not before, and once.
func TestStakesAreAnnouncedWhenTheyAreFinal(t *testing.T) {
	s := newStaker(t, 5*world.SOL)
	for _, req := range []handlers.StakeRequest{request(wallet.Stake, "2"), request(wallet.Unstake, "max")} {
		event := map[wallet.Kind]wallet.EventName{wallet.Stake: wallet.StakeDelegated, wallet.Unstake: wallet.StakeUndelegated}[req.Kind]
		step := s.confirmed(req)
		_, err := s.HandIn(s.Person, step.SignID, s.Issue(step.SignID))
		s.Must(err)
		for range 20 {
			s.Rounds(1)
			if step = s.Transaction(step.ID); step.Status == wallet.Confirmed {
				break
			}
			s.Blocks(1)
		}
		if step.Status != wallet.Confirmed || step.Closed || slices.Contains(s.Events(step.ID), event) {
			t.Errorf("confirmed: %s, closed %v, announced %v", step.Status, step.Closed, s.Events(step.ID))
		}
		s.Settled(step.ID)
		times := 0
		for _, name := range s.Events(step.ID) {
			if name == event {
				times++
			}
		}
		if times != 1 {
			t.Errorf("%s is announced %d times", event, times)
		}
	}
}

// TestAnEpochThatEndsBeforeAStepLandsMovesItsCooldown: the announced end is that of what landed.
func TestAnEpochThatEndsBeforeAStepLandsMovesItsCooldown(t *testing.T) {
	s := newStaker(t, 5*world.SOL)
	s.does(request(wallet.Stake, "3"))
	s.epoch()
	step := s.proposed(request(wallet.Unstake, "max"))
	first := step.StakeTerms()
	if !step.CooldownEndsAt().Equal(first.CooldownEnd) || !first.CooldownEnd.Equal(first.EpochEnd) {
		t.Errorf("proposed, it ends at %v: %+v", step.CooldownEndsAt(), first)
	}
	for late, want := range map[time.Duration]time.Duration{-1: 0, 0: first.EpochLength, first.EpochLength - 1: first.EpochLength, first.EpochLength: 2 * first.EpochLength} {
		step.ConfirmedAt = first.EpochEnd.Add(late)
		if got := step.CooldownEndsAt().Sub(first.CooldownEnd); got != want {
			t.Errorf("landed %v after the end of the epoch it ends %v later, want %v", late, got, want)
		}
	}
	first.CooldownEnd = step.CreatedAt // it had not become active
	step.Terms = first.Terms()
	if step.ConfirmedAt = first.EpochEnd; !step.CooldownEndsAt().Equal(first.EpochEnd.Add(first.EpochLength)) {
		t.Errorf("one that has become active since ends at %v", step.CooldownEndsAt())
	}
}

// TestCooldownsTakeAsLongAsTheClusterNeeds: where more than 9 % of the cluster's stake leaves, several epochs.
func TestCooldownsTakeAsLongAsTheClusterNeeds(t *testing.T) {
	s := newStaker(t, 5*world.SOL)
	s.does(request(wallet.Stake, "3"))
	s.epoch()
	queue := func(e *wallet.StakeEpoch) {
		last := e.History[e.Epoch-1]
		last.Effective, last.Deactivating = 100*world.SOL, 45*world.SOL // 9 SOL an epoch
		e.History[e.Epoch-1] = last
	}
	s.Stakes.Chain = bent{StakeChain: s.Stakes.Chain, epoch: queue}
	now, err := s.Stakes.Chain.StakeEpoch(context.Background())
	s.Must(err)
	for amount, epochs := range map[string]uint64{"1": 5, "max": 5} { // 36 are left, and 1 or 3
		if end := s.prepared(request(wallet.Unstake, amount)).StakeTerms().CooldownEnd; !end.Equal(now.EndsAfter(epochs)) {
			t.Errorf("of %s the cooldown ends at %v, want %v", amount, end, now.EndsAfter(epochs))
		}
	}
	s.does(request(wallet.Unstake, "max"))
	now, err = s.Stakes.Chain.StakeEpoch(context.Background())
	s.Must(err)
	if p := s.positions()[0]; p.State != wallet.StakeDeactivating || !p.ChangesAt.Equal(now.EndsAfter(5)) {
		t.Errorf("undelegated it is %s, until %v, want %v", p.State, p.ChangesAt, now.EndsAfter(5))
	}
}
