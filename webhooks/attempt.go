package webhooks

import (
	"context"
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// fate is what an attempt came to.
type fate struct {
	delivery store.Delivery // with Attempts and NextAt as they are now
	state    store.DeliveryState
	attempt  *store.Attempt // nil: nothing was sent
	gone     bool           // the receiver wants nothing more, ever
	full     time.Duration  // the limit of the hour is reached: nothing was sent, try again after it
	err      error          // nothing was sent, or nobody knows: try again
}

// attempt sends a delivery once, if it still may be sent.
func (s *Service) attempt(ctx context.Context, d store.Delivery) fate {
	var hook wallet.Webhook
	stands, err := barred, error(nil)
	err = s.Store.View(ctx, func(tx store.Tx) (err error) {
		hook, err = tx.Webhook(d.Webhook)
		if errors.Is(err, store.ErrNotFound) {
			return nil // removed: nobody is to have it
		}
		if err == nil {
			stands, err = judge(tx, hook, about{d.Event, d.User}, s.Now())
		}
		return err
	})
	switch {
	case err != nil:
		return fate{delivery: d, state: store.DeliveryWaiting, err: err}
	case stands == barred:
		return fate{delivery: d, state: store.DeliveryWithdrawn}
	case stands == off:
		return fate{delivery: d, state: store.DeliveryParked}
	}
	if d.Attempts == 0 {
		left, err := s.Meter.Take(ctx, "webhook/"+string(hook.ID), s.Limit)
		switch {
		case err != nil:
			return fate{delivery: d, state: store.DeliveryWaiting, err: err}
		case !left.OK:
			return fate{delivery: d, state: store.DeliveryWaiting, full: max(left.Reset, time.Second)}
		}
	}
	at := s.Now().UTC()
	result := s.Post(ctx, NewMessage(hook, d.EventID, d.Body, at))
	return s.after(d, at, result)
}

// after is what becomes of a delivery that was sent at a time with a result.
func (s *Service) after(d store.Delivery, at time.Time, r Result) fate {
	verdict := r.Verdict()
	if verdict == Interrupted {
		return fate{delivery: d, state: store.DeliveryWaiting, err: context.Canceled}
	}
	d.Attempts++
	f := fate{delivery: d, attempt: &store.Attempt{At: at, Latency: r.Latency, Status: r.Status, Error: r.Error, Answer: r.Answer}}
	switch {
	case verdict == Delivered:
		f.state = store.DeliveryDelivered
	case verdict == Retry && d.Attempts <= len(s.Schedule):
		f.state = store.DeliveryWaiting
		f.delivery.NextAt = s.Now().Add(max(s.Schedule[d.Attempts-1], r.RetryAfter)).UTC()
	default:
		f.state, f.gone = store.DeliveryParked, verdict == Gone
	}
	return f
}
