package handlers

import (
	"slices"
	"testing"

	"purser/wallet"
)

// fittingSwap is a swap of a token for another one that fits what the chain holds.
func fittingSwap() (swapSnapshot, wallet.Transaction) {
	owner := wallet.Address{1}
	in := wallet.Token{Symbol: "IN", Mint: wallet.Address{2}, Decimals: 6, Program: wallet.TokenProgram}
	out := wallet.Token{Symbol: "OUT", Mint: wallet.Address{3}, Decimals: 5, Program: wallet.TokenProgram}
	system := wallet.Account{Exists: true, Lamports: 10_000_000, Owner: wallet.SystemProgram}
	f := swapSnapshot{owner: owner, in: in, out: out, floor: 890_880, free: 10_000_000, units: 1_000}
	f.paying = wallet.TokenFacts{Parties: wallet.Parties{From: system}, Mint: wallet.Mint{Decimals: 6}, Source: wallet.TokenAccount{Exists: true, Owner: owner, Units: 1_000}}
	f.receiving = wallet.TokenFacts{Parties: wallet.Parties{From: system}, Mint: wallet.Mint{Decimals: 5}, Destination: wallet.TokenAccount{Exists: true, Owner: owner}}
	return f, wallet.Transaction{Kind: wallet.Swap, Token: in, Amount: 1_000, Fee: 5_000}
}

// forSOL makes SOL the other side: in is what is paid, otherwise what is received.
func forSOL(f *swapSnapshot, t *wallet.Transaction, in bool) {
	if in {
		f.in, t.Token, t.Amount, f.units = wallet.SOL, wallet.SOL, 1_000_000, 0
		f.paying.Source = wallet.TokenAccount{}
		return
	}
	f.out = wallet.SOL
	f.receiving.Destination = wallet.TokenAccount{}
}

// TestASwapFitsWhatTheChainHolds, to the unit: funds while it runs and after it, and accounts that can take part.
func TestASwapFitsWhatTheChainHolds(t *testing.T) {
	const floor, deposit = 890_880, 2_039_280
	for name, c := range map[string]struct {
		change func(f *swapSnapshot, t *wallet.Transaction)
		want   string // the key of the refusal
	}{
		"it fits":                   {func(*swapSnapshot, *wallet.Transaction) {}, ""},
		"a unit too much":           {func(f *swapSnapshot, t *wallet.Transaction) { f.units-- }, "swap.token_short"},
		"the fee and the floor":     {func(f *swapSnapshot, t *wallet.Transaction) { f.free = 5_000 + floor }, ""},
		"a lamport below the floor": {func(f *swapSnapshot, t *wallet.Transaction) { f.free = 5_000 + floor - 1 }, "swap.fee_short"},
		"the fee and nothing":       {func(f *swapSnapshot, t *wallet.Transaction) { f.free = 5_000 }, ""},
		"less than the fee":         {func(f *swapSnapshot, t *wallet.Transaction) { f.free = 4_999 }, "swap.fee_short"},
		"with a deposit": {func(f *swapSnapshot, t *wallet.Transaction) {
			f.rent, t.Rent, f.free = deposit, deposit, 5_000+deposit+floor
		}, ""},
		"with a deposit, too little": {func(f *swapSnapshot, t *wallet.Transaction) {
			f.rent, t.Rent, f.free = deposit, deposit, 5_000+deposit+floor-1
		}, "swap.fee_short"},
		"a deposit that came since":      {func(f *swapSnapshot, t *wallet.Transaction) { f.rent = deposit }, "proposal.rent_grew"},
		"a deposit that is not needed":   {func(f *swapSnapshot, t *wallet.Transaction) { t.Rent = deposit }, ""},
		"a wallet of a program":          {func(f *swapSnapshot, t *wallet.Transaction) { f.paying.From.Owner = wallet.TokenProgram }, "sender.owned_by_program"},
		"another mint than listed":       {func(f *swapSnapshot, t *wallet.Transaction) { f.paying.Mint.Decimals++ }, "token.other_decimals"},
		"another mint is received":       {func(f *swapSnapshot, t *wallet.Transaction) { f.receiving.Mint.Decimals++ }, "token.other_decimals"},
		"what is paid is frozen":         {func(f *swapSnapshot, t *wallet.Transaction) { f.paying.Source.Frozen = true }, "swap.paying_frozen"},
		"what is received is frozen":     {func(f *swapSnapshot, t *wallet.Transaction) { f.receiving.Destination.Frozen = true }, "swap.receiving_frozen"},
		"the payer's account given away": {func(f *swapSnapshot, t *wallet.Transaction) { f.paying.Source.Owner = wallet.Address{9} }, "token.account_given_away"},
		"the other account given away":   {func(f *swapSnapshot, t *wallet.Transaction) { f.receiving.Destination.Owner = wallet.Address{9} }, "token.account_given_away"},
		"SOL, with what passes through": {func(f *swapSnapshot, t *wallet.Transaction) {
			forSOL(f, t, true)
			f.passing, f.free = deposit, 1_000_000+5_000+deposit
		}, ""},
		"SOL, a lamport short while it runs": {func(f *swapSnapshot, t *wallet.Transaction) {
			forSOL(f, t, true)
			f.passing, f.free = deposit, 1_000_000+5_000+deposit-1
		}, "swap.sol_short"},
		"SOL, a lamport short afterwards": {func(f *swapSnapshot, t *wallet.Transaction) {
			forSOL(f, t, true)
			f.passing, f.free = 0, 1_000_000+5_000+floor-1
		}, "swap.sol_short"},
		"SOL is received, and nothing else is left": {func(f *swapSnapshot, t *wallet.Transaction) {
			forSOL(f, t, false)
			f.passing, f.free = deposit, 5_000+deposit
		}, ""},
		"SOL is received, a lamport short while it runs": {func(f *swapSnapshot, t *wallet.Transaction) {
			forSOL(f, t, false)
			f.passing, f.free = deposit, 5_000+deposit-1
		}, "swap.fee_short"},
	} {
		f, swap := fittingSwap()
		c.change(&f, &swap)
		err := f.StillFits(swap)
		if got := wallet.ReasonOf(err).Key; got != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	f, swap := fittingSwap()
	forSOL(&f, &swap, true)
	f.free = 1_000_000 + 5_000
	done, err := f.Complete(swap)
	found := wallet.Judge(wallet.RuleInput{Transaction: done, Left: f.Remaining(done)}, wallet.TokenRules())
	if err != nil || !slices.ContainsFunc(found, func(f wallet.Finding) bool { return f.Rule == wallet.RuleAllSOL }) || f.Remaining(done) != 0 {
		t.Errorf("all of the SOL: %v, %v", found, err)
	}
}
