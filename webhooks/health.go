package webhooks

import (
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// healthEvery is how exactly it is written when a webhook was last triggered, while all goes well.
const healthEvery = time.Second

// healths is the health of webhooks that do well, as far as it was not written yet. A failing one is read
// and written each time: turning it on again by hand resets it.
type healths map[wallet.WebhookID]unwrittenHealth

// unwrittenHealth is one webhook's health.
type unwrittenHealth struct {
	health  wallet.WebhookHealth
	changed bool
	written time.Time
}

// after takes down an attempt, and returns the webhook's health.
func (all healths) after(tx store.Tx, o outcome) wallet.WebhookHealth {
	f, known := all[o.delivery.Webhook]
	if !known {
		f.health, _ = tx.WebhookHealth(o.delivery.Webhook) // a damaged one starts from zero
	}
	f.changed = true
	f.health = after(f.health, o.attempted[len(o.attempted)-1], o.state == store.DeliveryDelivered)
	all[o.delivery.Webhook] = f
	return f.health
}

// after is a webhook's health after one more attempt.
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

// ownerNotified notes that the webhook's owner was notified of its failures.
func (all healths) ownerNotified(id wallet.WebhookID, at time.Time) {
	f := all[id]
	f.health.OwnerNotifiedAt = at
	all[id] = f
}

// write writes what is due at now, or everything.
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

// behind reports whether something is not written.
func (all healths) behind() bool {
	for _, f := range all {
		if f.changed {
			return true
		}
	}
	return false
}
