package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
)

func TestPollingSurvivesEveryTrouble(t *testing.T) {
	for name, fault := range map[string]telegram.Fault{
		"502 in HTML":      {Kind: telegram.BadGateway},
		"429":              {Kind: telegram.TooMany, RetryAfter: 7},
		"500":              {Kind: telegram.Internal},
		"no answer":        {Kind: telegram.Hang},
		"lost answer":      {Kind: telegram.DropAnswer},
		"broken":           {Kind: telegram.DropRequest},
		"answered to late": {Kind: telegram.HangAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, done := newBubbleWorld(t)
				defer done()
				var mu sync.Mutex
				failures := map[string]int{}
				polls := 0
				w.telegram.SetFault(func(method string) telegram.Fault {
					mu.Lock()
					defer mu.Unlock()
					if method == "getUpdates" {
						polls++
					}
					if failures[method]++; failures[method] <= 3 && method != "sendMessage" {
						return fault
					}
					return telegram.Fault{}
				})
				_, stop := w.run()
				w.must(w.telegram.Say(telegram.Alice, "one"))
				w.hears(telegram.Alice, "you said: one")
				w.must(w.telegram.Say(telegram.Alice, "two"))
				w.hears(telegram.Alice, "you said: two")
				stop()
				if got := w.fromBot(telegram.Alice); len(got) != 2 {
					t.Errorf("the chat reads %q", got)
				}
				mu.Lock()
				defer mu.Unlock()
				if polls > 12 {
					t.Errorf("%d polls in a few troubles: it runs wild", polls)
				}
			})
		})
	}
}

func TestASecondPollerIsWaitedOutAndAWebhookRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		_, stop := w.run()
		w.must(w.telegram.Say(telegram.Alice, "one"))
		w.hears(telegram.Alice, "you said: one")
		ask := func(method, body string) {
			req, err := http.NewRequest("POST", w.url+"/bot"+w.opt.Token+"/"+method, strings.NewReader(body))
			w.must(nil, err)
			req.Header.Set("Content-Type", "application/json")
			res, err := w.client.RoundTrip(req)
			w.must(nil, err)
			_, err = io.Copy(io.Discard, res.Body)
			w.must(nil, err)
			w.must(nil, res.Body.Close())
		}
		synctest.Wait()
		ask("getUpdates", `{"timeout":0}`) // somebody else's poll ends ours with 409
		w.must(w.telegram.Say(telegram.Alice, "two"))
		w.hears(telegram.Alice, "you said: two")
		ask("setWebhook", `{"url":"https://example.com/x"}`)
		w.must(w.telegram.Say(telegram.Alice, "three"))
		w.hears(telegram.Alice, "you said: three")
		stop()
		for _, want := range []string{"another program", "a webhook is set"} {
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("the log does not say %q", want)
			}
		}
	})
}

func TestUpdateIDsMayBeginAgainLower(t *testing.T) {
	var mu sync.Mutex
	var offsets []float64
	queue := []string{
		`[{"update_id":900000,"message":` + said(telegram.Alice, "high") + `}]`,
		`[]`,
		`[{"update_id":5,"message":` + said(telegram.Alice, "low") + `}]`,
	}
	heard := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		result := "true"
		switch {
		case strings.HasSuffix(r.URL.Path, "/getMe"):
			result = `{"id":1,"username":"bot"}`
		case strings.HasSuffix(r.URL.Path, "/getUpdates"):
			var q map[string]any
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			mu.Lock()
			offsets = append(offsets, q["offset"].(float64))
			if len(queue) == 0 {
				mu.Unlock()
				select {
				case <-r.Context().Done():
				case <-heard:
				}
				return
			}
			result, queue = queue[0], queue[1:]
			mu.Unlock()
		}
		fmt.Fprintf(rw, `{"ok":true,"result":%s}`, result)
	}))
	defer server.Close()
	w := newWorld(t)
	w.opt.APIURL = server.URL
	_, stop := w.run()
	w.eventually("both were heard", func() bool { return len(w.talker.inputs()) == 2 })
	w.eventually("the next was asked for", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(offsets) >= 4
	})
	close(heard)
	stop()
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(offsets[:4]) != "[0 900001 0 6]" {
		t.Errorf("the offsets were %v", offsets)
	}
}

func TestWebhookModeServesWithTheRightSecretOnly(t *testing.T) {
	w := newWorld(t)
	var b *Bot
	mounted := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		switch err := b.Accept(r.Context(), r.Header.Get("X-Telegram-Bot-Api-Secret-Token"), body); {
		case errors.Is(err, ErrForbidden):
			rw.WriteHeader(http.StatusUnauthorized)
		case errors.Is(err, ErrBadUpdate):
			rw.WriteHeader(http.StatusBadRequest)
		case err != nil:
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer mounted.Close()
	w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, mounted.URL+"/tg", "a-secret_1"
	var err error
	if b, err = New(w.opt); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- b.Run(ctx) }()
	go func() { ended <- w.telegram.Run(ctx) }()
	w.must(w.telegram.Say(telegram.Alice, "hello"))
	m := w.hears(telegram.Alice, "you said: hello")
	if _, err := w.telegram.TapData(telegram.Alice, m.ID, "forged"); err != nil {
		t.Fatal(err)
	}
	w.eventually("the tap was heard", func() bool { return len(w.talker.inputs()) == 2 })

	for name, c := range map[string]struct {
		secret string
		body   []byte
		want   error
	}{
		"wrong secret":    {"a-secret_2", message(1, telegram.Alice, "x"), ErrForbidden},
		"no secret":       {"", message(1, telegram.Alice, "x"), ErrForbidden},
		"prefix":          {"a-secret_", message(1, telegram.Alice, "x"), ErrForbidden},
		"bad JSON":        {"a-secret_1", []byte(`{"update_id":1`), ErrBadUpdate},
		"no update":       {"a-secret_1", []byte(`{"hello":1}`), ErrBadUpdate},
		"an array":        {"a-secret_1", []byte(`[]`), ErrBadUpdate},
		"empty":           {"a-secret_1", nil, ErrBadUpdate},
		"negative":        {"a-secret_1", []byte(`{"update_id":-4}`), ErrBadUpdate},
		"oversized":       {"a-secret_1", append(message(1, telegram.Alice, "x"), make([]byte, MaxUpdate)...), ErrBadUpdate},
		"another kind":    {"a-secret_1", []byte(`{"update_id":4,"poll":{"id":"1"}}`), nil},
		"from the future": {"a-secret_1", []byte(`{"update_id":4,"message":{"chat":"new"}}`), nil},
	} {
		if err := b.Accept(w.ctx(), c.secret, c.body); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := len(w.talker.inputs()); n != 2 {
		t.Errorf("the talker heard %d inputs", n)
	}
}

func TestWebhookCallsInParallelAreAllKeptOnce(t *testing.T) {
	w := newWorld(t)
	w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, "https://example.com/hook", "s"
	b, _ := w.run()
	var calls sync.WaitGroup
	for n := range 200 {
		calls.Go(func() {
			if err := b.Accept(w.ctx(), "s", message(1+n/2, 3000+int64(n/2)%7, fmt.Sprint(n/2))); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	w.eventually("all are handled", func() bool { return len(w.inbox()) == 0 })
	if n := len(w.talker.inputs()); n != 100 {
		t.Errorf("the talker heard %d of 100", n)
	}
}

func TestTooManyWaitingUpdatesAreLeftToTelegram(t *testing.T) {
	w := newWorld(t)
	w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, "https://example.com/hook", "s"
	release := make(chan struct{})
	w.talker.answer = func(context.Context, chat.Input) ([]store.Reply, error) { <-release; return nil, nil }
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	b.maxWaiting = 3
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	w.eventually("the webhook is set", func() bool { return len(w.calls("setWebhook")) == 1 })
	for n := range 3 {
		if err := b.Accept(w.ctx(), "s", message(n, telegram.Alice, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Accept(w.ctx(), "s", message(9, telegram.Alice, "x")); !errors.Is(err, ErrBusy) {
		t.Errorf("the fourth: %v", err)
	}
	close(release)
	w.eventually("there is room again", func() bool { return b.Accept(w.ctx(), "s", message(10, telegram.Alice, "x")) == nil })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
