package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
)

// flood is a bot in webhook mode whose talker answers Alice only when it is let.
type flood struct {
	*world
	bot     *Bot
	release chan struct{}
	begun   chan struct{}
	refuse  *refusing
	id      int
}

func newFlood(t *testing.T) *flood {
	w := newWorld(t)
	w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, "https://example.com/hook", "s"
	w.greet(telegram.Alice, telegram.Bob)
	refuse := &refusing{Store: w.store}
	w.opt.Store = refuse
	f := &flood{world: w, refuse: refuse, release: make(chan struct{}), begun: make(chan struct{}, 10_000)}
	w.talker.answer = func(ctx context.Context, in chat.Input) ([]store.Reply, error) {
		if in.Chat == telegram.Alice {
			f.begun <- struct{}{}
			select {
			case <-f.release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return echo(in), nil
	}
	f.bot, _ = w.run()
	w.eventually("the webhook is set", func() bool { return len(w.calls("setWebhook")) == 1 })
	return f
}

func (f *flood) says(from int64, text string) {
	f.t.Helper()
	f.id++
	if err := f.bot.Accept(f.ctx(), "s", message(f.id, from, text)); err != nil {
		f.t.Fatalf("%q: %v", text, err)
	}
}

func (f *flood) heard(from int64) (texts []string) {
	for _, in := range f.talker.inputs() {
		if in.Chat == from {
			texts = append(texts, in.Text)
		}
	}
	return texts
}

// TestOneChatDoesNotTakeAllTheRoom: beyond a hundred its oldest updates are left out, and it is told once; others are
// served as ever. What it sent last is answered, in order.
func TestOneChatDoesNotTakeAllTheRoom(t *testing.T) {
	f := newFlood(t)
	f.bot.maxWaiting = 2 * maxOfChat // far fewer than one chat sends
	f.says(telegram.Alice, "first")
	<-f.begun
	for n := range 5 * maxOfChat {
		f.says(telegram.Alice, fmt.Sprint(n))
	}
	if n := len(f.inbox()); n != 1+maxOfChat {
		t.Errorf("the inbox holds %d", n)
	}
	f.hears(telegram.Alice, "too many")
	f.says(telegram.Bob, "and me?")
	f.hears(telegram.Bob, "you said: and me?")
	close(f.release)
	f.eventually("all are handled", func() bool { return len(f.inbox()) == 0 })
	want := []string{"first"}
	for n := 4 * maxOfChat; n < 5*maxOfChat; n++ {
		want = append(want, fmt.Sprint(n))
	}
	if got := f.heard(telegram.Alice); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("handled: %v", got)
	}
	count := func() int { return strings.Count(strings.Join(f.fromBot(telegram.Alice), "\n"), "too many") }
	if count() != 1 {
		t.Errorf("told %d times", count())
	}
	// Later, the same.
	f.release = make(chan struct{})
	f.says(telegram.Alice, "again")
	<-f.begun
	for n := range maxOfChat + 1 {
		f.says(telegram.Alice, fmt.Sprint("again ", n))
	}
	f.eventually("it is told again", func() bool { return count() == 2 })
	close(f.release)
}

// TestAGroupThatFloodsIsToldNothing: its oldest are left out all the same.
func TestAGroupThatFloodsIsToldNothing(t *testing.T) {
	f := newFlood(t)
	const group = -77
	held := make(chan struct{})
	f.talker.answer = func(context.Context, chat.Input) ([]store.Reply, error) { <-held; return nil, nil }
	f.bot.maxOfChat = 3
	for n := range 10 {
		f.id++
		body := fmt.Sprintf(`{"update_id":%d,"message":{"message_id":1,"from":{"id":%d,"first_name":"P"},"chat":{"id":%d,"type":"group"},"text":"/start %d"}}`, f.id, telegram.Bob, group, n)
		f.must(nil, f.bot.Accept(f.ctx(), "s", []byte(body)))
	}
	if n := len(f.inbox()); n != 1+3 {
		t.Errorf("the inbox holds %d", n)
	}
	if said := f.outbox(); len(said) != 0 {
		t.Errorf("the group is told: %+v", said)
	}
	close(held)
	f.eventually("all are handled", func() bool { return len(f.inbox()) == 0 })
	if in := f.talker.inputs(); len(in) != 4 || in[3].Text != "/start 9" {
		t.Errorf("handled: %+v", in)
	}
}

// TestManyAtOnceOfOneChat: one poll brings a hundred updates, and several webhook calls share a commit.
func TestManyAtOnceOfOneChat(t *testing.T) {
	f := newFlood(t)
	f.says(telegram.Alice, "first")
	<-f.begun
	f.bot.maxOfChat = 3
	var many []incoming
	for n := range 10 {
		u, err := f.bot.reader.arrived(message(100+n, telegram.Alice, fmt.Sprint(n)))
		if err != nil {
			t.Fatal(err)
		}
		many = append(many, u)
	}
	if err := f.bot.take(f.ctx(), many[:2], 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := f.bot.take(f.ctx(), many[2:], 0, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(f.inbox()); n != 1+3 {
		t.Errorf("the inbox holds %d", n)
	}
	close(f.release)
	f.eventually("all are handled", func() bool { return len(f.inbox()) == 0 })
	if got := strings.Join(f.heard(telegram.Alice), " "); got != "first 7 8 9" {
		t.Errorf("handled: %s", got)
	}
}

// TestTooManyOfBeforeTheStart are left out as well, and removed.
func TestTooManyOfBeforeTheStart(t *testing.T) {
	w := newWorld(t)
	w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, "https://example.com/hook", "s"
	w.greet(telegram.Alice)
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxOfChat + 5 {
		if err := b.Accept(w.ctx(), "s", message(n, telegram.Alice, fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
	}
	w.run()
	w.hears(telegram.Alice, "too many")
	w.eventually("all are handled", func() bool { return len(w.inbox()) == 0 })
	if in := w.talker.inputs(); len(in) != maxOfChat || in[0].Text != "5" {
		t.Errorf("%d handled, from %q", len(in), in[0].Text)
	}
}

// refusing is a store whose Updates fail, plainly, while it is told so, if they put or end jobs.
type refusing struct {
	store.Store
	now atomic.Bool
	but atomic.Int32 // how many go through all the same
}

func (r *refusing) Update(ctx context.Context, change func(store.Tx) error) error {
	return r.Store.Update(ctx, func(tx store.Tx) error {
		t := &countingTx{Tx: tx}
		if err := change(t); err != nil {
			return err
		}
		if t.wrote && r.now.Load() && r.but.Add(-1) < 0 {
			return errors.New("refused by the test")
		}
		return nil
	})
}

// newRefusedFlood is a chat of which one update is being handled and two wait, which is all that may: the commit that would
// have left the oldest out for a fourth has failed, and all such commits fail until refuse.now is false.
func newRefusedFlood(t *testing.T) *flood {
	t.Helper()
	f := newFlood(t)
	f.says(telegram.Alice, "first")
	<-f.begun
	f.bot.maxOfChat = 2
	f.says(telegram.Alice, "second")
	f.says(telegram.Alice, "third")
	f.refuse.now.Store(true)
	if err := f.bot.Accept(f.ctx(), "s", message(900, telegram.Alice, "fourth")); err == nil {
		t.Error("it was taken")
	}
	return f
}

// TestWhatCouldNotBeLeftOutIsHandled: where the commit fails, nothing is lost of what was acknowledged, and nobody was
// told.
func TestWhatCouldNotBeLeftOutIsHandled(t *testing.T) {
	f := newRefusedFlood(t)
	f.refuse.now.Store(false)
	close(f.release)
	f.eventually("all are handled", func() bool { return len(f.inbox()) == 0 })
	if got := strings.Join(f.heard(telegram.Alice), " "); got != "first second third" {
		t.Errorf("handled: %s", got)
	}
	if said := strings.Join(f.fromBot(telegram.Alice), "|"); strings.Contains(said, "too many") {
		t.Errorf("said: %s", said)
	}
}

// TestWhatIsLeftOutAndItsNoticeAreOne: one commit leaves the oldest out and tells the person. Where it fails, the person is
// told when it is tried again.
func TestWhatIsLeftOutAndItsNoticeAreOne(t *testing.T) {
	f := newRefusedFlood(t)
	f.refuse.but.Store(1)
	err := f.bot.Accept(f.ctx(), "s", message(900, telegram.Alice, "fourth"))
	f.refuse.now.Store(false)
	f.must(nil, err)
	f.hears(telegram.Alice, "too many")
	close(f.release)
	f.eventually("all are handled", func() bool { return len(f.inbox()) == 0 })
	if got := strings.Join(f.heard(telegram.Alice), " "); got != "first third fourth" {
		t.Errorf("handled: %s", got)
	}
}
