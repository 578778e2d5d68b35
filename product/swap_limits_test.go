package product_test

import (
	"testing"

	"purser/e2e/world"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// TestSwapsCountInSpendingLimits: by what they pay, together with payments. With a list of recipients they buy listed tokens only.
func TestSwapsCountInSpendingLimits(t *testing.T) {
	s := newSwapper(t, 20*world.SOL)
	limits := func(p wallet.Policy) {
		t.Helper()
		s.Must(s.Update(func(tx store.Tx) error {
			change, err := s.Policies.Change(tx, s.User.ID, s.Address(), p)
			if change.Token != "" {
				t.Error("the limits are looser")
			}
			return err
		}))
	}
	limits(wallet.Policy{Payment: []wallet.TokenLimit{{Units: 3 * world.SOL}}, Day: []wallet.TokenLimit{{Units: 5 * world.SOL}}})
	s.refused(wallet.PolicyViolation, "rule.limit_payment", swapOf("3.1", "SOL", "USDC"))
	if done := s.signs(s.proposes(swapOf("3", "SOL", "USDC"))); done.Status != wallet.Confirmed {
		t.Fatalf("the swap is %s", done.Status)
	}
	s.refused(wallet.PolicyViolation, "rule.limit_day", swapOf("2.1", "SOL", "USDC"))
	_, err := s.Prepare(s.Person, s.Stranger(), "2.1", "SOL") // a payment counts with it
	if wallet.ReasonOf(err).Key != "rule.limit_day" {
		t.Errorf("a payment: %v", err)
	}
	if done := s.signs(s.proposes(swapOf("20", "USDC", "SOL"))); done.Status != wallet.Confirmed { // what comes in counts for nothing
		t.Errorf("the swap back is %s", done.Status)
	}
	s.proposes(swapOf("2", "SOL", "USDC"))
	// At Confirm too: of two swaps that each fit, one is confirmed.
	first, second := s.proposes(swapOf("1.5", "SOL", "USDC")), s.proposes(swapOf("1.5", "SOL", "USDC"))
	s.signs(first)
	if _, err := s.Confirm(s.Caller(), second.ID); wallet.ReasonOf(err).Key != "rule.limit_day" {
		t.Errorf("the second is confirmed: %v", err)
	}
	waits := wallet.Policy{Payment: []wallet.TokenLimit{{Units: 3 * world.SOL}}, Day: []wallet.TokenLimit{{Units: 5 * world.SOL}}, NewRecipientWait: wallet.MaxNewRecipientWait}
	limits(waits)
	s.proposes(swapOf("0.1", "SOL", "USDC")) // nobody is paid, and it need not wait
	listed := waits
	listed.Recipients = &[]wallet.Address{}
	limits(listed)
	for _, bought := range []string{"USDC", solana.MintAddress("purser", "BEAN")} { // nobody can say whom the pools belong to
		s.refused(wallet.PolicyViolation, "rule.limit_swap", swapOf("0.1", "SOL", bought))
	}
}
