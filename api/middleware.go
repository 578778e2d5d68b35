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

// request is what is known of a request while it is served; it is the request's context, too.
type request struct {
	deadline
	route string      // the pattern of its route, for the log
	quota quota.Quota // what is left of its key's limit

	framing  framing
	withheld bool // a body was announced and is not read (see headerReceived)
	known    bool // it showed a key, a session, a living link or Telegram's secret
}

// requestState is what is known of a request that came through the door.
func requestState(c *fiber.Ctx) *request {
	r, ok := c.UserContext().(*request)
	if !ok {
		return &request{} // it could not be read
	}
	return r
}

// middleware is around every request that could be read: it gives it an id, headers and a deadline, turns
// its error or panic into an answer, and logs it once. Query, body and Authorization are never
// logged: the first two hold addresses and secrets of links, the last a key.
func (s *Server) middleware(c *fiber.Ctx) error {
	id := s.setDefaultHeaders(c)
	r := &request{deadline: deadline{base: s.base, at: c.Context().Time().Add(answerTimeout)}}
	defer r.end()
	c.SetUserContext(r)

	s.suspectProxy(c)
	header := &c.Request().Header
	r.framing = readFraming(header.RawHeaders())
	r.withheld = r.framing.announced() && header.ContentLength() <= 0
	err := r.framing.refusal()
	if err == nil {
		var release func()
		release, err = s.receive(c)
		defer release()
	}
	if err != nil || r.withheld { // what follows on this connection cannot be told from the body
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

// panicked is a bug of ours, with the stack for our log.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

func (s *Server) recovered(c *fiber.Ctx) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicked{value, debug.Stack()}
		}
	}()
	return c.Next()
}

// log writes the one line of a request; of strangers' requests only so many (see sampler). Its level is that of the worst that can be behind it.
func (s *Server) log(c *fiber.Ctx, id string, err error) {
	status := c.Response().StatusCode()
	if status < 500 && !s.Log.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
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

// setDefaultHeaders puts on what every answer wears and returns the request's id. The signing page's headers
// are on everything of this origin, so that no answer of it can be made to run as a page.
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

// saneID tells whether a caller's own request id may go into our log and answer.
func saneID(id string) bool {
	return len(id) >= 1 && len(id) <= 64 && only(id, func(r byte) bool {
		return isAlphanumeric(r) || r == '-' || r == '_' || r == '.'
	})
}

func isAlphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func only(text string, allowed func(byte) bool) bool {
	for i := range len(text) {
		if !allowed(text[i]) {
			return false
		}
	}
	return true
}

// unread answers what never reached the door: requests that fasthttp could not read to their end.
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

// knownMethods answers methods that fiber does not know, to which it would write plain text.
func (s *Server) knownMethods(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(fctx *fasthttp.RequestCtx) {
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

// underPage tells whether a path belongs to the signing page, whose answers have their own shape.
func underPage(path string) bool { return path == "/w" || strings.HasPrefix(path, "/w/") }
