package handlers_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

func (r *harness) choose(user wallet.UserID, choice wallet.Address) (wallet.Wallet, error) {
	nonce := r.bindOf(user).Nonce
	var bound wallet.Wallet
	err := r.Update(func(tx store.Tx) error {
		var err error
		bound, err = r.Wallets.Choose(tx, user, nonce, choice)
		return err
	})
	return bound, err
}

func TestWalletIsBoundByProofAndTheRightAnswer(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	key := r.NewKey()
	r.Must(r.Prove(r.Link(alice), key))
	bind := r.bindOf(alice.ID)
	address := world.AddressOf(key)
	if bind.Status != wallet.BindProven || len(bind.Choices) != 3 || !slices.Contains(bind.Choices, address) {
		t.Fatalf("proven as %+v", bind)
	}
	bound, err := r.choose(alice.ID, address)
	if err != nil || bound.Address != address || bound.Owner != alice.ID {
		t.Fatalf("%+v, %v", bound, err)
	}
	// Bot webhooks know people by their chat.
	r.Must(r.Store.View(context.Background(), func(tx store.Tx) error {
		told, err := tx.PendingEvents(100)
		var data wallet.WalletConnectedData
		if last := told[len(told)-1]; last.Name != wallet.WalletConnected || json.Unmarshal(last.Data, &data) != nil || data.ChatID != "1001" || data.WalletAddress != address {
			t.Errorf("told as %s %s", last.Name, last.Data)
		}
		return err
	}))
	mine, err := r.Wallets.Default(context.Background(), alice.ID)
	if err != nil || mine.Address != address {
		t.Fatalf("the first wallet is not the default: %+v, %v", mine, err)
	}
	_, err = r.choose(alice.ID, address) // a second tap
	r.Refused(wallet.NotFound, err)
}

func TestSecondWalletDoesNotBecomeTheDefault(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	first, second := r.NewKey(), r.NewKey()
	for _, key := range []ed25519.PrivateKey{first, second} {
		r.Must(r.Prove(r.Link(alice), key))
		_, err := r.choose(alice.ID, world.AddressOf(key))
		r.Must(err)
	}
	mine, err := r.Wallets.Default(context.Background(), alice.ID)
	if err != nil || mine.Address != world.AddressOf(first) {
		t.Fatalf("the default is %+v, %v", mine, err)
	}
}

// Somebody tricked the owner into opening a page with the thief's key: one wrong answer ends it.
func TestWrongAnswerBindsNothingAndEndsTheAttempt(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	key := r.NewKey()
	address := world.AddressOf(key)
	r.Must(r.Prove(r.Link(alice), key))
	bound, err := r.choose(alice.ID, wallet.Address{})
	if err != nil || !bound.Address.IsZero() {
		t.Fatalf("%+v, %v", bound, err)
	}
	_, err = r.choose(alice.ID, address)
	r.Refused(wallet.NotFound, err)
	_, err = r.Wallets.Default(context.Background(), alice.ID)
	r.Refused(wallet.WalletNotFound, err)
}

func TestLinksWorkOnceInTimeAndAreReplaced(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	used := r.Link(alice)
	r.Must(r.Prove(used, r.NewKey()))
	r.Refused(wallet.NotFound, r.Prove(used, r.NewKey()))

	replaced := r.Link(alice)
	newest := r.Link(alice)
	r.Refused(wallet.NotFound, r.Prove(replaced, r.NewKey()))
	r.Pass(wallet.BindWindow - time.Second)
	_, err := r.Wallets.Challenge(context.Background(), newest)
	r.Must(err)
	r.Pass(time.Second)
	r.Refused(wallet.NotFound, r.Prove(newest, r.NewKey()))
	r.Refused(wallet.NotFound, r.Prove("nonsense", r.NewKey()))
}

func TestProofOfAnotherKeyOrTextIsRefused(t *testing.T) {
	r := newHarness(t)
	alice := r.meet(1001)
	token := r.Link(alice)
	mine, other := r.NewKey(), r.NewKey()
	c, err := r.Wallets.Challenge(context.Background(), token)
	r.Must(err)
	address := world.AddressOf(mine)
	text := func(host string, id int64) []byte {
		return []byte(wallet.SignInText(host, "https://"+host, address, wallet.TelegramAccount(id), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt))
	}
	for name, sig := range map[string][]byte{
		"another key":     ed25519.Sign(other, text("wallet.example", 1001)),
		"another site":    ed25519.Sign(mine, text("evil.example", 1001)),
		"another account": ed25519.Sign(mine, text("wallet.example", 1002)),
	} {
		if err := r.Wallets.Prove(context.Background(), token, wallet.PageWallet, address, wallet.Signature(sig)); wallet.CodeOf(err) != wallet.InvalidSignature {
			t.Errorf("%s: %v", name, err)
		}
	}
	right := wallet.Signature(ed25519.Sign(mine, text("wallet.example", 1001)))
	r.Must(r.Wallets.Prove(context.Background(), token, wallet.PageWallet, address, right))
	r.Must(r.Wallets.Prove(context.Background(), token, wallet.PageWallet, address, right)) // the first answer was lost
	wrong := wallet.Signature(ed25519.Sign(other, text("wallet.example", 1001)))
	r.Refused(wallet.InvalidSignature, r.Wallets.Prove(context.Background(), token, wallet.PageWallet, address, wrong))
}

func TestAddressBelongsToOnePerson(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, 0)
	bob, carol := r.meet(1002), r.meet(1003)
	r.Refused(wallet.Conflict, r.Prove(r.Link(alice.User), alice.Key))

	owner := func() wallet.UserID {
		t.Helper()
		var w wallet.Wallet
		r.View(func(tx store.Tx) error {
			var err error
			w, err = tx.Wallet(alice.Address())
			return err
		})
		return w.Owner
	}
	takeOver := func(who wallet.User) error {
		return r.Update(func(tx store.Tx) error {
			_, err := r.Wallets.TakeOver(tx, who.ID, alice.Address())
			return err
		})
	}
	stop := func(who wallet.User) error {
		return r.Update(func(tx store.Tx) error {
			err := r.Wallets.StopClaim(tx, who.ID, alice.Address())
			return err
		})
	}
	proves := func(who wallet.User) {
		t.Helper()
		r.Must(r.Prove(r.Link(who), alice.Key))
		if got, err := r.choose(who.ID, alice.Address()); err != nil || got.Owner != "" || owner() != alice.User.ID {
			t.Fatalf("a proof of somebody else's address: %+v, %v, it is %s's", got, err, owner())
		}
	}
	r.Refused(wallet.NotFound, takeOver(bob))
	proves(bob)
	r.Refused(wallet.Conflict, takeOver(bob))
	r.Refused(wallet.NotFound, takeOver(carol))
	r.Refused(wallet.NotFound, stop(bob))
	r.Must(stop(alice.User))
	r.Pass(handlers.ClaimWindow)
	r.Refused(wallet.NotFound, takeOver(bob))

	proves(bob)
	r.Pass(handlers.ClaimWindow - time.Second)
	r.Refused(wallet.Conflict, takeOver(bob))
	proves(carol) // the day begins again, for her
	r.Pass(time.Second)
	r.Refused(wallet.NotFound, takeOver(bob))
	r.Refused(wallet.Conflict, takeOver(carol))
	r.Pass(handlers.ClaimWindow)
	r.Must(takeOver(carol))
	if owner() != carol.ID {
		t.Errorf("it is %s's", owner())
	}
	r.Refused(wallet.NotFound, takeOver(carol))
	r.Refused(wallet.NotFound, stop(alice.User))
}

func TestMeetFollowsNamesAndKeepsThePerson(t *testing.T) {
	r := newHarness(t)
	first := r.meet(1001)
	var again wallet.User
	var isNew bool
	r.Must(r.Update(func(tx store.Tx) error {
		var err error
		again, isNew, err = r.Users.Upsert(tx, handlers.Person{TelegramID: 1001, FirstName: "Alicia", Username: "alicia"})
		return err
	}))
	if isNew || again.ID != first.ID || again.FirstName != "Alicia" || again.RegisteredAt != first.RegisteredAt {
		t.Fatalf("%+v became %+v", first, again)
	}
}

// TestNobodyProvesAnAddressThatAllCanSignFor: of small order, a signature over anything is easily found.
func TestNobodyProvesAnAddressThatAllCanSignFor(t *testing.T) {
	r := newHarness(t)
	who := r.meet(1001)
	weak := wallet.Address{1} // the neutral element
	// R and S that fit every message: R = S·B - k·A = O for S = 0.
	sig := wallet.Signature{1}
	err := r.Wallets.Prove(context.Background(), r.Link(who), wallet.PageWallet, weak, sig)
	if code := wallet.CodeOf(err); code != wallet.InvalidSignature && code != wallet.InvalidRequest {
		t.Errorf("proven: %v", err)
	}
}

// TestOpenTransactionsAreOfAllWallets: a payment from a wallet that is not the default one is as open as any other.
func TestOpenTransactionsAreOfAllWallets(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, 5*sol), r.rich(1002, sol)
	other := r.Stranger()
	r.Must(r.Update(func(tx store.Tx) error {
		err := tx.PutWallet(wallet.Wallet{Address: other, Owner: alice.User.ID})
		for id, from := range map[wallet.TransactionID]wallet.Address{"tx_default": alice.Address(), "tx_other": other, "tx_bobs": bob.Address()} {
			err = errors.Join(err, store.Create(tx, wallet.Transaction{ID: id, Kind: wallet.Send, Status: wallet.AwaitingConfirmation, Owner: alice.User.ID,
				From: from, To: r.Stranger(), Token: wallet.SOL, Amount: 1, CreatedAt: r.Now(), Deadline: r.Now().Add(time.Minute)}))
		}
		return err
	}))
	var open []string
	r.View(func(tx store.Tx) error {
		all, err := handlers.OpenTransactions(tx, alice.User.ID)
		for _, found := range all {
			open = append(open, string(found.ID))
		}
		return err
	})
	slices.Sort(open)
	if !slices.Equal(open, []string{"tx_default", "tx_other"}) {
		t.Errorf("open: %v", open)
	}
}
