package harness

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"

	"purser/sandbox"
)

// Moment is how far a call to the world has come.
type Moment int

// The moments at which a Gate tells of a call.
const (
	Asked    Moment = iota // purser has sent it; the world has not seen it
	Done                   // the world has carried it out; purser has received nothing
	Answered               // the answer is with purser's kernel, if not with purser
)

func (m Moment) String() string { return [...]string{"asked", "done", "answered"}[m] }

// Call is one call of purser to the world: a Bot API method, or a JSON-RPC one, with its body.
type Call struct {
	Moment Moment
	Method string
	Body   []byte
}

// Gate stands between purser and the world, and tells of every call three times. WebSockets go past it.
type Gate struct {
	telegram, rpc *httptest.Server
	client        *http.Client

	mu    sync.Mutex
	watch func(Call) (cut bool)
}

// NewGate opens a gate before a world. Make it before the Product that goes through it.
func NewGate(t testing.TB, w *sandbox.World) *Gate {
	t.Helper()
	g := &Gate{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	g.telegram = httptest.NewServer(g.to(w.TelegramURL(), func(r *http.Request, _ []byte) string { return path.Base(r.URL.Path) }))
	g.rpc = httptest.NewServer(g.to(w.RPCURL(), func(_ *http.Request, body []byte) string {
		var call struct{ Method string }
		_ = json.Unmarshal(body, &call) // what is no JSON-RPC has no method
		return call.Method
	}))
	t.Cleanup(func() {
		g.telegram.Close()
		g.rpc.Close()
		g.client.CloseIdleConnections()
	})
	return g
}

// Settings lead a Product through the gate.
func (g *Gate) Settings() []string {
	return []string{"PURSER_TELEGRAM_API_URL=" + g.telegram.URL, "PURSER_CHAIN_RPC_URL=" + g.rpc.URL}
}

// Watch lets f know of every call from now on, on the call's own goroutine: while f thinks, the
// call stands still. It may kill the Product. When it returns true, the connection breaks there.
func (g *Gate) Watch(f func(Call) (cut bool)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.watch = f
}

// tell ends the handler of a call that is to be cut.
func (g *Gate) tell(c Call) {
	g.mu.Lock()
	watch := g.watch
	g.mu.Unlock()
	if watch != nil && watch(c) {
		panic(http.ErrAbortHandler) // net/http's way to break a connection
	}
}

// to passes calls on to an origin.
func (g *Gate) to(origin string, method func(*http.Request, []byte) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		call := Call{Asked, method(r, body), body}
		g.tell(call)
		status, kind, answer, err := g.pass(origin, r, body)
		if err != nil {
			panic(http.ErrAbortHandler) // the world broke it
		}
		call.Moment = Done
		g.tell(call)
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, err = w.Write(answer)
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		call.Moment = Answered
		g.tell(call)
	})
}

func (g *Gate) pass(origin string, r *http.Request, body []byte) (status int, kind string, answer []byte, err error) {
	req, err := http.NewRequestWithContext(r.Context(), r.Method, origin+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	req.Header = r.Header.Clone()
	resp, err := g.client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Content-Type"), answer, err
}
