package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"purser/handlers"
	"purser/wallet"
)

// operation is a handler that knows who asks.
type operation func(c *fiber.Ctx, key wallet.Key) error

// key lets a request through that carries a key of the endpoint's kind with its scope (docs/specification.md, Keys), or
// a session of the portal that stands for one, within its limit.
func (s *Server) key(e endpoint) fiber.Handler {
	return func(c *fiber.Ctx) error {
		key, err := s.authenticate(c, e)
		if err == nil {
			err = s.arrived(c)
		}
		if err != nil {
			return err
		}
		requestState(c).known = true
		if e.scope != "" && !key.May(e.scope) {
			return wallet.Refuse(wallet.InsufficientScope, "scope_needed.missing", wallet.TextArg("Scope", e.scope))
		}
		return e.run(c, key)
	}
}

// authenticate finds the key, and counts the request against its limit.
func (s *Server) authenticate(c *fiber.Ctx, e endpoint) (wallet.Key, error) {
	secret := bearerToken(c)
	if handlers.IsPortalSession(secret) && e.portal() {
		return s.authenticateSession(c, secret, e.kind)
	}
	key, err := s.Keys.Check(c.UserContext(), secret, e.kind)
	if err != nil {
		return wallet.Key{}, s.notAKey(c, err)
	}
	return key, s.rateLimit(c, key)
}

// notAKey refuses a request without a valid key. A client whose keys keep being refused is limited
// instead; a good key from the same address always passes, so that nobody can lock a neighbour out.
func (s *Server) notAKey(c *fiber.Ctx, err error) error {
	if wallet.CodeOf(err) != wallet.InvalidAPIKey {
		return err
	}
	if q := s.badKeys.take(s.client(c), s.Now()); !q.OK {
		return s.rateLimited(c, q, "rate_limit.requests_per_minute")
	}
	c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	return err
}

// bearerToken is the secret that a request carries; "" for none, and for more than one.
func bearerToken(c *fiber.Ctx) string {
	return bearerTokenIn(&c.Request().Header)
}

func bearerTokenIn(h *fasthttp.RequestHeader) string {
	headers := h.PeekAll(fiber.HeaderAuthorization)
	if len(headers) != 1 {
		return ""
	}
	return bearer(string(headers[0]))
}

// bearer is the secret of an Authorization header (RFC 6750), or "".
func bearer(header string) string {
	scheme, secret, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(secret, " ")
}
