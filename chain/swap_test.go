package chain

import (
	"errors"
	"reflect"
	"testing"

	"purser/market/markettest"
	"purser/wallet"
)

// swapOf returns a swap of a wallet with the terms of a quote.
func swapOf(t *testing.T, from wallet.Address, in, out wallet.Token, units, quoted uint64, change func(*wallet.SwapQuote)) (wallet.Transaction, error) {
	t.Helper()
	q := markettest.Quote(wallet.SwapRequest{Taker: from, InMint: in.SwapMint(), OutMint: out.SwapMint(), Units: units, SlippageBPS: 50}, quoted)
	if change != nil {
		change(&q)
	}
	does, err := Codec{}.ReadSwap(q, from)
	if err != nil {
		return wallet.Transaction{}, err
	}
	terms := wallet.SwapTerms{ToToken: out, Quoted: does.Quoted, Minimum: does.Minimum, SlippageBPS: does.SlippageBPS, Route: does.Route}
	return wallet.Transaction{Kind: wallet.Swap, From: from, To: from, Token: in, Amount: units, Reference: wallet.Address{77}, Terms: terms.Terms()}, nil
}

// TestASwapsMessageIsReadAsItWasMeant: built from the terms that the store keeps, read from its bytes alone, and recognised on chain.
func TestASwapsMessageIsReadAsItWasMeant(t *testing.T) {
	usdc := wallet.Token{Symbol: "USDC", Mint: wallet.Address{50}, Decimals: 6, Program: wallet.TokenProgram}
	other := wallet.Token{Mint: wallet.Address{51}, Decimals: 5, Program: wallet.TokenProgram}
	from := wallet.MustAddress("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	for name, pair := range map[string][2]wallet.Token{"SOL is paid": {wallet.SOL, usdc}, "SOL is received": {usdc, wallet.SOL}, "two tokens": {usdc, other}} {
		for _, tables := range []bool{true, false} {
			swap, err := swapOf(t, from, pair[0], pair[1], 1_000, 2_001, func(q *wallet.SwapQuote) {
				if !tables {
					q.Tables = nil
				}
			})
			if err != nil {
				t.Fatal(name, err)
			}
			rules := wallet.SwapRules()
			if err := rules.Check(swap); err != nil {
				t.Fatal(name, err)
			}
			actions := rules.Actions(swap)
			raw, err := Codec{}.Build(swap, actions)
			if err != nil {
				t.Fatal(name, err)
			}
			d, err := Decode(raw, from)
			if err != nil || !reflect.DeepEqual(d.Actions, actions) {
				t.Fatalf("%s: %+v, %v", name, d, err)
			}
			if d.Version == "v0" != tables {
				t.Errorf("%s: a %s message with tables: %v", name, d.Version, tables)
			}
			var does *wallet.SwapAction
			for _, a := range d.Actions {
				if a.Type == wallet.ActionSwap {
					does = a.Swap
				}
			}
			if does.Units != 1_000 || does.Quoted != 2_001 || does.Minimum != 1_990 {
				t.Errorf("%s: %+v", name, does)
			}
			m, err := parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			query := rules.Query(swap)
			if ok, err := (Codec{}).recognises(m, query); !ok || err != nil {
				t.Errorf("%s: not recognised: %v", name, err)
			}
			query.Actions[len(query.Actions)-1] = query.Actions[0]
			for i, a := range query.Actions {
				if a.Type == wallet.ActionReference {
					query.Actions[i].Reference = wallet.Address{78}
				}
			}
			if ok, err := (Codec{}).recognises(m, query); ok || err != nil {
				t.Errorf("%s: another reference is recognised: %v", name, err)
			}
		}
	}
}

// TestQuotesThatNobodyMaySignAreRefused, whatever the source says beside the instruction.
func TestQuotesThatNobodyMaySignAreRefused(t *testing.T) {
	usdc := wallet.Token{Symbol: "USDC", Mint: wallet.Address{50}, Decimals: 6, Program: wallet.TokenProgram}
	from, thief := wallet.MustAddress("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"), wallet.Address{66}
	to := func(i int, a wallet.Address) func(*wallet.SwapQuote) {
		return func(q *wallet.SwapQuote) { q.Accounts[i].Address = a }
	}
	set := func(at int, value ...byte) func(*wallet.SwapQuote) {
		return func(q *wallet.SwapQuote) { copy(q.Data[at:], value) }
	}
	for name, one := range map[string]struct {
		change func(*wallet.SwapQuote)
		code   string
	}{
		"another program":                 {func(q *wallet.SwapQuote) { q.Program = thief }, UnknownProgram},
		"another instruction":             {set(0, 1), UnknownInstruction},
		"too short":                       {func(q *wallet.SwapQuote) { q.Data = q.Data[:34] }, Malformed},
		"too few accounts":                {func(q *wallet.SwapQuote) { q.Accounts = q.Accounts[:11] }, Malformed},
		"somebody else swaps":             {to(1, thief), Signers},
		"another signer":                  {func(q *wallet.SwapQuote) { q.Accounts[13].Signer = true }, Signers},
		"from another account":            {to(2, thief), NotTheOwner},
		"to another account":              {to(5, thief), WrongAccount},
		"the own source as the program's": {func(q *wallet.SwapQuote) { q.Accounts[3] = q.Accounts[2] }, WrongAccount},
		"the own destination likewise":    {func(q *wallet.SwapQuote) { q.Accounts[4] = q.Accounts[5] }, WrongAccount},
		"the signature passed on":         {to(12, from), ExtraAccounts},
		"the signature as authority":      {to(0, from), ExtraAccounts},
		"Token-2022":                      {to(8, wallet.Token2022Program), UnknownProgram},
		"Token-2022 out":                  {to(9, wallet.Token2022Program), UnknownProgram},
		"other events":                    {to(10, thief), Malformed},
		"another program inside":          {to(11, thief), Malformed},
		"one mint twice":                  {func(q *wallet.SwapQuote) { q.Accounts[7] = q.Accounts[6] }, SelfTransfer},
		"nothing in":                      {set(9, 0, 0, 0, 0, 0, 0, 0, 0), ZeroAmount},
		"nothing out":                     {set(17, 0, 0, 0, 0, 0, 0, 0, 0), ZeroAmount},
		"slippage":                        {set(25, 0xe9, 0x03), Slippage},
		"a platform's fee":                {set(27, 1), SwapFee},
		"a share of what is more":         {set(29, 0, 1), SwapFee},
		"no steps":                        {set(31, 0), Malformed},
		"a source that cannot change":     {func(q *wallet.SwapQuote) { q.Accounts[2].Writable = false }, Malformed},
		"a destination that cannot":       {func(q *wallet.SwapQuote) { q.Accounts[5].Writable = false }, Malformed},
	} {
		_, err := swapOf(t, from, wallet.SOL, usdc, 1_000, 2_001, one.change)
		var refused *NotAllowed
		if !errors.As(err, &refused) || refused.Code != one.code {
			t.Errorf("%s: %v, want %s", name, err, one.code)
		}
	}
}

// TestASwapThatPassesTheSignatureOnIsKnownAsOne: a quote of it is read, so that its refusal can say why, and no message of it is built or
// read for signing.
func TestASwapThatPassesTheSignatureOnIsKnownAsOne(t *testing.T) {
	usdc := wallet.Token{Symbol: "USDC", Mint: wallet.Address{50}, Decimals: 6, Program: wallet.TokenProgram}
	from := wallet.MustAddress("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	q := markettest.DirectQuote(wallet.SwapRequest{Taker: from, InMint: wallet.WrappedSOL, OutMint: usdc.Mint, Units: 1_000, SlippageBPS: 50}, 2_001)
	does, err := Codec{}.ReadSwap(q, from)
	if err != nil || !does.PassesSignature {
		t.Fatal(does, err)
	}
	terms := wallet.SwapTerms{ToToken: usdc, Quoted: does.Quoted, Minimum: does.Minimum, SlippageBPS: does.SlippageBPS, Route: does.Route}
	swap := wallet.Transaction{Kind: wallet.Swap, From: from, To: from, Token: wallet.SOL, Amount: 1_000, Reference: wallet.Address{77}, Terms: terms.Terms()}
	var refused *NotAllowed
	if _, err := (Codec{}).Build(swap, wallet.SwapRules().Actions(swap)); !errors.As(err, &refused) || refused.Code != UnknownInstruction {
		t.Errorf("it is built: %v", err)
	}
}

// TestASwapOnChainIsRecognisedByWhatItDoes: the same data by the same wallet between the same accounts, beside the reference. A swap that
// differs in any of them is another one.
func TestASwapOnChainIsRecognisedByWhatItDoes(t *testing.T) {
	usdc := wallet.Token{Symbol: "USDC", Mint: wallet.Address{50}, Decimals: 6, Program: wallet.TokenProgram}
	from := wallet.MustAddress("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	swap, err := swapOf(t, from, wallet.SOL, usdc, 1_000, 2_001, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := wallet.SwapRules()
	raw, err := Codec{}.Build(swap, rules.Actions(swap))
	if err != nil {
		t.Fatal(err)
	}
	m, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(a *wallet.Action){
		"nothing":           func(*wallet.Action) {},
		"another reference": func(a *wallet.Action) { a.Reference = addressBut(a.Reference) },
		"another sender":    func(a *wallet.Action) { a.From = addressBut(a.From) },
		"other data": func(a *wallet.Action) {
			a.Swap = swapBut(a.Swap, func(s *wallet.SwapAction) { s.Route.Data = append([]byte{}, s.Route.Data[1:]...) })
		},
		"another source": func(a *wallet.Action) {
			a.Swap = swapBut(a.Swap, func(s *wallet.SwapAction) { s.Source = addressBut(s.Source) })
		},
		"another destination": func(a *wallet.Action) {
			a.Swap = swapBut(a.Swap, func(s *wallet.SwapAction) { s.Destination = addressBut(s.Destination) })
		},
		"no swap's own fields": func(a *wallet.Action) { a.Swap = nil },
	} {
		query := rules.Query(swap)
		for i := range query.Actions {
			change(&query.Actions[i])
		}
		if ok, err := (Codec{}).recognises(m, query); err != nil || ok != (name == "nothing") {
			t.Errorf("%s: recognised %v, %v", name, ok, err)
		}
	}
}

// addressBut is another address; none stays none.
func addressBut(a wallet.Address) wallet.Address {
	if !a.IsZero() {
		a[5]++
	}
	return a
}

func swapBut(s *wallet.SwapAction, change func(*wallet.SwapAction)) *wallet.SwapAction {
	if s == nil {
		return nil
	}
	other := *s
	change(&other)
	return &other
}

// TestARouteIsPackedAsTheNetworkLoadsIt: the fixed accounts stand in the message whatever the tables hold, and so do those that its other
// instructions name; an account is loaded once, with the most that is done to it; of two places the first is taken.
func TestARouteIsPackedAsTheNetworkLoadsIt(t *testing.T) {
	usdc := wallet.Token{Symbol: "USDC", Mint: wallet.Address{50}, Decimals: 6, Program: wallet.TokenProgram}
	from := wallet.MustAddress("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9")
	pool := wallet.Address{202}
	swap, err := swapOf(t, from, wallet.SOL, usdc, 1_000, 2_001, func(q *wallet.SwapQuote) {
		fixed := wallet.LookupTable{Address: wallet.Address{210}}
		for _, a := range q.Accounts[:12] {
			fixed.Addresses = append(fixed.Addresses, a.Address)
		}
		fixed.Addresses = append(fixed.Addresses, from, wallet.SystemProgram, wallet.TokenProgram, wallet.AssociatedProgram, wallet.SwapProgram, wrappedAccount(from))
		again := wallet.LookupTable{Address: wallet.Address{211}, Addresses: []wallet.Address{pool, {203}}}
		q.Tables = append([]wallet.LookupTable{fixed}, append(q.Tables, again)...)
		// The pool's account is named once more, to be read; a step names the own token account, the System program and the token program.
		q.Accounts = append(q.Accounts, wallet.QuotedAccount{Address: pool}, wallet.QuotedAccount{Address: wallet.SystemProgram}, wallet.QuotedAccount{Address: wallet.TokenProgram}, wallet.QuotedAccount{Address: usdc.Mint})
	})
	if err != nil {
		t.Fatal(err)
	}
	route := swap.SwapTerms().Route
	for i, a := range route.Accounts {
		if i < 12 && a.LookedUp || i >= len(route.Accounts)-3 && a.LookedUp {
			t.Errorf("account %d is looked up", i)
		}
	}
	if len(route.Tables) != 1 || route.Tables[0] != (wallet.Address{200}) {
		t.Errorf("tables %v", route.Tables)
	}
	first, second := route.Accounts[13], route.Accounts[15]
	if !first.LookedUp || first.Index != 2 || !first.Writable || second != first {
		t.Errorf("the pool is loaded as %+v and %+v", first, second)
	}
	rules := wallet.SwapRules()
	raw, err := Codec{}.Build(swap, rules.Actions(swap))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(raw, from); err != nil {
		t.Error(err)
	}
}
