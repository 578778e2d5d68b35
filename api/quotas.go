package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/quota"
	"purser/wallet"
)

// limitOf is a key's limit, and under which name its requests are counted.
func (s *Server) limitOf(key *wallet.Key) (name string, limit quota.Limit) {
	limit = quota.Limit{Count: s.Limits.Hourly(key.Kind, key.Tier), Span: time.Hour}
	switch {
	case key.Kind == wallet.BotKey:
		name = "bot/" + key.Lineage()
	case key.Owner != "":
		name = "api/" + string(key.Owner)
	default:
		name = "api/" + key.Lineage()
	}
	return name, limit
}

// rateLimit counts a request against its key's limit; RATE_LIMIT_EXCEEDED when that is reached.
func (s *Server) rateLimit(c *fiber.Ctx, key wallet.Key) error {
	name, limit := s.limitOf(&key)
	q, err := s.Meter.Take(c.UserContext(), name, limit)
	if err != nil {
		return err
	}
	left(c, q)
	requestState(c).quota = q
	if !q.OK {
		return s.rateLimited(c, q, "requests an hour")
	}
	return nil
}

// rateLimited writes the headers of a 429 and returns its error: what names the limit, after its number.
func (s *Server) rateLimited(c *fiber.Ctx, q quota.Quota, what string) error {
	left(c, q)
	c.Set(fiber.HeaderRetryAfter, seconds(q.Reset))
	const soon = 2 * time.Minute // a longer wait is told by the clock
	if q.Reset > soon {
		return wallet.Refuse(wallet.RateLimitExceeded, "at most %d %s: there is room again at %s", q.Limit, what, wallet.Timestamp(s.Now().Add(q.Reset)))
	}
	return wallet.Refuse(wallet.RateLimitExceeded, "at most %d %s: try again in %s seconds", q.Limit, what, seconds(q.Reset))
}

// left writes the headers that tell what is left of a limit.
func left(c *fiber.Ctx, q quota.Quota) {
	h := &c.Response().Header
	var digits [20]byte
	h.SetCanonical([]byte("Ratelimit-Limit"), strconv.AppendUint(digits[:0], q.Limit, 10))
	h.SetCanonical([]byte("Ratelimit-Remaining"), strconv.AppendUint(digits[:0], q.Left, 10))
	h.SetCanonical([]byte("Ratelimit-Reset"), strconv.AppendInt(digits[:0], wholeSeconds(q.Reset), 10))
}

// seconds rounds up, and is never zero: waiting that long is enough.
func seconds(d time.Duration) string { return strconv.FormatInt(wholeSeconds(d), 10) }

func wholeSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
