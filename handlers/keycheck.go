package handlers

import (
	"context"
	"crypto/sha256"
	"sync/atomic"
	"time"

	"purser/store"
	"purser/wallet"
)

// Check returns the key of a secret. An unknown, revoked or expired key and a malformed secret are all the same
// INVALID_API_KEY. A valid key of the wrong kind gets a message that says so. want "" accepts both kinds. POLICY_VIOLATION,
// with the key, for a valid one while its owner's account is frozen. now is that of Keys.Now: a caller that needs the time
// itself reads it once.
//
// The secret is looked up by a keyed hash and compared with nothing, so response times reveal nothing about near guesses.
func (k *Keys) Check(ctx context.Context, now time.Time, secret string, want wallet.KeyKind) (wallet.Key, error) {
	refused := func() (wallet.Key, error) {
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "credential.invalid")
	}
	known, err := k.bySecret(ctx, secret)
	if wallet.CodeOf(err) == wallet.InvalidAPIKey {
		return refused()
	}
	if err != nil {
		return wallet.Key{}, err
	}
	key := &known.key
	// Expiry writes nothing, so AccessVersion does not show it: a cached key is checked at each call.
	switch {
	case !key.UsableAt(now):
		return refused()
	case want == wallet.BotKey && key.Kind != want:
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "credential.api_key")
	case want == wallet.APIKey && key.Kind != want:
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "credential.bot_token")
	}
	if known.frozen != nil {
		return *key, known.frozen
	}
	if first := k.touch(known, now); first { // written at once: rotation may replace a key that was never used
		if err := k.WriteUse(ctx); err != nil && k.Log != nil {
			k.Log.Warn("the first use of a key could not be written", "error", err)
		}
	}
	return *key, nil
}

// Opens reports whether a secret is usable now. It does not count as a use. The API calls it before it reads a body.
func (k *Keys) Opens(ctx context.Context, secret string) bool {
	known, err := k.bySecret(ctx, secret)
	return err == nil && known.key.UsableAt(k.Now())
}

// usedEvery is the precision of the last use, in memory.
const usedEvery = time.Second

// touch records a use in memory, and reports whether it is the key's first.
func (k *Keys) touch(known *knownKey, now time.Time) (first bool) {
	at := now.UnixNano()
	if last := known.used.Load(); last != 0 && at >= last && at-last < int64(usedEvery) {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	known.used.Store(at)
	last, lately := k.used[known.key.ID]
	if lately && now.Sub(last) < usedEvery && !now.Before(last) {
		return false
	}
	if k.used == nil {
		k.used = map[string]time.Time{}
	}
	k.used[known.key.ID] = now
	return !lately && known.key.LastUsed.IsZero()
}

// knownKey is a cached key, with the AccessVersion at which it was read. Only used changes.
type knownKey struct {
	key     wallet.Key
	frozen  error // the refusal for a key whose owner's account is frozen; nil for others
	version uint64
	used    atomic.Int64 // when touch last recorded a use, in nanoseconds of Unix time; 0: not since the key was read
}

// maxKnown bounds the cache: an entry takes about half a kilobyte. A full cache is emptied.
const maxKnown = 16384

// bySecret returns the key of a secret, from the cache if no key has changed since. The version is read before the key,
// so a change in between only makes the entry stale.
func (k *Keys) bySecret(ctx context.Context, secret string) (*knownKey, error) {
	sum, version := sha256.Sum256([]byte(secret)), k.Store.AccessVersion()
	k.mu.Lock()
	known, ok := k.known[sum]
	k.mu.Unlock()
	if ok && known.version == version {
		return known, nil
	}
	if _, ok := wallet.IsKeySecret(secret); !ok { // a malformed secret costs no read of the store
		return nil, wallet.Refuse(wallet.InvalidAPIKey, "credential.ended")
	}
	known, err := read(ctx, k.Store, func(tx store.Tx) (*knownKey, error) {
		key, err := tx.KeyBySecret(secret)
		if err != nil {
			return nil, found(err, wallet.InvalidAPIKey, "credential.ended")
		}
		frozen := usable(tx, key.Owner, wallet.ByKey)
		if frozen != nil && wallet.CodeOf(frozen) != wallet.PolicyViolation {
			return nil, frozen
		}
		return &knownKey{key: key, frozen: frozen, version: version}, nil
	})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	// A full cache is dropped as a whole: the keys in use are back after one read each.
	if k.known == nil || len(k.known) >= maxKnown {
		k.known = map[[32]byte]*knownKey{}
	}
	k.known[sum] = known
	return known, nil
}
