package wallet

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"
)

// SummaryPlan is when a person gets a summary of their portfolio, by their clock. The zero value is Mondays at DefaultSummaryTime. Whether they get
// one at all is their setting of CategorySummary.
type SummaryPlan struct {
	Daily bool       `json:"daily,omitempty"` // else weekly, on Mondays
	At    *TimeOfDay `json:"at,omitempty"`    // nil: DefaultSummaryTime
}

// DefaultSummaryTime is when summaries are sent to somebody who chose no time: 09:00.
const DefaultSummaryTime TimeOfDay = 9 * 60

// ErrSummaryPlan says that a text names no time of a summary.
var ErrSummaryPlan = errors.New("not a time of a summary")

// With returns the plan changed by one word: "daily", "weekly" or a time of day such as "08:30". ErrSummaryPlan otherwise.
func (p SummaryPlan) With(word string) (SummaryPlan, error) {
	switch word = strings.ToLower(strings.TrimSpace(word)); word {
	case "daily":
		p.Daily = true
	case "weekly":
		p.Daily = false
	default:
		at, err := ParseTimeOfDay(word)
		if err != nil {
			return p, ErrSummaryPlan
		}
		p.At = &at
	}
	return p, nil
}

// Equal reports whether two plans are the same.
func (p SummaryPlan) Equal(q SummaryPlan) bool { return p.Daily == q.Daily && p.Time() == q.Time() }

// Time returns the time of day of summaries.
func (p SummaryPlan) Time() TimeOfDay {
	if p.At == nil {
		return DefaultSummaryTime
	}
	return *p.At
}

// NextLook returns the first time after now at which the person's clock shows the time of their summaries, on any day. The portfolio is recorded each
// day, also for weekly summaries. Where the clock skips that time, it is the time that follows the gap.
func (s Settings) NextLook(now time.Time) time.Time {
	here := now.In(s.TimeZone.Location())
	for days := 0; ; days++ {
		if at := s.lookOn(here, days); at.After(now) {
			return at
		}
	}
}

// lookOn is the time of the summary so many days after a day.
func (s Settings) lookOn(day time.Time, days int) time.Time {
	return onClock(day.AddDate(0, 0, days), s.Summary.Time())
}

// SummaryDue reports whether a summary should be sent at now, given when the last one was sent. One summary makes up for all that were missed. Two summaries
// are at least 18 hours apart, so a change of the time zone or of the plan cannot send two in a row.
//
// The first summary comes at the first time of the plan after last, which is then when the person turned summaries on.
func (s Settings) SummaryDue(last, now time.Time, first bool) bool {
	const least = 18 * time.Hour // shorter than any day between two summaries, however clocks are changed
	here := now.In(s.TimeZone.Location())
	for days := 0; days > -8; days-- {
		at := s.lookOn(here, days)
		if at.After(now) || !s.Summary.Daily && at.In(here.Location()).Weekday() != time.Monday {
			continue
		}
		return at.After(last) && (first || now.Sub(last) >= least)
	}
	return false
}

// PortfolioDays is for how many days the value of a portfolio is kept.
const PortfolioDays = 92

// Portfolio is what is kept of a person's portfolio from one summary to the next. It is kept only for people who want summaries.
type Portfolio struct {
	Owner  UserID           `json:"owner"`
	SentAt time.Time        `json:"sent_at"` // when the last summary was sent; before the first, when the person turned summaries on
	Points []PortfolioPoint `json:"points,omitempty"`
	// RewardsFrom is the first epoch whose staking rewards no summary has counted. 0 means no baseline yet: the first check of a person with stakes sets it and counts
	// none.
	RewardsFrom uint64 `json:"rewards_from,omitempty"`
}

// PortfolioPoint is what everything was worth at one time.
type PortfolioPoint struct {
	At    time.Time `json:"at"`
	Value USD       `json:"value"`
}

// Until returns the portfolio without what a clock that was ahead has written. A summary that was sent at a time to come counts as sent a day ago.
func (p Portfolio) Until(now time.Time) Portfolio {
	p.Points = slices.DeleteFunc(slices.Clone(p.Points), func(point PortfolioPoint) bool { return point.At.After(now) })
	if p.SentAt.After(now) {
		p.SentAt = now.Add(-24 * time.Hour)
	}
	return p
}

// Record adds a value, at most one in twelve hours, and drops those that are older than PortfolioDays.
func (p Portfolio) Record(at time.Time, value USD) Portfolio {
	const apart = 12 * time.Hour
	points := slices.DeleteFunc(slices.Clone(p.Points), func(old PortfolioPoint) bool { return at.Sub(old.At) > PortfolioDays*24*time.Hour })
	if n := len(points); n == 0 || at.Sub(points[n-1].At) >= apart {
		points = append(points, PortfolioPoint{at, value})
	}
	p.Points = points
	return p
}

// ValueAt returns what the portfolio was worth at a time, or at the last time before it that is known. ok is false if none is.
func (p Portfolio) ValueAt(at time.Time) (value USD, ok bool) {
	for _, point := range p.Points {
		if point.At.After(at) {
			break
		}
		value, ok = point.Value, true
	}
	return value, ok
}

// Summary is what a summary message says about a person's portfolio.
type Summary struct {
	Since, At time.Time
	Daily     bool
	Holdings  []PortfolioHolding // the most valuable first, then those whose worth is unknown
	Total     Worth              // of all holdings
	Before    Worth              // of all at Since; unknown if nobody knows
	Points    []PortfolioPoint
	Flows     []TokenFlow // by token, of the person's payments since Since: SOL first
	Received  int         // payments
	Sent      int         // payments
	Swapped   int         // swaps
	Rewards   uint64      // lamports that stakes earned in the epochs that ended since the summary before
}

// PortfolioHolding is what a person has of one token in all their wallets.
type PortfolioHolding struct {
	Token  Token
	Units  uint64
	Staked bool // SOL in stakes that the person can use
	Worth  Worth
}

// TokenFlow is how much of one token payments brought and took, in base units.
type TokenFlow struct {
	Token   Token
	In, Out uint64
}

// Count returns the summary with a transaction counted that landed in its time, and adds to flows, by mint, what a payment brought or took. Tokens that
// nobody listed are left out, and so is what only moved between the person's wallet and their stakes.
func (s Summary) Count(rules Rules, t Transaction, flows map[Address]TokenFlow) Summary {
	landed := t.Status == Confirmed || rules.Life == Incoming && t.Status == Received
	if !landed || !t.ConfirmedAt.After(s.Since) || t.ConfirmedAt.After(s.At) || t.Token.Symbol == "" {
		return s
	}
	flow := flows[t.Token.Mint]
	flow.Token = t.Token
	switch {
	case rules.Life == Incoming:
		s.Received++
		flow.In += t.Amount
	case rules.Pays:
		s.Sent++
		flow.Out += t.Amount
	case !rules.ChangesStakes:
		s.Swapped++
		return s
	default:
		return s
	}
	flows[t.Token.Mint] = flow
	return s
}

// SortHoldings sorts holdings as people read them: the most valuable first, those of unknown worth last, each group by name.
func SortHoldings(all []PortfolioHolding) {
	slices.SortFunc(all, func(a, b PortfolioHolding) int {
		switch {
		case a.Worth.Unknown != b.Worth.Unknown:
			if a.Worth.Unknown {
				return 1
			}
			return -1
		case a.Worth.USD != b.Worth.USD:
			return cmp.Compare(b.Worth.USD, a.Worth.USD)
		}
		return cmp.Compare(a.Token.Name(), b.Token.Name())
	})
}

// Changed returns by how much the total has changed since Since, in hundredths of a percent. ok is false if one of the values is unknown, or the first is nothing.
func (s Summary) Changed() (change Change, ok bool) {
	if s.Total.Unknown || s.Before.Unknown || s.Before.USD == 0 {
		return 0, false
	}
	below, ok := s.Total.USD.Below(s.Before.USD)
	return Change(-below), ok
}
