package market

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"purser/egress"
	"purser/store"
)

// fetchOne asks for one feed.
func fetchOne(t testing.TB, o egress.Options, address string) (feedAnswer, error) {
	t.Helper()
	return fetchFeed(t.Context(), NewFeedClient(o), store.NewsFeed{URL: address})
}

// TestFeedsAreBounded: bodies that are too large, packed or not, and headers that are too long.
func TestFeedsAreBounded(t *testing.T) {
	server := newFeedServer(t)
	packed := func(size int) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(bytes.Repeat([]byte(" "), size)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	gzipped := func(body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" || !r.Close {
				t.Errorf("accepts %q, closes: %v", r.Header.Get("Accept-Encoding"), r.Close)
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(body) //nolint:errcheck // the client may leave
		}
	}
	for name, c := range map[string]struct {
		page http.HandlerFunc
		want error
	}{
		"exactly as much": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", maxFeed)) }, nil},
		"one byte more":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", maxFeed+1)) }, errFeedLarge},
		"endless": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}, errFeedLarge},
		"packed":             {gzipped(packed(maxFeed)), nil},
		"a bomb":             {gzipped(packed(200 << 20)), errFeedLarge},
		"not packed as said": {gzipped([]byte("<rss/>")), errFeedAnswer},
		"cut packing":        {gzipped(packed(1000)[:20]), errFeedAnswer},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "<rss>")
		}, errFeedAnswer},
		"long headers": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", maxFeedHeader))
		}, errFeedAnswer},
		"another status": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, &statusError{204}},
	} {
		server.serve("/feed", c.page)
		answer, err := fetchOne(t, loopbackFeeds(), server.URL+"/feed")
		if fmt.Sprint(err) != fmt.Sprint(c.want) || (err == nil) != (len(answer.body) == maxFeed) {
			t.Errorf("%s: %d bytes, %v, want %v", name, len(answer.body), err, c.want)
		}
	}
}

// TestASlowBodyEnds after 20 seconds, although each byte of it comes in time.
func TestASlowBodyEnds(t *testing.T) {
	inMemory(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	}, func(t *testing.T, r *newsroom) {
		began := time.Now()
		_, err := fetchFeed(t.Context(), r.Client, store.NewsFeed{URL: "http://127.0.0.1/"})
		if took := time.Since(began); !errors.Is(err, errFeedSlow) || took != feedTimeout {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestRedirectsLeadToHTTPSOnly, three times at most, and never into a private network.
func TestRedirectsLeadToHTTPSOnly(t *testing.T) {
	plain := newFeedServer(t)
	plain.says("/feed", rss())
	secure := newFeedServer(t)
	encrypted := httptest.NewUnstartedServer(secure)
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	encrypted.StartTLS()
	defer encrypted.Close()
	var referers []string
	secure.serve("/feed", func(w http.ResponseWriter, r *http.Request) {
		referers = append(referers, r.Header.Get("Referer"))
		fmt.Fprint(w, rss())
	})
	for n := range 6 {
		secure.serve(fmt.Sprint("/hop", n+1), http.RedirectHandler(map[bool]string{true: "/feed", false: fmt.Sprint("/hop", n)}[n == 0], http.StatusFound).ServeHTTP)
	}
	secure.serve("/loop", http.RedirectHandler("/loop", http.StatusMovedPermanently).ServeHTTP)
	for name, to := range map[string]string{
		"down": plain.URL + "/feed", "file": "file:///etc/passwd", "gopher": "gopher://127.0.0.1/", "user": strings.Replace(encrypted.URL, "https://", "https://user:password@", 1) + "/feed",
		"private": "https://10.0.0.1/feed", "metadata": "https://169.254.169.254/feed", "six": "https://[::1]/feed", "mapped": "https://[::ffff:10.0.0.1]/feed", "name": "https://inside.example/feed", "broken": "https://%zz/", "opened": "https://10.9.0.1/feed",
	} {
		secure.serve("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
	}
	roots := x509.NewCertPool()
	roots.AddCert(encrypted.Certificate())
	var dialed []string
	o := loopbackFeeds()
	o.Roots, o.Resolver = roots, insideNames{}
	o.AllowPrivate = append(o.AllowPrivate, netip.MustParsePrefix("10.9.0.0/16")) // webhooks may go there, and a feed, but no redirect of one
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed = append(dialed, address)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	for path, want := range map[string]error{
		"/feed": nil, "/hop1": nil, "/hop3": nil, "/hop4": errFeedRedirect, "/loop": errFeedRedirect, "/down": errFeedRedirect, "/file": errFeedRedirect, "/gopher": errFeedRedirect, "/user": errFeedRedirect,
		"/private": egress.ErrPrivate, "/metadata": egress.ErrPrivate, "/six": egress.ErrPrivate, "/mapped": egress.ErrPrivate, "/name": egress.ErrNoAddress, "/opened": egress.ErrPrivate, "/broken": errFeedAnswer,
	} {
		dialed = nil
		answer, err := fetchOne(t, o, encrypted.URL+path+"?key=secret")
		if err != want || err == nil && answer.from.String() != encrypted.URL+"/feed" && path != "/feed" {
			t.Errorf("%s: %v from %v, want %v", path, err, answer.from, want)
		}
		for _, address := range dialed {
			if address != encrypted.Listener.Addr().String() {
				t.Errorf("%s: dialed %s", path, address)
			}
		}
	}
	if plain.called("/feed") != 0 {
		t.Error("a redirect to http was followed")
	}
	for _, referer := range referers {
		is(t, "referer", referer, "")
	}
	// http may lead to https.
	plain.serve("/up", http.RedirectHandler(encrypted.URL+"/feed", http.StatusFound).ServeHTTP)
	if _, err := fetchOne(t, o, plain.URL+"/up"); err != nil {
		t.Errorf("from http to https: %v", err)
	}
	// A certificate that nobody signed.
	o.Roots = x509.NewCertPool()
	if _, err := fetchOne(t, o, encrypted.URL+"/feed"); err != egress.ErrTLS {
		t.Errorf("an unknown certificate: %v", err)
	}
}

// insideNames is DNS whose names all lead into a private network.
type insideNames struct{}

func (insideNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "none.example" {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if host == "broken.example" {
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, Server: "10.0.0.53:53"}
	}
	return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
}

// TestFeedsInPrivateNetworksAreNotAsked, unless the operator allows them, and the reasons name no address.
func TestFeedsInPrivateNetworksAreNotAsked(t *testing.T) {
	server := newFeedServer(t)
	server.says("/", rss())
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for address, want := range map[string]error{
		server.URL + "/": egress.ErrPrivate, "https://127.0.0.1/": egress.ErrPrivate, "https://10.0.0.1/": egress.ErrPrivate, "https://[::1]/": egress.ErrPrivate, "https://[fe80::1]/": egress.ErrPrivate,
		"https://inside.example/": egress.ErrNoAddress, "http://inside.example/": egress.ErrNoAddress, "https://none.example/": egress.ErrNoAddress, "https://broken.example/": egress.ErrLookup,
		"http://8.8.8.8/": egress.ErrPlainHTTP,
	} {
		if _, err := fetchOne(t, egress.Options{Resolver: insideNames{}}, address); err != want {
			t.Errorf("%s: %v, want %v", address, err, want)
		}
	}
	if n := server.called("/"); n != 0 {
		t.Errorf("%d calls", n)
	}
	if _, err := fetchOne(t, loopbackFeeds(), server.URL+"/"); err != nil {
		t.Errorf("allowed: %v", err)
	}
	if _, err := fetchOne(t, loopbackFeeds(), closed.URL+"/"); err != errFeedAnswer {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := fetchOne(t, loopbackFeeds(), "http://127.0.0.1:99999/"); err != errFeedAnswer {
		t.Errorf("no port: %v", err)
	}
}

// TestProxiesOfTheEnvironmentReadNoFeeds: a proxy resolves names itself.
func TestProxiesOfTheEnvironmentReadNoFeeds(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	both := NewFeedClient(egress.Options{}).Transport.(feedTransport)
	if both.chosen.Proxy != nil || both.public.Proxy != nil {
		t.Error("there is a proxy")
	}
}
