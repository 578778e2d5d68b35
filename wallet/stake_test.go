package wallet

import (
	"math"
	"slices"
	"testing"
	"time"
)

const testSOL = 1_000_000_000

// noon is when the node answers in these tests.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// anEpoch is epoch 10 with a hundred of a thousand slots left, of 300 ms each.
func anEpoch(history map[uint64]StakeActivation) StakeEpoch {
	return StakeEpoch{Epoch: 10, At: noon, SlotsLeft: 100, Slots: 1000, SlotTime: 300 * time.Millisecond, History: history}
}

// staked is an account that has been active since genesis.
func staked(lamports uint64) StakeAccount {
	return StakeAccount{Voter: Address{1}, Stake: lamports, Activated: NeverEpoch, Deactivated: NeverEpoch}
}

func TestEpochsEndAfterTheirSlots(t *testing.T) {
	e := anEpoch(nil)
	for n, want := range map[uint64]time.Duration{0: 0, 1: 30 * time.Second, 2: 330 * time.Second, 4: 930 * time.Second} {
		if got := e.EndsAfter(n); !got.Equal(noon.Add(want)) {
			t.Errorf("%d boundaries pass by %v, want after %v", n, got, want)
		}
	}
	absurd := StakeEpoch{At: noon, SlotsLeft: math.MaxUint64, Slots: math.MaxUint64, SlotTime: math.MaxInt64}
	for _, n := range []uint64{1, 2, math.MaxUint64} {
		if got := absurd.EndsAfter(n); got.Before(noon) || got.Year() > 2400 {
			t.Errorf("of absurd numbers comes %v", got)
		}
	}
}

// TestStatesOfAStake follows the program: all at once where the cluster has room for it, and parts where it has not.
func TestStatesOfAStake(t *testing.T) {
	roomy := map[uint64]StakeActivation{8: {1000 * testSOL, 5 * testSOL, 5 * testSOL}, 9: {1000 * testSOL, 5 * testSOL, 5 * testSOL}}
	tight := map[uint64]StakeActivation{8: {100 * testSOL, 90 * testSOL, 90 * testSOL}, 9: {100 * testSOL, 81 * testSOL, 81 * testSOL}}
	with := func(activated, deactivated uint64) StakeAccount {
		a := staked(10 * testSOL)
		a.Activated, a.Deactivated = activated, deactivated
		return a
	}
	for name, c := range map[string]struct {
		history map[uint64]StakeActivation
		account StakeAccount
		state   StakeState
		want    StakeActivation
	}{
		"never delegated":            {roomy, StakeAccount{}, StakeInactive, StakeActivation{}},
		"since genesis":              {nil, with(NeverEpoch, NeverEpoch), StakeActive, StakeActivation{Effective: 10 * testSOL}},
		"delegated now":              {roomy, with(10, NeverEpoch), StakeActivating, StakeActivation{Activating: 10 * testSOL}},
		"delegated before":           {roomy, with(9, NeverEpoch), StakeActive, StakeActivation{Effective: 10 * testSOL}},
		"delegated long ago":         {nil, with(2, NeverEpoch), StakeActive, StakeActivation{Effective: 10 * testSOL}},
		"delegated in a later epoch": {roomy, with(11, NeverEpoch), StakeInactive, StakeActivation{}},
		"warming up":                 {tight, with(8, NeverEpoch), StakeActivating, StakeActivation{Effective: 2 * testSOL, Activating: 8 * testSOL}},
		"undelegated now":            {roomy, with(NeverEpoch, 10), StakeDeactivating, StakeActivation{Effective: 10 * testSOL, Deactivating: 10 * testSOL}},
		"undelegated before":         {roomy, with(NeverEpoch, 9), StakeInactive, StakeActivation{}},
		"undelegated long ago":       {nil, with(NeverEpoch, 2), StakeInactive, StakeActivation{}},
		"cooling down":               {tight, with(NeverEpoch, 8), StakeDeactivating, StakeActivation{Effective: 8 * testSOL, Deactivating: 8 * testSOL}},
		"back within one epoch":      {roomy, with(10, 10), StakeInactive, StakeActivation{}},
		// 1 SOL was effective. A ninth of it has left.
		"undelegated while warming up": {tight, with(8, 9), StakeDeactivating, StakeActivation{Effective: 888_888_889, Deactivating: 888_888_889}},
	} {
		state, got := anEpoch(c.history).StakeState(c.account)
		if state != c.state || got != c.want {
			t.Errorf("%s: %s, %+v, want %s, %+v", name, state, got, c.state, c.want)
		}
	}
}

// TestChangesTakeAsManyEpochsAsTheClusterNeeds: 9 % of the cluster's stake may change in one epoch, whoever it belongs to.
func TestChangesTakeAsManyEpochsAsTheClusterNeeds(t *testing.T) {
	last := func(effective, activating, deactivating uint64) map[uint64]StakeActivation {
		return map[uint64]StakeActivation{8: {100 * testSOL, 99 * testSOL, 99 * testSOL}, 9: {effective * testSOL, activating * testSOL, deactivating * testSOL}}
	}
	for name, c := range map[string]struct {
		history map[uint64]StakeActivation
		own     uint64 // in SOL
		want    uint64 // epochs of a cooldown that begins now
	}{
		"room for all":                     {last(1000, 0, 0), 10, 1},
		"exactly what may change":          {last(1000, 0, 0), 90, 1},
		"more than may change":             {last(1000, 0, 0), 91, 2},
		"a queue that is gone by now":      {last(1000, 0, 90), 10, 1},
		"a queue that leaves room":         {last(1000, 0, 170), 10, 1},
		"a queue that leaves too little":   {last(1000, 0, 171), 10, 2},
		"a long queue":                     {last(1000, 0, 1000), 10, 11},
		"a queue of those that warm up":    {last(1000, 1000, 0), 10, 1},
		"an unknown history":               {nil, 10, 1},
		"a cluster of less than a lamport": {map[uint64]StakeActivation{9: {Effective: 5}}, 10, 1},
		"an absurd history":                {map[uint64]StakeActivation{9: {math.MaxUint64, math.MaxUint64, math.MaxUint64}}, 10, 11},
	} {
		e := anEpoch(c.history)
		if got, want := e.CooldownEnd(staked(100*testSOL), c.own*testSOL), e.EndsAfter(c.want); !got.Equal(want) {
			t.Errorf("%s: it ends at %v, want %v (%d epochs)", name, got, want, c.want)
		}
	}
	e := anEpoch(last(1000, 175, 0))
	warming := staked(10 * testSOL)
	warming.Activated = 10
	if got := e.ChangesAt(warming); !got.Equal(e.EndsAfter(2)) {
		t.Errorf("a warm-up behind a queue ends at %v", got)
	}
	if got := e.CooldownEnd(warming, 10*testSOL); !got.Equal(noon) {
		t.Errorf("what never became active cools down until %v", got)
	}
	if got := e.ChangesAt(staked(testSOL)); !got.IsZero() {
		t.Errorf("what is active changes at %v", got)
	}
	// Its own lamports are in the queue that it has waited in since the last epoch.
	cooling := staked(95 * testSOL)
	cooling.Deactivated = 9
	queue := anEpoch(map[uint64]StakeActivation{9: {1000 * testSOL, 0, 180 * testSOL}})
	if got := queue.ChangesAt(cooling); !got.Equal(queue.EndsAfter(1)) {
		t.Errorf("the second half of a cooldown ends at %v", got)
	}
}

func TestWhatIsHeld(t *testing.T) {
	me, other := Address{7}, Address{8}
	e := anEpoch(nil)
	for name, c := range map[string]struct {
		change func(*StakeAccount)
		want   StakeHold
	}{
		"one's own":              {func(*StakeAccount) {}, HoldNone},
		"another staker":         {func(a *StakeAccount) { a.Staker = other }, HoldForeign},
		"another withdrawer":     {func(a *StakeAccount) { a.Withdrawer = other }, HoldForeign},
		"locked until a second":  {func(a *StakeAccount) { a.LockedUntil = noon.Add(time.Second) }, HoldLocked},
		"a lockup that ends now": {func(a *StakeAccount) { a.LockedUntil = noon }, HoldNone},
		"locked for an epoch":    {func(a *StakeAccount) { a.LockedEpoch = 11 }, HoldLocked},
		"locked until the epoch": {func(a *StakeAccount) { a.LockedEpoch = 10 }, HoldNone},
	} {
		a := staked(testSOL)
		a.Staker, a.Withdrawer = me, me
		if c.change(&a); e.Hold(a, me) != c.want {
			t.Errorf("%s: %q, want %q", name, e.Hold(a, me), c.want)
		}
	}
}

func TestRankingOfValidators(t *testing.T) {
	v := func(name string, commission, stake uint64, delinquent bool) Validator {
		return Validator{Vote: Address{name[0]}, Name: name, Commission: commission, Stake: stake, Delinquent: delinquent}
	}
	all := []Validator{v("a", 0, 400, false), v("b", 500, 100, false), v("c", 500, 200, false), v("d", 0, 1, true), v("e", 100, 50, false), v("f", 0, 0, false), v("g", 700, 249, false)}
	before := slices.Clone(all)
	names := func(list []Validator) (out string) {
		for _, v := range list {
			out += v.Name
		}
		return out
	}
	for _, c := range []struct {
		preferred []Address
		want      string
	}{
		{nil, "fecbgad"}, // a alone holds over a third
		{[]Address{{'g'}, {'a'}}, "gafecbd"},
		{[]Address{{'d'}}, "fecbgad"},
	} {
		if got := names(RankValidators(all, c.preferred)); got != c.want {
			t.Errorf("with %v they are ranked %s, want %s", c.preferred, got, c.want)
		}
	}
	for _, v := range RankValidators(all, nil) {
		if v.Superminority != (v.Name == "a") {
			t.Errorf("%s in the superminority: %v", v.Name, v.Superminority)
		}
	}
	if !slices.Equal(all, before) {
		t.Error("the list was changed")
	}
}
