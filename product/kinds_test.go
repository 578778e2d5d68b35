package product

import (
	"slices"
	"testing"

	"purser/chain"
	"purser/chat"
	"purser/handlers"
	"purser/market/markettest"
	"purser/store/storetest"
	"purser/wallet"
)

// TestEachKindHasAllOfItsParts: the registry joins them, the packages' own lists are the same, and a message of each
// kind that is signed here is built, read back as what was intended, and recognised by one principal action.
func TestEachKindHasAllOfItsParts(t *testing.T) {
	kinds, err := NewKinds(StandardKinds()...)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := kinds.Rules().Names(), storetest.Kinds().Names(); !slices.Equal(got, want) {
		t.Errorf("the registry has %v, package wallet %v", got, want)
	}
	for i, card := range kinds.Cards() {
		if want := StandardKinds()[i].Rules.Kind; card.Kind != want {
			t.Errorf("the card of %s is %s's", want, card.Kind)
		}
	}
	samples := map[wallet.Kind]wallet.Transaction{
		wallet.Send:     {Kind: wallet.Send, From: wallet.Address{1}, To: wallet.Address{2}, Reference: wallet.Address{3}, Token: wallet.SOL, Amount: 5, Memo: "hello"},
		wallet.Swap:     {Kind: wallet.Swap, From: wallet.Address{1}, To: wallet.Address{1}, Reference: wallet.Address{3}, Token: wallet.SOL, Amount: 5, Terms: sampleSwap(t)},
		wallet.Stake:    {Kind: wallet.Stake, From: wallet.Address{1}, To: wallet.Address{2}, Reference: wallet.Address{3}, Token: wallet.SOL, Amount: 5, Rent: 2},
		wallet.Unstake:  {Kind: wallet.Unstake, From: wallet.Address{1}, To: wallet.Address{2}, Reference: wallet.Address{3}, Token: wallet.SOL, Amount: 5, Rent: 2, Terms: wallet.StakeTerms{Account: wallet.Address{4}, Merged: []wallet.Address{{5}}, Split: true}.Terms()},
		wallet.Revoke:   {Kind: wallet.Revoke, From: wallet.Address{1}, To: wallet.Address{1}, Reference: wallet.Address{3}, Token: wallet.SOL, Terms: wallet.RevokeTerms{Account: wallet.Address{4}, Token: wallet.Token{Mint: wallet.Address{9}, Program: wallet.TokenProgram}, Delegate: wallet.Address{5}}.Terms()},
		wallet.Withdraw: {Kind: wallet.Withdraw, From: wallet.Address{1}, To: wallet.Address{1}, Reference: wallet.Address{3}, Token: wallet.SOL, Amount: 5, Terms: wallet.StakeTerms{Account: wallet.Address{4}}.Terms()},
	}
	for _, kind := range kinds.Rules().Names() {
		rules, err := kinds.Rules().Of(kind)
		if err != nil {
			t.Fatal(err)
		}
		if rules.Life != wallet.Outgoing {
			continue
		}
		sample, ok := samples[kind]
		if !ok {
			t.Errorf("there is no sample of %s", kind)
			continue
		}
		actions, principals := rules.Actions(sample), 0
		for _, action := range actions {
			principal, known := kinds.Codec().Knows(action.Type)
			if !known {
				t.Errorf("%s does %q, for which there is no row", kind, action.Type)
			}
			if principal {
				principals++
			}
		}
		if message, err := kinds.Codec().Build(sample, actions); principals != 1 || err != nil || len(message) == 0 {
			t.Errorf("%s has %d principal actions, its message: %v", kind, principals, err)
		}
	}
}

// sampleSwap are the terms of a swap of 5 lamports by the wallet of the samples.
func sampleSwap(t *testing.T) wallet.Terms {
	t.Helper()
	from, usdc := wallet.Address{1}, wallet.Token{Symbol: "USDC", Mint: wallet.Address{9}, Decimals: 6, Program: wallet.TokenProgram}
	does, err := chain.Codec{}.ReadSwap(markettest.Quote(wallet.SwapRequest{Taker: from, InMint: wallet.WrappedSOL, OutMint: usdc.Mint, Units: 5, SlippageBPS: 50}, 1_000), from)
	if err != nil {
		t.Fatal(err)
	}
	return wallet.SwapTerms{ToToken: usdc, Quoted: does.Quoted, Minimum: does.Minimum, SlippageBPS: 50, Route: does.Route}.Terms()
}

// TestAKindThatLacksAPartStopsTheStart, whichever package would have missed it.
func TestAKindThatLacksAPartStopsTheStart(t *testing.T) {
	standard := func(edit func(send *Kind)) []Kind {
		all := StandardKinds()
		edit(&all[0])
		return all
	}
	for what, all := range map[string][]Kind{
		"an operation":               standard(func(k *Kind) { k.Operation = nil }),
		"a card":                     standard(func(k *Kind) { k.Card = chat.Card{} }),
		"a card of its own":          standard(func(k *Kind) { k.Card = chat.RequestCard() }),
		"rules":                      standard(func(k *Kind) { k.Rules = wallet.Rules{Kind: wallet.Send, Life: wallet.Outgoing} }),
		"a name of its own":          append(StandardKinds(), StandardKinds()[0]),
		"a signer for its operation": standard(func(k *Kind) { k.Rules, k.Card = wallet.RequestRules(), chat.RequestCard() })[:1],
		"a whole row": standard(func(k *Kind) {
			k.Actions = []chain.ActionCodec{{Type: "half", Programs: []wallet.Address{{9}}, Principal: true}}
		}),
		"a row that is not there": standard(func(k *Kind) {
			k.Actions = []chain.ActionCodec{{Type: wallet.ActionMemo, Programs: []wallet.Address{{9}}}}
		}),
	} {
		if _, err := NewKinds(all...); err == nil {
			t.Errorf("a kind without %s is taken", what)
		}
	}
	for what, operation := range map[string]handlers.Operation{"nothing": {}, "another kind's": {Kind: wallet.Request}, "no Load": {Kind: wallet.Send}} {
		kinds, err := NewKinds(standard(func(k *Kind) { k.Operation = func(*Parts) handlers.Operation { return operation } })...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kinds.operations(&Parts{}); err == nil {
			t.Errorf("an operation that is %s is taken", what)
		}
	}
}
