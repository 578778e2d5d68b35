package handlers_test

import (
	"errors"
	"testing"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// disconnects disconnects a person's wallet.
func (r *harness) disconnects(p *world.Person) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		_, _, err := r.Wallets.Disconnect(tx, p.User.ID, p.Address().String())
		return err
	}))
}

// underway is what a freeze says of payments that it cannot stop.
func (r *harness) underway(person wallet.UserID) (n int) {
	r.Helper()
	r.View(func(tx store.Tx) (err error) { n, err = r.Freezing.Underway(tx, person); return err })
	return n
}

// erases tries to delete a person, and takes it back if it works: it returns nil then.
func (r *harness) erases(person wallet.UserID) error {
	r.Helper()
	allowed := errors.New("allowed")
	err := r.Update(func(tx store.Tx) error {
		if err := r.Users.Erase(tx, person); err != nil {
			return err
		}
		return allowed
	})
	if errors.Is(err, allowed) {
		return nil
	}
	return err
}

// TestAPaymentOfADisconnectedWalletIsNotForgotten: disconnecting the wallet stops nothing that was signed or could have been, so its owner
// cannot be deleted before that has ended, and a freeze counts it.
func TestAPaymentOfADisconnectedWalletIsNotForgotten(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(4001, 5*sol)
	to := r.Stranger()
	r.Fund(to, sol)
	payment := r.Signed(alice, to, "3", "SOL")
	for _, state := range []string{"connected", "disconnected"} {
		if n := r.underway(alice.User.ID); n != 1 {
			t.Errorf("%s: %d payments under way", state, n)
		}
		if state == "connected" {
			r.disconnects(alice)
		}
	}
	if err := r.erases(alice.User.ID); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("with a signed payment: %v", err)
	}
	r.Look() // broadcast
	if err := r.erases(alice.User.ID); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("with a payment that was sent: %v", err)
	}
	if got := r.Settled(payment.ID); !got.Closed || got.Status != wallet.Confirmed {
		t.Fatalf("the payment: %+v", got)
	}
	if n := r.underway(alice.User.ID); n != 0 {
		t.Errorf("%d payments under way in the end", n)
	}
	r.Must(r.erases(alice.User.ID))
}

// TestAPaymentThatADeviceMayHaveSignedIsNotForgotten: rejected, but its bytes were given out, and they can still land.
func TestAPaymentThatADeviceMayHaveSignedIsNotForgotten(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(4001, 5*sol)
	to := r.Stranger()
	r.Fund(to, sol)
	id := r.Confirmed(alice, to, "1", "SOL").ID
	r.Issue(r.Transaction(id).SignID)
	r.disconnects(alice) // rejects it
	if got := r.Transaction(id); got.Status != wallet.Rejected || got.Closed {
		t.Fatalf("the payment: %+v", got)
	}
	if err := r.erases(alice.User.ID); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("with bytes that may be signed: %v", err)
	}
}

// TestMoneyOnItsWayInIsNoPaymentOfOnes: nobody here signed it, so it is nothing that a freeze cannot stop, and keeps nobody from leaving.
func TestMoneyOnItsWayInIsNoPaymentOfOnes(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(4001, sol)
	r.Must(r.Update(func(tx store.Tx) error {
		return store.Create(tx, wallet.Transaction{ID: "tx_arriving", Kind: wallet.Receive, Status: wallet.Pending, Owner: alice.User.ID,
			From: r.Stranger(), To: alice.Address(), Token: wallet.SOL, Amount: 1, CreatedAt: r.Now()})
	}))
	if n := r.underway(alice.User.ID); n != 0 {
		t.Errorf("%d payments under way", n)
	}
	r.Must(r.erases(alice.User.ID))
}

// TestAWalletsEarlierOwnersPaymentsAreNotTheNewOwners: neither counted for them nor in their way.
func TestAWalletsEarlierOwnersPaymentsAreNotTheNewOwners(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(4001, 5*sol), r.rich(4002, sol)
	to := r.Stranger()
	r.Fund(to, sol)
	r.Signed(alice, to, "3", "SOL")
	r.Must(r.Update(func(tx store.Tx) error {
		w, err := tx.Wallet(alice.Address())
		if err != nil {
			return err
		}
		w.Claim = &wallet.Claim{User: bob.User.ID, Type: wallet.PageWallet, At: r.Now().Add(-handlers.ClaimWindow)}
		return tx.PutWallet(w)
	}))
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Wallets.TakeOver(tx, bob.User.ID, alice.Address())
		return err
	}))
	for who, want := range map[*world.Person]int{alice: 1, bob: 0} {
		if n := r.underway(who.User.ID); n != want {
			t.Errorf("%d payments of %d under way, not %d", n, who.User.TelegramID, want)
		}
	}
	if err := r.erases(alice.User.ID); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("the earlier owner: %v", err)
	}
	r.Must(r.erases(bob.User.ID))
}

// TestASuccessorHasWhatItsKeyHasWhenItIsMade, and not what that had when the rotation began.
func TestASuccessorHasWhatItsKeyHasWhenItIsMade(t *testing.T) {
	r := newHarness(t)
	key, _, err := r.Keys.Create(t.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.Must(err)
	next, err := r.Keys.PrepareRotation(t.Context(), key.ID)
	r.Must(err)
	_, err = r.Keys.SetTier(t.Context(), key.ID, wallet.FreeTier)
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Keys.CommitRotation(tx, key.ID, next, false); return err }))
	got, err := r.Keys.Check(t.Context(), r.Now(), next.Secret, wallet.APIKey)
	if err != nil || got.Tier != wallet.FreeTier || got.Lineage() != key.Lineage() || got.ID != next.Key.ID {
		t.Errorf("%+v, %v", got, err)
	}
}
