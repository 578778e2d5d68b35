package chat_test

import (
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/store"
	"purser/wallet"
)

// TestNoTapConfirmsALookAlike plays a client that names a Confirm button which the card never had:
// one that the store knows, for the owner, in time.
func TestNoTapConfirmsALookAlike(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	r.says("alice", r.addresses("/contacts add bob $bob"))
	r.says("alice", r.addresses("/send 2 $bob~"))
	looks := r.newest("alice")
	if looks.PoisoningSuspect != r.people["bob"].Address() {
		t.Fatalf("it looks like %s", looks.PoisoningSuspect)
	}
	for _, m := range r.messages[r.people["alice"].TelegramID] {
		for _, b := range m.buttons {
			if b.Text == "Confirm" {
				t.Errorf("there is a Confirm below %q", m.reply.Text)
			}
		}
	}
	const nonce = "AAAAAAAAAAAAAAAAAAAAAA"
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutButtons([]store.Button{{Nonce: nonce, Chat: r.people["alice"].TelegramID, User: r.people["alice"].TelegramID,
			Action: "confirm", Subject: string(looks.ID), ExpiresAt: r.Now().Add(time.Hour)}})
	}))
	in := r.input("alice")
	in.Tap = &chat.Tap{CallbackID: "forged", Data: nonce}
	r.seen = nil
	r.does(in)
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "The receiving address looks like one you know") {
		t.Errorf("said %q", said)
	}
	if now := r.newest("alice"); now.Status != wallet.AwaitingConfirmation || now.SignID != "" {
		t.Errorf("the transaction is %s", now.Status)
	}
	// Somebody else's words, and an edit, are no typing either.
	for _, shape := range []func(*chat.Input){
		func(in *chat.Input) { in.Forwarded = true },
		func(in *chat.Input) { in.Edited = true },
		func(in *chat.Input) { in.Chat, in.Private = -500, false },
	} {
		in := r.input("alice")
		in.Text = r.addresses("MIDDLE(bob~)")
		shape(&in)
		r.does(in)
		if now := r.newest("alice"); now.Status != wallet.AwaitingConfirmation {
			t.Fatalf("after %+v the transaction is %s", in, now.Status)
		}
	}
	_, middle := looks.To.Middle()
	r.says("alice", "  "+strings.ToLower(middle[:3])+" "+middle[3:]+"\n")
	if now := r.newest("alice"); now.Status != wallet.AwaitingSignature {
		t.Errorf("typed, it is %s", now.Status)
	}
}

// TestDustDoesNotOfferItsSender: who sent a little to be copied from the history is not offered.
func TestDustDoesNotOfferItsSender(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	twin := r.addresses("$bob~")
	from, err := wallet.ParseAddress(twin)
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.CreateTransaction(wallet.Transaction{ID: "tx_dust", Kind: wallet.Receive, Status: wallet.Received, Owner: r.userOf("alice"),
			From: from, To: r.people["alice"].Address(), Token: wallet.SOL, Amount: 1, CreatedAt: r.Now(), Closed: true})
	}))
	r.seen = nil
	r.says("alice", "/send 1")
	if said := strings.Join(r.seen, ""); strings.Contains(said, "tap one") || !strings.Contains(said, "To which address") {
		t.Errorf("said %q", said)
	}
}

// TestLongBooksFitOneMessage holds the list to Telegram's limit, with the longest names there are.
func TestLongBooksFitOneMessage(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.Must(r.Update(func(tx store.Tx) error {
		for n := range 60 {
			a := wallet.Address{1, byte(n)}
			for !a.OnCurve() {
				a[31]++
			}
			name := strings.Repeat("\U00010400", 28) + string([]byte{'a' + byte(n/26), 'a' + byte(n%26)}) // two units a letter
			if _, err := r.Contacts.Add(tx, r.userOf("alice"), name, a); err != nil {
				return err
			}
		}
		return nil
	}))
	r.seen = nil
	r.says("alice", "/contacts") // checkReply measures it
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "… and 30 more.") {
		t.Errorf("said %q", said)
	}
}

// TestAContactIsNamedAtItsTokenAccountToo: on the card, under the payment, in the history, and on the signing page.
func TestAContactIsNamedAtItsTokenAccountToo(t *testing.T) {
	r := newHarness(t)
	usdc, _ := r.Tokens.BySymbol("USDC")
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	alice, bob := r.people["alice"], r.people["bob"]
	for _, holder := range []wallet.Address{alice.Address(), bob.Address()} {
		r.FundToken(holder, usdc.Mint.String(), 5_000_000)
	}
	till := wallet.AssociatedAccount(bob.Address(), usdc.Mint, usdc.Program)
	keep := func(name string, address wallet.Address) {
		r.Must(r.Update(func(tx store.Tx) error {
			return tx.PutContact(wallet.Contact{Owner: r.userOf("alice"), Name: name, Address: address, AddedAt: r.Now()})
		}))
	}
	pay := func(name string) {
		r.Helper()
		r.seen = nil
		r.says("alice", "/send 1 USDC "+till.String())
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "To <b>"+name+"</b>") || !strings.Contains(said, "You entered") {
			t.Fatalf("said %s", said)
		}
		r.presses("alice", "Confirm", "alice")
		view, err := r.Signing.Get(t.Context(), r.newest("alice").SignID)
		if err != nil || view.Contact != name {
			t.Errorf("the page shows %q, %v", view.Contact, err)
		}
		r.seen = nil
		r.signs("alice")
		r.Settled(r.newest("alice").ID)
		r.settle()
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "[Send again]") || strings.Contains(said, "[Save contact]") {
			t.Errorf("said %s", said)
		}
		r.seen = nil
		r.says("alice", "/wallet history")
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "Sent 1 USDC to <b>"+name+"</b>") {
			t.Errorf("said %s", said)
		}
	}
	keep("A till", till)
	pay("A till")
	keep("Bob", bob.Address()) // who is paid goes before what was given in his place
	pay("Bob")
}
