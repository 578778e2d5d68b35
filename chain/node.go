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

	"purser/wallet"
)

// Bounds of one answer, in bytes. maxAnswer holds a page of a history, or one transaction with its logs, many times
// over. maxHoldings holds 30,000 token accounts. An attacker who wants to hide an address's balance behind more than
// that has to pay 45 SOL of rent.
const (
	maxAnswer   = 4 << 20
	maxHoldings = 16 << 20
)

// node is one RPC address. Its name stands for the URL in every text.
type node struct {
	name    string
	url     string // may contain an API key: it never leaves this file
	http    *http.Client
	timeout time.Duration
	budget  *budget // calls a second; nil: no bound
	lanes   lanes   // calls at the same time
	// settled is the finalized slot that came with the node's last FinalizedBlockHeight. An address often stands for
	// many machines. If one of them is behind the machine that gave the height, its "not found" proves nothing.
	settled atomic.Uint64
}

// newNode makes a node. Its HTTP client follows no redirects.
func newNode(name, url string, o Options, transport http.RoundTripper) *node {
	client := &http.Client{
		Transport: transport,
		// A redirect would carry the request, and perhaps a key, to somewhere nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &node{name: name, url: url, http: client, timeout: o.Timeout, budget: newBudget(o.PerSecond), lanes: newLanes()}
}

// lanes bound the calls in progress to one node. Each call holds its place until its answer is decoded. Calls about
// signed payments have places of their own, so that no crowd of readers delays a broadcast. Calls for lists and in the background take
// no place of other readers. Calls whose answers may have many megabytes have few places.
type lanes struct{ signed, reads, background, heavy chan struct{} }

// Places of each lane.
const (
	signedAtOnce     = 16
	readsAtOnce      = 16
	backgroundAtOnce = 8
	heavyAtOnce      = 4
)

func newLanes() lanes {
	return lanes{signed: make(chan struct{}, signedAtOnce), reads: make(chan struct{}, readsAtOnce),
		background: make(chan struct{}, backgroundAtOnce), heavy: make(chan struct{}, heavyAtOnce)}
}

// lane is where a call waits for a place.
func (n *node) lane(c class, method string) chan struct{} {
	switch {
	case c == signedPayment:
		return n.lanes.signed
	case method == holdingsMethod, method == programMethod:
		return n.lanes.heavy
	case c == forList, c == inBackground:
		return n.lanes.background
	}
	return n.lanes.reads
}

// call calls one method and decodes the result as T. It waits for its turn in the node's budget first, and then for a
// place: a caller that waits for the budget takes no place. Waiting, the answer and its decoding all end with ctx, or
// after the node's time-out. Every failure is a wallet.NetworkError. An *rpcError inside means that the node did
// answer.
func call[T any](ctx context.Context, n *node, method string, params ...any) (out T, err error) {
	ctx, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	if err := n.budget.take(ctx, classOf(ctx)); err != nil {
		return out, n.nodeError(method, err)
	}
	place := n.lane(classOf(ctx), method)
	select {
	case place <- struct{}{}:
		defer func() { <-place }()
	case <-ctx.Done():
		return out, n.nodeError(method, ctx.Err())
	}
	raw, err := n.request(ctx, method, params)
	if err != nil {
		return out, n.nodeError(method, err)
	}
	if err := decodeWithin(ctx, raw, &out); err != nil {
		var none T
		return none, n.nodeError(method, err)
	}
	return out, nil
}

// stepwise is a result that is decoded in parts, and stops between them when its ctx ends.
type stepwise interface {
	decodeWithin(ctx context.Context, raw json.RawMessage) error
}

// decodeWithin decodes raw into out unless ctx has ended. Decoding megabytes can take longer than fetching them.
func decodeWithin(ctx context.Context, raw json.RawMessage, out any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s, ok := out.(stepwise); ok {
		return s.decodeWithin(ctx, raw)
	}
	if json.Unmarshal(raw, out) != nil {
		return errGarbage
	}
	return nil
}

// envelope is a JSON-RPC 2.0 response. It has either a result or an error.
type envelope struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code int             `json:"code"`
		Data json.RawMessage `json:"data"`
	} `json:"error"`
}

// request makes one call and returns its undecoded result. HTTP errors are reported as such; only a plain JSON-RPC
// envelope is read further.
func (n *node) request(ctx context.Context, method string, params []any) (json.RawMessage, error) {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := n.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	most := int64(maxAnswer)
	if method == holdingsMethod || method == programMethod {
		most = maxHoldings
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(raw)) > most:
		return nil, errTooLarge
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500:
		return nil, httpStatus(response.StatusCode) // whatever the body says: try again later
	}
	return readEnvelope(ctx, response.StatusCode, raw)
}

// readEnvelope returns the result of a response, or its error.
func readEnvelope(ctx context.Context, status int, raw []byte) (json.RawMessage, error) {
	var answer envelope
	err := decodeWithin(ctx, raw, &answer)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case status != http.StatusOK && (err != nil || answer.Error == nil):
		return nil, httpStatus(status)
	case err != nil || (answer.Result == nil) == (answer.Error == nil):
		return nil, errGarbage
	case answer.Error != nil:
		return nil, &rpcError{code: answer.Error.Code, data: answer.Error.Data}
	}
	return answer.Result, nil
}

// Why a call failed. Only these causes leave this file, because errors of the libraries contain the URL.
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

// httpStatus is an HTTP response that is not JSON-RPC.
type httpStatus int

func (s httpStatus) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

// rpcError is a node's error response. Its text is the code alone: providers write addresses and keys into messages and
// data.
type rpcError struct {
	code int
	data json.RawMessage
}

func (e *rpcError) Error() string { return fmt.Sprintf("RPC error %d", e.code) }

// nodeError makes the wallet.NetworkError of a failed call: for the person a general reason, for the log the node's
// name, the method, and a cause in words of our own.
func (n *node) nodeError(method string, err error) error {
	return unreachable(fmt.Errorf("%s: %s: %w", n.name, method, cause(err)))
}

// unreachable is a wallet.NetworkError about err.
func unreachable(err error) error {
	return &wallet.Error{
		Code:   wallet.NetworkError,
		Reason: wallet.Because("network.unreachable"),
		Err:    err,
	}
}

// cause reduces err to something that may be logged and shown.
func cause(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, errGarbage, errTooLarge, errBehind, errTooMany, errUnreadable,
		wallet.ErrNodeBehind, wallet.ErrHistoryPruned, wallet.ErrHistoryUnknown, wallet.ErrNothingNew, wallet.ErrTransactionUnknown} {
		if errors.Is(err, known) {
			return known
		}
	}
	var (
		status   httpStatus
		answered *rpcError
		dns      *net.DNSError
		dial     *net.OpError
		cert     *tls.CertificateVerificationError
		record   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &status):
		return status
	case errors.As(err, &answered):
		return answered
	case errors.As(err, &dns):
		return errUnresolved
	case errors.As(err, &dial) && dial.Op == "dial":
		return errNoConnect
	case errors.As(err, &cert), errors.As(err, &record):
		return errTLS
	}
	return errBroke
}
