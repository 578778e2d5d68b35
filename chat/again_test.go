package chat_test

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/e2e/world"
	"purser/store"
	"purser/wallet"
)

// TestAnAnswerThatConflictsMailsNoSecondCode: the answer is handled again then, from the start.
func TestAnAnswerThatConflictsMailsNoSecondCode(t *testing.T) {
	r := newHarness(t)
	r.Developers.Steps = []wallet.Verification{wallet.ByEmail}
	for _, text := range []string{"/api", "Shop", "Takes orders from people."} {
		r.says("alice", text)
	}
	r.presses("alice", "I accept", "alice")
	again := func(in chat.Input) {
		t.Helper()
		before := len(r.mails)
		_, err := r.chat.Handle(context.Background(), in) // this turn is not committed, as after a conflict
		r.Must(err)
		r.does(in)
		if got := len(r.mails) - before; got != 1 {
			t.Fatalf("%d mails", got)
		}
	}
	in := r.input("alice")
	in.Text = "alice@example.org"
	again(in)
	again(r.tapped("alice", "New code"))
	r.seen = nil
	r.says("alice", r.code())
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "What does Shop need?") {
		t.Errorf("the mailed code: %s", said)
	}
}

// TestAChoiceOfALinkThatIsGone is answered, and not tried again and again.
func TestAChoiceOfALinkThatIsGone(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	nonce := base64.RawURLEncoding.EncodeToString([]byte("sixteen bytes it"))
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutButtons([]store.Button{{Nonce: nonce, Chat: 1003, User: 1003, Action: "none", Subject: "gone", ExpiresAt: r.Now().Add(time.Minute)}})
	}))
	in := r.input("carol")
	in.Tap = &chat.Tap{CallbackID: "cb", Data: nonce}
	r.does(in)
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "That link no longer works.") {
		t.Errorf("said %s", said)
	}
}

// TestARequestIsFoundBehindManyOtherTransactions: the payer learns that the requester is told, however busy they are.
func TestARequestIsFoundBehindManyOtherTransactions(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	r.rich("bob", sol)
	r.says("bob", "/wallet address 1.5 SOL")
	asked := r.newest("bob")
	link := wallet.PayLink{To: asked.To, Amount: wallet.MustDecimal("1.5"), References: []wallet.Address{asked.Reference}}.String()
	for range 110 {
		r.says("bob", "/send 0.1 SOL "+r.people["alice"].Address().String())
	}
	told := func() bool {
		r.seen = nil
		r.says("alice", "/send "+link)
		return strings.Contains(strings.Join(r.seen, ""), "I tell the requester")
	}
	if !told() {
		t.Error("the open request was not found")
	}
	r.Pass(asked.Deadline.Sub(r.Now()))
	if told() {
		t.Error("a request whose time is over is promised an answer")
	}
}

// TestTooManyIsSaidInThePersonsLanguage, and in English to somebody new.
func TestTooManyIsSaidInThePersonsLanguage(t *testing.T) {
	r := inPseudo(t, world.Options{})
	r.says("alice", "/help")
	said := func(chat int64) (text string) {
		r.View(func(tx store.Tx) error {
			replies, err := r.chat.TooMany(tx, chat)
			if err == nil {
				text = replies[0].Text
			}
			return err
		})
		return text
	}
	if text := said(r.people["alice"].TelegramID); !strings.HasPrefix(inEnglish(text), "You're sending faster") || strings.HasPrefix(text, "You're") {
		t.Errorf("to Alice: %s", text)
	}
	if text := said(r.people["bob"].TelegramID); !strings.HasPrefix(text, "You're sending faster") {
		t.Errorf("to a stranger: %s", text)
	}
}

// TestManyRejectionsHideNoPayment: the history reads on behind them.
func TestManyRejectionsHideNoPayment(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 10*sol)
	to := r.people["bob"].Address().String()
	r.says("alice", "/send 1 SOL "+to)
	r.presses("alice", "Confirm", "alice")
	r.signs("alice")
	r.Settled(r.newest("alice").ID)
	for range 64 {
		r.says("alice", "/send 0.1 SOL "+to)
	}
	r.says("alice", "/cancel")
	r.seen = nil
	r.says("alice", "/wallet history")
	if said := strings.Join(r.seen, ""); !strings.Contains(said, "Sent 1 SOL") || !strings.Contains(said, "64 rejected or expired payments aren't shown") {
		t.Errorf("said %s", said)
	}
	r.seen = nil
	r.says("alice", "/wallet history all")
	if said := strings.Join(r.seen, ""); strings.Count(said, ": rejected\n") != 1 || strings.Count(said, ": replaced") != 14 || strings.Contains(said, "Sent 1 SOL") {
		t.Errorf("all: %s", said)
	}
}

// TestOnlyTheNewestQuestionsBesideAreKept: the oldest is closed when another one would be too many.
func TestOnlyTheNewestQuestionsBesideAreKept(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	for range 11 {
		r.says("alice", "/delete_me")
	}
	open := slices.DeleteFunc(slices.Clone(r.messages[r.people["alice"].TelegramID]), func(m *message) bool {
		return !strings.Contains(m.reply.Text, "Delete everything about you?") || len(m.reply.Buttons) == 0
	})
	if len(open) != 10 {
		t.Fatalf("%d questions have buttons", len(open))
	}
	r.seen = nil
	r.says("alice", "/cancel")
	if n := strings.Count(strings.Join(r.seen, ""), "Nothing was deleted."); n != 10 {
		t.Errorf("%d were cancelled", n)
	}
}

// mistyped is an address with one wrong character near its end. It is an address, too.
func mistyped(a wallet.Address) string {
	text := a.String()
	for _, letter := range "abcdefgh" {
		other := text[:len(text)-3] + string(letter) + text[len(text)-2:]
		if got, err := wallet.ParseAddress(other); err == nil && got != a && got.OnCurve() {
			return other
		}
	}
	return ""
}
