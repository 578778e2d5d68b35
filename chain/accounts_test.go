package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"purser/wallet"
)

// nextHint waits for a hint about an account.
func nextHint(t *testing.T, c *Client) wallet.AccountHint {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	select {
	case got := <-c.AccountHints():
		return got
	case <-ctx.Done():
		t.Fatal("no hint came")
	}
	return wallet.AccountHint{}
}

// TestAChangeThatIsFinalIsHinted: at the sandbox's own socket, again and again, and not before it is final.
func TestAChangeThatIsFinalIsHinted(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Subscriptions = 10 })
	running(t, w.Client)
	h := wallet.AccountHint{Account: testKey(1).address(), Owner: testKey(2).address()}
	w.WatchAccount(h)
	for round := range 3 {
		tick := time.NewTicker(5 * time.Millisecond)
		for deadline, got := time.After(10*time.Second), false; !got; {
			select {
			case hint := <-w.AccountHints():
				if got = true; hint != h {
					t.Fatalf("a hint about %v", hint)
				}
			case <-tick.C: // the subscription may be on its way still
				w.fund(h.Account, 1_000_000_000)
				w.advance(1)
			case <-deadline:
				t.Fatalf("no hint came in round %d", round)
			}
		}
		tick.Stop()
		// The first hint comes with the subscription, since there may have been news.
		all, err := w.Sweep(t.Context(), []wallet.Address{h.Account}, 0)
		if err != nil || round > 0 && all[0].Lamports == 0 {
			t.Errorf("hinted before it is final: %+v, %v", all, err)
		}
	}
}

// accountSocket is a server that tells which accounts are subscribed to, and by which connection.
type accountSocket struct {
	conn   *websocket.Conn
	id     uint64
	method string
	params []json.RawMessage
}

func accountServer(t *testing.T) (string, <-chan accountSocket) {
	heard := make(chan accountSocket)
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
			if err := json.Unmarshal(raw, &request); err != nil {
				t.Errorf("unexpected message %s", raw)
				return
			}
			select {
			case heard <- accountSocket{conn, request.ID, request.Method, request.Params}:
			case <-r.Context().Done():
				return
			}
		}
	}))
	return url, heard
}

// TestAccountHintsSurviveWhateverTheServerSends: what is no notification of a watched account is no hint; after a lost connection
// all are subscribed to again, and hinted at once, since there may have been news.
func TestAccountHintsSurviveWhateverTheServerSends(t *testing.T) {
	url, heard := accountServer(t)
	c, err := New(Options{RPCURLs: []string{url}, WSURL: "ws" + strings.TrimPrefix(url, "http"), Subscriptions: 2, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	running(t, c)
	hint := func(n byte) wallet.AccountHint {
		return wallet.AccountHint{Account: testKey(n).address(), Owner: testKey(n + 100).address()}
	}
	one, two := hint(1), hint(2)
	c.WatchAccount(one)
	first := <-heard
	if first.method != "accountSubscribe" || string(first.params[0]) != `"`+one.Account.String()+`"` || !strings.Contains(string(first.params[1]), finalized) ||
		!strings.Contains(string(first.params[1]), `"length":0`) {
		t.Errorf("subscribed by %s with %s", first.method, first.params)
	}
	if got := nextHint(t, c); got != one { // there may have been news before the subscription
		t.Errorf("hinted is %v", got)
	}
	c.WatchAccount(two)
	second := <-heard
	say := func(conn *websocket.Conn, messages ...string) {
		t.Helper()
		for _, message := range messages {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(message)); err != nil {
				t.Fatal(err)
			}
		}
	}
	news := func(subscription int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"accountNotification","params":{"subscription":%d,"result":{"context":{"slot":1},"value":null}}}`, subscription)
	}
	say(first.conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":7}`, first.id), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"x"}`, second.id),
		`{"jsonrpc":"2.0","id":999,"result":8}`, news(8), `{"jsonrpc":"2.0","method":"accountNotification","params":{}}`, `null`,
		`{"jsonrpc":"2.0","method":"signatureNotification","params":{"subscription":7}}`, news(7), news(7))
	for range 2 { // the subscription goes on
		if got := nextHint(t, c); got != one {
			t.Errorf("hinted is %v", got)
		}
	}
	// A connection that breaks, here by a message that is too long, loses nothing.
	_ = first.conn.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat(" ", maxNotice+1))) // the client may be gone
	for _, want := range []wallet.AccountHint{one, two} {
		again := <-heard
		if string(again.params[0]) != `"`+want.Account.String()+`"` {
			t.Errorf("subscribed again with %s", again.params)
		}
		if got := nextHint(t, c); got != want {
			t.Errorf("hinted is %v", got)
		}
		first, second = second, again
	}
	// A third one takes the place of the first.
	say(second.conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":5}`, first.id), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":6}`, second.id))
	three := hint(3)
	c.WatchAccount(three)
	third := <-heard
	say(third.conn, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":9}`, third.id), news(5), news(9))
	if got := nextHint(t, c); got != three {
		t.Errorf("hinted is %v", got)
	}
	third.conn.CloseNow()
	for _, want := range []wallet.AccountHint{two, three} {
		if again := <-heard; string(again.params[0]) != `"`+want.Account.String()+`"` {
			t.Errorf("subscribed after the change with %s", again.params)
		}
		if got := nextHint(t, c); got != want {
			t.Errorf("hinted is %v", got)
		}
	}
}

// TestNoAccountMeansNoConnection: a node that watches nothing, and one that may not subscribe, open no socket.
func TestNoAccountMeansNoConnection(t *testing.T) {
	url, heard := accountServer(t)
	for _, most := range []int{0, 5} {
		c, err := New(Options{RPCURLs: []string{url}, WSURL: "ws" + strings.TrimPrefix(url, "http"), Subscriptions: most, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		tried := make(chan int, 100)
		c.accounts.backoff = func(attempt int) time.Duration { tried <- attempt; return time.Millisecond }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { c.accounts.run(ctx); close(ended) }()
		if most == 0 {
			for range 2 * hintsQueued { // nobody takes them, and nobody is held up
				c.WatchAccount(wallet.AccountHint{Account: testKey(1).address()})
			}
		}
		select {
		case s := <-heard:
			t.Errorf("with %d it subscribes by %s", most, s.method)
		case <-tried:
			t.Errorf("with %d it connects", most)
		case <-time.After(50 * time.Millisecond):
		}
		cancel()
		<-ended
		c.Close()
	}
}

// TestShortSessionsArePaused: a server that breaks each connection soon is tried less and less often, though it sends something.
func TestShortSessionsArePaused(t *testing.T) {
	url := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		if _, _, err := conn.Read(r.Context()); err != nil {
			return
		}
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"result":7}`)) // the client may be gone
		_ = conn.Write(r.Context(), websocket.MessageText, []byte(strings.Repeat(" ", maxNotice+1)))
	}))
	c, err := New(Options{RPCURLs: []string{url}, WSURL: "ws" + strings.TrimPrefix(url, "http"), Subscriptions: 5, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tried := make(chan int)
	c.accounts.backoff = func(attempt int) time.Duration {
		select {
		case tried <- attempt:
		case <-t.Context().Done():
		}
		return time.Millisecond
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { c.accounts.run(ctx); close(ended) }()
	c.WatchAccount(wallet.AccountHint{Account: testKey(1).address()})
	for want := range 4 {
		if got := <-tried; got != want {
			t.Errorf("attempt %d, want %d", got, want)
		}
	}
	cancel()
	for stopped := false; !stopped; {
		select {
		case <-tried:
		case <-ended:
			stopped = true
		}
	}
}
