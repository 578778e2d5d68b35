package api

import (
	"crypto/sha256"
	_ "embed" // openapi.json
	"encoding/hex"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// document is the API described for programs: OpenAPI 3.1, written by hand. Tests hold it to the
// routes, and every answer of theirs to it.
//
//go:embed openapi.json
var document []byte

// Document is the OpenAPI document of GET /v1/openapi.json, a copy.
func Document() []byte { return append([]byte{}, document...) }

// documentPath is where the document is; it is the one answer under /v1 without an envelope.
const documentPath = "/v1/openapi.json"

// documentTag names the version of a document (RFC 9110, ETag).
func documentTag(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// openAPI is GET /v1/openapi.json, for everybody. It is the one answer that a browser or a proxy may store, for an hour, so
// it says that its headers depend on the request's Origin (see cors): a stored copy without them must not answer the portal.
func (s *Server) openAPI(c *fiber.Ctx) error {
	c.Vary(fiber.HeaderOrigin)
	c.Set(fiber.HeaderETag, s.documentTag)
	c.Set(fiber.HeaderCacheControl, "public, max-age=3600")
	if etagMatches(c.Get(fiber.HeaderIfNoneMatch), s.documentTag) {
		return c.SendStatus(fiber.StatusNotModified)
	}
	return sendJSON(c, fiber.StatusOK, document)
}

// etagMatches tells whether an If-None-Match holds a tag; weak comparison, as it is for a GET.
func etagMatches(header, tag string) bool {
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}
