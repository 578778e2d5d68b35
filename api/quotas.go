package api

import (
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/quota"
	"purser/wallet"
)

// limitOf returns a key's hourly limit of requests, and the name of its counter. All API keys of an owner count
// together. Each bot token and each ownerless key counts alone, together with its rotations.
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

// rateLimit counts a request against its key's limit, and sets the RateLimit headers. RATE_LIMIT_EXCEEDED if the limit is
// reached: then the request is not counted.
func (s *Server) rateLimit(c *fiber.Ctx, r *request, key *wallet.Key) error {
	name, limit := s.limitOf(key)
	q, err := s.Meter.TakeAt(r, r.now, name, limit)
	if err != nil {
		return err
	}
	left(c, q)
	r.quota = q
	if !q.OK {
		return s.rateLimited(c, q, "rate_limit.requests_per_hour")
	}
	return nil
}

// rateLimited sets the headers of a 429 and returns its error. key is a sentence of [rate_limit] in the catalogue, which says
// what is limited.
func (s *Server) rateLimited(c *fiber.Ctx, q quota.Quota, key string) error {
	left(c, q)
	c.Set(fiber.HeaderRetryAfter, seconds(q.Reset))
	wait := time.Duration(wholeSeconds(q.Reset)) * time.Second
	return wallet.RefuseFor(wallet.RateLimitExceeded, wallet.Because(key, wallet.NumberArg("Limit", q.Limit), wallet.DurationArg("Wait", wait)))
}

// left sets the RateLimit headers, which say what is left of a limit: requests, and seconds until one more is free.
func left(c *fiber.Ctx, q quota.Quota) {
	h := &c.Response().Header
	var digits [20]byte
	h.SetCanonical([]byte("Ratelimit-Limit"), strconv.AppendUint(digits[:0], q.Limit, 10))
	h.SetCanonical([]byte("Ratelimit-Remaining"), strconv.AppendUint(digits[:0], q.Remaining, 10))
	h.SetCanonical([]byte("Ratelimit-Reset"), strconv.AppendInt(digits[:0], wholeSeconds(q.Reset), 10))
}

// seconds returns a duration in whole seconds, rounded up and at least 1: waiting that long is always enough.
func seconds(d time.Duration) string { return strconv.FormatInt(wholeSeconds(d), 10) }

// wholeSeconds is seconds as a number.
func wholeSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
