package bot

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

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

// TestAnOutcomeIsToldOnceItIsNoted: a message whose note fails is sent again, and whoever waits hears of the one that
// the store knows.
func TestAnOutcomeIsToldOnceItIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		refuse := &refusing{Store: w.store}
		w.opt.Store = refuse
		w.greet(telegram.Alice)
		b, stop := w.run()
		w.eventuallyInBubble(func() bool { return len(w.inbox()) == 0 && w.telegram.Pending() == 0 })
		outcome, over := b.Await(telegram.Alice, "card")
		defer over()
		refuse.now.Store(true)
		w.enqueue(onCard(row(telegram.Alice, 0, says("it")), "card"))
		w.eventuallyInBubble(func() bool { return len(w.calls("sendMessage")) >= 2 })
		select {
		case o := <-outcome:
			t.Errorf("told before it was noted: %+v", o)
		default:
		}
		refuse.now.Store(false)
		o := <-outcome
		if o.MessageID == 0 || o.Blocked || o.Refusal != "" || w.card(telegram.Alice, "card") != int64(o.MessageID) {
			t.Errorf("told %+v, the card is %d", o, w.card(telegram.Alice, "card"))
		}
		stop()
		select {
		case o := <-outcome:
			t.Errorf("told again: %+v", o)
		default:
		}
	})
}

// TestEveryOutcomeIsTold: sent, refused, too late, and to somebody who has blocked the bot.
func TestEveryOutcomeIsTold(t *testing.T) {
	w := newWorld(t)
	w.greet(telegram.Alice)
	b, _ := w.run()
	ends := func(card string, reply store.Reply) chat.Outcome {
		t.Helper()
		outcome, done := b.Await(reply.Chat, card)
		defer done()
		other, otherDone := b.Await(reply.Chat, card+" of another")
		defer otherDone()
		w.enqueue(onCard(reply, card))
		var o chat.Outcome
		select {
		case o = <-outcome:
		case <-w.ctx().Done():
			t.Fatalf("%s: nothing is told", card)
		}
		select {
		case wrong := <-other:
			t.Errorf("%s: told of another card: %+v", card, wrong)
		default:
		}
		return o
	}
	if o := ends("sent", row(telegram.Alice, 0, says("hello"))); o.MessageID == 0 || o.Blocked || o.Refusal != "" {
		t.Errorf("sent: %+v", o)
	}
	if o := ends("refused", row(telegram.Alice, 0, chat.Reply{Kind: chat.Message, Text: "*", ParseMode: "MarkdownV2"})); o.MessageID != 0 || o.Refusal == "" || o.Blocked {
		t.Errorf("refused: %+v", o)
	}
	late := row(telegram.Alice, 0, says("late"))
	late.NotAfter = late.At.Add(1)
	if o := ends("late", late); o.MessageID != 0 || o.Blocked {
		t.Errorf("late: %+v", o)
	}
	w.must(nil, w.telegram.Block(telegram.Alice))
	if o := ends("blocked", row(telegram.Alice, 0, says("still there?"))); o.MessageID != 0 || !o.Blocked {
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
