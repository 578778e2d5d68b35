package handlers_test

import (
	"context"
	"crypto/ed25519"
	"strings"
	"testing"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestAProofForOneAddressAnswersNoOthersChallenge: a program that was given a challenge for one address proves that one,
// whatever else it signs with which key.
func TestAProofForOneAddressAnswersNoOthersChallenge(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	program := handlers.Caller{User: alice.User.ID, KeyID: "key_1", KeyLineage: "key_1"}
	asked, other := r.NewKey(), r.NewKey()
	invitation, err := r.Wallets.PrepareInvitation(context.Background(), program, world.AddressOf(asked))
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return r.Wallets.CommitInvitation(tx, invitation) }))

	sign := func(key ed25519.PrivateKey, text string) wallet.Signature {
		return wallet.Signature(ed25519.Sign(key, []byte(text)))
	}
	renamed := strings.ReplaceAll(invitation.Message, world.AddressOf(asked).String(), world.AddressOf(other).String())
	for name, try := range map[string]struct {
		address wallet.Address
		proof   wallet.Signature
		code    wallet.Code
	}{
		"another address, by its own key, over its own text": {world.AddressOf(other), sign(other, renamed), wallet.NotFound},
		"another address, over the text of the first":        {world.AddressOf(other), sign(other, invitation.Message), wallet.NotFound},
		"another address, by the key of the first":           {world.AddressOf(other), sign(asked, invitation.Message), wallet.NotFound},
		"the address, by another key":                        {world.AddressOf(asked), sign(other, invitation.Message), wallet.InvalidSignature},
		"the address, over another text":                     {world.AddressOf(asked), sign(asked, renamed), wallet.InvalidSignature},
	} {
		_, err := r.Wallets.Connect(context.Background(), program, try.address, try.proof)
		if wallet.CodeOf(err) != try.code {
			t.Errorf("%s: %v, want %s", name, err, try.code)
		}
	}
	r.View(func(tx store.Tx) error {
		if bind, err := tx.BindOf(alice.User.ID); err == nil {
			t.Errorf("Alice is asked about %s", bind.Address)
		}
		return nil
	})
	status, err := r.Wallets.Connect(context.Background(), program, world.AddressOf(asked), sign(asked, invitation.Message))
	if err != nil || status != wallet.BindProven {
		t.Fatalf("the address that was asked about: %s, %v", status, err)
	}
	if bind := r.bindOf(alice.User.ID); bind.Address != world.AddressOf(asked) {
		t.Fatalf("Alice is asked about %s", bind.Address)
	}
	// While its owner is asked about it, nothing else can be slipped in.
	_, err = r.Wallets.Connect(context.Background(), program, world.AddressOf(other), sign(other, renamed))
	r.Refused(wallet.NotFound, err)
}
