package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"purser/wallet"
)

// deed is a handler that knows who asks.
type deed func(c *fiber.Ctx, key wallet.Key) error

// key lets a request through that carries a key of a kind with a scope (SPEC, Authentication), within its
// limit. A kind or scope of "" is any.
func (s *Server) key(kind wallet.KeyKind, scope wallet.Scope, next deed) fiber.Handler {
	return func(c *fiber.Ctx) error {
		key, err := s.admit(c, kind)
		if err != nil {
			return err
		}
		if scope != "" && !key.May(scope) {
			return wallet.Refuse(wallet.InsufficientScope, "this needs a key with the scope %s", scope)
		}
		return next(c, key)
	}
}

// admit finds the key, and counts the request against its limit.
func (s *Server) admit(c *fiber.Ctx, want wallet.KeyKind) (wallet.Key, error) {
	key, err := s.authenticate(c, want)
	if err != nil {
		return key, err
	}
	return key, s.within(c, key)
}

// authenticate finds the key. A client whose keys keep being refused is told to slow down instead;
// a good key from the same address always passes, so that nobody can lock a neighbour out.
func (s *Server) authenticate(c *fiber.Ctx, want wallet.KeyKind) (wallet.Key, error) {
	headers := c.Request().Header.PeekAll(fiber.HeaderAuthorization)
	secret := ""
	if len(headers) == 1 {
		secret = bearer(string(headers[0]))
	}
	key, err := s.Keys.Check(c.UserContext(), secret, want)
	if wallet.CodeOf(err) != wallet.InvalidAPIKey {
		return key, err
	}
	if q := s.badKeys.take(s.client(c), s.Now()); !q.OK {
		return wallet.Key{}, s.rateLimited(c, q, "a minute")
	}
	c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	return wallet.Key{}, err
}

// bearer is the secret of an Authorization header (RFC 6750), or "".
func bearer(header string) string {
	scheme, secret, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.Trim(secret, " ")
}
