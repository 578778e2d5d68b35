package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// relayAtOnce is how many announcements become deliveries in one transaction.
const relayAtOnce = 256

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

// relaySome turns a batch of announcements into deliveries, and tells whether there may be more.
func (s *Service) relaySome(ctx context.Context) (more bool, err error) {
	var rows []store.Delivery
	var numbers []uint64
	known := s.directory.now()
	err = s.Store.View(ctx, func(tx store.Tx) error {
		waiting, err := tx.Announcements(relayAtOnce)
		if err != nil {
			return err
		}
		more = len(waiting) == relayAtOnce
		for _, a := range waiting {
			numbers = append(numbers, a.Number)
			hooks, err := known.listeners(tx, about{a.Event.Name, a.Event.User}, s.Now())
			if err != nil {
				return err
			}
			made, err := s.deliveries(a.Event, hooks)
			if err != nil {
				s.Logger.Error("an event cannot be delivered: it is left out", "event", a.Event.Name, "id", a.Event.ID, "error", err)
			}
			rows = append(rows, made...)
		}
		return nil
	})
	if err != nil || len(numbers) == 0 {
		return false, err
	}
	err = s.Store.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.PutDeliveries(rows); err != nil {
			return err
		}
		return tx.DoneAnnouncements(numbers)
	})
	if err != nil {
		return false, fmt.Errorf("write deliveries: %w", err)
	}
	added := map[wallet.WebhookID]bool{}
	for _, row := range rows {
		added[row.Webhook] = true
	}
	s.wanted.add(slices.Collect(maps.Keys(added))...)
	return more, nil
}

// deliveries is what an event leads to: one for each webhook, with the same bytes for all of a kind.
func (s *Service) deliveries(e wallet.Event, hooks []wallet.Webhook) ([]store.Delivery, error) {
	bodies := map[wallet.KeyKind][]byte{}
	out := make([]store.Delivery, 0, len(hooks))
	for _, hook := range hooks {
		body := bodies[hook.Kind]
		if body == nil {
			var err error
			if body, err = Body(hook.Kind, e); err != nil {
				return nil, err
			}
			bodies[hook.Kind] = body
		}
		out = append(out, deliveryOf(hook, e, body, s.Now().UTC()))
	}
	return out, nil
}

// deliveryOf is an event on its way to a webhook.
func deliveryOf(hook wallet.Webhook, e wallet.Event, body []byte, now time.Time) store.Delivery {
	return store.Delivery{ID: deliveryID(now, string(hook.ID), e.ID), Webhook: hook.ID, EventID: e.ID, Event: e.Name, User: e.User,
		Line: subjectOf(e), Urgency: urgencyOf(e.Name), Body: body, CreatedAt: now, NextAt: now}
}

// deliveryID begins with its time, so that what is made together lies together in the store.
func deliveryID(now time.Time, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return fmt.Sprintf("dlv_%011x%x", now.UnixMilli(), sum[:8])
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

// subjectOf is what an event is about, whose events keep their order: a wallet, a chat, a token.
func subjectOf(e wallet.Event) string {
	var data struct {
		Wallet string `json:"wallet_address"`
		Chat   string `json:"chat_id"`
		Alert  string `json:"alert_id"`
		Token  string `json:"token"`
		Frame  string `json:"timeframe"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	switch {
	case data.Wallet != "":
		return data.Wallet
	case data.Chat != "":
		return data.Chat
	case data.Alert != "":
		return data.Alert
	}
	return data.Token + "/" + data.Frame
}
