package webhooks

import (
	"context"
	"errors"
	"time"

	"purser/quota"
	"purser/store"
	"purser/wallet"
)

// attemptResult is the result of one attempt. The recorder writes it later, together with others. A crash before that
// repeats the attempt; receivers recognise the event by its id.
type attemptResult struct {
	delivery store.Delivery // with Attempts, NextAt and Pause as they are after the attempt
	wait     time.Duration  // until the next attempt; a duration, because the clock may be set before it is over
	state    store.DeliveryState
	attempt  *store.Attempt // for the log; nil: nothing was sent
	gone     bool           // the receiver answered 410: its webhook is turned off
	missing  bool           // the webhook was deleted
	limit    quota.Quota    // what is left of the hourly limit; the zero value if no event was counted
	err      error          // nothing was sent, or nobody knows whether it was: the session tries again
}

// overLimit reports that nothing was sent because the hourly limit is reached.
func (f attemptResult) overLimit() bool { return f.limit.Limit > 0 && !f.limit.OK }

// wasCounted reports whether a delivery has taken from the hourly limit already, so that its next attempt is free.
func wasCounted(d store.Delivery) bool { return d.Attempts > 0 || d.Counted }

// attempt sends a delivery once. Before that it checks again that the webhook exists and may have the event, as keys are
// revoked and people withdraw their consent while deliveries wait. It writes nothing to the store but the counter of the
// hourly limit.
func (s *Service) attempt(ctx context.Context, d store.Delivery) attemptResult {
	f := attemptResult{delivery: d, state: store.DeliveryWaiting}
	// What the delivery waited for may not hold any more: decide again. A refusal here ends the delivery without an
	// attempt.
	hook, stands, err := s.lookUp(ctx, d)
	switch {
	case errors.Is(err, store.ErrNotFound):
		f.state, f.missing = store.DeliveryRevoked, true
		return f
	case err != nil:
		f.err = err
		return f
	case stands == authDenied:
		f.state = store.DeliveryRevoked
		return f
	case stands == authDisabled:
		f.state = store.DeliveryDeadLettered
		return f
	}
	// An event counts against the hourly limit once, at its first attempt. A first attempt that was interrupted does not
	// count as one, but the event was counted.
	if !wasCounted(d) {
		if f.limit, f.err = s.Meter.Take(ctx, counterOf(hook), s.Limit); f.err != nil || f.overLimit() {
			return f
		}
	}
	at := s.Now().UTC()
	return s.classify(f, at, s.send(ctx, hook, NewMessage(hook, d.EventID, d.Body, at)))
}

// lookUp returns the webhook of a delivery, and whether it may have the delivery now. It reads the store only if
// what is remembered cannot decide. store.ErrNotFound: the webhook was deleted.
func (s *Service) lookUp(ctx context.Context, d store.Delivery) (hook wallet.Webhook, decision authorization, err error) {
	known, of := s.subscriptionsNow(), eventScope{name: d.Event, user: d.User}
	if r, ok := known.remembered(d.Webhook); ok {
		decision, query := r.authorizeFromCache(of, s.Now())
		if decision != authNeedsLookup {
			return r.Webhook, decision, nil
		}
		if wish, given := known.consented(of.user, query); given {
			if !wish.Wants(of.name) {
				return r.Webhook, authDenied, nil
			}
			return r.Webhook, authAllowed, nil
		}
	}
	err = s.Store.View(ctx, func(tx store.Tx) error {
		r, err := known.hook(tx, d.Webhook)
		if err != nil {
			return err
		}
		hook, decision = r.Webhook, known.authorize(tx, r, of, s.Now())
		return nil
	})
	return hook, decision, err
}

// classify decides from the receiver's answer whether a delivery is delivered, dead-lettered, or waits for its next
// attempt. at is when the attempt was sent. An interrupted attempt is not counted among the attempts, and is made again
// by this or the next process. If it was the first, the delivery is marked as counted against the hourly limit.
func (s *Service) classify(f attemptResult, at time.Time, r Result) attemptResult {
	verdict := r.Verdict()
	if verdict == Interrupted {
		f.err, f.delivery.Counted = context.Canceled, f.delivery.Counted || f.delivery.Attempts == 0
		return f
	}
	f.delivery.Attempts++
	f.attempt = &store.Attempt{At: at, Latency: r.Latency, Status: r.Status, Reason: r.Reason, ResponseBody: r.Answer}
	switch {
	case verdict == Delivered:
		f.state = store.DeliveryDelivered
	case verdict == Retry && !s.Schedule.Spent(f.delivery.Attempts):
		f.wait = max(s.Schedule.Span(f.delivery.Attempts), r.RetryAfter) // a receiver can ask for more time, not for less
		f.delivery.NextAt, f.delivery.Pause = s.Now().Add(f.wait).UTC(), f.wait
	default:
		f.state, f.gone = store.DeliveryDeadLettered, verdict == Gone
	}
	return f
}
