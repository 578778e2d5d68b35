package chat_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/locale"
	"purser/store"
	"purser/wallet"
)

// limits asks for a policy of somebody's wallet, as the chat does, and returns the token of the link to sign it.
func (r *harness) limits(who string, to wallet.Policy) (token string) {
	r.Helper()
	p := r.people[who]
	r.Must(r.Update(func(tx store.Tx) error {
		change, err := r.Policies.Change(tx, r.userOf(who), p.Address(), to)
		token = change.Token
		return err
	}))
	return token
}

// policy is somebody's policy as it is now.
func (r *harness) policy(who string) (state wallet.PolicyState) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		stored, err := tx.Policy(r.userOf(who), r.people[who].Address())
		state = stored.At(r.Now()).State
		return err
	})
	return state
}

// setsLimits plays the page of somebody's newest link to sign spending limits, with a key.
func (r *harness) setsLimits(who string, key ed25519.PrivateKey) {
	r.Helper()
	r.Must(r.signsLimits(r.people[who].link[len("l="):], key))
	r.settle()
}

// signsLimits plays the page of a link.
func (r *harness) signsLimits(token string, key ed25519.PrivateKey) error {
	c, err := r.Policies.Challenge(r.Context(), token)
	if err != nil {
		return err
	}
	u := r.Policies.PublicURL
	text := wallet.PolicyText(u.Host, u.Scheme+"://"+u.Host, c.Address, c.Proposed, wallet.TelegramAccount(c.TelegramID), c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	_, err = r.Policies.Sign(r.Context(), token, wallet.Signature(ed25519.Sign(key, []byte(text))))
	return err
}

// TestASignedLooseningIsToldWithWhatItWillAllow: from when, in every language, in quiet hours and with messages off.
func TestASignedLooseningIsToldWithWhatItWillAllow(t *testing.T) {
	all, err := locale.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range all.Languages() {
		t.Run(tag, func(t *testing.T) {
			r := newHarness(t)
			r.rich("alice", 5_000_000_000)
			r.customize(&wallet.Notifications{}, func(to *wallet.Settings) {
				to.Quiet = &wallet.QuietHours{From: 11 * 60, To: 15 * 60} // by UTC; it is 12:00
				to.Language = tag
			})
			usdc, _ := r.Tokens.BySymbol("USDC")
			odd := r.Stranger()
			var to []wallet.Address
			for range 12 {
				to = append(to, r.Stranger())
			}
			r.limits("alice", wallet.Policy{Recipients: &[]wallet.Address{}, NewRecipientWait: 48 * time.Hour, Payment: []wallet.TokenLimit{{Mint: odd, Units: 77}}})
			token := r.limits("alice", wallet.Policy{Payment: []wallet.TokenLimit{{Units: 1_500_000_000}, {Mint: odd, Units: 12_345}}, Day: []wallet.TokenLimit{{Mint: usdc.Mint, Units: 250_000}},
				Recipients: &to, NewRecipientWait: 7 * time.Hour})
			r.settle()
			r.seen = nil
			r.Must(r.signsLimits(token, r.people["alice"].Key))
			r.settle()
			said := strings.Join(r.seen, "")
			for _, part := range []string{"1.5 SOL", "0.25 USDC", "12345 ", odd.String(), "7", "2"} {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %q: %s", part, said)
				}
			}
			listed := 0
			for _, a := range to {
				if strings.Contains(said, a.String()) {
					listed++
				}
			}
			if listed != 10 || !strings.Contains(said, "22") || !strings.Contains(said, "12:00") || !strings.Contains(said, "/security limits") || !strings.Contains(said, "/freeze") {
				t.Errorf("with %d recipients: %s", listed, said)
			}
			for _, wrong := range []string{"<no value>", "{{", "%!"} {
				if strings.Contains(said, wrong) {
					t.Errorf("%s in %s", wrong, said)
				}
			}
			r.seen = nil
			r.says("alice", "/security log")
			if log := strings.Join(r.seen, ""); strings.Contains(log, "limits.") || strings.Contains(log, "<no value>") || strings.Count(log, "12:00") < 3 {
				t.Errorf("the log: %s", log)
			}
			// What holds already is told too, without a time.
			var again string
			r.Must(r.Update(func(tx store.Tx) (err error) {
				again, err = r.Policies.LinkForCurrent(tx, r.userOf("alice"), r.people["alice"].Address())
				return err
			}))
			r.seen = nil
			r.Must(r.signsLimits(again, r.people["alice"].Key))
			r.settle()
			if said := strings.Join(r.seen, ""); !strings.Contains(said, "✅") || strings.Contains(said, "<no value>") || !strings.Contains(said, "77 ") {
				t.Errorf("what holds: %s", said)
			}
		})
	}
}

// TestAPaymentToANewRecipientHasItsLinkWhileItWaits: and says why to open it. Other delays have none.
func TestAPaymentToANewRecipientHasItsLinkWhileItWaits(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 50_000_000_000)
	r.rich("bob", 1_000_000_000)
	r.limits("alice", wallet.Policy{NewRecipientWait: 24 * time.Hour})
	r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
	waits := r.newest("alice")
	r.seen = nil
	_, middle := waits.To.Middle()
	r.says("alice", middle)
	waits = r.newest("alice")
	said := strings.Join(r.seen, "")
	if waits.Status != wallet.Delayed || waits.SignID == "" || r.people["alice"].link != "s="+waits.SignID {
		t.Fatalf("it is %s with the link %q, the card has %q: %s", waits.Status, waits.SignID, r.people["alice"].link, said)
	}
	for _, part := range []string{"Tap “Start the wait” now, here and on the page that opens", "[Start the wait", "Cancel", "your spending limits make such payments wait"} {
		if !strings.Contains(said, part) {
			t.Errorf("the card does not say %q: %s", part, said)
		}
	}
	// Refused at its end: the owner reads the rule's own words.
	r.limits("alice", wallet.Policy{NewRecipientWait: 24 * time.Hour, Payment: []wallet.TokenLimit{{Units: 500_000_000}}})
	r.seen = nil
	r.clock(24 * time.Hour)
	r.Look()
	r.settle()
	if said := strings.Join(r.seen, ""); r.newest("alice").Status != wallet.Failed || !strings.Contains(said, "at most 0.5 SOL in one payment") {
		t.Errorf("it is %s: %s", r.newest("alice").Status, said)
	}
}

// TestTheChatAllowsNothingMore walks over every command, every button and every kind of answer while a looser policy only lacks the signature of the
// device. Whatever happens may make the limits stricter, and never looser. The walk over the API, the page and the admin socket is in package api.
func TestTheChatAllowsNothingMore(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 5_000_000_000)
	r.rich("bob", 5_000_000_000)
	bob, address := r.people["bob"].Address().String(), r.people["alice"].Address().String()
	strict := wallet.Policy{Payment: []wallet.TokenLimit{{Units: 1_000_000_000}}, Day: []wallet.TokenLimit{{Units: 2_000_000_000}}, Recipients: &[]wallet.Address{r.people["bob"].Address()}, NewRecipientWait: 24 * time.Hour}
	r.limits("alice", strict)
	r.limits("alice", wallet.Policy{})
	steps := 0
	held := func(what string) {
		t.Helper()
		steps++
		if now := r.policy("alice"); now.Pending != nil || now.Current.Loosens(strict) {
			t.Fatalf("%s allowed more: %+v", what, now)
		}
	}
	held("nothing")
	words := []string{"", " limits", " limits off", " limits confirm", " limits payment off", " limits payment 100 SOL", " limits day 100 SOL", " limits recipients any", " limits recipients off",
		" limits add " + address, " limits wait 0", " limits new 0", " limits cancel", " limits device", " off", " everything", " use " + address, " 1 SOL " + bob, " confirm", " new", " link"}
	does := func(in chat.Input) { // as a front: an error writes nothing
		turn, err := r.chat.Handle(r.Context(), in)
		if err == nil {
			err = r.Update(turn.Commit)
		}
		if err == nil {
			r.settle()
		}
		r.seen = nil
	}
	erases := func(name string) bool { return strings.Contains(name, "delete") || strings.Contains(name, "erase") } // they go with the account
	tapped := 0
	for _, e := range r.chat.Endpoints() {
		if erases(e.Name) || e.Name == "freeze" || e.Name == "lock" || e.Name == "panic" {
			continue
		}
		switch e.Kind {
		case chat.ByCommand:
			for _, more := range words {
				r.says("alice", "/"+e.Name+more)
				held("/" + e.Name + more)
			}
		case chat.ByCallback:
			if e.Name == "" {
				continue
			}
			for _, object := range []string{"", address, bob, "/security limits off", "/security limits payment off", "payment", "day", "recipients", "wait", "off", "0", "yes", "SOL", address + ":off"} {
				tapped++
				nonce := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(make([]byte, 8), uint64(tapped)))
				r.Must(r.Update(func(tx store.Tx) error {
					id := r.people["alice"].TelegramID
					return tx.PutButtons([]store.Button{{Nonce: nonce, Chat: id, User: id, Action: e.Name + ":" + object, Subject: "walk", ExpiresAt: r.Now().Add(time.Hour)}})
				}))
				in := r.input("alice")
				in.Tap = &chat.Tap{CallbackID: "cb", Data: nonce}
				does(in)
				held("the button " + e.Name + ":" + object)
			}
		}
	}
	// Answers to whatever a command asked last.
	for _, more := range words {
		for _, text := range []string{"100 SOL", bob, "off", "any", "0", "yes"} {
			r.says("alice", "/security"+more)
			in := r.input("alice")
			in.Text = text
			does(in)
			held("/security" + more + ", answered with " + text)
		}
	}
	if steps < 500 {
		t.Errorf("%d steps: the walk is broken", steps)
	}
	for _, more := range words {
		_, _ = r.chat.Execute(r.Context(), chat.AppCommand{By: handlers.Caller{User: r.person("alice").ID, KeyID: "key_1", KeyLineage: "key_1"}, Person: r.person("alice"), Text: "/security" + more})
		r.settle()
		held("by a program: /security" + more)
	}
	r.clock(wallet.PolicyDelay)
	held("a day")
}
