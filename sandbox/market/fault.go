package market

import (
	"errors"
	"fmt"
	"time"
)

// Kind is a way in which a provider fails.
type Kind string

// The kinds of faults.
const (
	Broken  Kind = "500"     // 500 with an error in JSON
	Limited Kind = "429"     // 429, as if there had been too many calls; Delay is how far ahead the reset lies
	HTML    Kind = "html"    // 502 with a page of a proxy
	Slow    Kind = "slow"    // the answer comes Delay later
	Garbage Kind = "garbage" // 200 with the first half of the answer
)

// usualDelay is the Delay of a fault that has none.
const usualDelay = 30 * time.Second

// maxDelay bounds how long a fault may hold a connection.
const maxDelay = 10 * time.Minute

// Fault says how a provider fails, and how often.
type Fault struct {
	Kind  Kind
	Calls int           // 0: until SetFault ends it
	Delay time.Duration // 0: half a minute
}

// ErrProvider says that there is no such provider.
var ErrProvider = errors.New("the providers are jupiter and geckoterminal")

// SetFault makes a provider fail from its next call on; the zero Fault ends that.
func (m *Market) SetFault(provider string, f Fault) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.limits[provider] == nil {
		return fmt.Errorf("%w: %q", ErrProvider, provider)
	}
	switch f.Kind {
	case "":
		delete(m.faults, provider)
		return nil
	case Broken, Limited, HTML, Slow, Garbage:
	default:
		return fmt.Errorf("the faults are 500, 429, html, slow and garbage: %q", f.Kind)
	}
	if f.Calls < 0 || f.Delay < 0 || f.Delay > maxDelay {
		return fmt.Errorf("a fault has 0 or more calls and a delay of at most %s", maxDelay)
	}
	if f.Delay == 0 {
		f.Delay = usualDelay
	}
	m.faults[provider] = &f
	return nil
}

// admit counts a call and says how it fails. Failing calls count, as they do at the providers.
func (m *Market) admit(provider string, now time.Time, keyed bool) (allowance, Fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.limits[provider].take(now, keyed)
	f := m.faults[provider]
	if !a.ok || f == nil {
		return a, Fault{}
	}
	fault := *f
	if f.Calls == 1 {
		delete(m.faults, provider)
	} else if f.Calls > 1 {
		f.Calls--
	}
	if fault.Kind == Limited {
		a.ok, a.remaining, a.reset = false, 0, now.Add(fault.Delay)
	}
	return a, fault
}
