package webhooks

import (
	"errors"
	"log/slog"
	"sync"

	"purser/store"
	"purser/wallet"
)

// subscriptionCache remembers webhooks and the keys that registered them, which change seldom and are asked for
// with every event: what it knows holds while the store's KeysVersion stays the same.
type subscriptionCache struct {
	mu      sync.Mutex
	current *subscriptionSnapshot
}

// subscriptionSnapshot is what was read while the store had a version.
type subscriptionSnapshot struct {
	version  uint64
	log      *slog.Logger
	mu       sync.Mutex
	owned    map[wallet.UserID][]subscription
	hooks    map[wallet.WebhookID]subscription
	all      []subscription  // nil: not asked for yet
	reported map[string]bool // damaged rows that were logged
}

// subscription is a webhook with the keys of its line, oldest first.
type subscription struct {
	wallet.Webhook
	keys []wallet.Key
}

// subscriptionsNow is what is known at this moment. It is asked for before the View that reads with it begins.
func (s *Service) subscriptionsNow() *subscriptionSnapshot {
	version := s.Store.KeysVersion()
	s.subscriptions.mu.Lock()
	defer s.subscriptions.mu.Unlock()
	if s.subscriptions.current == nil || s.subscriptions.current.version < version {
		s.subscriptions.current = &subscriptionSnapshot{version: version, log: s.Logger, reported: map[string]bool{},
			owned: map[wallet.UserID][]subscription{}, hooks: map[wallet.WebhookID]subscription{}}
	}
	return s.subscriptions.current
}

// remembered is a webhook that was read before.
func (k *subscriptionSnapshot) remembered(id wallet.WebhookID) (subscription, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.hooks[id]
	return r, ok
}

// hook is one webhook; ErrNotFound.
func (k *subscriptionSnapshot) hook(tx store.Tx, id wallet.WebhookID) (subscription, error) {
	if r, ok := k.remembered(id); ok {
		return r, nil
	}
	hook, err := tx.Webhook(id)
	if err != nil {
		return subscription{}, err
	}
	r := k.register(tx, hook)
	k.mu.Lock()
	k.hooks[id] = r
	k.mu.Unlock()
	return r, nil
}

// everyone lists all webhooks.
func (k *subscriptionSnapshot) everyone(tx store.Tx) ([]subscription, error) {
	k.mu.Lock()
	all := k.all
	k.mu.Unlock()
	if all != nil {
		return all, nil
	}
	hooks, err := tx.AllWebhooks()
	if err != nil {
		return nil, err
	}
	all = k.registerAll(tx, hooks)
	k.mu.Lock()
	k.all = all
	k.mu.Unlock()
	return all, nil
}

// of lists the webhooks of an owner ("": of operators).
func (k *subscriptionSnapshot) of(tx store.Tx, owner wallet.UserID) ([]subscription, error) {
	k.mu.Lock()
	all, ok := k.owned[owner]
	k.mu.Unlock()
	if ok {
		return all, nil
	}
	hooks, err := tx.WebhooksOfOwner(owner)
	if err != nil {
		return nil, err
	}
	all = k.registerAll(tx, hooks)
	k.mu.Lock()
	k.owned[owner] = all
	k.mu.Unlock()
	return all, nil
}

func (k *subscriptionSnapshot) registerAll(tx store.Tx, hooks []wallet.Webhook) []subscription {
	all := make([]subscription, 0, len(hooks))
	for _, hook := range hooks {
		all = append(all, k.register(tx, hook))
	}
	return all
}

// register finds the keys of a webhook. One that cannot be read bars its webhook, and nobody else.
func (k *subscriptionSnapshot) register(tx store.Tx, hook wallet.Webhook) subscription {
	keys, err := store.KeyLineage(tx, hook.Lineage)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		k.damaged("keys of the line", hook.Lineage, err)
		keys = nil
	}
	return subscription{hook, keys}
}

// damaged says once that a row cannot be read, unless there is none: it stands in nobody else's way.
func (k *subscriptionSnapshot) damaged(what, id string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(err, store.ErrNotFound) || k.reported[what+id] {
		return
	}
	k.reported[what+id] = true
	k.log.Error("a row cannot be read: its webhooks get no events", "what", what, "id", id, "error", err)
}
