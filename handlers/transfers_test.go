package handlers_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

func TestWhatCannotBeSentIsRefusedWithAReason(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	broke := r.rich(1003, 0)
	offCurve := wallet.Address{2} // y = 2 is no point of Ed25519
	if offCurve.OnCurve() {
		t.Fatal("the example is on the curve")
	}
	for name, c := range map[string]struct {
		who    handlers.Caller
		to     string
		amount string
		token  string
		code   wallet.Code
		about  wallet.Field
	}{
		"more than held":           {alice.Caller(), bob.Address().String(), "3", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"all but no fee":           {alice.Caller(), bob.Address().String(), "2", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"dust left behind":         {alice.Caller(), bob.Address().String(), "1.9999", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"too little for a new one": {alice.Caller(), r.Stranger().String(), "0.0001", "SOL", wallet.InvalidRequest, wallet.FieldAmount},
		"nothing":                  {alice.Caller(), bob.Address().String(), "0", "SOL", wallet.InvalidRequest, wallet.FieldAmount},
		"an exponent":              {alice.Caller(), bob.Address().String(), "1e0", "SOL", wallet.InvalidRequest, wallet.FieldAmount},
		"to oneself":               {alice.Caller(), alice.Address().String(), "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"off the curve":            {alice.Caller(), offCurve.String(), "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"the System program":       {alice.Caller(), strings.Repeat("1", 32), "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"a program":                {alice.Caller(), "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"no address":               {alice.Caller(), "bob", "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"unknown token":            {alice.Caller(), bob.Address().String(), "1", "DOGE", wallet.TokenNotFound, wallet.FieldToken},
		"max of nothing":           {broke.Caller(), bob.Address().String(), "max", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"no wallet":                {handlers.Caller{User: r.meet(1009).ID}, bob.Address().String(), "1", "SOL", wallet.WalletNotFound, ""},
		"nobody":                   {handlers.Caller{}, bob.Address().String(), "1", "SOL", wallet.WalletNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := world.SendRequest(c.to, c.amount, c.token)
			if err == nil {
				_, err = r.Transfers.Prepare(context.Background(), c.who, req)
			}
			if wallet.CodeOf(err) != c.code || wallet.ReasonOf(err).IsZero() {
				t.Fatalf("got %v, want a reasoned %s", err, c.code)
			}
			if wallet.FieldOf(err) != c.about {
				t.Errorf("%v is about %q, want %q", err, wallet.FieldOf(err), c.about)
			}
		})
	}
	_, err := r.Transfers.Prepare(context.Background(), alice.Caller(),
		handlers.SendRequest{From: bob.Address(), To: r.Stranger(), Amount: world.Quantity("0.5"), Token: world.TokenRef("SOL")})
	r.Refused(wallet.WalletNotFound, err)
}

func TestMaxLeavesNothingButTheFeePaid(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	p, err := r.Transfers.Prepare(context.Background(), alice.Caller(), handlers.SendRequest{To: bob.Address(), Amount: world.Quantity("MAX"), Token: world.TokenRef("sol")})
	r.Must(err)
	if tx := p.Transaction; tx.Amount != 2*sol-5000 || tx.BalanceLeft != 0 || tx.Fee != 5000 {
		t.Fatalf("max is %d, leaves %d", tx.Amount, tx.BalanceLeft)
	}
	// The message pays that amount, and not the one that stood for it while the fee was not known.
	rules, err := r.Store.Kinds().Of(wallet.Send)
	r.Must(err)
	message, err := r.Transfers.Messages.Build(p.Transaction, rules.Actions(p.Transaction))
	r.Must(err)
	if !bytes.Equal(p.Transaction.Message, message) {
		t.Error("the message to sign does something else")
	}
}

// Two proposals may each be affordable; only confirmed ones hold money back.
func TestConfirmedTransactionsReserveTheirFunds(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	first, second := r.proposed(alice, bob.Address(), "1.5"), r.proposed(alice, bob.Address(), "1.5")
	_, err := r.Confirm(alice.Caller(), first)
	r.Must(err)
	_, err = r.Confirm(alice.Caller(), second)
	r.Refused(wallet.InsufficientFunds, err)

	balance, err := r.Wallets.Balance(context.Background(), alice.Address())
	r.Must(err)
	if balance.Lamports != 2*sol || balance.Reserved != 1.5*sol+5000 {
		t.Fatalf("the balance reads %+v", balance)
	}
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Transfers.Reject(tx, alice.Caller(), first)
		return err
	}))
	_, err = r.Confirm(alice.Caller(), second)
	r.Must(err)
}

// A payment that its owner replaced ends like a rejected one, with a reason of its own. It is theirs alone to replace.
func TestAReplacedPaymentSaysSo(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	first, second := r.proposed(alice, bob.Address(), "1"), r.proposed(alice, bob.Address(), "1")
	var replaced, rejected wallet.Transaction
	r.Must(r.Update(func(tx store.Tx) (err error) {
		if _, err = r.Transfers.Replace(tx, bob.Caller(), first); wallet.CodeOf(err) != wallet.TransactionNotFound {
			t.Errorf("somebody else's: %v", err)
		}
		if replaced, err = r.Transfers.Replace(tx, alice.Caller(), first); err == nil {
			rejected, err = r.Transfers.Reject(tx, alice.Caller(), second)
		}
		return err
	}))
	if replaced.Status != wallet.Rejected || replaced.ErrorCode != wallet.UserRejected || !handlers.IsReplaced(replaced) {
		t.Errorf("replaced: %+v", replaced)
	}
	if handlers.IsReplaced(rejected) {
		t.Errorf("rejected: %+v", rejected)
	}
}

func TestConfirmIsTheOwnersOnceAndInTime(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	id := r.proposed(alice, bob.Address(), "1")
	_, err := r.Confirm(bob.Caller(), id)
	r.Refused(wallet.TransactionNotFound, err)
	confirmed, err := r.Confirm(alice.Caller(), id)
	r.Must(err)
	if confirmed.Status != wallet.AwaitingSignature || len(confirmed.SignID) < 22 {
		t.Fatalf("confirmed as %s with sign id of %d characters", confirmed.Status, len(confirmed.SignID))
	}
	_, err = r.Confirm(alice.Caller(), id)
	r.Refused(wallet.Conflict, err)

	late := r.proposed(alice, bob.Address(), "1")
	r.Pass(wallet.ConfirmWindow)
	_, err = r.Confirm(alice.Caller(), late)
	r.Refused(wallet.Conflict, err)
}

func TestConfirmLooksAtTheChainAgain(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	id := r.proposed(alice, bob.Address(), "4")
	spent := r.proposed(alice, bob.Address(), "3")
	c, err := r.Transfers.PrepareConfirm(context.Background(), alice.Caller(), id, "")
	r.Must(err)
	_, err = r.Confirm(alice.Caller(), spent) // while the first Confirm is under way
	r.Must(err)
	err = r.Update(func(tx store.Tx) error {
		_, err := r.Transfers.CommitConfirm(tx, c)
		return err
	})
	r.Refused(wallet.InsufficientFunds, err)
}

// signable is a confirmed transaction of Alice's with a blockhash issued.
func signable(r *harness) (*world.Person, wallet.Transaction, []byte) {
	r.Helper()
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	t, err := r.Confirm(alice.Caller(), r.proposed(alice, bob.Address(), "1"))
	r.Must(err)
	view, err := r.Signing.Refresh(context.Background(), handlers.ByLink(t.SignID))
	r.Must(err)
	return alice, t, view.Message
}

func TestOneSignatureInItsLife(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	alice, tx, first := signable(r)
	r.Must(r.Cluster.Advance(5))
	r.Pass(wallet.FreshFor)
	again, err := r.Signing.Refresh(ctx, handlers.ByLink(tx.SignID))
	r.Must(err)
	second := again.Message
	sign := func(message []byte) wallet.Signature { return alice.Sign(message) }

	status, err := r.Signing.Submit(ctx, handlers.ByLink(tx.SignID), handlers.Signature{Over: world.HashOf(second), Signature: sign(second)})
	if err != nil || status != wallet.Signed {
		t.Fatalf("%s, %v", status, err)
	}
	// The answer was lost and the device sends the same again: it is told how things stand.
	status, err = r.Signing.Submit(ctx, handlers.ByLink(tx.SignID), handlers.Signature{Over: world.HashOf(second), Signature: sign(second)})
	if err != nil || status != wallet.Signed {
		t.Fatalf("%s, %v", status, err)
	}
	// Another device signed the older message.
	_, err = r.Signing.Submit(ctx, handlers.ByLink(tx.SignID), handlers.Signature{Over: world.HashOf(first), Signature: sign(first)})
	r.Refused(wallet.Conflict, err)
	_, err = r.Signing.Reject(ctx, handlers.ByLink(tx.SignID))
	r.Refused(wallet.Conflict, err)
	view, err := r.Signing.Get(ctx, tx.SignID)
	if err != nil || view.Message != nil {
		t.Fatalf("a signed transaction is still offered for signing: %v", err)
	}
}

func TestForeignSignaturesAndMessagesAreRefused(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	alice, tx, message := signable(r)
	_, other, _ := ed25519.GenerateKey(rand.Reader)
	_, err := r.Signing.Submit(ctx, handlers.ByLink(tx.SignID), handlers.Signature{Over: world.HashOf(message), Signature: wallet.Signature(ed25519.Sign(other, message))})
	r.Refused(wallet.InvalidSignature, err)

	swapped := append([]byte(nil), message...)
	swapped[len(swapped)-1] ^= 1
	_, err = r.Signing.Submit(ctx, handlers.ByLink(tx.SignID), handlers.Signature{Over: world.HashOf(swapped), Signature: alice.Sign(swapped)})
	r.Refused(wallet.InvalidSignature, err)

	_, err = r.Signing.Submit(ctx, handlers.ByLink("AAAAAAAAAAAAAAAAAAAAAA"), handlers.Signature{Over: world.HashOf(message), Signature: alice.Sign(message)})
	r.Refused(wallet.NotFound, err)
	_, err = r.Signing.Get(ctx, "")
	r.Refused(wallet.NotFound, err)
}

func TestRefreshesAreBoundedAndEndWithTheTransaction(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	_, tx, first := signable(r)
	for range 2 * wallet.MaxRefreshes { // impatience uses nothing up
		r.Must(r.Cluster.Advance(1))
		again, err := r.Signing.Refresh(ctx, handlers.ByLink(tx.SignID))
		if err != nil || !bytes.Equal(again.Message, first) {
			t.Fatalf("another blockhash within a moment, %v", err)
		}
	}
	for range wallet.MaxRefreshes - 1 {
		r.Pass(wallet.FreshFor)
		_, err := r.Signing.Refresh(ctx, handlers.ByLink(tx.SignID))
		r.Must(err)
	}
	r.Pass(wallet.FreshFor)
	_, err := r.Signing.Refresh(ctx, handlers.ByLink(tx.SignID))
	r.Refused(wallet.RateLimitExceeded, err)
	r.Pass(wallet.SignWindow)
	_, err = r.Signing.Refresh(ctx, handlers.ByLink(tx.SignID))
	r.Refused(wallet.Conflict, err)
	view, err := r.Signing.Get(ctx, tx.SignID)
	if err != nil || view.Message != nil || view.Status != wallet.Expired {
		t.Fatalf("after its time: %+v, %v", view.Status, err)
	}
}

func TestRejectedOnTheDeviceStaysRejected(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	alice, tx, message := signable(r)
	for range 2 { // said twice is said once
		status, err := r.Signing.Reject(ctx, handlers.ByLink(tx.SignID))
		if err != nil || status != wallet.Rejected {
			t.Fatalf("%s, %v", status, err)
		}
	}
	_, err := r.Signing.Submit(ctx, handlers.ByLink(tx.SignID), handlers.Signature{Over: world.HashOf(message), Signature: alice.Sign(message)})
	r.Refused(wallet.Conflict, err)
}

func TestBalanceOfNobodyIsNotFoundAndOfOursIsZero(t *testing.T) {
	r := newHarness(t)
	_, err := r.Wallets.Balance(context.Background(), r.Stranger())
	r.Refused(wallet.WalletNotFound, err)
	balance, err := r.Wallets.Balance(context.Background(), r.rich(1001, 0).Address())
	if err != nil || balance.Lamports != 0 {
		t.Fatalf("%+v, %v", balance, err)
	}
}

func TestKeysOpenWhatTheyAreFor(t *testing.T) {
	r := newHarness(t)
	ctx := context.Background()
	alice := r.meet(1001)
	key, secret, err := r.Keys.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001, ExpiresAt: r.Now().Add(time.Hour)})
	r.Must(err)
	if key.Owner != alice.ID {
		t.Fatalf("the key belongs to %q", key.Owner)
	}
	if got, err := r.Keys.Check(ctx, r.Now(), secret, wallet.APIKey); err != nil || got.ID != key.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, check := range map[string]func() error{
		"the wrong kind": func() error { _, err := r.Keys.Check(ctx, r.Now(), secret, wallet.BotKey); return err },
		"another secret": func() error {
			_, err := r.Keys.Check(ctx, r.Now(), strings.Repeat("x", 6)+secret[6:], wallet.APIKey)
			return err
		},
		"no secret": func() error { _, err := r.Keys.Check(ctx, r.Now(), "", wallet.APIKey); return err },
	} {
		if err := check(); wallet.CodeOf(err) != wallet.InvalidAPIKey {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.Pass(time.Hour)
	_, err = r.Keys.Check(ctx, r.Now(), secret, wallet.APIKey)
	r.Refused(wallet.InvalidAPIKey, err)

	_, revoked, err := r.Keys.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.Must(err)
	keys, err := r.Keys.List(ctx)
	if err != nil || len(keys) != 2 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	for _, k := range keys {
		_, err = r.Keys.Revoke(ctx, k.ID)
		r.Must(err)
	}
	_, err = r.Keys.Check(ctx, r.Now(), revoked, wallet.APIKey)
	r.Refused(wallet.InvalidAPIKey, err)
	_, _, err = r.Keys.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 77})
	r.Refused(wallet.UserNotFound, err)
	_, _, err = r.Keys.Create(ctx, handlers.KeyRequest{Kind: "root", Tier: wallet.ProTier})
	r.Refused(wallet.InvalidRequest, err)
}

func TestProgramsCannotFloodAnOwnerInQuestions(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	app := handlers.Caller{User: alice.User.ID, KeyID: "key_1", KeyLineage: "key_1"}
	ask := func() error {
		p, err := r.Transfers.Prepare(context.Background(), app, handlers.SendRequest{To: bob.Address(), Amount: world.Quantity("0.1"), Token: world.TokenRef("SOL")})
		r.Must(err)
		return r.Update(func(tx store.Tx) error { _, err := r.Transfers.CommitByProgram(tx, p); return err })
	}
	for range 5 {
		r.Must(ask())
	}
	r.Refused(wallet.RateLimitExceeded, ask())
	r.proposed(alice, bob.Address(), "0.1") // the owner's own words are not held up by them
}
