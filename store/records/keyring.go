package records

import (
	"io"
	"sync"

	"purser/store"
)

// secretID identifies a secret: its owner, and the engine's name of it. An owner's later secret has another name.
type secretID struct{ owner, name string }

// keyring caches unwrapped data keys. It only saves the unwrapping: which secret a person has, if any, is read from
// the database each time, so a cached key is never used for an erased person. Any goroutine may use it.
type keyring struct {
	master *store.Key // unwraps the data keys
	random io.Reader  // source of the nonces of all keys; safe for several goroutines

	// mu guards keys and gone. It is not held while a key is read or unwrapped.
	mu   sync.Mutex
	keys map[secretID]*store.Key
	gone map[secretID]bool // destroyed, never cached again: an older snapshot may still ask for them
}

// keyringSize is the most keys that are cached. Each takes a few hundred bytes. A full cache is emptied.
const keyringSize = 4096

// unwrap returns a data key. wrapped reads it from the engine. It is called without the lock, and only if the key is
// not cached. Two goroutines may unwrap the same key at once, which does no harm.
func (k *keyring) unwrap(owner string, name []byte, wrapped func() ([]byte, error)) (*store.Key, error) {
	k.mu.Lock()
	key := k.keys[secretID{owner, string(name)}] // a conversion in a map index allocates nothing
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
	// The key may have been destroyed since it was read: then this caller may use it for its snapshot, and nobody
	// after it.
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

// forget drops keys for good after their destruction was committed. gone grows by one entry for each erased person,
// until the process ends.
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
