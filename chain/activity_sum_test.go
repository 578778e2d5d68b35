package chain

import (
	"encoding/base64"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"purser/wallet"
)

// TestRandomTransactionsAddUp: whatever happens, the changes of all owners and the fee are nothing, and each owner's
// balances are those of the chain.
func TestRandomTransactionsAddUp(t *testing.T) {
	w := newTown(t)
	random := rand.New(rand.NewPCG(14, 22))
	names := []string{"alice", "bob", "carol", "dora"}
	who := func() wallet.Address { return person(names[random.IntN(len(names))]).address() }
	mints := map[wallet.Address]wallet.Address{w.usdc: wallet.TokenProgram, w.fee: wallet.Token2022Program, wallet.WrappedSOL: wallet.TokenProgram}
	order := []wallet.Address{w.usdc, w.fee, wallet.WrappedSOL}
	landed, told := 0, map[wallet.Address]uint64{} // what was last said of each account
	for range 60 {
		payer := names[random.IntN(3)]
		me := person(payer).address()
		var list []Instruction
		for range 1 + random.IntN(5) {
			mint := order[random.IntN(3)]
			program, decimals := mints[mint], byte(6)
			if mint == wallet.WrappedSOL {
				decimals = 9
			}
			to := who()
			switch random.IntN(6) {
			case 0:
				list = append(list, payOf(me, to, uint64(random.IntN(3))*5_000_000))
			case 1:
				list = append(list, openOf(me, to, mint, program))
			case 2, 3:
				list = append(list, openOf(me, me, mint, program), openOf(me, to, mint, program), tokensOf(me, to, mint, program, uint64(random.IntN(300)), decimals))
			case 4:
				list = append(list, openOf(me, me, wallet.WrappedSOL, wallet.TokenProgram), payOf(me, ata(me, wallet.WrappedSOL, wallet.TokenProgram), 5000), syncOf(ata(me, wallet.WrappedSOL, wallet.TokenProgram)))
			case 5:
				list = append(list, openOf(me, me, wallet.WrappedSOL, wallet.TokenProgram), closeOf(ata(me, wallet.WrappedSOL, wallet.TokenProgram), to, me, wallet.TokenProgram))
			}
		}
		wire, sig := w.signed([]string{"", "v1"}[random.IntN(2)], payer, list...)
		if len(wire) > packetSize && wire[0] < 0x80 {
			continue
		}
		if _, err := call[string](t.Context(), w.primary(), "sendTransaction", base64.StdEncoding.EncodeToString(wire), settings{"encoding": "base64", "skipPreflight": true}); err != nil {
			t.Fatal(err)
		}
		w.advance(3)
		landed++
		w.addsUp(sig)
		for _, a := range w.activities(sig, names...) {
			for _, c := range a.Changes {
				told[c.Account] = c.Post
			}
		}
	}
	if landed < 40 {
		t.Errorf("only %d landed", landed)
	}
	w.advance(40)
	truth, err := w.Sweep(t.Context(), slices.Collect(maps.Keys(told)), 0)
	if err != nil || len(truth) < 8 {
		t.Fatalf("%d accounts, %v", len(truth), err)
	}
	for _, b := range truth {
		units := b.Lamports
		if b.Token != nil {
			units = b.Token.Units
		}
		if told[b.Address] != units && b.Exists || !b.Exists && told[b.Address] != 0 {
			t.Errorf("%s holds %d, and was told to hold %d", w.spelled(b.Address.String()), units, told[b.Address])
		}
	}
}

// addsUp checks one transaction for all who have a part in it.
func (w *town) addsUp(sig wallet.Signature) {
	w.t.Helper()
	answer, err := transaction(w.t.Context(), w.primary(), sig)
	if err != nil || answer == nil {
		w.t.Fatalf("%v, %v", answer, err)
	}
	e, err := answer.effects(sig)
	if err != nil {
		w.t.Fatal(err)
	}
	owners := map[wallet.Address]bool{}
	for i, key := range e.keys {
		if held, ok := e.tokens[byte(i)]; ok {
			for _, side := range []*heldTokens{held.pre, held.post} {
				if side != nil {
					owners[side.owner] = true
				} else {
					owners[key] = true // an address like any other, then
				}
			}
			continue
		}
		owners[key] = true
	}
	list := slices.Collect(maps.Keys(owners))
	var lamports int64
	net := map[wallet.Address]int64{}
	rent := int64(0)
	for _, a := range e.activities(list) {
		for _, c := range a.Changes {
			if c.Token.Native() {
				lamports += int64(c.Post) - int64(c.Pre)
			}
			if c.Token.Mint == wallet.WrappedSOL {
				lamports += int64(c.Post) - int64(c.Pre)
			}
		}
		lamports += int64(a.Rent.Post) - int64(a.Rent.Pre)
		for _, n := range a.Net {
			units := int64(n.Units)
			if n.Lost {
				units = -units
			}
			if !n.Explained {
				w.t.Errorf("%s is not explained: %s", sig, w.told(a))
			}
			net[n.Token.Mint] += units
		}
		for _, m := range a.Movements {
			if m.Fee > 0 && m.In {
				net[m.Token.Mint] += int64(m.Fee)
			}
			if m.How == wallet.MovedAsRent && m.In {
				rent += int64(m.Units)
			}
			if m.How == wallet.MovedAsRent && !m.In {
				rent -= int64(m.Units)
			}
		}
	}
	if lamports+int64(e.fee) != 0 {
		w.t.Errorf("%s: lamports of all change by %d, the fee is %d", sig, lamports, e.fee)
	}
	for mint, sum := range net {
		if !mint.IsZero() && mint != wallet.WrappedSOL && sum != 0 {
			w.t.Errorf("%s: %s of all change by %d", sig, w.spelled(mint.String()), sum)
		}
	}
	if rent != 0 {
		w.t.Errorf("%s: rent of all is %d", sig, rent)
	}
}
