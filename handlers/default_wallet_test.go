package handlers_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// own connects another wallet to a person who has one.
func (r *harness) own(person wallet.UserID) wallet.Address {
	r.Helper()
	address := world.AddressOf(r.NewKey())
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: address, Owner: person, Type: wallet.PageWallet, ConnectedAt: r.Now()})
	}))
	return address
}

// changesTold is the data of the messages about a new default that wait for somebody, as "from > to" by last characters.
func (r *harness) changesTold(person wallet.UserID) (out []string) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		events, err := tx.PendingEvents(1000)
		out = nil
		for _, e := range events {
			if e.Name == wallet.DefaultChanged && e.User == person {
				out = append(out, string(e.Data))
			}
		}
		return err
	})
	return out
}

// TestPayersOfAPersonAreGivenThePreviousWalletForADay: by everything that gives an address to payers without naming a wallet.
func TestPayersOfAPersonAreGivenThePreviousWalletForADay(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	id, old := alice.User.ID, alice.Address()
	next := r.own(id)
	r.Must(r.Update(func(tx store.Tx) error { return r.Contacts.LetFind(tx, id, true) }))
	request := func(to wallet.Address) (handlers.PaymentRequest, error) {
		return r.Transfers.PrepareRequest(r.Context(), alice.Caller(), handlers.RequestFor{To: to, Amount: wallet.MustDecimal("1"), Token: wallet.TokenRef{Symbol: "SOL"}})
	}
	given := func(what string, want wallet.Address) {
		t.Helper()
		held, err := r.Wallets.Receiving(r.Context(), id)
		r.Must(err)
		picked, _, err := r.Contacts.Pick(r.Context(), 1001)
		r.Must(err)
		asked, err := request(wallet.Address{})
		r.Must(err)
		for door, got := range map[string]wallet.Address{"her address": held.Address, "somebody who picks her": picked, "her request": asked.Transaction.To} {
			if got != want {
				t.Errorf("%s: %s is given …%s, want …%s", what, door, got.Tail(), want.Tail())
			}
		}
	}
	given("before", old)
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Wallets.Use(tx, id, next.String()); return err }))
	given("at once", old)
	if w, err := r.Wallets.Default(r.Context(), id); err != nil || w.Address != next {
		t.Errorf("payments go out from …%s, %v", w.Address.Tail(), err)
	}
	if named, err := request(next); err != nil || named.Transaction.To != next {
		t.Errorf("a wallet that is named: …%s, %v", named.Transaction.To.Tail(), err)
	}
	if got, want := r.changesTold(id), []string{`{"to":"` + next.String() + `","from":"` + old.String() + `"}`}; !slices.Equal(got, want) {
		t.Errorf("told %s, want %s", got, want)
	}
	r.Pass(wallet.ReceivingDelay - time.Millisecond)
	given("just before the end", old)
	r.Pass(time.Millisecond)
	given("after a day", next)
}

// TestEachChangeOfTheDefaultIsTold: also those within one tick of the clock. One that is told again after a freeze says so.
func TestEachChangeOfTheDefaultIsTold(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	id, old := alice.User.ID, alice.Address()
	next := r.own(id)
	use := func(to wallet.Address) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error {
			_, err := r.Wallets.Use(tx, id, to.String())
			return err
		}))
	}
	use(next)
	use(old) // takes it back, which nothing waits for
	use(next)
	r.freeze(id)
	_, err := r.unfreeze(alice.User, alice.Key)
	r.Must(err)
	changed := `{"to":"` + next.String() + `","from":"` + old.String() + `"`
	if got, want := r.changesTold(id), []string{changed + "}", changed + "}", changed + `,"again":true}`}; !slices.Equal(got, want) {
		t.Errorf("told %s, want %s", got, want)
	}
}

// TestADisconnectedWalletRedirectsNobodysPayers: disconnecting the default, or what payers are given, is no way round the wait. Neither is a new first wallet.
func TestADisconnectedWalletRedirectsNobodysPayers(t *testing.T) {
	for name, other := range map[string]bool{"with another wallet": true, "with a wallet that is connected then": false} {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t)
			alice := r.rich(1001, sol)
			id, next := alice.User.ID, wallet.Address{}
			r.Must(r.Update(func(tx store.Tx) error { return r.Contacts.LetFind(tx, id, true) }))
			if other {
				next = r.own(id)
			}
			r.Must(r.Update(func(tx store.Tx) error {
				_, _, err := r.Wallets.Disconnect(tx, id, alice.Address().String())
				return err
			}))
			if !other {
				_, err := r.Wallets.Receiving(r.Context(), id)
				r.Refused(wallet.WalletNotFound, err)
				key := r.NewKey()
				r.Must(r.Prove(r.Link(alice.User), key))
				next = world.AddressOf(key)
				r.Must(r.Update(func(tx store.Tx) error {
					bind, err := tx.BindOf(id)
					if err != nil {
						return err
					}
					_, err = r.Wallets.Choose(tx, id, bind.Nonce, next)
					return err
				}))
			}
			if len(r.changesTold(id)) != 1 {
				t.Errorf("told %s", r.changesTold(id))
			}
			for _, freeze := range []bool{false, true} {
				if freeze {
					r.freeze(id)
				}
				_, err := r.Wallets.Receiving(r.Context(), id)
				r.Refused(wallet.PolicyViolation, err)
				_, err = r.Transfers.PrepareRequest(r.Context(), alice.Caller(), handlers.RequestFor{Amount: wallet.MustDecimal("1"), Token: wallet.TokenRef{Symbol: "SOL"}})
				r.Refused(wallet.PolicyViolation, err)
				// Who picks her learns nothing else than of somebody who cannot be found.
				_, _, err = r.Contacts.Pick(r.Context(), 1001)
				_, _, nobody := r.Contacts.Pick(r.Context(), 999)
				if err == nil || err.Error() != nobody.Error() {
					t.Errorf("who picks her is told %v", err)
				}
			}
			r.Must(r.Update(func(tx store.Tx) error {
				user, err := tx.User(id)
				if err != nil {
					return err
				}
				return tx.PutUser(user.Unfrozen(r.Now()))
			}))
			r.Pass(wallet.ReceivingDelay)
			if w, err := r.Wallets.Receiving(r.Context(), id); err != nil || w.Address != next {
				t.Errorf("after a day: …%s, %v", w.Address.Tail(), err)
			}
		})
	}
}

// TestAWalletOfSomebodyElseIsGivenToNoPayer: the previous default moved to another account during the wait.
func TestAWalletOfSomebodyElseIsGivenToNoPayer(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.meet(1002)
	next := r.own(alice.User.ID)
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Wallets.Use(tx, alice.User.ID, next.String()); return err }))
	r.Must(r.Update(func(tx store.Tx) error {
		moved, err := tx.Wallet(alice.Address())
		if err != nil {
			return err
		}
		moved.Owner = bob.ID
		return errors.Join(tx.DeleteWallet(moved.Address), tx.PutWallet(moved))
	}))
	_, err := r.Wallets.Receiving(r.Context(), alice.User.ID)
	r.Refused(wallet.PolicyViolation, err)
}

// TestTheDeviceOfThePreviousDefaultIsTold when it opens a payment of its own, for 30 days, and no other device is.
func TestTheDeviceOfThePreviousDefaultIsTold(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 10*sol)
	id := alice.User.ID
	next := r.own(id)
	told := func() time.Time {
		t.Helper()
		confirmed, err := r.Confirm(alice.Caller(), r.proposed(alice, r.Stranger(), "0.1"))
		r.Must(err)
		view, err := r.Signing.Get(r.Context(), confirmed.SignID)
		r.Must(err)
		return view.DefaultChangedAt
	}
	use := func(address wallet.Address) time.Time {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error { _, err := r.Wallets.Use(tx, id, address.String()); return err }))
		return r.Now()
	}
	if at := told(); !at.IsZero() {
		t.Errorf("before a change: %s", at)
	}
	waiting := r.proposed(alice, r.Stranger(), "0.2")
	at := use(next)
	confirmed, err := r.Confirm(alice.Caller(), waiting)
	r.Must(err)
	view, err := r.Signing.Get(r.Context(), confirmed.SignID)
	r.Must(err)
	if !view.DefaultChangedAt.Equal(at) {
		t.Errorf("a payment of the previous default: %s, want %s", view.DefaultChangedAt, at)
	}
	// A day later the default changes once more, and again: the first one's device is still told.
	third, fourth := r.own(id), r.own(id)
	for _, address := range []wallet.Address{third, fourth} {
		r.Pass(wallet.ReceivingDelay)
		use(address)
		if view, err = r.Signing.Get(r.Context(), confirmed.SignID); err != nil || !view.DefaultChangedAt.Equal(at) {
			t.Errorf("after another change: %s, %v", view.DefaultChangedAt, err)
		}
	}
	r.Pass(28*24*time.Hour - time.Millisecond)
	if view, err = r.Signing.Get(r.Context(), confirmed.SignID); err != nil || view.DefaultChangedAt.IsZero() {
		t.Errorf("within 30 days: %s, %v", view.DefaultChangedAt, err)
	}
	r.Pass(time.Millisecond)
	if view, err = r.Signing.Get(r.Context(), confirmed.SignID); err != nil || !view.DefaultChangedAt.IsZero() {
		t.Errorf("after 30 days: %s, %v", view.DefaultChangedAt, err)
	}
	use(r.own(id)) // a change between two other wallets
	if view, err = r.Signing.Get(r.Context(), confirmed.SignID); err != nil || !view.DefaultChangedAt.IsZero() {
		t.Errorf("a change of other wallets: %s, %v", view.DefaultChangedAt, err)
	}
	use(alice.Address())
	if at := told(); !at.IsZero() {
		t.Errorf("the default: %s", at)
	}
}
