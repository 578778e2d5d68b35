package webhooks

import (
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// healthEvery is how often the health of a webhook that works is written. After a crash LastTriggered may be older
// than the truth by as much.
const healthEvery = time.Second

// healths is the health of webhooks that work, as far as it is not written yet. The health of a failing webhook is
// read and written with each attempt, because turning the webhook on again resets it. Only the recorder's goroutine
// uses healths.
type healths struct {
	all   map[wallet.WebhookID]unwrittenHealth
	late  map[wallet.WebhookID]bool // those of all that differ from what is stored
	swept time.Time                 // when all were looked through; zero: never
}

// unwrittenHealth is one webhook's health in memory.
type unwrittenHealth struct {
	health  wallet.WebhookHealth
	changed bool      // health differs from what is stored
	written time.Time // when it was last stored; zero: never by this process
}

// newHealths returns one that knows of no webhook.
func newHealths() *healths {
	return &healths{all: map[wallet.WebhookID]unwrittenHealth{}, late: map[wallet.WebhookID]bool{}}
}

// behind reports whether some health is not stored yet.
func (h *healths) behind() bool { return len(h.late) > 0 }

// change begins the changes of one Update, which may run more than once: each run begins its own. keep makes them
// true after the commit.
func (h *healths) change() *healthChanges {
	return &healthChanges{of: h, changed: map[wallet.WebhookID]unwrittenHealth{}, dropped: map[wallet.WebhookID]bool{}, swept: h.swept}
}

// healthChanges is what one Update changes of healths.
type healthChanges struct {
	of      *healths
	changed map[wallet.WebhookID]unwrittenHealth
	dropped map[wallet.WebhookID]bool // need not stay in memory
	swept   time.Time
}

// keep makes the changes true. It is called once, after the commit.
func (c *healthChanges) keep() {
	for id, f := range c.changed {
		c.of.all[id] = f
		if f.changed {
			c.of.late[id] = true
		} else {
			delete(c.of.late, id)
		}
	}
	for id := range c.dropped {
		delete(c.of.all, id)
		delete(c.of.late, id)
	}
	c.of.swept = c.swept
}

// get returns what is in memory of a webhook.
func (c *healthChanges) get(id wallet.WebhookID) (f unwrittenHealth, known bool) {
	if f, known = c.changed[id]; !known {
		f, known = c.of.all[id]
	}
	return f, known
}

// after notes an attempt, and returns the webhook's health with it.
func (c *healthChanges) after(tx store.Tx, o outcome) wallet.WebhookHealth {
	// Memory has the health of a webhook that works; that of any other is read.
	f, known := c.get(o.delivery.Webhook)
	if !known {
		f.health, _ = tx.WebhookHealth(o.delivery.Webhook) // a damaged one starts from zero
	}
	f.changed = true
	f.health = after(f.health, o.attempted[len(o.attempted)-1], o.state == store.DeliveryDelivered)
	c.changed[o.delivery.Webhook] = f
	return f.health
}

// after returns a webhook's health after one more attempt. A success ends an outage: FailingSince and Failures return
// to zero.
func after(h wallet.WebhookHealth, a store.Attempt, ok bool) wallet.WebhookHealth {
	h.LastTriggered, h.LastStatus, h.LastReason = a.At, a.Status, a.Reason
	if ok {
		h.LastSuccess, h.FailingSince, h.Failures = a.At, time.Time{}, 0
		return h
	}
	if h.FailingSince.IsZero() {
		h.FailingSince = a.At
	}
	h.Failures++
	return h
}

// ownerNotified notes when the webhook's owner was last notified of its failures.
func (c *healthChanges) ownerNotified(id wallet.WebhookID, at time.Time) {
	f, _ := c.get(id)
	f.health.OwnerNotifiedAt = at
	c.changed[id] = f
}

// write stores the healths that are due at now, or everything: those of this Update, and once in healthEvery those
// that others left. It drops what need not stay in memory: a failing webhook, one that was deleted, and one without
// an attempt for healthEvery.
func (c *healthChanges) write(tx store.Tx, now time.Time, everything bool) error {
	for id := range c.changed {
		if err := c.writeOne(tx, id, now, everything); err != nil {
			return err
		}
	}
	if !everything && now.Sub(c.swept).Abs() < healthEvery {
		return nil
	}
	c.swept = now
	for id := range c.of.all {
		if _, done := c.changed[id]; done {
			continue
		}
		if err := c.writeOne(tx, id, now, everything); err != nil {
			return err
		}
	}
	return nil
}

// writeOne stores the health of one webhook if it is due.
func (c *healthChanges) writeOne(tx store.Tx, id wallet.WebhookID, now time.Time, anyway bool) error {
	f, _ := c.get(id)
	failing, due := !f.health.FailingSince.IsZero(), now.Sub(f.written).Abs() >= healthEvery
	switch {
	case !f.changed && due: // it is read again when it is needed
		c.dropped[id] = true
		return nil
	case !f.changed || !anyway && !failing && !due:
		return nil
	}
	err := tx.PutWebhookHealth(id, f.health)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	case err != nil || failing:
		c.dropped[id] = true
	default:
		c.changed[id] = unwrittenHealth{f.health, false, now}
	}
	return nil
}
