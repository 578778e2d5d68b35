package bot

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"purser/chat"
	"purser/e2e/harness"
	"purser/sandbox/telegram"
	"purser/store"
	"purser/store/local"
	"purser/store/records"
	"purser/store/storetest"
)

var _ Talker = (*chat.Chat)(nil)

// world is a Telegram (the sandbox), a store (a bbolt file) and, while running, a bot between them.
type world struct {
	t        testing.TB
	telegram *telegram.Server
	url      string
	client   http.RoundTripper // nil over real sockets
	path     string
	store    *records.Store
	talker   *talker
	patience time.Duration // bounds every wait; inside a bubble it costs nothing
	log      *harness.Log
	opt      Options // changed by tests before start
}

// newWorld serves the sandbox on a real socket.
func newWorld(t testing.TB) *world {
	t.Helper()
	w := makeWorld(t)
	server := httptest.NewServer(w.telegram.Handler())
	t.Cleanup(func() {
		w.telegram.Close()
		server.Close()
	})
	w.url = server.URL
	w.options()
	return w
}

// newBubbleWorld serves the sandbox over pipes in memory, so that inside a synctest bubble waits
// take no time. Its cleanup must run in the bubble: call the function that it returns.
func newBubbleWorld(t testing.TB) (*world, func()) {
	t.Helper()
	w := makeWorld(t)
	pipes := newPipes()
	server := &http.Server{Handler: w.telegram.Handler()}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := server.Serve(pipes); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	transport := &http.Transport{DialContext: pipes.dial}
	w.url, w.client = "http://127.0.0.1:8081", transport
	w.options()
	w.patience = time.Hour
	return w, func() {
		transport.CloseIdleConnections()
		if err := errors.Join(w.telegram.Close(), server.Close(), w.store.Close()); err != nil {
			t.Error(err)
		}
		<-over
	}
}

func makeWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, path: filepath.Join(t.TempDir(), "purser.db"), talker: newTalker(), log: &harness.Log{}, patience: 2 * time.Minute}
	w.openStore()
	t.Cleanup(func() { w.store.Close() })
	var err error
	if w.telegram, err = telegram.Open(telegram.Options{Unlimited: true}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) openStore() {
	w.t.Helper()
	var err error
	if w.store, err = local.Open(local.Options{Path: w.path, MasterKey: make([]byte, 32), Random: rand.Reader, Kinds: storetest.Kinds()}); err != nil {
		w.t.Fatal(err)
	}
}

// reopenStore is what a restart of the process does to it.
func (w *world) reopenStore() {
	w.t.Helper()
	if err := w.store.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.openStore()
	w.opt.Store = w.store
}

func (w *world) options() {
	w.opt = Options{
		Token: w.telegram.Token(), APIURL: w.url, Store: w.store, Chat: w.talker,
		Log:  slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Pace: Pace{Unlimited: true},
	}
	if w.client != nil {
		w.opt.Transport = w.client
	}
}

// start runs a bot. The returned function stops it and gives what Run returned.
func (w *world) start() (*Bot, func() error) {
	w.t.Helper()
	b, err := New(w.opt)
	if err != nil {
		w.t.Fatal(err)
	}
	w.release()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	var once sync.Once
	var result error
	stop := func() error {
		once.Do(func() {
			cancel()
			select {
			case result = <-ended:
			case <-time.After(w.patience):
				result = errors.New("Run does not end")
			}
		})
		return result
	}
	w.t.Cleanup(func() { stop() })
	return b, stop
}

// release is what main does before its workers start: what an earlier life of this node held waits for no lease.
func (w *world) release() {
	w.t.Helper()
	w.must(nil, w.store.Update(context.Background(), func(tx store.Tx) error { return tx.ReleaseNode("main") }))
}

// run starts a bot that is expected to end well, when the test ends at the latest.
func (w *world) run() (*Bot, func()) {
	w.t.Helper()
	b, stop := w.start()
	checked := func() {
		w.t.Helper()
		if err := stop(); err != nil {
			w.t.Errorf("Run ended with: %v", err)
		}
	}
	w.t.Cleanup(checked)
	return b, checked
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	w.t.Cleanup(cancel)
	return ctx
}

func (w *world) must(id any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// hears waits until the chat holds a message of the bot with exactly this text.
func (w *world) hears(chat int64, text string) telegram.Message {
	w.t.Helper()
	m, err := w.telegram.WaitMessage(w.ctx(), chat, func(m telegram.Message) bool { return m.FromBot() && m.Body() == text })
	if err != nil {
		w.t.Fatalf("waiting for %q: %v\nlog:\n%s", text, err, w.log)
	}
	return m
}

// fromBot lists what the bot has said in a chat.
func (w *world) fromBot(chat int64) []string {
	var texts []string
	for _, m := range w.telegram.Messages(chat) {
		if m.FromBot() {
			texts = append(texts, m.Body())
		}
	}
	return texts
}

// eventually waits for a condition that changes together with something in the sandbox or the store.
func (w *world) eventually(what string, cond func() bool) {
	w.t.Helper()
	ctx := w.ctx()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			w.t.Fatalf("waited in vain until %s\nlog:\n%s", what, w.log)
		}
	}
}

func (w *world) view(read func(store.Tx) error) {
	w.t.Helper()
	if err := w.store.View(context.Background(), read); err != nil {
		w.t.Fatal(err)
	}
}

// waiting is how many jobs are in a queue.
func (w *world) waiting(queue store.Queue) (n int) {
	w.t.Helper()
	w.view(func(tx store.Tx) error {
		stats, err := tx.JobStats(queue)
		n = stats.Waiting + stats.InFlight
		return err
	})
	return n
}

func (w *world) inbox() []store.Job {
	w.t.Helper()
	if w.waiting(store.Inbox) == 0 {
		return nil
	}
	return storetest.Jobs(w.t, w.store, store.Inbox)
}

func (w *world) outbox() []store.Job {
	w.t.Helper()
	if w.waiting(store.Outbox) == 0 {
		return nil
	}
	return storetest.Jobs(w.t, w.store, store.Outbox)
}

// enqueue puts replies into the outbox as an operation would.
func (w *world) enqueue(rows ...store.Reply) {
	w.t.Helper()
	if err := w.store.Update(context.Background(), func(tx store.Tx) error { return store.Enqueue(tx, rows...) }); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) calls(method string) (found []telegram.Call) {
	for _, c := range w.telegram.Calls() {
		if c.Method == method {
			found = append(found, c)
		}
	}
	return found
}

// greeting is what the talker does not answer.
const greeting = "(opens the chat)"

// greet lets each of these people say something first, without a bot, so that it may write to them.
func (w *world) greet(people ...int64) {
	w.t.Helper()
	for _, id := range people {
		if id != telegram.Alice && id != telegram.Bob {
			w.must(nil, w.telegram.AddUser(telegram.User{ID: id, FirstName: fmt.Sprint("P", id)}, ""))
		}
		w.must(w.telegram.Say(id, greeting))
	}
}

func row(where int64, priority int, reply chat.Reply) store.Reply {
	body, err := json.Marshal(reply)
	if err != nil {
		panic(err)
	}
	return store.Reply{Chat: where, Priority: priority, Body: body}
}

func says(text string) chat.Reply {
	return chat.Reply{Kind: chat.Message, Text: html.EscapeString(text)}
}

// talker is a small Talker: it repeats what it hears, and answers taps. answer, if set, decides
// instead; its replies are committed in the same way.
type talker struct {
	freezes func(store.Tx, chat.Input) error // FreezeOnArrival; nil: does nothing

	mu     sync.Mutex
	heard  []chat.Input
	answer func(ctx context.Context, in chat.Input) ([]store.Reply, error)
	commit func(tx store.Tx, in chat.Input) error // before the replies, if set

	profiles []chat.Profile // instead of the usual one, if set
}

func newTalker() *talker { return &talker{} }

// Receive finds a route as the chat does, without knowing any conversation.
func (k *talker) Receive(_ context.Context, in chat.Input) (chat.Inbound, error) {
	h := chat.Inbound{Input: in, Route: chat.Route{Kind: chat.ByText}}
	name, bot, _ := strings.Cut(strings.TrimPrefix(strings.SplitN(in.Text+" ", " ", 2)[0], "/"), "@")
	switch command := strings.HasPrefix(in.Text, "/"); {
	case in.Tap != nil:
		h.Route.Kind = chat.ByCallback
	case in.Edited:
		h.Route.Kind = chat.ByEdit
	case in.Contact != nil:
		h.Route.Kind = chat.ByContact
	case in.Picked != nil:
		h.Route.Kind = chat.ByPerson
	case command && !in.Private && bot != "" && !strings.EqualFold(bot, "purser_sandbox_bot"):
		h.Route = chat.Route{}
	case command && (name == "start" || name == "send"):
		h.Route = chat.Route{Kind: chat.ByCommand, Name: name}
	}
	return h, nil
}

func (k *talker) Endpoints() []chat.Endpoint {
	var all []chat.Endpoint
	for _, to := range []chat.Route{{Kind: chat.ByText}, {Kind: chat.ByCallback}, {Kind: chat.ByEdit}, {Kind: chat.ByContact}, {Kind: chat.ByPerson},
		{Kind: chat.ByCommand, Name: "start"}, {Kind: chat.ByCommand, Name: "send"}} {
		all = append(all, chat.Endpoint{Route: to, Groups: true, Handle: func(ctx context.Context, h chat.Inbound) (chat.Turn, error) { return k.handle(ctx, h.Input) }})
	}
	return all
}

func (k *talker) PrivateOnly(chat.Inbound) (chat.Turn, error)    { return chat.Turn{}, nil }
func (k *talker) SlowDown(chat.Inbound, error) (chat.Turn, bool) { return chat.Turn{}, false }

func (k *talker) handle(ctx context.Context, in chat.Input) (chat.Turn, error) {
	k.mu.Lock()
	k.heard = append(k.heard, in)
	answer, commit := k.answer, k.commit
	k.mu.Unlock()
	var replies []store.Reply
	if answer != nil {
		var err error
		if replies, err = answer(ctx, in); err != nil {
			return chat.Turn{}, err
		}
	} else {
		replies = echo(in)
	}
	return chat.Turn{Commit: func(tx store.Tx) error {
		if commit != nil {
			if err := commit(tx, in); err != nil {
				return err
			}
		}
		return store.Enqueue(tx, replies...)
	}}, nil
}

func echo(in chat.Input) []store.Reply {
	switch {
	case in.Tap != nil:
		return []store.Reply{row(in.Chat, 0, chat.Reply{Kind: chat.Toast, CallbackID: in.Tap.CallbackID, Text: "tapped " + in.Tap.Data})}
	case in.Text == greeting:
		return nil
	case in.Contact != nil:
		return []store.Reply{row(in.Chat, 0, says(fmt.Sprint("contact ", in.Contact.TelegramID)))}
	}
	said := []rune(in.Text)
	return []store.Reply{row(in.Chat, 0, says("you said: "+string(said[:min(len(said), 200)])))}
}

func (k *talker) Profiles() []chat.Profile {
	if k.profiles != nil {
		return k.profiles
	}
	return []chat.Profile{
		{Commands: []chat.Command{{Name: "start", Description: "Begin"}, {Name: "send", Description: "Send SOL"}}, Description: "An echo.", Short: "Echo"},
	}
}

func (k *talker) TooMany(store.Tx, int64) ([]chat.Reply, error) {
	return []chat.Reply{says("too many")}, nil
}

// FreezeOnArrival notes whom it was asked about, and fails if the test says so.
func (k *talker) FreezeOnArrival(tx store.Tx, in chat.Input) (bool, error) {
	if k.freezes == nil {
		return false, nil
	}
	return true, k.freezes(tx, in)
}

func (k *talker) Apology(in chat.Input) []chat.Reply {
	return []chat.Reply{{Kind: chat.Message, Text: "sorry"}}
}

func (k *talker) inputs() []chat.Input {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]chat.Input(nil), k.heard...)
}

// pipes is a net.Listener whose connections are net.Pipes.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{made: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.made <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
