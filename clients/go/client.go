package purser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client calls one purser with one key. It is safe for concurrent use.
type Client struct {
	base *url.URL
	// key is a function, so that printing a Client, even by reflection, shows an address and no secret.
	key     func() string
	invalid error // why no call can be made

	http    *http.Client
	tries   int
	first   time.Duration // before the second try
	timeout time.Duration // of one try
	maxWait time.Duration // longest Retry-After that is waited for
}

// Defaults of a Client.
const (
	usualTries   = 4
	usualFirst   = 250 * time.Millisecond
	longestPause = 8 * time.Second // without a Retry-After
	usualTimeout = 30 * time.Second
	usualMaxWait = time.Minute
)

// Option changes how a Client works.
type Option func(*Client)

// WithHTTPClient sends requests through h, with its proxy and certificates. Redirects are not followed.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) {
		own := *h // a copy: the caller's client stays unchanged
		c.http = &own
	}
}

// WithTries sets how often a call is tried at most (default 4). 1 means no retries. first is the approximate pause
// before the second try (default 250 ms, also for 0). It doubles with each try, up to 8 s.
func WithTries(n int, first time.Duration) Option {
	return func(c *Client) {
		c.tries = max(1, n)
		if first > 0 {
			c.first = first
		}
	}
}

// WithTimeout sets the timeout of one try (default 30 s). A context ends the whole call. purser itself responds
// within 15 s.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = d } }

// WithMaxWait sets the longest Retry-After to wait for (default 1 minute). A longer one ends the call with its *Error,
// whose RetryAfter says when to try again.
func WithMaxWait(d time.Duration) Option { return func(c *Client) { c.maxWait = d } }

// New makes a client of the purser at baseURL ("https://wallet.example.org"; a path before /v1 is kept)
// for a key ("pur_live_…", "pur_test_…" or "pur_bot_…"). It makes no request. If an argument is wrong, the first call
// returns the error. Over http:// others can read the key: use it within one machine only.
func New(baseURL, key string, opts ...Option) *Client {
	c := &Client{key: func() string { return key }, http: &http.Client{}, tries: usualTries, first: usualFirst,
		timeout: usualTimeout, maxWait: usualMaxWait}
	for _, opt := range opts {
		opt(c)
	}
	// A redirect would send the key and the body to another address.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base, err := url.Parse(baseURL)
	switch {
	case err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" || base.RawQuery != "" || base.Fragment != "":
		c.invalid = errors.New("purser: the base URL must be such as https://wallet.example.org")
	case base.User != nil:
		c.invalid = errors.New("purser: the base URL must hold no user name or password")
	case key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		c.invalid = errors.New("purser: the key must be one word of printable ASCII, such as pur_live_…")
	default:
		base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), ""
		c.base = base
	}
	return c
}

// String returns the address of the purser, without the key.
func (c *Client) String() string {
	if c.base == nil {
		return "purser.Client(invalid)"
	}
	return "purser.Client(" + c.base.String() + ")"
}

// Secret is a string that prints as "[secret]", so that no log shows it. string(s) returns the string itself.
type Secret string

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `purser.Secret("` + s.String() + `")` }

type idempotencyKey struct{}

// WithIdempotencyKey sets the Idempotency-Key (1 to 128 printable ASCII characters) of the POST that is made with this
// context, instead of a random one. Use your own order number, and repeat the call whenever you do not know its result,
// even after a restart of your process. For 24 hours purser returns the first response again and does nothing twice. Use a
// key for one call only: another body is refused with IdempotencyConflict.
func WithIdempotencyKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// newIdempotencyKey returns the context's key, or a random UUID (version 4).
func newIdempotencyKey(ctx context.Context) string {
	if key, given := ctx.Value(idempotencyKey{}).(string); given {
		return key
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails: crypto/rand ends the process first
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
