package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

func TestLongPollWaitsForTheNextUpdate(t *testing.T) {
	w := newWorld(t, Options{})
	waiting := make(chan struct{})
	w.SetFault(func(method string) Fault {
		if method == "getUpdates" {
			close(waiting)
		}
		return Fault{}
	})
	got := make(chan []update)
	go func() { got <- w.updates(map[string]any{"timeout": 50}) }()
	<-waiting
	w.SetFault(nil)
	id := w.say(Alice, "/start payload")
	list := <-got
	if len(list) != 1 || list[0].ID != id || list[0].Message.Text != "/start payload" {
		t.Fatalf("%+v", list)
	}
	if e := list[0].Message.Entities; len(e) != 1 || e[0] != (Entity{Type: "bot_command", Length: 6}) {
		t.Errorf("%+v", e)
	}
}

func TestUpdatesStayUntilAcknowledged(t *testing.T) {
	w := newWorld(t, Options{})
	a, b, c := w.say(Alice, "a"), w.say(Bob, "b"), w.say(Alice, "c")
	if !(a < b && b < c) {
		t.Fatal(a, b, c)
	}
	if got := w.updates(map[string]any{"limit": 2}); len(got) != 2 || got[0].ID != a {
		t.Errorf("%+v", got)
	}
	if got := w.updates(nil); len(got) != 3 {
		t.Errorf("unacknowledged updates vanished: %+v", got)
	}
	if got := w.updates(map[string]any{"offset": b}); len(got) != 2 || got[0].ID != b {
		t.Errorf("%+v", got)
	}
	if got := w.updates(map[string]any{"offset": -1}); len(got) != 1 || got[0].ID != c {
		t.Errorf("%+v", got)
	}
	if w.Pending() != 1 {
		t.Errorf("%d pending", w.Pending())
	}
}

func TestAllowedUpdatesAreRemembered(t *testing.T) {
	w := newWorld(t, Options{})
	w.updates(map[string]any{"allowed_updates": []string{"callback_query"}})
	w.say(Alice, "unheard")
	w.updates(map[string]any{"allowed_updates": []string{}})
	w.say(Alice, "heard")
	if got := w.updates(nil); len(got) != 1 || got[0].Message.Text != "heard" {
		t.Errorf("%+v", got)
	}
}

func TestSecondPollerEndsTheFirst(t *testing.T) {
	w := newWorld(t, Options{})
	first := make(chan reply)
	go func() { first <- w.call("getUpdates", map[string]any{"timeout": 50}) }()
	if err := waitPolling(soon(t), w.Server); err != nil {
		t.Fatal(err)
	}
	second := make(chan reply)
	go func() { second <- w.call("getUpdates", map[string]any{"timeout": 50}) }()
	r := <-first
	if r.Status != 409 || r.Description != "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running" {
		t.Errorf("%+v", r)
	}
	w.call("setWebhook", map[string]any{"url": "https://127.0.0.1:1/hook"})
	r = <-second
	if r.Status != 409 || r.Description != "Conflict: terminated by setWebhook request" {
		t.Errorf("%+v", r)
	}
	r = w.call("getUpdates", nil)
	if r.Status != 409 {
		t.Errorf("%+v", r)
	}
	if r = w.call("deleteWebhook", nil); r.Description != "Webhook was deleted" {
		t.Errorf("%+v", r)
	}
}

// waitPolling waits until a long poll waits; getUpdates itself changes nothing that WaitFor would see.
func waitPolling(ctx context.Context, s *Server) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		there := s.poll != nil
		s.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestWebhookDeliversInOrderAndRetries(t *testing.T) {
	w := newWorld(t, Options{})
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- w.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}()
	type delivery struct {
		secret string
		u      update
	}
	got := make(chan delivery, 10)
	var failed atomic.Bool
	bot := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d := delivery{secret: r.Header.Get("X-Telegram-Bot-Api-Secret-Token")}
		if err := json.Unmarshal(body, &d.u); err != nil {
			t.Error(err)
		}
		got <- d
		if failed.CompareAndSwap(false, true) {
			rw.WriteHeader(500)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		io.WriteString(rw, `{"method":"sendMessage","chat_id":1001,"text":"by answer"}`)
	}))
	defer bot.Close()
	if r := w.call("setWebhook", map[string]any{"url": bot.URL, "secret_token": "s3cret_-"}); r.Description != "Webhook was set" {
		t.Fatal(r.Description)
	}
	a, b := w.say(Alice, "a"), w.say(Alice, "b")
	for _, want := range []int64{a, a, b} {
		select {
		case d := <-got:
			if d.u.ID != want || d.secret != "s3cret_-" {
				t.Errorf("got %+v, want update %d", d, want)
			}
		case <-soon(t).Done():
			t.Fatal("no delivery")
		}
	}
	if _, err := w.WaitMessage(soon(t), Alice, func(m Message) bool { return m.Text == "by answer" }); err != nil {
		t.Error(err)
	}
	if err := w.WaitFor(soon(t), func() bool { return w.Pending() == 0 }); err != nil {
		t.Error(err)
	}
	if r := w.call("getWebhookInfo", nil); !bytes.Contains(r.Result, []byte("Wrong response from the webhook: 500 Internal Server Error")) {
		t.Errorf("%s", r.Result)
	}
}

func TestStateSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Server: first, t: t, http: httptest.NewServer(first.Handler())}
	w.say(Alice, "/start")
	w.call("setMyCommands", map[string]any{"commands": []map[string]string{{"command": "send", "description": "Send"}}})
	sent := w.call("sendMessage", map[string]any{"chat_id": Alice, "text": "hi", "reply_markup": `{"inline_keyboard":[[{"text":"Go","callback_data":"1"}]]}`}).message(t)
	w.call("editMessageText", map[string]any{"chat_id": Alice, "message_id": sent.ID, "text": "hello", "reply_markup": `{"inline_keyboard":[[{"text":"Go","callback_data":"2"}]]}`})
	tap, err := w.Tap(Alice, sent.ID, "Go")
	if err != nil {
		t.Fatal(err)
	}
	seen := w.updates(nil)
	w.updates(map[string]any{"offset": seen[0].ID + 1})
	w.http.Close() // and no Close: the process is gone

	path := filepath.Join(dir, "telegram.jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`[{"message":{"mess`); err != nil { // torn by the kill
		t.Fatal(err)
	}
	f.Close()

	for range 2 { // the second time reads what the first rewrote
		again := newWorld(t, Options{Dir: dir})
		m, _ := again.Message(sent.ID)
		if m.Text != "hello" || m.Edits != 1 || len(m.Buttons()) != 1 {
			t.Fatalf("%+v", m)
		}
		got := again.updates(nil)
		if len(got) != 1 || got[0].Callback == nil || got[0].Callback.ID != tap || got[0].ID != seen[1].ID {
			t.Fatalf("redelivered %+v", got)
		}
		if len(again.Commands(Bob)) != 1 {
			t.Error("commands are lost")
		}
		next := again.call("sendMessage", map[string]any{"chat_id": Alice, "text": "more"}).message(t)
		if next.ID <= sent.ID {
			t.Errorf("message id %d after %d", next.ID, sent.ID)
		}
		again.call("deleteMessage", map[string]any{"chat_id": Alice, "message_id": next.ID})
		again.Close()
	}
	again := newWorld(t, Options{Dir: dir})
	if next := again.call("sendMessage", map[string]any{"chat_id": Alice, "text": "more"}).message(t); next.ID != sent.ID+3 {
		t.Errorf("the id of a deleted message was given again: %d", next.ID)
	}
	if r := again.call("answerCallbackQuery", map[string]any{"callback_query_id": tap}); !r.OK {
		t.Error(r.Description)
	}
}

func TestDamagedJournalIsReported(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "telegram.jsonl"), []byte("[]\nnonsense\n[]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); err == nil {
		t.Error("damage in the middle went unnoticed")
	}
}

// A raw update must be a JSON object: anything else is an error, and nothing is queued.
func TestRawUpdatesAreObjects(t *testing.T) {
	w := newWorld(t, Options{})
	for _, raw := range []string{`null`, ` null `, `[]`, `1`, `"text"`, `{`, ``} {
		if id, err := w.SayRaw(json.RawMessage(raw)); err == nil || id != 0 {
			t.Errorf("%q was queued as update %d", raw, id)
		}
	}
	if n := w.Pending(); n != 0 {
		t.Errorf("%d updates are queued", n)
	}
	if id, err := w.SayRaw(json.RawMessage(`{}`)); err != nil || id == 0 || w.Pending() != 1 {
		t.Errorf("an empty object: update %d, %v", id, err)
	}
}

func TestUpdatesAreForgottenAfterADay(t *testing.T) {
	c := newClock()
	w := newWorld(t, Options{Now: c.Now})
	w.say(Alice, "old")
	c.advance(25 * time.Hour)
	w.say(Alice, "new")
	if got := w.updates(nil); len(got) != 1 || got[0].Message.Text != "new" {
		t.Errorf("%+v", got)
	}
}

func TestLongTextArrivesInParts(t *testing.T) {
	w := newWorld(t, Options{})
	long := bytes.Repeat([]byte("word "), 2000)
	w.say(Alice, string(long))
	got := w.updates(nil)
	if len(got) != 3 {
		t.Fatalf("%d parts", len(got))
	}
	for _, u := range got {
		if len(u.Message.Text) > 4096 {
			t.Error(len(u.Message.Text))
		}
	}
}
