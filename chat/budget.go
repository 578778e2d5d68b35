package chat

import (
	"errors"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"purser/wallet"
)

// How often one person may have a Solana node asked: so many times at once, and once more after each pause. It
// bounds what a stranger costs. What apps run is bounded by the limits of the API.
const (
	// Lookups is how many of them there are at once, unless Options say otherwise.
	Lookups     = 30
	lookupPause = 3 * time.Second
	// toldPause is how long a person who goes on gets no further message about it: answers would pile up.
	toldPause = 10 * time.Second
)

// budget counts lookups for each person, in the memory of this node, whose calls they are: a restart gives everybody all
// of them again, and each node has its own for them (docs/decisions/0034).
type budget struct {
	most   int
	mu     sync.Mutex
	people map[int64]*lookups // by Telegram id; whoever has all of them left is not there
	sweep  int                // at how many people those are looked for
}

// lookups is what one person has left.
type lookups struct {
	bucket *rate.Limiter
	told   time.Time // when they were last told that they have none
}

func newBudget(most int) *budget {
	return &budget{most: most, people: map[int64]*lookups{}, sweep: 1024}
}

// take uses one lookup. Without one left it tells how long that lasts, and whether to say so.
func (b *budget) take(who int64, now time.Time) (wait time.Duration, say bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.people[who]
	if p == nil {
		b.forget(now)
		p = &lookups{bucket: rate.NewLimiter(rate.Every(lookupPause), b.most)}
		b.people[who] = p
	}
	taken := p.bucket.ReserveN(now, 1)
	if wait = taken.DelayFrom(now).Round(time.Millisecond); wait <= 0 {
		return 0, false
	}
	taken.CancelAt(now)
	if say = now.Sub(p.told) >= toldPause; say {
		p.told = now
	}
	return wait, say
}

// forget takes out whoever has all lookups again, once there are many people.
func (b *budget) forget(now time.Time) {
	if len(b.people) < b.sweep {
		return
	}
	maps.DeleteFunc(b.people, func(_ int64, p *lookups) bool { return p.bucket.TokensAt(now) >= float64(b.most) })
	b.sweep = max(1024, 2*len(b.people))
}

// tooOften is the refusal of a lookup. quiet: the person got a message about it just before.
type tooOften struct {
	wait  time.Duration
	quiet bool
}

func (t *tooOften) Error() string { return "too many lookups" }

// mayAsk uses one of the person's lookups. It comes after every check that needs no node.
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

// SlowDown answers whoever has a node asked too often; false when err says something else. Fronts put it around every
// Endpoint.
func (c *Chat) SlowDown(h Inbound, err error) (Turn, bool) {
	var often *tooOften
	if !errors.As(err, &often) {
		return Turn{}, false
	}
	turn, _ := c.turn(h, often.slowDown(h), nil)
	return turn, true
}

// slowDown answers a person who has no lookup left. The open question stays open.
func (t *tooOften) slowDown(h Inbound) Action {
	if t.quiet && h.Tap == nil {
		return func(*replyTx) error { return nil }
	}
	return func(s *replyTx) error {
		s.failed = true
		if h.Tap != nil {
			return s.toast("toast.too_often", vars{"Seconds": int((t.wait + time.Second - 1) / time.Second)})
		}
		return s.refused(wallet.Refuse(wallet.RateLimitExceeded, "rate_limit.questions", wallet.DurationArg("Wait", max(t.wait, time.Second))))
	}
}
