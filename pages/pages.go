// Package pages serves what people open in a browser besides the signing page: the documentation of the API and the
// webhooks portal. Both have an origin of their own, so that no flaw here reaches the keys that browsers keep for the
// signing page (docs/architecture.md, Custody and the signing page). The package knows nothing about users, keys or money:
// everybody gets the same bytes.
//
// Its main types and parts:
//
//   - Server, made by New from Options, serves all files from memory with their headers, which start from the signing
//     page's (signer.Headers). Run serves a listener until its context ends.
//   - answers.go has the answers that are no page, such as 404. Their texts are in en.json.
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
	"purser/signer"
)

// The paths of the documentation, and of the portal.
const (
	Docs   = "/docs"
	Portal = "/portal"
)

//go:embed static docs.html portal portal.html en.json
var files embed.FS

// Options configure the pages. URL may be nil; all other fields are required.
type Options struct {
	Document []byte   // the OpenAPI document, as JSON
	Events   []byte   // the catalogue of events, as GET /v1/webhooks/events returns it
	API      *url.URL // address of the API, which examples and the portal call
	URL      *url.URL // public address of these pages; nil: local use only
	Limits   quota.Limits
	Log      *slog.Logger
}

// Server serves the pages and nothing else. Its files do not change after New, so requests need no lock.
type Server struct {
	http   *http.Server
	files  map[string]file // by URL path
	docs   func() (file, error)
	portal string          // Content-Security-Policy of the portal's files
	common []signer.Header // of every response
	say    answers
}

// file is one response body with its Content-Type (kind) and ETag (tag).
type file struct {
	kind, tag string
	content   []byte
}

// Limits of the listener. Clients send nothing but small GETs, so the limits are tight.
const (
	readTimeout  = 8 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 75 * time.Second
	maxHeader    = 8 << 10
	drainTimeout = 9 * time.Second
)

// New prepares the pages; Run serves them. The documentation is rendered on the first request, because that would take most
// of the start-up time. New returns an error if an option is missing.
func New(o Options) (*Server, error) {
	if o.API == nil || o.Log == nil || len(o.Document) == 0 || len(o.Events) == 0 {
		return nil, errors.New("pages: needs a document, the events, the API's address and a log")
	}
	// A failure is logged once and remembered: every later request for the documentation gets 503.
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
	say, err := readAnswers()
	if err != nil {
		return nil, err
	}
	s := &Server{common: signer.Headers(o.URL), files: map[string]file{Docs: {}, Portal: made(".html", portal)}, docs: sync.OnceValues(docs), say: say,
		portal: policy + "; connect-src 'self' " + o.API.Scheme + "://" + o.API.Host}
	// The embedded files of each folder are served below their page's path.
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

// made builds a file. The ETag is half of the SHA-256 of its content.
func made(extension string, content []byte) file {
	kind, _ := signer.ContentType(extension) // a test serves every file of the pages
	sum := sha256.Sum256(content)
	return file{kind, `"` + hex.EncodeToString(sum[:16]) + `"`, content}
}

// render returns the documentation as HTML.
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

// fill executes the template of a page. html/template escapes the data.
func fill(name string, data any) ([]byte, error) {
	t, err := template.ParseFS(files, name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}

// policy is the Content-Security-Policy of every page. Scripts and styles come from this origin only, no script may write
// markup (Trusted Types), and no other page may frame one.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// permissions is the Permissions-Policy of every page. A passkey belongs to a host, whatever the port. The signing page may
// be on the same host and uses passkeys, so these pages must not.
const permissions = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), publickey-credentials-get=(), publickey-credentials-create=()"

// headers sets the headers of every response, errors included: those of the signing page, with policies and a
// Cache-Control of these pages. Only the portal may send requests: to the API, and to this origin for its texts. Browsers
// must not store the portal; other files they may keep, but must revalidate.
func (s *Server) headers(h http.Header, path string) {
	csp, keep := policy, "no-cache" // browsers may store it, but ask before each use whether it has changed
	if path == Portal || strings.HasPrefix(path, Portal+"/") {
		csp, keep = s.portal, "no-store"
	}
	for _, one := range s.common {
		h.Set(one.Name, one.Value)
	}
	h.Set("Content-Security-Policy", csp)
	h.Set("Permissions-Policy", permissions)
	h.Set("Cache-Control", keep)
}

// ServeHTTP serves a page or one of its files. It answers 404 for other paths, 405 for methods other than GET and HEAD, 503
// if the documentation could not be rendered, and redirects / to the documentation. A request for a service worker gets
// signer.EndServiceWorker.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.headers(w.Header(), r.URL.Path)
	found, ok := s.files[r.URL.Path]
	switch {
	case signer.AsksForServiceWorker(r.Header.Get(signer.ServiceWorkerHeader)):
		kind, _ := signer.ContentType(".js")
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, signer.EndServiceWorker) // a browser that is gone asks again
	case r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		w.Header().Set("Location", Docs)
		s.say.write(w, http.StatusFound, "moved")
	case !ok:
		s.say.write(w, http.StatusNotFound, "not_found")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		s.say.write(w, http.StatusMethodNotAllowed, "method")
	default:
		if r.URL.Path == Docs {
			var err error
			if found, err = s.docs(); err != nil {
				s.say.write(w, http.StatusServiceUnavailable, "unavailable")
				return
			}
		}
		w.Header().Set("Content-Type", found.kind)
		w.Header().Set("ETag", found.tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.content))
	}
}

// Run serves ln until ctx ends, then gives open requests drainTimeout to finish. It returns nil after an orderly end, and an
// error if serving failed or requests were cut off.
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
