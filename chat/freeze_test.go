package chat_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/e2e/world"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// unfreezes plays the page of somebody's newest link to unfreeze, with a key.
func (r *harness) unfreezes(who string, key ed25519.PrivateKey) {
	r.Helper()
	r.Must(r.signsUnfreeze(r.people[who].link[len("u="):], key))
	r.settle()
}

// signsUnfreeze signs the text of a link to unfreeze, and hands it in.
func (r *harness) signsUnfreeze(token string, key ed25519.PrivateKey) error {
	c, err := r.Freezing.UnfreezeChallenge(r.Context(), token)
	if err != nil {
		return err
	}
	text := wallet.UnfreezeText(r.Freezing.PublicURL.Host, "https://"+r.Freezing.PublicURL.Host, world.AddressOf(key), wallet.TelegramAccount(c.TelegramID),
		c.Chain, c.Nonce, c.IssuedAt, c.ExpiresAt)
	return r.Freezing.Unfreeze(r.Context(), token, world.AddressOf(key), wallet.Signature(ed25519.Sign(key, []byte(text))))
}

// frozen reports whether somebody's account is frozen.
func (r *harness) frozen(who string) bool {
	r.Helper()
	var user wallet.User
	r.View(func(tx store.Tx) (err error) { user, err = tx.UserByTelegram(r.people[who].TelegramID); return err })
	return user.Freeze != nil
}

// TestFreezeIsRecognizedHoweverItIsTyped: by the front that stores the message, before it is handled.
func TestFreezeIsRecognizedHoweverItIsTyped(t *testing.T) {
	for text, want := range map[string]bool{
		"/freeze": true, "/FREEZE": true, " /Freeze@purser_bot ": true, "/freeze now, please!": true, "/lock": true, "/panic": true, "/freeze\nlink": false,
		"/freeze link": false, "/freeze LINK": false, "/freeze@other_bot": false, "freeze": false, "please /freeze": false, "/unfreeze": false, "/freezer": false, "": false,
	} {
		t.Run(text, func(t *testing.T) {
			r := newHarness(t)
			r.rich("alice", 1_000_000_000)
			in := r.input("alice")
			in.Text = text
			r.Must(r.Update(func(tx store.Tx) error { _, err := r.chat.FreezeOnArrival(tx, in); return err }))
			if r.frozen("alice") != want {
				t.Errorf("frozen: %v", !want)
			}
		})
	}
	r := newHarness(t)
	r.rich("alice", 1_000_000_000)
	for what, change := range map[string]func(*chat.Input){
		"forwarded":     func(in *chat.Input) { in.Forwarded = true },
		"edited":        func(in *chat.Input) { in.Edited = true },
		"in a group":    func(in *chat.Input) { in.Chat, in.Private = -500, false },
		"of a bot":      func(in *chat.Input) { in.From.IsBot = true },
		"of a stranger": func(in *chat.Input) { in.From.TelegramID, in.Chat = 4711, 4711 },
		"a forged tap":  func(in *chat.Input) { in.Text, in.Tap = "", &chat.Tap{CallbackID: "x", Data: "/freeze"} },
	} {
		in := r.input("alice")
		in.Text = "/freeze"
		change(&in)
		r.Must(r.Update(func(tx store.Tx) error { _, err := r.chat.FreezeOnArrival(tx, in); return err }))
		if r.frozen("alice") {
			t.Fatalf("a message %s froze", what)
		}
	}
}

// TestWhatWaitsBeforeAFreezeDoesNothing: a Confirm that was received and not handled yet, and one whose slow part was done.
func TestWhatWaitsBeforeAFreezeDoesNothing(t *testing.T) {
	for _, when := range []string{"before its handler", "before its commit"} {
		t.Run(when, func(t *testing.T) {
			r := newHarness(t)
			r.rich("alice", 5_000_000_000)
			r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
			b, id := r.button("alice", "Confirm")
			tap := r.input("alice")
			tap.MessageID, tap.Tap = id, &chat.Tap{CallbackID: "cb", Data: b.Data}
			freeze := r.input("alice")
			freeze.Text = "/freeze"
			arrives := func() {
				r.Must(r.Update(func(tx store.Tx) error { _, err := r.chat.FreezeOnArrival(tx, freeze); return err }))
			}
			if when == "before its handler" {
				arrives()
			}
			turn, err := r.chat.Handle(r.Context(), tap)
			r.Must(err)
			if when == "before its commit" {
				arrives()
			}
			r.Must(r.Update(turn.Commit))
			r.settle()
			got := r.newest("alice")
			if got.Status != wallet.Rejected || got.SignID != "" || got.ErrorReason.Key != "failed_because.frozen" || got.ErrorCode != wallet.UserRejected {
				t.Errorf("it is %s, sign id %q, %s %s", got.Status, got.SignID, got.ErrorCode, got.ErrorReason)
			}
			if strings.Contains(strings.Join(r.seen, ""), "w/#s=") {
				t.Error("a signing link was sent")
			}
		})
	}
}

// TestWhatWasDecidedBeforeAFreezeTakesNoEffect also where nothing but the chat looks: a contact, and a setting.
func TestWhatWasDecidedBeforeAFreezeTakesNoEffect(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 1_000_000_000)
	var turns []chat.Turn
	for _, text := range []string{"/contacts add shop " + r.people["bob"].Address().String(), "/settings language es"} {
		in := r.input("alice")
		in.Text = text
		turn, err := r.chat.Handle(r.Context(), in)
		r.Must(err)
		turns = append(turns, turn)
	}
	r.says("alice", "/freeze")
	for _, turn := range turns {
		r.seen = nil
		r.Must(r.Update(turn.Commit))
		r.settle()
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "Your account is frozen. To unfreeze it") {
			t.Errorf("said is %q", said)
		}
	}
	r.View(func(tx store.Tx) error {
		contacts, err := tx.ContactsOf(r.userOf("alice"))
		if len(contacts) > 0 || r.person("alice").Language == "es" || r.person("alice").Settings.Language == "es" {
			t.Errorf("the contacts are %v, the settings %+v", contacts, r.person("alice").Settings)
		}
		return err
	})
}

// TestAFreezeIsToldInOneMessage, whether its event is delivered before the command is handled or after it. A later /freeze has one of its own.
func TestAFreezeIsToldInOneMessage(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 1_000_000_000)
	cards := func() (n int) {
		for _, m := range r.messages[r.people["alice"].TelegramID] {
			if strings.Contains(m.reply.Text, "Your account is frozen") {
				n++
			}
		}
		return n
	}
	in := r.input("alice")
	in.Text = "/freeze"
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.chat.FreezeOnArrival(tx, in); return err }))
	r.settle()
	if got := cards(); got != 1 {
		t.Fatalf("its event sends %d messages", got)
	}
	messages := len(r.messages[r.people["alice"].TelegramID])
	r.Must(r.try(in))
	r.settle()
	if got := len(r.messages[r.people["alice"].TelegramID]); got != messages || cards() != 1 {
		t.Errorf("handled, %d messages are %d", messages, got)
	}
	r.says("alice", "/freeze")
	if got := len(r.messages[r.people["alice"].TelegramID]); got != messages+1 || cards() != 1 {
		t.Errorf("once more, %d messages are %d, and %d say it", messages, got, cards())
	}
}

// TestWhatWorksWhileFrozen is the whole list. Whoever adds a command or a button that works decides it here.
func TestWhatWorksWhileFrozen(t *testing.T) {
	commands, callbacks := chat.WorksWhileFrozen()
	if want := []string{"/cancel", "/freeze", "/help", "/pools", "/price", "/privacy", "/revoke", "/security", "/security limits", "/security limits …abcd", "/security log", "/start", "/unfreeze", "/wallet", "/wallet address", "/wallet balance", "/wallet history", "/wallet list"}; !slices.Equal(commands, want) {
		t.Errorf("the commands %v work", commands)
	}
	if want := []string{"chart", "keep", "limits", "logpage", "past", "pastall", "stop", "stopclaim"}; !slices.Equal(callbacks, want) {
		t.Errorf("the buttons %v work", callbacks)
	}
}

// TestTheChatMovesNothingAndUnfreezesNothing walks over every command, every button and every kind of answer while an account is
// frozen. The walk over the API, the page and the admin socket is in package api.
func TestTheChatMovesNothingAndUnfreezesNothing(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 5_000_000_000)
	r.rich("bob", 5_000_000_000)
	bob := r.people["bob"].Address().String()
	r.says("alice", "/contacts add rent "+bob)
	_, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: r.people["alice"].TelegramID, App: "Shop"})
	r.Must(err)
	r.says("alice", "/send 1 SOL "+bob)
	waits := r.newest("alice")
	r.limits("alice", wallet.Policy{NewRecipientWait: time.Hour})
	r.limits("alice", wallet.Policy{})
	r.says("alice", "/freeze")
	r.says("alice", "/unfreeze") // a link to unfreeze is open, and does nothing in the chat
	state := func() string {
		var out []byte
		r.View(func(tx store.Tx) error {
			user, err := tx.UserByTelegram(r.people["alice"].TelegramID)
			r.Must(err)
			wallets, err := tx.WalletsOf(user.ID)
			r.Must(err)
			keys, err := tx.KeysOf(user.ID)
			r.Must(err)
			grants, err := tx.GrantsOf(user.ID)
			r.Must(err)
			contacts, err := tx.ContactsOf(user.ID)
			r.Must(err)
			alerts, err := tx.AlertsOf(user.ID)
			r.Must(err)
			sent, err := tx.TransactionsOf(user.ID, store.Page{Limit: 100})
			r.Must(err)
			policies, err := tx.PoliciesOf(user.ID)
			r.Must(err)
			bind, _ := tx.BindOf(user.ID)
			out, err = json.Marshal([]any{user, wallets, keys, grants, contacts, alerts, sent, bind, policies})
			return err
		})
		return string(out)
	}
	before := state()
	if !r.frozen("alice") {
		t.Fatal("the account is not frozen")
	}
	unmoved := func(what string) {
		t.Helper()
		if after := state(); after != before {
			t.Fatalf("%s moved something:\n%s\n%s", what, before, after)
		}
	}
	address := r.people["alice"].Address().String()
	words := []string{"", " new", " link", " confirm", " off", " use " + address, " disconnect " + address, " export csv", " address 5 SOL", " 1 SOL " + bob, " above SOL 200", " SOL above 200",
		" SOL", " add shop " + bob, " remove rent", " 1 SOL USDC", " app_1", " solana:" + bob + "?amount=1", " everything", " language es", " revoke", " sign", " delegate 1", " limits payment 0.1 SOL", " limits recipients any", " limits new off", " payment SOL off"}
	var endpoints, tapped int
	for _, e := range r.chat.Endpoints() {
		endpoints++
		switch e.Kind {
		case chat.ByCommand:
			if e.Name == "unfreeze" { // links only: nothing is signed
				continue
			}
			for _, more := range words {
				r.says("alice", "/"+e.Name+more)
				unmoved("/" + e.Name + more)
			}
		case chat.ByCallback:
			if e.Name == "" {
				continue
			}
			for _, object := range []string{"", string(waits.ID), address, bob, "/send 1 SOL " + bob, "/wallet new", "/delete_me", "rent", "app_1", "SOL", address + ":payment", address + ":recipients any", address + ":new 24"} {
				tapped++
				nonce := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(make([]byte, 8), uint64(tapped)))
				r.Must(r.Update(func(tx store.Tx) error {
					id := r.people["alice"].TelegramID
					return tx.PutButtons([]store.Button{{Nonce: nonce, Chat: id, User: id, Action: e.Name + ":" + object, Subject: "walk", ExpiresAt: r.Now().Add(time.Hour)}})
				}))
				in := r.input("alice")
				in.Tap = &chat.Tap{CallbackID: "cb", Data: nonce}
				r.does(in)
				unmoved("the button " + e.Name + ":" + object)
			}
		default: // answers, as if a conversation were in the state that waits for them
			for _, change := range []func(*chat.Input){
				func(in *chat.Input) { in.Text = "1 SOL" },
				func(in *chat.Input) { in.Text = bob },
				func(in *chat.Input) { in.Contact = &chat.Contact{TelegramID: in.From.TelegramID} },
				func(in *chat.Input) { in.Picked = &chat.Picked{Request: 1, TelegramID: r.people["bob"].TelegramID} },
				func(in *chat.Input) { in.Text, in.Edited = "/send 1 SOL "+bob, true },
			} {
				in := r.input("alice")
				change(&in)
				if e.Name == "" {
					r.does(in)
					unmoved(string(e.Kind))
					continue
				}
				h, err := r.chat.Receive(r.Context(), in)
				r.Must(err)
				turn, err := e.Handle(r.Context(), h)
				r.Must(err)
				r.seen = nil
				r.Must(r.Update(turn.Commit))
				r.settle()
				if !strings.Contains(strings.Join(r.seen, ""), "Your account is frozen") {
					t.Errorf("the answer %s was taken: %v", e.Name, r.seen)
				}
				unmoved(string(e.Kind) + " " + e.Name)
			}
		}
	}
	if endpoints < 60 || tapped < 300 {
		t.Errorf("%d endpoints and %d taps: the walk is broken", endpoints, tapped)
	}
	if _, err := r.chat.Execute(r.Context(), chat.AppCommand{By: handlers.Caller{User: r.person("alice").ID, KeyID: "key_1", KeyLineage: "key_1"}, Person: r.person("alice"), Text: "/send 1 SOL " + bob}); wallet.CodeOf(err) != wallet.PolicyViolation {
		t.Errorf("a command run by a program: %v", err)
	}
	unmoved("a command run by a program")
	r.says("alice", "/unfreeze")
	r.unfreezes("alice", r.people["alice"].Key)
	if r.frozen("alice") {
		t.Error("the device did not unfreeze it")
	}
}

// person is somebody as the store has them now.
func (r *harness) person(who string) (user wallet.User) {
	r.Helper()
	r.View(func(tx store.Tx) (err error) { user, err = tx.UserByTelegram(r.people[who].TelegramID); return err })
	return user
}

// TestAFreezeIsToldInQuietHoursAndWithMessagesOff: by the recovery link, which has no answer in the chat, and at its end.
func TestAFreezeIsToldInQuietHoursAndWithMessagesOff(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 1_000_000_000)
	quiet := wallet.QuietHours{From: 11 * 60, To: 15 * 60} // by UTC; it is 12:00
	r.customize(&wallet.Notifications{}, func(to *wallet.Settings) { to.Quiet = &quiet })
	var token string
	r.Must(r.Update(func(tx store.Tx) (err error) { token, err = r.Freezing.NewLink(tx, r.person("alice").ID); return err }))
	r.seen = nil
	_, err := r.Freezing.FreezeByLink(r.Context(), token)
	r.Must(err)
	r.settle()
	if said := strings.Join(r.seen, ""); strings.Count(said, "Your account is frozen") != 1 {
		t.Errorf("a freeze: %s", said)
	}
	_, err = r.Freezing.FreezeByLink(r.Context(), token)
	r.Must(err)
	r.settle()
	r.says("alice", "/unfreeze")
	r.seen = nil
	r.unfreezes("alice", r.people["alice"].Key)
	if said := strings.Join(r.seen, ""); strings.Count(said, "Your account is unfrozen") != 1 {
		t.Errorf("its end: %s", said)
	}
	// An event that is late says nothing about an account that is not frozen any more.
	r.seen = nil
	r.Must(r.Update(func(tx store.Tx) error {
		return r.notifies(tx, "alice", wallet.AccountFrozen, "", wallet.AccountFrozenData{})
	}))
	r.settle()
	if len(r.seen) > 0 {
		t.Errorf("a late event: %v", r.seen)
	}
}

// TestWhatIsSignedIsSaidToGoOn: and settled as any other.
func TestWhatIsSignedIsSaidToGoOn(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 5_000_000_000)
	r.says("alice", "/send 1 SOL "+r.people["bob"].Address().String())
	r.happen("alice taps Confirm")
	r.happen("alice's page signs")
	r.seen = nil
	r.says("alice", "/freeze")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "at least one payment is on its way") {
		t.Errorf("the card: %s", said)
	}
	if got := r.newest("alice"); got.Status != wallet.Signed {
		t.Fatalf("it is %s", got.Status)
	}
	r.network("alice", wallet.Landed)
	if got := r.newest("alice"); got.Status != wallet.Confirmed {
		t.Errorf("it is %s", got.Status)
	}
}

// TestASecretIsTakenAwayWhileFrozen: and nothing else of the message is answered.
func TestASecretIsTakenAwayWhileFrozen(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 1_000_000_000)
	r.says("alice", "/freeze")
	r.seen = nil
	r.says("alice", "legal winner thank year wave sausage worth useful legal winner thank yellow")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "delete") || strings.Contains(said, "frozen") {
		t.Errorf("a recovery phrase: %s", said)
	}
}
