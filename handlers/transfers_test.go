package handlers_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// stranger is an address on the curve that holds nothing.
func stranger(t *testing.T) wallet.Address {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return wallet.Address(public)
}

func TestWhatCannotBeSentIsRefusedWithAReason(t *testing.T) {
	r := newRig(t)
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
		"more than held":           {alice.caller(), bob.address().String(), "3", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"all but no fee":           {alice.caller(), bob.address().String(), "2", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"dust left behind":         {alice.caller(), bob.address().String(), "1.9999", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"too little for a new one": {alice.caller(), stranger(t).String(), "0.0001", "SOL", wallet.InvalidRequest, wallet.FieldAmount},
		"nothing":                  {alice.caller(), bob.address().String(), "0", "SOL", wallet.InvalidRequest, wallet.FieldAmount},
		"an exponent":              {alice.caller(), bob.address().String(), "1e0", "SOL", wallet.InvalidRequest, wallet.FieldAmount},
		"to oneself":               {alice.caller(), alice.address().String(), "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"off the curve":            {alice.caller(), offCurve.String(), "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"the System program":       {alice.caller(), strings.Repeat("1", 32), "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"a program":                {alice.caller(), "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr", "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"no address":               {alice.caller(), "bob", "1", "SOL", wallet.InvalidRequest, wallet.FieldTo},
		"unknown token":            {alice.caller(), bob.address().String(), "1", "DOGE", wallet.TokenNotFound, wallet.FieldToken},
		"max of nothing":           {broke.caller(), bob.address().String(), "max", "SOL", wallet.InsufficientFunds, wallet.FieldAmount},
		"no wallet":                {handlers.Caller{User: r.meet(1009).ID}, bob.address().String(), "1", "SOL", wallet.WalletNotFound, ""},
		"nobody":                   {handlers.Caller{}, bob.address().String(), "1", "SOL", wallet.WalletNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.transfers.Prepare(context.Background(), c.who, handlers.SendRequest{To: c.to, Amount: c.amount, Token: c.token})
			if wallet.CodeOf(err) != c.code || wallet.DetailOf(err) == "" {
				t.Fatalf("got %v, want a reasoned %s", err, c.code)
			}
			if wallet.FieldOf(err) != c.about {
				t.Errorf("%v is about %q, want %q", err, wallet.FieldOf(err), c.about)
			}
		})
	}
	_, err := r.transfers.Prepare(context.Background(), alice.caller(),
		handlers.SendRequest{From: bob.address(), To: stranger(t).String(), Amount: "0.5", Token: "SOL"})
	r.refused(wallet.WalletNotFound, err)
}

func TestMaxLeavesNothingButTheFeePaid(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	p, err := r.transfers.Prepare(context.Background(), alice.caller(), handlers.SendRequest{To: bob.address().String(), Amount: "MAX", Token: "sol"})
	r.must(err)
	if tx := p.Transaction; tx.Amount != 2*sol-5000 || tx.BalanceLeft != 0 || tx.Fee != 5000 {
		t.Fatalf("max is %d, leaves %d", tx.Amount, tx.BalanceLeft)
	}
}

// Two proposals may each be affordable; only confirmed ones hold money back.
func TestConfirmedTransactionsReserveTheirFunds(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, 2*sol), r.rich(1002, sol)
	first, second := r.proposed(alice, bob.address(), "1.5"), r.proposed(alice, bob.address(), "1.5")
	_, err := r.confirm(alice.caller(), first)
	r.must(err)
	_, err = r.confirm(alice.caller(), second)
	r.refused(wallet.InsufficientFunds, err)

	balance, err := r.wallets.Balance(context.Background(), alice.address())
	r.must(err)
	if balance.Lamports != 2*sol || balance.Reserved != 1.5*sol+5000 {
		t.Fatalf("the balance reads %+v", balance)
	}
	r.must(r.update(func(tx store.Tx) error {
		_, err := r.transfers.Reject(tx, alice.caller(), first)
		return err
	}))
	_, err = r.confirm(alice.caller(), second)
	r.must(err)
}

func TestConfirmIsTheOwnersOnceAndInTime(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	id := r.proposed(alice, bob.address(), "1")
	_, err := r.confirm(bob.caller(), id)
	r.refused(wallet.TransactionNotFound, err)
	confirmed, err := r.confirm(alice.caller(), id)
	r.must(err)
	if confirmed.Status != wallet.AwaitingSignature || len(confirmed.SignID) < 22 {
		t.Fatalf("confirmed as %s with sign id of %d characters", confirmed.Status, len(confirmed.SignID))
	}
	_, err = r.confirm(alice.caller(), id)
	r.refused(wallet.Conflict, err)

	late := r.proposed(alice, bob.address(), "1")
	r.now = r.now.Add(wallet.ConfirmWindow)
	_, err = r.confirm(alice.caller(), late)
	r.refused(wallet.Conflict, err)
}

func TestConfirmLooksAtTheChainAgain(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	id := r.proposed(alice, bob.address(), "4")
	spent := r.proposed(alice, bob.address(), "3")
	c, err := r.transfers.PrepareConfirm(context.Background(), alice.caller(), id)
	r.must(err)
	_, err = r.confirm(alice.caller(), spent) // while the first Confirm is under way
	r.must(err)
	err = r.update(func(tx store.Tx) error {
		_, err := r.transfers.CommitConfirm(tx, c)
		return err
	})
	r.refused(wallet.InsufficientFunds, err)
}

// signable is a confirmed transaction of Alice's with a blockhash issued.
func signable(r *rig) (person, wallet.Transaction, []byte) {
	r.Helper()
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	t, err := r.confirm(alice.caller(), r.proposed(alice, bob.address(), "1"))
	r.must(err)
	view, err := r.signing.Refresh(context.Background(), t.SignID)
	r.must(err)
	return alice, t, view.Message
}

func hashOf(message []byte) string {
	sum := sha256.Sum256(message)
	return hex.EncodeToString(sum[:])
}

func TestOneSignatureInItsLife(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	alice, tx, first := signable(r)
	r.must(r.cluster.Advance(5))
	again, err := r.signing.Refresh(ctx, tx.SignID)
	r.must(err)
	second := again.Message
	sign := func(message []byte) wallet.Signature { return wallet.Signature(ed25519.Sign(alice.key, message)) }

	status, err := r.signing.Submit(ctx, tx.SignID, handlers.Signature{Over: hashOf(second), Signature: sign(second)})
	if err != nil || status != wallet.Signed {
		t.Fatalf("%s, %v", status, err)
	}
	// The answer was lost and the device sends the same again: it is told how things stand.
	status, err = r.signing.Submit(ctx, tx.SignID, handlers.Signature{Over: hashOf(second), Signature: sign(second)})
	if err != nil || status != wallet.Signed {
		t.Fatalf("%s, %v", status, err)
	}
	// Another device signed the older message.
	_, err = r.signing.Submit(ctx, tx.SignID, handlers.Signature{Over: hashOf(first), Signature: sign(first)})
	r.refused(wallet.Conflict, err)
	_, err = r.signing.Reject(ctx, tx.SignID)
	r.refused(wallet.Conflict, err)
	view, err := r.signing.Get(ctx, tx.SignID)
	if err != nil || view.Message != nil {
		t.Fatalf("a signed transaction is still offered for signing: %v", err)
	}
}

func TestForeignSignaturesAndMessagesAreRefused(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	alice, tx, message := signable(r)
	_, other, _ := ed25519.GenerateKey(rand.Reader)
	_, err := r.signing.Submit(ctx, tx.SignID, handlers.Signature{Over: hashOf(message), Signature: wallet.Signature(ed25519.Sign(other, message))})
	r.refused(wallet.InvalidSignature, err)

	swapped := append([]byte(nil), message...)
	swapped[len(swapped)-1] ^= 1
	_, err = r.signing.Submit(ctx, tx.SignID, handlers.Signature{Over: hashOf(swapped), Signature: wallet.Signature(ed25519.Sign(alice.key, swapped))})
	r.refused(wallet.InvalidSignature, err)

	_, err = r.signing.Submit(ctx, "AAAAAAAAAAAAAAAAAAAAAA", handlers.Signature{Over: hashOf(message), Signature: wallet.Signature(ed25519.Sign(alice.key, message))})
	r.refused(wallet.NotFound, err)
	_, err = r.signing.Get(ctx, "")
	r.refused(wallet.NotFound, err)
}

func TestRefreshesAreBoundedAndEndWithTheTransaction(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	_, tx, _ := signable(r)
	for range wallet.MaxRefreshes - 1 {
		_, err := r.signing.Refresh(ctx, tx.SignID)
		r.must(err)
	}
	_, err := r.signing.Refresh(ctx, tx.SignID)
	r.refused(wallet.RateLimitExceeded, err)
	r.now = r.now.Add(wallet.SignWindow)
	_, err = r.signing.Refresh(ctx, tx.SignID)
	r.refused(wallet.Conflict, err)
	view, err := r.signing.Get(ctx, tx.SignID)
	if err != nil || view.Message != nil || view.Status != wallet.Expired {
		t.Fatalf("after its time: %+v, %v", view.Status, err)
	}
}

func TestRejectedOnTheDeviceStaysRejected(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	alice, tx, message := signable(r)
	for range 2 { // said twice is said once
		status, err := r.signing.Reject(ctx, tx.SignID)
		if err != nil || status != wallet.Rejected {
			t.Fatalf("%s, %v", status, err)
		}
	}
	_, err := r.signing.Submit(ctx, tx.SignID, handlers.Signature{Over: hashOf(message), Signature: wallet.Signature(ed25519.Sign(alice.key, message))})
	r.refused(wallet.Conflict, err)
}

func TestBalanceOfNobodyIsNotFoundAndOfOursIsZero(t *testing.T) {
	r := newRig(t)
	_, err := r.wallets.Balance(context.Background(), stranger(t))
	r.refused(wallet.WalletNotFound, err)
	balance, err := r.wallets.Balance(context.Background(), r.rich(1001, 0).address())
	if err != nil || balance.Lamports != 0 {
		t.Fatalf("%+v, %v", balance, err)
	}
}

func TestKeysOpenWhatTheyAreFor(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	alice := r.meet(1001)
	key, secret, err := r.keys.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: 1001, ExpiresAt: r.now.Add(time.Hour)})
	r.must(err)
	if key.Owner != alice.ID {
		t.Fatalf("the key belongs to %q", key.Owner)
	}
	if got, err := r.keys.Check(ctx, secret, wallet.APIKey); err != nil || got.ID != key.ID {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, check := range map[string]func() error{
		"the wrong kind": func() error { _, err := r.keys.Check(ctx, secret, wallet.BotKey); return err },
		"another secret": func() error {
			_, err := r.keys.Check(ctx, strings.Repeat("x", 6)+secret[6:], wallet.APIKey)
			return err
		},
		"no secret": func() error { _, err := r.keys.Check(ctx, "", wallet.APIKey); return err },
	} {
		if err := check(); wallet.CodeOf(err) != wallet.InvalidAPIKey {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.now = r.now.Add(time.Hour)
	_, err = r.keys.Check(ctx, secret, wallet.APIKey)
	r.refused(wallet.InvalidAPIKey, err)

	_, revoked, err := r.keys.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.must(err)
	keys, err := r.keys.List(ctx)
	if err != nil || len(keys) != 2 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	for _, k := range keys {
		_, err = r.keys.Revoke(ctx, k.ID)
		r.must(err)
	}
	_, err = r.keys.Check(ctx, revoked, wallet.APIKey)
	r.refused(wallet.InvalidAPIKey, err)
	_, _, err = r.keys.Create(ctx, handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 77})
	r.refused(wallet.UserNotFound, err)
	_, _, err = r.keys.Create(ctx, handlers.KeyRequest{Kind: "root", Tier: wallet.ProTier})
	r.refused(wallet.InvalidRequest, err)
}

func TestProgramsCannotBuryAnOwnerInQuestions(t *testing.T) {
	r := newRig(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	app := handlers.Caller{User: alice.user.ID, Key: "key_1"}
	ask := func() error {
		p, err := r.transfers.Prepare(context.Background(), app, handlers.SendRequest{To: bob.address().String(), Amount: "0.1", Token: "SOL"})
		r.must(err)
		return r.update(func(tx store.Tx) error { _, err := r.transfers.CommitByProgram(tx, p); return err })
	}
	for range 5 {
		r.must(ask())
	}
	r.refused(wallet.RateLimitExceeded, ask())
	r.proposed(alice, bob.address(), "0.1") // the owner's own words are not held up by them
}
