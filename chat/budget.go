package chat

import (
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

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
	most   int // lookups that each person has at once; never changes
	mu     sync.Mutex
	people map[int64]*lookups // by Telegram id; guarded by mu. People who have all lookups left may be missing
	sweep  int                // number of entries at which forget removes full ones; guarded by mu
}

// lookups is the state of one person.
type lookups struct {
	// bucket has its own lock. Its state depends only on the times passed to it, so tests use a fixed clock.
	bucket     *rate.Limiter
	notifiedAt time.Time // when the person last got a message about the limit
}

// newBudget returns a budget in which each person has most lookups at once.
func newBudget(most int) *budget {
	return &budget{most: most, people: map[int64]*lookups{}, sweep: 1024}
}

// take uses one lookup. If none is left, it returns how long the person has to wait, and notify reports whether to send a
// message about it.
func (b *budget) take(who int64, now time.Time) (wait time.Duration, notify bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.people[who]
	if p == nil {
		b.forget(now)
		p = &lookups{bucket: rate.NewLimiter(rate.Every(lookupPause), b.most)}
		b.people[who] = p
	}
	// ReserveN, unlike AllowN, also returns how long the person has to wait.
	taken := p.bucket.ReserveN(now, 1)
	if wait = taken.DelayFrom(now).Round(time.Millisecond); wait <= 0 {
		return 0, false
	}
	// A refused lookup must not delay the next one.
	taken.CancelAt(now)
	if notify = now.Sub(p.notifiedAt) >= notifiedPause; notify {
		p.notifiedAt = now
	}
	return wait, notify
}

// forget removes people who have all lookups left again, so that memory does not grow with every person ever seen. It runs
// when the map has reached sweep entries, and sets sweep to twice of what remains.
func (b *budget) forget(now time.Time) {
	if len(b.people) < b.sweep {
		return
	}
	maps.DeleteFunc(b.people, func(_ int64, p *lookups) bool { return p.bucket.TokensAt(now) >= float64(b.most) })
	b.sweep = max(1024, 2*len(b.people))
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
