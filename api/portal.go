package api

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/wallet"
)

// The portal is a page on another origin. It calls the API like any other client, with a session instead of a key (see
// handlers.Portal). It uses no cookies, because browsers send a host's cookies to all of its ports, and so to any other
// service there.

// portalPath is the endpoint that opens (POST) and ends (DELETE) a session.
const portalPath = "/v1/portal/session"

// portal reports whether a portal session may call an endpoint: those of webhooks, the list of events and the description
// of the key. Listening is excluded; it needs a key.
func (e endpoint) portal() bool {
	return e.scope == wallet.Webhooks && !strings.HasSuffix(e.pattern, "/listen") || e.method == fiber.MethodGet && (e.pattern == "/v1/key" || e.pattern == "/v1/webhooks/events")
}

// portalData is `data` of POST /v1/portal/session. The session is shown only once.
type portalData struct {
	Session   string         `json:"session"`
	ExpiresAt string         `json:"expires_at"`
	App       string         `json:"app"` // name of the key's app; "" if it has none
	KeyHint   string         `json:"key_hint"`
	Kind      wallet.KeyKind `json:"kind"`
	Tier      wallet.Tier    `json:"tier"`
	Cluster   string         `json:"cluster"`
	Bot       string         `json:"bot"` // without @; "" while it is not known
}

// openPortal is POST /v1/portal/session {token}: it exchanges the token of a link from /api in chat for a session. A token
// works only once, so an Idempotency-Key has no effect here.
func (s *Server) openPortal(c *fiber.Ctx) error {
	if err := s.arrived(c); err != nil {
		return err
	}
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("token"); err != nil {
		return err
	}
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	opened, err := s.Portal.Open(c.UserContext(), token, s.from(c))
	if err != nil {
		return s.notAKey(c, err)
	}
	return s.succeed(c, fiber.StatusOK, "done.session_opened", portalData{
		Session: opened.Secret, ExpiresAt: stamp(opened.EndsAt), App: opened.AppName, KeyHint: opened.Key.Hint,
		Kind: opened.Key.Kind, Tier: opened.Key.Tier, Cluster: s.Cluster, Bot: s.BotName(),
	})
}

// portalEndData is `data` of DELETE /v1/portal/session.
type portalEndData struct {
	Ended bool `json:"ended"`
}

// closePortal is DELETE /v1/portal/session: it ends the session that the request carries.
func (s *Server) closePortal(c *fiber.Ctx) error {
	secret := bearerToken(c)
	if _, err := s.Portal.Check(c.UserContext(), secret); err != nil {
		return s.notAKey(c, err)
	}
	if err := s.Portal.End(c.UserContext(), secret); err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "done.session_ended", portalEndData{Ended: true})
}

// authenticateSession returns the key of a session. The request counts against the session's own hourly limit, not the
// key's: the key's quota is only read, for the answer to show. Errors: INVALID_API_KEY, RATE_LIMIT_EXCEEDED.
func (s *Server) authenticateSession(c *fiber.Ctx, secret string, want wallet.KeyKind) (wallet.Key, error) {
	// A session of one kind of key cannot call the endpoints of the other.
	key, err := s.Portal.Check(c.UserContext(), secret)
	if err == nil && want != "" && key.Kind != want {
		err = wallet.Refuse(wallet.InvalidAPIKey, "portal_access.other_kind")
	}
	if err != nil {
		return wallet.Key{}, s.notAKey(c, err)
	}
	// Sessions are counted by hash, so that no secret stays in memory.
	r := requestState(c)
	r.now = s.Now()
	q := s.sessions.take(sha256.Sum256([]byte(secret)), r.now)
	if !q.OK {
		return wallet.Key{}, s.rateLimited(c, q, "rate_limit.requests_per_hour")
	}
	left(c, q)
	name, limit := s.limitOf(&key)
	requestState(c).quota, err = s.Meter.Look(c.UserContext(), name, limit)
	return key, err
}

// cors sets the CORS headers that let the portal's page read an answer: only for its exact origin, and only if the request
// carries a session or is to portalPath. Credentials (cookies) are never allowed, and no other origin gets a header.
func (s *Server) cors(c *fiber.Ctx) error {
	origins := c.Request().Header.PeekAll(fiber.HeaderOrigin)
	if len(origins) != 1 || string(origins[0]) != s.pages {
		return c.Next()
	}
	if c.Method() == fiber.MethodOptions {
		return s.preflight(c)
	}
	// Responses to a session, and to the request that opens one. A response to a key is never readable for a page.
	if c.Path() == portalPath || strings.HasPrefix(c.Path(), "/v1/") && handlers.IsPortalSession(bearerToken(c)) {
		s.allowOrigin(c)
		c.Set(fiber.HeaderAccessControlExposeHeaders, "Idempotency-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id")
	}
	return c.Next()
}

// allowOrigin lets the portal's origin read the answer. Answers to other origins need no Vary of their own, as none of them
// may be stored, but for openAPI's.
func (s *Server) allowOrigin(c *fiber.Ctx) {
	c.Set(fiber.HeaderAccessControlAllowOrigin, s.pages)
	c.Vary(fiber.HeaderOrigin)
}

// preflight answers a CORS preflight with the methods that the portal may use on the path. On other paths, OPTIONS is
// handled like any other method.
func (s *Server) preflight(c *fiber.Ctx) error {
	methods := s.portalMethods(c.Path())
	if len(methods) == 0 || len(c.Request().Header.Peek(fiber.HeaderAccessControlRequestMethod)) == 0 {
		return c.Next()
	}
	s.allowOrigin(c)
	c.Set(fiber.HeaderAccessControlAllowMethods, strings.Join(methods, ", "))
	c.Set(fiber.HeaderAccessControlAllowHeaders, "Authorization, Content-Type, Idempotency-Key")
	c.Set(fiber.HeaderAccessControlMaxAge, "600")
	c.Status(fiber.StatusNoContent)
	return nil
}

// portalMethods returns the HTTP methods that the portal may use on a path, sorted; none if it may use none.
func (s *Server) portalMethods(path string) (methods []string) {
	if path == portalPath {
		return []string{fiber.MethodDelete, fiber.MethodPost}
	}
	for _, e := range s.endpoints() {
		if e.portal() && fits(e.pattern, path) {
			methods = append(methods, e.method)
		}
	}
	slices.Sort(methods)
	return slices.Compact(methods) // a path can fit two patterns
}

// fits reports whether a path matches a pattern. A segment with a colon (:id) matches any segment that is not empty.
func fits(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(want, got string) bool {
		return want == got || strings.HasPrefix(want, ":") && got != ""
	})
}
