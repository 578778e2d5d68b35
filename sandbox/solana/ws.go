package solana

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Limits of one WebSocket client, so that no client can use up the memory of the cluster.
const (
	wsQueue   = 1024 // messages; a client with more of them unsent is disconnected
	wsWrite   = 10 * time.Second
	wsMaxSubs = 1000 // of one client
	wsMaxRead = 64 << 10
)

// hub is the set of WebSocket clients. The cluster's mu guards it.
type hub struct {
	clients map[*wsClient]bool
	lastID  uint64
}

// idle says that nobody is connected, so that blocks need not be made one by one.
func (h *hub) idle() bool { return len(h.clients) == 0 }

// announce notifies every subscriber after a new block. Callers hold the cluster's mu.
func (h *hub) announce(c *Cluster) {
	for client := range h.clients {
		for _, s := range client.subs {
			c.notify(client, s)
		}
	}
}

// wsClient is one connection. Its handler reads requests, its writer goroutine sends what out holds. The cluster's mu
// guards subs.
type wsClient struct {
	subs map[uint64]*subscription
	out  chan []byte
	cut  context.CancelFunc
	gone chan struct{} // closed when the handler has ended
}

// send queues a message without blocking. A client with a full queue is disconnected, as validators do, so that a
// slow client cannot hold up the cluster.
func (w *wsClient) send(message any) {
	raw, err := json.Marshal(message)
	if err != nil {
		w.cut()
		return
	}
	select {
	case w.out <- raw:
	default:
		w.cut()
	}
}

func isUpgrade(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket")
}

// WebSocketHandler serves WebSockets only, for the port where clients expect them (one above the JSON-RPC port).
func (c *Cluster) WebSocketHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isUpgrade(r) {
			http.Error(w, "Expected a WebSocket upgrade", http.StatusUpgradeRequired)
			return
		}
		c.serveWebSocket(w, r)
	})
}

// serveWebSocket serves one client until it leaves, falls too far behind, or the cluster closes. The writer has ended
// when it returns.
func (c *Cluster) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	ctx, cut := context.WithCancel(r.Context())
	defer cut()
	client := &wsClient{subs: map[uint64]*subscription{}, out: make(chan []byte, wsQueue), cut: cut, gone: make(chan struct{})}
	// A client is registered before the handshake, so that Close waits for it too.
	if !c.join(client) {
		http.Error(w, "The cluster is closed", http.StatusServiceUnavailable)
		return
	}
	defer c.leave(client)

	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // any origin, as validators allow
	if err != nil {
		return // Accept has sent an error response
	}
	defer conn.CloseNow()
	conn.SetReadLimit(wsMaxRead)

	// Only this goroutine writes to the connection; the handler's own answers pass through out as well.
	var writer sync.WaitGroup
	writer.Go(func() {
		defer cut()
		for {
			select {
			case <-ctx.Done():
				return
			case raw := <-client.out:
				deadline, done := context.WithTimeout(ctx, wsWrite)
				err := conn.Write(deadline, websocket.MessageText, raw)
				done()
				if err != nil {
					return
				}
			}
		}
	})
	// The writer ends before CloseNow, so it never writes to a closed connection.
	defer writer.Wait()
	defer cut()
	for {
		kind, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if kind == websocket.MessageText {
			c.serveSubscription(client, raw)
		}
	}
}

// join registers a client. It returns false after Close, so that no client is missed there.
func (c *Cluster) join(client *wsClient) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.catchUp()
	if c.hub.clients == nil {
		c.hub.clients = map[*wsClient]bool{}
	}
	c.hub.clients[client] = true
	return true
}

// leave removes a client; DropWebSockets waits for this.
func (c *Cluster) leave(client *wsClient) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.hub.clients, client)
	close(client.gone)
}

// DropWebSockets disconnects every client without a closing handshake, as a network failure does. It returns when all
// their handlers have ended.
func (c *Cluster) DropWebSockets() {
	c.mu.Lock()
	var cut []*wsClient
	for client := range c.hub.clients {
		client.cut()
		cut = append(cut, client)
	}
	c.mu.Unlock()
	for _, client := range cut {
		<-client.gone
	}
}

// serveSubscription answers one request of a client. Its answer is queued before any notification of the new
// subscription.
func (c *Cluster) serveSubscription(client *wsClient, raw []byte) {
	req, bad := parseRequest(raw)
	var p params
	if bad == nil {
		p, bad = parseParams(req.Params)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.catchUp()
	if bad != nil {
		client.send(answer(req.ID, nil, bad))
		return
	}
	if strings.HasSuffix(req.Method, "Unsubscribe") {
		client.send(answer(req.ID, true, client.unsubscribe(req.Method, p)))
		return
	}
	s, bad := c.subscribe(req.Method, p)
	if bad == nil && len(client.subs) >= wsMaxSubs {
		bad = &rpcError{Code: codeInternal, Message: "Internal Error: Subscription refused. Node subscription limit reached"}
	}
	if bad != nil {
		client.send(answer(req.ID, nil, bad))
		return
	}
	c.hub.lastID++
	s.id = c.hub.lastID
	client.subs[s.id] = s
	// A state that is reached already is notified with the next block, as validators do: clients start to listen for
	// notifications only after they have read this answer.
	client.send(answer(req.ID, s.id, nil))
}
