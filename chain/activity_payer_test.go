package chain

import (
	"slices"
	"testing"

	"purser/wallet"
)

// authorityOf gives a token account another owner.
func authorityOf(account, owner, to wallet.Address) Instruction {
	return Instruction{wallet.TokenProgram, []Account{as(account, "w"), as(owner, "s")}, append([]byte{6, 2, 1}, to[:]...)}
}

// moveOf is Transfer between token accounts, by whoever may.
func moveOf(from, to, by wallet.Address, units uint64) Instruction {
	return Instruction{wallet.TokenProgram, []Account{as(from, "w"), as(to, "w"), as(by, "s")}, append([]byte{tokenTransfer}, u64(units)...)}
}

// TestWhoPaidCannotBeForged: whatever a payer does to the account that they paid from, in the same transaction, nobody else
// is named.
func TestWhoPaidCannotBeForged(t *testing.T) {
	w := newTown(t)
	alice, bob, carol := person("alice").address(), person("bob").address(), person("carol").address()
	token := wallet.TokenProgram
	rent, err := w.RentMinimum(t.Context(), tokenSize)
	if err != nil {
		t.Fatal(err)
	}
	hers, his := ata(carol, w.usdc, token), ata(bob, w.usdc, token)
	w.land("", "carol", openOf(carol, carol, w.usdc, token), openOf(carol, bob, w.usdc, token))
	w.land("", "alice", tokensOf(alice, carol, w.usdc, token, 1000, 6))
	extra, other, third := testKey(60).address(), testKey(61).address(), testKey(62).address()
	made := func(at wallet.Address) []Instruction {
		return []Instruction{createOf(carol, at, rent, tokenSize, token), initializeOf(at, w.usdc, carol)}
	}
	for _, step := range []struct {
		name         string
		instructions []Instruction
		with         wallet.Address
		signed       bool
		native       bool
	}{
		{name: "plainly", instructions: []Instruction{moveOf(hers, his, carol, 7)}, with: carol, signed: true},
		{name: "through an account of a moment", instructions: slices.Concat(made(extra), []Instruction{moveOf(hers, extra, carol, 7), moveOf(extra, his, carol, 7), closeOf(extra, carol, carol, token)}),
			with: carol, signed: true},
		{name: "an account of a moment is given away", instructions: slices.Concat(made(extra), []Instruction{moveOf(hers, extra, carol, 7), moveOf(extra, his, carol, 7), authorityOf(extra, carol, alice)})},
		{name: "an account of a moment is made again for somebody", instructions: slices.Concat(made(other), []Instruction{moveOf(hers, other, carol, 7), moveOf(other, his, carol, 7),
			closeOf(other, carol, carol, token), createOf(carol, other, rent, tokenSize, token), initializeOf(other, w.usdc, alice)})},
		{name: "a wallet becomes somebody's token account", instructions: []Instruction{payOf(carol, third, rent+7), payOf(third, bob, 7),
			{wallet.SystemProgram, []Account{as(third, "sw")}, append([]byte{8, 0, 0, 0}, u64(tokenSize)...)},
			{wallet.SystemProgram, []Account{as(third, "sw")}, append([]byte{1, 0, 0, 0}, token[:]...)}, initializeOf(third, w.usdc, alice)},
			with: third, signed: true, native: true},
		{name: "the account is given away", instructions: []Instruction{moveOf(hers, his, carol, 7), authorityOf(hers, carol, alice)}},
	} {
		t.Run(step.name, func(t *testing.T) {
			got := w.activities(w.land("", "carol", step.instructions...), "bob")[0]
			var came []wallet.Movement
			for _, m := range got.Movements {
				if m.In && m.How == wallet.MovedByTransfer {
					came = append(came, m)
				}
			}
			if len(came) != 1 || came[0].With != step.with || came[0].Signed != step.signed || came[0].Units != 7 || came[0].Token.Native() != step.native {
				t.Errorf("%s: %+v", w.told(got), came)
			}
		})
	}
	t.Run("somebody else moves it", func(t *testing.T) { // carol may, of what is alice's now
		w.land("", "alice", Instruction{token, []Account{as(ata(alice, w.usdc, token), "w"), as(carol, ""), as(alice, "s")}, append([]byte{4}, u64(50)...)})
		named := payOf(carol, alice, 1) // and does not sign
		got := w.activities(w.land("", "carol", named, moveOf(ata(alice, w.usdc, token), his, carol, 9)), "bob")[0]
		if m := got.Movements[0]; m.With != alice || m.Signed {
			t.Errorf("%s: %+v", w.told(got), m)
		}
	})
	t.Run("given to the receiver", func(t *testing.T) {
		got := w.activities(w.land("", "alice", authorityOf(hers, alice, bob)), "bob")[0]
		if m := got.Movements[0]; m.With != alice || !m.Signed || m.How != wallet.MovedByAuthority {
			t.Errorf("%s: %+v", w.told(got), m)
		}
	})
}
