package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"purser/egress"
	"purser/wallet"
)

// Bounds of an attempt.
const (
	AttemptTimeout = 30 * time.Second // docs/specification.md, Limits

	// Sizes in bytes.
	keptAnswer    = 1 << 10          // kept of an answer's body, for the log
	readAnswer    = 64 << 10         // read of it, so that the connection can be used again
	answerTimeout = 5 * time.Second  // for the body; the status, which decides, is there before it
	headerBytes   = 32 << 10         // of an answer's headers
	longestWait   = 60 * time.Second // that a receiver can ask for by Retry-After
)

// Options say what a Poster may connect to. Only Now is required.
type Options struct {
	AllowPrivate []netip.Prefix // private addresses that deliveries may reach all the same
	AllowHTTP    bool           // http without TLS, to addresses of AllowPrivate only
	Timeout      time.Duration  // of a whole attempt; 0: AttemptTimeout
	Now          func() time.Time

	Resolver egress.Resolver // nil: net.DefaultResolver
	Dial     egress.DialFunc // nil: the network, with a second check of each address
	Roots    *x509.CertPool  // nil: the system's certificate authorities
}

// Poster makes attempts over HTTP/1.1: one POST, one answer, no redirects and no proxy. It keeps connections open between
// attempts. It is safe for use by several goroutines. Close it when no attempt runs any more.
type Poster struct {
	transport *http.Transport
	dialer    *egress.Dialer
	allowHTTP bool
	timeout   time.Duration
	now       func() time.Time
}

// NewPoster returns a Poster. It connects to nothing. The error is a missing option.
func NewPoster(o Options) (*Poster, error) {
	if o.Now == nil {
		return nil, errors.New("webhooks: Now is needed")
	}
	if o.Timeout == 0 {
		o.Timeout = AttemptTimeout
	}
	d := egress.New(egress.Options{AllowPrivate: o.AllowPrivate, Resolver: o.Resolver, Dial: o.Dial, Roots: o.Roots})
	return &Poster{
		transport: &http.Transport{
			Proxy:                  nil, // a proxy would resolve names itself
			DialContext:            d.Plain,
			DialTLSContext:         d.Secure,
			DisableCompression:     true, // a small answer stays small
			MaxResponseHeaderBytes: headerBytes,
			MaxIdleConns:           maxInFlight,
			MaxIdleConnsPerHost:    256, // many webhooks lead to the same few services
			IdleConnTimeout:        30 * time.Second,
			ExpectContinueTimeout:  time.Second,
		},
		dialer: d, allowHTTP: o.AllowHTTP, timeout: o.Timeout, now: o.Now,
	}, nil
}

// Close ends the idle connections.
func (p *Poster) Close() { p.transport.CloseIdleConnections() }

// Result is the outcome of an attempt. Verdict says what follows from it.
type Result struct {
	Status     int           // 0 without an answer
	Latency    time.Duration // until the status arrived, or it was clear that none would
	RetryAfter time.Duration // how long the receiver asks to wait; at most longestWait
	Answer     []byte        // the first KiB of the body, as it came
	Reason     wallet.Reason // why it was not delivered, for a developer; the zero value if it was

	Forbidden   bool // nothing was sent: deliveries may not go to this address
	Interrupted bool // purser stopped before an answer came; the receiver may have the event
}

// Verdict is what follows from a result.
type Verdict string

// The verdicts.
const (
	Delivered   Verdict = "delivered"   // 2xx
	Retry       Verdict = "retry"       // 5xx, 408, 425, 429, and no answer
	Gone        Verdict = "gone"        // 410: the receiver wants no more
	Refused     Verdict = "refused"     // any other answer, or a forbidden address: no retry helps
	Interrupted Verdict = "interrupted" // not counted as an attempt: the receiver is not to blame
)

// Verdict returns what follows from the result. Only the status counts, never the body.
func (r Result) Verdict() Verdict {
	switch {
	case r.Interrupted:
		return Interrupted
	case r.Forbidden:
		return Refused
	case r.Status >= 200 && r.Status <= 299:
		return Delivered
	case r.Status == http.StatusGone:
		return Gone
	case r.Status == 0 || r.Status >= 500 || r.Status == http.StatusRequestTimeout ||
		r.Status == http.StatusTooEarly || r.Status == http.StatusTooManyRequests:
		return Retry
	}
	return Refused
}

// Post makes one attempt. It ends within Options.Timeout, whatever the receiver does, and sends nothing to an address that
// deliveries may not reach. If ctx ends first, the result is Interrupted: the receiver may have got the event.
func (p *Poster) Post(ctx context.Context, m Message) Result {
	begun := p.now()
	whole, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	var way way
	// A malformed address is Forbidden: nothing is sent.
	request, err := p.request(httptrace.WithClientTrace(whole, way.trace()), m, begun)
	if err != nil {
		return Result{Reason: wallet.ReasonOf(err), Forbidden: true}
	}
	// Not http.Client: it would follow redirects.
	response, err := p.transport.RoundTrip(request)
	result := Result{Latency: p.now().Sub(begun)}
	if err != nil {
		result.Interrupted = ctx.Err() != nil
		result.Forbidden = errors.Is(err, egress.ErrPrivate) || errors.Is(err, egress.ErrPlainHTTP)
		result.Reason = p.why(whole, err, &way, request.URL.Hostname())
		return result
	}
	// The status decides. The body is only for the log.
	result.Status = response.StatusCode
	result.RetryAfter = retryAfter(response.Header.Get("Retry-After"), p.now())
	result.Answer = answer(response, cancel)
	if result.Verdict() != Delivered {
		result.Reason = statusReason(response.StatusCode)
	}
	return result
}

// request builds the HTTP request of an attempt. Its errors are INVALID_WEBHOOK_URL. The address was checked when the
// webhook was registered, but the rules may have changed since.
func (p *Poster) request(ctx context.Context, m Message, now time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL, bytes.NewReader(m.Body))
	if err != nil {
		return nil, errNoURL
	}
	if err := p.written(request.URL); err != nil {
		return nil, err
	}
	request.Header = m.Headers(now)
	return request, nil
}

// errNoURL refuses a text that is not an address.
var errNoURL = wallet.Refuse(wallet.InvalidWebhookURL, "webhook_url.malformed")

// written checks the text of an address without a lookup: scheme, host, port, and that it has no credentials.
func (p *Poster) written(u *url.URL) error {
	switch {
	case u.Hostname() == "" || u.Opaque != "":
		return errNoURL
	case u.Scheme != "https" && (u.Scheme != "http" || !p.allowHTTP):
		return wallet.Refuse(wallet.InvalidWebhookURL, "webhook_url.not_https")
	case u.User != nil:
		return wallet.Refuse(wallet.InvalidWebhookURL, "webhook_url.credentials")
	}
	if number, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || number == 0) {
		return wallet.Refuse(wallet.InvalidWebhookURL, "webhook_url.port")
	}
	return nil
}

// checkTimeout is how long Check may look up a name: a request of the API waits for it.
const checkTimeout = 3 * time.Second

// Check judges an address exactly as an attempt does, and connects to nothing. What it refuses, every attempt refuses
// as long as the name leads to the same addresses. Its errors are INVALID_WEBHOOK_URL. A name that cannot be looked
// up at the moment passes, and the attempts decide.
func (p *Poster) Check(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return errNoURL
	}
	if err := p.written(u); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := p.dialer.Check(ctx, u.Scheme, u.Hostname()); err != nil && !errors.Is(err, egress.ErrLookup) {
		return plainest(err)
	}
	return nil
}

// answer reads the first bytes of a body. It reads on to the end of a short body, so that the connection can be used
// again. If the body is long or slow, the connection is closed.
func answer(response *http.Response, cancel context.CancelFunc) []byte {
	defer response.Body.Close() // on an unread body it closes the connection
	if response.StatusCode == http.StatusSwitchingProtocols || response.ContentLength == 0 {
		return nil // the body of the first is the bare connection, which no deadline ends
	}
	defer time.AfterFunc(answerTimeout, cancel).Stop()
	kept, err := io.ReadAll(io.LimitReader(response.Body, keptAnswer))
	if err == nil {
		_, _ = io.CopyN(io.Discard, response.Body, readAnswer-keptAnswer)
	}
	return kept
}

// statusReason explains a status that is not 2xx.
func statusReason(status int) wallet.Reason {
	switch {
	case status >= 300 && status <= 399:
		return wallet.Because("attempt.redirect", wallet.NumberArg("Status", status))
	case status == http.StatusGone:
		return wallet.Because("attempt.gone")
	}
	return wallet.Because("attempt.status", wallet.NumberArg("Status", status))
}

// way is how far an attempt came: whether it had a connection, and whether a first byte came back. Its fields are
// atomic because the transport may still write to them when the attempt is over.
type way struct{ connected, answered atomic.Bool }

// trace returns the hooks by which the transport sets w.
func (w *way) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { w.connected.Store(true) },
		GotFirstResponseByte: func() { w.answered.Store(true) },
	}
}

// why returns, for a developer to read, why there was no answer. whole is the context of the attempt with its timeout. The
// reasons are our own sentences: errors of libraries contain addresses of the operator's network. The cases are ordered from
// the most exact to the most general.
func (p *Poster) why(whole context.Context, err error, w *way, host string) wallet.Reason {
	var (
		network     net.Error
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
	)
	switch {
	// The attempt was ended, by purser or by its timeout.
	case errors.Is(whole.Err(), context.Canceled):
		return wallet.Because("attempt.stopped")
	case errors.Is(whole.Err(), context.DeadlineExceeded):
		return wallet.Because("attempt.no_answer", wallet.DurationArg("Within", p.timeout))
	// Nothing was dialed.
	case errors.Is(err, egress.ErrPrivate), errors.Is(err, egress.ErrPlainHTTP), errors.Is(err, egress.ErrNoAddress), errors.Is(err, egress.ErrLookup):
		return wallet.ReasonOf(plainest(err))
	// The receiver's TLS.
	case errors.As(err, &certificate):
		return certificateReason(certificate.Err, host)
	case errors.As(err, &record):
		return wallet.Because("attempt.no_tls")
	// No connection.
	case errors.Is(err, syscall.ECONNREFUSED):
		return wallet.Because("attempt.refused")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return wallet.Because("attempt.unreachable")
	// This machine's limit, not the receiver's fault.
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return wallet.Because("attempt.too_many_open")
	case !w.connected.Load() && (errors.As(err, &network) && network.Timeout() || errors.Is(err, context.DeadlineExceeded)):
		return wallet.Because("attempt.connect_timeout")
	case errors.Is(err, egress.ErrTLS):
		return wallet.Because("attempt.other_tls")
	case !w.connected.Load():
		return wallet.Because("attempt.no_connection")
	// There was a connection: the answer was not HTTP, or none came.
	case w.answered.Load():
		return wallet.Because("attempt.not_http")
	}
	return wallet.Because("attempt.closed")
}

// Why no connection was made, for a developer to read. See the errors of egress.
var (
	errForbidden = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.private")
	errPlainHTTP = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.plain_http")
	errNoAddress = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.no_address")
	errLookup    = wallet.Refuse(wallet.InvalidWebhookURL, "attempt.lookup")
)

// plainest returns the one of our own errors that stands for err, so that nothing else of it is shown; errLookup if there is none.
func plainest(err error) error {
	switch {
	case errors.Is(err, egress.ErrPrivate):
		return errForbidden
	case errors.Is(err, egress.ErrPlainHTTP):
		return errPlainHTTP
	case errors.Is(err, egress.ErrNoAddress):
		return errNoAddress
	}
	return errLookup
}

// certificateReason explains a certificate that was not accepted, by its most common causes.
func certificateReason(err error, host string) wallet.Reason {
	var (
		name    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &name):
		return wallet.Because("attempt.certificate_host", wallet.TextArg("Host", host))
	case errors.As(err, &unknown):
		return wallet.Because("attempt.certificate_authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return wallet.Because("attempt.certificate_expired")
	}
	return wallet.Because("attempt.certificate")
}

// retryAfter reads the header Retry-After (RFC 9110, section 10.2.3): seconds or a date. It returns 0 for anything
// else.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil || seconds > uint64(longestWait/time.Second) { // too many digits is too long
			return longestWait
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestWait)
}
