package webhooks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// backlogFor is for how long the oldest delivery of a webhook may wait for its first attempt. Then the webhook is
	// turned off: events come faster than it takes them, and what waits would grow for ever.
	backlogFor = 72 * time.Hour
	// backlogSample is how many deliveries of each urgency are looked at, from the oldest on: the first ones may be
	// between two attempts.
	backlogSample = 8
)

// endBacklogs turns off the webhooks whose oldest delivery has waited for backlogFor. A listener is removed, which ends its
// connection. What waits is then dead-lettered, as for any webhook that is off. The cost is that of the webhooks that
// something waits for.
func (s *Service) endBacklogs(ctx context.Context) error {
	var behind []wallet.WebhookID
	err := s.Store.View(ctx, func(tx store.Tx) error {
		behind = nil
		waiting, err := tx.WaitingWebhooks()
		for _, id := range waiting {
			if err != nil {
				return err
			}
			var is bool
			if is, err = s.isBehind(tx, id); is {
				behind = append(behind, id)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("look for backlogs of webhooks: %w", err)
	}
	for _, id := range behind {
		err := s.Store.Update(ctx, func(tx store.Tx) error {
			hook, err := tx.Webhook(id)
			if err != nil || !hook.Active { // removed, damaged, or off meanwhile
				return nil
			}
			if is, err := s.isBehind(tx, id); err != nil || !is {
				return err
			}
			if hook.Listener {
				return tx.DeleteWebhook(id)
			}
			health, err := tx.WebhookHealth(id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				health = wallet.WebhookHealth{} // a damaged one must not keep the webhook on
			}
			return s.turnOff(tx, hook, wallet.EndedBacklog, health, s.Now().UTC())
		})
		if err != nil {
			return fmt.Errorf("turn off a webhook with a backlog: %w", err)
		}
		s.Wake(id)
	}
	return nil
}

// isBehind reports whether a delivery of an active webhook has waited for backlogFor. NextAt of one that was not attempted
// is when it was put, also after a recovery, which keeps CreatedAt.
func (s *Service) isBehind(tx store.Tx, id wallet.WebhookID) (bool, error) {
	hook, err := tx.Webhook(id)
	if err != nil || !hook.Active {
		return false, nil
	}
	for u := range urgencies {
		oldest, err := tx.DeliveriesOf(id, store.Position{Urgency: store.Urgency(u)}, backlogSample)
		if err != nil {
			return false, err
		}
		for _, d := range oldest {
			if d.Attempts == 0 && s.Now().Sub(d.NextAt) >= backlogFor {
				return true, nil
			}
		}
	}
	return false, nil
}

// turnOff turns a webhook off for a reason, and notifies its owner. The caller ends with the Update.
func (s *Service) turnOff(tx store.Tx, hook wallet.Webhook, why wallet.Ending, health wallet.WebhookHealth, at time.Time) error {
	hook.Ended, hook.Active, hook.UpdatedAt = why, false, at
	if err := tx.PutWebhook(hook); err != nil {
		return err
	}
	since := health.FailingSince
	if why == wallet.EndedBacklog {
		since = at // it need not be failing
	}
	return s.emitTrouble(tx, hook, wallet.WebhookEnded, health, since, at)
}

// emitTrouble emits the event by which the owner of a webhook is notified. since is part of its id: an event with the id of
// one that was emitted before is left out.
func (s *Service) emitTrouble(tx store.Tx, hook wallet.Webhook, name wallet.EventName, health wallet.WebhookHealth, since, at time.Time) error {
	if hook.Owner == "" { // an operator's: there is no chat to notify
		s.Logger.Warn("a webhook of an operator's key loses events", "webhook", hook.ID, "ended", hook.Ended, "status", health.LastStatus, "error", health.LastReason.String())
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%s_%d", hook.ID, name, since.UnixMilli()), name, at, hook.Owner,
		wallet.WebhookTroubleData{WebhookID: hook.ID, Ended: hook.Ended, Status: health.LastStatus, Reason: health.LastReason, KeptHours: int(s.Retention.Hours())})
	if err != nil {
		return err
	}
	return tx.Emit(event)
}
