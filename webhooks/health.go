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
type healths map[wallet.WebhookID]unwrittenHealth

// unwrittenHealth is one webhook's health in memory.
type unwrittenHealth struct {
	health  wallet.WebhookHealth
	changed bool      // health differs from what is stored
	written time.Time // when it was last stored; zero: never by this process
}

// after notes an attempt, and returns the webhook's health with it.
func (all healths) after(tx store.Tx, o outcome) wallet.WebhookHealth {
	// Memory has the health of a webhook that works; that of any other is read.
	f, known := all[o.delivery.Webhook]
	if !known {
		f.health, _ = tx.WebhookHealth(o.delivery.Webhook) // a damaged one starts from zero
	}
	f.changed = true
	f.health = after(f.health, o.attempted[len(o.attempted)-1], o.state == store.DeliveryDelivered)
	all[o.delivery.Webhook] = f
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
func (all healths) ownerNotified(id wallet.WebhookID, at time.Time) {
	f := all[id]
	f.health.OwnerNotifiedAt = at
	all[id] = f
}

// write stores the healths that are due at now, or everything. It removes from memory what need not stay: a failing
// webhook, one that was deleted, and one without an attempt for healthEvery.
func (all healths) write(tx store.Tx, now time.Time, everything bool) error {
	for id, f := range all {
		failing := !f.health.FailingSince.IsZero()
		if !f.changed && now.Sub(f.written).Abs() >= healthEvery { // it is read again when it is needed
			delete(all, id)
			continue
		}
		if !f.changed || !everything && !failing && now.Sub(f.written).Abs() < healthEvery {
			continue
		}
		err := tx.PutWebhookHealth(id, f.health)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case err != nil || failing:
			delete(all, id)
		default:
			all[id] = unwrittenHealth{f.health, false, now}
		}
	}
	return nil
}

// behind reports whether some health is not stored yet.
func (all healths) behind() bool {
	for _, f := range all {
		if f.changed {
			return true
		}
	}
	return false
}
