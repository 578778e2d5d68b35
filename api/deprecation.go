package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
)

// noticeOfEnd is how long an endpoint goes on after it is first announced that it will end.
const noticeOfEnd = 90 * 24 * time.Hour

// deprecation announces that an endpoint will end.
type deprecation struct {
	since     time.Time // when that was decided
	ends      time.Time // not before; noticeOfEnd after since, or later
	successor string    // the path of what takes its place; "": nothing does
}

// deprecated are the endpoints that will end, by method and pattern as in endpoints. Each is marked as deprecated in
// openapi.json too. None is today.
func deprecated() map[string]deprecation {
	return map[string]deprecation{}
}

// announceEnd puts the headers on whatever an endpoint answers, refusals too (RFC 9745, RFC 8594).
func (s *Server) announceEnd(c *fiber.Ctx, endpoint string) {
	d, ok := s.deprecated[endpoint]
	if !ok {
		return
	}
	c.Set("Deprecation", "@"+strconv.FormatInt(d.since.Unix(), 10))
	c.Set("Sunset", d.ends.UTC().Format(http.TimeFormat))
	if d.successor != "" {
		c.Set(fiber.HeaderLink, "<"+d.successor+`>; rel="successor-version"`)
	}
}
