package product_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// aDay is longer than any wait between two looks at stakes.
const aDay = 24 * time.Hour

// TestStakesAreAnnouncedAsTheyChange: active, each epoch's rewards to the lamport and once, and when a part of it can be withdrawn.
func TestStakesAreAnnouncedAsTheyChange(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	ranked, err := s.Stakes.Validators(t.Context())
	s.Must(err)
	first := s.does(request(wallet.Stake, "4"))
	if n := s.looks(time.Second); n != 1 || s.heard() != "" || len(s.rewards) != 0 {
		t.Errorf("after a stake there are %d looks: %s", n, s.heard())
	}
	if n := s.looks(aDay); n != 1 || s.heard() != "" {
		t.Errorf("within an epoch there are %d looks: %s", n, s.heard())
	}
	s.pays()
	if s.looks(aDay); s.heard() != "active 4 "+ranked[0].Name || len(s.rewards) != 0 {
		t.Errorf("after an epoch: %s, %+v", s.heard(), s.rewards)
	}
	var want []wallet.StakeRewardData
	second := s.does(request(wallet.Stake, "3"))
	s.looks(time.Second)
	for epoch := uint64(1); epoch < 4; epoch++ {
		gained := s.pays()
		s.looks(aDay)
		want = want[:0]
		sum := uint64(0)
		for _, p := range s.positions() {
			if gained[p.Address] > 0 {
				sum += gained[p.Address]
				want = append(want, wallet.StakeRewardData{UserID: s.User.ID, WalletAddress: s.Address(), RewardAmount: wallet.Lamports(gained[p.Address]).String(),
					Epoch: epoch, ValidatorAddress: p.Voter, DistributedAt: wallet.Timestamp(s.Now())})
			}
		}
		if !slices.Equal(s.rewards, want) || len(want) == 0 {
			t.Errorf("of epoch %d: %+v, want %+v", epoch, s.rewards, want)
		}
		if len(s.news) != 1 || len(s.news[0].Rewards) != 1 || s.news[0].Rewards[0] != (wallet.EpochRewards{Epoch: epoch, Lamports: sum}) || s.news[0].WalletAddress != s.Address() ||
			(len(s.news[0].Active) == 1) != (epoch == 1) {
			t.Errorf("the message of epoch %d: %+v", epoch, s.news)
		}
		if s.looks(aDay); s.heard() != "" || len(s.rewards) != 0 {
			t.Errorf("again: %s", s.heard())
		}
	}
	all := request(wallet.Unstake, "max")
	all.Account = second.NewStakeAccount()
	s.does(all)
	if s.looks(time.Second); s.heard() != "" {
		t.Errorf("while it cools down: %s", s.heard())
	}
	s.pays()
	s.looks(aDay)
	if heard := s.heard(); !strings.HasPrefix(heard, "inactive 3.0") || !strings.HasSuffix(heard, ", epoch 4") || len(s.rewards) != 2 {
		t.Errorf("when it has cooled down: %s", heard)
	}
	back := request(wallet.Withdraw, "max")
	back.Account = second.NewStakeAccount()
	s.does(back)
	if s.looks(time.Second); s.heard() != "" {
		t.Errorf("when it is withdrawn: %s", s.heard())
	}
	// The whole rest, until nothing is left to watch.
	rest := request(wallet.Unstake, "max")
	rest.Account = first.NewStakeAccount()
	s.does(rest)
	s.pays()
	s.looks(aDay)
	s.does(request(wallet.Withdraw, "max"))
	s.looks(time.Second)
	if n := s.looks(aDay); n != 0 {
		t.Errorf("without stakes there are %d looks", n)
	}
	s.View(func(tx store.Tx) error {
		if row, err := tx.WatchedStakes(s.Address()); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("kept is %+v, %v", row, err)
		}
		return nil
	})
}

// TestSeveralEpochsAreCaughtUp: the process was down, restarted, and a stake was withdrawn meanwhile.
func TestSeveralEpochsAreCaughtUp(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.pays()
	s.looks(aDay)
	gained := []map[wallet.Address]uint64{s.pays(), s.pays()}
	s.does(request(wallet.Unstake, "max"))
	gained = append(gained, s.pays())
	account := s.positions()[0].Address
	s.does(request(wallet.Withdraw, "max"))
	s.Reopen()
	s.looks(aDay)
	if s.heard() != "epoch 1, epoch 2, epoch 3" || len(s.rewards) != 3 {
		t.Fatalf("announced are %s, %+v", s.heard(), s.rewards)
	}
	for i, r := range s.rewards {
		if r.RewardAmount != wallet.Lamports(gained[i][account]).String() || r.Epoch != uint64(i+1) {
			t.Errorf("reward %d is %+v, want %d", i, r, gained[i][account])
		}
	}
	if n := s.looks(aDay) + s.looks(aDay); n != 0 || s.heard() != "" {
		t.Errorf("afterwards there are %d looks: %s", n, s.heard())
	}
}

// TestRewardsThatAreBeingPaidAreWaitedFor, those that no node knows any more are passed over, and a node that fails costs nothing
// but time.
func TestRewardsThatAreBeingPaidAreWaitedFor(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.pays()
	s.looks(aDay)
	real := s.Watcher.Stakes
	s.Watcher.Pace.Stakes = time.Hour
	var asked []uint64
	day := payday{StakeChain: s.Stakes.Chain, asked: &asked, fails: map[uint64]error{1: wallet.ErrRewardsNotPaid}}
	s.Watcher.Stakes = day
	s.pays()
	if s.looks(aDay); s.heard() != "" || len(s.rewards) != 0 {
		t.Errorf("announced before they are paid: %s", s.heard())
	}
	if n := s.looks(3 * time.Minute); n == 0 || s.heard() != "" {
		t.Errorf("while it waits there are %d looks: %s", n, s.heard())
	}
	delete(day.fails, 1)
	if s.looks(3 * time.Minute); s.heard() != "epoch 1" {
		t.Errorf("once they are paid: %s", s.heard())
	}
	day.fails[2] = wallet.ErrHistoryPruned
	s.pays()
	s.pays()
	if s.looks(aDay); s.heard() != "epoch 3" {
		t.Errorf("behind one that is forgotten: %s", s.heard())
	}
	down := errors.New("no answer")
	day.fails[4] = down
	s.pays()
	s.Pass(aDay)
	var job store.Job
	s.Must(s.Update(func(tx store.Tx) error {
		due, _, err := tx.ClaimJobs(store.Claim{Queue: store.StakeChecks, Node: "main", Now: s.Now(), Max: 1, Lease: time.Minute})
		if err == nil && len(due) == 1 {
			job = due[0]
			err = tx.RetryJobs(s.Now(), job.Ref())
		}
		return err
	}))
	if _, err := s.Watcher.Handle(t.Context(), job); !errors.Is(err, down) {
		t.Errorf("a node that fails: %v", err)
	}
	delete(day.fails, 4)
	s.Watcher.Stakes = real
	if s.looks(time.Minute); s.heard() != "epoch 4" {
		t.Errorf("afterwards: %s", s.heard())
	}
}

// TestTheLastRewardsOfAStakeThatIsGone are announced once they are paid, and then nothing is watched any more.
func TestTheLastRewardsOfAStakeThatIsGone(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.pays()
	s.looks(aDay)
	s.does(request(wallet.Unstake, "max"))
	s.pays()
	var asked []uint64
	day := payday{StakeChain: s.Stakes.Chain, asked: &asked, fails: map[uint64]error{1: wallet.ErrRewardsNotPaid}}
	s.Watcher.Stakes = day
	s.looks(aDay)
	s.does(request(wallet.Withdraw, "max"))
	for range 2 {
		if n := s.looks(3 * time.Minute); n == 0 || len(s.rewards) != 0 {
			t.Errorf("before they are paid there are %d looks: %+v", n, s.rewards)
		}
	}
	delete(day.fails, 1)
	if s.looks(3 * time.Minute); s.heard() != "epoch 1" || len(s.rewards) != 1 || s.rewards[0].ValidatorAddress.IsZero() {
		t.Errorf("once they are paid: %s, %+v", s.heard(), s.rewards)
	}
	if n := s.looks(aDay); n != 0 {
		t.Errorf("afterwards there are %d looks", n)
	}
}

// nothing is a chain on which every reward is 0 lamports, as of a validator that did not vote.
type nothing struct{ settle.StakesChain }

func (n nothing) StakeRewards(_ context.Context, accounts []wallet.Address, epoch uint64) ([]*wallet.InflationReward, error) {
	out := make([]*wallet.InflationReward, len(accounts))
	for i, at := range accounts {
		out[i] = &wallet.InflationReward{Account: at, Epoch: epoch, Balance: 5}
	}
	return out, nil
}

func TestARewardOfNothingIsNoReward(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.pays()
	s.looks(aDay)
	s.Watcher.Stakes = nothing{s.Watcher.Stakes}
	s.pays()
	if s.looks(aDay); s.heard() != "" || len(s.rewards) != 0 {
		t.Errorf("announced are %s, %+v", s.heard(), s.rewards)
	}
}

// TestStakesOfAWalletWithoutOwner are announced to webhooks alone, and those of one that is gone to nobody.
func TestStakesOfAWalletWithoutOwner(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.pays()
	s.looks(aDay)
	s.pays()
	s.Must(s.Update(func(tx store.Tx) error {
		w, err := tx.Wallet(s.Address())
		if err != nil {
			return err
		}
		row, err := tx.Watch(s.Address())
		if err != nil {
			return err
		}
		stakes, err := tx.WatchedStakes(s.Address())
		if err != nil {
			return err
		}
		w.Owner, w.KeyLineage, row.Version, stakes.Version = "", "key_1", 0, 0
		return errors.Join(tx.DeleteWallet(s.Address()), tx.PutWallet(w), tx.PutWatch(row), tx.PutWatchedStakes(stakes), store.OrderStakeCheck(tx, w, s.Now()))
	}))
	if s.looks(aDay); len(s.rewards) != 1 || s.rewards[0].UserID != "" || len(s.news) != 0 {
		t.Errorf("announced are %+v, %+v", s.rewards, s.news)
	}
	s.pays()
	s.Must(s.Update(func(tx store.Tx) error { return tx.DeleteWallet(s.Address()) }))
	s.looks(aDay)
	if n := s.looks(aDay); n != 0 || len(s.rewards) != 0 {
		t.Errorf("of a wallet that is gone there are %d looks: %+v", n, s.rewards)
	}
}

// TestAfterALongPauseTheLastEpochsAreAnnounced: each costs a call to the node.
func TestAfterALongPauseTheLastEpochsAreAnnounced(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.looks(time.Second)
	for range 13 {
		s.pays()
	}
	s.looks(aDay)
	if len(s.rewards) != 10 || s.rewards[0].Epoch != 3 || s.rewards[9].Epoch != 12 {
		t.Errorf("announced are %+v", s.rewards)
	}
}

// TestOnlyUsableStakesAreAnnounced: a stranger's accounts that name the wallet are not its own.
func TestOnlyUsableStakesAreAnnounced(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.looks(time.Second)
	theirs := crowd{StakeChain: s.Stakes.Chain}
	for i := range 3 {
		a := s.positions()[0].StakeAccount
		a.Address[0] ^= byte(i + 1)
		a.Withdrawer = s.Stranger()
		theirs.more = append(theirs.more, a)
	}
	empty := s.positions()[0].StakeAccount // made since the last look, and delegated to nobody
	empty.Address[0] ^= 99
	empty.Voter = wallet.Address{}
	theirs.more = append(theirs.more, empty)
	s.Watcher.Stakes = theirs
	s.pays()
	if s.looks(aDay); len(s.news) != 1 || len(s.news[0].Active) != 1 || len(s.news[0].Inactive) != 0 {
		t.Errorf("with strangers' accounts: %+v", s.news)
	}
}

// TestStakesMadeElsewhereAreFoundWithinADay, and those that a wallet has when it is connected at once. Looking at them writes nothing.
func TestStakesMadeElsewhereAreFoundWithinADay(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.looks(time.Second)
	jobs := func(want int) {
		t.Helper()
		n := 0
		s.View(func(tx store.Tx) error {
			has, err := store.HasStakeCheck(tx, s.Address())
			if has {
				n++
			}
			return err
		})
		if n != want {
			t.Errorf("%d jobs, want %d", n, want)
		}
	}
	jobs(1)
	drop := func() {
		s.Must(s.Update(func(tx store.Tx) error {
			job, err := tx.Job(store.StakeChecks, store.JobID(s.Address().String()))
			if err != nil {
				return err
			}
			return tx.RemoveJobs(store.StakeChecks, job.ID)
		}))
		jobs(0)
	}
	drop()
	s.positions()
	jobs(0) // a read writes nothing
	s.Pass(23 * time.Hour)
	s.Must(s.Watcher.Sweep(t.Context()))
	s.looks(time.Second)
	jobs(0) // not more often than once a day
	s.Pass(time.Hour)
	s.Must(s.Watcher.Sweep(t.Context()))
	s.looks(time.Second)
	jobs(1)
	drop()
	real := s.Watcher.Stakes
	s.Watcher.Stakes = bent{StakeChain: s.Stakes.Chain, account: func(a *wallet.StakeAccount) { a.Withdrawer = s.Stranger() }}
	s.Pass(24 * time.Hour)
	s.Must(s.Watcher.Sweep(t.Context()))
	s.looks(time.Second)
	jobs(0) // it cannot use them
	s.Watcher.Stakes = nil
	s.Pass(24 * time.Hour)
	s.Must(s.Watcher.Sweep(t.Context()))
	s.looks(time.Second)
	jobs(0)
	s.Watcher.Stakes = real
	// Connected anew, its stakes are found by the first look at the wallet.
	s.Must(s.Update(func(tx store.Tx) error { return tx.DropWatch(s.Address()) }))
	s.Must(s.Watcher.Sweep(t.Context()))
	s.looks(time.Second)
	jobs(1)
	s.pays()
	if s.looks(aDay); s.heard() == "" {
		t.Error("a stake from before the connection is not announced as active")
	}
}

// TestTheEndOfAnEpochIsNotAskedByAllAtOnce: looks share one reading of the epoch, and wait for its estimated end.
func TestTheEndOfAnEpochIsNotAskedByAllAtOnce(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	calls := &epochs{StakesChain: s.Watcher.Stakes}
	s.Watcher.Stakes = calls
	s.looks(time.Hour)
	s.Must(s.Update(func(tx store.Tx) error {
		w, err := tx.Wallet(s.Address())
		if err != nil {
			return err
		}
		return store.OrderStakeCheck(tx, w, s.Now())
	}))
	if n := s.looks(time.Second); n != 1 || calls.n != 1 {
		t.Errorf("%d looks within two seconds ask %d times for the epoch", n+1, calls.n)
	}
	e, err := s.Chain.StakeEpoch(t.Context())
	s.Must(err)
	longest := s.Watcher.Pace.Stakes
	var next time.Time
	s.View(func(tx store.Tx) error {
		job, err := tx.Job(store.StakeChecks, store.JobID(s.Address().String()))
		next = job.NotBefore
		return err
	})
	if wait := next.Sub(s.Now()); wait > longest || e.EndsAfter(1).Sub(s.Now()) > longest && wait != longest || wait <= 0 {
		t.Errorf("the next look is in %s, the epoch ends in %s", wait, e.EndsAfter(1).Sub(s.Now()))
	}
}

// epochs counts how often the epoch is asked for.
type epochs struct {
	settle.StakesChain
	n int
}

func (e *epochs) StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error) {
	e.n++
	return e.StakesChain.StakeEpoch(ctx)
}

// TestDamagedStakesAreReadAnew: what changed since then is not announced, what comes afterwards is, and the operator is told.
func TestDamagedStakesAreReadAnew(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.looks(time.Second)
	var log strings.Builder
	s.Watcher.Log = slog.New(slog.NewTextHandler(&log, nil))
	at := s.Address()
	s.Damage(at[:], `"rewarded"`)
	s.pays()
	if s.looks(aDay); s.heard() != "" {
		t.Errorf("announced are %s", s.heard())
	}
	if n := strings.Count(log.String(), "it is read anew"); n != 1 {
		t.Errorf("the operator is told %d times: %s", n, &log)
	}
	s.pays()
	if s.looks(aDay); s.heard() != "epoch 1" {
		t.Errorf("afterwards: %s", s.heard())
	}
}
