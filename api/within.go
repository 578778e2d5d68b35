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
	limit.Span = time.Hour
	pro := key.Tier == wallet.ProTier
	switch {
	case key.Kind == wallet.BotKey:
		name, limit.Count = "bot/"+key.Line(), l.BotFree
		if pro {
			limit.Count = l.BotPro
		}
		return name, limit
	case key.Owner != "":
		name = "api/" + string(key.Owner)
	default:
		name = "api/" + key.Line()
	}
	limit.Count = l.APIFree
	if pro {
		limit.Count = l.APIPro
	}
	return name, limit
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
		return wallet.Refuse(wallet.RateLimitExceeded, "at most %d requests an hour: try again in %s seconds", q.Limit, seconds(q.Reset))
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
