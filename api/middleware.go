package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"purser/quota"
)

// request is the state of one request while it is served. It is also the request's context, which saves an
// allocation. Only the goroutine that serves the request writes it.
type request struct {
	deadline
	route string      // the pattern of its route, for the log
	quota quota.Quota // what is left of its key's hourly limit
	now   time.Time   // when its key was checked

	framing  framing // how its header says where the body ends
	withheld bool    // a body was announced and is not read (see headerReceived)
	known    bool    // it showed a key, a session, a living link or Telegram's secret
}

// requestState returns the state of a request that passed middleware, and an empty one for a request that could not
// be parsed.
func requestState(c *fiber.Ctx) *request {
	r, ok := c.UserContext().(*request)
	if !ok {
		return &request{}
	}
	return r
}

// middleware surrounds every request that could be parsed. It sets the request's id, the default headers and a deadline,
// turns an error or a panic into a response, and logs one line. The order matters: a request whose framing is ambiguous
// is refused before its body is read, and the connection is closed, so that no part of a body is taken for the next
// request (request smuggling).
//
// Query, body and Authorization are never logged. The first two contain addresses and secrets of links, the last one a key.
func (s *Server) middleware(c *fiber.Ctx) error {
	id := s.setDefaultHeaders(c)
	r := &request{deadline: deadline{base: s.base, at: c.Context().Time().Add(answerTimeout)}}
	defer r.end()
	c.SetUserContext(r)

	s.suspectProxy(c)
	header := &c.Request().Header
	// First the framing, then the body, then the rest.
	r.framing = readFraming(header.RawHeaders())
	r.withheld = r.framing.announced() && header.ContentLength() <= 0
	err := r.framing.refusal()
	if err == nil {
		var release func()
		release, err = s.receive(c)
		defer release()
	}
	if err != nil || r.withheld { // on this connection nobody knows where the body ends and the next request begins
		c.Context().SetConnectionClose()
		linger(c.Context().Conn())
	}
	if err == nil {
		err = s.recovered(c)
	}
	if err != nil {
		if refused := s.refuse(c, err); refused != nil {
			err = errors.Join(err, refused)
		}
	}
	s.log(c, id, err)
	return nil
}

// panicked is the error of a panic in a handler, with its stack for the log. It is answered as INTERNAL_ERROR.
type panicked struct {
	value any
	stack []byte
}

// Error has the stack: it is for the log only. refuse answers with the text of INTERNAL_ERROR.
func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// recovered runs the rest of the chain, and returns a panic in it as an error.
func (s *Server) recovered(c *fiber.Ctx) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicked{value, debug.Stack()}
		}
	}()
	return c.Next()
}

// log writes the one line of a request. For requests without a valid key or link it writes a bounded number of lines
// (sampler), so that strangers cannot fill the disk. A 5xx is logged as an error, a 503 as a warning, since its cause
// is the network.
func (s *Server) log(c *fiber.Ctx, id string, err error) {
	status := c.Response().StatusCode()
	if status < 500 && !s.Log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	// The pattern of the route, not the path: a path may contain addresses.
	attrs := []slog.Attr{
		slog.String("method", c.Method()), slog.String("route", requestState(c).route), slog.Int("status", status),
		slog.Int64("ms", time.Since(c.Context().Time()).Milliseconds()), slog.String("request_id", id),
	}
	level, lines := slog.LevelInfo, &s.strangers
	switch {
	case status >= 500 && status != fiber.StatusServiceUnavailable:
		level, lines = slog.LevelError, &s.strangersTrouble
	case status >= 500:
		level, lines = slog.LevelWarn, &s.strangersTrouble
	}
	// Nothing is known of the sender: the sampler bounds how many lines are written.
	if !requestState(c).known {
		ok, leftOut := lines.take(c.Context().Time())
		if !ok {
			return
		}
		if leftOut > 0 {
			attrs = append(attrs, slog.Int("left_out", leftOut))
		}
	}
	if err != nil && status >= 500 {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	s.Log.LogAttrs(context.Background(), level, "request", attrs...)
}

// setDefaultHeaders sets the headers of every response and returns the request's id: the caller's own, if it is harmless,
// else a new one. The signing page's security headers are on every response of this origin, so that no response can be
// made to run as a page.
func (s *Server) setDefaultHeaders(c *fiber.Ctx) string {
	id := string(c.Request().Header.Peek(fiber.HeaderXRequestID))
	if !saneID(id) {
		id = s.NewID("req")
	}
	header := &c.Response().Header
	s.defaultHeaders.CopyTo(header)
	header.SetCanonical([]byte("X-Request-Id"), []byte(id))
	return id
}

// saneID reports whether a caller's own id is short and plain enough for the log and the response.
func saneID(id string) bool {
	return len(id) >= 1 && len(id) <= 64 && only(id, func(r byte) bool {
		return isAlphanumeric(r) || r == '-' || r == '_' || r == '.'
	})
}

// isAlphanumeric reports whether a byte is an ASCII letter or digit.
func isAlphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// only reports whether all bytes of a text are allowed.
func only(text string, allowed func(byte) bool) bool {
	for i := range len(text) {
		if !allowed(text[i]) {
			return false
		}
	}
	return true
}

// unread answers requests that never reached middleware, because fasthttp could not parse them to their end. The connection
// is closed after it: an unknown part of the body is still to come.
func (s *Server) unread(c *fiber.Ctx, err error) error {
	if mute(c.Context().Conn()) {
		return nil
	}
	id := s.setDefaultHeaders(c)
	c.Context().SetConnectionClose() // of its body, nothing or a part was read
	linger(c.Context().Conn())
	refused := s.refuse(c, err)
	s.log(c, id, err)
	return refused
}

// knownMethods refuses methods that fiber does not know, in the API's own form. fiber itself would answer in plain text.
func (s *Server) knownMethods(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(fctx *fasthttp.RequestCtx) {
		// The methods that fiber routes.
		switch string(fctx.Method()) {
		case fiber.MethodGet, fiber.MethodHead, fiber.MethodPost, fiber.MethodPut, fiber.MethodDelete,
			fiber.MethodConnect, fiber.MethodOptions, fiber.MethodTrace, fiber.MethodPatch:
			next(fctx)
			return
		}
		c := s.app.AcquireCtx(fctx)
		defer s.app.ReleaseCtx(c)
		if err := s.unread(c, fiber.ErrMethodNotAllowed); err != nil {
			fctx.SetStatusCode(fiber.StatusInternalServerError)
		}
	}
}

// underPage reports whether a path belongs to the signing page, whose responses have no envelope.
func underPage(path string) bool { return path == "/w" || strings.HasPrefix(path, "/w/") }
