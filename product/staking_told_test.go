package product_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// told is what the commits of the looks at stakes emit: each reward, and each message to the owner.
type told struct {
	staker
	rewards []wallet.StakeRewardData
	news    []wallet.StakesChangedData
	// validators are the messages about validators.
	validators []wallet.ValidatorsChangedData
	ids        map[string]bool // of all events
}

// announcing notes what a transaction announces.
type announcing struct {
	store.Tx
	events *[]wallet.Event
}

func (a announcing) Emit(all ...wallet.Event) error {
	*a.events = append(*a.events, all...)
	return a.Tx.Emit(all...)
}

func (a announcing) PutJobs(all []store.Job, handTo *store.Claim) ([]store.Job, error) {
	for _, job := range all {
		if job.Queue == store.Events {
			event, err := store.EventOf(job)
			if err != nil {
				return nil, err
			}
			*a.events = append(*a.events, event)
		}
	}
	return a.Tx.PutJobs(all, handTo)
}

func newTold(t *testing.T, lamports uint64) *told {
	s := &told{staker: newStaker(t, lamports), ids: map[string]bool{}}
	s.Must(s.Watcher.Sweep(t.Context()))
	s.looks(0)
	return s
}

// looks lets time go by and makes the looks that are due then, each committed twice as a store may. It returns how many of them
// were at stakes.
func (s *told) looks(after time.Duration) (n int) {
	s.Helper()
	s.Pass(after)
	s.rewards, s.news, s.validators = nil, nil, nil
	for range 500 {
		due := s.Due(s.Watcher, 1)
		if len(due) == 0 {
			return n
		}
		if due[0].Queue == store.StakeChecks {
			n++
		}
		result, err := s.Watcher.Handle(s.Context(), due[0])
		s.Must(err)
		var events []wallet.Event
		failed := errors.New("the first try")
		for _, end := range []error{failed, nil} {
			events = nil
			if err := s.Update(func(tx store.Tx) error {
				if result.Commit != nil {
					if err := result.Commit(announcing{tx, &events}); err != nil {
						return err
					}
				}
				if end != nil {
					return end
				}
				if result.Again.IsZero() {
					return tx.DoneJobs(due[0].Ref())
				}
				return tx.SnoozeJobs(result.Again, due[0].Ref())
			}); err != end {
				s.Fatal(err)
			}
		}
		s.notes(events)
	}
	s.Fatal("the looks find no end")
	return n
}

func (s *told) notes(events []wallet.Event) {
	s.Helper()
	for _, e := range events {
		if s.ids[e.ID] {
			s.Errorf("two events have the ID %s", e.ID)
		}
		s.ids[e.ID] = true
		switch e.Name {
		case wallet.StakeReward:
			var d wallet.StakeRewardData
			s.Must(json.Unmarshal(e.Data, &d))
			s.rewards = append(s.rewards, d)
		case wallet.ValidatorsChanged:
			var d wallet.ValidatorsChangedData
			s.Must(json.Unmarshal(e.Data, &d))
			s.validators = append(s.validators, d)
		case wallet.StakesChanged:
			var d wallet.StakesChangedData
			s.Must(json.Unmarshal(e.Data, &d))
			s.news = append(s.news, d)
		}
	}
}

// heard is what the messages of the last looks say, in short.
func (s *told) heard() string {
	var out []string
	for _, d := range s.news {
		for _, one := range d.Active {
			out = append(out, fmt.Sprintf("active %s %s", wallet.Lamports(one.Lamports), one.ValidatorName))
		}
		for _, one := range d.Inactive {
			out = append(out, fmt.Sprintf("inactive %s", wallet.Lamports(one.Lamports)))
		}
		for _, one := range d.Rewards {
			out = append(out, fmt.Sprintf("epoch %d", one.Epoch))
		}
	}
	return strings.Join(out, ", ")
}

// TestAStepHasOneWord in the history: as a transaction of purser and as what the chain says of it, such as of a stake made elsewhere.
func TestAStepHasOneWord(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	for _, req := range []handlers.StakeRequest{request(wallet.Stake, "4"), request(wallet.Unstake, "1.5"), request(wallet.Unstake, "max"), request(wallet.Withdraw, "max")} {
		if req.Kind == wallet.Withdraw {
			s.pays()
			s.pays()
		}
		step := s.does(req)
		read, err := s.Chain.Activities(t.Context(), step.Signature, s.Address())
		s.Must(err)
		if read[0].Kind != wallet.EntryType(req.Kind) {
			t.Errorf("%s of %s is %q on chain", req.Kind, req.Amount, read[0].Kind)
		}
	}
}
