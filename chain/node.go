package chain

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go/rpc/jsonrpc"

	"purser/wallet"
)

// maxAnswer bounds what is read of one answer: a thousand signatures or one transaction with its logs
// fit many times over, and so do the 30,000 token accounts that somebody would have to pay 60 SOL for
// to hide an address's balance behind them.
const maxAnswer = 16 << 20

// node is one RPC address. Its name stands for the URL wherever words are made.
type node struct {
	name    string
	rpc     jsonrpc.RPCClient
	timeout time.Duration
	// settled is the finalized slot that came with its last FinalizedBlockHeight. An address often
	// stands for many machines: what one of them does not know says nothing when it lags behind
	// the one that told the height.
	settled atomic.Uint64
}

func newNode(name, url string, timeout time.Duration, transport http.RoundTripper) *node {
	client := &http.Client{
		Transport: guard{transport},
		// A redirect would carry the request, and perhaps a key, to somewhere nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	carrier := jsonrpc.NewClientWithOpts(url, &jsonrpc.RPCClientOpts{HTTPClient: client})
	return &node{name: name, rpc: carrier, timeout: timeout}
}

// call asks one method through solana-go's client and reads the result as T by encoding/json,
// which refuses what solana-go's own decoder lets pass (overflowing and fractional integers). Every
// failure is a wallet.NetworkError; an *rpcError inside tells that the node answered.
func call[T any](ctx context.Context, n *node, method string, params ...any) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	defer func() {
		if recover() != nil { // the library panics on some foreign answers
			err = n.trouble(method, errGarbage)
		}
	}()
	var raw json.RawMessage
	if err := n.rpc.CallForInto(ctx, &raw, method, params); err != nil {
		return out, n.trouble(method, err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		var none T
		return none, n.trouble(method, errGarbage)
	}
	return out, nil
}

// guard is the door for answers: it bounds them, takes HTTP failures for what they are, and hands
// on only a plain JSON-RPC envelope.
type guard struct{ next http.RoundTripper }

// envelope is a JSON-RPC 2.0 answer; of result and error one is there.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	} `json:"error,omitempty"`
}

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	response.Body.Close()
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxAnswer:
		return nil, errTooLarge
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500:
		return nil, httpStatus(response.StatusCode) // whatever the body says: try again later
	}
	var answer envelope
	err = json.Unmarshal(body, &answer)
	if response.StatusCode != http.StatusOK && (err != nil || answer.Error == nil) {
		return nil, httpStatus(response.StatusCode)
	}
	if err != nil || (answer.Result == nil) == (answer.Error == nil) {
		return nil, errGarbage
	}
	tame, err := json.Marshal(answer)
	if err != nil {
		return nil, errGarbage
	}
	response.Body = io.NopCloser(bytes.NewReader(tame))
	response.ContentLength = int64(len(tame))
	return response, nil
}

// Why a call came to nothing. These are the only causes that leave this file: the errors of the
// libraries hold the URL.
var (
	errGarbage    = errors.New("the answer makes no sense")
	errTooLarge   = errors.New("the answer is too large")
	errTooMany    = errors.New("more transactions mention the reference than can be looked into")
	errBehind     = errors.New("it lags behind its own earlier answer")
	errUnreadable = errors.New("the transaction is of a version that is not read here")
	errUnresolved = errors.New("its host name does not resolve")
	errNoConnect  = errors.New("cannot connect")
	errTLS        = errors.New("no trusted TLS connection")
	errBroke      = errors.New("the connection broke before the answer came")
)

// httpStatus is an HTTP answer that is not JSON-RPC.
type httpStatus int

func (s httpStatus) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

// rpcError is a node's error answer. Its text is the code alone: messages and data are foreign, and
// providers write addresses and keys into them.
type rpcError struct {
	code int
	data json.RawMessage
}

func (e *rpcError) Error() string { return fmt.Sprintf("RPC error %d", e.code) }

// trouble labels what went wrong for the person and, in words of our own, for the log.
func (n *node) trouble(method string, err error) error {
	return unreachable(fmt.Errorf("%s: %s: %w", n.name, method, cause(err)))
}

func unreachable(err error) error {
	return &wallet.Error{
		Code:   wallet.NetworkError,
		Detail: "Solana does not answer: try again in a minute",
		Err:    err,
	}
}

// cause reduces err to something that may be shown.
func cause(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, errGarbage, errTooLarge, errBehind, errTooMany, errUnreadable} {
		if errors.Is(err, known) {
			return known
		}
	}
	var (
		status   httpStatus
		answered *jsonrpc.RPCError
		dns      *net.DNSError
		dial     *net.OpError
		cert     *tls.CertificateVerificationError
		record   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &status):
		return status
	case errors.As(err, &answered):
		data, err := json.Marshal(answered.Data)
		if err != nil {
			data = nil
		}
		return &rpcError{code: answered.Code, data: data}
	case errors.As(err, &dns):
		return errUnresolved
	case errors.As(err, &dial) && dial.Op == "dial":
		return errNoConnect
	case errors.As(err, &cert), errors.As(err, &record):
		return errTLS
	}
	return errBroke
}
