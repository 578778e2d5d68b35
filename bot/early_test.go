package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"purser/chat"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/work"
)

// looking is a bubble world whose talker notes how many updates the inbox held when each was handled: none if it was handled
// before it was taken in. Two people have greeted, and the bot has taken that in.
type looking struct {
	*world
	bot    *Bot
	stop   func()
	before func(in chat.Input) error // of each update that is handled; nil: does nothing
	found  map[string][]int          // by text
	mu     sync.Mutex
}

// inLooking runs a test in such a world.
func inLooking(t *testing.T, prepare func(*looking), run func(*looking)) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newBubbleWorld(t)
		defer done()
		l := &looking{world: w, found: map[string][]int{}}
		w.talker.answer = func(_ context.Context, in chat.Input) ([]store.Reply, error) {
			l.mu.Lock()
			l.found[in.Text] = append(l.found[in.Text], w.waiting(store.Inbox))
			before := l.before
			l.mu.Unlock()
			if before != nil {
				if err := before(in); err != nil {
					return nil, err
				}
			}
			return echo(in), nil
		}
		w.greet(telegram.Alice, telegram.Bob)
		if prepare != nil {
			prepare(l)
		}
		l.bot, l.stop = w.run()
		l.until("the greetings are taken in", func() bool { return w.telegram.Pending() == 0 && w.waiting(store.Inbox) == 0 })
		run(l)
		l.stop()
	})
}

// until waits for something of the store, in the bubble's time.
func (l *looking) until(what string, cond func() bool) {
	l.t.Helper()
	for range 10_000 {
		if cond() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.t.Fatalf("waited in vain until %s", what)
}

// says has a person write something that the bot answers.
func (l *looking) says(person int64, text string) {
	l.t.Helper()
	l.must(l.telegram.Say(person, text))
	l.hears(person, "you said: "+text)
}

// wants checks how many updates the inbox held each time that a text was handled.
func (l *looking) wants(text string, want ...int) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if got := l.found[text]; !slices.Equal(got, want) {
		l.t.Errorf("%q was handled while the inbox held %v, want %v", text, got, want)
	}
}

// TestAQuickUpdateIsAnsweredInTheCommitThatTakesItIn, but not those that come first in a run.
func TestAQuickUpdateIsAnsweredInTheCommitThatTakesItIn(t *testing.T) {
	counted := &counting{}
	inLooking(t, func(l *looking) {
		counted.Store = l.store
		l.opt.Store = counted
	}, func(l *looking) {
		commits := counted.commits.Load()
		if first := l.found[greeting]; len(first) != 2 || slices.Contains(first, 0) {
			t.Errorf("the first were handled while the inbox held %v", first)
		}
		began := time.Now()
		for n := range 3 {
			l.says(telegram.Alice, fmt.Sprint("hello ", n))
			l.wants(fmt.Sprint("hello ", n), 0)
		}
		if took := time.Since(began); took > time.Second { // of the bubble's time: the answers were handed to the outbox's workers
			t.Errorf("the answers took %s", took)
		}
		l.until("all is sent", func() bool { return l.telegram.Pending() == 0 && l.waiting(store.Outbox) == 0 })
		if n := len(l.fromBot(telegram.Alice)); n != 3 || l.waiting(store.Inbox) != 0 {
			t.Errorf("%d messages, and %d updates wait", n, l.waiting(store.Inbox))
		}
		if n := counted.commits.Load() - commits; n != 6 {
			t.Errorf("it took %d commits, not two for each: the operation, and the end of the reply", n)
		}
	})
}

// TestASlowUpdateIsTakenInMeanwhile: it is handled once, those of its chat wait for it, and others do not.
func TestASlowUpdateIsTakenInMeanwhile(t *testing.T) {
	inLooking(t, nil, func(l *looking) {
		release := make(chan struct{})
		l.before = func(in chat.Input) error {
			if in.Text == "slow" {
				<-release
			}
			return nil
		}
		l.must(l.telegram.Say(telegram.Alice, "slow"))
		l.until("it is taken in", func() bool { return l.telegram.Pending() == 0 })
		if n := l.waiting(store.Inbox); n != 1 {
			t.Errorf("the inbox holds %d", n)
		}
		l.must(l.telegram.Say(telegram.Alice, "next"))
		l.until("it is taken in", func() bool { return l.telegram.Pending() == 0 })
		l.says(telegram.Bob, "me too")
		l.wants("me too", 2)
		l.wants("next")
		close(release)
		began := time.Now()
		l.hears(telegram.Alice, "you said: next")
		if took := time.Since(began); took > time.Second { // of the bubble's time: the update was handed to a worker
			t.Errorf("the answers took %s", took)
		}
		l.wants("slow", 0)
		l.wants("next", 1)
		if got := l.fromBot(telegram.Alice); !slices.Equal(got, []string{"you said: slow", "you said: next"}) {
			t.Errorf("answered %q", got)
		}
	})
}

// TestNothingIsAttemptedEarlyWhileMuchIsInHand.
func TestNothingIsAttemptedEarlyWhileMuchIsInHand(t *testing.T) {
	var crowd []int64
	inLooking(t, func(l *looking) {
		for n := range maxBusyForEarly + 1 {
			crowd = append(crowd, int64(9000+n))
		}
		l.greet(crowd...)
	}, func(l *looking) {
		release := make(chan struct{})
		l.before = func(in chat.Input) error {
			if in.Text == "slow" {
				<-release
			}
			return nil
		}
		for n, person := range crowd {
			l.says(telegram.Bob, fmt.Sprint("before ", n))
			l.wants(fmt.Sprint("before ", n), n)
			l.must(l.telegram.Say(person, "slow"))
			l.until("it is taken in", func() bool { return l.telegram.Pending() == 0 })
		}
		l.says(telegram.Bob, "after")
		l.wants("after", maxBusyForEarly+2) // itself among them
		close(release)
		l.until("all is handled", func() bool { return l.waiting(store.Inbox) == 0 })
	})
}

// TestWhatCannotBeWrittenEarlyIsHandledByTheInbox: a commit that fails, a handler that does, and one that panics.
func TestWhatCannotBeWrittenEarlyIsHandledByTheInbox(t *testing.T) {
	for name, bad := range map[string]func(l *looking, times *atomic.Int32){
		"commit": func(l *looking, times *atomic.Int32) {
			l.talker.commit = func(tx store.Tx, in chat.Input) error {
				if in.Text == "hello" && times.Add(1) == 1 {
					return errors.Join(tx.PutCard(in.Chat, "made by it", 7, time.Time{}), errors.New("oops"))
				}
				return nil
			}
		},
		"conflict": func(l *looking, times *atomic.Int32) {
			l.talker.commit = func(_ store.Tx, in chat.Input) error {
				if in.Text == "hello" && times.Add(1) == 1 {
					return store.ErrConflict
				}
				return nil
			}
		},
		"panic of the commit": func(l *looking, times *atomic.Int32) {
			l.talker.commit = func(tx store.Tx, in chat.Input) error {
				if in.Text == "hello" && times.Add(1) == 1 {
					l.must(nil, tx.PutCard(in.Chat, "made by it", 7, time.Time{}))
					panic("oops")
				}
				return nil
			}
		},
		"error": func(l *looking, times *atomic.Int32) {
			l.before = func(in chat.Input) error {
				if in.Text == "hello" && times.Add(1) == 1 {
					return errors.New("oops")
				}
				return nil
			}
		},
		"panic": func(l *looking, times *atomic.Int32) {
			l.before = func(in chat.Input) error {
				if in.Text == "hello" && times.Add(1) == 1 {
					panic("oops")
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var times atomic.Int32
			inLooking(t, func(l *looking) { bad(l, &times) }, func(l *looking) {
				l.says(telegram.Alice, "hello")
				l.wants("hello", 0, 1)
				l.until("all is handled", func() bool { return l.waiting(store.Inbox) == 0 })
				if n := len(l.fromBot(telegram.Alice)); n != 1 || times.Load() != 2 {
					t.Errorf("answered %d times, written %d times", n, times.Load())
				}
				if l.card(telegram.Alice, "made by it") != 0 {
					t.Error("what failed was written")
				}
			})
		})
	}
}

// TestAFreezeIsNotDecidedEarly: what is decided about it rests on the freeze.
func TestAFreezeIsNotDecidedEarly(t *testing.T) {
	var froze atomic.Int32
	inLooking(t, func(l *looking) {
		l.talker.freezes = func(_ store.Tx, in chat.Input) error {
			if in.Text == "/start" {
				froze.Add(1)
			}
			return nil
		}
	}, func(l *looking) {
		l.says(telegram.Alice, "/start")
		l.wants("/start", 0, 1)
		if froze.Load() != 1 {
			t.Errorf("it froze %d times", froze.Load())
		}
	})
}

// TestAFreezeThatFailsOnArrivalIsHandledByTheInbox: what failed on arrival fails in the answer too, and must not fail the poll.
func TestAFreezeThatFailsOnArrivalIsHandledByTheInbox(t *testing.T) {
	var writes atomic.Int32
	inLooking(t, func(l *looking) {
		l.talker.freezes = func(_ store.Tx, in chat.Input) error {
			if in.Text == "/start" {
				return errors.New("oops")
			}
			return nil
		}
		l.talker.commit = func(_ store.Tx, in chat.Input) error {
			if in.Text == "/start" && writes.Add(1) == 1 {
				panic("oops")
			}
			return nil
		}
	}, func(l *looking) {
		began := time.Now()
		l.must(l.telegram.Say(telegram.Alice, "/start"))
		l.until("it is taken in", func() bool { return l.telegram.Pending() == 0 })
		if took := time.Since(began); took > 500*time.Millisecond { // of the bubble's time
			t.Errorf("it was acknowledged after %s", took)
		}
		l.hears(telegram.Alice, "you said: /start")
		l.wants("/start", 0, 1, 1)
	})
}

// TestAReplyWaitsForTheMessageThatItRepliesTo: it is not attempted early while the end of a message to its chat is not written, which
// says whose message that was.
func TestAReplyWaitsForTheMessageThatItRepliesTo(t *testing.T) {
	inLooking(t, nil, func(l *looking) {
		l.enqueue(row(telegram.Alice, 0, says("question")))
		asked := l.hears(telegram.Alice, "question")
		l.must(l.telegram.Reply(telegram.Alice, asked.ID, "reply"))
		l.hears(telegram.Alice, "you said: reply")
		l.wants("reply", 1)
		l.until("all is sent", func() bool { return l.waiting(store.Outbox) == 0 })
		l.must(l.telegram.Reply(telegram.Alice, asked.ID, "later"))
		l.hears(telegram.Alice, "you said: later")
		l.wants("later", 0)
	})
}

// TestAnUpdateIsNotHandledTwiceAtOnce: the next attempt waits until one that is given up has ended.
func TestAnUpdateIsNotHandledTwiceAtOnce(t *testing.T) {
	var refuse *refusing
	inLooking(t, func(l *looking) {
		refuse = &refusing{Store: l.store}
		l.opt.Store = refuse
	}, func(l *looking) {
		var now, most, times atomic.Int32
		l.before = func(in chat.Input) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			times.Add(1)
			time.Sleep(5 * time.Second) // of the bubble's time; it does not look at its ctx
			return nil
		}
		refuse.now.Store(true)
		l.must(l.telegram.Say(telegram.Alice, "hello"))
		l.until("it is being handled", func() bool { return now.Load() == 1 })
		time.Sleep(500 * time.Millisecond) // of the bubble's time: the commit has been refused
		refuse.now.Store(false)
		l.hears(telegram.Alice, "you said: hello")
		if most.Load() != 1 || times.Load() != 2 {
			t.Errorf("%d attempts, %d at once", times.Load(), most.Load())
		}
	})
}

// TestABotThatEndsKeepsNoAttempt that no worker came for.
func TestABotThatEndsKeepsNoAttempt(t *testing.T) {
	inLooking(t, nil, func(l *looking) {
		ctx, stop := context.WithCancel(context.Background())
		a := &earlyAttempt{stop: stop, ended: make(chan struct{})}
		go func() {
			<-ctx.Done()
			close(a.ended)
		}()
		l.bot.early.put("nobody's", a)
		l.stop()
		if len(l.bot.early.all) != 0 || ctx.Err() == nil {
			t.Error("it goes on")
		}
	})
}

// TestWhatWasNotTakenInHasNoEffect: it was handled, but its commit fails. Telegram delivers it again.
func TestWhatWasNotTakenInHasNoEffect(t *testing.T) {
	var refuse *refusing
	inLooking(t, func(l *looking) {
		refuse = &refusing{Store: l.store}
		l.opt.Store = refuse
	}, func(l *looking) {
		refuse.now.Store(true)
		l.must(l.telegram.Say(telegram.Alice, "hello"))
		l.until("it is handled", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.found["hello"]) == 1
		})
		time.Sleep(time.Minute) // of the bubble's time: it is delivered again and again
		if l.telegram.Pending() != 1 || len(l.fromBot(telegram.Alice)) != 0 {
			t.Errorf("%d wait at Telegram's, answered %q", l.telegram.Pending(), l.fromBot(telegram.Alice))
		}
		l.wants("hello", 0) // only the first of these deliveries is handled early
		refuse.now.Store(false)
		l.hears(telegram.Alice, "you said: hello")
		l.wants("hello", 0, 1)
		l.until("all is sent", func() bool { return l.telegram.Pending() == 0 && l.waiting(store.Outbox) == 0 })
		if n := len(l.fromBot(telegram.Alice)); n != 1 {
			t.Errorf("answered %d times", n)
		}
	})
}

// TestAKnownUpdateHasNoEffectAgain, nor are several attempted early.
func TestAKnownUpdateHasNoEffectAgain(t *testing.T) {
	inLooking(t, nil, func(l *looking) {
		read := func(id int64, text string) incoming {
			u, err := l.bot.reader.arrived(fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":%d,"date":1700000000,"text":%q,
				"from":{"id":%d,"first_name":"Alice"},"chat":{"id":%[4]d,"type":"private"}}}`, id, id, text, telegram.Alice))
			l.must(nil, err)
			return u
		}
		u := []incoming{read(1, "hello")}
		for range 2 {
			l.bot.steady = true
			a := l.bot.attemptEarly(t.Context(), u)
			if !a.decided() {
				t.Fatal("it was not decided")
			}
			l.must(nil, l.bot.take(t.Context(), u, 0, a))
		}
		l.hears(telegram.Alice, "you said: hello")
		l.until("all is sent", func() bool { return l.waiting(store.Outbox) == 0 })
		if n := len(l.fromBot(telegram.Alice)); n != 1 || l.waiting(store.Inbox) != 0 {
			t.Errorf("answered %d times, and %d wait", n, l.waiting(store.Inbox))
		}
		if len(l.bot.early.all) != 0 {
			t.Error("an attempt is kept")
		}
		for name, updates := range map[string][]incoming{"several": {read(2, "a"), read(3, "b")}, "nothing": {}, "what is ignored": {{id: 4}}} {
			if l.bot.attemptEarly(t.Context(), updates) != nil {
				t.Errorf("%s was attempted early", name)
			}
		}
	})
}

// TestOnlyWhatEndsAnUpdateIsWrittenEarly: not an attempt that goes on, that failed, or that is to be repeated later.
func TestOnlyWhatEndsAnUpdateIsWrittenEarly(t *testing.T) {
	over := make(chan struct{})
	close(over)
	for name, a := range map[string]*earlyAttempt{
		"none": nil, "one that goes on": {ended: make(chan struct{})}, "one that failed": {ended: over, err: errors.New("oops")},
		"one that waits":               {ended: over, result: work.Result{Again: time.Unix(1, 0)}},
		"one that ends its job itself": {ended: over, result: work.Result{End: func(store.Tx, store.Ref) error { return nil }}},
	} {
		if a.decided() {
			t.Errorf("%s is decided", name)
		}
	}
	if !(&earlyAttempt{ended: over}).decided() {
		t.Error("one that ended is not decided")
	}
}

// TestTheEndOfAReplyIsDeferrableIfNobodyWaits: neither an app for its result, nor the next message of the chat.
func TestTheEndOfAReplyIsDeferrableIfNobodyWaits(t *testing.T) {
	var watched *watching
	inLooking(t, func(l *looking) {
		watched = &watching{Store: l.store}
		l.opt.Store = watched
	}, func(l *looking) {
		for _, c := range []struct {
			name string
			rows []store.Reply
			want int32
		}{
			{"one", []store.Reply{row(telegram.Alice, 0, says("a"))}, 1},
			{"one that an app waits for", []store.Reply{asked(onCard(row(telegram.Alice, 0, says("b")), "app:1"))}, 0},
			{"three of a chat", []store.Reply{row(telegram.Alice, 0, says("c")), row(telegram.Alice, 0, says("d")), row(telegram.Alice, 0, says("e"))}, 1},
			{"two of two chats", []store.Reply{row(telegram.Alice, 0, says("f")), row(telegram.Bob, 0, says("f"))}, 2},
		} {
			before := watched.deferrable.Load()
			l.enqueue(c.rows...)
			l.until("all is sent", func() bool { return l.waiting(store.Outbox) == 0 })
			if got := watched.deferrable.Load() - before; got != c.want {
				t.Errorf("%s: %d ends were deferrable, want %d", c.name, got, c.want)
			}
		}
	})
}

// watching is a store that counts deferrable Updates.
type watching struct {
	store.Store
	deferrable atomic.Int32
}

func (w *watching) Update(ctx context.Context, change func(store.Tx) error) error {
	if store.IsDeferrable(ctx) {
		w.deferrable.Add(1)
	}
	return w.Store.Update(ctx, change)
}
