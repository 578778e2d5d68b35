// Package pages serves what people open in a browser besides the signing page: the documentation of the API and the
// webhooks portal. Both have an origin of their own, so that no flaw here reaches the keys that browsers keep for the
// signing page (docs/architecture.md, Custody and the signing page). The package knows nothing about users, keys or money:
// everybody gets the same bytes.
//
// Its main types and parts:
//
//   - Server, made by New from Options, serves all files from memory with their headers. Run serves a listener until its
//     context ends.
//   - document.go reads the OpenAPI document and the catalogue of events into the data of docs.html. The documentation is
//     rendered on the first request. It is English, like the API it describes; static/ has its style and scripts.
//   - portal.html and portal/ are the portal: ES modules without a build step that call the API with a session. main.js
//     routes, hooks.js, deliveries.js and events.js are the views, api.js the client. Every text comes from
//     portal/<language>.json by catalogue.js, the same file as in signer/page (docs/decisions/0028).
//   - portaltest tests the modules in Node, and every screen in Chromium in a pseudo-locale.
package pages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"purser/quota"
)

// The paths of the documentation, and of the portal.
const (
	Docs   = "/docs"
	Portal = "/portal"
)

//go:embed static docs.html portal portal.html
var files embed.FS

// Options configure the pages.
type Options struct {
	Document []byte   // OpenAPI, as JSON
	Events   []byte   // what webhooks can subscribe to, as GET /v1/webhooks/events returns it
	API      *url.URL // the API's address: examples and the portal call it
	URL      *url.URL // the address of these pages; nil: on this machine
	Limits   quota.Limits
	Log      *slog.Logger
}

// Server serves the pages, and nothing else.
type Server struct {
	http   *http.Server
	files  map[string]file // by path
	docs   func() (file, error)
	portal string // what the portal's files may do: their Content-Security-Policy
	https  bool   // browsers reach the pages by it
}

type file struct {
	kind, tag string
	content   []byte
}

// Limits of the listener. Nothing is sent to it but small GETs.
const (
	readTimeout  = 8 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 75 * time.Second
	maxHeader    = 8 << 10
	drainTimeout = 9 * time.Second
)

// New prepares the pages; Run serves them. The documentation is rendered on the first request: it would take most of
// the time of a start.
func New(o Options) (*Server, error) {
	if o.API == nil || o.Log == nil || len(o.Document) == 0 || len(o.Events) == 0 {
		return nil, errors.New("pages: needs a document, the events, the API's address and a log")
	}
	docs := func() (file, error) {
		content, err := render(o)
		if err != nil {
			o.Log.Error("the documentation cannot be rendered", "error", err)
		}
		return made(".html", content), err
	}
	portal, err := fill("portal.html", o.API.String())
	if err != nil {
		return nil, fmt.Errorf("render the portal: %w", err)
	}
	s := &Server{https: o.URL != nil && o.URL.Scheme == "https", files: map[string]file{Docs: {}, Portal: made(".html", portal)}, docs: sync.OnceValues(docs), portal: policy + "; connect-src 'self' " + o.API.Scheme + "://" + o.API.Host}
	for folder, under := range map[string]string{"static": Docs, "portal": Portal} {
		list, err := files.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		for _, entry := range list {
			content, err := files.ReadFile(path.Join(folder, entry.Name()))
			if err != nil {
				return nil, err
			}
			s.files[path.Join(under, entry.Name())] = made(path.Ext(entry.Name()), content)
		}
	}
	s.http = &http.Server{Handler: s, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)} // broken connections are daily bread
	return s, nil
}

func made(extension string, content []byte) file {
	kind := map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".json": "application/json; charset=utf-8", ".svg": "image/svg+xml"}[extension]
	sum := sha256.Sum256(content)
	return file{kind, `"` + hex.EncodeToString(sum[:16]) + `"`, content}
}

func render(o Options) ([]byte, error) {
	page, err := read(o.Document, o.API.String())
	if err != nil {
		return nil, err
	}
	if page.Events, err = readEvents(o.Events); err != nil {
		return nil, err
	}
	page.Limits = o.Limits
	return fill("docs.html", page)
}

// fill puts data into a page.
func fill(name string, data any) ([]byte, error) {
	t, err := template.ParseFS(files, name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}

// policy is the Content-Security-Policy of every page. Scripts and styles are files of this origin, no script writes
// markup into a page, and no other page may frame one.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// headers sets those of every response. The portal alone may send requests: to the API, and to this
// origin for its texts. Browsers cache nothing of it.
func (s *Server) headers(h http.Header, path string) {
	csp, keep := policy, "no-cache" // browsers may keep it, and ask whether it has changed
	if path == Portal || strings.HasPrefix(path, Portal+"/") {
		csp, keep = s.portal, "no-store"
	}
	h.Set("Content-Security-Policy", csp)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	if s.https {
		h.Set("Strict-Transport-Security", "max-age=31536000") // as on the API's origin
	}
	h.Set("Cache-Control", keep)
}

// ServeHTTP answers with a page or a file of it: 404 for any other path, 405 for methods but GET and HEAD.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.headers(w.Header(), r.URL.Path)
	found, ok := s.files[r.URL.Path]
	switch {
	case r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		w.Header().Set("Location", Docs)
		refuse(w, http.StatusFound, "The documentation is at "+Docs+".")
	case !ok:
		refuse(w, http.StatusNotFound, "This page does not exist. The documentation is at "+Docs+".")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "Only GET and HEAD work here.")
	default:
		if r.URL.Path == Docs {
			var err error
			if found, err = s.docs(); err != nil {
				refuse(w, http.StatusServiceUnavailable, "The documentation is not available. The API description is at /v1/openapi.json.")
				return
			}
		}
		w.Header().Set("Content-Type", found.kind)
		w.Header().Set("ETag", found.tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.content))
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // a client that has gone does not need it
}

// Run serves ln until ctx ends, then lets answers finish, within 10 s. It returns nil after an orderly
// end.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := s.http.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("pages were cut off after %s: %w", drainTimeout, err), s.http.Close())
	}
	<-served
	return err
}
