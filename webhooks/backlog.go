package webhooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// backlogHours is for how many hours a delivery may wait for its first attempt. After that its webhook is turned
	// off: events come faster than it takes them, and the backlog would grow for ever.
	backlogHours = 72
	// servedCounter is the counter of the last backlogHours hours in which a node served. A slot is an hour, its
	// count is 1. Hours in which purser was down are not in it, and neither is a time over which a clock was set
	// forward.
	servedCounter = "webhooks_served"
	// backlogPage is how many deliveries of an urgency are read at once, backlogPages how many times. One page may
	// not be enough: many deliveries may wait behind one that is between two attempts.
	backlogPage, backlogPages = 64, 16
)

// endBacklogs turns off the webhooks that are behind now and were behind at the last look of this process: a webhook
// that works again has an hour to catch up. A listener is removed, which ends its connection.
//
// What waits for a webhook that is off is dead-lettered unsent when its turn comes. For most of it that is soon. A
// delivery between two attempts, and those behind it in its line, have their turn when the next attempt is due.
//
// served says that this process has run for an hour since its last look. The cost of a look is that of the webhooks
// that something waits for.
func (s *Service) endBacklogs(ctx context.Context, served bool, before map[wallet.WebhookID]bool) (behind map[wallet.WebhookID]bool, err error) {
	// First count the hours. Only a process that has served one writes.
	var since time.Time
	look := s.Store.View
	if served {
		look = s.Store.Update
	}
	if err := look(ctx, func(tx store.Tx) (err error) {
		since, err = servedSince(tx, s.Now(), served)
		return err
	}); err != nil {
		return nil, fmt.Errorf("count the hours in which webhooks were served: %w", err)
	}
	if since.IsZero() {
		return nil, nil
	}
	// Then find the webhooks that are behind.
	err = s.Store.View(ctx, func(tx store.Tx) error {
		behind = map[wallet.WebhookID]bool{}
		waiting, err := tx.WaitingWebhooks()
		for _, id := range waiting {
			if err != nil {
				return err
			}
			var is bool
			if is, err = s.isBehind(tx, id, since); is {
				behind[id] = true
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for backlogs of webhooks: %w", err)
	}
	// Then turn off those that were behind the last time too, each in an Update of its own that checks again.
	for id := range behind {
		if !before[id] {
			continue
		}
		if err := s.endBacklog(ctx, id, since); err != nil {
			return behind, fmt.Errorf("turn off a webhook with a backlog: %w", err)
		}
		s.Wake(id)
	}
	return behind, nil
}

// endBacklog turns off a webhook that is still behind.
func (s *Service) endBacklog(ctx context.Context, id wallet.WebhookID, since time.Time) error {
	return s.Store.Update(ctx, func(tx store.Tx) error {
		hook, err := tx.Webhook(id)
		if err != nil || !hook.Active { // removed, damaged, or off meanwhile
			return nil
		}
		if is, err := s.isBehind(tx, id, since); err != nil || !is {
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
}

// servedSince returns when the first of the last backlogHours hours began in which a node served; zero if there were
// fewer. A node counts an hour after it has run for one by its monotonic clock. Of hours that overlap, as those of
// two nodes or of a clock that was set back, only one counts. A process that ends within an hour counts none.
func servedSince(tx store.Tx, now time.Time, served bool) (time.Time, error) {
	hours, err := tx.Counter(servedCounter)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return time.Time{}, err
	}
	const hour = int64(time.Hour / time.Second)
	began := now.Unix() - hour
	slots := slices.DeleteFunc(hours.Slots, func(slot store.Slot) bool { return slot.Start > now.Unix() }) // the clock was ahead then
	if served && (len(slots) == 0 || slots[len(slots)-1].Start+hour <= began) {
		slots = append(slots, store.Slot{Start: began, Count: 1})
		slots = slots[max(0, len(slots)-backlogHours):]
		// Without an end it stays for as long as the store does.
		if err := tx.PutCounters([]store.Counter{{Name: servedCounter, Slots: slots}}); err != nil {
			return time.Time{}, err
		}
	}
	if len(slots) < backlogHours {
		return time.Time{}, nil
	}
	return time.Unix(slots[0].Start, 0), nil
}

// isBehind reports whether a delivery of an active webhook has waited for its first attempt since a time. Before the
// first attempt NextAt is when the delivery was put. A recovery sets it again and keeps CreatedAt. A delivery behind
// one of its line that is between two attempts does not count: it waits for that one, by the schedule.
func (s *Service) isBehind(tx store.Tx, id wallet.WebhookID, since time.Time) (bool, error) {
	hook, err := tx.Webhook(id)
	if err != nil || !hook.Active {
		return false, nil
	}
	for u := range urgencies {
		held := map[string]bool{} // the ordering keys of lines whose first was attempted
		at := store.Position{Urgency: store.Urgency(u)}
		for range backlogPages {
			page, err := tx.DeliveriesOf(id, at, backlogPage)
			if err != nil {
				return false, err
			}
			for _, d := range page {
				switch {
				case d.Attempts > 0:
					held[d.OrderingKey] = true
				case !held[d.OrderingKey] && !d.NextAt.After(since):
					return true, nil
				}
				at = d.Position()
			}
			if len(page) < backlogPage {
				break
			}
		}
	}
	return false, nil
}

// turnOff turns a webhook off for a reason, and emits the event by which its owner is notified, in the same Update.
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

// emitTrouble emits the event by which the owner of a webhook is notified. since is part of the event's id, so one
// outage gives one event: Emit leaves out an id that was emitted before.
func (s *Service) emitTrouble(tx store.Tx, hook wallet.Webhook, name wallet.EventName, health wallet.WebhookHealth, since, at time.Time) error {
	if hook.Owner == "" { // an operator's key: there is no chat to notify, so the log says it
		s.Logger.Warn("a webhook of an operator's key loses events", "webhook", hook.ID, "ended", hook.Ended, "status", health.LastStatus, "error", health.LastReason.String())
	}
	event, err := wallet.NewEvent(fmt.Sprintf("evt_%s_%s_%d", hook.ID, name, since.UnixMilli()), name, at, hook.Owner,
		wallet.WebhookTroubleData{WebhookID: hook.ID, Ended: hook.Ended, Status: health.LastStatus, Reason: health.LastReason, KeptHours: int(s.Retention.Hours())})
	if err != nil {
		return err
	}
	return tx.Emit(event)
}
