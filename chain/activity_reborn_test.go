package chain

import (
	"testing"

	"purser/wallet"
)

// TestAMintThatIsMadeAgainHidesNothing: a stranger closes a mint of Token-2022 and makes it again with other decimals in one
// transaction that names an empty account of it. Honest nodes show two numbers of decimals. What else it did is read all the same.
func TestAMintThatIsMadeAgainHidesNothing(t *testing.T) {
	w := newTown(t)
	carol, bob := person("carol").address(), person("bob").address()
	mint := testKey(100).address()
	const size = 202
	birth := func(decimals byte) []Instruction {
		return []Instruction{
			createOf(carol, mint, w.rent(size), size, wallet.Token2022Program),
			{wallet.Token2022Program, []Account{as(mint, "w")}, append([]byte{25, 1}, carol[:]...)},
			{wallet.Token2022Program, []Account{as(mint, "w")}, append(append([]byte{20, decimals}, carol[:]...), 0)},
		}
	}
	w.land("", "carol", append(birth(6), openOf(carol, carol, mint, wallet.Token2022Program))...)
	again := func(decimals byte) wallet.Signature {
		list := []Instruction{closeOf(mint, carol, carol, wallet.Token2022Program)}
		list = append(list, birth(decimals)...)
		list = append(list, openOf(carol, carol, mint, wallet.Token2022Program)) // idempotent: names the account
		list = append(list, payOf(carol, bob, 3_000_000_000/10))                 // even a payment that counts
		return w.land("", "carol", list...)
	}
	sig := again(9)
	all, err := w.Activities(t.Context(), sig, bob)
	if err != nil || len(all[0].Net) != 1 || all[0].Net[0].Units != 300_000_000 {
		t.Errorf("%+v, %v", all, err)
	}
}
