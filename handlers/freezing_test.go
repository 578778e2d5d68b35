package handlers_test

import (
	"crypto/ed25519"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// freeze freezes somebody's account.
func (r *harness) freeze(person wallet.UserID) wallet.Freeze {
	r.Helper()
	var f wallet.Freeze
	r.Must(r.Update(func(tx store.Tx) (err error) {
		f, err = r.Freezing.Freeze(tx, person, wallet.FrozenInChat, 7)
		return err
	}))
	return f
}

// TestWhatWasPreparedBeforeAFreezeIsNotCommitted: every operation looks again in its own transaction.
func TestWhatWasPreparedBeforeAFreezeIsNotCommitted(t *testing.T) {
	r := newHarness(t)
	alice, bob, carol := r.rich(1001, 10*sol), r.rich(1002, 10*sol), r.rich(1003, 10*sol)
	key, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1001})
	r.Must(err)
	shop, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: 1002, App: "Shop"})
	r.Must(err)
	app, asks := handlers.CallerOf(shop), wallet.Grantable(shop.Kind, shop.Scopes)
	r.Must(r.Update(func(tx store.Tx) error {
		return r.Apps.Allow(tx, alice.User.ID, shop.App, asks, asks)
	}))

	req, err := world.SendRequest(bob.Address().String(), "1", "SOL")
	r.Must(err)
	// A wallet whose key her own program holds: no Confirm stands between the proposal and its signature.
	program := world.AddressOf(r.NewKey())
	r.Fund(program, 10*sol)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWallet(wallet.Wallet{Address: program, Owner: alice.User.ID, Type: wallet.DeveloperWallet, ConnectedAt: r.Now(), KeyLineage: key.Lineage()})
	}))
	from := alice.Address()
	ask := func(who handlers.Caller) handlers.Proposal {
		one := req
		one.From = from
		p, err := r.Transfers.Prepare(r.Context(), who, one)
		r.Must(err)
		return p
	}
	own, ofKey, ofApp := ask(alice.Caller()), ask(handlers.CallerOf(key)), ask(app)
	from = program
	signs := ask(handlers.CallerOf(key))
	waits := r.proposed(alice, bob.Address(), "1")
	confirm, err := r.Transfers.PrepareConfirm(r.Context(), alice.Caller(), waits, "")
	r.Must(err)
	link, err := r.Wallets.PrepareLink(alice.User)
	r.Must(err)
	rotation, err := r.Keys.PrepareRotation(r.Context(), key.ID)
	r.Must(err)
	// Alice's address was proven by Carol a day ago, and Carol's by Alice.
	r.Must(r.Prove(r.Link(carol.User), alice.Key))
	r.Must(r.Prove(r.Link(alice.User), carol.Key))
	for _, who := range []*world.Person{alice, carol} {
		bind := r.bindOf(who.User.ID)
		r.Must(r.Update(func(tx store.Tx) error {
			_, err := r.Wallets.Choose(tx, who.User.ID, bind.Nonce, bind.Address)
			return err
		}))
	}
	r.Pass(handlers.ClaimWindow)
	// A proof of hers waits for her answer.
	fresh := r.NewKey()
	r.Must(r.Prove(r.Link(alice.User), fresh))
	proven := r.bindOf(alice.User.ID)

	r.freeze(alice.User.ID)
	r.Must(r.Update(func(tx store.Tx) error { // as if the attempt had not been ended with the freeze
		proven.Status = wallet.BindProven
		return tx.PutBind(proven)
	}))

	policy, keyID := wallet.PolicyViolation, key.ID
	for what, try := range map[string]struct {
		code wallet.Code
		do   func(store.Tx) error
	}{
		"a proposal":               {policy, func(tx store.Tx) error { return r.Transfers.Commit(tx, own) }},
		"a proposal of a key":      {policy, func(tx store.Tx) error { _, err := r.Transfers.CommitByProgram(tx, ofKey); return err }},
		"one that a program signs": {policy, func(tx store.Tx) error { _, err := r.Transfers.CommitByProgram(tx, signs); return err }},
		"a proposal of an app":     {policy, func(tx store.Tx) error { _, err := r.Transfers.CommitByProgram(tx, ofApp); return err }},
		"a Confirm":                {policy, func(tx store.Tx) error { _, err := r.Transfers.CommitConfirm(tx, confirm); return err }},
		"a link to connect":        {policy, func(tx store.Tx) error { return r.Wallets.CommitLink(tx, link) }},
		"an answer to a proof": {policy, func(tx store.Tx) error {
			_, err := r.Wallets.Choose(tx, alice.User.ID, proven.Nonce, proven.Address)
			return err
		}},
		"another default": {policy, func(tx store.Tx) error {
			_, err := r.Wallets.Use(tx, alice.User.ID, alice.Address().String())
			return err
		}},
		"a disconnection": {policy, func(tx store.Tx) error {
			_, _, err := r.Wallets.Disconnect(tx, alice.User.ID, alice.Address().String())
			return err
		}},
		"one over HTTP": {policy, func(tx store.Tx) error {
			_, err := r.Wallets.DisconnectOwn(tx, handlers.CallerOf(key), alice.Address())
			return err
		}},
		"her address moves away": {wallet.Conflict, func(tx store.Tx) error { _, err := r.Wallets.TakeOver(tx, carol.User.ID, alice.Address()); return err }},
		"an address moves to her": {policy, func(tx store.Tx) error {
			_, err := r.Wallets.TakeOver(tx, alice.User.ID, carol.Address())
			return err
		}},
		"a grant": {policy, func(tx store.Tx) error {
			return r.Apps.Allow(tx, alice.User.ID, shop.App, asks, asks[:1])
		}},
		"a rotation":          {policy, func(tx store.Tx) error { _, err := r.Keys.CommitRotation(tx, keyID, rotation, false); return err }},
		"a portal link":       {policy, func(tx store.Tx) error { return r.Portal.Offer(tx, "token", key) }},
		"erasing":             {policy, func(tx store.Tx) error { return r.Users.Erase(tx, alice.User.ID) }},
		"a recovery link":     {policy, func(tx store.Tx) error { _, err := r.Freezing.NewLink(tx, alice.User.ID); return err }},
		"a link by a program": {policy, func(tx store.Tx) error { return r.People.OfferLink(tx, app, alice.User.ID) }},
		"an end without a device": {policy, func(tx store.Tx) error {
			_, err := r.Freezing.EndWithoutWallet(tx, alice.User.ID)
			return err
		}},
	} {
		if err := r.Update(try.do); wallet.CodeOf(err) != try.code {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A claim may still be stopped: that keeps the address where it is.
	r.Must(r.Update(func(tx store.Tx) error { return r.Wallets.StopClaim(tx, alice.User.ID, alice.Address()) }))
	// Others are not affected.
	if got := r.Propose(bob, carol.Address(), "1", "SOL"); got.Status != wallet.AwaitingConfirmation {
		t.Errorf("another's proposal is %s", got.Status)
	}
}

// TestAFreezeAgainKeepsItsBeginningAndEndsTheDelay: of a person without a wallet.
func TestAFreezeAgainKeepsItsBeginningAndEndsTheDelay(t *testing.T) {
	r := newHarness(t)
	user := r.meet(1001)
	end := func() (from time.Time) {
		r.Must(r.Update(func(tx store.Tx) (err error) { from, err = r.Freezing.EndWithoutWallet(tx, user.ID); return err }))
		return from
	}
	first := r.freeze(user.ID)
	r.Pass(time.Hour)
	if from := end(); !from.Equal(r.Now().Add(wallet.UnfreezeDelay)) {
		t.Errorf("it ends %s", from)
	}
	if again := r.freeze(user.ID); !again.At.Equal(first.At) || !again.EndsFrom.IsZero() {
		t.Errorf("again it is %+v", again)
	}
	r.Pass(wallet.UnfreezeDelay)
	if from := end(); !from.Equal(r.Now().Add(wallet.UnfreezeDelay)) {
		t.Errorf("the delay that was ended counts: it ends %s", from)
	}
	r.Pass(wallet.UnfreezeDelay - time.Second)
	if from := end(); from.IsZero() {
		t.Error("it ended a second early")
	}
	r.Pass(time.Second)
	if from := end(); !from.IsZero() {
		t.Errorf("it ends %s", from)
	}
	r.View(func(tx store.Tx) error {
		if user, err := tx.User(user.ID); err != nil || user.Freeze != nil {
			t.Errorf("it is frozen: %+v, %v", user.Freeze, err)
		}
		return nil
	})
	if err := r.Update(func(tx store.Tx) error { _, err := r.Freezing.EndWithoutWallet(tx, user.ID); return err }); wallet.CodeOf(err) != wallet.Conflict {
		t.Errorf("an account that is not frozen: %v", err)
	}
	r.Refused(wallet.Conflict, r.Update(func(tx store.Tx) error { _, _, err := r.Freezing.NewUnfreezeLink(tx, user.ID); return err }))
}

// TestAFreezeEndsTheAttemptToConnectAndIsToldOnce: a link that is open connects nothing, and one event says so.
func TestAFreezeEndsTheAttemptToConnectAndIsToldOnce(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	link := r.Link(alice.User)
	r.freeze(alice.User.ID)
	r.freeze(alice.User.ID)
	if bind := r.bindOf(alice.User.ID); !bind.Ended() {
		t.Errorf("the attempt is %s", bind.Status)
	}
	r.Refused(wallet.PolicyViolation, r.Prove(link, r.NewKey()))
	told := func(name wallet.EventName) (n int) {
		r.View(func(tx store.Tx) error {
			events, err := tx.PendingEvents(1000)
			for _, e := range events {
				if e.Name == name && e.User == alice.User.ID {
					n++
				}
			}
			return err
		})
		return n
	}
	if n := told(wallet.AccountFrozen); n != 1 {
		t.Errorf("it was told %d times", n)
	}
	token, l := r.unfreezeLink(alice.User.ID)
	u := r.Freezing.PublicURL
	text := wallet.UnfreezeText(u.Host, u.Scheme+"://"+u.Host, alice.Address(), wallet.TelegramAccount(1001), r.Freezing.Cluster, l.Nonce, l.IssuedAt, l.ExpiresAt)
	for range 2 {
		r.Must(r.Freezing.Unfreeze(r.Context(), token, alice.Address(), wallet.Signature(ed25519.Sign(alice.Key, []byte(text)))))
	}
	if n := told(wallet.AccountUnfrozen); n != 1 {
		t.Errorf("its end was told %d times", n)
	}
	// The attempt stays ended.
	r.Refused(wallet.NotFound, r.Prove(link, r.NewKey()))
}

// TestAFreezeAndItsEndAreLogged: once each, with how it began, and whose wallet ended it.
func TestAFreezeAndItsEndAreLogged(t *testing.T) {
	r := newHarness(t)
	alice, poor := r.rich(1001, sol), r.meet(1002)
	n := len(r.logOf(alice.User.ID))
	r.freeze(alice.User.ID)
	n = r.logs("a freeze in chat", alice.User.ID, n, "account.frozen chat")
	r.freeze(alice.User.ID)
	n = r.logs("another one", alice.User.ID, n)
	token, l := r.unfreezeLink(alice.User.ID)
	u := r.Freezing.PublicURL
	text := wallet.UnfreezeText(u.Host, u.Scheme+"://"+u.Host, alice.Address(), wallet.TelegramAccount(1001), r.Freezing.Cluster, l.Nonce, l.IssuedAt, l.ExpiresAt)
	for range 2 {
		r.Must(r.Freezing.Unfreeze(r.Context(), token, alice.Address(), wallet.Signature(ed25519.Sign(alice.Key, []byte(text)))))
	}
	n = r.logs("its end", alice.User.ID, n, "account.unfrozen …"+alice.Address().Tail())

	var recovery string
	r.Must(r.Update(func(tx store.Tx) (err error) { recovery, err = r.Freezing.NewLink(tx, alice.User.ID); return err }))
	for range 2 {
		_, err := r.Freezing.FreezeByLink(r.Context(), recovery)
		r.Must(err)
	}
	r.logs("the recovery link", alice.User.ID, n, "account.frozen link")

	r.freeze(poor.ID)
	for range 2 {
		r.Must(r.Update(func(tx store.Tx) error { _, err := r.Freezing.EndWithoutWallet(tx, poor.ID); return err }))
		r.Pass(wallet.UnfreezeDelay)
	}
	r.logs("an end without a wallet", poor.ID, 0, "account.frozen chat", "account.unfrozen")
}

// unfreezeLink is a new link to unfreeze.
func (r *harness) unfreezeLink(person wallet.UserID) (token string, link wallet.FreezeLink) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) (err error) { token, link, err = r.Freezing.NewUnfreezeLink(tx, person); return err }))
	return token, link
}

// TestAFreezeRejectsADelayedPayment: it was confirmed, and nobody has signed it. Its funds are free again.
func TestAFreezeRejectsADelayedPayment(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 10*sol), r.rich(1002, sol)
	r.World.Delayed(time.Hour)
	waits, err := r.Confirm(alice.Caller(), r.proposed(alice, bob.Address(), "1"))
	r.Must(err)
	if waits.Status != wallet.Delayed {
		t.Fatalf("it is %s: the test is broken", waits.Status)
	}
	r.freeze(alice.User.ID)
	if got := r.Transaction(waits.ID); got.Status != wallet.Rejected || got.ErrorReason.Key != "failed_because.frozen" || !got.Closed {
		t.Errorf("it is %s because of %s", got.Status, got.ErrorReason)
	}
}
