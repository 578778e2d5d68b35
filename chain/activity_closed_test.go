package chain

import (
	"slices"
	"testing"

	"purser/wallet"
)

// TestAClosedAccountBringsNothing: somebody gives Bob a token account that they may still close, closes it later, and pays SOL
// to its address, whose key is theirs. Bob has got nothing.
func TestAClosedAccountBringsNothing(t *testing.T) {
	w := newTown(t)
	carol, bob, token := person("carol").address(), person("bob").address(), wallet.TokenProgram
	rent, err := w.RentMinimum(t.Context(), tokenSize)
	if err != nil {
		t.Fatal(err)
	}
	extra := testKey(60).address()
	keepsClose := Instruction{token, []Account{as(extra, "w"), as(carol, "s")}, append([]byte{6, 3, 1}, carol[:]...)}
	w.land("", "carol", createOf(carol, extra, rent, tokenSize, token), initializeOf(extra, w.usdc, carol), keepsClose, authorityOf(extra, carol, bob))
	const price = 5_000_000_000
	sig := w.land("", "carol", closeOf(extra, carol, carol, token), payOf(carol, extra, price))
	a := w.activities(sig, "bob")[0]
	if len(a.Net) > 0 || a.Kind == wallet.ActivityReceived || slices.ContainsFunc(a.Movements, func(m wallet.Movement) bool { return m.In }) {
		t.Errorf("%s: %+v", w.told(a), a.Net)
	}
}
