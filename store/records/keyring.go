package records

import (
	"io"
	"sync"

	"purser/store"
)

// secretID identifies a secret: the engine's name of it, and its owner.
type secretID struct{ owner, name string }

// keyring caches unwrapped data keys by owner and name of the secret. It only saves the unwrapping: which secret a
// person has, if any, is read from the database each time, so a cached key is never used for an erased person. Any
// goroutine may use it.
type keyring struct {
	master *store.Key
	random io.Reader

	mu   sync.Mutex
	keys map[secretID]*store.Key
	gone map[secretID]bool // destroyed: never cached again, although an older snapshot may still ask for them
}

// keyringSize bounds a keyring: each key takes a few hundred bytes. A full one is emptied.
const keyringSize = 4096

// unwrap returns a data key. wrapped reads it from the engine, and is called without the lock, only if the key is not
// cached.
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

// forget drops keys for good whose destruction is committed.
func (k *keyring) forget(destroyed []secretID) {
	if len(destroyed) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone == nil {
		k.gone = map[secretID]bool{}
	}
	for _, at := range destroyed {
		delete(k.keys, at)
		k.gone[at] = true
	}
}
