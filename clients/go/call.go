package purser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds a response body, in bytes: a page of 100 transactions has about 80 KiB.
const maxAnswer = 4 << 20

// answer is the `data` of a response. complete reports whether every field that a caller relies on is present, because
// encoding/json leaves missing fields zero and a payment without its id must not pass for one.
type answer interface{ complete() bool }

// call is one API request. It may take several tries.
type call struct {
	method, path string
	query        url.Values
	body         any // nil: none
}

// do makes a call and returns its data.
func do[T answer](ctx context.Context, c *Client, r call) (T, error) {
	var data T
	raw, err := c.roundTrips(ctx, r)
	if err != nil || raw == nil {
		return data, err
	}
	if err := json.Unmarshal(raw.data, &data); err != nil || !data.complete() {
		var zero T
		return zero, c.unreadable(raw.status, raw.requestID, "the answer is not of the form that this client knows")
	}
	return data, nil
}

// found is a successful response that was read.
type found struct {
	status    int
	requestID string
	data      []byte
}

// roundTrips tries a call until it gets a final response or runs out of tries. It returns nil and no error for a DELETE whose
// first response was lost and whose second try finds nothing: the first try deleted it.
func (c *Client) roundTrips(ctx context.Context, r call) (*found, error) {
	if c.invalid != nil {
		return nil, c.invalid
	}
	target := *c.base
	target.Path += r.path
	target.RawQuery = r.query.Encode()
	var body []byte
	var key string
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("purser: %s %s: %w", r.method, r.path, err)
		}
	}
	if r.method == http.MethodPost {
		key = newIdempotencyKey(ctx)
		if key == "" || len(key) > 128 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			return nil, errors.New("purser: an idempotency key has 1 to 128 printable ASCII characters")
		}
	}
	lost := false // it is unknown whether an earlier try took effect
	for try := 1; ; try++ {
		got, err := c.once(ctx, r.method, target.String(), body, key)
		if err == nil {
			return got, nil
		}
		var refused *Error
		answered := errors.As(err, &refused)
		if answered && lost && r.method == http.MethodDelete && (refused.Code == WalletNotFound || refused.Code == WebhookNotFound) {
			return nil, nil
		}
		lost = lost || !answered || refused.Status >= 500
		if !answered {
			err = fmt.Errorf("purser: %s %s: %w", r.method, r.path, err)
			if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) { // the connection's end may be noticed first
				err = fmt.Errorf("%w: %w", err, ended)
			}
		}
		if ctx.Err() != nil || try >= c.tries || answered && !passing(refused) {
			return nil, err
		}
		if !c.pause(ctx, try, refused) {
			return nil, err
		}
	}
}

// passing reports whether another try can succeed. A 409 with Retry-After means that the first try of the same request is
// still in progress.
func passing(e *Error) bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return e.RetryAfter > 0
	}
	return false
}

// pause waits before the next try. It returns false at once when the context would end before that.
func (c *Client) pause(ctx context.Context, try int, refused *Error) bool {
	wait := min(c.first<<min(try-1, 16), longestPause)
	wait = wait/2 + rand.N(wait/2+1) // so that many clients do not retry together
	if refused != nil && refused.RetryAfter > 0 {
		if refused.RetryAfter > c.maxWait {
			return false
		}
		wait = max(wait, refused.RetryAfter)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// once makes one try. Its error is an *Error when there was a response.
func (c *Client) once(ctx context.Context, method, target string, body []byte, key string) (*found, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "purser-go")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		// With this header net/http itself repeats a request when a kept connection was closed.
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var where *url.Error // repeats method and address around what went wrong
		if errors.As(err, &where) {
			err = where.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("the answer broke off: %w", err)
	}
	return c.read(resp, raw)
}

// read unpacks the envelope of a response.
func (c *Client) read(resp *http.Response, raw []byte) (*found, error) {
	id := c.printable(resp.Header.Get("X-Request-Id"))
	wait := retryAfter(resp.Header)
	failed := func(why string) error {
		e := c.unreadable(resp.StatusCode, id, why)
		e.RetryAfter = wait
		return e
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, failed("the answer is not JSON: something else than purser answers there")
	}
	if len(raw) > maxAnswer {
		return nil, failed("the answer is too large")
	}
	var envelope struct {
		Success *bool           `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   *struct {
			Code      Code            `json:"code"`
			Message   string          `json:"message"`
			Details   string          `json:"details"`
			Field     string          `json:"field"`
			Reason    string          `json:"reason"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || envelope.Success == nil {
		return nil, failed("the answer is not purser's")
	}
	good := resp.StatusCode >= 200 && resp.StatusCode < 300
	switch {
	case good && *envelope.Success && len(envelope.Data) > 0 && envelope.Data[0] == '{':
		return &found{resp.StatusCode, id, timed(envelope.Data)}, nil
	case !good && !*envelope.Success && envelope.Error != nil && envelope.Error.Code != "":
		e := envelope.Error
		return nil, &Error{Status: resp.StatusCode, Code: Code(c.printable(string(e.Code))), Message: c.printable(e.Message), Details: c.printable(e.Details),
			Field: c.printable(e.Field), Reason: c.printable(e.Reason), Arguments: c.arguments(e.Arguments), RequestID: id, RetryAfter: wait}
	}
	return nil, failed("the answer contradicts itself")
}

// unreadable is the error for a response that is not purser's JSON. It shows nothing of the body.
func (c *Client) unreadable(status int, id, why string) *Error {
	return &Error{Status: status, Message: why, RequestID: id}
}

// retryAfter reads Retry-After in whole seconds (RFC 9110). It returns 0 for a date, which purser does not send, and for
// anything else.
func retryAfter(h http.Header) time.Duration {
	const aDay = 24 * 60 * 60
	seconds, err := strconv.ParseUint(strings.TrimSpace(h.Get("Retry-After")), 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(min(seconds, aDay)) * time.Second
}

// timed removes times that are "" (not known yet), because encoding/json cannot read "" into a time.Time. Without the field,
// the time is zero.
func timed(data []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return data // it is no object: decoding it reports the error
	}
	dropEmptyTimes(tree)
	out, err := json.Marshal(tree)
	if err != nil {
		return data
	}
	return out
}

func dropEmptyTimes(node any) {
	switch node := node.(type) {
	case []any:
		for _, one := range node {
			dropEmptyTimes(one)
		}
	case map[string]any:
		for name, value := range node {
			if value == "" && isTime(name) {
				delete(node, name)
				continue
			}
			dropEmptyTimes(value)
		}
	}
}

// isTime reports whether a field of this name holds a time.
func isTime(name string) bool {
	switch name {
	case "last_triggered", "last_success", "failing_since", "previous_until", "next_since":
		return true
	}
	return strings.HasSuffix(name, "_at")
}

// segment escapes an id for a path. An id that could lead to another path is never sent.
func segment(name, id string) (string, error) {
	ok := id != "" && len(id) <= 128 && strings.Trim(id, ".") != ""
	for _, b := range []byte(id) {
		ok = ok && (b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '-' || b == '_' || b == '.')
	}
	if !ok {
		return "", fmt.Errorf("purser: %s: must be letters, digits, -, _ and dots", name)
	}
	return id, nil
}
