package records

import (
	"io"
	"sync"

	"purser/store"
)

// secretID tells one secret from another: the engine's name of it, and whose it is said to be.
type secretID struct{ owner, name string }

// keyring remembers data keys that were unwrapped lately, by their owner and the name of the secret: whether a person has a
// key, and which, is asked of the database each time.
type keyring struct {
	master *store.Key
	random io.Reader

	mu   sync.Mutex
	keys map[secretID]*store.Key
	gone map[secretID]bool // destroyed, or about to be; whoever looks at an older snapshot may ask for them still
}

// keyringSize bounds a keyring; some hundred bytes a key.
const keyringSize = 4096

// unwrap opens a key; wrapped reads it from the engine.
func (k *keyring) unwrap(owner string, name []byte, wrapped func() ([]byte, error)) (*store.Key, error) {
	k.mu.Lock()
	key := k.keys[secretID{owner, string(name)}] // which allocates nothing
	k.mu.Unlock()
	if key != nil {
		return key, nil
	}
	raw, err := wrapped()
	if err != nil {
		return nil, err
	}
	secret, err := k.master.Unwrap(owner, raw)
	if err != nil {
		return nil, err
	}
	if key, err = store.NewKey(secret, k.random); err != nil {
		return nil, err
	}
	at := secretID{owner, string(name)}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone[at] {
		return key, nil
	}
	if k.keys == nil || len(k.keys) >= keyringSize {
		k.keys = map[secretID]*store.Key{}
	}
	k.keys[at] = key
	return key, nil
}

// forget drops a key that is being destroyed, for good.
func (k *keyring) forget(owner string, name []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := secretID{owner, string(name)}
	delete(k.keys, at)
	if k.gone == nil {
		k.gone = map[secretID]bool{}
	}
	k.gone[at] = true
}
