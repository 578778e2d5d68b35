package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
)

// noticeOfEnd is the shortest time between the announcement that an endpoint will end, and its end.
const noticeOfEnd = 90 * 24 * time.Hour

// deprecation announces that an endpoint will end.
type deprecation struct {
	since     time.Time // when the end was announced
	ends      time.Time // earliest time of the end: since and noticeOfEnd, or later
	successor string    // path of the endpoint that replaces it; "": none
}

// deprecated lists the endpoints that will end, by method and pattern as in endpoints. Each is also marked as
// deprecated in openapi.json. There is none today.
func deprecated() map[string]deprecation {
	return map[string]deprecation{}
}

// announceEnd sets the headers Deprecation (RFC 9745) and Sunset (RFC 8594) on every response of an endpoint that
// will end, errors too.
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
