package chat_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// TestALongMessageSaysAtItsEndTooThatItIsNotFromPurser: its first line may be above the screen by then.
func TestALongMessageSaysAtItsEndTooThatItIsNotFromPurser(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.happen("alice has a pro token for Shop)")
	keys := r.keys()
	by := handlers.CallerOf(keys[len(keys)-1])
	said := func(text, mode string, by handlers.Caller) string {
		t.Helper()
		posting, err := r.chat.Post(r.Context(), chat.AppMessage{ID: r.NewID("msg"), By: by, Chat: r.people["alice"].TelegramID, Text: text, ParseMode: mode})
		r.Must(err)
		r.Must(r.Update(func(tx store.Tx) error { return posting.Commit(tx, time.Time{}) }))
		rows := r.outbox()
		var reply chat.Reply
		r.Must(json.Unmarshal(rows[len(rows)-1].Body, &reply))
		return reply.Text
	}
	for _, c := range []struct {
		mode, text, end string
		long            bool
	}{
		{"", strings.Repeat("x", 400), "\n\n⬆️ Not from purser.", false},
		{"", strings.Repeat("x", 401), "\n\n⬆️ Not from purser.", true},
		{"", strings.Repeat("é", 400), "\n\n⬆️ Not from purser.", false},
		{"", strings.Repeat("x\n", 9) + "x", "\n\n⬆️ Not from purser.", false},
		{"", strings.Repeat("x\n", 10) + "x", "\n\n⬆️ Not from purser.", true},
		{"HTML", strings.Repeat("x&#10;", 10) + "x", "\n\n⬆️ Not from purser.", true},
		{"HTML", strings.Repeat("<b>x</b>", 400), "\n\n⬆️ Not from purser.", false},
		{"Markdown", strings.Repeat("x", 401) + "[y](", "\n\n⬆️ Not from purser.", true},
		{"MarkdownV2", strings.Repeat("x", 401), "\n\n⬆️ Not from purser\\.", true},
	} {
		text := said(c.text, c.mode, by)
		if !strings.HasPrefix(text, "Not from purser") || strings.HasSuffix(text, c.end) != c.long {
			t.Errorf("%s %.20q of %d: %.60q … %q", c.mode, c.text, len(c.text), text, text[len(text)-30:])
		}
		foot := text[strings.Index(text, c.text)+len(c.text):]
		if c.mode != "HTML" && strings.ContainsAny(foot, ")]`*_\"'<>") { // nothing that could end markup left open
			t.Errorf("%s: what follows the app's words is %q", c.mode, foot)
		}
	}
	operators := handlers.Caller{KeyID: "key_1", KeyLineage: "key_1", Bot: true}
	if text := said(strings.Repeat("x", 401), "", operators); strings.Contains(text, "purser") {
		t.Errorf("an operator's: %q", text)
	}
	// The longest message fits with both lines, which Telegram takes as one.
	if text := said(strings.Repeat("x", 4000), "", by); len([]rune(text)) > 4096 {
		t.Errorf("%d characters", len([]rune(text)))
	}
	r.happen("alice has a pro token for " + strings.Repeat("S", wallet.MaxAppName))
	keys = r.keys()
	if text := said(strings.Repeat("x", 4000), "", handlers.CallerOf(keys[len(keys)-1])); len([]rune(text)) > 4096 {
		t.Errorf("%d characters", len([]rune(text)))
	}
}
