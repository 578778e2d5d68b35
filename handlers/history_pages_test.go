package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestAListThatIsUsedUpHoldsBackTheOthers: what comes next in it could be newer.
func TestAListThatIsUsedUpHoldsBackTheOthers(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	second := &world.Person{TelegramID: 1001, FirstName: "Alice", User: alice.User, Key: r.NewKey()}
	r.Connect(second)
	node := newScripted()
	r.History.Chain = node
	// 60 payments of purser's own, which are listed as such, then one of the other wallet between two of this one.
	for i := range 62 {
		at := r.Now().Add(-time.Duration(i) * time.Minute)
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: at, Finalized: true})
		if i < 60 {
			r.Must(r.Update(func(tx store.Tx) error {
				return tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_%04d", i)), Kind: wallet.Send, Status: wallet.Confirmed, Closed: true,
					Owner: alice.User.ID, From: alice.Address(), To: wallet.Address{9}, Token: wallet.SOL, Amount: 1, Signature: numbered(i), CreatedAt: at})
			}))
		}
	}
	node.entries[second.Address()] = []wallet.SignatureEntry{{Signature: numbered(100), At: r.Now().Add(-60*time.Minute - time.Second), Finalized: true}}
	got, _, _ := r.follow(alice.Caller(), handlers.Filter{Limit: 10, Type: wallet.ActivityReceived})
	if want := []string{"signature     60", "signature    100", "signature     61"}; !slices.Equal(named(got), want) {
		t.Errorf("got %v, want %v", named(got), want)
	}
}

// TestTheHistoryOfAWalletThatChangedHandsIsItsOwnersOwn: what an earlier owner had purser send is a transaction on chain
// like any other.
func TestTheHistoryOfAWalletThatChangedHandsIsItsOwnersOwn(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	node := newScripted()
	r.History.Chain = node
	node.entries[alice.Address()] = []wallet.SignatureEntry{{Signature: numbered(1), At: r.Now(), Finalized: true}, {Signature: numbered(2), At: r.Now(), Finalized: true}}
	r.Must(r.Update(func(tx store.Tx) error {
		sent := wallet.Transaction{ID: "tx_1", Kind: wallet.Send, Status: wallet.Confirmed, Closed: true, Owner: bob.User.ID, From: alice.Address(), To: wallet.Address{9},
			Token: wallet.SOL, Amount: 1, Signature: numbered(1), CreatedAt: r.Now()}
		came := sent
		came.ID, came.Kind, came.Status, came.Signature, came.From, came.To = wallet.ReceivedID(numbered(2), alice.Address(), wallet.Address{}), wallet.Receive, wallet.Received, numbered(2), wallet.Address{9}, alice.Address()
		return errors.Join(tx.CreateTransaction(sent), tx.CreateTransaction(came))
	}))
	for _, f := range []handlers.Filter{{Limit: 5}, {Limit: 5, Address: alice.Address()}} {
		got, _, _ := r.follow(alice.Caller(), f)
		if len(got) != 2 || got[0].Transaction != nil || got[1].Transaction != nil {
			t.Errorf("Alice reads %+v", got)
		}
	}
	// A payment of one's own from another wallet is listed for that wallet, and received in this one.
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.CreateTransaction(wallet.Transaction{ID: "tx_2", Kind: wallet.Send, Status: wallet.Confirmed, Closed: true, Owner: alice.User.ID, From: wallet.Address{8},
			To: alice.Address(), Token: wallet.SOL, Amount: 1, Signature: numbered(3), CreatedAt: r.Now()})
	}))
	node.entries[alice.Address()] = []wallet.SignatureEntry{{Signature: numbered(3), At: r.Now(), Finalized: true}}
	if got, _, _ := r.follow(alice.Caller(), handlers.Filter{Limit: 5, Address: alice.Address()}); len(got) != 1 || got[0].Transaction != nil {
		t.Errorf("Alice reads %+v", got)
	}
}

// TestOnlySoManyWalletsAreListedAtOnce: with more, the page says that it is not all.
func TestOnlySoManyWalletsAreListedAtOnce(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	r.History.Chain = newScripted()
	for n := 2; n <= 17; n++ {
		page, err := r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 5})
		if err != nil || page.Incomplete {
			t.Fatalf("%d wallets: %+v, %v", n-1, page, err)
		}
		r.Connect(&world.Person{TelegramID: 1001, FirstName: "Alice", User: alice.User, Key: r.NewKey()})
	}
	page, err := r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 5})
	if err != nil || !page.Incomplete {
		t.Errorf("17 wallets: %+v, %v", page, err)
	}
	if page, err = r.History.List(context.Background(), alice.Caller(), handlers.Filter{Limit: 5, Address: alice.Address()}); err != nil || page.Incomplete {
		t.Errorf("one of them: %+v, %v", page, err)
	}
}

// TestWhatFailedIsListedByALaterPage: a program that follows the cursors misses nothing, while purser's own list goes on.
func TestWhatFailedIsListedByALaterPage(t *testing.T) {
	r := newHarness(t)
	alice := r.rich(1001, sol)
	node := newScripted()
	r.History.Chain = node
	for i := range 2 {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Duration(i) * time.Second), Finalized: true})
	}
	for i := range 4 {
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.CreateTransaction(wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_%04d", i)), Kind: wallet.Send, Status: wallet.Rejected, Closed: true,
				Owner: alice.User.ID, From: alice.Address(), To: wallet.Address{9}, Token: wallet.SOL, Amount: 1, CreatedAt: r.Now().Add(-time.Hour * time.Duration(i+1))})
		}))
	}
	node.broken[numbered(1)] = errDown
	f := handlers.Filter{Limit: 4}
	page, err := r.History.List(context.Background(), alice.Caller(), f)
	r.Must(err)
	if got := named(page.Entries); len(got) != 3 || !page.Incomplete || page.Next == "" {
		t.Fatalf("got %v, %+v", got, page)
	}
	delete(node.broken, numbered(1))
	f.Cursor = page.Next
	got, _, incomplete := r.follow(alice.Caller(), f)
	if want := []string{"signature      1", "tx_0002", "tx_0003"}; !slices.Equal(named(got), want) || incomplete {
		t.Errorf("then %v, want %v", named(got), want)
	}
	// Rejected ones that are folded are counted where they lie.
	f = handlers.Filter{Limit: 4, Fold: func(t wallet.Transaction) handlers.Folding {
		return map[wallet.TransactionID]handlers.Folding{"tx_0000": handlers.Counted, "tx_0001": handlers.Omitted, "tx_0003": handlers.Counted}[t.ID]
	}}
	page, err = r.History.List(context.Background(), alice.Caller(), f)
	if err != nil || page.Folded != 2 || len(page.Entries) != 3 {
		t.Errorf("folded: %v, %d, %v", named(page.Entries), page.Folded, err)
	}
	f.Limit = 2
	if page, err = r.History.List(context.Background(), alice.Caller(), f); err != nil || page.Folded != 0 || len(page.Entries) != 2 {
		t.Errorf("folded in a page of 2: %v, %d, %v", named(page.Entries), page.Folded, err)
	}
}

// TestAppsLearnNobodysContacts: neither names nor marks on look-alikes, which would tell whom a person knows.
func TestAppsLearnNobodysContacts(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutContact(wallet.Contact{Owner: alice.User.ID, Name: "Bob", Address: bob.Address()})
	}))
	r.Propose(alice, bob.Address(), "0.1", "SOL")
	node := newScripted()
	r.History.Chain = node
	for i, from := range []wallet.Address{bob.Address(), world.Resembling(r, bob.Address(), 4, 4)} {
		node.entries[alice.Address()] = append(node.entries[alice.Address()], wallet.SignatureEntry{Signature: numbered(i), At: r.Now().Add(-time.Minute), Finalized: true})
		node.does[numbered(i)] = receipt(wallet.DustLamports-1, from)
	}
	for _, anonymous := range []bool{false, true} {
		got, _, _ := r.follow(alice.Caller(), handlers.Filter{Limit: 10, Anonymous: anonymous})
		told := len(got) == 3 && got[0].Name == "Bob" && got[1].Name == "Bob" && got[2].Suspect == wallet.SimilarAddress
		hidden := len(got) == 3 && got[0].Name == "" && got[1].Name == "" && got[2].Suspect == wallet.Dust && got[1].With == bob.Address()
		if told == anonymous || hidden != anonymous {
			t.Errorf("anonymous %v: %+v", anonymous, got)
		}
	}
}

// TestNoCursorSkipsTheCheckOfTheAddress: a cursor at the end of purser's own list reads no row, and is still refused, before
// any call to a node.
func TestNoCursorSkipsTheCheckOfTheAddress(t *testing.T) {
	r := newHarness(t)
	alice, bob := r.rich(1001, sol), r.rich(1002, sol)
	node := newScripted()
	r.History.Chain = node
	for _, address := range []wallet.Address{alice.Address(), {3, 3}} {
		for _, cursor := range []string{"", "!", "!~" + address.String() + "!", "!~" + bob.Address().String() + "!"} {
			for _, own := range []bool{false, true} {
				_, err := r.History.List(r.Context(), bob.Caller(), handlers.Filter{Limit: 5, Address: address, OwnOnly: own, Cursor: cursor})
				r.Refused(wallet.WalletNotFound, err)
			}
		}
	}
	if node.calls != 0 {
		t.Errorf("%d calls to the node for a stranger", node.calls)
	}
	page, err := r.History.List(r.Context(), alice.Caller(), handlers.Filter{Limit: 5, Address: alice.Address(), OwnOnly: true, Cursor: "!"})
	if err != nil || len(page.Entries) != 0 || node.calls != 0 {
		t.Errorf("purser's own list at its end: %+v, %v, %d calls to the node", page, err, node.calls)
	}
}
