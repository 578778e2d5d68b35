package product_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// TestTroubleWithValidatorsIsTold: a raised commission, silence of half an hour, and falling behind, each once, and only of validators that the
// person stakes with.
func TestTroubleWithValidatorsIsTold(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	all, err := s.Stakes.Validators(t.Context())
	s.Must(err)
	mine, other := all[1], all[0]
	stake := request(wallet.Stake, "4")
	stake.Validator = mine.Vote
	s.does(stake)
	s.looks(time.Second)
	s.pays()
	s.looks(aDay)
	expect := func(what, want string) {
		t.Helper()
		if got := s.troubles(); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	expect("with nothing changed", "")

	s.Must(s.Cluster.SetCommission(other.Name, 9000, 0))
	s.Must(s.Cluster.SetCommission(mine.Name, uint16(mine.Commission)+300, 0))
	s.pays()
	s.looks(aDay)
	expect("a commission is raised", fmt.Sprintf("%s commission_raised %d %d", mine.Name, mine.Commission, mine.Commission+300))
	s.looks(aDay)
	expect("and stays so", "")

	real := s.Watcher.Stakes
	s.Watcher.Stakes, s.Watcher.Pace.Stakes = longEpochs{real}, 2*time.Hour
	s.looks(aDay) // no look comes early because of the epoch
	s.Must(s.Cluster.SetSilent(mine.Name, true))
	s.Blocks(140)
	s.looks(2 * time.Hour)
	expect("it has just fallen silent", "")
	s.looks(29 * time.Minute)
	expect("not for half an hour", "")
	if n := s.looks(2 * time.Minute); n != 1 {
		t.Errorf("%d looks when it is due", n)
	}
	expect("for half an hour", mine.Name+" silent")
	s.looks(aDay)
	expect("and stays so", "")
	s.Watcher.Stakes = voiceless{longEpochs{real}, nil} // it is not listed for a while
	s.looks(aDay)
	s.Watcher.Stakes = real
	s.looks(aDay)
	s.looks(aDay)
	expect("and is listed again", "")

	s.pays() // an epoch in which it earned a part
	s.looks(aDay)
	expect("behind, and silent", "")
	s.Must(s.Cluster.SetSilent(mine.Name, false))
	s.Blocks(5)
	s.looks(aDay)
	expect("it votes again", mine.Name+" votes")
	s.pays()
	s.pays()
	s.looks(aDay)
	expect("after a whole epoch", mine.Name+" caught_up")
	s.does(request(wallet.Unstake, "max"))
	s.looks(time.Second)
	s.Must(s.Cluster.SetCommission(mine.Name, 10_000, 0))
	s.pays()
	s.looks(aDay)
	expect("it has nothing of theirs any more", "")
	s.View(func(tx store.Tx) error {
		if row, err := tx.WatchedStakes(s.Address()); err != nil || len(row.Validators) != 0 {
			t.Errorf("watched are %+v, %v", row.Validators, err)
		}
		return nil
	})
}

// troubles is what the last looks say of validators, in short.
func (s *told) troubles() string {
	var out []string
	for _, d := range s.validators {
		if d.WalletAddress != s.Address() {
			s.Errorf("of the wallet %s", d.WalletAddress)
		}
		for _, c := range d.Changes {
			line := c.Name + " " + string(c.Kind)
			if c.Kind == wallet.CommissionRaised {
				line += fmt.Sprintf(" %d %d", c.From, c.To)
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, ", ")
}

// TestValidatorsAreReadAgainWhenANodeFails: nothing is lost.
func TestValidatorsAreReadAgainWhenANodeFails(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	all, err := s.Stakes.Validators(t.Context())
	s.Must(err)
	s.does(request(wallet.Stake, "4"))
	s.pays()
	s.looks(aDay)
	s.Must(s.Cluster.SetCommission(all[0].Name, 9000, 0))
	s.pays()
	s.looks(0)
	down := errors.New("no answer")
	real := s.Watcher.Stakes
	s.Watcher.Stakes = voiceless{real, down}
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
	s.Watcher.Stakes = real
	s.looks(time.Minute)
	if got := s.troubles(); !strings.Contains(got, "commission_raised") {
		t.Errorf("afterwards: %q", got)
	}
}

// longEpochs is a chain whose epochs take days, as those of mainnet do.
type longEpochs struct{ settle.StakesChain }

func (l longEpochs) StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error) {
	e, err := l.StakesChain.StakeEpoch(ctx)
	e.SlotsLeft = 432_000
	return e, err
}

// voiceless is a chain whose nodes do not list validators.
type voiceless struct {
	settle.StakesChain
	err error
}

func (v voiceless) Validators(context.Context) ([]wallet.Validator, error) { return nil, v.err }
