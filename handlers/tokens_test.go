package handlers_test

import (
	"context"
	"slices"
	"testing"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// units is what an address holds of a token.
func (r *harness) units(of wallet.Address, token string) uint64 {
	r.Helper()
	held, err := r.Chain.Holdings(context.Background(), of)
	r.Must(err)
	for _, h := range held {
		if h.Token.Mint == r.token(token).Mint {
			return h.Units
		}
	}
	return 0
}

// send carries a transfer from proposal to finality, and returns it as it was signed. What landed
// is what was signed, and is found by its reference alone.
func (r *harness) send(p *world.Person, to wallet.Address, amount, token string) wallet.Transaction {
	r.Helper()
	signed := r.Signed(p, to, amount, token)
	end := r.Settled(signed.ID)
	if end.Status != wallet.Confirmed || end.Landing.Failure != "" || end.Landing.Fee != signed.Fee {
		r.Fatalf("landed as %+v, signed %+v", end, signed)
	}
	query, err := r.Store.Kinds().Query(signed)
	r.Must(err)
	query.Signature = wallet.Signature{}
	if found, err := r.Chain.Find(context.Background(), query); err != nil || found == nil || found.Signature != signed.Signature {
		r.Fatalf("by its reference: %+v, %v", found, err)
	}
	return signed
}

func TestATokenIsSentAndTheRecipientsAccountPaidFor(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, 0)
	r.FundToken(alice.Address(), "USDC", 25_500_000)
	sent := r.send(alice, bob.Address(), "25.5", "usdc")
	if sent.Rent != 2_039_280 || !sent.Unfunded || sent.BalanceLeft != 0 || sent.Token != r.token("USDC") ||
		len(sent.Warnings()) != 1 || sent.Warnings()[0] != wallet.RuleDrain {
		t.Errorf("sent as %+v", sent)
	}
	if got := r.units(bob.Address(), "USDC"); got != 25_500_000 {
		t.Errorf("Bob holds %d", got)
	}
	if got := r.units(alice.Address(), "USDC"); got != 0 {
		t.Errorf("Alice holds %d", got)
	}
	balance, err := r.Wallets.Balance(context.Background(), alice.Address())
	r.Must(err)
	if want := uint64(sol) - sent.Fee - sent.Rent; balance.Lamports != want {
		t.Errorf("Alice holds %d lamports, want %d", balance.Lamports, want)
	}

	r.FundToken(alice.Address(), "USDC", 7)
	again := r.send(alice, bob.Address(), "max", "USDC")
	if again.Rent != 0 || again.Amount != 7 || len(again.Warnings()) != 0 {
		t.Errorf("the second time: %+v", again)
	}
}

func TestATokensFeeIsShownAndWithheld(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.FundToken(alice.Address(), "FEE", 1_000_000_000)
	sent := r.send(alice, bob.Address(), "100.00001", "FEE")
	if sent.TransferFee != 1_000_001 || sent.Net() != 99_000_009 || sent.Rent == 0 {
		t.Errorf("sent with fee %d, net %d, rent %d", sent.TransferFee, sent.Net(), sent.Rent)
	}
	if got := r.units(bob.Address(), "FEE"); got != sent.Net() {
		t.Errorf("Bob holds %d, not the %d that were shown", got, sent.Net())
	}
	sent = r.send(alice, bob.Address(), "800", "FEE")
	if sent.TransferFee != 5_000_000 { // the most that is kept
		t.Errorf("of a large amount: %d", sent.TransferFee)
	}
}

func TestATokenAccountStandsForItsOwner(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	r.FundToken(bob.Address(), "USDC", 1)
	usdc := r.token("USDC")
	account := wallet.AssociatedAccount(bob.Address(), usdc.Mint, usdc.Program)
	for _, token := range []string{"USDC", "SOL"} {
		got, err := r.Prepare(alice, account, "0.1", token)
		if err != nil || got.To != bob.Address() || got.RequestedDestination != account {
			t.Errorf("%s: %+v, %v", token, got, err)
		}
	}
	own := wallet.AssociatedAccount(alice.Address(), usdc.Mint, usdc.Program)
	_, err := r.Prepare(alice, own, "1", "USDC")
	r.Refused(wallet.InvalidRequest, err)
	_, err = r.Prepare(alice, wallet.AssociatedAccount(r.Stranger(), usdc.Mint, usdc.Program), "1", "USDC")
	r.Refused(wallet.InvalidRequest, err) // nothing is there that would say whose it is
	_, err = r.Prepare(alice, usdc.Mint, "0.1", "SOL")
	r.Refused(wallet.InvalidRequest, err)
}

func TestTokensThatCannotBeSentAreRefusedWithAReason(t *testing.T) {
	r := newHarness(t)
	alice, bob, poor, carol := r.rich(1001, sol), r.rich(1002, sol), r.rich(1003, 0), r.rich(1004, sol)
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	r.FundToken(poor.Address(), "USDC", 10_000_000)
	r.FundToken(alice.Address(), "FEE", 10)
	for name, c := range map[string]struct {
		who           *world.Person
		amount, token string
		code          wallet.Code
		about         wallet.Field
	}{
		"more than held":          {alice, "10.000001", "USDC", wallet.InsufficientFunds, wallet.FieldAmount},
		"excess decimals":         {alice, "0.0000001", "USDC", wallet.InvalidRequest, wallet.FieldAmount},
		"nothing of it":           {bob, "max", "USDC", wallet.InsufficientFunds, wallet.FieldAmount},
		"no SOL for the fee":      {poor, "1", "USDC", wallet.InsufficientFunds, ""},
		"all of it kept as a fee": {alice, "0.000001", "FEE", wallet.InvalidRequest, wallet.FieldAmount},
		"an address, but no mint": {alice, "1", bob.Address().String(), wallet.TokenNotFound, wallet.FieldToken},
		"an unknown symbol":       {alice, "1", "USDC2", wallet.TokenNotFound, wallet.FieldToken},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Prepare(c.who, carol.Address(), c.amount, c.token)
			if wallet.CodeOf(err) != c.code || wallet.ReasonOf(err).IsZero() || wallet.FieldOf(err) != c.about {
				t.Errorf("got %v about %q", err, wallet.FieldOf(err))
			}
		})
	}
}

func TestWhatIsReservedOfATokenIsNotPromisedTwice(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	first, err := r.Prepare(alice, bob.Address(), "7", "USDC")
	r.Must(err)
	second, err := r.Prepare(alice, bob.Address(), "7", "USDC") // nothing is reserved by a proposal
	r.Must(err)
	for _, p := range []wallet.Transaction{first, second} {
		r.Must(r.Update(func(tx store.Tx) error { return r.Transfers.Commit(tx, handlers.Proposal{Transaction: p}) }))
	}
	_, err = r.Confirm(alice.Caller(), first.ID)
	r.Must(err)
	_, err = r.Confirm(alice.Caller(), second.ID)
	r.Refused(wallet.InsufficientFunds, err)
	balance, err := r.Wallets.Balance(context.Background(), alice.Address())
	r.Must(err)
	if len(balance.Tokens) != 1 || balance.Tokens[0].Reserved != 7_000_000 || balance.Tokens[0].Free() != 3_000_000 || balance.Reserved != first.Fee+first.Rent {
		t.Errorf("balance %+v", balance)
	}
}

func TestAnUnlistedTokenHasNoNameHere(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	usdc := r.token("USDC")
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	r.Wallets.Tokens, r.Transfers.Tokens = unlisted{}, unlisted{}
	got, err := r.Prepare(alice, bob.Address(), "1", usdc.Mint.String())
	if err != nil || got.Token.Symbol != "" || got.Token.Name() != usdc.Mint.String() || !slices.Contains(got.Warnings(), wallet.RuleUnlisted) {
		t.Errorf("got %+v, %v", got, err)
	}
	balance, err := r.Wallets.Balance(context.Background(), alice.Address())
	if err != nil || len(balance.Tokens) != 1 || balance.Tokens[0].Token.Name() != usdc.Mint.String() {
		t.Errorf("got %+v, %v", balance, err)
	}
}

// unlisted is a list without tokens.
type unlisted struct{}

func (unlisted) BySymbol(string) (wallet.Token, bool)       { return wallet.Token{}, false }
func (unlisted) ByMint(wallet.Address) (wallet.Token, bool) { return wallet.Token{}, false }

// TestAListIsOfOneToken: by its symbol or its mint, also one that nobody lists, and of all tokens without one.
func TestAListIsOfOneToken(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	r.FundToken(alice.Address(), "USDC", 25_500_000)
	usdc := r.Propose(alice, bob.Address(), "1", "USDC")
	inSOL := r.Propose(alice, bob.Address(), "1", "SOL")
	for name, want := range map[string][]wallet.TransactionID{
		"": {inSOL.ID, usdc.ID}, "SOL": {inSOL.ID}, "sol": {inSOL.ID}, "usdc": {usdc.ID}, usdc.Token.Mint.String(): {usdc.ID}, r.Stranger().String(): nil,
	} {
		f := handlers.Filter{OwnOnly: true}
		if f.Limit = 5; name != "" {
			f.Token = world.TokenRef(name)
		}
		page, err := r.History.List(context.Background(), alice.Caller(), f)
		var got []wallet.TransactionID
		for _, entry := range page.Entries {
			got = append(got, entry.Transaction.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("of %q: %v, %v, want %v", name, got, err, want)
		}
	}
	_, err := r.History.List(context.Background(), alice.Caller(), handlers.Filter{OwnOnly: true, Token: world.TokenRef("NOSUCH"), Limit: 5})
	r.Refused(wallet.TokenNotFound, err)
}
