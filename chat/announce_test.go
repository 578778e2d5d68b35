package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// announced lists what was announced of a name, as JSON, oldest first.
func (r *harness) announced(name wallet.EventName) []string {
	r.Helper()
	var out []string
	r.View(func(tx store.Tx) error {
		list, err := tx.OutboxEvents(1000)
		for _, a := range list {
			if a.Event.Name == name {
				out = append(out, string(a.Event.Data))
			}
		}
		return err
	})
	return out
}

// listen registers somebody whom events can be told to.
func (r *harness) listen() {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWebhook(wallet.Webhook{ID: "wh_1", Kind: wallet.BotKey, Lineage: "key_1", URL: "https://example.com/", Events: []string{"*"}, Active: true, CreatedAt: r.Now()})
	}))
}

// TestCommandsAreAnnouncedWithTheirReply (docs/specification.md, Events), by the words that the person read.
func TestCommandsAreAnnouncedWithTheirReply(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	before := len(r.announced(wallet.CommandExecuted))
	r.says("alice", "/wallet balance")
	r.says("alice", "/send 99 SOL "+r.people["bob"].Address().String())
	r.says("alice", "/nosuch my words")
	r.says("alice", "/help@somebody_elses_bot")
	r.says("alice", "wallet balance")
	var got []wallet.CommandExecutedData
	for _, raw := range r.announced(wallet.CommandExecuted)[before:] {
		var data wallet.CommandExecutedData
		r.Must(json.Unmarshal([]byte(raw), &data))
		got = append(got, data)
	}
	if len(got) != 3 {
		t.Fatalf("announced %+v", got)
	}
	if got[2].Success || got[2].Command != "/nosuch [withheld]" || got[2].Response != "I don't know /nosuch. See /help." {
		t.Errorf("a command that there is not: %+v", got[2])
	}
	id := fmt.Sprint(r.people["alice"].TelegramID)
	if got[0].Command != "/wallet balance" || !got[0].Success || got[0].ChatID != id || !strings.Contains(got[0].Response, "`10` SOL") || strings.Contains(got[0].Response, "<b>") {
		t.Errorf("a balance: %+v", got[0])
	}
	if got[1].Success || !strings.Contains(got[1].Response, "You have 10 SOL to spend") {
		t.Errorf("a refused transfer: %+v", got[1])
	}
	if _, err := time.Parse(time.RFC3339Nano, got[0].Timestamp); err != nil {
		t.Error(err)
	}
}

// TestWhatAnAppRunsIsAnnounced as what the person types is: the same words and reply, and no contact's name.
func TestWhatAnAppRunsIsAnnounced(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	r.says("alice", "/contacts add Bob "+r.people["bob"].Address().String())
	before := len(r.announced(wallet.CommandExecuted))
	run := func(text string, silent bool) {
		t.Helper()
		var person wallet.User
		r.View(func(tx store.Tx) (err error) {
			person, err = tx.UserByTelegram(r.people["alice"].TelegramID)
			return err
		})
		commit, err := r.chat.Execute(r.Context(), chat.AppCommand{By: handlers.Caller{KeyID: "key_1", KeyLineage: "key_1", Bot: true}, Person: person, Text: text, Silent: silent})
		r.Must(err)
		r.Must(r.Update(func(tx store.Tx) error { _, err := commit(tx); return err }))
	}
	run("/wallet balance", true)
	run("/wallet balance", false)
	run("/help bob", false)
	var got []wallet.CommandExecutedData
	for _, raw := range r.announced(wallet.CommandExecuted)[before:] {
		var data wallet.CommandExecutedData
		r.Must(json.Unmarshal([]byte(raw), &data))
		got = append(got, data)
	}
	if len(got) != 3 {
		t.Fatalf("announced %+v", got)
	}
	for _, data := range got[:2] {
		if data.Command != "/wallet balance" || !data.Success || data.ChatID != "1001" || !strings.Contains(data.Response, "`10` SOL") || data.Timestamp != wallet.Timestamp(r.Now()) {
			t.Errorf("a balance: %+v", data)
		}
	}
	if got[2].Command != "/help [withheld]" || got[2].Response != "[withheld]" {
		t.Errorf("a contact is named: %+v", got[2])
	}
}

// TestAnAnswerToAnAppIsForThatAppAlone, with the words that the person wrote.
func TestAnAnswerToAnAppIsForThatAppAlone(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.rich("bob", sol)
	r.happen("alice has a pro token for Shop")
	r.happen("alice has a webhook at https://shop.example/hook")
	r.happen("alice: /api")
	r.happen("bob opens alice's app")
	r.happen("bob taps Allow")
	r.happen("alice's app writes to bob: When?")
	r.happen("bob answers the app: At five 123456")
	// Another app of hers has a webhook; this one's is turned off.
	shop := r.keys()[0]
	r.Must(r.Update(func(tx store.Tx) error {
		hooks, err := tx.WebhooksOf(shop.Lineage())
		hooks[0].Active = false
		return errors.Join(err, tx.PutWebhook(hooks[0]))
	}))
	r.happen("alice has a pro token for Till")
	r.happen("alice has a webhook at https://till.example/hook")
	r.seen = nil
	if r.happen("bob answers the app: Is anybody there?"); !strings.Contains(strings.Join(r.seen, ""), "can't receive messages") {
		t.Errorf("said %s", r.seen)
	}
	r.happen("the operator writes to bob: Hello")
	operators, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.BotKey, Tier: wallet.ProTier})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWebhook(wallet.Webhook{ID: "wh_op", Kind: wallet.BotKey, Lineage: operators.Lineage(), URL: "https://example.com/", Events: []string{"message.*"}, Active: true, CreatedAt: r.Now()})
	}))
	r.happen("bob answers the app: Hello you")
	r.happen("bob: to nobody")
	var got []wallet.Event
	r.View(func(tx store.Tx) error {
		list, err := tx.OutboxEvents(1000)
		for _, a := range list {
			if a.Event.Name == wallet.MessageReceived {
				got = append(got, a.Event)
			}
		}
		return err
	})
	if len(got) != 3 {
		t.Fatalf("announced %+v", got)
	}
	for i, want := range []struct {
		to   wallet.AppID
		text string
	}{{r.keys()[0].App, "At five 123456"}, {wallet.ToOperators, "Hello you"}, {"", "to nobody"}} {
		var data wallet.MessageReceivedData
		r.Must(json.Unmarshal(got[i].Data, &data))
		if got[i].To != want.to || data.Message != want.text || data.ChatID != "1002" || data.Username != "@bob" {
			t.Errorf("%d is for %q: %+v", i, got[i].To, data)
		}
	}
	if got[0].User == "" || got[0].User != got[1].User {
		t.Errorf("of %q and %q", got[0].User, got[1].User)
	}
}

// TestAnAnswerToAKeyOfNoAppIsForNobody: neither another program hears it, nor the conversation that is open.
func TestAnAnswerToAKeyOfNoAppIsForNobody(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	first, _, err := r.Keys.Create(r.Context(), handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.ProTier, OwnerTelegramID: r.people["alice"].TelegramID})
	r.Must(err)
	second, _, err := r.Keys.Rotate(r.Context(), first.ID, false)
	r.Must(err)
	for _, key := range []wallet.Key{first, second} {
		posting, err := r.chat.Post(r.Context(), chat.AppMessage{ID: r.NewID("msg"), By: handlers.CallerOf(key), Chat: r.people["alice"].TelegramID, Text: "How much?"})
		r.Must(err)
		r.Must(r.Update(func(tx store.Tx) error { return posting.Commit(tx, time.Time{}) }))
		r.settle()
		r.says("alice", "/send")
		before := r.conversation("alice")
		r.seen = nil
		r.happen("alice answers the app: 1.5")
		if said := strings.Join(r.seen, ""); !strings.Contains(said, "Your own key …k2 ") || !strings.Contains(said, "can't receive messages") {
			t.Errorf("said %s", said)
		}
		if after := r.conversation("alice"); !reflect.DeepEqual(before, after) {
			t.Errorf("the answer is taken as purser's: %+v, %+v", before, after)
		}
		r.says("alice", "/cancel")
	}
	if got := r.announced(wallet.MessageReceived); len(got) != 0 {
		t.Errorf("announced %v", got)
	}
}

// TestOnlyWhatIsNotForPurserIsAnnounced (docs/specification.md, Events): nothing that a conversation asked for, no
// forwarded or edited text, no words that nobody may see, and nothing said in a group.
func TestOnlyWhatIsNotForPurserIsAnnounced(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	r.says("alice", "/send")
	r.says("alice", "1.5")
	r.says("alice", r.people["bob"].Address().String())
	r.says("alice", "/cancel")
	r.says("alice", "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about")
	for _, change := range []string{"forwarded", "edited", "group"} {
		in := r.input("alice")
		in.Text = "something " + change
		in.Forwarded, in.Edited = change == "forwarded", change == "edited"
		if change == "group" {
			in.Chat, in.Private = -5, false
		}
		r.does(in)
	}
	r.says("alice", "Where is my parcel?")
	got := r.announced(wallet.MessageReceived)
	if len(got) != 1 {
		t.Fatalf("announced %v", got)
	}
	var data wallet.MessageReceivedData
	r.Must(json.Unmarshal([]byte(got[0]), &data))
	if data.Message != "Where is my parcel?" || data.Username != "@alice" {
		t.Errorf("announced %+v", data)
	}
	for _, raw := range r.announced(wallet.CommandExecuted) {
		if strings.Contains(raw, "abandon") || strings.Contains(raw, r.PublicURL.String()) {
			t.Errorf("announced %s", raw)
		}
	}
}

// TestNothingIsAnnouncedToNobody: without any webhook no row is written.
func TestNothingIsAnnouncedToNobody(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/wallet")
	r.says("alice", "Where is my parcel?")
	if got := slices.Concat(r.announced(wallet.CommandExecuted), r.announced(wallet.MessageReceived), r.announced(wallet.UserRegistered)); len(got) != 0 {
		t.Errorf("announced %v", got)
	}
}

// told lists what was announced of a name since from, with its texts.
func (r *harness) told(name wallet.EventName, from int) string {
	r.Helper()
	return strings.Join(r.announced(name)[from:], "\n")
}

// TestWhatNoAppMayRunIsAnnouncedByItsNameAlone: neither the words of contacts, keys and apps nor their replies,
// and no contact by a way around; the end of another question is no command's reply.
func TestWhatNoAppMayRunIsAnnouncedByItsNameAlone(t *testing.T) {
	r := newHarness(t)
	r.Developers.Steps = []wallet.Verification{wallet.ByEmail}
	r.listen()
	r.rich("alice", 10*sol)
	bob := r.people["bob"].Address().String()
	for _, line := range []string{"/contacts add Mum " + bob, "/contacts@purser_bot", "/send 1 SOL Mum", "/cancel", "/send 1 SOL " + bob, "/cancel"} {
		r.says("alice", line)
	}
	got := r.told(wallet.CommandExecuted, 0)
	for _, want := range []string{`"command":"/contacts [withheld]"`, `"command":"/contacts"`, `"command":"/send [withheld]"`, `"command":"/cancel"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Mum") || strings.Contains(got, bob) {
		t.Errorf("a contact is announced:\n%s", got)
	}

	before := len(r.announced(wallet.CommandExecuted))
	for _, line := range []string{"/api", "Shop", "Takes orders."} {
		r.says("alice", line)
	}
	r.presses("alice", "I accept", "alice")
	for _, line := range []string{"alice@example.org", "/send", "/api", "/help", "/cancel"} {
		r.says("alice", line)
	}
	got = r.told(wallet.CommandExecuted, before)
	if n := strings.Count(got, "\n") + 1; n != 5 || strings.Contains(got, "example.org") || !strings.Contains(got, "How much") {
		t.Errorf("%d commands:\n%s", n, got)
	}
}

// TestALateAnswerIsNoMessage: what is written when a question has just timed out may be its answer, and a
// mail address or code may be one for as long as it is waited for.
func TestALateAnswerIsNoMessage(t *testing.T) {
	for _, ended := range []bool{false, true} { // by the look for time-outs, or by the late answer itself
		r := newHarness(t)
		r.listen()
		r.rich("alice", 10*sol)
		r.says("alice", "/send")
		r.Pass(6 * time.Minute)
		if ended {
			r.fallsSilent()
		}
		for _, line := range []string{"1.5", "1.5 please"} {
			r.says("alice", line)
		}
		if got := r.announced(wallet.MessageReceived); len(got) != 0 {
			t.Errorf("announced %v", got)
		}
		r.Pass(11 * time.Minute)
		r.says("alice", "Where is my parcel?")
		if got := r.announced(wallet.MessageReceived); len(got) != 1 {
			t.Errorf("announced %v", got)
		}
	}

	r := newHarness(t)
	r.Developers.Steps = []wallet.Verification{wallet.ByEmail}
	r.listen()
	for _, line := range []string{"/api", "Shop", "Takes orders."} {
		r.says("alice", line)
	}
	r.presses("alice", "I accept", "alice")
	for _, line := range []string{"/cancel", "alice@example.org", "/api"} {
		r.says("alice", line)
	}
	r.presses("alice", "Shop", "alice")
	for _, line := range []string{"alice@example.org", "/cancel"} {
		r.says("alice", line)
	}
	for _, line := range []string{r.code(), "my code: " + r.code(), "other@example.org", "Where is my parcel?"} {
		r.says("alice", line)
	}
	if got := r.announced(wallet.MessageReceived); len(got) != 1 || !strings.Contains(got[0], "parcel") {
		t.Errorf("announced %v", got)
	}
}

// TestKeysTypedIntoAChatAreTakenAway: they are removed, answered with what to do, and told to nobody.
func TestKeysTypedIntoAChatAreTakenAway(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	key, err := wallet.NewKeySecret(r, wallet.APIKey, true)
	r.Must(err)
	bot, err := wallet.NewKeySecret(r, wallet.BotKey, true)
	r.Must(err)
	hook := "whsec_" + strings.Repeat("aB3+", 10) + "aB=="
	for _, line := range []string{key, "my key is “" + bot + "”, why?", "/send " + hook, "/start " + key} {
		before := len(r.seen)
		r.says("alice", line)
		if got := strings.Join(r.seen[before:], ""); !strings.Contains(got, "delete") || !strings.Contains(got, "Revoke a key: /api") || strings.Contains(got, "recovery phrase") {
			t.Errorf("after %.20q…: %s", line, got)
		}
	}
	if got := slices.Concat(r.announced(wallet.MessageReceived), r.announced(wallet.CommandExecuted)); len(got) != 0 {
		t.Errorf("announced %v", got)
	}
}

// TestHistoryIsAnnouncedWithoutItsReply under each of its names: marks and counts of look-alikes would tell apps whom the
// person knows (docs/decisions/0037-history-from-the-chain.md). It is the same when an app runs it.
func TestHistoryIsAnnouncedWithoutItsReply(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	typed := []string{"/wallet history", "/wallet history all", "/wallet history please", "/WALLET History", "/history", "/history all", "/transactions", "/txs",
		"/activity", "/payments"}
	before := len(r.announced(wallet.CommandExecuted))
	for _, line := range typed {
		r.seen = nil
		if r.happen("alice: " + line); len(r.seen) == 0 || strings.Contains(strings.Join(r.seen, ""), "[withheld]") {
			t.Errorf("%s: the person reads %q", line, r.seen)
		}
	}
	var person wallet.User
	r.View(func(tx store.Tx) (err error) {
		person, err = tx.UserByTelegram(r.people["alice"].TelegramID)
		return err
	})
	for _, line := range []string{"/wallet history", "/history all"} {
		commit, err := r.chat.Execute(r.Context(), chat.AppCommand{By: handlers.Caller{KeyID: "key_1", KeyLineage: "key_1", Bot: true}, Person: person, Text: line})
		r.Must(err)
		r.Must(r.Update(func(tx store.Tx) error {
			said, err := commit(tx)
			if said == "" || said == "[withheld]" {
				t.Errorf("%s: the app reads %q", line, said)
			}
			return err
		}))
		typed = append(typed, line)
	}
	all := r.announced(wallet.CommandExecuted)[before:]
	if len(all) != len(typed) {
		t.Fatalf("announced %v", all)
	}
	for i, raw := range all {
		var data wallet.CommandExecutedData
		r.Must(json.Unmarshal([]byte(raw), &data))
		if data.Response != "[withheld]" || data.Command != typed[i] || !data.Success {
			t.Errorf("%s is announced as %+v", typed[i], data)
		}
	}
}

// TestAWithheldReplyDoesNotChangeTheCommand: apps see the same command whether or not a contact is in the history.
func TestAWithheldReplyDoesNotChangeTheCommand(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	bob := r.people["bob"].Address().String()
	for _, line := range []string{"/contacts add Landlord " + bob, "/send 1 SOL Landlord", "/cancel"} {
		r.says("alice", line)
	}
	before := len(r.announced(wallet.CommandExecuted))
	r.seen = nil
	if r.happen("alice: /wallet history all"); !strings.Contains(strings.Join(r.seen, ""), "Landlord") {
		t.Fatalf("the person reads %q", r.seen)
	}
	r.says("alice", "/wallet history Landlord")
	var got []wallet.CommandExecutedData
	for _, raw := range r.announced(wallet.CommandExecuted)[before:] {
		var data wallet.CommandExecutedData
		r.Must(json.Unmarshal([]byte(raw), &data))
		got = append(got, data)
	}
	if len(got) != 2 || got[0].Command != "/wallet history all" || got[0].Response != "[withheld]" ||
		got[1].Command != "/wallet [withheld]" || got[1].Response != "[withheld]" {
		t.Errorf("announced %+v", got)
	}
}

// TestAPaymentWithoutItsSlashIsNotAnnounced: it may name a contact, as /send may.
func TestAPaymentWithoutItsSlashIsNotAnnounced(t *testing.T) {
	r := newHarness(t)
	r.listen()
	r.rich("alice", 10*sol)
	r.says("alice", "/contacts add Landlord "+r.people["bob"].Address().String())
	for _, line := range []string{"1.5 SOL Landlord", "send 5 to landlord", "pay 1 SOL Landlord"} {
		r.seen = nil
		if r.happen("alice: " + line); !strings.Contains(strings.Join(r.seen, ""), "Did you mean") {
			t.Errorf("%s: said %q", line, r.seen)
		}
	}
	if got := r.announced(wallet.MessageReceived); len(got) != 0 {
		t.Errorf("announced %v", got)
	}
	if r.says("alice", "Where is my parcel?"); len(r.announced(wallet.MessageReceived)) != 1 {
		t.Error("other text is not announced")
	}
}

// TestAnAppReadsAWalletOnlyWithItsScope, both when the command runs and when its result is written.
func TestAnAppReadsAWalletOnlyWithItsScope(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	var person wallet.User
	grant := func(scopes ...wallet.Scope) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) (err error) {
			if person, err = tx.UserByTelegram(r.people["alice"].TelegramID); err != nil {
				return err
			}
			return tx.PutGrant(wallet.Grant{User: person.ID, App: "app_1", Scopes: scopes, GrantedAt: r.Now()})
		}))
	}
	run := func() (func(store.Tx) (string, error), error) {
		by := handlers.Caller{KeyID: "key_1", KeyLineage: "key_1", User: "usr_else", App: "app_1", Bot: true}
		return r.chat.Execute(r.Context(), chat.AppCommand{By: by, Person: person, Text: "/wallet balance", Silent: true})
	}
	grant(wallet.BotExecute)
	_, err := run()
	r.Refused(wallet.ConsentRequired, err)
	grant(wallet.BotExecute, wallet.WalletRead)
	commit, err := run()
	r.Must(err)
	grant(wallet.BotExecute)
	r.Refused(wallet.ConsentRequired, r.Update(func(tx store.Tx) error { _, err := commit(tx); return err }))
}
