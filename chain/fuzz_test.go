package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// saying is a node's transport that answers every call with the same bytes.
type saying []byte

func (s saying) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(s))}, nil
}

// FuzzAnswers has a node answer every call of the client with any bytes: it ends in a value or in an error with a code and
// words of our own, never in a panic, and never in certainty out of nonsense.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"s3cr3t","data":{"err":{"InstructionError":[0,{"Custom":1}]}}}}`,
		`{"error":{"code":-32015,"message":"s3cr3t"}}`, `{"error":{"code":-32020}}`, result(`null`), result(`5`), result(`[]`), result(`{}`), result(`"s3cr3t"`),
		result(`{"context":{"slot":5},"value":[null]}`), result(`{"context":{"slot":5},"value":null}`), result(aBlockhash[1 : len(aBlockhash)-1]), result(aBlockhash),
		result(`{"context":{"slot":90},"value":[` + statusConfirmed + `]}`), result(`[{"signature":"` + wallet.Signature{1}.String() + `","memo":"s3cr3t"}]`),
		result(`{"slot":80,"transaction":["AQ==","base64"],"meta":{"fee":5000,"preBalances":[9],"postBalances":[1]}}`),
		result(`{"absoluteSlot":9,"blockHeight":8,"epoch":1}`), result(`[{"prioritizationFee":7}]`), result(`{"context":{"slot":9},"value":{"err":null,"unitsConsumed":450}}`),
		result(`{"context":{"slot":9},"value":[{"lamports":1,"owner":"11111111111111111111111111111111","executable":false,"space":2,"data":["AAA=","base64"]}]}`),
		result(`{"context":{"slot":9},"value":[` + parsedRow(testKey(1).address(), wallet.Address{1}, testKey(2).address(), wallet.TokenProgram, "5") + `]}`),
		result(`"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"`),
	} {
		f.Add([]byte(seed))
	}
	message, err := buildTransfer(wallet.Transaction{From: testKey(1).address(), To: testKey(2).address(), Reference: testKey(3).address(), Amount: 5})
	if err != nil {
		f.Fatal(err)
	}
	signature := testKey(1).sign(message)
	wire, err := Assemble(message, signature)
	if err != nil {
		f.Fatal(err)
	}
	s := sent{wire: wire, message: message, signature: signature, query: queryFor(signature,
		wallet.Transaction{Reference: testKey(3).address(), From: testKey(1).address(), To: testKey(2).address(), Token: wallet.SOL, Amount: 5})}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := &Client{nodes: []*node{newNode("rpc 1", "http://node", Options{Timeout: time.Minute}, saying(body)), newNode("rpc 2", "http://node", Options{Timeout: time.Minute}, saying(body))}, now: time.Now}
		everyCall(t, c, s, nil)
	})
}

// judged takes an error for what it may be.
func judged(t *testing.T, name string, err error) {
	t.Helper()
	var refused *wallet.PreflightError
	switch {
	case err == nil:
		return
	case errors.As(err, &refused):
		if refused.Failure == "" || refused.Reason.IsZero() {
			t.Errorf("%s: a refusal without a reason: %+v", name, refused)
		}
	case wallet.CodeOf(err) != wallet.NetworkError && wallet.CodeOf(err) != wallet.TokenNotFound && !errors.Is(err, wallet.ErrSomeUnread) && !errors.Is(err, ErrClustersDiffer):
		t.Errorf("%s: an error without a code: %v", name, err)
	}
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("%s: repeats what the node said: %v", name, err)
	}
}

// FuzzNotices reads any message of the WebSocket while two signatures are waited for: only the one that it is about is told.
func FuzzNotices(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":7}`, `{"jsonrpc":"2.0","method":"signatureNotification","params":{"subscription":5,"result":null}}`,
		`{"jsonrpc":"2.0","method":"signatureNotification","params":{"subscription":18446744073709551615}}`, `{"method":"signatureNotification"}`,
		`{"id":1,"method":"signatureNotification","params":{"subscription":5}}`, `{"id":null}`, `{"id":2,"result":"x"}`, `null`, `{"params":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var n notice
		if json.Unmarshal(raw, &n) != nil {
			return
		}
		waits, live := testKey(1).sign([]byte("waits")), testKey(1).sign([]byte("live"))
		s := &subscriptions[wallet.Signature]{topic: landings(), asked: map[uint64]wallet.Signature{1: waits}, live: map[uint64]wallet.Signature{5: live}}
		sig, hinted := s.take(n)
		if hinted != (sig == live) || hinted && (n.ID != nil || *n.Params.Subscription != 5) || sig == waits {
			t.Fatalf("%s hints %v, %s", raw, hinted, sig)
		}
		if len(s.asked)+len(s.live) > 2 {
			t.Fatalf("%s made a subscription", raw)
		}
		if again, ok := s.take(n); ok && again == sig {
			t.Fatalf("%s hints twice", raw)
		}
	})
}
