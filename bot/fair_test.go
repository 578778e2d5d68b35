package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
)

// answeredWithin has somebody say something, and tells how long the answer took and how many messages to them went
// before it.
func (w *world) answeredWithin(who int64, text string) (took time.Duration, before int) {
	w.t.Helper()
	begun, sent := time.Now(), len(w.calls("sendMessage"))
	w.must(w.telegram.Say(who, text))
	w.hears(who, "you said: "+text)
	synctest.Wait() // a message is in its chat a moment before its call is listed
	for _, c := range w.calls("sendMessage")[sent:] {
		if c.Params["chat_id"] != fmt.Sprint(who) {
			continue
		}
		if c.Params["text"] == "you said: "+text {
			return c.At.Sub(begun), before
		}
		before++
	}
	w.t.Fatal("the answer is not among the calls")
	return 0, 0
}

// TestNobodyWaitsForOtherChatsAnswers: thirty chats have a thousand answers each that wait, at the pace that Telegram sets.
func TestNobodyWaitsForOtherChatsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Pace = Pace{}
		var crowd []int64
		for id := int64(2000); id < 2030; id++ {
			crowd = append(crowd, id)
		}
		w.greet(append(crowd, telegram.Alice)...)
		for n := range 1000 {
			var rows []store.Reply
			for _, id := range crowd {
				rows = append(rows, row(id, 0, says(fmt.Sprint(n))))
			}
			w.enqueue(rows...)
		}
		_, stop := w.run()
		w.hears(crowd[0], "5")
		for n := range 3 { // an answer may take no time here, so the clock tells no two apart
			if took, _ := w.answeredWithin(telegram.Alice, fmt.Sprint("/help ", n)); took > 2*time.Second {
				t.Errorf("the answer took %v", took)
			}
		}
		stop()
		from := w.calls("sendMessage")[0].At
		last := from
		n := 0
		for _, c := range w.calls("sendMessage") {
			last = c.At
			n++
		}
		if rate := float64(n) / last.Sub(from).Seconds(); rate < 25 {
			t.Errorf("%.1f messages a second: what Telegram allows is not used", rate)
		}
	})
}

// TestAnAnswerGoesBeforeWhatWaitsInItsChat: ninety receipts wait for the person who asks for help.
func TestAnAnswerGoesBeforeWhatWaitsInItsChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Pace = Pace{}
		w.greet(telegram.Alice)
		for n := range 90 {
			w.enqueue(row(telegram.Alice, 2, says(fmt.Sprint("receipt ", n))))
		}
		_, stop := w.run()
		w.hears(telegram.Alice, "receipt 5")
		// One may be on its way just now.
		if took, before := w.answeredWithin(telegram.Alice, "/help"); took > 2*time.Second || before > 1 {
			t.Errorf("the answer took %v, and %d messages went before it", took, before)
		}
		w.hears(telegram.Alice, "receipt 89")
		stop()
		said := strings.Join(w.fromBot(telegram.Alice), "|")
		said = strings.Replace(said, "you said: /help|", "", 1)
		for n := range 90 {
			if !strings.HasPrefix(said, fmt.Sprint("receipt ", n)) {
				t.Fatalf("receipt %d is not in its place: %.80s", n, said)
			}
			_, said, _ = strings.Cut(said, "|")
		}
	})
}

// TestWhoIsAnsweredTooSlowlyWaitsInTheInbox: so many answers wait for a chat that its next update does, too. Nobody else
// waits, and messages of others to that chat do not count.
func TestWhoIsAnsweredTooSlowlyWaitsInTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Pace = Pace{All: Rate{time.Millisecond, 1}, Chat: Rate{10 * time.Second, 1}}
		w.greet(telegram.Alice, telegram.Bob)
		for n := range maxAnswers + 5 {
			w.enqueue(row(telegram.Alice, 0, says(fmt.Sprint("answer ", n))))
		}
		for n := range 2 * maxAnswers {
			w.enqueue(row(telegram.Bob, 3, says(fmt.Sprint("news ", n))))
		}
		_, stop := w.run()
		begun := time.Now()
		w.must(w.telegram.Say(telegram.Alice, "one more"))
		w.must(w.telegram.Say(telegram.Bob, "me too"))
		heard := func(text string) bool {
			for _, in := range w.talker.inputs() {
				if in.Text == text {
					return true
				}
			}
			return false
		}
		w.eventuallyInBubble(func() bool { return heard("me too") })
		if took := time.Since(begun); took > time.Second {
			t.Errorf("another chat waited for %v", took)
		}
		w.eventuallyInBubble(func() bool { return heard("one more") })
		if took := time.Since(begun); took < 50*time.Second || took > 70*time.Second {
			t.Errorf("handled after %v: six of the answers take that long", took)
		}
		if n := w.waiting(store.Outbox); n > 3*maxAnswers {
			t.Errorf("%d replies wait", n)
		}
		stop()
	})
}

// cutOff is a store that a node cannot reach while it is told so.
type cutOff struct {
	store.Store
	now atomic.Bool
}

func (c *cutOff) Update(ctx context.Context, change func(store.Tx) error) error {
	if c.now.Load() {
		return errors.New("cut off by the test")
	}
	return c.Store.Update(ctx, change)
}

// TestOneNodeTalksToTelegram: of two nodes over one store one polls and sends. When it cannot renew its leadership it
// stops, and the other takes over; when it ends well the other follows at once. Nothing is handled twice.
func TestOneNodeTalksToTelegram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		first := &cutOff{Store: w.store}
		w.opt.Store, w.opt.Node = first, "first"
		_, stopFirst := w.run()
		w.must(w.telegram.Say(telegram.Alice, "one"))
		w.hears(telegram.Alice, "you said: one")
		w.opt.Store, w.opt.Node = w.store, "second"
		_, stopSecond := w.start()
		pauseInBubble(3 * time.Minute)
		if strings.Contains(w.log.String(), "another program") {
			t.Error("two nodes poll")
		}
		first.now.Store(true)
		w.must(w.telegram.Say(telegram.Alice, "two"))
		begun := time.Now()
		w.hears(telegram.Alice, "you said: two")
		if took := time.Since(begun); took > 2*term+pollWait {
			t.Errorf("the other node took over after %v", took)
		}
		pauseInBubble(time.Minute) // the first has noticed by now
		w.must(w.telegram.Say(telegram.Alice, "three"))
		w.hears(telegram.Alice, "you said: three")
		first.now.Store(false)
		if err := stopSecond(); err != nil {
			t.Error(err)
		}
		w.must(w.telegram.Say(telegram.Alice, "four"))
		begun = time.Now()
		w.hears(telegram.Alice, "you said: four")
		if took := time.Since(begun); took > term/2 {
			t.Errorf("after its end another node took over after %v", took)
		}
		stopFirst()
		if got := strings.Join(w.fromBot(telegram.Alice), "|"); got != "you said: one|you said: two|you said: three|you said: four" {
			t.Errorf("said: %s", got)
		}
	})
}

func pauseInBubble(d time.Duration) { <-time.After(d) }

// TestAWebhookCallOfAnyNodeIsAnswered: it is not the leader that takes it.
func TestAWebhookCallOfAnyNodeIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, "https://example.com/hook", "s"
		w.greet(telegram.Alice)
		w.opt.Node = "first"
		_, stopFirst := w.run()
		w.eventuallyInBubble(func() bool { return len(w.calls("setWebhook")) == 1 })
		w.opt.Node = "second"
		second, stopSecond := w.run()
		synctest.Wait()
		w.must(nil, second.Accept(w.ctx(), "s", message(1, telegram.Alice, "hello")))
		begun := time.Now()
		w.hears(telegram.Alice, "you said: hello")
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the answer took %v", took)
		}
		stopFirst()
		stopSecond()
	})
}

// TestTheReplyThatWaitsIsTheNewest: a card whose chat must wait is sent once, as it stands then.
func TestTheReplyThatWaitsIsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.opt.Pace = Pace{Chat: Rate{10 * time.Second, 1}}
		w.greet(telegram.Alice)
		_, stop := w.run()
		w.enqueue(row(telegram.Alice, 1, says("takes the turn")))
		w.hears(telegram.Alice, "takes the turn")
		for _, state := range []string{"signed", "pending", "confirmed"} {
			w.enqueue(onCard(row(telegram.Alice, 1, says(state)), "tx_1"))
			pauseInBubble(time.Second)
		}
		w.hears(telegram.Alice, "confirmed")
		stop()
		if got := strings.Join(w.fromBot(telegram.Alice), "|"); got != "takes the turn|confirmed" || len(w.calls("editMessageText")) != 0 {
			t.Errorf("said: %s", got)
		}
	})
}

// TestAnApologyComesWithTheEndOfItsUpdate, in one commit, and the update is kept for the operator.
func TestAnApologyComesWithTheEndOfItsUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		w.talker.answer = func(_ context.Context, in chat.Input) ([]store.Reply, error) {
			return nil, errors.New("the disk is on fire")
		}
		_, stop := w.run()
		w.must(w.telegram.Say(telegram.Alice, "bad"))
		w.hears(telegram.Alice, "sorry")
		stop()
		w.view(func(tx store.Tx) error {
			dead, err := tx.DeadLetters(store.Inbox, 10)
			if err != nil || len(dead) != 1 || !strings.Contains(string(dead[0].Body), "bad") {
				t.Errorf("kept for the operator: %+v, %v", dead, err)
			}
			return nil
		})
	})
}

// TestShutdownSendsAllOfAnAnswer: of two messages of one answer the second can only be claimed when the first is sent.
func TestShutdownSendsAllOfAnAnswer(t *testing.T) {
	w := newWorld(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w.talker.answer = func(_ context.Context, in chat.Input) ([]store.Reply, error) {
		begun <- struct{}{}
		<-release
		return []store.Reply{row(in.Chat, 0, says("one")), row(in.Chat, 0, says("two")), row(in.Chat, 0, says("three"))}, nil
	}
	b, stop := w.start()
	w.must(w.telegram.Say(telegram.Alice, "hello"))
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	w.eventually("the inbox takes no more", func() bool { return b.inbox.Offer() == nil })
	close(release)
	w.must(nil, <-ended)
	if got := strings.Join(w.fromBot(telegram.Alice), "|"); got != "one|two|three" || len(w.outbox()) != 0 {
		t.Errorf("said: %s", got)
	}
}
