package chat_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// toChoice brings somebody to the choice of keys.
func (r *harness) toChoice(name string) {
	r.Helper()
	for _, line := range []string{"/api", "Shop", "Takes orders."} {
		r.says(name, line)
	}
	r.presses(name, "I accept", name)
	in := r.input(name)
	in.Contact = &chat.Contact{TelegramID: in.From.TelegramID}
	r.does(in)
}

// tapped is a touch of a button, not yet handled.
func (r *harness) tapped(name, label string) chat.Input {
	r.Helper()
	b, id := r.button(name, label)
	in := r.input(name)
	in.MessageID, in.Tap = id, &chat.Tap{CallbackID: "cb", Data: b.Data}
	return in
}

// outbox are the replies that wait.
func (r *harness) outbox() []store.Reply {
	r.Helper()
	return storetest.Outbox(r, r.Store)
}

// secretIn finds a key in replies.
func secretIn(replies []store.Reply) string {
	for _, reply := range replies {
		if secret := keySecret.FindString(string(reply.Body)); secret != "" {
			return secret
		}
	}
	return ""
}

// TestOnboardingLeaksNothing looks for the key and the mailed code in the raw database file, in the
// conversation, in the events and in the log, after every single step; and finds what may be there, so
// that it would find them.
func TestOnboardingLeaksNothing(t *testing.T) {
	r := newHarness(t)
	r.Developers.Steps = []wallet.Verification{wallet.ByContact, wallet.ByEmail}
	var log bytes.Buffer
	r.Developers.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := r.options()
	o.Log = r.Developers.Log
	var err error
	r.chat, err = chat.New(o)
	r.Must(err)

	var seen []string // everything that was written, step by step
	look := func() {
		file, err := os.ReadFile(r.File)
		r.Must(err)
		var events []wallet.Event
		r.View(func(tx store.Tx) error { events, err = tx.PendingEvents(1000); return err })
		told, err := json.Marshal(events)
		r.Must(err)
		keys, err := json.Marshal(r.keys())
		r.Must(err)
		var dev wallet.Developer
		r.View(func(tx store.Tx) error {
			user, err := tx.UserByTelegram(r.people["alice"].TelegramID)
			if err == nil {
				dev, err = tx.Developer(user.ID)
			}
			return err
		})
		known, err := json.Marshal(dev)
		r.Must(err)
		seen = append(seen, string(file), string(r.conversation("alice").Data)+string(known), string(told), string(keys))
	}
	step := func(in chat.Input) {
		r.Must(r.try(in))
		look() // while the reply waits
		r.settle()
		look()
	}
	says := func(text string) {
		in := r.input("alice")
		in.Text = text
		step(in)
	}
	for _, line := range []string{"/api", "Shop", "Takes orders."} {
		says(line)
	}
	step(r.tapped("alice", "I accept"))
	in := r.input("alice")
	in.Contact = &chat.Contact{TelegramID: in.From.TelegramID}
	step(in)
	r.noMail = true
	says("alice@example.org")
	r.noMail = false
	says("alice@example.org")
	code := r.code()
	look()
	says(code)
	making := r.tapped("alice", "Create")
	r.Must(r.try(making))
	secret := secretIn(r.outbox())
	look()
	r.settle()
	look()
	step(r.tapped("alice", "I've saved it"))
	says("/api")

	all := strings.Join(seen, "\x00") + log.String()
	for what, text := range map[string]string{"key": secret, "body of the key": secret[len("pur_test_"):], "code": code, "address": "alice@example.org",
		"purpose": "Takes orders."} {
		for form, text := range map[string]string{"plain": text, "base64": base64.RawStdEncoding.EncodeToString([]byte(text)), "hex": hex.EncodeToString([]byte(text))} {
			allowed := what == "address" || what == "purpose" // in the conversation, which the file holds sealed
			where := all
			if allowed {
				where = onlyFiles(seen) + log.String()
			}
			if strings.Contains(where, text) {
				t.Errorf("the %s is written somewhere as %s", what, form)
			}
		}
	}
	for what, text := range map[string]string{"hint of the key": `"hint":"` + secret[len(secret)-4:], "conversation": `"app":"Shop"`, "mail hash": `"salt":`, "log": "a mail could not be sent"} {
		if !strings.Contains(all, text) {
			t.Errorf("the search does not even find the %s", what)
		}
	}
	if !strings.Contains(onlyFiles(seen), "wallet:read") || len(code) != 6 || len(secret) != 45 {
		t.Errorf("the search does not see into the file, or not for what it should: code %q, key of %d characters", code, len(secret))
	}
}

// onlyFiles are the database files of what look has gathered.
func onlyFiles(seen []string) string {
	var out strings.Builder
	for i := 0; i < len(seen); i += 4 {
		out.WriteString(seen[i])
	}
	return out.String()
}

// TestKeyIsRemovedAfterARestart: nothing but the store remembers that it has to be.
func TestKeyIsRemovedAfterARestart(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	r.presses("alice", "Create", "alice")
	r.seen = nil
	r.Pass(chat.KeyShown)
	var err error
	r.chat, err = chat.New(r.options())
	r.Must(err)
	r.fallsSilent()
	r.settle()
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "delete (🔑") || !strings.Contains(said, "I removed the message with") {
		t.Errorf("said %q", said)
	}
	r.seen = nil
	r.fallsSilent()
	if r.settle(); len(r.seen) != 0 {
		t.Errorf("said once more: %q", r.seen)
	}
}

// TestKeyThatWasNotSentInTimeIsNeverSent: Telegram was away for a minute.
func TestKeyThatWasNotSentInTimeIsNeverSent(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	r.Must(r.try(r.tapped("alice", "Create")))
	if secretIn(r.outbox()) == "" {
		t.Fatal("no key waits to be sent")
	}
	r.Pass(chat.KeyShown)
	r.fallsSilent()
	if secretIn(r.outbox()) != "" {
		t.Error("the key is sent after its time")
	}
	r.seen = nil
	if r.settle(); !strings.Contains(strings.Join(r.seen, ""), "I removed the message with") {
		t.Errorf("said %q", r.seen)
	}
}

// TestKeyIsOverwrittenWhenTelegramDeletesNoMore: purser was away for days.
func TestKeyIsOverwrittenWhenTelegramDeletesNoMore(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	r.presses("alice", "Create", "alice")
	r.seen = nil
	r.Pass(72 * time.Hour)
	r.fallsSilent()
	if r.settle(); len(r.seen) != 1 || !strings.Contains(r.seen[0], "edit I removed the message with the new key") {
		t.Errorf("said %q", r.seen)
	}
}

// TestKeyIsRemovedFromTheChatOfWhoeverComesBack: they had blocked the bot, so that nothing could be deleted.
func TestKeyIsRemovedFromTheChatOfWhoeverComesBack(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	r.presses("alice", "Create", "alice")
	r.seen = nil
	reach := func(yes bool) {
		r.Must(r.Update(func(tx store.Tx) error {
			user, err := tx.UserByTelegram(r.people["alice"].TelegramID)
			if err != nil {
				return err
			}
			user.Unreachable = !yes
			return tx.PutUser(user)
		}))
	}
	reach(false)
	r.Pass(chat.KeyShown)
	r.fallsSilent()
	if r.settle(); len(r.seen) != 0 {
		t.Fatalf("said to nobody: %q", r.seen)
	}
	reach(true)
	r.Pass(time.Hour)
	r.fallsSilent()
	if r.settle(); !strings.Contains(strings.Join(r.seen, ""), "delete (🔑") {
		t.Errorf("said %q", r.seen)
	}
}

func TestTwoTapsAtOnceMakeOneKey(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	in := r.tapped("alice", "Create")
	var turns []chat.Turn
	for range 2 { // both are decided before either is written
		turn, err := r.chat.Handle(context.Background(), in)
		r.Must(err)
		turns = append(turns, turn)
	}
	r.Must(r.Update(turns[0].Commit))
	if err := r.Update(turns[1].Commit); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("the second tap: %v", err)
	}
	r.Must(r.try(in))
	r.settle()
	if n := len(r.keys()); n != 1 {
		t.Errorf("%d keys", n)
	}
}

// TestHostileAnswersInEveryStateOfTheOnboarding: each gets an answer that Telegram takes (see checkReply).
func TestHostileAnswersInEveryStateOfTheOnboarding(t *testing.T) {
	hostile := []string{"<b>x</b>", "a\u202eb", "\x00", "&lt;", strings.Repeat("x", 4000), "a@b", "000000", "/", "🦊", "%s %d {{.App}}"}
	for _, upTo := range [][]string{{"/api"}, {"/api", "Shop"}, {"/api", "Shop", "Takes orders."}} {
		r := newHarness(t)
		r.Developers.Steps = []wallet.Verification{wallet.ByEmail}
		for _, line := range upTo {
			r.says("alice", line)
		}
		if len(upTo) == 3 {
			r.presses("alice", "I accept", "alice")
		}
		for _, text := range hostile {
			before := len(r.seen)
			if r.says("alice", text); len(r.seen) == before {
				t.Errorf("%q after %q is not answered", text, upTo)
			}
		}
	}
}

// TestRotatedKeyIsNotRotatedByAnOldButton: a program rotated it since the message was drawn.
func TestRotatedKeyIsNotRotatedByAnOldButton(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	r.presses("alice", "Create", "alice")
	r.presses("alice", "I've saved it", "alice")
	r.says("alice", "/api")
	key := r.keys()[0]
	r.presses("alice", "API key …"+key.Hint, "alice")
	_, _, err := r.Keys.Rotate(r.Context(), key.ID, false)
	r.Must(err)
	r.seen = nil
	r.presses("alice", "Rotate", "alice")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "edit …k1 was already rotated and expires 22 November 2026, 12:00 UTC.") || strings.Contains(said, "[") {
		t.Errorf("said %q", said)
	}
	if len(r.keys()) != 2 {
		t.Errorf("%d keys", len(r.keys()))
	}
}

// TestAKeyBesideAConversationIsRemovedOnceItCanBe: nothing can be deleted in the chat of somebody who has blocked the bot.
func TestAKeyBesideAConversationIsRemovedOnceItCanBe(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	r.presses("alice", "Create", "alice")
	r.happen("alice: /cancel_nothing") // a command that there is not leaves the key
	r.happen("alice: /send 1 SOL")
	unreachable := func(yes bool) {
		r.Must(r.Update(func(tx store.Tx) error {
			user, err := tx.UserByTelegram(r.people["alice"].TelegramID)
			if err != nil {
				return err
			}
			user.Unreachable = yes
			return tx.PutUser(user)
		}))
	}
	look := func() string {
		r.seen = nil
		r.fallsSilent()
		r.settle()
		return strings.Join(r.seen, "")
	}
	unreachable(true)
	r.Pass(2 * time.Minute)
	if said := look(); said != "" {
		t.Errorf("said to whoever hears nothing: %s", said)
	}
	unreachable(false)
	r.Pass(2 * time.Hour)
	if said := look(); !strings.Contains(said, "delete (🔑") || !strings.Contains(said, "I removed the message with the new key") {
		t.Errorf("said %s", said)
	}
	if said := look(); said != "" {
		t.Errorf("said again %s", said)
	}
}

// TestAKeyBesideAConversationLeavesWithThePerson: the second conversation holds the name and the purpose of an app, and
// whose it is.
func TestAKeyBesideAConversationLeavesWithThePerson(t *testing.T) {
	r := newHarness(t)
	r.toChoice("alice")
	r.presses("alice", "Create", "alice")
	r.says("alice", "/wallet balance")
	telegramID := r.people["alice"].TelegramID
	silent := func() (list []store.Conversation) {
		r.View(func(tx store.Tx) error {
			list = nil
			for _, job := range r.timeouts() {
				conv, err := store.ConversationOfTimeout(tx, job)
				if err != nil {
					return err
				}
				if conv.State != "" {
					list = append(list, conv)
				}
			}
			return nil
		})
		return list
	}
	if list := silent(); len(list) != 1 || list[0].User != telegramID || !strings.Contains(string(list[0].Data), "keys:") {
		t.Fatalf("before: %v", list)
	}
	r.says("alice", "/delete_me")
	r.presses("alice", "Delete everything", "alice")
	if list := silent(); len(list) != 0 {
		t.Errorf("left of an erased person: %v", list)
	}
	if conv := r.conversation("alice"); conv.State != "" || len(conv.Data) != 0 {
		t.Errorf("left of an erased person: %+v", conv)
	}
}
