package product_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestLamportsAddUpOverRandomLives: whatever is staked, undelegated and withdrawn, in whatever order, over epochs, tips and restarts,
// what is staked and liquid, with the fees, is what there was, with the rewards and tips. Each lamport of reward is announced once.
// STAKING_SEED repeats one life.
func TestLamportsAddUpOverRandomLives(t *testing.T) {
	seeds := []uint64{1, 2, uint64(time.Now().UnixNano())}
	if testing.Short() {
		seeds = seeds[1:]
	}
	if text := os.Getenv("STAKING_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	total := map[string]int{}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("STAKING_SEED=%d", seed), func(t *testing.T) {
			for what, n := range liveAtRandom(t, rand.New(rand.NewPCG(seed, 7))) {
				total[what] += n
			}
		})
	}
	for _, kind := range []wallet.Kind{wallet.Stake, wallet.Unstake, wallet.Withdraw} {
		if total[string(kind)] == 0 && len(seeds) > 1 {
			t.Errorf("no %s ever succeeded: the lives prove little (%v)", kind, total)
		}
	}
}

// liveAtRandom is one life. It returns how often each step happened.
func liveAtRandom(t *testing.T, random *rand.Rand) map[string]int {
	t.Helper()
	s := newTold(t, 60*world.SOL)
	began, fees, tips, announced := s.liquid(), uint64(0), uint64(0), uint64(0)
	validators, err := s.Stakes.Validators(t.Context())
	s.Must(err)
	did := map[string]int{}
	check := func(after string) {
		t.Helper()
		did[after]++
		if sum := s.liquid() + s.held() + fees; sum != began+*s.staker.rewards+tips {
			t.Fatalf("after %s (%v): %d liquid, %d held and %d of fees are not %d, %d of rewards and %d of tips", after, did, s.liquid(), s.held(), fees, began, *s.staker.rewards, tips)
		}
	}
	notes := func(after time.Duration) {
		t.Helper()
		s.looks(after)
		for _, r := range s.rewards {
			announced += s.lamports(r.RewardAmount)
		}
	}
	step := func(req handlers.StakeRequest) {
		t.Helper()
		if _, err := s.Stakes.Prepare(t.Context(), s.Caller(), req); err != nil {
			allowed := []wallet.Code{wallet.InvalidRequest, wallet.InsufficientFunds, wallet.PolicyViolation}
			if !slices.Contains(allowed, wallet.CodeOf(err)) {
				t.Fatalf("%+v is refused with %v", req, err)
			}
			did["refused"]++
			return
		}
		fees += s.does(req).Fee
		check(string(req.Kind))
	}
	for range 40 {
		switch random.IntN(8) {
		case 0, 1:
			req := request(wallet.Stake, wallet.Lamports(world.SOL+random.Uint64N(5*world.SOL)).String())
			req.Validator = validators[random.IntN(3)].Vote
			step(req)
		case 2, 3:
			amount := "max"
			if random.IntN(3) > 0 {
				amount = wallet.Lamports(world.SOL + random.Uint64N(3*world.SOL)).String()
			}
			step(request(wallet.Unstake, amount))
		case 4:
			step(request(wallet.Withdraw, "max"))
		case 5, 6:
			s.pays()
			check("epoch")
			notes(aDay)
		case 7:
			if p := s.positions(); len(p) > 0 {
				tip := random.Uint64N(world.SOL)
				s.Fund(p[random.IntN(len(p))].Address, tip)
				tips += tip
				check("tip")
			}
			s.Reopen()
			s.Must(s.Watcher.Sweep(t.Context()))
			notes(time.Second)
		}
	}
	s.pays()
	notes(aDay)
	check("epoch")
	if announced != *s.staker.rewards || announced == 0 {
		t.Errorf("%d lamports of rewards are announced, %d came (%v)", announced, *s.staker.rewards, did)
	}
	s.View(func(tx store.Tx) error { _, err := tx.Watch(s.Address()); return err })
	return did
}

// lamports reads an amount of SOL.
func (s *told) lamports(text string) uint64 {
	s.Helper()
	d, err := wallet.ParseDecimal(text)
	s.Must(err)
	amount, err := d.In(wallet.SOL.Decimals)
	s.Must(err)
	return amount.Units
}
