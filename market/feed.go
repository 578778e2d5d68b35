package market

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"purser/egress"
	"purser/store"
)

// Limits of reading a feed.
const (
	feedTimeout   = 20 * time.Second // for everything: names, connections, redirects and the body
	maxFeed       = 1 << 20          // bytes of a body, unpacked
	maxRedirects  = 3
	maxFeedHeader = 64 << 10 // bytes of the headers of an answer
	maxValidator  = 256      // bytes of an ETag or Last-Modified that is kept
)

// Why a feed was not read. A failure has one of these errors, a *statusError, or one of package egress: none of them contains an address or a
// text of a stranger, and the same failure has the same text each time.
var (
	errFeedSlow     = fmt.Errorf("it took longer than %v", feedTimeout)
	errFeedLarge    = fmt.Errorf("it has more than %d bytes", maxFeed)
	errFeedRedirect = fmt.Errorf("it redirects more than %d times, or not to https", maxRedirects)
	errFeedAnswer   = errors.New("no answer came, or it broke off")
	errFeedNoFeed   = errors.New("it is not an RSS, Atom or JSON feed that can be read")
	errFeedBounds   = errors.New("it is nested too deeply, or has too many elements")
	errFeedPanic    = errors.New("the parser failed on it")
	errFeedUnsaved  = errors.New("what is new in it could not be saved")
)

// NewFeedClient returns the HTTP client that reads feeds: only from public addresses and those of o.AllowPrivate, without a proxy, and with at
// most three redirects, to https alone. A redirect to another host may lead to public addresses only: the operator chose the feed,
// and not where its server points.
func NewFeedClient(o egress.Options) *http.Client {
	public := o
	public.AllowPrivate = nil
	return &http.Client{
		Transport: feedTransport{chosen: newFeedTransport(o), public: newFeedTransport(public)},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			if len(before) > maxRedirects || next.URL.Scheme != "https" || next.URL.User != nil {
				return errFeedRedirect
			}
			next.Header.Del("Referer") // the address of a feed can hold a key
			return nil
		},
	}
}

func newFeedTransport(o egress.Options) *http.Transport {
	dialer := egress.New(o)
	return &http.Transport{
		Proxy:                  nil, // a proxy would resolve names itself
		DialContext:            dialer.Plain,
		DialTLSContext:         dialer.Secure,
		DisableKeepAlives:      true, // the next read is a quarter of an hour away
		MaxResponseHeaderBytes: maxFeedHeader,
	}
}

// feedTransport asks the host that the operator chose, and hosts that it redirects to.
type feedTransport struct{ chosen, public *http.Transport }

// RoundTrip implements http.RoundTripper.
func (t feedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if by := r.Response; by != nil && by.Request.URL.Hostname() != r.URL.Hostname() { // the redirect that led here
		return t.public.RoundTrip(r)
	}
	return t.chosen.RoundTrip(r)
}

// feedAnswer is what a server said of a feed.
type feedAnswer struct {
	unchanged    bool // since the answer that the validators are of: it has no body
	body         []byte
	contentType  string
	etag         string
	lastModified string
	from         *url.URL // where it came from in the end
	feed         string   // the address of the feed
}

// fetchFeed asks for a feed, unless it is unchanged since the last time. The error is one of those above, or wraps one of egress.
func fetchFeed(ctx context.Context, client *http.Client, feed store.NewsFeed) (feedAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, feedTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, feed.URL, nil)
	if err != nil {
		return feedAnswer{}, errFeedAnswer
	}
	request.Header.Set("User-Agent", "purser-news/1")
	request.Header.Set("Accept", "application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1")
	if feed.ETag != "" {
		request.Header.Set("If-None-Match", feed.ETag)
	}
	if feed.LastModified != "" {
		request.Header.Set("If-Modified-Since", feed.LastModified)
	}
	response, err := client.Do(request)
	if err != nil {
		return feedAnswer{}, plainFeedError(ctx, err)
	}
	defer response.Body.Close() //nolint:errcheck // read as far as it is wanted
	answer := feedAnswer{feed: feed.URL, from: response.Request.URL, contentType: response.Header.Get("Content-Type"),
		etag: validator(response.Header.Get("ETag")), lastModified: validator(response.Header.Get("Last-Modified"))}
	switch {
	case response.StatusCode == http.StatusNotModified && (feed.ETag != "" || feed.LastModified != ""):
		answer.unchanged = true
		return answer, nil
	case response.StatusCode != http.StatusOK:
		return feedAnswer{}, &statusError{response.StatusCode}
	}
	// The transport unpacks gzip that it asked for. The bound is of what comes out.
	answer.body, err = io.ReadAll(io.LimitReader(response.Body, maxFeed+1))
	switch {
	case err != nil:
		return feedAnswer{}, plainFeedError(ctx, err)
	case len(answer.body) > maxFeed:
		return feedAnswer{}, errFeedLarge
	}
	return answer, nil
}

// validator returns an ETag or a Last-Modified that can be sent back; "" for any other.
func validator(text string) string {
	if len(text) > maxValidator || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return text
}

// plainFeedError returns which of the known errors an error of net/http stands for. Errors of the network name addresses and ports, and
// are other texts each time.
func plainFeedError(ctx context.Context, err error) error {
	for _, known := range []error{errFeedRedirect, egress.ErrPrivate, egress.ErrPlainHTTP, egress.ErrNoAddress, egress.ErrLookup} {
		if errors.Is(err, known) {
			return known
		}
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errFeedSlow
	case errors.Is(err, egress.ErrTLS):
		return egress.ErrTLS
	}
	return errFeedAnswer
}

// feedReason is the text of a failure in the log.
func feedReason(err error) string { return err.Error() }
