package market

import (
	"fmt"
	"time"
)

// The providers, by the names that SetFault, SetLimit and the knobs take.
const (
	Jupiter       = "jupiter"
	GeckoTerminal = "geckoterminal"
	Frankfurter   = "frankfurter"
)

// perMinute is how many calls each provider allows without a key. With a key, Jupiter allows twice as many.
const perMinute = 30

// window is the time over which calls are counted.
const window = time.Minute

// maxPerMinute bounds SetLimit, because the time of every counted call is remembered.
const maxPerMinute = 100_000

// limit counts the calls of a provider over a sliding window. Calls with a key are counted apart from those without,
// as if all keys belonged to one customer. Market.mu guards it.
type limit struct {
	most  int // calls without a key in any window; with a key twice as many
	calls [2][]time.Time
}

// allowance is what a limit says of one call.
type allowance struct {
	ok        bool
	used      int // calls in the window, with this one if it is ok
	remaining int
	reset     time.Time // when the oldest call leaves the window
}

// take counts a call, unless there were too many.
func (l *limit) take(now time.Time, keyed bool) allowance {
	calls, most := &l.calls[0], l.most
	if keyed {
		calls, most = &l.calls[1], 2*l.most
	}
	old := 0
	for old < len(*calls) && !(*calls)[old].After(now.Add(-window)) {
		old++
	}
	*calls = (*calls)[old:]
	a := allowance{ok: len(*calls) < most, reset: now.Add(window)}
	if a.ok {
		*calls = append(*calls, now)
	}
	a.used, a.remaining = len(*calls), max(0, most-len(*calls))
	if a.used > 0 {
		a.reset = (*calls)[0].Add(window)
	}
	return a
}

// SetLimit changes how many calls a minute a provider allows without a key, Jupiter or GeckoTerminal.
func (m *Market) SetLimit(provider string, calls int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.limits[provider]
	if l == nil {
		return fmt.Errorf("%w: %q", ErrProvider, provider)
	}
	if calls < 0 || calls > maxPerMinute {
		return fmt.Errorf("a provider allows 0 to %d calls a minute", maxPerMinute)
	}
	l.most = calls
	return nil
}
