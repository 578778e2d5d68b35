package chain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"purser/wallet"
)

// TestAClosedAccountBringsNothing: somebody gives Bob a token account that they may still close, closes it later, and pays SOL
// to its address, whose key is theirs. Bob has got nothing, or what came from there to his wallet.
func TestAClosedAccountBringsNothing(t *testing.T) {
	w := newTown(t)
	carol, bob, token := person("carol").address(), person("bob").address(), wallet.TokenProgram
	rent, err := w.RentMinimum(t.Context(), tokenSize)
	if err != nil {
		t.Fatal(err)
	}
	const price = 2_000_000_000
	R, left := fmt.Sprint(rent), fmt.Sprint(price-rent)
	for i, step := range []struct {
		name       string
		after      func(extra wallet.Address) []Instruction // behind the account's end
		bob, carol string
	}{
		{"it is paid", func(extra wallet.Address) []Instruction { return []Instruction{payOf(carol, extra, price)} },
			"account_closed, rent " + R + " SOL to carol, closed 1",
			"send, -" + left + " SOL, rent " + R + " SOL from bob, 2000000000 SOL to EXTRA"},
		{"it pays", func(extra wallet.Address) []Instruction {
			return []Instruction{payOf(carol, extra, price), payOf(extra, bob, price)}
		}, "receive, +2000000000 SOL, rent " + R + " SOL to carol, 2000000000 SOL from EXTRA, closed 1",
			"send, -" + left + " SOL, rent " + R + " SOL from bob, 2000000000 SOL to EXTRA"},
	} {
		t.Run(step.name, func(t *testing.T) {
			extra := testKey(byte(60 + i)).address()
			keepsClose := Instruction{token, []Account{as(extra, "w"), as(carol, "s")}, append([]byte{6, 3, 1}, carol[:]...)}
			w.land("", "carol", createOf(carol, extra, rent, tokenSize, token), initializeOf(extra, w.usdc, carol), keepsClose, authorityOf(extra, carol, bob))
			sig := w.land("", "carol", slices.Concat([]Instruction{closeOf(extra, carol, carol, token)}, step.after(extra))...)
			all := w.activities(sig, "bob", "carol")
			for n, want := range []string{step.bob, step.carol} {
				got := strings.ReplaceAll(w.told(all[n]), extra.String(), "EXTRA")
				if got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}
