package browser

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
)

// recorder stands between a browser and everything else, as its proxy, and keeps each request that
// leaves the browser: of pages, workers and the browser itself. It may alter answers, as whoever
// controls the server could.
type recorder struct {
	*httptest.Server

	mu       sync.Mutex
	requests []request
	alter    func(path string, answer []byte) []byte
}

// request is one that left the browser.
type request struct {
	method, host, path string
	raw                []byte // line, headers and body
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{}
	onward := &httputil.ReverseProxy{
		Rewrite:        func(*httputil.ProxyRequest) {}, // the address is absolute already
		Transport:      &http.Transport{Proxy: nil, DisableCompression: true},
		ModifyResponse: r.modify,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { // the program is being restarted
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // event streams end with it, too
	}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the browser hung up within its request
		}
		r.keep(q, body)
		if q.URL.Hostname() != "127.0.0.1" || q.Method == http.MethodConnect {
			// Chromium asks its maker for updates and the like; nothing of that is answered.
			http.Error(w, "only this machine", http.StatusForbidden)
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		onward.ServeHTTP(w, q)
	}))
	t.Cleanup(func() {
		r.CloseClientConnections() // event streams never end by themselves
		r.Close()
	})
	return r
}

func (r *recorder) keep(q *http.Request, body []byte) {
	var raw bytes.Buffer
	fmt.Fprintf(&raw, "%s %s\r\n", q.Method, q.RequestURI)
	_ = q.Header.Write(&raw) // a buffer takes everything
	raw.Write(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, request{q.Method, q.Host, q.URL.Path, raw.Bytes()})
}

func (r *recorder) modify(answer *http.Response) error {
	r.mu.Lock()
	alter := r.alter
	r.mu.Unlock()
	path := answer.Request.URL.Path
	if alter == nil || !strings.HasPrefix(path, "/w/") {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	body = alter(path, body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	answer.ContentLength = int64(len(body))
	answer.Header.Set("Content-Length", fmt.Sprint(len(body)))
	return nil
}

// Alter changes the answers to the signing page from now on; nil leaves them alone.
func (r *recorder) Alter(f func(path string, answer []byte) []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alter = f
}

// Requests lists what has left the browser so far.
func (r *recorder) Requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.requests...)
}

// Count is how many requests went to a path.
func (r *recorder) Count(path string) int {
	n := 0
	for _, q := range r.Requests() {
		if q.path == path {
			n++
		}
	}
	return n
}
