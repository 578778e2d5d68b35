package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	tele "gopkg.in/telebot.v3"
)

// newBot starts a small telebot bot against the world, unchanged but for the address.
func newBot(t *testing.T, w *world, p tele.Poller) *tele.Bot {
	t.Helper()
	b, err := tele.NewBot(tele.Settings{URL: w.http.URL, Token: w.Token(), Poller: p, Synchronous: true, OnError: func(err error, _ tele.Context) {
		if !strings.HasSuffix(err.Error(), context.Canceled.Error()) { // Stop cancels even the answers that are on their way
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	menu := &tele.ReplyMarkup{}
	yes := menu.Data("Yes", "yes", "42")
	menu.Inline(menu.Row(yes))
	png := picture(t, 64, 64)
	b.Handle("/start", func(c tele.Context) error {
		if err := c.Notify(tele.Typing); err != nil {
			return err
		}
		return c.Send("Hello <b>"+c.Sender().FirstName+"</b> "+c.Message().Payload, tele.ModeHTML, menu)
	})
	b.Handle("/qr", func(c tele.Context) error {
		return c.Send(&tele.Photo{File: tele.FromReader(bytes.NewReader(png)), Caption: "scan"})
	})
	b.Handle(&yes, func(c tele.Context) error {
		if err := c.Respond(&tele.CallbackResponse{Text: "got " + c.Data(), ShowAlert: true}); err != nil {
			return err
		}
		return c.Edit("Done", &tele.ReplyMarkup{})
	})
	b.Handle(tele.OnContact, func(c tele.Context) error {
		return c.Send("Thanks for "+c.Message().Contact.PhoneNumber, &tele.ReplyMarkup{RemoveKeyboard: true})
	})
	return b
}

func converse(t *testing.T, w *world) {
	t.Helper()
	ctx := soon(t)
	w.say(Alice, "/start abc")
	hello, err := w.WaitMessage(ctx, Alice, func(m Message) bool { return m.Text == "Hello Alice abc" })
	if err != nil {
		t.Fatal(err)
	}
	if len(hello.Entities) != 1 || hello.Entities[0] != (Entity{Type: "bold", Offset: 6, Length: 5}) {
		t.Errorf("%+v", hello.Entities)
	}
	q, err := w.Tap(Alice, hello.ID, "Yes")
	if err != nil {
		t.Fatal(err)
	}
	if toast, err := w.WaitToast(ctx, q); err != nil || toast.Text != "got 42" || !toast.Alert {
		t.Errorf("%+v %v", toast, err)
	}
	if m, err := w.WaitMessage(ctx, Alice, func(m Message) bool { return m.ID == hello.ID && m.Text == "Done" }); err != nil || m.Edits != 1 {
		t.Errorf("%+v %v", m, err)
	}
	w.say(Bob, "/qr")
	if m, err := w.WaitMessage(ctx, Bob, func(m Message) bool { return m.Photo != nil }); err != nil || m.Caption != "scan" || m.Photo[0].Width != 64 {
		t.Errorf("%+v %v", m, err)
	}
	if _, err := w.ShareContact(Bob, Bob); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WaitMessage(ctx, Bob, func(m Message) bool { return m.Text == "Thanks for +15550101002" }); err != nil {
		t.Error(err)
	}
}

func TestTelebotWorksByPolling(t *testing.T) {
	w := newWorld(t, Options{})
	b := newBot(t, w, &tele.LongPoller{Timeout: time.Second})
	if b.Me.Username != "purser_sandbox_bot" {
		t.Errorf("%+v", b.Me)
	}
	started := make(chan struct{})
	go func() { b.Start(); close(started) }()
	converse(t, w)
	b.Stop()
	<-started
}

func TestTelebotWorksByWebhook(t *testing.T) {
	w := newWorld(t, Options{})
	// telebot's own webhook poller has a data race and panics when stopped; its handlers have not.
	b := newBot(t, w, nil)
	front := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var u tele.Update
		if err := json.NewDecoder(r.Body).Decode(&u); err != nil {
			t.Error(err)
		}
		b.ProcessUpdate(u)
	}))
	defer front.Close()
	if err := b.SetWebhook(&tele.Webhook{Endpoint: &tele.WebhookEndpoint{PublicURL: front.URL}}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- w.Run(ctx) }()
	converse(t, w)
	stop()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func TestTelebotReadsOurRefusals(t *testing.T) {
	w := newWorld(t, Options{})
	b := newBot(t, w, nil)
	if _, err := b.Send(tele.ChatID(Bob), "x"); err != tele.ErrNotStartedByUser {
		t.Error(err)
	}
	if _, err := b.Send(tele.ChatID(5), "x"); err != tele.ErrChatNotFound {
		t.Error(err)
	}
	w.say(Alice, "/start")
	m, err := b.Send(tele.ChatID(Alice), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Edit(m, "x"); err != tele.ErrSameMessageContent {
		t.Error(err)
	}
	if _, err := b.Send(tele.ChatID(Alice), string(bytes.Repeat([]byte("x"), 5000))); err != tele.ErrTooLongMessage {
		t.Error(err)
	}
}
