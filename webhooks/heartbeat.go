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

// A listener's webhook belongs to the node that holds its connection. If that node dies, another one removes the webhook.
// Nodes compare no clocks: while a node has listeners its heartbeats are counted in the store, and each node measures by
// its own clock, which nobody sets, for how long the count has stayed the same.
const (
	// heartbeatEvery is how often a node with listeners gives a sign of life.
	heartbeatEvery = 10 * time.Second
	// watchEvery is after how many heartbeats a node looks at those of the others.
	watchEvery = 6
	// silentFor is for how long a node gives no sign of life before it is taken for dead: some heartbeats may be late.
	silentFor = 30 * time.Second
	// watchGap is after how long without a look a node takes nothing that it saw before for silence. It was paused, or the
	// store could not be read, and then others may not have been able to write.
	watchGap = 2 * watchEvery * heartbeatEvery
)

// lifeSign is what a node last saw of the node of a listener.
type lifeSign struct {
	beats uint64    // heartbeats of that node
	since time.Time // when this count was first seen, for this listener, by the monotonic clock
}

// watch is what a node has seen of the nodes of other nodes' listeners. Each listener is watched from when it is first
// seen, since its node may have given no sign of life before it had one. It belongs to one goroutine.
type watch struct {
	signs  map[wallet.WebhookID]lifeSign
	looked time.Time // when it last looked
}

// note takes what the store says now: the heartbeats of the node of each listener. It returns the listeners whose node has
// been silent for silentFor, with the count that did not change.
func (w *watch) note(beats map[wallet.WebhookID]uint64, now time.Time) (silent map[wallet.WebhookID]uint64) {
	// After a pause of this node nothing counts as silence: watching begins again.
	if now.Sub(w.looked) > watchGap {
		w.signs = nil
	}
	signs := map[wallet.WebhookID]lifeSign{} // without listeners that are gone
	silent = map[wallet.WebhookID]uint64{}
	for id, count := range beats {
		// A new count is a sign of life.
		seen, known := w.signs[id]
		if !known || seen.beats != count {
			seen = lifeSign{count, now}
		}
		signs[id] = seen
		if now.Sub(seen.since) >= silentFor {
			silent[id] = count
		}
	}
	w.signs, w.looked = signs, now
	return silent
}

// runHeartbeat gives signs of life while this node has listeners, and removes the listeners of nodes that give none.
func (s *Service) runHeartbeat(ctx context.Context) error {
	var w watch
	for turn := 1; ; turn++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(heartbeatEvery):
		}
		var err error
		if s.listeners.any() {
			err = s.Store.Update(ctx, func(tx store.Tx) error { return tx.Heartbeat(s.Node) })
		}
		if err == nil && turn%watchEvery == 0 {
			err = s.removeSilent(ctx, &w)
		}
		if store.IsFatal(err) {
			return fmt.Errorf("heartbeat: %w", err)
		}
		if err != nil && ctx.Err() == nil {
			s.Logger.Warn("the heartbeat of this node, or a look at that of others, failed", "error", err)
		}
	}
}

// removeSilent removes the listeners of nodes that are taken for dead.
func (s *Service) removeSilent(ctx context.Context, w *watch) error {
	// First read the counts of the other nodes that have listeners.
	var beats map[wallet.WebhookID]uint64
	nodes := map[wallet.WebhookID]string{}
	err := s.Store.View(ctx, func(tx store.Tx) error {
		beats = map[wallet.WebhookID]uint64{}
		all, err := allListeners(tx)
		for _, hook := range all {
			if err != nil || hook.Node == s.Node {
				continue
			}
			nodes[hook.ID] = hook.Node
			beats[hook.ID], err = tx.Heartbeats(hook.Node)
		}
		return err
	})
	if err != nil {
		return err
	}
	// Then remove those that have been silent, unless a heartbeat was written in between.
	silent := w.note(beats, time.Now())
	if len(silent) == 0 {
		return nil
	}
	return s.Store.Update(ctx, func(tx store.Tx) error {
		for id, count := range silent {
			if now, err := tx.Heartbeats(nodes[id]); err != nil || now != count { // it lives after all
				if err != nil {
					return err
				}
				continue
			}
			if err := tx.DeleteWebhook(id); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}

// removeOwnListeners removes the webhooks of listeners that an earlier life of this node had: their connections ended
// with it.
func (s *Service) removeOwnListeners(ctx context.Context) error {
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		all, err := allListeners(tx)
		for _, hook := range all {
			if err == nil && hook.Node == s.Node && !s.listeners.has(hook.ID) {
				err = tx.DeleteWebhook(hook.ID)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove the listeners of an earlier run: %w", err)
	}
	return nil
}

// allListeners lists the webhooks of listeners, of all nodes.
func allListeners(tx store.Tx) ([]wallet.Webhook, error) {
	all, err := tx.AllWebhooks()
	return slices.DeleteFunc(all, func(hook wallet.Webhook) bool { return !hook.Listener }), err
}
