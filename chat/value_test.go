package chat_test

import (
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// prices puts prices into the store, as the sampler does.
func (r *harness) prices(list ...wallet.TokenPrice) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error { return tx.SavePrices(list) }))
}

// TestAmountsAreShownInDollars where a price is known: in a balance with the sum, in the question before a payment, and in the
// message about one that came in. A price that is a quarter of an hour old values nothing, and unlisted tokens have no value.
func TestAmountsAreShownInDollars(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 2*sol)
	r.rich("bob", sol)
	usdc, _ := r.Tokens.BySymbol("USDC")
	r.FundToken(r.people["alice"].Address(), "USDC", 12_340_000)
	said := func(text string) string { return r.asked(func() { r.says("alice", text) }) }
	shows := func(what, got string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s lacks %q:\n%s", what, part, got)
			}
		}
	}
	if got := said("/wallet balance"); strings.Contains(got, "$") {
		t.Errorf("nobody knows a price:\n%s", got)
	}
	r.prices(wallet.TokenPrice{Price: wallet.MustPrice("147.4789340738336"), At: r.Now(), Source: "jupiter"})
	got := said("/wallet balance")
	shows("a balance", got, "SOL in <code>…alice</code>, about $294.96")
	if strings.Contains(got, "Total") {
		t.Errorf("a sum without the price of USDC:\n%s", got)
	}
	r.prices(wallet.TokenPrice{Mint: usdc.Mint, Price: wallet.MustPrice("0.9998"), At: r.Now(), Source: "jupiter"})
	shows("a balance", said("/wallet balance"), "</code> USDC, about $12.34\n", "Total: about $307.30")
	shows("one token", said("/wallet balance USDC"), "USDC, about $12.34")
	if got := said("/wallet balance SOL"); strings.Contains(got, "Total") || !strings.Contains(got, "about $294.96") {
		t.Errorf("SOL alone:\n%s", got)
	}
	shows("a question", said("/send 0.5 SOL "+r.people["bob"].Address().String()), "Send 0.5 SOL?</b> (about $73.74)")
	r.presses("alice", "Reject", "alice")
	shows("a question", said("/send 0.00001 SOL "+r.people["bob"].Address().String()), "Send 0.00001 SOL?</b> (less than $0.01)")
	r.presses("alice", "Reject", "alice")
	r.Pass(wallet.StalePrice + time.Second)
	if got := said("/wallet balance"); strings.Contains(got, "$") {
		t.Errorf("by an old price:\n%s", got)
	}
}
