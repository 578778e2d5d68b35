package bot

import "time"

// Pace is how fast messages may be sent. The zero value is what Telegram allows bots (Bot FAQ, Broadcasting): about 30 a
// second in total, one a second to a chat apart from short bursts, and 20 a minute to a group.
type Pace struct {
	All, Chat, Group Rate
	Unlimited        bool // a Bot API server that sets no limits
}

// Rate is one message every Every, and up to Burst at once. Zero fields mean the default.
type Rate struct {
	Every time.Duration
	Burst int
}

// orDefaults replaces zero fields by rates that stay a little below Telegram's limits.
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

// meter measures a rate by the generic cell rate algorithm, which needs one point in time as its whole memory: when the
// next message would be due if there were no bursts.
type meter struct{ due time.Time }

// opens returns when the next message may be sent. A time in the past means now.
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

// refund takes back one message that was counted and not sent.
func (m *meter) refund(r Rate) { m.due = m.due.Add(-r.Every) }

// idle reports whether m is as good as new at now, so that it may be forgotten.
func (m meter) idle(now time.Time) bool { return !m.due.After(now) }

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
