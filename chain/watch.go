package chain

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"purser/wallet"
)

const (
	maxWatched  = 1024             // signatures asked for at once; the oldest gives way
	hintsQueued = 256              // hints not yet taken; more are dropped
	pingEvery   = 30 * time.Second // so that a dead connection is noticed
	maxNotice   = 64 << 10         // bytes of one WebSocket message
	maxBackoff  = 30 * time.Second
)

// hints turns signatureSubscribe notifications into a channel of signatures. It speaks the protocol itself. solana-go's
// WebSocket client ends the process on a hostile notification (it dereferences a missing result in a goroutine of its
// own), reads messages of any size, and takes no dialer.
type hints struct {
	url     string
	timeout time.Duration
	http    *http.Client
	log     *slog.Logger
	backoff func(attempt int) time.Duration // pause before the attempt after so many failed ones

	asked chan wallet.Signature // signatures to watch
	out   chan wallet.Signature // signatures about which there may be news
}

// newHints makes hints for a ws or wss address; "" for none.
func newHints(url string, timeout time.Duration, transport http.RoundTripper, log *slog.Logger) *hints {
	return &hints{
		url: url, timeout: timeout, http: &http.Client{Transport: transport}, log: log, backoff: doubling,
		asked: make(chan wallet.Signature, hintsQueued),
		out:   make(chan wallet.Signature, hintsQueued),
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

// Run keeps the WebSocket connected until ctx ends, and then returns nil. Without a WebSocket landings are noticed
// later, by polling.
func (c *Client) Run(ctx context.Context) error {
	c.hints.run(ctx)
	return nil
}

// run holds one session after the other, with growing pauses while none works.
func (h *hints) run(ctx context.Context) {
	if h.url == "" {
		<-ctx.Done()
		return
	}
	watched := &watchList{}
	for attempt := 0; ; attempt++ {
		if h.session(ctx, watched) {
			attempt = 0 // it worked; a server that only accepts and hangs up does not count
		}
		if ctx.Err() != nil {
			return
		}
		if attempt == 0 {
			h.log.Warn("the Solana WebSocket is down; polling goes on")
		}
		pause := time.NewTimer(h.backoff(attempt))
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case sig := <-h.asked:
				watched.add(sig)
			case <-pause.C:
				waiting = false
			}
		}
	}
}

// hint offers a signature. If the reader is behind, the hint is dropped: the reader polls anyway.
func (h *hints) hint(sig wallet.Signature) {
	select {
	case h.out <- sig:
	default:
	}
}

// session holds one connection until it fails, has too many subscriptions, or ctx ends. It returns whether the server
// ever sent anything.
func (h *hints) session(ctx context.Context, watched *watchList) (received bool) {
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
	s := &subscriptions{conn: conn, timeout: h.timeout,
		asked: map[uint64]wallet.Signature{}, live: map[uint64]wallet.Signature{}}
	for _, sig := range watched.order {
		h.hint(sig) // there may have been news while nobody listened
		if s.subscribe(ctx, sig) != nil {
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
		case sig := <-h.asked:
			// What never lands stays subscribed on the server: a new connection sheds it.
			if watched.add(sig) && (s.full() || s.subscribe(ctx, sig) != nil) {
				return received
			}
		case n := <-notices:
			received = true
			if sig, ok := s.take(n); ok {
				watched.remove(sig)
				h.hint(sig)
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
type subscriptions struct {
	conn    *websocket.Conn
	timeout time.Duration
	nextID  uint64
	asked   map[uint64]wallet.Signature // by request id
	live    map[uint64]wallet.Signature // by the server's subscription id
}

// full tells that a connection has so many subscriptions that a new one is better.
func (s *subscriptions) full() bool { return len(s.asked)+len(s.live) >= 2*maxWatched }

// subscribe sends a signatureSubscribe request.
func (s *subscriptions) subscribe(ctx context.Context, sig wallet.Signature) error {
	s.nextID++
	request, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      s.nextID,
		"method":  "signatureSubscribe",
		"params":  []any{sig.String(), settings{"commitment": confirmed}},
	})
	if err != nil {
		return err
	}
	s.asked[s.nextID] = sig
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, request)
}

// ping waits for the server's pong.
func (s *subscriptions) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.conn.Ping(ctx)
}

// take reads a message, and returns the signature that a notification is about. The server has then ended that
// subscription.
func (s *subscriptions) take(n notice) (wallet.Signature, bool) {
	if n.ID != nil {
		var subscription uint64
		if sig, ok := s.asked[*n.ID]; ok && json.Unmarshal(n.Result, &subscription) == nil {
			s.live[subscription] = sig
		}
		delete(s.asked, *n.ID)
		return wallet.Signature{}, false
	}
	if n.Method != "signatureNotification" || n.Params == nil || n.Params.Subscription == nil {
		return wallet.Signature{}, false
	}
	sig, ok := s.live[*n.Params.Subscription]
	delete(s.live, *n.Params.Subscription)
	return sig, ok
}

// watchList remembers the signatures to subscribe to again after a lost connection, oldest first.
type watchList struct {
	order []wallet.Signature
	known map[wallet.Signature]bool
}

// add adds a signature, in place of the oldest one if the list is full, and tells whether it is new.
func (w *watchList) add(sig wallet.Signature) bool {
	if w.known[sig] {
		return false
	}
	if w.known == nil {
		w.known = make(map[wallet.Signature]bool)
	}
	if len(w.order) == maxWatched {
		w.remove(w.order[0])
	}
	w.order, w.known[sig] = append(w.order, sig), true
	return true
}

// remove removes a signature; without it, it does nothing.
func (w *watchList) remove(sig wallet.Signature) {
	if !w.known[sig] {
		return
	}
	delete(w.known, sig)
	for i, other := range w.order {
		if other == sig {
			w.order = append(w.order[:i], w.order[i+1:]...)
			return
		}
	}
}
