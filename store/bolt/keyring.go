package bolt

import (
	"io"
	"sync"

	"purser/store"
)

// keyring remembers data keys that were unwrapped lately, by their owner and where they lie: whether a person has a
// key, and which, is asked of the database each time.
type keyring struct {
	master *store.Key
	random io.Reader

	mu   sync.Mutex
	keys map[string]*store.Key
	gone map[string]bool // destroyed, or about to be; whoever looks at an older snapshot may ask for them still
}

// keyringSize bounds a keyring; some hundred bytes a key.
const keyringSize = 4096

// unwrap opens a key; wrapped reads it from the file.
func (k *keyring) unwrap(owner string, ref keyRef, wrapped func() ([]byte, error)) (*store.Key, error) {
	name := ringName(owner, ref)
	k.mu.Lock()
	key := k.keys[name]
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
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone[name] {
		return key, nil
	}
	if k.keys == nil || len(k.keys) >= keyringSize {
		k.keys = map[string]*store.Key{}
	}
	k.keys[name] = key
	return key, nil
}

// forget drops a key that is being destroyed, for good.
func (k *keyring) forget(owner string, ref keyRef) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := ringName(owner, ref)
	delete(k.keys, name)
	if k.gone == nil {
		k.gone = map[string]bool{}
	}
	k.gone[name] = true
}

func ringName(owner string, ref keyRef) string { return owner + "\x00" + string(ref.encode()) }
