package webhooks

import (
	"context"
	"errors"
	"time"

	"purser/quota"
	"purser/store"
	"purser/wallet"
)

// attemptResult is what an attempt came to.
type attemptResult struct {
	delivery store.Delivery // with Attempts, NextAt and Pause as they are now
	wait     time.Duration  // until it is attempted again; by no clock, since clocks are set
	state    store.DeliveryState
	attempt  *store.Attempt // nil: nothing was sent
	gone     bool           // the receiver wants nothing more, ever
	missing  bool           // there is no such webhook any more
	limit    quota.Quota    // what is left of the hour; the zero value when that was not asked for
	err      error          // nothing was sent, or nobody knows what came of it: try again
}

// overLimit reports that nothing was sent because the limit of the hour is reached.
func (f attemptResult) overLimit() bool { return f.limit.Limit > 0 && !f.limit.OK }

// attempt sends a delivery once, if it still may be sent.
func (s *Service) attempt(ctx context.Context, d store.Delivery) attemptResult {
	f := attemptResult{delivery: d, state: store.DeliveryWaiting}
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
	if d.Attempts == 0 {
		if f.limit, f.err = s.Meter.Take(ctx, counterOf(hook), s.Limit); f.err != nil || f.overLimit() {
			return f
		}
	}
	at := s.Now().UTC()
	return s.classify(f, at, s.send(ctx, hook, NewMessage(hook, d.EventID, d.Body, at)))
}

// lookUp finds a delivery's webhook, and whether it may have it now. ErrNotFound when it was removed.
func (s *Service) lookUp(ctx context.Context, d store.Delivery) (hook wallet.Webhook, decision authorization, err error) {
	known, of := s.subscriptionsNow(), eventScope{name: d.Event, user: d.User}
	if r, ok := known.remembered(d.Webhook); ok {
		if decision, _ := r.authorizeFromCache(of, s.Now()); decision != authNeedsLookup {
			return r.Webhook, decision, nil
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

// classify is what becomes of a delivery that was sent at a time with a result.
func (s *Service) classify(f attemptResult, at time.Time, r Result) attemptResult {
	verdict := r.Verdict()
	if verdict == Interrupted {
		f.err = context.Canceled
		return f
	}
	f.delivery.Attempts++
	f.attempt = &store.Attempt{At: at, Latency: r.Latency, Status: r.Status, Reason: r.Reason, Answer: r.Answer}
	switch {
	case verdict == Delivered:
		f.state = store.DeliveryDelivered
	case verdict == Retry && !s.Schedule.Spent(f.delivery.Attempts):
		f.wait = max(s.Schedule.Span(f.delivery.Attempts), r.RetryAfter)
		f.delivery.NextAt, f.delivery.Pause = s.Now().Add(f.wait).UTC(), f.wait
	default:
		f.state, f.gone = store.DeliveryDeadLettered, verdict == Gone
	}
	return f
}
