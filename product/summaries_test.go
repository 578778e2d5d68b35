package product_test

import (
	"context"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// summed is a person who wants summaries, with what a summary says of them.
func (s *told) summed(begun time.Time) handlers.PortfolioSummary {
	s.Helper()
	p, ok, err := s.Summaries.Prepare(context.Background(), s.User.ID, begun)
	s.Must(err)
	if !ok {
		s.Fatal("there is nothing to sum up")
	}
	s.Must(s.Update(func(tx store.Tx) error { return s.Summaries.Commit(tx, p) }))
	return p
}

// TestASummaryIsWhatIsThere: SOL, stakes and listed tokens of all wallets with their worth, what payments brought and took, and each epoch's rewards once.
func TestASummaryIsWhatIsThere(t *testing.T) {
	s := newTold(t, 30*world.SOL)
	turned := s.Now()
	s.Must(s.Update(func(tx store.Tx) error { return s.Notifications.Switch(tx, s.Caller(), wallet.CategorySummary, true) }))
	s.Must(s.Update(func(tx store.Tx) error {
		return tx.SavePrices([]wallet.TokenPrice{{Price: wallet.MustPrice("150"), At: s.Now().Add(1000 * time.Hour), Source: "jupiter"}})
	}))
	s.does(request(wallet.Stake, "4"))
	s.looks(aDay) // from now on the stakes are watched
	s.FundToken(s.Address(), "USDC", 2_500_000)
	s.FundToken(s.Address(), solana.MintAddress("purser", "GHOST"), 7)
	find := func(p handlers.PortfolioSummary, symbol string, staked bool) (units uint64, found bool) {
		for _, h := range p.Summary.Holdings {
			if h.Token.Symbol == symbol && h.Staked == staked {
				return h.Units, true
			}
		}
		return 0, false
	}

	first := s.summed(turned)
	if sol, _ := find(first, "SOL", false); sol != s.liquid() {
		t.Errorf("%d lamports, the wallet has %d", sol, s.liquid())
	}
	if staked, _ := find(first, "SOL", true); staked != s.held() {
		t.Errorf("%d lamports in stakes, there are %d", staked, s.held())
	}
	if usdc, _ := find(first, "USDC", false); usdc != 2_500_000 || len(first.Summary.Holdings) != 3 {
		t.Errorf("%+v", first.Summary.Holdings)
	}
	if first.Summary.Rewards != 0 || !first.Summary.Total.Unknown { // nobody knows what USDC costs
		t.Errorf("%+v", first.Summary)
	}

	// Two epochs pay; each is named once, whenever it is asked.
	gained := uint64(0)
	for range 2 {
		for _, units := range s.pays() {
			gained += units
		}
	}
	s.Pass(9 * 24 * time.Hour)
	second := s.summed(turned)
	if !second.Due || second.Summary.Rewards != gained || gained == 0 {
		t.Errorf("due %t, rewards %d, the stakes gained %d", second.Due, second.Summary.Rewards, gained)
	}
	s.Pass(9 * 24 * time.Hour)
	if third := s.summed(turned); third.Summary.Rewards != 0 {
		t.Errorf("the same rewards again: %d", third.Summary.Rewards)
	}

	// Payments since the last summary are counted, and nothing older.
	bob := s.Rich(1002, "Bob", world.SOL)
	s.Paid(s.Person, bob.Address(), "0.5", "SOL")
	s.Pass(9 * 24 * time.Hour)
	fourth := s.summed(turned)
	if got := fourth.Summary; got.Sent != 1 || got.Received != 0 || len(got.Flows) != 1 || got.Flows[0].Out != world.SOL/2 || got.Flows[0].In != 0 {
		t.Errorf("%d sent, %d received, %+v", got.Sent, got.Received, got.Flows)
	}
	s.Pass(9 * 24 * time.Hour)
	if fifth := s.summed(turned); fifth.Summary.Sent != 0 || len(fifth.Summary.Flows) != 0 {
		t.Errorf("the payment is counted again: %+v", fifth.Summary)
	}

	// After half a year without one, a summary is about a month at most.
	s.Pass(180 * 24 * time.Hour)
	if sixth := s.summed(turned); sixth.Summary.At.Sub(sixth.Summary.Since) != 31*24*time.Hour {
		t.Errorf("it is about %s", sixth.Summary.At.Sub(sixth.Summary.Since))
	}
}

// TestAClockThatWasAheadStopsNoSummary: what it wrote is forgotten.
func TestAClockThatWasAheadStopsNoSummary(t *testing.T) {
	s := newTold(t, world.SOL)
	s.Must(s.Update(func(tx store.Tx) error {
		ahead := s.Now().AddDate(1, 0, 0)
		return tx.PutPortfolio(wallet.Portfolio{Owner: s.User.ID, SentAt: ahead, Points: []wallet.PortfolioPoint{{At: ahead, Value: 1}}})
	}))
	s.Must(s.Update(func(tx store.Tx) error { return s.Notifications.Switch(tx, s.Caller(), wallet.CategorySummary, true) }))
	due := 0
	for range 8 {
		s.Pass(24 * time.Hour)
		if p := s.summed(s.Now()); p.Due {
			due++
		}
	}
	if due != 1 {
		t.Errorf("%d summaries in eight days", due)
	}
}
