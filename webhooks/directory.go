package webhooks

import (
	"errors"
	"log/slog"
	"sync"

	"purser/store"
	"purser/wallet"
)

// directory remembers webhooks and the keys that registered them, which change seldom and are asked for
// with every event: what it knows holds while the store's KeysVersion stays the same.
type directory struct {
	mu    sync.Mutex
	known *known
}

// known is what was read while the store had a version.
type known struct {
	version uint64
	log     *slog.Logger
	mu      sync.Mutex
	owned   map[wallet.UserID][]registered
	hooks   map[wallet.WebhookID]registered
	all     []registered    // nil: not asked for yet
	told    map[string]bool // damaged rows that the log has heard of
}

// registered is a webhook with the keys of its line, oldest first.
type registered struct {
	wallet.Webhook
	keys []wallet.Key
}

// known is what is known at this moment. It is asked for before the View that reads with it begins.
func (s *Service) known() *known {
	version := s.Store.KeysVersion()
	s.directory.mu.Lock()
	defer s.directory.mu.Unlock()
	if s.directory.known == nil || s.directory.known.version < version {
		s.directory.known = &known{version: version, log: s.Logger, told: map[string]bool{},
			owned: map[wallet.UserID][]registered{}, hooks: map[wallet.WebhookID]registered{}}
	}
	return s.directory.known
}

// remembered is a webhook that was read before.
func (k *known) remembered(id wallet.WebhookID) (registered, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, ok := k.hooks[id]
	return r, ok
}

// hook is one webhook; ErrNotFound.
func (k *known) hook(tx store.Tx, id wallet.WebhookID) (registered, error) {
	if r, ok := k.remembered(id); ok {
		return r, nil
	}
	hook, err := tx.Webhook(id)
	if err != nil {
		return registered{}, err
	}
	r := k.register(tx, hook)
	k.mu.Lock()
	k.hooks[id] = r
	k.mu.Unlock()
	return r, nil
}

// everyone lists all webhooks.
func (k *known) everyone(tx store.Tx) ([]registered, error) {
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
func (k *known) of(tx store.Tx, owner wallet.UserID) ([]registered, error) {
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

func (k *known) registerAll(tx store.Tx, hooks []wallet.Webhook) []registered {
	all := make([]registered, 0, len(hooks))
	for _, hook := range hooks {
		all = append(all, k.register(tx, hook))
	}
	return all
}

// register finds the keys of a webhook. One that cannot be read bars its webhook, and nobody else.
func (k *known) register(tx store.Tx, hook wallet.Webhook) registered {
	keys, err := store.KeyLine(tx, hook.Lineage)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		k.damaged("keys of the line", hook.Lineage, err)
		keys = nil
	}
	return registered{hook, keys}
}

// damaged says once that a row cannot be read, unless there is none: it stands in nobody else's way.
func (k *known) damaged(what, id string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(err, store.ErrNotFound) || k.told[what+id] {
		return
	}
	k.told[what+id] = true
	k.log.Error("a row cannot be read: its webhooks get no events", "what", what, "id", id, "error", err)
}
