package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// relayAtOnce is how many announcements are looked at together.
	relayAtOnce = 256
	// rowsAtOnce is how many deliveries are written in one transaction: whoever else writes waits for it.
	rowsAtOnce = 1000
)

// relay turns announcements into deliveries until ctx ends: what an event leads to and its end as an
// announcement become true in one transaction.
func (s *Service) relay(ctx context.Context) error {
	for {
		more, err := s.relaySome(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && errors.Is(err, store.ErrUnknownOutcome):
			return err
		case errors.Is(err, errDeposed): // the end of ctx is near
			<-ctx.Done()
			return nil
		case err != nil:
			s.Logger.Error("turning events into deliveries failed: it is tried again", "error", err)
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(readAgain):
			}
		case !more:
			select {
			case <-ctx.Done():
				return nil
			case <-s.Store.Changed(store.Announced):
			}
		}
	}
}

// relaySome turns a batch of announcements into deliveries, and tells whether there may be more. An event that
// very many are told of takes several transactions; a crash or a stop between them begins it anew.
func (s *Service) relaySome(ctx context.Context) (more bool, err error) {
	known := s.subscriptionsNow()
	var waiting []store.OutboxEvent
	var rows [][]store.Delivery // of each
	err = s.Store.View(ctx, func(tx store.Tx) (err error) {
		if waiting, err = tx.Announcements(relayAtOnce); err != nil {
			return err
		}
		count := 0
		for i, a := range waiting {
			if count >= rowsAtOnce {
				waiting, more = waiting[:i], true
				break
			}
			hooks, err := known.listeners(tx, eventScope{a.Event.Name, a.Event.User, a.Event.To}, s.Now())
			if err != nil {
				return err
			}
			made := s.deliveries(a.Event, hooks)
			rows, count = append(rows, made), count+len(made)
		}
		return nil
	})
	if err != nil || len(waiting) == 0 {
		return false, err
	}
	more = more || len(waiting) == relayAtOnce
	for len(waiting) > 0 {
		n, some := cut(rows)
		numbers := make([]uint64, n)
		for i := range numbers {
			numbers[i] = waiting[i].Number
		}
		placed, err := s.place(ctx, some, numbers)
		if err != nil {
			return false, fmt.Errorf("write deliveries: %w", err)
		}
		s.pending.hand(placed)
		waiting, rows = waiting[n:], rows[n:]
	}
	return more, nil
}

// place writes deliveries, and the end of the announcements that are done with them. It tries again what fails:
// to begin anew would tell of the pieces that are written already once more.
func (s *Service) place(ctx context.Context, rows []store.Delivery, done []uint64) (placed []store.PlacedDelivery, err error) {
	for {
		err = s.Store.Update(ctx, func(tx store.Tx) (err error) {
			if err = s.leads(tx); err != nil {
				return err
			}
			if placed, err = tx.PutDeliveries(rows); err != nil {
				return err
			}
			return tx.DoneAnnouncements(done)
		})
		if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrUnknownOutcome) || errors.Is(err, errDeposed) {
			return placed, err
		}
		s.Logger.Error("writing deliveries failed: it is tried again", "error", err)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(readAgain):
		}
	}
}

// cut takes the first rows, as many as go into one transaction, and tells how many events are done with them.
func cut(rows [][]store.Delivery) (done int, some []store.Delivery) {
	for done < len(rows) {
		room := rowsAtOnce - len(some)
		if of := rows[done]; len(of) > room {
			some, rows[done] = append(some, of[:room]...), of[room:]
			return done, some
		}
		some = append(some, rows[done]...)
		done++
	}
	return done, some
}

// deliveries is what an event leads to: one for each webhook, with the same bytes for all of a kind. A kind
// that it cannot be rendered for is left out.
func (s *Service) deliveries(e wallet.Event, hooks []wallet.Webhook) []store.Delivery {
	bodies := map[wallet.KeyKind][]byte{}
	now := s.Now().UTC()
	out := make([]store.Delivery, 0, len(hooks))
	for _, hook := range hooks {
		body, tried := bodies[hook.Kind]
		if !tried {
			var err error
			if body, err = Body(hook.Kind, e); err != nil {
				s.Logger.Error("an event cannot be rendered: it is left out", "event", e.Name, "id", e.ID, "error", err)
			}
			bodies[hook.Kind] = body
		}
		if body != nil {
			out = append(out, deliveryOf(hook, e, body, now))
		}
	}
	return out
}

// deliveryOf is an event on its way to a webhook.
func deliveryOf(hook wallet.Webhook, e wallet.Event, body []byte, now time.Time) store.Delivery {
	return store.Delivery{ID: deliveryID(now, string(hook.ID), e.ID), Webhook: hook.ID, EventID: e.ID, Event: e.Name, User: e.User,
		OrderingKey: e.Subject, Urgency: urgencyOf(e.Name), Body: body, CreatedAt: now, NextAt: now}
}

// deliveryID begins with the time at which it is made, which it keeps in the log too, so that what is made together
// lies together in the store.
func deliveryID(at time.Time, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	var millis [8]byte
	binary.BigEndian.PutUint64(millis[:], uint64(at.UnixMilli()))
	return "dlv_" + hex.EncodeToString(millis[:])[5:] + hex.EncodeToString(sum[:8])
}

// urgencyOf says what goes first.
func urgencyOf(name wallet.EventName) store.Urgency {
	family, _, _ := strings.Cut(string(name), ".")
	switch family {
	case "transaction", "wallet", "stake", "webhook":
		return store.Money
	case "price":
		return store.Prices
	}
	return store.Normal
}
