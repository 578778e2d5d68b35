package solana

import (
	"math/big"
	"testing"
)

// Each credit counts once, with the stake of its own epoch.
func TestCreditsAreCountedOnce(t *testing.T) {
	v := &voteState{Credits: []epochCredits{{0, 160, 0}, {1, 480, 160}}}
	history := func(uint64) (activation, bool) { return activation{}, false }
	for _, c := range []struct {
		seen, points, credits uint64
		forced                bool
	}{
		{0, 4800, 480, false},
		{100, 10 * (60 + 320), 480, false},
		{160, 3200, 480, false},
		{470, 100, 480, false},
		{480, 0, 480, false},
		{500, 0, 480, true}, // the vote account was made anew
	} {
		s := stakeState{delegation: delegation{Stake: 10, Activated: never, Deactivated: never}, Credits: c.seen}
		e := s.earning(v, history)
		if e.points.Uint64() != c.points || e.credits != c.credits || e.forced != c.forced {
			t.Errorf("from %d on: %v points, %d credits, forced %v", c.seen, e.points, e.credits, e.forced)
		}
	}
}

// Both sides of a reward are rounded down, and nothing is paid if one of them would be left with nothing.
func TestARewardIsSplit(t *testing.T) {
	points := func(n int64) earning { return earning{points: big.NewInt(n)} }
	for _, c := range []struct {
		name          string
		e             earning
		total         uint64
		commission    uint16
		new           bool
		staker, voter uint64
		ok            bool
	}{
		{"a tenth", points(10), 1_000_000, 700, false, 93_000, 7_000, true},
		{"rounded", points(10), 9_999, 333, false, 965, 33, true}, // of 999
		{"no commission", points(10), 1_000_000, 0, false, 100_000, 0, true},
		{"all commission", points(10), 1_000_000, 10_000, false, 0, 100_000, true},
		{"less than a lamport", points(10), 9, 700, false, 0, 0, false},
		{"nothing for the validator", points(10), 100, 700, false, 0, 0, false},
		{"nothing for the staker", points(10), 10, 9_999, false, 0, 0, false},
		{"no points", points(0), 1_000_000, 700, false, 0, 0, false},
		{"just activated", points(10), 1_000_000, 700, true, 0, 0, true},
		{"nothing to share", points(10), 0, 700, false, 0, 0, true},
		{"forced", earning{points: big.NewInt(0), forced: true}, 1_000_000, 700, false, 0, 0, true},
	} {
		staker, voter, ok := c.e.split(&payout{Total: c.total, Points: big.NewInt(100)}, c.commission, c.new)
		if staker != c.staker || voter != c.voter || ok != c.ok {
			t.Errorf("%s: %d, %d, %v", c.name, staker, voter, ok)
		}
	}
}

// After the rent has risen, a delegation shrinks to what its account holds beside the rent, at the latest to nothing.
func TestADelegationLeavesTheRent(t *testing.T) {
	s := serve(t, short(""))
	s.fund(t, "alice", 100*sol)
	large, small := s.delegateTo(t, "stake:0", 0, 10*sol), s.delegateTo(t, "stake:1", 0, sol)
	s.warp(t)
	if err := s.SetLamportsPerByte(10_000_000); err != nil {
		t.Fatal(err)
	}
	s.advance(t, 1)
	s.warp(t)
	a := s.state.at(large, s.tip)
	if d, _ := readStake(a.Data); d.Stake != a.Lamports-rentRate(10_000_000).minimum(stakeSize) || d.Stake >= 7*sol || d.Deactivated != never {
		t.Errorf("%d lamports carry %+v", a.Lamports, d.delegation)
	}
	if d, _ := readStake(s.state.at(small, s.tip).Data); d.Stake != 0 || d.Deactivated != 1 {
		t.Errorf("%+v", d.delegation)
	}
}

// A faucet that is nearly empty pays no more than half of what it has.
func TestRewardsNeverEmptyTheFaucet(t *testing.T) {
	s := serve(t, short(""))
	faucet := keyOf(s.faucet())
	s.state.set(faucet, s.tip, account{Lamports: 1001}, 0)
	total := s.TotalLamports()
	s.warp(t)
	if got := s.boundaries[0].Payout.Total; got != 500 || s.Balance(faucet.String()) < 501 || s.TotalLamports() != total {
		t.Errorf("%d of %d are paid", got, s.Balance(faucet.String()))
	}
}

// A vote account keeps 64 epochs of credits. A fork below two changes of voting leaves no slot that counts twice.
func TestCreditsGoBack64Epochs(t *testing.T) {
	s := serve(t, short(""))
	s.advance(t, 70*95)
	v, _ := readVote(voteOf(0), s.accountAt(voteOf(0), s.tip).Data)
	if len(v.Credits) != maxEpochCredits || v.Credits[0].Epoch != 70-maxEpochCredits+1 || v.credits() != slotOf(s.tip)*creditsPerSlot {
		t.Errorf("%d epochs of credits, from %d on", len(v.Credits), v.Credits[0].Epoch)
	}
	if err := s.SetSilent("Alder", true); err != nil {
		t.Fatal(err)
	}
	s.advance(t, 20)
	if err := s.SetSilent("Alder", false); err != nil {
		t.Fatal(err)
	}
	if err := s.Fork(21); err != nil {
		t.Fatal(err)
	}
	if err := s.SetSilent("Alder", true); err != nil {
		t.Fatal(err)
	}
	for i, r := range s.turnout(0) {
		if r.To <= r.From || i > 0 && r.From < s.turnout(0)[i-1].To {
			t.Errorf("%+v", s.turnout(0))
		}
	}
}
