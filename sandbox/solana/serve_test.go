package solana

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// manualClock is a clock that tests move.
type manualClock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *manualClock { return &manualClock{at: time.Unix(1_700_000_000, 0)} }

func (m *manualClock) now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

func (m *manualClock) add(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = m.at.Add(d)
}

// served is a cluster behind a real socket.
type served struct {
	*Cluster
	url string
}

func serve(t *testing.T, o Options) served {
	t.Helper()
	if o.Now == nil {
		o.Now = newClock().now
	}
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(c.Handler())
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return served{c, server.URL}
}

// post sends a body and returns status and answer; an empty answer with status 0 is a cut
// connection.
func (s served) post(t *testing.T, body string) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	return resp.StatusCode, raw
}

// reply is a decoded JSON-RPC answer.
type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func (s served) ask(t *testing.T, method string, args ...any) reply {
	t.Helper()
	if args == nil {
		args = []any{}
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		t.Fatal(err)
	}
	status, raw := s.post(t, string(body))
	var r reply
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatalf("%s answered %d %q: %v", method, status, raw, err)
	}
	return r
}

// must asks for something that has to work, and decodes it.
func (s served) must(t *testing.T, into any, method string, args ...any) {
	t.Helper()
	r := s.ask(t, method, args...)
	if r.Error != nil {
		t.Fatalf("%s: %d %s %s", method, r.Error.Code, r.Error.Message, r.Error.Data)
	}
	if err := json.Unmarshal(r.Result, into); err != nil {
		t.Fatalf("%s answered %s: %v", method, r.Result, err)
	}
}

// refused asks for something that has to fail with the code, and returns message and data.
func (s served) refused(t *testing.T, code int, method string, args ...any) (string, json.RawMessage) {
	t.Helper()
	r := s.ask(t, method, args...)
	if r.Error == nil {
		t.Fatalf("%s%v worked: %s", method, args, r.Result)
	}
	if r.Error.Code != code {
		t.Fatalf("%s%v: code %d (%s), not %d", method, args, r.Error.Code, r.Error.Message, code)
	}
	return r.Error.Message, r.Error.Data
}

func (s served) advance(t *testing.T, n int) {
	t.Helper()
	if err := s.Advance(n); err != nil {
		t.Fatal(err)
	}
}

// fund gives a person lamports, and lets that land.
func (s served) fund(t *testing.T, name string, lamports uint64) {
	t.Helper()
	if _, err := s.Airdrop(t.Context(), addressOf(name).String(), lamports); err != nil {
		t.Fatal(err)
	}
	s.advance(t, 1)
}

// blockhashAt asks for a blockhash as wallets do.
func (s served) blockhashAt(t *testing.T, commitment string) (hash, uint64) {
	t.Helper()
	var latest struct {
		Value struct {
			Blockhash            string
			LastValidBlockHeight uint64
		}
	}
	s.must(t, &latest, "getLatestBlockhash", object{"commitment": commitment})
	key, err := parseAddress(latest.Value.Blockhash)
	if err != nil {
		t.Fatal(err)
	}
	return hash(key), latest.Value.LastValidBlockHeight
}

// transfer is a signed transfer in base64 and its signature.
func (s served) transfer(t *testing.T, from, to string, lamports uint64) (string, string) {
	t.Helper()
	h, _ := s.blockhashAt(t, processed)
	wire := draft{payer: from, blockhash: h, calls: []call{transferTo(addressOf(from), addressOf(to), lamports)}}.bytes()
	return encode(wire)
}

func encode(wire []byte) (text, sig string) {
	return base64.StdEncoding.EncodeToString(wire), signature(wire[1:65]).String()
}

var (
	inBase64  = object{"encoding": "base64"}
	preflight = object{"encoding": "base64", "preflightCommitment": processed}
	blindly   = object{"encoding": "base64", "skipPreflight": true}
)

type status struct {
	Slot          uint64
	Confirmations *uint64
	Err           json.RawMessage
	Level         string `json:"confirmationStatus"`
}

func (s served) status(t *testing.T, sig string) *status {
	t.Helper()
	var list struct{ Value []*status }
	s.must(t, &list, "getSignatureStatuses", []string{sig}, object{"searchTransactionHistory": true})
	return list.Value[0]
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && x.String() == y.String()
}
