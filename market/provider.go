package market

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits of a call to a provider.
const (
	maxAnswer   = 512 << 10 // bytes, unpacked: some times the largest answer that was seen, and reading it as JSON takes some ten times more
	callTimeout = 5 * time.Second
)

// The breaker: after so many failures in a row a provider is left alone, first for a little, then longer.
const (
	failuresToOpen = 3
	shortestPause  = 10 * time.Second
	longestPause   = 5 * time.Minute
)

// defaultPause is how long a provider is left alone that refuses a call (429) without saying for how long.
const defaultPause = 30 * time.Second

// provider calls one HTTP API, within the number of calls that it allows. All calls with the same key share a provider, because
// providers count them together. Any number of goroutines may use it.
type provider struct {
	name   string
	base   string // address without a slash at its end
	header string // the header that carries key
	key    string // "": none is sent
	client *http.Client
	now    func() time.Time

	mu       sync.Mutex
	all      *rate.Limiter // every call
	common   *rate.Limiter // the share of all but ForTrade: the rest stays for swaps
	sampling *rate.Limiter // the share of ForSampling within common: the rest stays for people
	pausedTo time.Time     // until when the provider said, or its failures say, that no call is welcome
	failures int           // in a row
}

// Options say where a provider is and how it is asked.
type Options struct {
	URL       string // base address without a slash at its end; "": the provider's own
	Key       string // "": none
	PerMinute int    // calls that the plan allows; 0: what is known of the free plan
	Client    *http.Client
	Now       func() time.Time
}

// budget is how many calls a plan allows in a span of time.
type budget struct {
	calls int
	span  time.Duration
}

// maxAtOnce bounds how many calls may come at once.
const maxAtOnce = 15

// newProvider makes a provider. A fifth of its budget stays for swaps, however much else is asked, and at most three fifths are for sampling.
func newProvider(name, header string, o Options, b budget) *provider {
	client := *o.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("it redirects") } // a key would go along
	each, burst := float64(b.calls)/b.span.Seconds(), min(max(1, b.calls/2), maxAtOnce)
	return &provider{name: name, base: o.URL, header: header, key: o.Key, client: &client, now: o.Now,
		all: rate.NewLimiter(rate.Limit(each), burst), common: rate.NewLimiter(rate.Limit(each*4/5), max(1, burst*4/5)),
		sampling: rate.NewLimiter(rate.Limit(each*3/5), max(1, burst*3/5))}
}

// get calls a path and decodes its JSON into out. The error is an *UnavailableError.
func (p *provider) get(ctx context.Context, priority Priority, path string, query url.Values, out any) error {
	if err := p.admit(priority); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := p.call(ctx, path, query, out)
	return p.note(err)
}

// admit takes a call from the budget, or refuses it without waiting: the caller can do without.
func (p *provider) admit(priority Priority) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Before(p.pausedTo) {
		return &UnavailableError{Source: p.name, Until: p.pausedTo, Err: ErrOpen}
	}
	shares := []*rate.Limiter{p.all, p.common, p.sampling}[:3-min(1, int(ForSampling-priority))]
	if priority == ForTrade {
		shares = shares[:1]
	}
	for _, share := range shares { // all of them have one, or none is taken
		if share.TokensAt(now) < 1 {
			return &UnavailableError{Source: p.name, Err: ErrOverBudget}
		}
	}
	for _, share := range shares {
		share.AllowN(now, 1)
	}
	return nil
}

// note remembers how a call ended.
func (p *provider) note(err error) error {
	if errors.Is(err, context.Canceled) { // the caller left, which says nothing about the provider
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.failures = 0
		return nil
	}
	var refused *refusedError
	var status *statusError
	if errors.As(err, &status) && status.answers() {
		p.failures = 0
		return &UnavailableError{Source: p.name, Err: err}
	}
	if errors.As(err, &refused) {
		p.pausedTo = refused.until
	} else if p.failures++; p.failures >= failuresToOpen {
		pause := shortestPause << min(p.failures-failuresToOpen, 10)
		p.pausedTo = p.now().Add(min(pause, longestPause))
	}
	return &UnavailableError{Source: p.name, Until: p.pausedTo, Err: err}
}

// refusedError is a 429.
type refusedError struct{ until time.Time }

func (e *refusedError) Error() string { return "too many calls" }

// statusError is any other status than 200.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.status) }

// answers reports whether the status is about the request and not about the provider: there is nothing to say to it.
func (e *statusError) answers() bool {
	return e.status == http.StatusBadRequest || e.status == http.StatusNotFound || e.status == http.StatusUnprocessableEntity
}

// call makes one call.
func (p *provider) call(ctx context.Context, path string, query url.Values, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		return err
	}
	request.URL.RawQuery = query.Encode()
	request.Header.Set("Accept", "application/json")
	if p.key != "" {
		request.Header.Set(p.header, p.key)
	}
	response, err := p.client.Do(request)
	if err != nil {
		return withoutURL(err)
	}
	defer response.Body.Close() //nolint:errcheck // read as far as it is wanted
	now := p.now()
	switch status := response.StatusCode; {
	case status == http.StatusTooManyRequests:
		return &refusedError{pauseOf(response.Header, now)}
	case status != http.StatusOK:
		return &statusError{status}
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") {
		return fmt.Errorf("%w: it is not JSON", ErrMalformed)
	}
	// The transport unpacks gzip that it asked for. Anything else would be read as JSON, and fails.
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return withoutURL(err)
	case len(body) > maxAnswer:
		return fmt.Errorf("%w: more than %d bytes", ErrMalformed, maxAnswer)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	if response.Header.Get("X-Ratelimit-Remaining") == "0" { // nothing more is welcome before the reset
		p.pause(pauseOf(response.Header, now))
	}
	return nil
}

// pause leaves the provider alone for a while.
func (p *provider) pause(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pausedTo = until
}

// pauseOf reads until when a provider wants to be left alone: Retry-After in seconds (RFC 9110, 10.2.3), or x-ratelimit-reset in
// Unix seconds. What is missing or absurd is defaultPause, and nothing is longer than longestPause.
func pauseOf(header http.Header, now time.Time) time.Time {
	pause := defaultPause
	if seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 32); err == nil {
		pause = time.Duration(seconds) * time.Second
	} else if at, err := strconv.ParseInt(header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
		pause = time.Unix(at, 0).Sub(now)
	}
	if pause <= 0 {
		pause = time.Second
	}
	return now.Add(min(pause, longestPause))
}

// withoutURL strips the address from an error of net/http: it may hold a key, as that of a feed does.
func withoutURL(err error) error {
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}
