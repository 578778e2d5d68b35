package solana

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestBadRequestsAreAnswered(t *testing.T) {
	s := serve(t, Options{})
	for body, want := range map[string]string{
		`{`:  `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`,
		`[]`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}`,
		`[{`: `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"getNothing"}`:               `{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"Method not found"}}`,
		`{"jsonrpc":"1.0","id":4,"method":"getSlot"}`:                    `{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"Invalid request"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"getBalance"}`:                 "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32602,\"message\":\"`params` should have at least 1 argument(s)\"}}",
		`{"jsonrpc":"2.0","id":4,"method":"getBalance","params":["oO"]}`: `{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Invalid param: Invalid"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"getBalance","params":["22"]}`: `{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"Invalid param: WrongSize"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"getHealth"}`:                  `{"jsonrpc":"2.0","id":4,"result":"ok"}`,
		`[{"jsonrpc":"2.0","id":1,"method":"getBlockHeight"},7]`:         `[{"jsonrpc":"2.0","id":1,"result":0},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid request"}}]`,
	} {
		if status, got := s.post(t, body); status != 200 || !sameJSON(got, []byte(want)) {
			t.Errorf("%s\nanswered %d %s\nwant %s", body, status, got, want)
		}
	}
	if status, _ := s.post(t, strings.Repeat(" ", maxBody+1)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body: %d", status)
	}
	s.refused(t, codeInvalidParams, "sendTransaction", "!!!", inBase64)
	s.refused(t, codeInvalidParams, "sendTransaction", "0OIl")
	s.refused(t, codeInvalidParams, "sendTransaction", base64.StdEncoding.EncodeToString(make([]byte, maxPacket+1)), inBase64)
	s.refused(t, codeInvalidParams, "sendTransaction", "AAAA", object{"encoding": "hex"})
	s.refused(t, codeInvalidParams, "getSlot", object{"commitment": "soon"})
	s.refused(t, codeInvalidParams, "requestAirdrop", addressOf("alice").String(), -4)
	s.refused(t, codeInternal, "requestAirdrop", addressOf("alice").String(), uint64(supply)*2)
}

func TestFaults(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", 10*sol)
	fault := func(f Fault) {
		s.SetFault(func(method string, _ json.RawMessage) Fault {
			if method == "sendTransaction" {
				return f
			}
			return Fault{}
		})
	}
	send := func(text string) (int, []byte) {
		body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "sendTransaction", "params": []any{text, blindly}})
		if err != nil {
			t.Fatal(err)
		}
		return s.post(t, string(body))
	}
	text, sig := s.transfer(t, "alice", "bob", sol)

	fault(Fault{Status: 429, RetryAfter: time.Second})
	if status, body := send(text); status != 429 || !strings.Contains(string(body), `"error":{"code":429,"message":"Too Many Requests"}`) {
		t.Errorf("%d %s", status, body)
	}
	fault(Fault{Swallow: true})
	if status, body := send(text); status != 200 || !strings.Contains(string(body), sig) {
		t.Errorf("%d %s", status, body)
	}
	s.advance(t, 10)
	if s.status(t, sig) != nil {
		t.Fatal("a swallowed transaction landed")
	}
	fault(Fault{Delay: 3})
	send(text)
	s.advance(t, 3)
	if s.status(t, sig) != nil {
		t.Fatal("landed too early")
	}
	s.advance(t, 1)
	if s.status(t, sig) == nil {
		t.Fatal("did not land after the delay")
	}

	text, sig = s.transfer(t, "alice", "bob", sol+1)
	fault(Fault{DropAnswer: true})
	if status, body := send(text); status != 0 {
		t.Errorf("%d %s", status, body)
	}
	s.advance(t, 1)
	if s.status(t, sig) == nil {
		t.Fatal("the call without an answer did nothing")
	}

	asked, done := make(chan struct{}), make(chan int)
	s.SetFault(func(string, json.RawMessage) Fault {
		close(asked)
		return Fault{Hang: true}
	})
	go func() {
		status, _ := send(text)
		done <- status
	}()
	<-asked
	if err := s.Close(); err != nil { // lets hanging requests go
		t.Fatal(err)
	}
	select {
	case status := <-done:
		if status != 0 {
			t.Errorf("status %d", status)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still hanging")
	}
}

// FuzzCall sends any bytes through the door of JSON-RPC and of the WebSocket: always an answer
// that is JSON with a result or an error, never a panic, never a lamport more or less.
func FuzzCall(f *testing.F) {
	for name := range methods {
		f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":["11111111111111111111111111111111",{"encoding":"base64"}]}`))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"getBlocks","params":[0,18446744073709551615]}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"accountSubscribe","params":["11111111111111111111111111111111",null]}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"simulateTransaction","params":["AQAB",{"accounts":{"addresses":[""]}}]}`))
	c, err := Open(Options{Now: newClock().now})
	if err != nil {
		f.Fatal(err)
	}
	if err := c.Advance(50); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		a, _ := c.call(body)
		if (a.Result == nil) == (a.Error == nil) {
			t.Fatalf("%s answered %+v", body, a)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Fatal(err)
		}
		client := &wsClient{subs: map[uint64]*subscription{}, out: make(chan []byte, 10), cut: func() {}}
		c.serveSubscription(client, body)
		if !json.Valid(<-client.out) {
			t.Fatal("the WebSocket's answer is no JSON")
		}
		if got := c.TotalLamports(); got != supply {
			t.Fatalf("%d lamports", got)
		}
	})
}

// TestALandedSignatureIsToldWithTheNextBlock: a notification that follows right behind the answer to
// the subscription is lost on clients that do not listen yet.
func TestALandedSignatureIsToldWithTheNextBlock(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", sol)
	s.advance(t, 3)
	sig := s.Landed()[0].Signature
	client := &wsClient{subs: map[uint64]*subscription{}, out: make(chan []byte, 10), cut: func() {}, gone: make(chan struct{})}
	if !s.join(client) {
		t.Fatal("closed")
	}
	s.serveSubscription(client, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"signatureSubscribe","params":[%q,{"commitment":"confirmed","enableReceivedNotification":true}]}`, sig))
	if got := string(<-client.out); !strings.Contains(got, `"result":`) {
		t.Fatal(got)
	}
	select {
	case early := <-client.out:
		t.Errorf("told before the next block: %s", early)
	default:
	}
	s.advance(t, 1)
	for _, want := range []string{"receivedSignature", `"err":null`} {
		if got := string(<-client.out); !strings.Contains(got, want) {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if len(client.subs) != 0 {
		t.Error("told, it goes on")
	}
	s.leave(client)
}
