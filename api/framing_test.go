package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/semaphore"
)

// answers writes bytes on one connection and returns the statuses of all that comes back until it is closed.
func (r *harness) answers(wire string) (statuses []int) {
	r.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	r.Must(err)
	defer conn.Close()
	r.Must(conn.SetDeadline(time.Now().Add(20 * time.Second)))
	_, err = io.WriteString(conn, wire)
	r.Must(err)
	for in := bufio.NewReader(conn); ; {
		method, _, _ := strings.Cut(wire, " ")
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return statuses
		}
		r.Must(err)
		_, err = io.Copy(io.Discard, resp.Body)
		r.Must(err)
		statuses = append(statuses, resp.StatusCode)
	}
}

// TestNoRequestHidesInAnother: whatever a body holds, it is no request.
func TestNoRequestHidesInAnother(t *testing.T) {
	r := newHarness(t)
	hidden := "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	key := "Authorization: Bearer " + r.alice.secret + "\r\nContent-Type: application/json\r\n"
	send := "POST /v1/wallet/send HTTP/1.1\r\nHost: x\r\n"
	for name, test := range map[string]struct {
		wire   string
		status int
	}{
		"a chunk line that ends in a line feed": {send + key + "Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\n0\r\n\r\n" + hidden, 411},
		"chunks without a key":                  {send + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden, 411},
		"a spaced coding":                       {send + key + "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n" + hidden, 411},
		"an unknown coding":                     {send + key + "Transfer-Encoding: x\r\n\r\n0\r\n\r\n" + hidden, 411},
		"coding and length":                     {send + key + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + hidden, 400},
		"two lengths":                           {send + key + "Content-Length: 0\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 400},
		"a folded length":                       {send + key + "X-A: b\r\n Content-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 400},
		"a length after a bare line feed":       {send + key + "X-A: b\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 400},
		"a body without a key":                  {send + "Content-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 401},
		"a body of a GET":                       {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 200},
		"a body of a GET with a key":            {"GET /v1/key HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 200},
		"a body of a HEAD":                      {"HEAD /w/ HTTP/1.1\r\nHost: x\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 200},
		"a body at no path":                     {"POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 404},
		"a large body of an unknown method":     {"BREW /v1/key HTTP/1.1\r\nHost: x\r\n" + key + "Content-Length: 20000\r\n\r\n" + strings.Repeat(hidden, 20000/len(hidden)+1), 405},
		"a body that is too large":              {send + key + "Content-Length: 99999\r\n\r\n" + strings.Repeat(hidden, 20), 413},
		"a body of a stranger's page":           {"POST /w/tx/get HTTP/1.1\r\nHost: x\r\nOrigin: https://evil.example\r\nContent-Length: " + fmt.Sprint(len(hidden)) + "\r\n\r\n" + hidden, 403},
	} {
		t.Run(name, func(t *testing.T) {
			defer r.under(t)()
			if got := r.answers(test.wire); len(got) != 1 || got[0] != test.status {
				t.Errorf("answers %v, want one: %d", got, test.status)
			}
		})
	}
	if got := r.answers(send + key + "Content-Length: 2\r\n\r\n{}" + hidden); len(got) != 2 || got[0] != 400 || got[1] != 200 {
		t.Errorf("a request after a request: %v", got)
	}
	large := `{"from":"` + strings.Repeat("x", 30000) + `"}` // read in several pieces
	if got := r.answers(send + key + "Content-Length: " + fmt.Sprint(len(large)) + "\r\n\r\n" + large + hidden); len(got) != 2 || got[0] != 400 || got[1] != 200 {
		t.Errorf("a request after a large one: %v", got)
	}
}

// TestStrangersAreRefusedBeforeTheirBodies: the headers suffice, nothing is waited for.
func TestStrangersAreRefusedBeforeTheirBodies(t *testing.T) {
	r := newHarness(t)
	r.knows = func(secret string) bool { return secret == "telegram's" }
	began := time.Now()
	for name, test := range map[string]struct {
		head   string
		status int
	}{
		"no key":                {"POST /v1/wallet/send HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n", 401},
		"a wrong key":           {"POST /v1/wallet/send HTTP/1.1\r\nAuthorization: Bearer pur_test_guessed\r\nContent-Length: 65536\r\n", 401},
		"a key that expects":    {"POST /v1/wallet/send HTTP/1.1\r\nAuthorization: Bearer x\r\nExpect: 100-continue\r\nContent-Length: 65536\r\n", 401},
		"a session that is not": {"POST /v1/webhooks HTTP/1.1\r\nAuthorization: Bearer pur_session_x\r\nContent-Length: 65536\r\n", 401},
		"no secret":             {"POST /telegram/webhook HTTP/1.1\r\nContent-Length: 1048576\r\n", 401},
		"a wrong secret":        {"POST /telegram/webhook HTTP/1.1\r\nX-Telegram-Bot-Api-Secret-Token: mine\r\nContent-Length: 1048576\r\n", 401},
		"no origin":             {"POST /w/tx/get HTTP/1.1\r\nContent-Length: 100\r\n", 403},
		"another origin":        {"POST /w/tx/get HTTP/1.1\r\nOrigin: https://evil.example\r\nContent-Length: 100\r\n", 403},
		"too much for the page": {"POST /w/tx/get HTTP/1.1\r\nOrigin: " + r.base + "\r\nContent-Length: 16385\r\n", 413},
		"too much of Telegram":  {"POST /telegram/webhook HTTP/1.1\r\nX-Telegram-Bot-Api-Secret-Token: telegram's\r\nContent-Length: 1048577\r\n", 413},
		"too much with a key":   {"POST /v1/wallet/send HTTP/1.1\r\nAuthorization: Bearer " + r.alice.secret + "\r\nContent-Length: 65537\r\n", 413},
		"no path":               {"POST /v1/nothing HTTP/1.1\r\nContent-Length: 100\r\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			defer r.under(t)()
			if got := r.answers(test.head + "Host: x\r\n\r\n"); len(got) != 1 || got[0] != test.status {
				t.Errorf("answers %v, want one: %d", got, test.status)
			}
		})
	}
	if took := time.Since(began); took > readTimeout-time.Second {
		t.Errorf("a body was waited for: it took %s", took)
	}
}

// TestAConnectionOnWhichNothingCameIsClosedInSilence: an answer would be taken for that of the next request.
func TestAConnectionOnWhichNothingCameIsClosedInSilence(t *testing.T) {
	r := newHarness(t)
	began := time.Now()
	if got := r.answers(""); len(got) != 0 {
		t.Errorf("answers %v", got)
	}
	if took := time.Since(began); took < readTimeout-time.Second || took > readTimeout+5*time.Second {
		t.Errorf("it was closed after %s", took)
	}
}

// TestBodiesShareABudget: what is full is full for its own class alone, and is given back.
func TestBodiesShareABudget(t *testing.T) {
	r := newHarness(t, func(s *Server) { s.fromKeys = semaphore.NewWeighted(10 << 10) })
	body := `{"from":"` + strings.Repeat("x", 15<<10) + `"}`
	for range 3 {
		r.want(r.send(r.alice.secret, body), 400, "INVALID_REQUEST", "")
	}
	if !r.server.fromKeys.TryAcquire(10 << 10) {
		t.Error("bytes stay reserved")
	}
	r.server.fromKeys.Release(10 << 10)
	a := r.send(r.alice.secret, `{"from":"`+strings.Repeat("x", 40<<10)+`"}`)
	r.want(a, 503, "NETWORK_ERROR", "at once")
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	r.want(r.send(r.alice.secret, body), 400, "INVALID_REQUEST", "") // what was reserved is free again
	if a := r.page("/w/tx/get", map[string]string{"id": strings.Repeat("x", 15<<10)}); a.status != 404 {
		t.Errorf("the page: %d %s", a.status, a.body)
	}
}

// TestOnlyOneFormOfFramingIsRead: whatever two parsers could read differently is broken.
func TestOnlyOneFormOfFramingIsRead(t *testing.T) {
	for header, want := range map[string]framing{
		"Host: x\r\n\r\n":                                {},
		"Host: x\r\ncontent-length:\t12 \r\n\r\n":        {length: 12},
		"!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n":               {},
		"Transfer-Encoding: chunked\r\n\r\n":             {coded: true},
		"Host: x":                                        {broken: true},
		"Host: x\r\nContent-Length: 12\n\r\n":            {broken: true},
		"X: a\rb\r\n\r\n":                                {broken: true},
		"X: a\r\r\n\r\n":                                 {broken: true},
		"X: a\x00b\r\n\r\n":                              {broken: true},
		"X : a\r\n\r\n":                                  {broken: true},
		"X\t: a\r\n\r\n":                                 {broken: true},
		"X\xff: a\r\n\r\n":                               {broken: true},
		": a\r\n\r\n":                                    {broken: true},
		"X: a\r\n b\r\n\r\n":                             {broken: true},
		"Content-Length : 2\r\n\r\n":                     {length: 2, broken: true},
		"Content-Length: +2\r\n\r\n":                     {broken: true},
		"Content-Length: \r\n\r\n":                       {broken: true},
		"Content-Length: 2147483648\r\n\r\n":             {length: 1<<31 - 1, broken: true},
		"Content-Length: 2\r\nContent-Length: 2\r\n\r\n": {length: 2, broken: true},
		"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n": {length: 2, coded: true, broken: true},
	} {
		if got := readFraming([]byte(header)); got != want {
			t.Errorf("%q: %+v, not %+v", header, got, want)
		}
	}
}

// FuzzFraming holds our reading of a connection to that of net/http: a request that both read must be the same to
// both, and what one takes for a body is never a request to the other.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{
		"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}GET /b HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;\nxx\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 30\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /a HTTP/1.1\r\nHost: x\r\nX-A: b\n Content-Length: 30\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /a HTTP/1.1\nHost: x\n\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /a HTTP/1.0\r\nContent-Length: 030\r\n\r\nx",
		"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n{}",
		"\r\nPOST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		ours := readByUs(wire)
		in := bufio.NewReader(bytes.NewReader(wire))
		for i, got := range ours {
			want, err := http.ReadRequest(in)
			if err != nil {
				return // it is stricter: nothing after this is a request to it
			}
			body, err := io.ReadAll(want.Body)
			if err != nil {
				t.Fatalf("request %d: we read %q, net/http no whole body: %v", i, got, err)
			}
			if theirs := want.Method + " " + string(body); theirs != got {
				t.Fatalf("request %d: we read %q, net/http %q", i, got, theirs)
			}
		}
	})
}

// readByUs is what our server would handle of a connection: method and body of each request.
func readByUs(wire []byte) (read []string) {
	server := &fasthttp.Server{StreamRequestBody: true, ReadBufferSize: maxHeader, NoDefaultDate: true, Logger: quiet{},
		HeaderReceived: func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
			if f := readFraming(h.RawHeaders()); f.refusal() != nil {
				h.SetContentLength(0)
				h.Del("Expect")
			}
			return fasthttp.RequestConfig{MaxRequestBodySize: 1 << 20}
		},
		Handler: func(c *fasthttp.RequestCtx) {
			if readFraming(c.Request.Header.RawHeaders()).refusal() != nil {
				c.SetConnectionClose()
				return
			}
			body, err := io.ReadAll(&bodyOf{c})
			if err != nil {
				c.SetConnectionClose()
				return
			}
			read = append(read, string(c.Method())+" "+string(body))
		}}
	_ = server.ServeConn(&wireConn{Reader: bytes.NewReader(wire)}) // a broken connection is as good as any
	return read
}

// bodyOf reads what a request's header announces.
type bodyOf struct{ c *fasthttp.RequestCtx }

func (b *bodyOf) Read(p []byte) (int, error) {
	if stream := b.c.Request.BodyStream(); stream != nil {
		return stream.Read(p)
	}
	return 0, io.EOF
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// wireConn is a connection over which some bytes come, and nothing that is sent matters.
type wireConn struct {
	io.Reader
	net.Conn
}

func (w *wireConn) Read(p []byte) (int, error)       { return w.Reader.Read(p) }
func (w *wireConn) Write(p []byte) (int, error)      { return len(p), nil }
func (w *wireConn) Close() error                     { return nil }
func (w *wireConn) SetDeadline(time.Time) error      { return nil }
func (w *wireConn) SetReadDeadline(time.Time) error  { return nil }
func (w *wireConn) SetWriteDeadline(time.Time) error { return nil }
func (w *wireConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (w *wireConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
