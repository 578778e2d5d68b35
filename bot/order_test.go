package bot

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
)

// TestAnUpdateIsAcknowledgedOnlyOnceItIsKept: as long as the inbox cannot be written, each poll asks for it again.
func TestAnUpdateIsAcknowledgedOnlyOnceItIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		refuse := &refusing{Store: w.store}
		refuse.now.Store(true)
		w.opt.Store = refuse
		w.must(w.telegram.Say(telegram.Alice, "hello"))
		polls := make(chan telegram.Call, 1000)
		w.telegram.OnCall(func(c telegram.Call) {
			if c.Method == "getUpdates" {
				polls <- c
			}
		})
		_, stop := w.run()
		for n := range 3 {
			if c := <-polls; c.Params["offset"] != "0" {
				t.Errorf("poll %d acknowledged %v", n, c.Params["offset"])
			}
		}
		if w.telegram.Pending() != 1 || len(w.talker.inputs()) != 0 {
			t.Errorf("%d wait at Telegram's, %d were handled", w.telegram.Pending(), len(w.talker.inputs()))
		}
		refuse.now.Store(false)
		w.hears(telegram.Alice, "you said: hello")
		w.eventuallyInBubble(func() bool { return w.telegram.Pending() == 0 })
		stop()
		if n := len(w.talker.inputs()); n != 1 {
			t.Errorf("handled %d times", n)
		}
	})
}

// TestASendResultIsReportedOnceItIsStored: a message whose note fails is sent again, and whoever waits is woken when the store
// knows what became of it.
func TestASendResultIsReportedOnceItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		refuse := &refusing{Store: w.store}
		w.opt.Store = refuse
		w.greet(telegram.Alice)
		b, stop := w.run()
		w.eventuallyInBubble(func() bool { return len(w.inbox()) == 0 && w.telegram.Pending() == 0 })
		ended, over := b.Await(telegram.Alice, "card")
		defer over()
		refuse.now.Store(true)
		w.enqueue(asked(onCard(row(telegram.Alice, 0, says("it")), "card")))
		w.eventuallyInBubble(func() bool { return len(w.calls("sendMessage")) >= 2 })
		select {
		case <-ended:
			t.Error("told before it was noted")
		default:
		}
		if _, open := w.outcome(telegram.Alice, "card"); !open {
			t.Error("it is over before it was noted")
		}
		refuse.now.Store(false)
		<-ended
		o, open := w.outcome(telegram.Alice, "card")
		if open || o.MessageID == 0 || o.Blocked || o.Refusal != "" || w.card(telegram.Alice, "card") != int64(o.MessageID) {
			t.Errorf("told %+v, the card is %d", o, w.card(telegram.Alice, "card"))
		}
		stop()
		select {
		case <-ended:
			t.Error("told again")
		default:
		}
	})
}

// asked is a reply that somebody waits for.
func asked(r store.Reply) store.Reply {
	r.SendResultUntil = time.Now().UTC().Add(time.Hour)
	return r
}

// outcome is what the store knows of a card's reply.
func (w *world) outcome(chat int64, card string) (o store.SendResult, open bool) {
	w.t.Helper()
	w.must(nil, w.store.View(w.ctx(), func(tx store.Tx) (err error) {
		o, open, err = store.SendResultOf(tx, chat, card)
		return err
	}))
	return o, open
}

// TestEverySendResultIsReported: sent, refused, too late, and to somebody who has blocked the bot.
func TestEverySendResultIsReported(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	b, _ := w.run()
	ends := func(card string, reply store.Reply) store.SendResult {
		t.Helper()
		ended, done := b.Await(reply.Chat, card)
		defer done()
		other, otherDone := b.Await(reply.Chat, card+" of another")
		defer otherDone()
		w.enqueue(onCard(reply, card))
		select {
		case <-ended:
		case <-w.ctx().Done():
			t.Fatalf("%s: nothing is told", card)
		}
		select {
		case <-other:
			t.Errorf("%s: told of another card", card)
		default:
		}
		o, open := w.outcome(reply.Chat, card)
		if open || !o.ExpiresAt.Equal(reply.SendResultUntil) {
			t.Errorf("%s: open %v, kept until %v", card, open, o.ExpiresAt)
		}
		return o
	}
	if o := ends("sent", asked(row(telegram.Alice, 0, says("hello")))); o.MessageID == 0 || o.Blocked || o.Refusal != "" {
		t.Errorf("sent: %+v", o)
	}
	if o := ends("refused", asked(row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "*", ParseMode: "MarkdownV2"}))); o.MessageID != 0 || o.Refusal == "" || o.Blocked {
		t.Errorf("refused: %+v", o)
	}
	late := asked(row(telegram.Alice, 0, says("late")))
	late.NotAfter = late.At.Add(1)
	if o := ends("late", late); o.MessageID != 0 || o.Blocked {
		t.Errorf("late: %+v", o)
	}
	if o := ends("not asked", row(telegram.Alice, 0, says("nobody asks"))); o != (store.SendResult{}) {
		t.Errorf("what nobody asked for is kept: %+v", o)
	}
	gone := row(telegram.Alice, 0, says("long ago"))
	gone.SendResultUntil = time.Now()
	w.enqueue(onCard(gone, "long ago"))
	w.sentAll()
	if o, _ := w.outcome(telegram.Alice, "long ago"); o != (store.SendResult{}) {
		t.Errorf("what nobody asks for any more is kept: %+v", o)
	}
	w.must(nil, w.telegram.Block(telegram.Alice))
	if o := ends("blocked", asked(row(telegram.Alice, 0, says("still there?")))); o.MessageID != 0 || !o.Blocked {
		t.Errorf("blocked: %+v", o)
	}
}

// failsOnce is a store whose next Update that removes a row of the inbox fails.
type failsOnce struct {
	store.Store
	left atomic.Int32
}

func (f *failsOnce) Update(ctx context.Context, change func(store.Tx) error) error {
	fails := false // however often the engine runs it
	return f.Store.Update(ctx, func(tx store.Tx) error {
		before, err := tx.JobStats(store.Inbox)
		if err != nil {
			return err
		}
		if err := change(tx); err != nil {
			return err
		}
		after, err := tx.JobStats(store.Inbox)
		if err == nil && after.Waiting+after.InFlight < before.Waiting+before.InFlight && (fails || f.left.Add(-1) >= 0) {
			fails = true
			return errors.New("failed by the test after it was decided")
		}
		return err
	})
}

// TestTheRowAndWhatWasDecidedAreOneCommit: where it fails, neither is true, and the update is handled again.
func TestTheRowAndWhatWasDecidedAreOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		s := &failsOnce{Store: w.store}
		s.left.Store(1)
		w.opt.Store = s
		_, stop := w.run()
		w.must(w.telegram.Say(telegram.Alice, "hello"))
		w.hears(telegram.Alice, "you said: hello")
		w.eventuallyInBubble(func() bool { return len(w.inbox()) == 0 && len(w.outbox()) == 0 })
		stop()
		if n := len(w.talker.inputs()); n != 2 {
			t.Errorf("handled %d times", n)
		}
		if said := w.fromBot(telegram.Alice); len(said) != 1 {
			t.Errorf("said %q", said)
		}
	})
}
