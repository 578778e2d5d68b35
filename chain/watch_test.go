package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"purser/wallet"
)

// running starts Run and waits for its end with the test; it reconnects without waiting.
func running(t *testing.T, c *Client) {
	t.Helper()
	c.hints.backoff = func(int) time.Duration { return time.Millisecond }
	c.accounts.backoff = c.hints.backoff
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// hinted waits for a hint about sig; hints about others are the test's failure.
func hinted(t *testing.T, c *Client, sig wallet.Signature) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case got := <-c.Hints():
		if got != sig {
			t.Fatalf("a hint about %s, want %s", got, sig)
		}
	case <-ctx.Done():
		t.Fatal("no hint came")
	}
}

func TestConfirmationIsHinted(t *testing.T) {
	w := newWorld(t)
	running(t, w.Client)
	alice := testKey(1)
	w.fund(alice.address(), 1_000_000_000)
	s := w.sign(alice, wallet.Transaction{To: testKey(2).address(), Amount: 5_000_000})
	w.broadcast(s)
	w.Watch(s.signature)
	w.advance(2)
	// The subscription is on its way; what has landed already is told with the block after it.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline, got := time.After(10*time.Second), false; !got; {
		select {
		case sig := <-w.Hints():
			got = true
			if sig != s.signature {
				t.Fatalf("a hint about %s, want %s", sig, s.signature)
			}
		case <-tick.C:
			w.advance(1)
		case <-deadline:
			t.Fatal("no hint came")
		}
	}
	if w.status(s.signature) == nil {
		t.Error("hinted before it could be seen")
	}
}

func TestHintsSurviveALostConnection(t *testing.T) {
	// The server accepts, hears the subscription, and hangs up; the second connection lasts.
	type heard struct {
		conn   *websocket.Conn
		id     uint64
		params []json.RawMessage
	}
	subscriptions := make(chan heard)
	url := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		for {
			_, raw, err := conn.Read(r.Context())
			if err != nil {
				return
			}
			var request struct {
				ID     uint64            `json:"id"`
				Method string            `json:"method"`
				Params []json.RawMessage `json:"params"`
			}
			if err := json.Unmarshal(raw, &request); err != nil || request.Method != "signatureSubscribe" {
				t.Errorf("unexpected message %s", raw)
				return
			}
			select {
			case subscriptions <- heard{conn, request.ID, request.Params}:
			case <-r.Context().Done():
				return
			}
		}
	}))
	c, err := New(Options{RPCURLs: []string{url}, WSURL: "ws" + strings.TrimPrefix(url, "http"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	running(t, c)

	sig := testKey(1).sign([]byte("one"))
	c.Watch(sig)
	first := <-subscriptions
	if string(first.params[0]) != `"`+sig.String()+`"` || !strings.Contains(string(first.params[1]), confirmed) {
		t.Errorf("subscribed with %s", first.params)
	}
	first.conn.CloseNow()

	hinted(t, c, sig) // there may have been news meanwhile
	second := <-subscriptions
	for _, message := range []string{
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":7}`, second.id),
		`{"jsonrpc":"2.0","id":999,"result":8}`,                                          // never asked
		`{"jsonrpc":"2.0","method":"signatureNotification","params":{"subscription":8}}`, // not ours
		`{"jsonrpc":"2.0","method":"signatureNotification","params":{}}`,                 // hollow
		`{"jsonrpc":"2.0","method":"signatureNotification"}`,                             // more so
		`null`, `{}`, `[]`[:0] + `{"id":null}`, // nothing
		`{"jsonrpc":"2.0","method":"slotNotification","params":{"subscription":7}}`,                    // another kind
		`{"jsonrpc":"2.0","method":"signatureNotification","params":{"subscription":7,"result":null}}`, // ours
	} {
		if err := second.conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	hinted(t, c, sig)
	// It is over: a third connection asks for nothing old.
	other := testKey(1).sign([]byte("other"))
	second.conn.CloseNow()
	c.Watch(other)
	if third := <-subscriptions; string(third.params[0]) != `"`+other.String()+`"` {
		t.Errorf("subscribed again with %s", third.params)
	}
}

func TestGarbageEndsTheConnectionOnly(t *testing.T) {
	connections := make(chan struct{}, 16)
	var connected atomic.Int32
	bodies := []string{`{"id":`, `[1]`, `{"id":"x"}`, `{"params":7}`, strings.Repeat(" ", maxNotice+1)}
	url := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		n := int(connected.Add(1)) - 1
		connections <- struct{}{}
		if n < len(bodies) {
			_ = conn.Write(r.Context(), websocket.MessageText, []byte(bodies[n])) // the client may be gone
		}
		_, _, err = conn.Read(r.Context()) // until the client hangs up
		if n < len(bodies) && err == nil {
			t.Errorf("%.20q did not end the connection", bodies[n])
		}
	}))
	c, err := New(Options{RPCURLs: []string{url}, WSURL: "ws" + strings.TrimPrefix(url, "http"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	running(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range len(bodies) + 1 {
		select {
		case <-connections:
		case <-ctx.Done():
			t.Fatal("no new connection after garbage")
		}
	}
}

func TestWebSocketThatIsDownCostsNothing(t *testing.T) {
	var log strings.Builder
	w := newWorld(t, func(o *Options) {
		o.WSURL = "ws://127.0.0.1:1" + secretPath
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	tried := make(chan int)
	w.hints.backoff = func(attempt int) time.Duration {
		select {
		case tried <- attempt:
		case <-t.Context().Done():
		}
		return time.Millisecond
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- w.Client.Run(ctx) }()
	for want := range 3 {
		if got := <-tried; got != want {
			t.Errorf("attempt %d, want %d", got, want)
		}
	}
	for i := range 5_000 { // far more than anything is buffered for
		w.Watch(testKey(byte(i)).sign([]byte{byte(i >> 8)}))
	}
	if _, err := w.Blockhash(t.Context()); err != nil {
		t.Error(err)
	}
	cancel()
	for stopped := false; !stopped; {
		select {
		case <-tried:
		case err := <-ended:
			stopped = true
			if err != nil {
				t.Error(err)
			}
		}
	}
	if text := log.String(); strings.Count(text, "WebSocket is down") != 1 || strings.Contains(text, "s3cr3t") {
		t.Errorf("log: %s", text)
	}
}

func TestWatchListForgetsTheOldest(t *testing.T) {
	w := watchList[wallet.Signature]{most: maxWatched}
	first := wallet.Signature{0: 255}
	if !w.add(first) || w.add(first) {
		t.Fatal("new once only")
	}
	for i := range maxWatched {
		w.add(wallet.Signature{0: byte(i), 1: byte(i >> 8), 2: 1})
	}
	if len(w.order) != maxWatched || len(w.known) != maxWatched || w.known[first] {
		t.Fatalf("%d in order, %d known", len(w.order), len(w.known))
	}
	w.remove(first) // gone already
	w.remove(w.order[3])
	if len(w.order) != maxWatched-1 || len(w.known) != maxWatched-1 {
		t.Fatalf("%d in order, %d known", len(w.order), len(w.known))
	}
}

func TestBackoffGrowsToHalfAMinute(t *testing.T) {
	for attempt, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
		16 * time.Second, 30 * time.Second, 30 * time.Second} {
		if got := doubling(attempt); got != want {
			t.Errorf("attempt %d: %s, want %s", attempt, got, want)
		}
	}
	if got := doubling(1 << 40); got != maxBackoff {
		t.Errorf("far out: %s", got)
	}
}
