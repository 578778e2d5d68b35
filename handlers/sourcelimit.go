package handlers

import (
	"time"

	"purser/quota"
	"purser/wallet"
)

// SourceLimit bounds how often one person, or one operator's key, makes purser ask a source of quotes or tokens. All share the source's budget
// of calls, so that nobody may use it up alone. Create it with NewSourceLimit.
type SourceLimit struct{ buckets *quota.Buckets }

// NewSourceLimit returns a limit for a source that allows so many calls a minute: each may cause a third of them, at once or one by one.
func NewSourceLimit(perMinute int) *SourceLimit {
	each := max(1, perMinute/3)
	return &SourceLimit{quota.NewBuckets(each, time.Minute/time.Duration(each))}
}

// take counts one call; a nil limit allows all. Errors: RATE_LIMIT_EXCEEDED.
func (l *SourceLimit) take(who Caller, now time.Time) error {
	if l == nil {
		return nil
	}
	about := string(who.User)
	if about == "" {
		about = who.KeyLineage
	}
	wait := l.buckets.Take(about, now)
	if wait <= 0 {
		return nil
	}
	return wallet.Refuse(wallet.RateLimitExceeded, "rate_limit.source", wallet.DurationArg("Wait", (wait+time.Second-1).Truncate(time.Second)))
}
