package webhooks

import (
	"errors"
	"log/slog"
	"sync"

	"purser/store"
	"purser/wallet"
)

// subscriptionCache remembers webhooks and the keys that registered them. They seldom change, and every event needs
// them. What it knows is valid while the store's AccessVersion stays the same.
type subscriptionCache struct {
	mu      sync.Mutex // guards current
	current *subscriptionSnapshot
}

// subscriptionSnapshot is what was read while the store had one AccessVersion. Its entries are filled in as they are asked for
// and never change. When the version rises, the whole snapshot is replaced; a caller that holds the old one may go on using it.
type subscriptionSnapshot struct {
	version  uint64
	log      *slog.Logger
	mu       sync.Mutex // guards what follows; never held while the store is read
	owned    map[wallet.UserID][]subscription
	hooks    map[wallet.WebhookID]subscription
	all      []subscription  // nil: not asked for yet
	reported map[string]bool // damaged rows that were logged

	// What people allow, as far as it was looked up: a change of a grant, and the erasure of a person, raise the version,
	// too. A refusal is not remembered.
	allowed map[consent]*wallet.Notifications // what the app asked for; nil: all
	holding map[wallet.UserID][]wallet.UserID // see holders
}

// consent is what a person was found to allow.
type consent struct {
	person wallet.UserID
	consentQuery
}

// maxRemembered bounds each of the maps by person. A full one is emptied: the next events fill it again.
const maxRemembered = 10_000

// consented returns what consents returned before, without reading the store.
func (k *subscriptionSnapshot) consented(person wallet.UserID, of consentQuery) (wish *wallet.Notifications, given bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	wish, given = k.allowed[consent{person, of}]
	return wish, given
}

// remember notes a consent for consented.
func (k *subscriptionSnapshot) remember(person wallet.UserID, of consentQuery, wish *wallet.Notifications) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.allowed) >= maxRemembered {
		clear(k.allowed)
	}
	k.allowed[consent{person, of}] = wish
}

// subscription is a webhook with the keys of its lineage (a key and its rotations), oldest first. Without keys it may receive
// nothing.
type subscription struct {
	wallet.Webhook
	keys []wallet.Key
}

// subscriptionsNow returns the snapshot of the store's current version. Call it before the View that fills it begins: then a
// change in between makes the snapshot at most newer than its version says, and the next call replaces it.
func (s *Service) subscriptionsNow() *subscriptionSnapshot {
	version := s.Store.AccessVersion()
	s.subscriptions.mu.Lock()
	defer s.subscriptions.mu.Unlock()
	if s.subscriptions.current == nil || s.subscriptions.current.version < version {
		s.subscriptions.current = &subscriptionSnapshot{version: version, log: s.Logger, reported: map[string]bool{},
			owned: map[wallet.UserID][]subscription{}, hooks: map[wallet.WebhookID]subscription{},
			allowed: map[consent]*wallet.Notifications{}, holding: map[wallet.UserID][]wallet.UserID{}}
	}
	return s.subscriptions.current
}

// remembered returns a webhook that was read before, without reading the store.
func (k *subscriptionSnapshot) remembered(id wallet.WebhookID) (subscription, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.hooks[id]
	return r, ok
}

// hook returns one webhook, from memory or from the store. store.ErrNotFound if it does not exist.
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

// everyone lists the webhooks of all owners, for events that are about nobody. The result is shared: callers must not
// change it.
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

// of lists the webhooks of an owner, "" for those of operators. The result is shared: callers must not change it. Two
// goroutines may read the same owner at once, and the later result stays.
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

// registerAll reads the keys of each webhook.
func (k *subscriptionSnapshot) registerAll(tx store.Tx, hooks []wallet.Webhook) []subscription {
	all := make([]subscription, 0, len(hooks))
	for _, hook := range hooks {
		all = append(all, k.register(tx, hook))
	}
	return all
}

// register reads the keys of a webhook. If one cannot be read, that is logged and the webhook receives nothing: a damaged row
// must not stop the deliveries of others.
func (k *subscriptionSnapshot) register(tx store.Tx, hook wallet.Webhook) subscription {
	keys, err := store.KeyLineage(tx, hook.Lineage)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		k.damaged("keys of the line", hook.Lineage, err)
		keys = nil
	}
	return subscription{hook, keys}
}

// damaged logs that a row cannot be read, once for each row and snapshot. It logs nothing for a row that does not exist.
func (k *subscriptionSnapshot) damaged(what, id string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(err, store.ErrNotFound) || k.reported[what+id] {
		return
	}
	k.reported[what+id] = true
	k.log.Error("a row cannot be read: its webhooks get no events", "what", what, "id", id, "error", err)
}
