package webhooks

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var thisMachine = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// hasty gives up after a second.
func hasty(o *Options) { o.Timeout = time.Second }

// poster reaches this machine, also without TLS.
func poster(t testing.TB, change ...func(*Options)) *Poster {
	t.Helper()
	o := Options{AllowPrivate: thisMachine, AllowHTTP: true, Now: time.Now}
	for _, c := range change {
		c(&o)
	}
	p, err := NewPoster(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func messageTo(url string) Message {
	return Message{URL: url, EventID: "evt_1", Body: []byte(`{"event":"webhook.test"}`), Secret: testSecret}
}

// rawReceiver answers each connection by hand, once the request is there.
func rawReceiver(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				request, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				if _, err := io.Copy(io.Discard, request.Body); err == nil {
					answer(conn)
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return "http://" + l.Addr().String() + "/hook"
}

// gone waits until the other side has closed the connection.
func gone(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func TestAnAttemptIsOneSignedPost(t *testing.T) {
	type seen struct {
		method, path, host string
		header             http.Header
		body               string
	}
	got := make(chan seen, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.RequestURI, r.Host, r.Header, string(body)}
		_, _ = io.WriteString(w, "thanks")
	}))
	defer s.Close()
	m := messageTo(s.URL + "/hook?a=b%2F")
	m.Previous = oldSecret
	result := poster(t).Post(t.Context(), m)
	if result.Verdict() != Delivered || result.Status != 200 || string(result.Answer) != "thanks" || !result.Reason.IsZero() || result.Latency <= 0 {
		t.Errorf("result %+v", result)
	}
	r := <-got
	if r.method != "POST" || r.path != "/hook?a=b%2F" || "http://"+r.host != s.URL || r.body != string(m.Body) {
		t.Errorf("received %+v", r)
	}
	for name, verify := range verifiers(t, oldSecret) {
		if err := verify([]byte(r.body), r.header); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name := range r.header {
		if _, ours := m.Headers(time.Now())[name]; !ours && name != "Content-Length" {
			t.Errorf("a header besides: %s", name)
		}
	}
}

func TestTheVerdictOfAnAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Path[1:])
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
	}))
	defer s.Close()
	p := poster(t)
	for status, want := range map[int]Verdict{
		200: Delivered, 201: Delivered, 202: Delivered, 204: Delivered, 299: Delivered,
		300: Refused, 301: Refused, 302: Refused, 303: Refused, 304: Refused, 307: Refused, 308: Refused,
		400: Refused, 401: Refused, 403: Refused, 404: Refused, 405: Refused, 409: Refused, 413: Refused, 422: Refused,
		408: Retry, 425: Retry, 429: Retry, 500: Retry, 501: Retry, 502: Retry, 503: Retry, 504: Retry, 599: Retry, 600: Retry, 999: Retry,
		410: Gone,
	} {
		got := p.Post(t.Context(), messageTo(fmt.Sprintf("%s/%d", s.URL, status)))
		if got.Verdict() != want || got.Status != status || got.Reason.IsZero() != (want == Delivered) {
			t.Errorf("%d: %s, %+v", status, got.Verdict(), got)
		}
		if status/100 == 3 && got.Reason.String() != fmt.Sprintf("attempt.redirect Status=%d", status) {
			t.Errorf("%d: %s", status, got.Reason)
		}
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var connections atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, 10_000))
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	p := poster(t, trusting(s))
	for range 20 {
		if r := p.Post(t.Context(), messageTo(s.URL)); r.Verdict() != Delivered {
			t.Fatalf("%+v", r)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for 20 attempts", n)
	}
}

// trusting takes the certificate of a server of the test.
func trusting(s *httptest.Server) func(*Options) {
	return func(o *Options) { o.Roots = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs }
}

func TestHostileReceiversAreContained(t *testing.T) {
	const status = "HTTP/1.1 200 OK\r\n"
	dribble := func(conn net.Conn, text string) {
		for {
			for _, b := range []byte(text) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
			}
		}
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 60<<20)); err != nil || z.Close() != nil {
		t.Fatal("no bomb")
	}
	for _, c := range []struct {
		name   string
		answer func(net.Conn)
		want   Verdict
		words  string
	}{
		{"hangs", gone, Retry, "attempt.no_answer Within=1s"},
		{"closes", func(net.Conn) {}, Retry, "attempt.closed"},
		{"resets", func(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }, Retry, "attempt.closed"},
		{"dribbles its status", func(c net.Conn) { slowly(c, "HTTP/1.1 200 OK\r\n\r\n", 100*time.Millisecond) }, Retry, "attempt.no_answer Within=1s"},
		{"dribbles its headers", func(c net.Conn) {
			_, _ = io.WriteString(c, status)
			slowly(c, strings.Repeat("A: b\r\n", 100), 20*time.Millisecond)
		}, Retry, "attempt.no_answer Within=1s"},
		{"never ends its headers", func(c net.Conn) { _, _ = io.WriteString(c, status); dribble(c, "A: b\r\n") }, Retry, "attempt.not_http"},
		{"never ends one header", func(c net.Conn) { _, _ = io.WriteString(c, status+"A: "); dribble(c, strings.Repeat("b", 4096)) }, Retry, "attempt.not_http"},
		{"never ends its status line", func(c net.Conn) { dribble(c, strings.Repeat("H", 4096)) }, Retry, "attempt.not_http"},
		{"bids to wait for ever", func(c net.Conn) { dribble(c, "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n") }, Retry, "attempt.not_http"},
		{"sends garbage", func(c net.Conn) { _, _ = c.Write([]byte("\x00\x01\x02\xff\r\n\r\n")) }, Retry, "attempt.not_http"},
		{"sends an empty line", func(c net.Conn) { _, _ = c.Write([]byte("\r\n\r\n")) }, Retry, "attempt.not_http"},
		{"answers for ever", func(c net.Conn) { _, _ = io.WriteString(c, status+"\r\n"); dribble(c, strings.Repeat("x", 4096)) }, Delivered, ""},
		{"promises a terabyte and hangs", func(c net.Conn) { _, _ = io.WriteString(c, status+"Content-Length: 1099511627776\r\n\r\nx"); gone(c) }, Delivered, ""},
		{"answers chunks for ever", func(c net.Conn) {
			_, _ = io.WriteString(c, status+"Transfer-Encoding: chunked\r\n\r\n")
			dribble(c, "1;"+strings.Repeat("e", 1000)+"\r\nx\r\n")
		}, Delivered, ""},
		{"ends its body early", func(c net.Conn) { _, _ = io.WriteString(c, status+"Content-Length: 100\r\n\r\nx") }, Delivered, ""},
		{"switches protocols", func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")
			gone(c)
		}, Refused, "attempt.status Status=101"},
		{"drops a gzip bomb", func(c net.Conn) {
			_, _ = fmt.Fprintf(c, "%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", status, bomb.Len())
			_, _ = c.Write(bomb.Bytes())
		}, Delivered, ""},
		{"speaks TLS", func(c net.Conn) { _, _ = c.Write([]byte("\x15\x03\x01\x00\x02\x02\x28")) }, Retry, "attempt.not_http"},
		{"repeats its length", func(c net.Conn) { _, _ = io.WriteString(c, status+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx") }, Retry, "attempt.not_http"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			url, p := rawReceiver(t, c.answer), poster(t, hasty)
			runtime.ReadMemStats(&before)
			begun := time.Now()
			r := p.Post(t.Context(), messageTo(url))
			took := time.Since(begun)
			runtime.ReadMemStats(&after)
			if r.Verdict() != c.want || r.Reason.String() != c.words {
				t.Errorf("%s: %+v", r.Verdict(), r)
			}
			if len(r.Answer) > 1024 {
				t.Errorf("%d bytes of the answer kept", len(r.Answer))
			}
			if took > 10*time.Second {
				t.Errorf("took %v of 1 s", took)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 { // both sides'
				t.Errorf("%d bytes allocated", used)
			}
		})
	}
}

// slowly writes a text a byte at a time, until the other side is gone.
func slowly(conn net.Conn, text string, pause time.Duration) {
	ended := make(chan struct{})
	go func() { gone(conn); close(ended) }()
	for _, b := range []byte(text) {
		select {
		case <-ended:
			return
		case <-time.After(pause):
		}
		if _, err := conn.Write([]byte{b}); err != nil {
			return
		}
	}
}

func TestABodyThatDribblesEndsWithTheAttempt(t *testing.T) {
	url := rawReceiver(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 1000\r\n\r\n")
		slowly(c, strings.Repeat("x", 1000), 50*time.Millisecond)
	})
	begun := time.Now()
	r := poster(t, hasty).Post(t.Context(), messageTo(url))
	if r.Verdict() != Retry || r.Status != 503 || r.RetryAfter != 7*time.Second || len(r.Answer) == 0 || time.Since(begun) > 10*time.Second || r.Latency > time.Second {
		t.Errorf("%+v", r)
	}
}

func TestHangingReceiversHoldNoMemoryWhenGivenUp(t *testing.T) {
	url := rawReceiver(t, gone)
	p := poster(t, func(o *Options) { o.Timeout = 200 * time.Millisecond })
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if r := p.Post(t.Context(), messageTo(url)); r.Verdict() != Retry {
				t.Errorf("%+v", r)
			}
		})
	}
	all.Wait()
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before+10; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestAnAttemptThatPurserEndsIsNoFailure(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	url := rawReceiver(t, func(c net.Conn) { cancel(); gone(c) })
	if r := poster(t).Post(ctx, messageTo(url)); r.Verdict() != Interrupted || r.Reason.String() != "attempt.stopped" {
		t.Errorf("%+v", r)
	}
}

func TestFailuresOfTheNetworkAreToldInWords(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	_ = closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	old.Config.ErrorLog, secure.Config.ErrorLog = quietLog(), quietLog()
	old.StartTLS()
	defer old.Close()
	open := httptest.NewServer(http.NotFoundHandler())
	defer open.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(secure.URL, "https://"))
	names := names{"receiver.example.net": {"127.0.0.1"}}
	fails := func(err error) func(*Options) {
		return func(o *Options) {
			o.Dial = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)}, Err: err}
			}
		}
	}
	for _, c := range []struct {
		url    string
		change func(*Options)
		want   string
	}{
		{"http://" + nobody, nil, "attempt.refused"},
		{"https://" + nobody, nil, "attempt.refused"},
		{"https://receiver.example.net", fails(syscall.EHOSTUNREACH), "attempt.unreachable"},
		{"https://receiver.example.net", fails(syscall.ENETUNREACH), "attempt.unreachable"},
		{"https://receiver.example.net", fails(syscall.ETIMEDOUT), "attempt.connect_timeout"},
		{"https://receiver.example.net", fails(context.DeadlineExceeded), "attempt.connect_timeout"},
		{"https://receiver.example.net", fails(syscall.EMFILE), "attempt.too_many_open"},
		{"https://receiver.example.net", fails(io.ErrUnexpectedEOF), "attempt.no_connection"},
		{"https://nothing.example.net", nil, "attempt.no_address"},
		{"https://empty.example.net", nil, "attempt.no_address"},
		{"https://broken.example.net", nil, "attempt.lookup"},
		{secure.URL, nil, "attempt.certificate_authority"},
		{"https://receiver.example.net:" + port, trusting(secure), "attempt.certificate_host Host=receiver.example.net"},
		{old.URL, trusting(old), "attempt.other_tls"},
		{strings.Replace(open.URL, "http:", "https:", 1), nil, "attempt.no_tls"},
	} {
		p := poster(t, func(o *Options) {
			o.Resolver = names
			if c.change != nil {
				c.change(o)
			}
		})
		if r := p.Post(t.Context(), messageTo(c.url)); r.Verdict() != Retry || r.Reason.String() != c.want || r.Status != 0 {
			t.Errorf("%s, want %q: %+v", c.url, c.want, r)
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, " 5 ": 5 * time.Second, "59": 59 * time.Second, "60": time.Minute, "61": time.Minute, "86400": time.Minute,
		"18446744073709551616": time.Minute, strings.Repeat("9", 1000): time.Minute,
		"-1": 0, "1.5": 0, "1e3": 0, "+5": 0, "soon": 0, "５": 0,
		"Sat, 31 Jan 2026 12:00:10 GMT":    10 * time.Second,
		"Saturday, 31-Jan-26 12:00:10 GMT": 10 * time.Second,
		"Sat Jan 31 12:00:10 2026":         10 * time.Second,
		"Sat, 31 Jan 2026 11:00:00 GMT":    0,
		"Sun, 31 Jan 2027 12:00:00 GMT":    time.Minute,
		"Fri, 31 Dec 9999 23:59:59 GMT":    time.Minute,
		"Mon, 01 Jan 0001 00:00:00 GMT":    0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "7", "99999999999999999999", "Sat, 31 Jan 2026 12:00:10 GMT", "-1", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryAfter(value, time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)); got < 0 || got > time.Minute {
			t.Errorf("%q: %v", value, got)
		}
	})
}
