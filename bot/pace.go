package bot

import "time"

// Pace is how fast messages may go out. The zero value is what Telegram allows bots: about 30 a
// second in all, one a second in a chat save short bursts, 20 a minute in a group.
type Pace struct {
	All, Chat, Group Rate
	Unlimited        bool // a Bot API server that sets no limits
}

// Rate is one message every Every, and up to Burst at once. Zero fields mean the default.
type Rate struct {
	Every time.Duration
	Burst int
}

func (p Pace) orDefaults() Pace {
	for _, d := range []struct {
		rate     *Rate
		standard Rate
	}{
		{&p.All, Rate{time.Second / 28, 2}},
		{&p.Chat, Rate{time.Second, 3}},
		{&p.Group, Rate{3600 * time.Millisecond, 3}}, // 3 + 60/3.6: under 20 in any minute
	} {
		if d.rate.Every <= 0 {
			d.rate.Every = d.standard.Every
		}
		if d.rate.Burst <= 0 {
			d.rate.Burst = d.standard.Burst
		}
	}
	if p.Unlimited {
		p.All, p.Chat, p.Group = Rate{}, Rate{}, Rate{}
	}
	return p
}

// meter measures a rate (the generic cell rate algorithm: one point in time is its whole memory).
type meter struct{ due time.Time }

// opens is when the next message may go: now or later.
func (m meter) opens(r Rate) time.Time {
	if r.Every == 0 {
		return time.Time{}
	}
	return m.due.Add(-time.Duration(r.Burst-1) * r.Every)
}

// spend counts one message.
func (m *meter) spend(r Rate, now time.Time) {
	if m.due.Before(now) {
		m.due = now
	}
	m.due = m.due.Add(r.Every)
}

// refund takes back one message that was counted and did not go.
func (m *meter) refund(r Rate) { m.due = m.due.Add(-r.Every) }

// idle tells whether m has nothing to remember at now.
func (m meter) idle(now time.Time) bool { return !m.due.After(now) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
