package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/wallet"
)

func TestAPersonIsAnsweredAndTheRowsAreGone(t *testing.T) {
	w := newWorld(t)
	b, stop := w.run()
	w.must(w.telegram.Say(telegram.Alice, "/start please"))
	w.hears(telegram.Alice, "you said: /start please")
	w.eventually("the rows are gone", func() bool { return len(w.inbox()) == 0 && len(w.outbox()) == 0 })
	w.eventually("the update is acknowledged", func() bool { return w.telegram.Pending() == 0 })
	if b.Me() != "purser_sandbox_bot" {
		t.Errorf("Me is %q", b.Me())
	}
	menu := w.telegram.Commands(telegram.Alice)
	if len(menu) != 2 || menu[0] != (telegram.Command{Command: "start", Description: "Begin"}) {
		t.Errorf("the menu is %v", menu)
	}
	w.eventually("the profile tells what the bot is for", func() bool {
		return slices.ContainsFunc(w.telegram.Calls(), func(c telegram.Call) bool {
			return c.Method == "setMyDescription" && c.Params["description"] == "An echo." && c.Status == 200
		})
	})
	stop()
	in := w.talker.inputs()[0]
	if !in.Private || in.From.TelegramID != telegram.Alice || in.From.Username != "alice" || in.At.IsZero() || in.MessageID == 0 {
		t.Errorf("the input is %+v", in)
	}
}

func TestUpdatesOfOneChatAreHandledInOrderUnderParallelLoad(t *testing.T) {
	const people, each = 40, 25
	w := newWorld(t)
	for p := range int64(people) {
		w.must(nil, w.telegram.AddUser(telegram.User{ID: 2000 + p, FirstName: "P"}, ""))
	}
	var mu sync.Mutex
	running := map[int64]int{}
	w.talker.answer = func(_ context.Context, in chat.Input) ([]store.Reply, error) {
		mu.Lock()
		running[in.Chat]++
		if running[in.Chat] > 1 {
			t.Errorf("chat %d is handled twice at once", in.Chat)
		}
		mu.Unlock()
		defer func() { mu.Lock(); running[in.Chat]--; mu.Unlock() }()
		return echo(in), nil
	}
	w.run()
	for n := range each {
		for p := range int64(people) {
			w.must(w.telegram.Say(2000+p, fmt.Sprint(n)))
		}
	}
	for p := range int64(people) {
		w.hears(2000+p, fmt.Sprint("you said: ", each-1))
		for n, text := range w.fromBot(2000 + p) {
			if text != fmt.Sprint("you said: ", n) {
				t.Fatalf("message %d of chat %d is %q", n, 2000+p, text)
			}
		}
	}
}

func TestASlowAnswerHoldsUpNobodyElseAndShowsTyping(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	w.talker.answer = func(ctx context.Context, in chat.Input) ([]store.Reply, error) {
		if in.Chat == telegram.Alice {
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return echo(in), nil
	}
	w.run()
	w.must(w.telegram.Say(telegram.Alice, "slow"))
	w.must(w.telegram.Say(telegram.Bob, "quick"))
	w.hears(telegram.Bob, "you said: quick")
	w.must(nil, w.telegram.WaitFor(w.ctx(), func() bool { return len(w.calls("sendChatAction")) > 0 }))
	if got := w.calls("sendChatAction")[0].Params; got["chat_id"] != fmt.Sprint(telegram.Alice) || got["action"] != "typing" {
		t.Errorf("typing was shown as %v", got)
	}
	close(release)
	w.hears(telegram.Alice, "you said: slow")
}

func TestACrashBetweenInboxAndHandlingLosesNothing(t *testing.T) {
	w := newWorld(t)
	w.opt.Mode, w.opt.WebhookURL, w.opt.WebhookSecret = Webhook, "https://example.com/hook", "s3cret"
	w.greet(telegram.Alice)
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		if err := b.Accept(w.ctx(), "s3cret", message(700+n, telegram.Alice, fmt.Sprint("word ", n))); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.inbox()) != 5 {
		t.Fatalf("the inbox holds %d updates", len(w.inbox()))
	}
	// The process ends here without having handled anything; the next one begins from the rows.
	w.reopenStore()
	b, stop := w.run()
	w.hears(telegram.Alice, "you said: word 4")
	// Telegram did not hear our 200, and delivers again.
	if err := b.Accept(w.ctx(), "s3cret", message(702, telegram.Alice, "word 2")); err != nil {
		t.Fatal(err)
	}
	if err := b.Accept(w.ctx(), "s3cret", message(705, telegram.Alice, "last")); err != nil {
		t.Fatal(err)
	}
	w.hears(telegram.Alice, "you said: last")
	stop()
	want := "you said: word 0|you said: word 1|you said: word 2|you said: word 3|you said: word 4|you said: last"
	if got := strings.Join(w.fromBot(telegram.Alice), "|"); got != want {
		t.Errorf("the chat reads %s", got)
	}
}

func TestACrashDuringHandlingRepeatsIt(t *testing.T) {
	w := newWorld(t)
	begun := make(chan struct{}, 1)
	w.talker.answer = func(ctx context.Context, _ chat.Input) ([]store.Reply, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Run(context.Background()) }()
	w.must(w.telegram.Say(telegram.Alice, "hello"))
	<-begun
	b.die(io.ErrUnexpectedEOF) // as near as a test in one process comes to kill -9
	if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("Run ended with %v", err)
	}
	if rows := w.inbox(); len(rows) != 1 || rows[0].Failures != 0 {
		t.Fatalf("the inbox is %+v", rows)
	}
	w.talker.answer = nil
	w.run()
	w.hears(telegram.Alice, "you said: hello")
}

func TestShutdownFinishesWhatItBegan(t *testing.T) {
	w := newWorld(t)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w.talker.answer = func(_ context.Context, in chat.Input) ([]store.Reply, error) {
		begun <- struct{}{}
		<-release
		return echo(in), nil
	}
	_, stop := w.start()
	w.must(w.telegram.Say(telegram.Alice, "first"))
	w.must(w.telegram.Say(telegram.Alice, "second"))
	<-begun
	w.eventually("both are in the inbox", func() bool { return len(w.inbox()) == 2 })
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	w.must(nil, w.telegram.WaitFor(w.ctx(), func() bool { return true }))
	close(release)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := w.fromBot(telegram.Alice); len(got) == 0 || got[0] != "you said: first" {
		t.Errorf("the chat reads %q", got)
	}
	if len(w.outbox()) != 0 {
		t.Error("a reply was left unsent")
	}
	if left := len(w.inbox()) + len(w.fromBot(telegram.Alice)); left != 2 {
		t.Errorf("%d updates are accounted for, not 2", left)
	}
}

func TestAShutdownThatHangsEndsWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		begun := make(chan struct{}, 1)
		w.talker.answer = func(ctx context.Context, _ chat.Input) ([]store.Reply, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		_, stop := w.start()
		w.must(w.telegram.Say(telegram.Alice, "hello"))
		<-begun
		w.telegram.SetFault(func(string) telegram.Fault { return telegram.Fault{Kind: telegram.Hang} })
		w.enqueue(row(telegram.Alice, 0, says("never arrives")))
		before := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(before); took > 10*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
		if len(w.inbox()) != 1 || len(w.outbox()) != 1 {
			t.Error("what was not finished is gone")
		}
	})
}

func TestAnUpdateThatFailsThreeTimesIsParkedAndThePersonTold(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error":         func() error { return errors.New("the disk is on fire") },
		"panic":         func() error { panic("secret words") },
		"runtime panic": func() error { var none []error; return none[len(none)] },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, done := newBubbleWorld(t)
				defer done()
				w.talker.answer = func(_ context.Context, in chat.Input) ([]store.Reply, error) {
					if in.Text != "fine" {
						return nil, fail()
					}
					return echo(in), nil
				}
				_, stop := w.run()
				w.must(w.telegram.Say(telegram.Alice, "bad"))
				w.must(w.telegram.Say(telegram.Alice, "fine"))
				w.hears(telegram.Alice, "sorry")
				m := w.hears(telegram.Alice, "you said: fine")
				query, err := w.telegram.TapData(telegram.Alice, m.ID, "nonce")
				w.must(nil, err)
				if _, err := w.telegram.WaitToast(w.ctx(), query); err != nil {
					t.Errorf("the button spins on: %v", err)
				}
				stop()
				if heard := len(w.talker.inputs()); heard != 3+1+3 {
					t.Errorf("the talker was asked %d times", heard)
				}
				if len(w.inbox()) != 0 {
					t.Error("the parked update is still in line")
				}
				if strings.Contains(w.log.String(), "secret words") {
					t.Error("the log holds what a panic was holding")
				}
			})
		})
	}
}

func TestAConflictIsHandledAgainWithoutCountingAsFailure(t *testing.T) {
	w := newWorld(t)
	conflicts := 0
	w.talker.commit = func(store.Tx, chat.Input) error {
		if conflicts++; conflicts <= 2 {
			return store.ErrConflict
		}
		return nil
	}
	w.run()
	w.must(w.telegram.Say(telegram.Alice, "hello"))
	w.hears(telegram.Alice, "you said: hello")
	if n := len(w.talker.inputs()); n != 3 {
		t.Errorf("the talker was asked %d times", n)
	}
	if strings.Contains(w.log.String(), "could not be handled") {
		t.Error("a conflict was logged as a failure")
	}
}

// doubtful is a store whose next commits end in doubt.
type doubtful struct {
	store.Store
	mu    sync.Mutex
	doubt bool
}

func (d *doubtful) Update(ctx context.Context, change func(store.Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doubt {
		return fmt.Errorf("sync: %w", store.ErrUnknownOutcome)
	}
	return d.Store.Update(ctx, change)
}

func TestACommitOfUnknownOutcomeStopsTheBot(t *testing.T) {
	w := newWorld(t)
	d := &doubtful{Store: w.store}
	w.opt.Store = d
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.Run(w.ctx()) }()
	w.must(w.telegram.Say(telegram.Alice, "hello"))
	w.hears(telegram.Alice, "you said: hello")
	d.mu.Lock()
	d.doubt = true
	d.mu.Unlock()
	w.must(w.telegram.Say(telegram.Alice, "again"))
	if err := <-ended; !errors.Is(err, store.ErrUnknownOutcome) {
		t.Errorf("Run ended with %v", err)
	}
	if w.telegram.Pending() == 0 {
		t.Error("an update was acknowledged that may not be in the inbox")
	}
}

// counting is a store that counts its commits that put, claim or end a job.
type counting struct {
	store.Store
	commits atomic.Int64
}

// countingTx notes whether a transaction changes jobs.
type countingTx struct {
	store.Tx
	wrote, claimed bool
}

func (c *countingTx) PutJobs(jobs []store.Job, to *store.Claim) ([]store.Job, error) {
	c.wrote = c.wrote || len(jobs) > 0
	return c.Tx.PutJobs(jobs, to)
}

func (c *countingTx) ClaimJobs(claim store.Claim) (jobs []store.Job, next time.Time, err error) {
	jobs, next, err = c.Tx.ClaimJobs(claim)
	c.claimed = c.claimed || len(jobs) > 0
	return jobs, next, err
}

func (c *countingTx) DoneJobs(refs ...store.Ref) error {
	c.wrote = true
	return c.Tx.DoneJobs(refs...)
}

func (c *counting) Update(ctx context.Context, change func(store.Tx) error) error {
	var t countingTx
	err := c.Store.Update(ctx, func(tx store.Tx) error {
		t = countingTx{Tx: tx}
		return change(&t)
	})
	if t.wrote || t.claimed {
		c.commits.Add(1)
	}
	return err
}

// TestACommandWaitsForTwoCommits: the update is handed over to its worker, and the answer to the one that sends it.
func TestACommandWaitsForTwoCommits(t *testing.T) {
	w := newWorld(t)
	c := &counting{Store: w.store}
	w.opt.Store = c
	before := make(chan int64, 1)
	w.telegram.OnCall(func(call telegram.Call) {
		if call.Method == "sendMessage" {
			before <- c.commits.Load()
		}
	})
	w.run()
	w.must(w.telegram.Say(telegram.Alice, "/start"))
	w.hears(telegram.Alice, "you said: /start")
	if n := <-before; n != 2 {
		t.Errorf("the answer waited for %d commits, not for two: inbox, operation", n)
	}
	w.sentAll()
	w.eventually("the end of the reply is noted", func() bool { return c.commits.Load() == 3 })
}

func TestARefusedTokenEndsRun(t *testing.T) {
	w := newWorld(t)
	w.opt.Token = "1:another"
	b, err := New(w.opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(w.ctx()); !errors.Is(err, ErrBadToken) {
		t.Errorf("Run ended with %v", err)
	}
}

func TestWhoBlocksTheBotIsUnreachableUntilTheyUnblock(t *testing.T) {
	w := newWorld(t)
	w.must(nil, w.store.Update(w.ctx(), func(tx store.Tx) error {
		return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: telegram.Alice, RegisteredAt: time.Now()})
	}))
	unreachable := func() (yes bool) {
		w.view(func(tx store.Tx) error {
			u, err := tx.UserByTelegram(telegram.Alice)
			yes = u.Unreachable
			return err
		})
		return yes
	}
	w.run()
	w.must(w.telegram.Say(telegram.Alice, "hello"))
	w.hears(telegram.Alice, "you said: hello")
	w.must(nil, w.telegram.Block(telegram.Alice))
	w.eventually("she is marked", unreachable)
	w.must(nil, w.telegram.Unblock(telegram.Alice))
	w.eventually("she is reachable again", func() bool { return !unreachable() })
	if len(w.talker.inputs()) != 1 {
		t.Error("the talker heard of it")
	}
}

// said is a Message in JSON.
func said(from int64, text string) string {
	body, err := json.Marshal(map[string]any{
		"message_id": 1, "date": 1700000000, "text": text,
		"from": map[string]any{"id": from, "first_name": "P"}, "chat": map[string]any{"id": from, "type": "private"},
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// message is an Update in JSON.
func message(id int, from int64, text string) []byte {
	return []byte(fmt.Sprintf(`{"update_id":%d,"message":%s}`, id, said(from, text)))
}
