// Package bot knows Telegram: how updates come in, how replies go out, and how fast Telegram lets
// them. It refuses to know what is said (see chat), what an operation does (see handlers) and how jobs
// are kept (see store).
//
// An update travels: poll loop or webhook → what we read of it, without secrets that were typed by
// mistake (reader) → a job of the inbox, durable, and only then acknowledged (Bot.take) → a pool that handles one update of a
// chat at a time (Bot.handle) → Talker.Receive finds its endpoint → telebot dispatches it (router) → one store transaction
// that ends the job and writes whatever was decided, replies included → jobs of the outbox → a pool that sends them
// (Bot.deliver), each when the pacer gives it its turn. So a crash at any point repeats nothing that took effect and
// loses nothing that was acknowledged (docs/architecture.md, Telegram). A polled update that is answered at once skips the
// queue: one commit takes it in and writes its answer (earlyAttempt). Of several nodes over one store all handle updates,
// and one polls and sends (leader).
package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"sync/atomic"
	"time"

	tele "gopkg.in/telebot.v3"

	"purser/chat"
	"purser/store"
	"purser/work"
)

// Errors that callers tell apart.
var (
	// ErrBadToken says that Telegram does not know the bot token. No retry helps.
	ErrBadToken = errors.New("bot: Telegram refused the bot token: check telegram.token")
	// ErrForbidden says that a webhook call did not carry our secret.
	ErrForbidden = errors.New("bot: the webhook call does not carry the agreed secret")
	// ErrBadUpdate says that a webhook call carried no Telegram update.
	ErrBadUpdate = errors.New("bot: the webhook call carries no Telegram update")
	// ErrBusy says that too many updates wait already; Telegram delivers this one again later.
	ErrBusy = errors.New("bot: too many updates wait to be handled")
)

// Mode is the way by which updates come in (docs/settings.md, telegram.mode).
type Mode string

// The two ways.
const (
	Poll    Mode = "poll"
	Webhook Mode = "webhook"
)

// Talker decides what is said.
type Talker interface {
	// Receive reads what is known of who sent an input, and finds the endpoint that it is for.
	Receive(ctx context.Context, in chat.Input) (chat.Inbound, error)
	// Endpoints are all that there are. Their Handle reads and prepares; nothing is true until its Turn is committed.
	// It may take seconds. An error means that purser failed, not that the person did.
	Endpoints() []chat.Endpoint
	// PrivateOnly is the answer in a group to an endpoint that does not work there.
	PrivateOnly(in chat.Inbound) (chat.Turn, error)
	// SlowDown is the answer to an input whose endpoint failed by err because its person asks too often; false when
	// err says something else.
	SlowDown(in chat.Inbound, err error) (chat.Turn, bool)
	// Profiles are the menu of commands and the texts about the bot, in each language; the first is for everybody else.
	Profiles() []chat.Profile
	// Apology is the answer to a person when handling their input failed for good.
	Apology(in chat.Input) []chat.Reply
	// FreezeOnArrival freezes the account of a person whose input says so, and reports whether it did. It runs in the transaction
	// that takes the input.
	FreezeOnArrival(tx store.Tx, in chat.Input) (froze bool, err error)
	// TooMany is the answer to a person when their oldest waiting messages are left out. It reads their language from tx.
	TooMany(tx store.Tx, chat int64) ([]chat.Reply, error)
}

// Options say whose bot this is and what it stands on.
type Options struct {
	Token  string // as BotFather gave it
	APIURL string // "" is Telegram's own; a local Bot API server or a sandbox otherwise
	Mode   Mode   // "" is Poll

	WebhookURL    string // webhook mode: the public https address that leads to Accept
	WebhookSecret string // webhook mode: 1-256 characters of A-Z a-z 0-9 _ -

	Store store.Store
	Chat  Talker

	// Node names this process among those that share the store, the same in its next life; "" is "main".
	Node string

	Now       func() time.Time  // nil: time.Now. Pacing reads it: a clock that stands still sends a burst, then waits
	Log       *slog.Logger      // nil: slog.Default()
	Random    io.Reader         // of the waits after failures; see work.Schedule
	Transport http.RoundTripper // nil: one that honours the proxy environment
	Pace      Pace              // zero: what Telegram allows
}

// Bot is one Telegram bot. Accept and Me are safe for concurrent use with Run.
type Bot struct {
	opt       Options
	now       func() time.Time
	log       *slog.Logger
	transport *transport
	router    *router
	reader    reader
	me        atomic.Pointer[account] // nil until Telegram has answered getMe

	inbox   *work.Pool // of updates that are to be handled; it runs on every node
	outbox  *work.Pool // of replies that are to be sent; it runs while this node leads
	pacer   *pacer
	floods  floods
	early   earlyAttempts
	steady  bool // the updates of the last polls were taken in; of the goroutine that polls
	waiters sendWaiters
	ran     atomic.Bool

	maxWaiting, maxOfChat int // changed by tests

	alive context.Context         // ends when going on would be wrong, with the reason as its cause
	die   context.CancelCauseFunc // the first call counts
}

// account is what getMe tells.
type account struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
}

// New checks the options. It does not use the network.
func New(o Options) (*Bot, error) {
	if o.Store == nil || o.Chat == nil {
		return nil, errors.New("bot: a store and a talker are needed")
	}
	if o.Token == "" {
		return nil, errors.New("bot: telegram.token is not set: get one from @BotFather")
	}
	if o.APIURL == "" {
		o.APIURL = tele.DefaultApiURL
	}
	base, err := url.Parse(o.APIURL)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, errors.New("bot: telegram.api_url must be an http or https address")
	}
	switch o.Mode {
	case "":
		o.Mode = Poll
	case Poll:
	case Webhook:
		if hook, err := url.Parse(o.WebhookURL); err != nil || hook.Host == "" {
			return nil, errors.New("bot: webhook mode needs a public address for Telegram to call")
		}
		if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`).MatchString(o.WebhookSecret) {
			return nil, errors.New("bot: telegram.webhook_secret must be 1 to 256 letters, digits, _ or -")
		}
	default:
		return nil, fmt.Errorf("bot: telegram.mode %q is neither poll nor webhook", o.Mode)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Node == "" {
		o.Node = "main"
	}
	b := &Bot{opt: o, now: o.Now, log: o.Log, transport: newTransport(base, o.Token, o.Transport), reader: reader{chat.NewSecrets()},
		pacer: newPacer(o.Pace, o.Now), maxWaiting: maxWaiting, maxOfChat: maxOfChat}
	b.alive, b.die = context.WithCancelCause(context.Background())
	b.inbox = &work.Pool{Store: o.Store, Queue: store.Inbox, Node: o.Node, Width: chatsAtOnce, PerOwner: 1, Lease: inboxLease,
		Schedule: work.Schedule{First: time.Second, Most: patience, Failures: attempts, Random: o.Random},
		Handle:   b.handle, Dead: b.gaveUp, Grace: workGrace, Now: o.Now, Log: o.Log}
	b.outbox = &work.Pool{Store: o.Store, Queue: store.Outbox, Node: o.Node, Width: maxSending, Window: 1, Lease: outboxLease,
		Schedule: work.Schedule{First: time.Second, Most: retryLimit, Random: o.Random},
		Handle:   b.deliver, Grace: sendGrace, Now: o.Now, Log: o.Log}
	if b.router, err = newRouter(o.Chat, b.transport, b.log); err != nil {
		return nil, err
	}
	return b, nil
}

// Me is the bot's username without @. It is "" until Telegram has answered getMe.
func (b *Bot) Me() string {
	if me := b.me.Load(); me != nil {
		return me.Username
	}
	return ""
}

// How Run ends: what is being handled may finish within workGrace, then what can be sent at once is
// sent within sendGrace. Together with the cancellations they stay under 10 seconds.
const (
	workGrace = 7 * time.Second
	sendGrace = time.Second // twice: until the outbox is empty, and then for what is on its way
	emptyLook = 20 * time.Millisecond
)

// Run serves until ctx ends, then drains within 10 seconds and returns nil. It returns ErrBadToken
// when Telegram does not know the token, and an error that wraps store.ErrUnknownOutcome when a
// commit left open whether it took effect: the process must stop then. It runs once.
func (b *Bot) Run(ctx context.Context) error {
	if b.ran.Swap(true) {
		return errors.New("bot: Run was called twice")
	}
	serving, stopServing := b.untilFatal(ctx)
	defer stopServing()
	if err := b.getMe(serving); err != nil {
		return b.verdict(ctx, err)
	}
	handling := b.start(ctx, b.inbox)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		b.showProfiles(serving)
	}()
	err := b.leader().Run(serving, func(leading context.Context) error {
		sending := b.start(ctx, b.outbox)
		defer sending.stop()
		err := b.receive(leading)
		if serving.Err() != nil { // else this node goes on handling updates
			handling.stop()
			b.empty(ctx)
		}
		b.pacer.drain(true)
		defer b.pacer.drain(false)
		sending.stop()
		return err
	})
	stopServing()
	<-shown
	handling.stop()
	b.early.drop()
	return b.verdict(ctx, err)
}

// empty waits until the outbox is empty, for some time.
func (b *Bot) empty(ctx context.Context) {
	ctx, cancel := b.untilFatal(context.WithoutCancel(ctx))
	defer cancel()
	for deadline := time.Now().Add(sendGrace); time.Now().Before(deadline); {
		var stats store.JobStats
		err := b.opt.Store.View(ctx, func(tx store.Tx) (err error) {
			stats, err = tx.JobStats(store.Outbox)
			return err
		})
		if err != nil || stats.Waiting+stats.InFlight == 0 || !pause(ctx, emptyLook) {
			return
		}
	}
}

// running is a pool that runs.
type running struct {
	stop func() // ends it, and waits until it has ended
}

// start runs a pool until stop, or until going on would be wrong.
func (b *Bot) start(ctx context.Context, pool *work.Pool) running {
	ctx, cancel := b.untilFatal(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := pool.Run(ctx); err != nil {
			b.die(fmt.Errorf("bot: %w", err))
		}
	}()
	return running{func() {
		cancel()
		<-over
	}}
}

// untilFatal is a context that also ends when die was called.
func (b *Bot) untilFatal(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	stop := context.AfterFunc(b.alive, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// verdict is what Run returns.
func (b *Bot) verdict(ctx context.Context, err error) error {
	if b.alive.Err() != nil {
		return context.Cause(b.alive)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// update runs one store transaction and stops the bot when its outcome is unknown. It is not
// cancelled half-way: its writer has to know what became of it.
func (b *Bot) update(ctx context.Context, change func(store.Tx) error) error {
	err := b.opt.Store.Update(context.WithoutCancel(ctx), change)
	if store.IsFatal(err) {
		b.die(fmt.Errorf("bot: %w", err))
	}
	return err
}

// pause waits d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff is how long is waited after so many failures in a row to reach Telegram: 1, 2, 4 ... seconds, at most patience.
func backoff(failures int) time.Duration {
	return work.Schedule{First: time.Second, Most: patience}.Span(failures)
}
