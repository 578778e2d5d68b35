package bolt

import (
	"io"
	"sync"

	"purser/store"
)

// keyring remembers data keys that were unwrapped lately, by their owner and their wrapping: whether a person has a
// key, and which, is asked of the file each time.
type keyring struct {
	master *store.Key
	random io.Reader

	mu   sync.Mutex
	keys map[string]*store.Key
}

// keyringSize bounds a keyring; some hundred bytes a key.
const keyringSize = 4096

func (k *keyring) unwrap(owner string, wrapped []byte) (*store.Key, error) {
	name := ringName(owner, wrapped)
	k.mu.Lock()
	key := k.keys[name]
	k.mu.Unlock()
	if key != nil {
		return key, nil
	}
	secret, err := k.master.Unwrap(owner, wrapped)
	if err != nil {
		return nil, err
	}
	if key, err = store.NewKey(secret, k.random); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.keys == nil || len(k.keys) >= keyringSize {
		k.keys = map[string]*store.Key{}
	}
	k.keys[name] = key
	return key, nil
}

// forget drops a key that is being destroyed.
func (k *keyring) forget(owner string, wrapped []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.keys, ringName(owner, wrapped))
}

func ringName(owner string, wrapped []byte) string { return owner + "\x00" + string(wrapped) }
