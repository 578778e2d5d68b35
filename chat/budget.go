package chat

import (
	"errors"
	"maps"
	"strconv"
	"sync"
	"time"

	"purser/quota"
	"purser/wallet"
)

// Limits on how often one person can make purser query a Solana node: a number at once, and one more after each pause. They
// bound the cost of a stranger. Commands run by apps have the API's limits instead.
const (
	// Lookups is the number of lookups available at once, unless Options.Lookups is set.
	Lookups = 30
	// lookupPause is the time after which one used lookup becomes available again.
	lookupPause = 3 * time.Second
	// notifiedPause is the minimum time between two messages about the limit to one person, so that refusals do not flood their
	// chat.
	notifiedPause = 10 * time.Second
)

// budget counts lookups by person in the memory of this node. A restart resets all counts, and each node counts on its own
// (docs/decisions/0034).
type budget struct {
	lookups *quota.Buckets // by Telegram id

	mu       sync.Mutex
	notified map[int64]time.Time // when a person last got a message about the limit; guarded by mu
}

// maxNotified is how many people are remembered before those are forgotten who may get a message again.
const maxNotified = 1024

// newBudget returns a budget in which each person has most lookups at once.
func newBudget(most int) *budget {
	return &budget{lookups: quota.NewBuckets(most, lookupPause), notified: map[int64]time.Time{}}
}

// take uses one lookup. If none is left, it returns how long the person has to wait, and notify reports whether to send a
// message about it.
func (b *budget) take(who int64, now time.Time) (wait time.Duration, notify bool) {
	if wait = b.lookups.Take(strconv.FormatInt(who, 10), now); wait <= 0 {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if last, ok := b.notified[who]; ok && now.Sub(last) < notifiedPause {
		return wait, false
	}
	if len(b.notified) >= maxNotified {
		maps.DeleteFunc(b.notified, func(_ int64, at time.Time) bool { return now.Sub(at) >= notifiedPause })
	}
	b.notified[who] = now
	return wait, true
}

// tooOften is the error of a lookup over the limit. quiet means that the person just got a message about it.
type tooOften struct {
	wait  time.Duration
	quiet bool
}

// Error implements error. Nobody sees the text: SlowDown answers the person.
func (t *tooOften) Error() string { return "too many lookups" }

// mayAsk uses one of the person's lookups, or returns a *tooOften. Call it after all checks that need no Solana node.
func (c *Chat) mayAsk(h Inbound) error {
	if h.app != nil {
		return nil
	}
	wait, say := c.budget.take(h.From.TelegramID, c.Now())
	if wait <= 0 {
		return nil
	}
	return &tooOften{wait, !say}
}

// maySpare uses one of the person's lookups and reports true, or reports false. It is for an answer that says less without one.
func (c *Chat) maySpare(h Inbound) bool {
	return h.app != nil || c.budget.lookups.Take(strconv.FormatInt(h.From.TelegramID, 10), c.Now()) <= 0
}

// SlowDown returns the Turn that answers a person who is over the limit of lookups. ok is false if err is another error.
// Fronts call it with the error of every Endpoint.
func (c *Chat) SlowDown(h Inbound, err error) (Turn, bool) {
	var often *tooOften
	if !errors.As(err, &often) {
		return Turn{}, false
	}
	// turn returns an error only for the error that it is given, here nil.
	turn, _ := c.turn(h, often.slowDown(h), nil)
	return turn, true
}

// slowDown returns the answer. It does not touch the open question, so the person can answer it later.
func (t *tooOften) slowDown(h Inbound) Action {
	// A tap always gets its toast, since its button shows a spinner until it is answered.
	if t.quiet && h.Tap == nil {
		return func(*replyTx) error { return nil }
	}
	return func(s *replyTx) error {
		s.failed = true
		// Round up to whole seconds: after the displayed time the next lookup must work.
		if h.Tap != nil {
			return s.toast("toast.too_often", vars{"Seconds": int((t.wait + time.Second - 1) / time.Second)})
		}
		return s.refused(wallet.Refuse(wallet.RateLimitExceeded, "rate_limit.questions", wallet.DurationArg("Wait", max(t.wait, time.Second))))
	}
}
