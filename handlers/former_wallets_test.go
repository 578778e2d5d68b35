package handlers_test

import (
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// unfreeze signs a new link to unfreeze with a key.
func (r *harness) unfreeze(person wallet.User, key ed25519.PrivateKey) (again func() error, _ error) {
	r.Helper()
	token, l := r.unfreezeLink(person.ID)
	u := r.Freezing.PublicURL
	text := wallet.UnfreezeText(u.Host, u.Scheme+"://"+u.Host, world.AddressOf(key), wallet.TelegramAccount(person.TelegramID), r.Freezing.Cluster, l.Nonce, l.IssuedAt, l.ExpiresAt)
	again = func() error {
		return r.Freezing.Unfreeze(r.Context(), token, world.AddressOf(key), wallet.Signature(ed25519.Sign(key, []byte(text))))
	}
	challenge, err := r.Freezing.UnfreezeChallenge(r.Context(), token)
	r.Must(err)
	listed := false
	for _, w := range challenge.Wallets {
		listed = listed || w.Address == world.AddressOf(key)
	}
	err = again()
	if listed != (err == nil) {
		r.Errorf("the wallet is listed: %t, and its signature: %v", listed, err)
	}
	return again, err
}

// frozen reports whether somebody's account is frozen.
func (r *harness) frozen(person wallet.UserID) bool {
	r.Helper()
	var user wallet.User
	r.View(func(tx store.Tx) (err error) { user, err = tx.User(person); return err })
	return user.Freeze != nil
}

// TestDisconnectingAllWalletsDoesNotEndAFreeze: neither in chat nor with a key, and not by moving them. The owner's device still can.
func TestDisconnectingAllWalletsDoesNotEndAFreeze(t *testing.T) {
	type account struct {
		*harness
		*world.Person
		key wallet.Key
	}
	for name, attack := range map[string]func(account){
		"in chat": func(a account) {
			a.Must(a.Update(func(tx store.Tx) error {
				_, _, err := a.Wallets.Disconnect(tx, a.User.ID, a.Address().String())
				return err
			}))
		},
		"with a key": func(a account) {
			a.Must(a.Update(func(tx store.Tx) error {
				_, err := a.Wallets.DisconnectOwn(tx, handlers.CallerOf(a.key), a.Address())
				return err
			}))
		},
		"moved to another account": func(a account) {
			thief := a.meet(1002)
			a.Must(a.Prove(a.Link(thief), a.Key))
			bind := a.bindOf(thief.ID)
			a.Must(a.Update(func(tx store.Tx) error {
				_, err := a.Wallets.Choose(tx, thief.ID, bind.Nonce, bind.Address)
				return err
			}))
			a.Pass(handlers.ClaimWindow)
			a.Must(a.Update(func(tx store.Tx) error { _, err := a.Wallets.TakeOver(tx, thief.ID, a.Address()); return err }))
		},
		"and another account holds the key": func(a account) {
			other := a.meet(1003)
			a.Must(a.Update(func(tx store.Tx) error {
				_, _, err := a.Wallets.Disconnect(tx, a.User.ID, a.Address().String())
				return errors.Join(err, tx.PutWallet(wallet.Wallet{Address: a.Address(), Owner: other.ID, Type: wallet.PageWallet, ConnectedAt: a.Now()}))
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			alice := r.rich(1001, sol)
			id := alice.User.ID
			key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
			r.Must(err)
			r.Pass(time.Hour)
			attack(account{r, alice, key})
			r.View(func(tx store.Tx) error {
				if all, err := tx.WalletsOf(id); err != nil || len(all) != 0 {
					t.Fatalf("%v, %v: the test is broken", all, err)
				}
				return nil
			})
			r.Pass(time.Hour)
			r.freeze(id)
			end := func() error {
				return r.Update(func(tx store.Tx) error { _, err := r.Freezing.EndWithoutWallet(tx, id); return err })
			}
			r.Refused(wallet.PolicyViolation, end())
			r.Pass(40 * 24 * time.Hour) // a long freeze, in which they write
			r.Meet(alice)
			r.Refused(wallet.PolicyViolation, end())
			if !r.frozen(id) {
				t.Fatal("the freeze ended from the chat alone")
			}
			if _, err := r.unfreeze(alice.User, r.NewKey()); wallet.CodeOf(err) != wallet.PolicyViolation {
				t.Errorf("a wallet that was never theirs: %v", err)
			}
			again, err := r.unfreeze(alice.User, alice.Key)
			r.Must(err)
			r.Must(again()) // the response was lost
			if r.frozen(id) {
				t.Error("still frozen")
			}
		})
	}
}

// TestAfter31DaysAFormerWalletIsForgotten: then there is no device, and it takes 24 hours.
func TestAfter31DaysAFormerWalletIsForgotten(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	id := alice.User.ID
	r.Must(r.Update(func(tx store.Tx) error {
		_, _, err := r.Wallets.Disconnect(tx, id, alice.Address().String())
		return err
	}))
	former := func() (n int) {
		r.View(func(tx store.Tx) error { user, err := tx.User(id); n = len(user.FormerWallets); return err })
		return n
	}
	r.Pass(29 * 24 * time.Hour)
	r.Meet(alice)
	if former() != 1 {
		t.Error("forgotten too early")
	}
	r.Pass(2 * 24 * time.Hour)
	r.freeze(id)
	if _, err := r.unfreeze(alice.User, alice.Key); wallet.CodeOf(err) != wallet.PolicyViolation {
		t.Errorf("after 31 days: %v", err)
	}
	for range 2 {
		r.Must(r.Update(func(tx store.Tx) error { _, err := r.Freezing.EndWithoutWallet(tx, id); return err }))
		r.Pass(wallet.UnfreezeDelay)
	}
	if r.frozen(id) {
		t.Error("still frozen")
	}
	if former() != 1 {
		t.Error("the test is broken")
	}
	r.Meet(alice)
	if former() != 0 {
		t.Error("it is still remembered")
	}
}

// TestAThiefsFormerWalletEndsNoFreeze: one that was connected after it, by whatever hole, and one that the owner removed before it.
func TestAThiefsFormerWalletEndsNoFreeze(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	id := alice.User.ID
	r.Pass(time.Hour)
	removed, later := r.NewKey(), r.NewKey()
	connect := func(tx store.Tx, key ed25519.PrivateKey) error {
		return tx.PutWallet(wallet.Wallet{Address: world.AddressOf(key), Owner: id, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}
	disconnect := func(tx store.Tx, key ed25519.PrivateKey) error {
		_, _, err := r.Wallets.Disconnect(tx, id, world.AddressOf(key).String())
		return err
	}
	r.Must(r.Update(func(tx store.Tx) error { return connect(tx, removed) }))
	r.Must(r.Update(func(tx store.Tx) error { return disconnect(tx, removed) }))
	frozen := r.freeze(id)
	r.Pass(time.Minute)
	r.Must(r.Update(func(tx store.Tx) error { // the hole
		user, err := tx.User(id)
		if err != nil {
			return err
		}
		user.Freeze = nil
		if err := errors.Join(tx.PutUser(user), connect(tx, later), disconnect(tx, later)); err != nil {
			return err
		}
		if user, err = tx.User(id); err != nil {
			return err
		}
		user.Freeze = &frozen
		return tx.PutUser(user)
	}))
	for what, key := range map[string]ed25519.PrivateKey{"one that the owner removed": removed, "one connected after the freeze": later} {
		if _, err := r.unfreeze(alice.User, key); wallet.CodeOf(err) != wallet.PolicyViolation || !r.frozen(id) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := r.unfreeze(alice.User, alice.Key)
	r.Must(err)
}

// TestFormerWalletsAreErasedWithThePerson: whoever registers again has none.
func TestFormerWalletsAreErasedWithThePerson(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	r.Must(r.Update(func(tx store.Tx) error {
		_, _, err := r.Wallets.Disconnect(tx, alice.User.ID, alice.Address().String())
		return err
	}))
	r.Must(r.Update(func(tx store.Tx) error { return r.Users.Erase(tx, alice.User.ID) }))
	r.Meet(alice)
	r.freeze(alice.User.ID)
	if _, err := r.unfreeze(alice.User, alice.Key); wallet.CodeOf(err) != wallet.PolicyViolation || len(alice.User.FormerWallets) != 0 {
		t.Errorf("a wallet of the erased account: %v", err)
	}
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Freezing.EndWithoutWallet(tx, alice.User.ID); return err }))
}

// TestAnOperatorsWalletIsDisconnected: it belongs to nobody, so nobody's former wallets have it.
func TestAnOperatorsWalletIsDisconnected(t *testing.T) {
	r := newHarness(t)
	key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier})
	r.Must(err)
	address := world.AddressOf(r.NewKey())
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: address, Type: wallet.DeveloperWallet, ConnectedAt: r.Now(), KeyLineage: key.Lineage()})
	}))
	r.Must(r.Update(func(tx store.Tx) error {
		_, err := r.Wallets.DisconnectOwn(tx, handlers.CallerOf(key), address)
		return err
	}))
	r.View(func(tx store.Tx) error {
		if _, err := tx.Wallet(address); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("it is still connected: %v", err)
		}
		return nil
	})
}
