package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/quota"
	"purser/wallet"
)

// Limits are how much of each is allowed (SPEC, Limits): requests an hour of one owner with all their
// API keys, calls an hour of one bot token, messages a minute to one person.
type Limits struct {
	APIFree, APIPro uint64
	BotFree, BotPro uint64
	Messages        uint64
}

// DefaultLimits are those of the specification.
func DefaultLimits() Limits {
	return Limits{APIFree: 100, APIPro: 1000, BotFree: 50, BotPro: 500, Messages: 30}
}

// of is a key's limit, and under which name its requests are counted.
func (l Limits) of(key *wallet.Key) (name string, limit quota.Limit) {
	limit = quota.Limit{Count: l.Hourly(key.Kind, key.Tier), Span: time.Hour}
	switch {
	case key.Kind == wallet.BotKey:
		name = "bot/" + key.Line()
	case key.Owner != "":
		name = "api/" + string(key.Owner)
	default:
		name = "api/" + key.Line()
	}
	return name, limit
}

// Hourly is how many requests an hour a kind of key has in a tier.
func (l Limits) Hourly(kind wallet.KeyKind, tier wallet.Tier) uint64 {
	switch pro := tier == wallet.ProTier; {
	case kind == wallet.BotKey && pro:
		return l.BotPro
	case kind == wallet.BotKey:
		return l.BotFree
	case pro:
		return l.APIPro
	}
	return l.APIFree
}

// within counts a request against its key's limit; RATE_LIMIT_EXCEEDED when that is reached.
func (s *Server) within(c *fiber.Ctx, key wallet.Key) error {
	name, limit := s.Limits.of(&key)
	q, err := s.Meter.Take(c.UserContext(), name, limit)
	if err != nil {
		return err
	}
	left(c, q)
	asked(c).quota = q
	if !q.OK {
		c.Set(fiber.HeaderRetryAfter, seconds(q.Reset))
		return wallet.Refuse(wallet.RateLimitExceeded, "at most %d requests an hour: there is room again at %s", q.Limit, wallet.Timestamp(s.Now().Add(q.Reset)))
	}
	return nil
}

// left writes the headers that tell what is left of a limit.
func left(c *fiber.Ctx, q quota.Quota) {
	h := &c.Response().Header
	var digits [20]byte
	h.SetCanonical([]byte("Ratelimit-Limit"), strconv.AppendUint(digits[:0], q.Limit, 10))
	h.SetCanonical([]byte("Ratelimit-Remaining"), strconv.AppendUint(digits[:0], q.Left, 10))
	h.SetCanonical([]byte("Ratelimit-Reset"), strconv.AppendInt(digits[:0], wholeSeconds(q.Reset), 10))
}
