package webhooks

import (
	"errors"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

// directory remembers webhooks and the keys that registered them, which change seldom and are asked for
// with every event: what it knows holds while the store's KeysVersion stays the same.
type directory struct {
	store store.Store
	mu    sync.Mutex
	known *known
}

// known is what was read while the store had a version.
type known struct {
	version uint64
	mu      sync.Mutex
	owned   map[wallet.UserID][]registered
	hooks   map[wallet.WebhookID]registered
}

// registered is a webhook with the keys of its line, oldest first.
type registered struct {
	wallet.Webhook
	keys []wallet.Key
}

// now is what is known at this moment. It is asked for before the View that reads with it begins.
func (d *directory) now() *known {
	version := d.store.KeysVersion()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || d.known.version < version {
		d.known = &known{version: version, owned: map[wallet.UserID][]registered{}, hooks: map[wallet.WebhookID]registered{}}
	}
	return d.known
}

// hook is one webhook; ErrNotFound.
func (k *known) hook(tx store.Tx, id wallet.WebhookID) (registered, error) {
	k.mu.Lock()
	r, ok := k.hooks[id]
	k.mu.Unlock()
	if ok {
		return r, nil
	}
	hook, err := tx.Webhook(id)
	if err != nil {
		return r, err
	}
	if r, err = register(tx, hook); err != nil {
		return r, err
	}
	k.mu.Lock()
	k.hooks[id] = r
	k.mu.Unlock()
	return r, nil
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
	if all, err = registerAll(tx, hooks); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.owned[owner] = all
	k.mu.Unlock()
	return all, nil
}

func registerAll(tx store.Tx, hooks []wallet.Webhook) ([]registered, error) {
	var all []registered
	for _, hook := range hooks {
		r, err := register(tx, hook)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func register(tx store.Tx, hook wallet.Webhook) (registered, error) {
	r := registered{Webhook: hook}
	for id := hook.Line; id != ""; {
		key, err := tx.Key(id)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return r, nil
		case err != nil:
			return r, err
		}
		r.keys, id = append(r.keys, key), key.Next
	}
	return r, nil
}

// key is the newest key of the line that opens anything at now; not ok when none does.
func (r registered) key(now time.Time) (live wallet.Key, ok bool) {
	for _, key := range r.keys {
		if key.UsableAt(now) {
			live, ok = key, true
		}
	}
	return live, ok
}
