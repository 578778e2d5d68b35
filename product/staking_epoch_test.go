package product_test

import (
	"context"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/settle"
	"purser/wallet"
)

// lyingEpoch is a chain that names a later epoch than there is.
type lyingEpoch struct {
	settle.StakesChain
	by *uint64
}

func (l lyingEpoch) StakeEpoch(ctx context.Context) (wallet.StakeEpoch, error) {
	e, err := l.StakesChain.StakeEpoch(ctx)
	e.Epoch += *l.by
	return e, err
}

// TestAnEpochThatNeverWasEndsNoNews: one wrong answer of a node costs the news of one epoch at most.
func TestAnEpochThatNeverWasEndsNoNews(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	s.does(request(wallet.Stake, "4"))
	s.pays()
	s.looks(aDay)
	by := uint64(0)
	s.Watcher.Stakes = lyingEpoch{s.Watcher.Stakes, &by}
	s.pays()
	s.looks(aDay)
	by = 1 << 40
	s.Pass(2 * time.Hour)
	s.looks(aDay)
	by = 0
	lost := 0
	for range 8 {
		s.pays()
		s.looks(aDay)
		if len(s.rewards) == 0 {
			lost++
		}
	}
	if lost > 1 {
		t.Errorf("the rewards of %d epochs are not announced", lost)
	}
}
