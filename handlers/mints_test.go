package handlers_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"purser/chain"
	"purser/store"
	"purser/wallet"
)

// oddChain is the sandbox's chain with something odd about what it says of a token transfer.
type oddChain struct {
	*chain.Client
	change func(*wallet.TokenFacts)
}

func (o *oddChain) TokenFacts(ctx context.Context, from, to, mint, program wallet.Address) (wallet.TokenFacts, error) {
	facts, err := o.Client.TokenFacts(ctx, from, to, mint, program)
	if err == nil && o.change != nil {
		o.change(&facts)
	}
	return facts, err
}

// TestWhatAnIssuerCanDoWithATokenIsRefusedOrSaid: whoever makes a token may keep powers over it.
func TestWhatAnIssuerCanDoWithATokenIsRefusedOrSaid(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol)
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	r.FundToken(bob.Address(), "USDC", 1)
	odd := &oddChain{Client: r.Chain}
	r.dials(odd)
	for name, c := range map[string]struct {
		change func(*wallet.TokenFacts)
		about  wallet.Field
	}{
		"bound to its holder":        {func(f *wallet.TokenFacts) { f.Mint.NonTransferable = true }, ""},
		"a program at each transfer": {func(f *wallet.TokenFacts) { f.Mint.Hook = wallet.Address{9} }, ""},
		"paused":                     {func(f *wallet.TokenFacts) { f.Mint.Paused = true }, ""},
		"ours frozen":                {func(f *wallet.TokenFacts) { f.Source.Frozen = true }, ""},
		"theirs frozen":              {func(f *wallet.TokenFacts) { f.Destination.Frozen = true }, wallet.FieldTo},
		"new holders frozen": {func(f *wallet.TokenFacts) {
			f.Mint.DefaultFrozen, f.Destination = true, wallet.TokenAccount{Address: f.Destination.Address}
		}, wallet.FieldTo},
		"ours given away":               {func(f *wallet.TokenFacts) { f.Source.Owner = wallet.Address{9} }, ""},
		"theirs given away":             {func(f *wallet.TokenFacts) { f.Destination.Owner = wallet.Address{9} }, wallet.FieldTo},
		"other decimals":                {func(f *wallet.TokenFacts) { f.Mint.Decimals = 9 }, ""},
		"a recipient that is a program": {func(f *wallet.TokenFacts) { f.To.Executable = true }, wallet.FieldTo},
	} {
		odd.change = c.change
		if _, err := r.Prepare(alice, bob.Address(), "1", "USDC"); wallet.ReasonOf(err).IsZero() || wallet.FieldOf(err) != c.about {
			t.Errorf("%s: %v about %q", name, err, wallet.FieldOf(err))
		}
	}
	for want, change := range map[wallet.RuleName]func(*wallet.TokenFacts){
		wallet.RuleDelegate:          func(f *wallet.TokenFacts) { f.Mint.PermanentDelegate = wallet.Address{9} },
		wallet.RuleScaled:            func(f *wallet.TokenFacts) { f.Mint.Scaled = true },
		wallet.RuleUnknownExtensions: func(f *wallet.TokenFacts) { f.Mint.Unknown = true },
	} {
		odd.change = change
		if got, err := r.Prepare(alice, bob.Address(), "1", "USDC"); err != nil || !slices.Contains(got.Warnings(), want) {
			t.Errorf("%s: %v, %v", want, got.Warnings(), err)
		}
	}
	odd.change = func(f *wallet.TokenFacts) { f.Destination.MemoRequired = true }
	got, err := r.Prepare(alice, bob.Address(), "1", "USDC")
	if err != nil || got.Memo == "" {
		t.Fatalf("a recipient that asks for a memo: %q, %v", got.Memo, err)
	}
	d, err := chain.Decode(got.Message, alice.Address())
	if err != nil || len(d.Actions) != 2 || d.Actions[0].Type != wallet.ActionMemo || d.Actions[1].Type != wallet.ActionTokenTransfer {
		t.Errorf("the memo does not stand right before the transfer: %+v, %v", d.Actions, err)
	}
}

// TestConfirmIsForWhatWasProposed: minutes pass between the proposal and the owner's word.
func TestConfirmIsForWhatWasProposed(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol)
	r.FundToken(alice.Address(), "FEE", 100_000_000)
	r.FundToken(bob.Address(), "FEE", 1)
	odd := &oddChain{Client: r.Chain}
	r.dials(odd)
	for name, change := range map[string]func(*wallet.TokenFacts){
		"the issuer raised its fee": func(f *wallet.TokenFacts) {
			f.Mint.TransferFee = &wallet.TransferFee{Newer: wallet.FeeRate{Maximum: 1 << 40, BasisPoints: 5_000}}
		},
		"the recipient closed their account": func(f *wallet.TokenFacts) {
			f.Destination = wallet.TokenAccount{Address: f.Destination.Address}
		},
		"the token was paused":        func(f *wallet.TokenFacts) { f.Mint.Paused = true },
		"the tokens went elsewhere":   func(f *wallet.TokenFacts) { f.Source.Units = 0 },
		"the SOL for the fee is gone": func(f *wallet.TokenFacts) { f.From.Lamports = 1 },
	} {
		odd.change = nil
		proposed := r.Propose(alice, bob.Address(), "1", "FEE")
		odd.change = change
		_, err := r.Confirm(alice.Caller(), proposed.ID)
		if wallet.ReasonOf(err).IsZero() || wallet.CodeOf(err) == wallet.Internal {
			t.Errorf("%s: %v", name, err)
		}
		if now := r.Transaction(proposed.ID); now.Status != wallet.AwaitingConfirmation || now.SignID != "" {
			t.Errorf("%s: it is %s", name, now.Status)
		}
	}
	// Somebody else made the account meanwhile: that is no reason to refuse.
	carol := r.Rich(1003, "Carol", sol)
	odd.change = nil
	proposed := r.Propose(alice, carol.Address(), "1", "FEE")
	r.FundToken(carol.Address(), "FEE", 1)
	if confirmed, err := r.Confirm(alice.Caller(), proposed.ID); err != nil || confirmed.Rent != proposed.Rent || proposed.Rent == 0 {
		t.Errorf("after somebody else made the account: %+v, %v", confirmed, err)
	}
	r.View(func(tx store.Tx) error {
		_, err := tx.Transaction(proposed.ID)
		return err
	})
}

// liar is a node that says absurd numbers.
type liar struct {
	*chain.Client
	rent, units, price uint64
}

func (l *liar) RentMinimum(ctx context.Context, size uint64) (uint64, error) {
	if size > 0 && l.rent > 0 {
		return l.rent, nil
	}
	return l.Client.RentMinimum(ctx, size)
}

func (l *liar) UnitPrice(context.Context, []wallet.Address) (uint64, error) { return l.price, nil }

func (l *liar) Simulate(ctx context.Context, message []byte) (uint64, error) {
	units, err := l.Client.Simulate(ctx, message)
	if l.units > 0 {
		units = l.units
	}
	return units, err
}

// TestAbsurdNumbersOfANodeCostNothing: no sum wraps around, and no fee leaves its bound.
func TestAbsurdNumbersOfANodeCostNothing(t *testing.T) {
	r := newHarness(t)
	alice, bob, carol := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol), r.Rich(1003, "Carol", sol)
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	r.FundToken(bob.Address(), "USDC", 1)
	for _, rent := range []uint64{1 << 63, math.MaxUint64, math.MaxUint64 - 4_999, math.MaxUint64 - 5_000} {
		r.dials(&liar{Client: r.Chain, rent: rent})
		_, err := r.Prepare(alice, carol.Address(), "1", "USDC")
		r.Refused(wallet.InsufficientFunds, err)
	}
	const wraps = 14_757_395_258_967_637_293 // with a quarter more and 5,000 it is 0 in 64 bits
	for _, units := range []uint64{1, 1 << 63, wraps - 1, wraps, wraps + 1, math.MaxUint64} {
		for _, price := range []uint64{1, math.MaxUint64} {
			r.dials(&liar{Client: r.Chain, units: units, price: price})
			for _, token := range []string{"SOL", "USDC"} {
				got, err := r.Prepare(alice, bob.Address(), "0.5", token)
				if token == "SOL" && got.ComputeUnitLimit != 1_000 {
					t.Errorf("SOL asks for %d compute units: what it takes is known", got.ComputeUnitLimit)
				}
				if err != nil || got.Fee > 5_000+100_000 || got.ComputeUnitLimit == 0 {
					t.Errorf("%d units at %d, %s: fee %d, limit %d, %v", units, price, token, got.Fee, got.ComputeUnitLimit, err)
				}
			}
		}
	}
}

// thief is a node that calls every address a token account of its own.
type thief struct {
	*chain.Client
	owner, mint wallet.Address
}

func (n *thief) Parties(ctx context.Context, from, to wallet.Address) (wallet.Parties, error) {
	parties, err := n.Client.Parties(ctx, from, to)
	parties.AtTo = wallet.TokenAccount{Address: to, Exists: true, Mint: n.mint, Owner: n.owner, Program: wallet.TokenProgram}
	return parties, err
}

// TestANodeCannotSayWhoIsPaid: only what is derived from its owner stands for them.
func TestANodeCannotSayWhoIsPaid(t *testing.T) {
	r := newHarness(t)
	alice, bob, evil := r.Rich(1001, "Alice", sol), r.Rich(1002, "Bob", sol), r.Rich(1003, "Evil", sol)
	mint := r.token("USDC").Mint
	r.Transfers.Chain = &thief{r.Chain, evil.Address(), mint}
	for _, named := range []wallet.Address{bob.Address(), wallet.AssociatedAccount(bob.Address(), mint, wallet.TokenProgram)} {
		got, err := r.Prepare(alice, named, "0.1", "SOL")
		if err == nil || wallet.FieldOf(err) != wallet.FieldTo {
			t.Errorf("%s is paid to %s, %v", named, got.To, err)
		}
	}
}
