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

func (r *harness) adds(p *world.Person, name string, to wallet.Address) error {
	return r.Update(func(tx store.Tx) error {
		_, err := r.Contacts.Add(tx, p.User.ID, name, to)
		return err
	})
}

// receives has p's own record say that dust came from an address.
func (r *harness) receives(p *world.Person, from wallet.Address) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(r.NewID("tx_dust")), Kind: wallet.Receive,
			Status: wallet.Received, Owner: p.User.ID, From: from, To: p.Address(), Token: wallet.SOL, Amount: 1, CreatedAt: r.Now(), Closed: true})
	}))
}

func TestWhoIsKnownIsNotWarnedOf(t *testing.T) {
	r := newHarness(t)
	alice, bob, carol, dave := r.rich(1001, 5*sol), r.rich(1002, sol), r.rich(1003, sol), r.rich(1004, sol)
	isNew := func(to wallet.Address) bool {
		t.Helper()
		got, err := r.Prepare(alice, to, "0.1", "SOL")
		r.Must(err)
		return slices.Contains(got.Warnings(), wallet.RuleNewRecipient)
	}
	if !isNew(bob.Address()) || !isNew(carol.Address()) || !isNew(dave.Address()) {
		t.Error("strangers are known")
	}
	for range 600 { // more than what is ever looked at
		r.receives(alice, dave.Address())
	}
	if !isNew(dave.Address()) {
		t.Error("who sent something is known by that")
	}
	r.send(alice, bob.Address(), "0.1", "SOL")
	r.Must(r.adds(alice, "rent", carol.Address()))
	second := r.Stranger()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: second, Owner: alice.User.ID, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	for what, to := range map[string]wallet.Address{"paid before": bob.Address(), "a contact": carol.Address(), "an own wallet": second} {
		if isNew(to) {
			t.Errorf("%s is new", what)
		}
	}
	// What is Alice's is not Bob's.
	got, err := r.Prepare(bob, carol.Address(), "0.1", "SOL")
	if err != nil || !slices.Contains(got.Warnings(), wallet.RuleNewRecipient) {
		t.Errorf("another's contact: %v, %v", got.Warnings(), err)
	}
	// A proposal, and even a confirmed one, is no payment yet.
	id := r.proposed(alice, dave.Address(), "0.1")
	_, err = r.Confirm(alice.Caller(), id)
	r.Must(err)
	if !isNew(dave.Address()) {
		t.Error("who was not paid yet is known")
	}
}

func TestALookAlikeOfSomebodyKnownIsBlocked(t *testing.T) {
	r := newHarness(t)
	alice, bob, carol, mallory := r.rich(1001, 5*sol), r.rich(1002, sol), r.rich(1003, sol), r.rich(1004, sol)
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	r.send(alice, bob.Address(), "0.1", "SOL")
	r.Must(r.adds(alice, "rent", carol.Address()))
	for what, known := range map[string]wallet.Address{"paid before": bob.Address(), "a contact": carol.Address(), "her own": alice.Address()} {
		for _, ends := range [][2]int{{4, 4}, {3, 5}, {5, 3}, {7, 6}} {
			to := world.Resembling(r, known, ends[0], ends[1])
			r.receives(alice, to) // dust makes it no better
			for _, token := range []string{"SOL", "USDC"} {
				got, err := r.Prepare(alice, to, "0.1", token)
				if err != nil || got.PoisoningSuspect != known || slices.Contains(got.Warnings(), wallet.RuleNewRecipient) {
					t.Errorf("%s, %v, %s: looks like %s, %v", what, ends, token, got.PoisoningSuspect, err)
				}
			}
		}
		for _, ends := range [][2]int{{4, 3}, {3, 4}, {2, 6}} {
			if got, err := r.Prepare(alice, world.Resembling(r, known, ends[0], ends[1]), "0.1", "SOL"); err != nil || !got.PoisoningSuspect.IsZero() {
				t.Errorf("%s, %v: looks like %s, %v", what, ends, got.PoisoningSuspect, err)
			}
		}
	}
	// It looks like somebody whom Alice knows, and nobody whom Mallory does.
	got, err := r.Prepare(mallory, world.Resembling(r, bob.Address(), 4, 4), "0.1", "SOL")
	if err != nil || !got.PoisoningSuspect.IsZero() {
		t.Errorf("for another: looks like %s, %v", got.PoisoningSuspect, err)
	}
}

// planted is a chain with one more token account, at an address that was ground for.
type planted struct {
	handlers.TransferChain
	at, owner wallet.Address
}

func (p planted) Parties(ctx context.Context, from, to wallet.Address) (wallet.Parties, error) {
	parties, err := p.TransferChain.Parties(ctx, from, to)
	if to == p.at {
		parties.AtTo = wallet.TokenAccount{Address: to, Exists: true, Owner: p.owner, Program: wallet.TokenProgram}
	}
	return parties, err
}

// TestATokenAccountAtAnyAddressIsBlocked: one can be made at an address that was ground to look like
// somebody's, and only an associated one proves whose it is.
func TestATokenAccountAtAnyAddressIsBlocked(t *testing.T) {
	r := newHarness(t)
	alice, bob, mallory := r.rich(1001, 5*sol), r.rich(1002, sol), r.rich(1003, sol)
	r.Must(r.adds(alice, "bob", bob.Address()))
	account := world.Resembling(r, bob.Address(), 4, 4)
	for _, owner := range []wallet.Address{mallory.Address(), bob.Address()} {
		r.Transfers.Chain = planted{r.Transfers.Chain, account, owner}
		if got, err := r.Prepare(alice, account, "0.1", "SOL"); wallet.FieldOf(err) != wallet.FieldTo {
			t.Errorf("paid to %s, %v", got.To, err)
		}
	}
}

func TestALookAlikeIsConfirmedOnlyByTyping(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	r.Must(r.adds(alice, "bob", bob.Address()))
	to := world.Resembling(r, bob.Address(), 4, 4)
	_, middle := to.Middle()
	_, wrong := bob.Address().Middle()

	for who, by := range map[string]handlers.Caller{"in chat": alice.Caller(), "by a program": {User: alice.User.ID, KeyID: "key_1", KeyLineage: "key_1"}} {
		p, err := r.Transfers.Prepare(ctx, by, handlers.SendRequest{To: to, Amount: world.Quantity("0.5"), Token: world.TokenRef("SOL")})
		r.Must(err)
		id := p.Transaction.ID
		r.Must(r.Update(func(tx store.Tx) error {
			if by.KeyID == "" {
				return r.Transfers.Commit(tx, p)
			}
			_, err := r.Transfers.CommitByProgram(tx, p)
			return err
		}))
		if _, err := r.Confirm(alice.Caller(), id); wallet.CodeOf(err) != wallet.PolicyViolation {
			t.Errorf("%s: a tap: %v", who, err)
		}
		for _, typed := range []string{"", wrong, middle + "x", to.String()} {
			if _, err := r.Transfers.PrepareConfirm(ctx, alice.Caller(), id, typed); wallet.CodeOf(err) != wallet.PolicyViolation {
				t.Errorf("%s: %q typed: %v", who, typed, err)
			}
			if got, ok, err := r.Transfers.FindTypedConfirmation(ctx, alice.Caller(), typed, true); err != nil || ok {
				t.Errorf("%s: %q is asked for by %s, %v", who, typed, got, err)
			}
		}
		if _, ok, err := r.Transfers.FindTypedConfirmation(ctx, bob.Caller(), middle, true); err != nil || ok {
			t.Errorf("%s: another may type it too, %v", who, err)
		}
		got, ok, err := r.Transfers.FindTypedConfirmation(ctx, alice.Caller(), middle, true)
		if err != nil || !ok || got != id {
			t.Fatalf("%s: %s, %v, %v", who, got, ok, err)
		}
		if _, err := r.Transfers.PrepareConfirm(ctx, bob.Caller(), id, middle); wallet.CodeOf(err) != wallet.TransactionNotFound {
			t.Errorf("%s: typed by another: %v", who, err)
		}
		c, err := r.Transfers.PrepareConfirm(ctx, alice.Caller(), id, middle)
		r.Must(err)
		var confirmed wallet.Transaction
		r.Must(r.Update(func(tx store.Tx) (err error) {
			confirmed, err = r.Transfers.CommitConfirm(tx, c)
			return err
		}))
		if confirmed.Status != wallet.AwaitingSignature || confirmed.PoisoningSuspect != bob.Address() {
			t.Errorf("%s: %s, looks like %s", who, confirmed.Status, confirmed.PoisoningSuspect)
		}
		if _, ok, err := r.Transfers.FindTypedConfirmation(ctx, alice.Caller(), middle, true); err != nil || ok {
			t.Errorf("%s: it is asked for again, %v", who, err)
		}
	}
}

// A program that signs for its owner's wallet needs no Confirm, save for a look-alike: that is the
// owner's to judge.
func TestAProgramsOwnSignatureIsNoWordForALookAlike(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	r.Must(r.adds(alice, "bob", bob.Address()))
	r.Must(r.Update(func(tx store.Tx) error {
		w, err := tx.Wallet(alice.Address())
		if err != nil {
			return err
		}
		w.Type = wallet.DeveloperWallet
		return tx.PutWallet(w)
	}))
	by := handlers.Caller{User: alice.User.ID, KeyID: "key_1", KeyLineage: "key_1"}
	for to, want := range map[wallet.Address]wallet.Status{
		bob.Address(): wallet.AwaitingSignature, world.Resembling(r, bob.Address(), 4, 4): wallet.AwaitingConfirmation,
	} {
		p, err := r.Transfers.Prepare(ctx, by, handlers.SendRequest{To: to, Amount: world.Quantity("0.5"), Token: world.TokenRef("SOL")})
		r.Must(err)
		r.Must(r.Update(func(tx store.Tx) error {
			got, err := r.Transfers.CommitByProgram(tx, p)
			if err == nil && got.Status != want {
				t.Errorf("%s waits as %s, want %s", to, got.Status, want)
			}
			return err
		}))
	}
}

// Every destination that cannot take money is refused, for SOL and for a token alike.
func TestDestinationsAreJudgedForTokensToo(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.FundToken(alice.Address(), "USDC", 10_000_000)
	r.FundToken(bob.Address(), "USDC", 1)
	usdc := r.token("USDC")
	program, err := wallet.ParseAddress("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
	r.Must(err)
	for _, token := range []string{"SOL", "USDC", "FEE"} {
		if token == "FEE" {
			r.FundToken(alice.Address(), "FEE", 1_000_000_000)
		}
		for what, to := range map[string]wallet.Address{
			"the System program": wallet.SystemProgram, "a program": program, "a mint": usdc.Mint, "a token program": wallet.TokenProgram,
			"the own wallet": alice.Address(), "an own token account": wallet.AssociatedAccount(alice.Address(), usdc.Mint, usdc.Program),
			"off the curve": {2},
		} {
			_, err := r.Prepare(alice, to, "0.1", token)
			if wallet.CodeOf(err) != wallet.InvalidRequest || wallet.FieldOf(err) != wallet.FieldTo || wallet.ReasonOf(err).IsZero() {
				t.Errorf("%s to %s: %v", token, what, err)
			}
		}
		got, err := r.Prepare(alice, r.Stranger(), "0.1", token)
		if err != nil || !got.Unfunded || (got.Rent > 0) == got.Token.Native() {
			t.Errorf("%s to nobody yet: unfunded %v, rent %d, %v", token, got.Unfunded, got.Rent, err)
		}
	}
}

// What a transfer of tokens costs in SOL must not leave the sender under the rent minimum, which
// counts whole: 890,880 lamports for the wallet, 2,039,280 for the recipient's token account.
func TestTokensAreNotSentOnSOLThatIsNotThere(t *testing.T) {
	r := newHarness(t)
	bob := r.rich(1002, sol)
	for lamports, code := range map[uint64]wallet.Code{
		1_000_000:                     wallet.InsufficientFunds, // not even the account
		2_039_280 + 5_000 + 100_000:   wallet.InsufficientFunds, // too little would be left
		2_039_280 + 5_000 + 890_880:   "",
		2_039_280 + 5_000:             "", // nothing is left: the wallet is closed
		2_039_280 + 4_999:             wallet.InsufficientFunds,
		2_039_280 + 5_000 + 890_879:   wallet.InsufficientFunds,
		2_039_280 + 5_000 + 1_890_880: "",
	} {
		p := r.rich(2000+int64(lamports), lamports)
		r.FundToken(p.Address(), "USDC", 10_000_000)
		got, err := r.Prepare(p, bob.Address(), "1", "USDC")
		if wallet.CodeOf(err) != code || err != nil && wallet.ReasonOf(err).IsZero() {
			t.Errorf("with %d lamports: rent %d, %v", lamports, got.Rent, err)
		}
	}
}
