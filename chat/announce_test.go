package chat_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// announced lists what was announced of a name, as JSON, oldest first.
func (r *rig) announced(name wallet.EventName) []string {
	r.Helper()
	var out []string
	r.View(func(tx store.Tx) error {
		list, err := tx.Announcements(1000)
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
func (r *rig) listen() {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		return tx.PutWebhook(wallet.Webhook{ID: "wh_1", Kind: wallet.BotKey, Line: "key_1", URL: "https://example.com/", Events: []string{"*"}, Active: true, CreatedAt: r.Now()})
	}))
}

// TestCommandsAreAnnouncedWithTheirReply (SPEC, Bot event types), by the words that the person read.
func TestCommandsAreAnnouncedWithTheirReply(t *testing.T) {
	r := newRig(t)
	r.listen()
	r.rich("alice", 10*sol)
	before := len(r.announced(wallet.CommandExecuted))
	r.says("alice", "/wallet balance")
	r.says("alice", "/send 99 SOL "+r.people["bob"].Address().String())
	r.says("alice", "/nosuch")
	r.says("alice", "wallet balance")
	var got []wallet.CommandExecutedData
	for _, raw := range r.announced(wallet.CommandExecuted)[before:] {
		var data wallet.CommandExecutedData
		r.Must(json.Unmarshal([]byte(raw), &data))
		got = append(got, data)
	}
	if len(got) != 2 {
		t.Fatalf("announced %+v", got)
	}
	chat := fmt.Sprint(r.people["alice"].TelegramID)
	if got[0].Command != "/wallet balance" || !got[0].Success || got[0].ChatID != chat || !strings.Contains(got[0].Response, "`10` SOL") || strings.Contains(got[0].Response, "<b>") {
		t.Errorf("a balance: %+v", got[0])
	}
	if got[1].Success || !strings.Contains(got[1].Response, "You hold 10 SOL free to send") {
		t.Errorf("a refused transfer: %+v", got[1])
	}
	if _, err := time.Parse(time.RFC3339Nano, got[0].Timestamp); err != nil {
		t.Error(err)
	}
}

// TestOnlyWhatIsNotForPurserIsAnnounced (DESIGN §7): nothing that a conversation asked for, no forwarded or
// edited text, no words that nobody may see, and nothing said in a group.
func TestOnlyWhatIsNotForPurserIsAnnounced(t *testing.T) {
	r := newRig(t)
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
	r := newRig(t)
	r.says("alice", "/wallet")
	r.says("alice", "Where is my parcel?")
	if got := slices.Concat(r.announced(wallet.CommandExecuted), r.announced(wallet.MessageReceived), r.announced(wallet.UserRegistered)); len(got) != 0 {
		t.Errorf("announced %v", got)
	}
}
