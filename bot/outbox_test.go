// Long: everything that is promised of the outbox, by one fake Telegram.

package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/wallet"
)

func onCard(r store.Reply, card string) store.Reply {
	r.Card = card
	return r
}

func (w *world) card(chat int64, name string) (id int64) {
	w.t.Helper()
	w.view(func(tx store.Tx) error {
		n, err := tx.Card(chat, name)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		id = int64(n)
		return err
	})
	return id
}

func (w *world) sentAll() {
	w.t.Helper()
	w.eventually("the outbox is empty", func() bool { return len(w.outbox()) == 0 })
}

// TestACardIsKeptNoLongerThanItsTime: whoever waits for its message is told all the same.
func TestACardIsKeptNoLongerThanItsTime(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	b, _ := w.run()
	sent := func(card string, until time.Time) (message int) {
		t.Helper()
		ended, done := b.Await(telegram.Alice, card)
		defer done()
		r := onCard(row(telegram.Alice, 0, says(card)), card)
		r.CardUntil = until
		w.enqueue(asked(r))
		<-ended
		o, _ := w.outcome(telegram.Alice, card)
		return o.MessageID
	}
	now := time.Now()
	if sent("app:1", now) == 0 || w.card(telegram.Alice, "app:1") != 0 {
		t.Error("a card whose time is over is kept, or its message not told")
	}
	if id := sent("app:2", now.Add(time.Hour)); id == 0 || w.card(telegram.Alice, "app:2") != int64(id) {
		t.Error("a card is not kept for its time")
	}
	w.must(nil, w.store.Update(w.ctx(), func(tx store.Tx) error { _, err := tx.Sweep(now.Add(time.Hour), 1000); return err }))
	if w.card(telegram.Alice, "app:2") != 0 {
		t.Error("a card outlives its time")
	}
}

// TestAnAppsMessageIsKnownWhenItIsRepliedTo: who wrote it is noted as it is sent, and the reply tells which it is.
func TestAnAppsMessageIsKnownWhenItIsRepliedTo(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	w.run()
	said := says("When do you come?")
	said.Author = "app_shop"
	w.enqueue(onCard(row(telegram.Alice, 0, said), "app:msg_1"))
	m := w.hears(telegram.Alice, "When do you come?")
	w.sentAll()
	author := func(chatID, message int64) (by wallet.AppID) {
		w.view(func(tx store.Tx) (err error) { by, err = chat.Author(tx, chatID, int(message), time.Now()); return err })
		return by
	}
	if got := author(telegram.Alice, m.ID); got != "app_shop" {
		t.Errorf("written by %q", got)
	}
	if author(telegram.Alice, m.ID+1) != "" || author(telegram.Bob, m.ID) != "" {
		t.Error("other messages are the app's too")
	}
	w.must(w.telegram.Reply(telegram.Alice, m.ID, "At five"))
	w.eventually("the reply is heard", func() bool {
		return slices.ContainsFunc(w.talker.inputs(), func(in chat.Input) bool { return in.Text == "At five" && in.ReplyTo == int(m.ID) })
	})
}

// TestButtonsAreTakenFromAMessage, once: a second time, or from a message that is gone, is no trouble.
func TestButtonsAreTakenFromAMessage(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	w.run()
	asked := says("Delete everything?")
	asked.Buttons = [][]chat.Button{{{Text: "Keep it", Data: "x"}}}
	w.enqueue(row(telegram.Alice, 0, asked))
	m := w.hears(telegram.Alice, "Delete everything?")
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Strip, MessageID: int(m.ID)}))
	w.sentAll()
	for _, now := range w.telegram.Messages(telegram.Alice) {
		if now.ID == m.ID && (now.ReplyMarkup != nil && len(now.ReplyMarkup.Rows) > 0 || now.Text != m.Text) {
			t.Errorf("it is now %+v", now)
		}
	}
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Strip, MessageID: int(m.ID)}))
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Strip, MessageID: 99999}))
	w.enqueue(row(telegram.Alice, 0, says("after it")))
	w.hears(telegram.Alice, "after it")
	if log := w.log.String(); strings.Contains(log, "ERROR") || strings.Contains(log, "cannot be sent") {
		t.Errorf("logged %s", log)
	}
}

func TestACardIsSentOnceAndThenEditedInPlace(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	w.run()
	w.enqueue(onCard(row(telegram.Alice, 0, says("pending")), "tx_1"))
	first := w.hears(telegram.Alice, "pending")
	w.sentAll()
	if w.card(telegram.Alice, "tx_1") != first.ID {
		t.Fatal("the card's message is not noted")
	}
	w.enqueue(onCard(row(telegram.Alice, 0, says("confirmed")), "tx_1"))
	if m := w.hears(telegram.Alice, "confirmed"); m.ID != first.ID {
		t.Error("the card was not edited but sent anew")
	}
	w.sentAll()
	// The same state once more: "message is not modified" is a success.
	w.enqueue(onCard(row(telegram.Alice, 0, says("confirmed")), "tx_1"))
	w.sentAll()
	if n := len(w.calls("editMessageText")); n != 2 {
		t.Errorf("%d edits", n)
	}
	// Shown below all others: a new message, which is the card from then on.
	below := says("confirmed")
	below.NewMessage = true
	w.enqueue(onCard(row(telegram.Alice, 0, below), "tx_1"))
	w.eventually("there is a newer message", func() bool { return w.card(telegram.Alice, "tx_1") != first.ID })
	w.sentAll()
	if n := len(w.calls("editMessageText")); n != 2 {
		t.Errorf("%d edits", n)
	}
	first.ID = w.card(telegram.Alice, "tx_1")
	// The person deleted the message: it is sent again, and is the card from then on.
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Delete, MessageID: int(first.ID)}))
	w.enqueue(onCard(row(telegram.Alice, 0, says("finalized")), "tx_1"))
	again := w.hears(telegram.Alice, "finalized")
	w.sentAll()
	if again.ID == first.ID || w.card(telegram.Alice, "tx_1") != again.ID {
		t.Error("the card does not follow the new message")
	}
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Delete, MessageID: int(first.ID)})) // gone already
	w.sentAll()
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("the log holds an error:\n%s", w.log)
	}
}

func TestANewerStateReplacesTheOneThatIsBeingSent(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	var once sync.Once
	w.telegram.OnCall(func(c telegram.Call) {
		if c.Method == "sendMessage" {
			// Carried out, not yet answered: now the operation goes on.
			once.Do(func() { w.enqueue(onCard(row(telegram.Alice, 0, says("second")), "tx_1")) })
		}
	})
	w.run()
	w.enqueue(onCard(row(telegram.Alice, 0, says("first")), "tx_1"))
	w.hears(telegram.Alice, "second")
	w.sentAll()
	if got := w.fromBot(telegram.Alice); len(got) != 1 {
		t.Errorf("the chat reads %q", got)
	}
}

func TestARestartSendsWhatWasNotNoted(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	for n := range 600 { // more than a page
		w.enqueue(row(telegram.Alice, 0, says(fmt.Sprint(n))))
	}
	w.reopenStore()
	w.run()
	w.hears(telegram.Alice, "599")
	w.sentAll()
	for n, text := range w.fromBot(telegram.Alice) {
		if text != fmt.Sprint(n) {
			t.Fatalf("message %d is %q", n, text)
		}
	}
}

func TestEveryKindOfReplyArrives(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	w.run()
	png := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82")
	buttons := [][]chat.Button{{{Text: "Confirm", Data: "n0nce"}, {Text: "Sign", URL: "https://example.com/w/#s=1"}}, {{Text: "Copy", Copy: "9xQe"}}}
	w.enqueue(
		row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "<b>Send</b> 1.5 &lt;SOL&gt; https://example.com", Buttons: buttons}),
		row(telegram.Alice, 0, chat.Reply{Kind: chat.Photo, Text: "your <code>address</code>", PNG: png, Buttons: buttons}),
		row(telegram.Alice, 0, chat.Reply{Kind: chat.Photo, Text: strings.Repeat("long ", 300), PNG: png, Buttons: buttons}),
		row(telegram.Alice, 0, chat.Reply{Kind: chat.Document, Text: "your <b>history</b>", File: []byte("a,b\r\n"), FileName: "purser.csv", Buttons: buttons}),
	)
	m := w.hears(telegram.Alice, "Send 1.5 <SOL> https://example.com")
	if got := m.Buttons(); len(got) != 3 || got[0].CallbackData != "n0nce" || got[1].URL != "https://example.com/w/#s=1" || got[2].CopyText.Text != "9xQe" {
		t.Errorf("the buttons are %+v", got)
	}
	if !strings.Contains(string(m.LinkPreview), `"is_disabled":true`) {
		t.Errorf("link previews: %s", m.LinkPreview)
	}
	photo := w.hears(telegram.Alice, "your address")
	if photo.Photo == nil || len(photo.Buttons()) != 3 || len(photo.CaptionEntities) != 1 {
		t.Errorf("the photo is %+v", photo)
	}
	long := w.hears(telegram.Alice, strings.TrimSpace(strings.Repeat("long ", 300)))
	if long.Photo != nil || len(long.Buttons()) != 3 {
		t.Errorf("the long caption is %+v", long)
	}
	file := w.hears(telegram.Alice, "your history")
	if file.Document == nil || file.Document.FileName != "purser.csv" || file.Document.FileSize != 5 || len(file.Buttons()) != 3 || len(file.CaptionEntities) != 1 {
		t.Errorf("the document is %+v", file)
	}
	query, err := w.telegram.Tap(telegram.Alice, m.ID, "Confirm")
	w.must(nil, err)
	if toast, err := w.telegram.WaitToast(w.ctx(), query); err != nil || toast.Text != "tapped n0nce" {
		t.Errorf("the toast is %+v, %v", toast, err)
	}
	w.enqueue(row(telegram.Alice, 0, chat.Reply{Kind: chat.Delete, MessageID: int(m.ID)}))
	w.must(nil, w.telegram.WaitFor(w.ctx(), func() bool { _, there := w.telegram.Message(m.ID); return !there }))
	w.sentAll()
	for _, c := range w.telegram.Calls() {
		for name, value := range c.Params {
			if strings.Contains(name+value, "web_app") {
				t.Errorf("%s carries web_app", c.Method)
			}
		}
	}
	if sample, err := json.Marshal(keyboard([][]chat.Button{{{Text: "x", Data: "d", URL: "u", Copy: "c"}}})); err != nil || strings.Contains(string(sample), "web_app") {
		t.Errorf("a button carries web_app: %s, %v", sample, err)
	}
}

func TestALateToastIsDropped(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	late := row(telegram.Alice, 0, chat.Reply{Kind: chat.Toast, CallbackID: "1", Text: "late"})
	late.NotAfter = time.Now().Add(-time.Second)
	forgotten := row(telegram.Alice, 0, chat.Reply{Kind: chat.Toast, CallbackID: "2", Text: strings.Repeat("é", 300)})
	w.enqueue(late, forgotten, row(telegram.Alice, 0, says("after")))
	w.run()
	w.hears(telegram.Alice, "after")
	w.sentAll()
	calls := w.calls("answerCallbackQuery")
	if len(calls) != 1 || calls[0].Params["callback_query_id"] != "2" || len([]rune(calls[0].Params["text"])) != 200 {
		t.Errorf("toasts were answered: %+v", calls)
	}
	if strings.Contains(w.log.String(), "level=ERROR") {
		t.Errorf("the log holds an error:\n%s", w.log)
	}
}

func TestSendingSurvivesEveryTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		fault  telegram.Fault
		copies int // of the message in the chat
	}{
		"502 in HTML":      {telegram.Fault{Kind: telegram.BadGateway}, 1},
		"429":              {telegram.Fault{Kind: telegram.TooMany, RetryAfter: 40}, 1},
		"500":              {telegram.Fault{Kind: telegram.Internal}, 1},
		"hangs":            {telegram.Fault{Kind: telegram.Hang}, 1},
		"broken":           {telegram.Fault{Kind: telegram.DropRequest}, 1},
		"lost answer":      {telegram.Fault{Kind: telegram.DropAnswer}, 4},
		"answered to late": {telegram.Fault{Kind: telegram.HangAnswer}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, done := newBubbleWorld(t)
				defer done()
				w.greet(telegram.Alice)
				var mu sync.Mutex
				failures := 0
				w.telegram.SetFault(func(method string) telegram.Fault {
					mu.Lock()
					defer mu.Unlock()
					if method != "sendMessage" || failures == 3 {
						return telegram.Fault{}
					}
					failures++
					return c.fault
				})
				_, stop := w.run()
				before := time.Now()
				w.enqueue(onCard(row(telegram.Alice, 0, says("money moved")), "tx_1"))
				w.eventuallyInBubble(func() bool { return len(w.outbox()) == 0 && w.card(telegram.Alice, "tx_1") != 0 })
				if c.fault.RetryAfter > 0 {
					if took := time.Since(before); took < 120*time.Second {
						t.Errorf("retry_after was not obeyed: sent after %v", took)
					}
				}
				w.enqueue(onCard(row(telegram.Alice, 0, says("and arrived")), "tx_1"))
				m := w.hears(telegram.Alice, "and arrived")
				w.hearsNothingMore()
				stop()
				copies := 0
				for _, text := range w.fromBot(telegram.Alice) {
					if text == "money moved" {
						copies++
					}
				}
				// The newest copy is the card, and was edited.
				if copies != c.copies-1 || w.card(telegram.Alice, "tx_1") != m.ID {
					t.Errorf("%d stale copies: %q", copies, w.fromBot(telegram.Alice))
				}
			})
		})
	}
}

// eventuallyInBubble waits without ticking, for the bubble's clock to move on.
func (w *world) eventuallyInBubble(cond func() bool) {
	w.t.Helper()
	w.must(nil, w.telegram.WaitFor(w.ctx(), func() bool { synctest.Wait(); return cond() }))
}

func (w *world) hearsNothingMore() {
	synctest.Wait()
	if left := w.outbox(); len(left) != 0 {
		w.t.Errorf("%d replies wait", len(left))
	}
}

func TestWhoBlockedTheBotIsMarkedAndTheReplyDropped(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice, telegram.Bob)
	w.must(nil, w.store.Update(w.ctx(), func(tx store.Tx) error {
		return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: telegram.Alice, RegisteredAt: time.Now()})
	}))
	w.telegram.SetFault(func(method string) telegram.Fault {
		if method == "sendMessage" {
			return telegram.Fault{Kind: telegram.Blocked}
		}
		return telegram.Fault{}
	})
	w.enqueue(row(telegram.Alice, 0, says("hello")), row(-77, 0, says("a group")))
	w.run()
	w.sentAll()
	w.view(func(tx store.Tx) error {
		u, err := tx.UserByTelegram(telegram.Alice)
		if !u.Unreachable {
			t.Error("she is not marked unreachable")
		}
		return err
	})
}

func TestARefusedReplyIsDroppedWithoutItsContentInTheLog(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	const secret = "5ecretL1nk"
	w.enqueue(
		row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "<" + secret + ">", Secret: true}),
		row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "sign", Buttons: [][]chat.Button{{{Text: "Sign", URL: "http://localhost/w/#s=" + secret}}}}),
		row(telegram.Alice, 0, chat.Reply{Kind: "odd", Text: secret}),
		store.Reply{Chat: telegram.Alice, Body: []byte(`{"kind":`)},
		row(987654321, 0, says(secret)),
		row(telegram.Alice, 0, says("after")),
	)
	w.run()
	w.hears(telegram.Alice, "after")
	w.sentAll()
	if !strings.Contains(w.log.String(), "level=ERROR") || strings.Contains(w.log.String(), secret) {
		t.Errorf("the log:\n%s", w.log)
	}
	if !strings.Contains(fmt.Sprint(w.telegram.Calls()), secret) {
		t.Error("the control is missing: nothing with the secret was sent")
	}
}

func TestPaceHoldsTelegramsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Pace = Pace{}
		var people []int64
		for id := int64(2000); id < 2100; id++ {
			people = append(people, id)
		}
		w.greet(people...)
		w.greet(telegram.Alice)
		group, err := w.telegram.NewGroup("team", telegram.Alice)
		w.must(nil, err)
		for n := range 30 {
			w.enqueue(row(group, 2, says(fmt.Sprint(n))))
		}
		for n := range 12 {
			w.enqueue(row(telegram.Alice, 0, says(fmt.Sprint(n))))
		}
		for _, id := range people {
			w.enqueue(row(id, 1, says("news")))
		}
		_, stop := w.run()
		w.hears(group, "29")
		w.hears(telegram.Alice, "11")
		stop()
		at := map[string][]time.Time{}
		for _, c := range w.calls("sendMessage") {
			at[c.Params["chat_id"]] = append(at[c.Params["chat_id"]], c.At)
			at["all"] = append(at["all"], c.At)
		}
		most := func(key string, window time.Duration) (most int) {
			for i, from := range at[key] {
				n := 0
				for _, later := range at[key][i:] {
					if later.Sub(from) < window {
						n++
					}
				}
				most = max(most, n)
			}
			return most
		}
		alice := fmt.Sprint(telegram.Alice)
		for _, c := range []struct {
			key    string
			window time.Duration
			limit  int
		}{
			{"all", time.Second, 30}, {alice, time.Second, 3}, {alice, 10 * time.Second, 12},
			{fmt.Sprint(group), time.Minute, 20},
		} {
			if got := most(c.key, c.window); got > c.limit {
				t.Errorf("%d messages within %v for %s", got, c.window, c.key)
			}
		}
		if n := len(at["all"]); n != 142 {
			t.Errorf("%d messages went out", n)
		}
		// All that the pace allows is used: 112 private messages need about 4 s at 28/s, Alice's 12 need 10 s.
		if took := at[alice][11].Sub(at[alice][0]); took > 12*time.Second {
			t.Errorf("Alice's messages took %v", took)
		}
	})
}

// TestAnswersOvertakeAlerts of other chats and of their own.
func TestAnswersOvertakeAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.greet(2001, 2002, 2003, 2004, 2005)
		w.opt.Pace = Pace{All: Rate{Every: time.Second, Burst: 1}}
		_, stop := w.run()
		w.enqueue(row(2005, 0, says("takes the first second")))
		w.hears(2005, "takes the first second")
		w.enqueue(
			row(2001, 2, says("alert")), row(2002, 1, says("confirmed")), row(2003, 0, says("answer")),
			row(2004, 2, says("alert")), row(2004, 0, says("answer")),
		)
		w.hears(2001, "alert")
		w.hears(2004, "alert")
		stop()
		var order []string
		for _, c := range w.calls("sendMessage")[1:] {
			order = append(order, c.Params["chat_id"]+" "+c.Params["text"])
		}
		want := "2003 answer|2004 answer|2002 confirmed|2001 alert|2004 alert"
		if got := strings.Join(order, "|"); got != want {
			t.Errorf("the order was %s, not %s", got, want)
		}
	})
}

func TestTwoFloodedChatsHoldUpEverybodyOneDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.greet(2001, 2002, 2003)
		var mu sync.Mutex
		floods := 1
		w.telegram.SetFault(func(method string) telegram.Fault {
			mu.Lock()
			defer mu.Unlock()
			if method == "sendMessage" && floods > 0 {
				floods--
				return telegram.Fault{Kind: telegram.TooMany, RetryAfter: 30}
			}
			return telegram.Fault{}
		})
		_, stop := w.run()
		start := time.Now()
		w.enqueue(row(2001, 0, says("a")))
		w.eventuallyInBubble(func() bool { return len(w.calls("sendMessage")) == 1 })
		w.enqueue(row(2003, 0, says("free")))
		w.hears(2003, "free")
		if took := time.Since(start); took > time.Second {
			t.Errorf("one flooded chat held up another for %v", took)
		}
		mu.Lock()
		floods = 1
		mu.Unlock()
		w.enqueue(row(2002, 0, says("b")))
		w.eventuallyInBubble(func() bool { return len(w.calls("sendMessage")) == 3 })
		w.enqueue(row(2003, 0, says("held")))
		w.hears(2003, "held")
		if took := time.Since(start); took < 30*time.Second {
			t.Errorf("a flood of the whole bot was overrun after %v", took)
		}
		w.hears(2001, "a")
		w.hears(2002, "b")
		stop()
	})
}

func TestATokenThatIsRevokedWhileRunningEndsRun(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.judge(w.ctx(), store.Reply{Chat: 1}, 0, says("x"), 0, &refusal{"sendMessage", 401, "Unauthorized", 0})
	if r.Again.IsZero() || err != nil || !errors.Is(b.verdict(w.ctx(), nil), ErrBadToken) {
		t.Errorf("the result is %+v", r)
	}
}

func TestMeter(t *testing.T) {
	start := time.Unix(1000, 0)
	r := Rate{Every: time.Second, Burst: 3}
	var m meter
	var sent []time.Duration
	for now := start; now.Before(start.Add(10 * time.Second)); now = now.Add(100 * time.Millisecond) {
		if !m.opens(r).After(now) {
			m.spend(r, now)
			sent = append(sent, now.Sub(start))
		}
	}
	want := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond}
	for n := 1; n <= 9; n++ {
		want = append(want, time.Duration(n)*time.Second)
	}
	if !slices.Equal(sent, want) {
		t.Errorf("sent at %v", sent)
	}
	if !m.idle(start.Add(time.Minute)) || m.idle(start.Add(9*time.Second)) {
		t.Error("idle is wrong")
	}
}

func TestLongTextIsSentInParts(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	w.run()
	w.enqueue(onCard(row(telegram.Alice, 0, chat.Reply{
		Kind: chat.Message, Text: "<b>" + strings.Repeat("word ", 1500) + "end</b>", Buttons: [][]chat.Button{{{Text: "OK", Data: "n"}}},
	}), "tx_9"))
	last, err := w.telegram.WaitMessage(w.ctx(), telegram.Alice, func(m telegram.Message) bool { return strings.HasSuffix(m.Text, "end") })
	w.must(nil, err)
	w.sentAll()
	if got := strings.Join(w.fromBot(telegram.Alice), " "); got != strings.Repeat("word ", 1500)+"end" {
		t.Errorf("the parts make %d characters", len(got))
	}
	if len(last.Buttons()) != 1 || w.card(telegram.Alice, "tx_9") != last.ID {
		t.Error("the last part is not the card")
	}
}
