package handlers_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// link opens a bind link for a user and returns its token.
func (r *rig) link(user wallet.User) string {
	r.Helper()
	l, err := r.wallets.PrepareLink(user)
	r.must(err)
	r.must(r.update(func(tx store.Tx) error { return r.wallets.CommitLink(tx, l) }))
	return l.Token
}

// prove signs the challenge of a link as the page does.
func (r *rig) prove(token string, key ed25519.PrivateKey) error {
	r.Helper()
	c, err := r.wallets.Challenge(context.Background(), token)
	if err != nil {
		return err
	}
	address := wallet.Address(key.Public().(ed25519.PublicKey))
	text := wallet.SignInText("wallet.example", "https://wallet.example", address, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	return r.wallets.Prove(context.Background(), token, wallet.PageWallet, address, wallet.Signature(ed25519.Sign(key, []byte(text))))
}

func (r *rig) bindOf(user wallet.UserID) wallet.Bind {
	r.Helper()
	var bind wallet.Bind
	r.must(r.store.View(context.Background(), func(tx store.Tx) error {
		var err error
		bind, err = tx.BindOf(user)
		return err
	}))
	return bind
}

func (r *rig) choose(user wallet.UserID, choice wallet.Address) (wallet.Wallet, error) {
	nonce := r.bindOf(user).Nonce
	var bound wallet.Wallet
	err := r.update(func(tx store.Tx) error {
		var err error
		bound, err = r.wallets.Choose(tx, user, nonce, choice)
		return err
	})
	return bound, err
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestWalletIsBoundByProofAndTheRightAnswer(t *testing.T) {
	r := newRig(t)
	alice := r.meet(1001)
	key := newKey(t)
	r.must(r.prove(r.link(alice), key))
	bind := r.bindOf(alice.ID)
	address := wallet.Address(key.Public().(ed25519.PublicKey))
	if bind.Status != wallet.BindProven || len(bind.Choices) != 3 || !slices.Contains(bind.Choices, address) {
		t.Fatalf("proven as %+v", bind)
	}
	bound, err := r.choose(alice.ID, address)
	if err != nil || bound.Address != address || bound.Owner != alice.ID {
		t.Fatalf("%+v, %v", bound, err)
	}
	mine, err := r.wallets.Default(context.Background(), alice.ID)
	if err != nil || mine.Address != address {
		t.Fatalf("the first wallet is not the default: %+v, %v", mine, err)
	}
	_, err = r.choose(alice.ID, address) // a second tap
	r.refused(wallet.NotFound, err)
}

func TestSecondWalletDoesNotBecomeTheDefault(t *testing.T) {
	r := newRig(t)
	alice := r.meet(1001)
	first, second := newKey(t), newKey(t)
	for _, key := range []ed25519.PrivateKey{first, second} {
		r.must(r.prove(r.link(alice), key))
		_, err := r.choose(alice.ID, wallet.Address(key.Public().(ed25519.PublicKey)))
		r.must(err)
	}
	mine, err := r.wallets.Default(context.Background(), alice.ID)
	if err != nil || mine.Address != wallet.Address(first.Public().(ed25519.PublicKey)) {
		t.Fatalf("the default is %+v, %v", mine, err)
	}
}

// Somebody tricked the owner into opening a page with the thief's key: one wrong answer ends it.
func TestWrongAnswerBindsNothingAndEndsTheAttempt(t *testing.T) {
	r := newRig(t)
	alice := r.meet(1001)
	key := newKey(t)
	address := wallet.Address(key.Public().(ed25519.PublicKey))
	r.must(r.prove(r.link(alice), key))
	bound, err := r.choose(alice.ID, wallet.Address{})
	if err != nil || !bound.Address.IsZero() {
		t.Fatalf("%+v, %v", bound, err)
	}
	_, err = r.choose(alice.ID, address)
	r.refused(wallet.NotFound, err)
	_, err = r.wallets.Default(context.Background(), alice.ID)
	r.refused(wallet.WalletNotFound, err)
}

func TestLinksWorkOnceInTimeAndAreReplaced(t *testing.T) {
	r := newRig(t)
	alice := r.meet(1001)
	used := r.link(alice)
	r.must(r.prove(used, newKey(t)))
	r.refused(wallet.NotFound, r.prove(used, newKey(t)))

	replaced := r.link(alice)
	newest := r.link(alice)
	r.refused(wallet.NotFound, r.prove(replaced, newKey(t)))
	r.now = r.now.Add(wallet.BindWindow - time.Second)
	_, err := r.wallets.Challenge(context.Background(), newest)
	r.must(err)
	r.now = r.now.Add(time.Second)
	r.refused(wallet.NotFound, r.prove(newest, newKey(t)))
	r.refused(wallet.NotFound, r.prove("nonsense", newKey(t)))
}

func TestProofOfAnotherKeyOrTextIsRefused(t *testing.T) {
	r := newRig(t)
	alice := r.meet(1001)
	token := r.link(alice)
	mine, other := newKey(t), newKey(t)
	c, err := r.wallets.Challenge(context.Background(), token)
	r.must(err)
	address := wallet.Address(mine.Public().(ed25519.PublicKey))
	text := func(host string, id int64) []byte {
		return []byte(wallet.SignInText(host, "https://"+host, address, wallet.TelegramAccount(id), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt))
	}
	for name, sig := range map[string][]byte{
		"another key":     ed25519.Sign(other, text("wallet.example", 1001)),
		"another site":    ed25519.Sign(mine, text("evil.example", 1001)),
		"another account": ed25519.Sign(mine, text("wallet.example", 1002)),
	} {
		if err := r.wallets.Prove(context.Background(), token, wallet.PageWallet, address, wallet.Signature(sig)); wallet.CodeOf(err) != wallet.InvalidSignature {
			t.Errorf("%s: %v", name, err)
		}
	}
	right := wallet.Signature(ed25519.Sign(mine, text("wallet.example", 1001)))
	r.must(r.wallets.Prove(context.Background(), token, wallet.PageWallet, address, right))
	r.must(r.wallets.Prove(context.Background(), token, wallet.PageWallet, address, right)) // the first answer was lost
	wrong := wallet.Signature(ed25519.Sign(other, text("wallet.example", 1001)))
	r.refused(wallet.InvalidSignature, r.wallets.Prove(context.Background(), token, wallet.PageWallet, address, wrong))
}

func TestAddressBelongsToOnePerson(t *testing.T) {
	r := newRig(t)
	alice := r.rich(1001, 0)
	bob, carol := r.meet(1002), r.meet(1003)
	r.refused(wallet.Conflict, r.prove(r.link(alice.user), alice.key))

	owner := func() wallet.UserID {
		t.Helper()
		var w wallet.Wallet
		r.must(r.store.View(context.Background(), func(tx store.Tx) error {
			var err error
			w, err = tx.Wallet(alice.address())
			return err
		}))
		return w.Owner
	}
	takeOver := func(who wallet.User) error {
		return r.update(func(tx store.Tx) error {
			_, err := r.wallets.TakeOver(tx, who.ID, alice.address())
			return err
		})
	}
	stop := func(who wallet.User) error {
		return r.update(func(tx store.Tx) error {
			_, err := r.wallets.StopClaim(tx, who.ID, alice.address())
			return err
		})
	}
	proves := func(who wallet.User) {
		t.Helper()
		r.must(r.prove(r.link(who), alice.key))
		if got, err := r.choose(who.ID, alice.address()); err != nil || got.Owner != "" || owner() != alice.user.ID {
			t.Fatalf("a proof of somebody else's address: %+v, %v, it is %s's", got, err, owner())
		}
	}
	r.refused(wallet.NotFound, takeOver(bob))
	proves(bob)
	r.refused(wallet.Conflict, takeOver(bob))
	r.refused(wallet.NotFound, takeOver(carol))
	r.refused(wallet.NotFound, stop(bob))
	r.must(stop(alice.user))
	r.now = r.now.Add(handlers.ClaimWindow)
	r.refused(wallet.NotFound, takeOver(bob))

	proves(bob)
	r.now = r.now.Add(handlers.ClaimWindow - time.Second)
	r.refused(wallet.Conflict, takeOver(bob))
	proves(carol) // the day begins anew, for her
	r.now = r.now.Add(time.Second)
	r.refused(wallet.NotFound, takeOver(bob))
	r.refused(wallet.Conflict, takeOver(carol))
	r.now = r.now.Add(handlers.ClaimWindow)
	r.must(takeOver(carol))
	if owner() != carol.ID {
		t.Errorf("it is %s's", owner())
	}
	r.refused(wallet.NotFound, takeOver(carol))
	r.refused(wallet.NotFound, stop(alice.user))
}

func TestMeetFollowsNamesAndKeepsThePerson(t *testing.T) {
	r := newRig(t)
	first := r.meet(1001)
	var again wallet.User
	var isNew bool
	r.must(r.update(func(tx store.Tx) error {
		var err error
		again, isNew, err = r.users.Meet(tx, handlers.Person{TelegramID: 1001, FirstName: "Alicia", Username: "alicia"})
		return err
	}))
	if isNew || again.ID != first.ID || again.FirstName != "Alicia" || again.RegisteredAt != first.RegisteredAt {
		t.Fatalf("%+v became %+v", first, again)
	}
}
