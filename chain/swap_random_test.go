package chain

import (
	"math/rand/v2"
	"testing"

	"purser/wallet"
)

// TestRandomQuotesAreRefusedOrCarriedThrough: a quote with accounts, signers and tables thrown together is refused; or the message that is built of it after the store
// has had it is read as the same swap, and each account of its route is the one that was quoted.
func TestRandomQuotesAreRefusedOrCarriedThrough(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 1))
	owner, out := testKey(1).address(), wallet.Address{0x5e, 1}
	own := func(mint wallet.Address) wallet.Address {
		return wallet.AssociatedAccount(owner, mint, wallet.TokenProgram)
	}
	some := []wallet.Address{owner, wallet.SystemProgram, wallet.TokenProgram, wallet.WrappedSOL, out, wallet.SwapProgram, swapEvents, wrappedAccount(owner), own(out),
		computeBudgetProgram, {9}, {10}, {11}, wallet.AssociatedProgram}
	account := func(oneIn int) wallet.QuotedAccount {
		return wallet.QuotedAccount{Address: some[random.IntN(len(some))], Writable: random.IntN(2) == 0, Signer: random.IntN(oneIn) == 0}
	}
	carried := 0
	for range 20_000 {
		q := wallet.SwapQuote{Program: wallet.SwapProgram, Data: append(append([]byte{}, sharedRoute...), 1, 0xe8, 3, 0, 0, 0, 0, 0, 0, 0xd0, 7, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7)}
		in, to := wallet.WrappedSOL, out
		if random.IntN(2) == 0 {
			in, to = to, in
		}
		for i, a := range []wallet.Address{{1}, owner, own(in), {3}, {4}, own(to), in, to, wallet.TokenProgram, wallet.TokenProgram, swapEvents, wallet.SwapProgram} {
			q.Accounts = append(q.Accounts, wallet.QuotedAccount{Address: a, Signer: i == 1, Writable: i >= 2 && i <= 5})
		}
		for range random.IntN(20) {
			q.Accounts = append(q.Accounts, account(20))
		}
		if random.IntN(2) == 0 {
			q.Accounts[random.IntN(len(q.Accounts))] = account(4)
		}
		holds := map[wallet.Address][]wallet.Address{}
		for i := range random.IntN(3) {
			table := wallet.LookupTable{Address: wallet.Address{0xaa, byte(i)}}
			for range random.IntN(12) {
				table.Addresses = append(table.Addresses, some[random.IntN(len(some))])
			}
			q.Tables, holds[table.Address] = append(q.Tables, table), table.Addresses
		}
		if carriesThrough(t, q, owner, holds) {
			carried++
		}
	}
	if carried < 2_000 {
		t.Errorf("%d were carried through", carried)
	}
}

// carriesThrough returns false for a quote that is refused.
func carriesThrough(t *testing.T, q wallet.SwapQuote, owner wallet.Address, holds map[wallet.Address][]wallet.Address) bool {
	t.Helper()
	does, err := Codec{}.ReadSwap(q, owner)
	if err != nil {
		return false
	}
	token := func(mint wallet.Address) wallet.Token {
		if mint == wallet.WrappedSOL {
			return wallet.SOL
		}
		return wallet.Token{Mint: mint, Decimals: 6, Program: wallet.TokenProgram}
	}
	terms := wallet.SwapTerms{ToToken: token(does.OutMint), Quoted: does.Quoted, Minimum: does.Minimum, SlippageBPS: does.SlippageBPS, Route: does.Route}
	swap := wallet.Transaction{Kind: wallet.Swap, From: owner, To: owner, Token: token(does.InMint), Amount: does.Units, Reference: wallet.Address{0x77}, Terms: terms.Terms()}
	raw, err := Codec{}.Build(swap, wallet.SwapRules().Actions(swap))
	if err != nil {
		t.Fatalf("a quote that was taken can't be built: %v\n%+v", err, q)
	}
	if _, err := Decode(raw, owner); err != nil {
		t.Fatalf("a quote that was taken is refused by the device: %v\n%+v", err, q)
	}
	m, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range m.instructions {
		if program, _ := m.key(in.program); program != wallet.SwapProgram {
			continue
		}
		for i, index := range in.accounts {
			got, ok := m.key(index)
			if !ok {
				table, at, _ := m.lookedUp(index)
				got = holds[m.lookups[table].table][at]
			}
			if got != q.Accounts[i].Address {
				t.Fatalf("account %d is %s, quoted was %s", i, got, q.Accounts[i].Address)
			}
		}
	}
	return true
}
