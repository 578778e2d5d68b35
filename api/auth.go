package api

import (
	"cmp"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"purser/handlers"
	"purser/wallet"
)

// operation is a handler of a request that was authenticated by a key.
type operation func(c *fiber.Ctx, key wallet.Key) error

// key returns a handler that runs an endpoint for requests with a key of its kind and scope (docs/specification.md, Keys), or
// with a session of the portal that stands for such a key. The key is checked first, so that a stranger learns nothing else.
// A request whose body was withheld (see headerReceived) is refused after it.
func (s *Server) key(e endpoint) fiber.Handler {
	return func(c *fiber.Ctx) error {
		// The order is part of the contract: key, body, scope. A request with a bad key learns nothing about the
		// rest.
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

// authenticate returns the key of a request, and counts the request against the key's limit. Errors: INVALID_API_KEY,
// POLICY_VIOLATION for a key whose owner's account is frozen, RATE_LIMIT_EXCEEDED, and INTERNAL_ERROR if the store fails. The first use of
// the key from this client is logged for its owner.
func (s *Server) authenticate(c *fiber.Ctx, e endpoint) (wallet.Key, error) {
	// A session of the portal is recognised by its form. For other endpoints it is a key that does not exist.
	secret := bearerToken(c)
	if handlers.IsPortalSession(secret) && e.portal() {
		return s.authenticateSession(c, secret, e.kind)
	}
	// One reading of the clock serves the check, the limit, and an answer that waits for nothing.
	r := requestState(c)
	r.now = s.Now()
	key, err := s.Keys.Check(r, r.now, secret, e.kind)
	if wallet.CodeOf(err) == wallet.PolicyViolation { // the key is paused, and counts as it does otherwise
		return wallet.Key{}, cmp.Or(s.rateLimit(c, r, &key), err)
	}
	if err != nil {
		return wallet.Key{}, s.notAKey(c, err)
	}
	if err := s.rateLimit(c, r, &key); err != nil {
		return key, err
	}
	if key.Owner == "" { // an operator's key: there is nobody whose log it could be in
		return key, nil
	}
	return key, s.Security.UsedKey(r, key, s.address(c))
}

// notAKey refuses a request without a valid key. A client that keeps sending such requests gets RATE_LIMIT_EXCEEDED instead.
// A valid key from the same address always passes, so nobody can lock out others behind the same address.
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

// bearerToken returns the secret in the request's Authorization header; "" if there is none, or more than one header.
func bearerToken(c *fiber.Ctx) string {
	return bearerTokenIn(&c.Request().Header)
}

// bearerTokenIn is bearerToken before fiber has the request (headerReceived).
func bearerTokenIn(h *fasthttp.RequestHeader) string {
	headers := h.PeekAll(fiber.HeaderAuthorization)
	if len(headers) != 1 {
		return ""
	}
	return bearer(string(headers[0]))
}

// bearer returns the secret of an Authorization header with the scheme Bearer (RFC 6750), or "".
func bearer(header string) string {
	scheme, secret, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(secret, " ")
}
