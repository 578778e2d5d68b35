package chain

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"purser/wallet"
)

const (
	maxWatched  = 1024             // signatures watched at once; the oldest gives way
	hintsQueued = 256              // hints not yet taken; more are dropped
	pingEvery   = 30 * time.Second // so that a dead connection is noticed
	maxNotice   = 64 << 10         // bytes of one WebSocket message
	maxBackoff  = 30 * time.Second
	// worked is how long a session lasts that was a good one. After a shorter one the pause grows: a message that is too
	// long, which somebody may send again and again, must not cost a connection each time.
	worked = 30 * time.Second
)

// topic is a kind of subscription (the RPC methods signatureSubscribe and accountSubscribe).
type topic[T comparable] struct {
	subscribe, notice string // methods
	params            func(T) []any
	once              bool // the server ends the subscription with its first notification
}

// landings notify once, when a signature is confirmed.
func landings() topic[wallet.Signature] {
	return topic[wallet.Signature]{subscribe: "signatureSubscribe", notice: "signatureNotification", once: true,
		params: func(sig wallet.Signature) []any { return []any{sig.String(), settings{"commitment": confirmed}} }}
}

// changes notify of each change of an account that is final. What the account holds is not asked for: it may be large.
func changes() topic[wallet.AccountHint] {
	return topic[wallet.AccountHint]{subscribe: "accountSubscribe", notice: "accountNotification",
		params: func(h wallet.AccountHint) []any {
			return []any{h.Account.String(), settings{"commitment": finalized, "encoding": "base64", "dataSlice": settings{"offset": 0, "length": 0}}}
		}}
}

// hints turns notifications of one topic into a channel. It speaks the protocol itself. solana-go's WebSocket client ends the
// process on a hostile notification (it dereferences a missing result in a goroutine of its own), reads messages of any size,
// and takes no dialer.
type hints[T comparable] struct {
	topic[T]
	url     string
	timeout time.Duration
	most    int // what is watched at once; the oldest gives way
	http    *http.Client
	log     *slog.Logger
	backoff func(attempt int) time.Duration // pause before the attempt after so many failed ones

	asked chan T // what to watch
	out   chan T // about which there may be news
}

// newHints makes hints of a topic for a ws or wss address; "" for none.
func newHints[T comparable](about topic[T], url string, most int, o Options, transport http.RoundTripper) *hints[T] {
	return &hints[T]{
		topic: about, url: url, most: most, timeout: o.Timeout, http: &http.Client{Transport: transport}, log: o.Log, backoff: doubling,
		asked: make(chan T, hintsQueued),
		out:   make(chan T, hintsQueued),
	}
}

// doubling waits 1, 2, 4 ... 30 seconds.
func doubling(attempt int) time.Duration {
	return min(time.Second<<min(attempt, 5), maxBackoff)
}

// Watch asks for a hint when sig is confirmed. It never blocks. A hint may come late, twice or not at all: Statuses
// says what is true.
func (c *Client) Watch(sig wallet.Signature) {
	select {
	case c.hints.asked <- sig:
	default:
	}
}

// Hints delivers watched signatures about which there may be news.
func (c *Client) Hints() <-chan wallet.Signature { return c.hints.out }

// WatchAccount asks for a hint each time that an account changes and the change is final. It never blocks. The account that
// was asked for first gives way when there are too many (Options.Subscriptions). A hint may come late, too often or not at all:
// Sweep says what is true.
func (c *Client) WatchAccount(h wallet.AccountHint) {
	select {
	case c.accounts.asked <- h:
	default:
	}
}

// AccountHints delivers watched accounts that may have changed.
func (c *Client) AccountHints() <-chan wallet.AccountHint { return c.accounts.out }

// Run keeps the WebSockets connected until ctx ends, and then returns nil. Without them landings and payments are noticed later,
// by polling.
func (c *Client) Run(ctx context.Context) error {
	var both sync.WaitGroup
	both.Go(func() { c.hints.run(ctx) })
	both.Go(func() { c.accounts.run(ctx) })
	both.Wait()
	return nil
}

// run holds one session after the other, with growing pauses while none works.
func (h *hints[T]) run(ctx context.Context) {
	if h.url == "" || h.most == 0 {
		<-ctx.Done()
		return
	}
	watched := &watchList[T]{most: h.most}
	for attempt := 0; ; attempt++ {
		if len(watched.order) == 0 && !h.once { // most nodes of a cluster watch no account
			select {
			case <-ctx.Done():
				return
			case one := <-h.asked:
				watched.add(one)
			}
		}
		began := time.Now()
		if h.session(ctx, watched) && (h.once || time.Since(began) >= worked) {
			attempt = 0 // it worked; a server that only accepts and hangs up does not count
		}
		if ctx.Err() != nil {
			return
		}
		if attempt == 0 {
			h.log.Warn("the Solana WebSocket is down; polling goes on", "subscriptions", h.subscribe)
		}
		pause := time.NewTimer(h.backoff(attempt))
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case one := <-h.asked:
				watched.add(one)
			case <-pause.C:
				waiting = false
			}
		}
	}
}

// hint offers news. If the reader is behind, the hint is dropped: the reader polls anyway.
func (h *hints[T]) hint(about T) {
	select {
	case h.out <- about:
	default:
	}
}

// session holds one connection until it fails, has too many subscriptions, or ctx ends. It returns whether the server
// ever sent anything.
func (h *hints[T]) session(ctx context.Context, watched *watchList[T]) (received bool) {
	// Connect, with the time-out of a call.
	dialing, cancel := context.WithTimeout(ctx, h.timeout)
	defer cancel()
	conn, _, err := websocket.Dial(dialing, h.url, &websocket.DialOptions{HTTPClient: h.http})
	if err != nil {
		return false
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxNotice)

	// Read in a goroutine of its own, which ends before session returns.
	ctx, stop := context.WithCancel(ctx)
	notices, done := make(chan notice), make(chan struct{})
	go func() {
		defer close(done)
		defer stop() // a connection that cannot be read ends the session
		read(ctx, conn, notices)
	}()
	defer func() { stop(); <-done }()

	// Subscribe again to everything that is still watched.
	s := &subscriptions[T]{topic: h.topic, most: h.most, conn: conn, timeout: h.timeout, asked: map[uint64]T{}, live: map[uint64]T{}}
	for _, one := range watched.order {
		h.hint(one) // there may have been news while nobody listened
		if s.add(ctx, one) != nil {
			return received
		}
	}
	// Then serve watchers, the server, and the clock.
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return received
		case one := <-h.asked:
			// What gave way to others stays subscribed on the server: a new connection sheds it.
			if watched.add(one) && (s.full() || s.add(ctx, one) != nil) {
				return received
			}
		case n := <-notices:
			received = true
			if one, ok := s.take(n); ok && watched.known[one] {
				if h.once {
					watched.remove(one)
				}
				h.hint(one)
			}
		case <-ping.C:
			if s.ping(ctx) != nil {
				return received
			}
			received = true
		}
	}
}

// notice is any message of the server: the response to a subscription, or a notification.
type notice struct {
	ID     *uint64         `json:"id"`
	Result json.RawMessage `json:"result"`
	Method string          `json:"method"`
	Params *struct {
		Subscription *uint64 `json:"subscription"`
	} `json:"params"`
}

var errNotNotice = errors.New("not a JSON-RPC message")

// read passes messages on until the connection or ctx ends. It runs in a goroutine that session waits for.
func read(ctx context.Context, conn *websocket.Conn, notices chan<- notice) error {
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		var n notice
		if json.Unmarshal(raw, &n) != nil {
			return errNotNotice
		}
		select {
		case notices <- n:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// subscriptions are those of one connection. One goroutine, session's, uses them.
type subscriptions[T comparable] struct {
	topic[T]
	most    int // see hints
	conn    *websocket.Conn
	timeout time.Duration
	nextID  uint64
	asked   map[uint64]T // by request id
	live    map[uint64]T // by the server's subscription id
}

// full tells that a connection has so many subscriptions that a new one is better.
func (s *subscriptions[T]) full() bool { return len(s.asked)+len(s.live) >= 2*s.most }

// add sends a request to subscribe.
func (s *subscriptions[T]) add(ctx context.Context, one T) error {
	s.nextID++
	request, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      s.nextID,
		"method":  s.subscribe,
		"params":  s.params(one),
	})
	if err != nil {
		return err
	}
	s.asked[s.nextID] = one
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, request)
}

// ping waits for the server's pong.
func (s *subscriptions[T]) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.conn.Ping(ctx)
}

// take reads a message, and returns what a notification is about.
func (s *subscriptions[T]) take(n notice) (about T, ok bool) {
	var none T
	if n.ID != nil {
		var subscription uint64
		if one, ok := s.asked[*n.ID]; ok && json.Unmarshal(n.Result, &subscription) == nil {
			s.live[subscription] = one
		}
		delete(s.asked, *n.ID)
		return none, false
	}
	if n.Method != s.notice || n.Params == nil || n.Params.Subscription == nil {
		return none, false
	}
	about, ok = s.live[*n.Params.Subscription]
	if s.once {
		delete(s.live, *n.Params.Subscription)
	}
	return about, ok
}

// watchList remembers what to subscribe to again after a lost connection, oldest first.
type watchList[T comparable] struct {
	most  int
	order []T
	known map[T]bool
}

// add adds one, in place of the oldest if the list is full, and tells whether it is new.
func (w *watchList[T]) add(one T) bool {
	if w.known[one] {
		return false
	}
	if w.known == nil {
		w.known = make(map[T]bool)
	}
	if len(w.order) == w.most {
		w.remove(w.order[0])
	}
	w.order, w.known[one] = append(w.order, one), true
	return true
}

// remove removes one; if it is not there, it does nothing.
func (w *watchList[T]) remove(one T) {
	if !w.known[one] {
		return
	}
	delete(w.known, one)
	for i, other := range w.order {
		if other == one {
			w.order = append(w.order[:i], w.order[i+1:]...)
			return
		}
	}
}
