// Package pages knows what people read in a browser beside the signing page: the documentation of the
// API, rendered from its OpenAPI document when the program starts. It has an origin of its own, so that
// no flaw here reaches the keys that browsers keep for the signing page (DESIGN §4). It refuses to know
// anything about users, keys or money: whatever it serves is the same for everybody.
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
	"time"

	"purser/quota"
)

// Docs is the path of the documentation.
const Docs = "/docs"

//go:embed static docs.html
var files embed.FS

// Options are what the pages are made of.
type Options struct {
	Document []byte   // OpenAPI, as JSON
	API      *url.URL // where the API is: examples call it
	Limits   quota.Limits
	Log      *slog.Logger
}

// Server serves the pages, and nothing else.
type Server struct {
	http  *http.Server
	files map[string]file // by path
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

// New renders the pages; they are served by Run.
func New(o Options) (*Server, error) {
	if o.API == nil || o.Log == nil {
		return nil, errors.New("pages: the API's address and a log are needed")
	}
	docs, err := render(o)
	if err != nil {
		return nil, fmt.Errorf("render the documentation: %w", err)
	}
	s := &Server{files: map[string]file{Docs: made("text/html; charset=utf-8", docs)}}
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "copy.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"} {
		content, err := files.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		s.files[Docs+"/"+name] = made(kind, content)
	}
	s.http = &http.Server{Handler: s, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)} // broken connections are daily bread
	return s, nil
}

func made(kind string, content []byte) file {
	sum := sha256.Sum256(content)
	return file{kind, `"` + hex.EncodeToString(sum[:16]) + `"`, content}
}

func render(o Options) ([]byte, error) {
	page, err := read(o.Document, o.API.String())
	if err != nil {
		return nil, err
	}
	page.Limits = o.Limits
	t, err := template.ParseFS(files, "docs.html")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, page)
	return out.Bytes(), err
}

// headers are on every answer. Scripts and styles are files of this origin; nothing is written into a
// page by a script, and no other page may frame one.
func headers(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache") // it may be kept, and is asked after
}

// ServeHTTP answers with a page or a file of it: 404 for any other path, 405 for methods but GET and HEAD.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers(w.Header())
	found, ok := s.files[r.URL.Path]
	switch {
	case r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		w.Header().Set("Location", Docs)
		refuse(w, http.StatusFound, "The documentation is at "+Docs+".")
	case !ok:
		refuse(w, http.StatusNotFound, "There is nothing here. The documentation is at "+Docs+".")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "This can be read only.")
	default:
		w.Header().Set("Content-Type", found.kind)
		w.Header().Set("ETag", found.tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(found.content))
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // whoever does not wait for it does not need it
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
