package api

import (
	"crypto/sha256"
	_ "embed" // openapi.json
	"encoding/hex"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// document describes the API for programs: OpenAPI 3.1, written by hand. Tests compare it with the routes, and compare
// every response of the API's tests with it.
//
//go:embed openapi.json
var document []byte

// Document is the OpenAPI document of GET /v1/openapi.json, a copy.
func Document() []byte { return append([]byte{}, document...) }

// documentPath is where the document is served. It is the only response under /v1 without an envelope.
const documentPath = "/v1/openapi.json"

// documentTag names the version of a document (RFC 9110, ETag).
func documentTag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// openAPI is GET /v1/openapi.json, which needs no key. It is the only response that a browser or a proxy may store, for an
// hour. So it says that its headers depend on the request's Origin (see cors): a stored copy without them must not be given
// to the portal.
func (s *Server) openAPI(c *fiber.Ctx) error {
	c.Vary(fiber.HeaderOrigin)
	c.Set(fiber.HeaderETag, s.documentTag)
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	if etagMatches(c.Get(fiber.HeaderIfNoneMatch), s.documentTag) {
		return c.SendStatus(fiber.StatusNotModified)
	}
	return sendJSON(c, fiber.StatusOK, document)
}

// etagMatches reports whether an If-None-Match contains a tag, by weak comparison, as for a GET (RFC 9110, section 13.1.2).
func etagMatches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}
