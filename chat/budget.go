package chat

import (
	"errors"
	"sync"
	"time"

	"purser/wallet"
)

// How often one person may have a Solana node asked: so many times at once, and once more after each pause. It
// bounds what a stranger costs. What apps run is bounded by the limits of the API.
const (
	// Lookups is how many of them there are at once, unless Options say otherwise.
	Lookups     = 30
	lookupPause = 3 * time.Second
	// toldPause is how long whoever goes on is not told again: their answers would pile up.
	toldPause = 10 * time.Second
)

// budget counts lookups for each person, in memory: a restart gives everybody all of them again.
type budget struct {
	most   int
	mu     sync.Mutex
	people map[int64]spent // by Telegram id; whoever has all of them left is not there
	sweep  int             // at how many people those are looked for
}

// spent is what one person has used up.
type spent struct {
	full time.Time // when they have all lookups again
	told time.Time // when they were last told that they have none
}

func newBudget(most int) *budget { return &budget{most: most, people: map[int64]spent{}, sweep: 1024} }

// take uses one lookup. Without one left it tells how long that lasts, and whether to say so.
func (b *budget) take(who int64, now time.Time) (wait time.Duration, say bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.people[who]
	full := s.full
	if full.Before(now) {
		full = now
	}
	if wait := full.Sub(now) - time.Duration(b.most-1)*lookupPause; wait > 0 {
		say := now.Sub(s.told) >= toldPause
		if say {
			s.told = now
			b.people[who] = s
		}
		return wait, say
	}
	if len(b.people) >= b.sweep {
		for id, s := range b.people {
			if !s.full.After(now) {
				delete(b.people, id)
			}
		}
		b.sweep = max(1024, 2*len(b.people))
	}
	b.people[who] = spent{full: full.Add(lookupPause), told: s.told}
	return 0, false
}

// tooOften is the refusal of a lookup. quiet: they have been told just before.
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

// slowDown answers whoever has no lookup left. What was being asked goes on.
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
