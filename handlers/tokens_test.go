package handlers_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// holding gives somebody units of a test token.
func (r *rig) holding(who wallet.Address, token string, units uint64) {
	r.Helper()
	_, err := r.cluster.AirdropToken(context.Background(), who.String(), token, units)
	r.must(err)
	r.must(r.cluster.Advance(3))
}

// token is what the list knows by a symbol.
func (r *rig) token(symbol string) wallet.Token {
	r.Helper()
	token, ok := listed(r).BySymbol(symbol)
	if !ok {
		r.Fatalf("%s is on no list", symbol)
	}
	return token
}

// units is what an address holds of a token.
func (r *rig) units(of wallet.Address, token string) uint64 {
	r.Helper()
	held, err := r.chain.Holdings(context.Background(), of)
	r.must(err)
	for _, h := range held {
		if h.Token.Mint == r.token(token).Mint {
			return h.Units
		}
	}
	return 0
}

func (r *rig) prepare(p person, to wallet.Address, amount, token string) (wallet.Transaction, error) {
	proposal, err := r.transfers.Prepare(context.Background(), p.caller(),
		handlers.SendRequest{To: to.String(), Amount: amount, Token: token})
	return proposal.Transaction, err
}

// send carries a transfer from proposal to finality, and returns it as it was signed.
func (r *rig) send(p person, to wallet.Address, amount, token string) wallet.Transaction {
	r.Helper()
	ctx := context.Background()
	proposed, err := r.prepare(p, to, amount, token)
	r.must(err)
	r.must(r.update(func(tx store.Tx) error { return r.transfers.Commit(tx, handlers.Proposal{Transaction: proposed}) }))
	confirmed, err := r.confirm(p.caller(), proposed.ID)
	r.must(err)
	view, err := r.signing.Refresh(ctx, confirmed.SignID)
	r.must(err)
	sum := sha256.Sum256(view.Message)
	_, err = r.signing.Submit(ctx, confirmed.SignID, handlers.Signature{Over: hex.EncodeToString(sum[:]), Signature: wallet.Signature(ed25519.Sign(p.key, view.Message))})
	r.must(err)
	var signed wallet.Transaction
	r.must(r.store.View(ctx, func(tx store.Tx) error {
		signed, err = tx.Transaction(proposed.ID)
		return err
	}))
	r.must(r.chain.Broadcast(ctx, signed.Signed))
	r.must(r.cluster.Advance(40))
	landing, err := r.chain.Find(ctx, signed.Sought())
	r.must(err)
	if landing == nil || landing.Failure != "" || !landing.Finalized || landing.Fee != signed.Fee {
		r.Fatalf("landed as %+v, signed %+v", landing, signed)
	}
	sought := signed.Sought()
	sought.Signature = wallet.Signature{}
	if found, err := r.chain.Find(ctx, sought); err != nil || found == nil || found.Signature != signed.Signature {
		r.Fatalf("by its reference: %+v, %v", found, err)
	}
	r.must(r.update(func(tx store.Tx) error { // settle's part
		t, err := tx.Transaction(signed.ID)
		for _, by := range []wallet.Happening{wallet.Landed, wallet.Finalized} {
			if err != nil {
				return err
			}
			t, err = store.Step(tx, t, wallet.Change{By: by, At: r.now, Landing: landing})
		}
		return err
	}))
	return signed
}

func TestATokenIsSentAndTheRecipientsAccountPaidFor(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, 0)
	r.holding(alice.address(), "USDC", 25_500_000)
	sent := r.send(alice, bob.address(), "25.5", "usdc")
	if sent.Rent != 2_039_280 || !sent.Unfunded || sent.BalanceLeft != 0 || sent.Token != r.token("USDC") ||
		len(sent.Warnings) != 1 || sent.Warnings[0] != wallet.WarnNewRecipient {
		t.Errorf("sent as %+v", sent)
	}
	if got := r.units(bob.address(), "USDC"); got != 25_500_000 {
		t.Errorf("Bob holds %d", got)
	}
	if got := r.units(alice.address(), "USDC"); got != 0 {
		t.Errorf("Alice holds %d", got)
	}
	balance, err := r.wallets.Balance(context.Background(), alice.address())
	r.must(err)
	if want := uint64(sol) - sent.Fee - sent.Rent; balance.Lamports != want {
		t.Errorf("Alice holds %d lamports, want %d", balance.Lamports, want)
	}

	r.holding(alice.address(), "USDC", 7)
	again := r.send(alice, bob.address(), "max", "USDC")
	if again.Rent != 0 || again.Amount != 7 || len(again.Warnings) != 0 {
		t.Errorf("the second time: %+v", again)
	}
}

func TestATokensFeeIsShownAndWithheld(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.holding(alice.address(), "FEE", 1_000_000_000)
	sent := r.send(alice, bob.address(), "100.00001", "FEE")
	if sent.TransferFee != 1_000_001 || sent.Net() != 99_000_009 || sent.Rent == 0 {
		t.Errorf("sent with fee %d, net %d, rent %d", sent.TransferFee, sent.Net(), sent.Rent)
	}
	if got := r.units(bob.address(), "FEE"); got != sent.Net() {
		t.Errorf("Bob holds %d, not the %d that were shown", got, sent.Net())
	}
	sent = r.send(alice, bob.address(), "800", "FEE")
	if sent.TransferFee != 5_000_000 { // the most that is kept
		t.Errorf("of a large amount: %d", sent.TransferFee)
	}
}

func TestATokenAccountStandsForItsOwner(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.holding(alice.address(), "USDC", 10_000_000)
	r.holding(bob.address(), "USDC", 1)
	usdc := r.token("USDC")
	account := wallet.AssociatedAccount(bob.address(), usdc.Mint, usdc.Program)
	for _, token := range []string{"USDC", "SOL"} {
		got, err := r.prepare(alice, account, "0.1", token)
		if err != nil || got.To != bob.address() || got.Named != account {
			t.Errorf("%s: %+v, %v", token, got, err)
		}
	}
	own := wallet.AssociatedAccount(alice.address(), usdc.Mint, usdc.Program)
	_, err := r.prepare(alice, own, "1", "USDC")
	r.refused(wallet.InvalidRequest, err)
	_, err = r.prepare(alice, wallet.AssociatedAccount(stranger(t), usdc.Mint, usdc.Program), "1", "USDC")
	r.refused(wallet.InvalidRequest, err) // nothing is there that would say whose it is
	_, err = r.prepare(alice, usdc.Mint, "0.1", "SOL")
	r.refused(wallet.InvalidRequest, err)
}

func TestTokensThatCannotBeSentAreRefusedWithAReason(t *testing.T) {
	r := newRig(t)
	alice, bob, poor, carol := r.rich(1001, sol), r.rich(1002, sol), r.rich(1003, 0), r.rich(1004, sol)
	r.holding(alice.address(), "USDC", 10_000_000)
	r.holding(poor.address(), "USDC", 10_000_000)
	r.holding(alice.address(), "FEE", 10)
	for name, c := range map[string]struct {
		who           person
		amount, token string
		code          wallet.Code
		about         wallet.Field
	}{
		"more than held":          {alice, "10.000001", "USDC", wallet.InsufficientFunds, wallet.FieldAmount},
		"excess decimals":         {alice, "0.0000001", "USDC", wallet.InvalidRequest, wallet.FieldAmount},
		"nothing of it":           {bob, "max", "USDC", wallet.InsufficientFunds, wallet.FieldAmount},
		"no SOL for the fee":      {poor, "1", "USDC", wallet.InsufficientFunds, ""},
		"all of it kept as a fee": {alice, "0.000001", "FEE", wallet.InvalidRequest, wallet.FieldAmount},
		"an address, but no mint": {alice, "1", bob.address().String(), wallet.TokenNotFound, wallet.FieldToken},
		"an unknown symbol":       {alice, "1", "USDC2", wallet.TokenNotFound, wallet.FieldToken},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.prepare(c.who, carol.address(), c.amount, c.token)
			if wallet.CodeOf(err) != c.code || wallet.DetailOf(err) == "" || wallet.FieldOf(err) != c.about {
				t.Errorf("got %v about %q", err, wallet.FieldOf(err))
			}
		})
	}
}

func TestWhatIsReservedOfATokenIsNotPromisedTwice(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.holding(alice.address(), "USDC", 10_000_000)
	first, err := r.prepare(alice, bob.address(), "7", "USDC")
	r.must(err)
	second, err := r.prepare(alice, bob.address(), "7", "USDC") // nothing is reserved by a proposal
	r.must(err)
	for _, p := range []wallet.Transaction{first, second} {
		r.must(r.update(func(tx store.Tx) error { return r.transfers.Commit(tx, handlers.Proposal{Transaction: p}) }))
	}
	_, err = r.confirm(alice.caller(), first.ID)
	r.must(err)
	_, err = r.confirm(alice.caller(), second.ID)
	r.refused(wallet.InsufficientFunds, err)
	balance, err := r.wallets.Balance(context.Background(), alice.address())
	r.must(err)
	if len(balance.Tokens) != 1 || balance.Tokens[0].Reserved != 7_000_000 || balance.Tokens[0].Free() != 3_000_000 || balance.Reserved != first.Fee+first.Rent {
		t.Errorf("balance %+v", balance)
	}
}

func TestAnUnlistedTokenHasNoNameHere(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	usdc := r.token("USDC")
	r.holding(alice.address(), "USDC", 10_000_000)
	r.wallets.Tokens, r.transfers.Tokens = unlisted{}, unlisted{}
	got, err := r.prepare(alice, bob.address(), "1", usdc.Mint.String())
	if err != nil || got.Token.Symbol != "" || got.Token.Name() != usdc.Mint.String() || !slices.Contains(got.Warnings, wallet.WarnUnlisted) {
		t.Errorf("got %+v, %v", got, err)
	}
	balance, err := r.wallets.Balance(context.Background(), alice.address())
	if err != nil || len(balance.Tokens) != 1 || balance.Tokens[0].Token.Name() != usdc.Mint.String() {
		t.Errorf("got %+v, %v", balance, err)
	}
}

// unlisted is a list without tokens.
type unlisted struct{}

func (unlisted) BySymbol(string) (wallet.Token, bool)       { return wallet.Token{}, false }
func (unlisted) ByMint(wallet.Address) (wallet.Token, bool) { return wallet.Token{}, false }
