package handlers

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

// Keys are API keys and bot tokens.
type Keys struct {
	Store   store.Store
	Mainnet bool
	Now     Clock
	NewID   IDs
	Random  io.Reader
	Log     *slog.Logger // nil: silence
	Bot     BotName      // whose name no app may take

	mu    sync.Mutex
	used  map[string]time.Time  // by id: what was opened since the last writing
	known map[[32]byte]knownKey // by the SHA-256 of the secret
}

// RotationGrace is how long a key still opens what its successor opens (docs/specification.md, Keys).
const RotationGrace = 24 * time.Hour

// KeyRequest asks for a key. OwnerTelegramID 0 makes an operator's key that belongs to nobody. App names
// a program for which people can grant more than their owner's own data; one that the owner has by this
// name already is meant, else it is made.
type KeyRequest struct {
	Kind            wallet.KeyKind
	Tier            wallet.Tier
	Scopes          []wallet.Scope // empty: all that fit the kind
	OwnerTelegramID int64
	ExpiresAt       time.Time
	App             string
}

// checked is the request with its scopes filled in. INVALID_REQUEST.
func (req KeyRequest) checked() (KeyRequest, error) {
	switch {
	case req.Kind != wallet.APIKey && req.Kind != wallet.BotKey:
		return req, wallet.Refuse(wallet.InvalidRequest, "body.one_of", wallet.TextArg("Field", "kind"), wallet.ListArg("Choices", []wallet.KeyKind{wallet.APIKey, wallet.BotKey}))
	case req.Tier != wallet.FreeTier && req.Tier != wallet.ProTier:
		return req, wallet.Refuse(wallet.InvalidRequest, "body.one_of", wallet.TextArg("Field", "tier"), wallet.ListArg("Choices", []wallet.Tier{wallet.FreeTier, wallet.ProTier}))
	}
	fitting := wallet.ScopesOf(req.Kind)
	for _, scope := range req.Scopes {
		if !slices.Contains(fitting, scope) {
			return req, wallet.Refuse(wallet.InvalidRequest, "key.unknown_scope", wallet.TextArg("Scope", scope), wallet.ListArg("Scopes", fitting))
		}
	}
	if len(req.Scopes) == 0 {
		req.Scopes = fitting
	}
	return req, nil
}

// Create makes a key and returns its secret: the only time that anybody sees it.
func (k *Keys) Create(ctx context.Context, req KeyRequest) (wallet.Key, string, error) {
	req, err := req.checked()
	if err != nil {
		return wallet.Key{}, "", err
	}
	made, err := k.Draw(wallet.Key{Kind: req.Kind, Tier: req.Tier, Scopes: req.Scopes, ExpiresAt: req.ExpiresAt})
	if err != nil {
		return wallet.Key{}, "", err
	}
	appID := wallet.AppID(k.NewID("app"))
	err = k.Store.Update(ctx, func(tx store.Tx) error {
		made.Key.Owner, made.Key.App = "", ""
		if req.OwnerTelegramID != 0 {
			owner, err := tx.UserByTelegram(req.OwnerTelegramID)
			if err != nil {
				return found(err, wallet.UserNotFound, "person.not_started")
			}
			made.Key.Owner = owner.ID
		}
		if req.App != "" {
			app, err := appNamed(tx, k.Bot, wallet.App{ID: appID, Owner: made.Key.Owner, Name: req.App, Scopes: wallet.Grantable(req.Kind, req.Scopes), CreatedAt: k.Now().UTC()})
			if err != nil {
				return err
			}
			made.Key.App = app.ID
		}
		return tx.CreateKey(made.Key, made.Secret)
	})
	if err != nil {
		return wallet.Key{}, "", err
	}
	return made.Key, made.Secret, nil
}

// NewKey is a key with its secret, which nobody sees again.
type NewKey struct {
	Key    wallet.Key
	Secret string
}

// Draw makes id, secret, hint and time of a key that is described; nothing is stored.
func (k *Keys) Draw(described wallet.Key) (NewKey, error) {
	secret, err := wallet.NewKeySecret(k.Random, described.Kind, k.Mainnet)
	if err != nil {
		return NewKey{}, fmt.Errorf("draw a key: %w", err)
	}
	described.ID, described.Hint, described.CreatedAt = k.NewID("key"), secret[len(secret)-4:], k.Now().UTC()
	described.LastUsed, described.RevokedAt, described.Next = time.Time{}, time.Time{}, ""
	return NewKey{described, secret}, nil
}

// PrepareRotation draws what takes the place of a key.
func (k *Keys) PrepareRotation(ctx context.Context, id string) (NewKey, error) {
	old, err := read(ctx, k.Store, func(tx store.Tx) (wallet.Key, error) { return k.rotatable(tx, id) })
	if err != nil {
		return NewKey{}, err
	}
	next := old
	next.First = old.Lineage()
	return k.Draw(next)
}

// CommitRotation puts the new key in the place of the old one, which opens everything for
// RotationGrace more, or ends now; it returns when. A key whose successor was used is CONFLICT: of a
// line, at most two open anything. A successor that nobody ever used gives way: its secret was lost.
func (k *Keys) CommitRotation(tx store.Tx, id string, next NewKey, endNow bool) (time.Time, error) {
	old, err := k.rotatable(tx, id)
	if err != nil {
		return time.Time{}, err
	}
	if err := k.endOthers(tx, old, next.Key); err != nil {
		return time.Time{}, err
	}
	ends := k.Now().UTC()
	if !endNow {
		ends = ends.Add(RotationGrace)
	}
	if old.RevokedAt.IsZero() || ends.Before(old.RevokedAt) { // rotating again gives no more time
		old.RevokedAt = ends
	}
	old.Next = next.Key.ID
	return old.RevokedAt, errors.Join(tx.PutKey(old), tx.CreateKey(next.Key, next.Secret))
}

// rotatable is a key that lives and has no successor yet.
func (k *Keys) rotatable(tx store.Tx, id string) (wallet.Key, error) {
	old, err := tx.Key(id)
	switch {
	case err != nil:
		return old, found(err, wallet.NotFound, "key.unknown")
	case !old.UsableAt(k.Now()):
		return old, wallet.Refuse(wallet.Conflict, "key.ended")
	case !old.RevokedAt.IsZero():
		switch _, ok, err := k.successor(tx, old); {
		case err != nil:
			return old, err
		case !ok:
			return old, wallet.Refuse(wallet.Conflict, "key.rotated", wallet.TimeArg("Ends", old.RevokedAt))
		}
	}
	return old, nil
}

// successor is the key that took the place of another, where nothing has come of it yet: it lives, was
// never used, and has no successor of its own. Then its secret was lost on the way.
func (k *Keys) successor(tx store.Tx, old wallet.Key) (wallet.Key, bool, error) {
	if old.Next == "" {
		return wallet.Key{}, false, nil
	}
	next, err := tx.Key(old.Next)
	return next, err == nil && next.Next == "" && next.RevokedAt.IsZero() && !k.inUse(next), err
}

// endOthers ends what else of a line still opens anything: at most two keys of it do.
func (k *Keys) endOthers(tx store.Tx, old, next wallet.Key) error {
	all, err := tx.KeysOf(old.Owner)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Lineage() != old.Lineage() || other.ID == old.ID || other.ID == next.ID || !other.UsableAt(k.Now()) {
			continue
		}
		if _, err := k.RevokeIn(tx, other.ID); err != nil {
			return err
		}
	}
	return nil
}

// inUse tells whether a key has ever opened anything.
func (k *Keys) inUse(key wallet.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, lately := k.used[key.ID]
	return lately || !key.LastUsed.IsZero()
}

// Rotate is PrepareRotation and CommitRotation at once, for the operator.
func (k *Keys) Rotate(ctx context.Context, id string, endNow bool) (wallet.Key, string, error) {
	next, err := k.PrepareRotation(ctx, id)
	if err != nil {
		return wallet.Key{}, "", err
	}
	err = k.Store.Update(ctx, func(tx store.Tx) error {
		_, err := k.CommitRotation(tx, id, next, endNow)
		return err
	})
	return next.Key, next.Secret, err
}

// Check finds the key behind a secret. Everything that does not open the wanted kind of endpoint
// (unknown, revoked, expired, the wrong kind, not a key at all) is INVALID_API_KEY alike; that it is good
// for the other kind is said to whoever has it. want "" is either kind. The secret itself is compared with
// nothing: it is looked up by a keyed hash, which says nothing of how near a guess came.
func (k *Keys) Check(ctx context.Context, secret string, want wallet.KeyKind) (wallet.Key, error) {
	refused := func() (wallet.Key, error) {
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "credential.missing")
	}
	key, err := k.bySecret(ctx, secret)
	if wallet.CodeOf(err) == wallet.InvalidAPIKey {
		return refused()
	}
	if err != nil {
		return wallet.Key{}, err
	}
	now := k.Now()
	switch {
	case !key.UsableAt(now):
		return refused()
	case want == wallet.BotKey && key.Kind != want:
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "credential.api_key")
	case want == wallet.APIKey && key.Kind != want:
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "credential.bot_token")
	}
	if first := k.touch(key, now); first { // durable at once: an unused key may be replaced
		if err := k.WriteUse(ctx); err != nil && k.Log != nil {
			k.Log.Warn("the first use of a key could not be written", "error", err)
		}
	}
	return key, nil
}

// Opens tells whether a secret opens anything now. Unlike Check it notes no use: it is asked before a body is read.
func (k *Keys) Opens(ctx context.Context, secret string) bool {
	key, err := k.bySecret(ctx, secret)
	return err == nil && key.UsableAt(k.Now())
}

// usedEvery is how exactly it is known when a key was used.
const usedEvery = time.Second

// touch notes a use, and tells whether it is the first of all.
func (k *Keys) touch(key wallet.Key, now time.Time) (first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, lately := k.used[key.ID]
	if lately && now.Sub(last) < usedEvery && !now.Before(last) {
		return false
	}
	if k.used == nil {
		k.used = map[string]time.Time{}
	}
	k.used[key.ID] = now
	return !lately && key.LastUsed.IsZero()
}

// knownKey is a key as it was read when the store's keys had a version.
type knownKey struct {
	key     wallet.Key
	version uint64
}

// mostKnown bounds the memory of known keys: about half a kilobyte each.
const mostKnown = 16384

// bySecret finds a key, by memory as long as no key has changed since it was read: each request of the
// API asks.
func (k *Keys) bySecret(ctx context.Context, secret string) (wallet.Key, error) {
	sum, version := sha256.Sum256([]byte(secret)), k.Store.KeysVersion()
	k.mu.Lock()
	known, ok := k.known[sum]
	k.mu.Unlock()
	if ok && known.version == version {
		return known.key, nil
	}
	if _, ok := wallet.IsKeySecret(secret); !ok { // what is no key at all costs no look into the store
		return wallet.Key{}, wallet.Refuse(wallet.InvalidAPIKey, "credential.ended")
	}
	key, err := read(ctx, k.Store, func(tx store.Tx) (wallet.Key, error) {
		key, err := tx.KeyBySecret(secret)
		return key, found(err, wallet.InvalidAPIKey, "credential.ended")
	})
	if err != nil {
		return key, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= mostKnown {
		k.known = map[[32]byte]knownKey{}
	}
	k.known[sum] = knownKey{key, version}
	return key, nil
}

// lastUsedEvery is how late wallet.Key.LastUsed may be.
const lastUsedEvery = 30 * time.Second

// Run writes when keys were last used, many at once, until ctx ends. Its error is
// store.ErrUnknownOutcome.
func (k *Keys) Run(ctx context.Context) error {
	ticker := time.NewTicker(lastUsedEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
		err := k.WriteUse(context.WithoutCancel(ctx))
		switch {
		case errors.Is(err, store.ErrUnknownOutcome):
			return fmt.Errorf("write when keys were used: %w", err)
		case err != nil && k.Log != nil:
			k.Log.Warn("when keys were used could not be written", "error", err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// WriteUse writes when keys were used since it was called last. What fails is written the next time.
func (k *Keys) WriteUse(ctx context.Context) error {
	k.mu.Lock()
	used := maps.Clone(k.used) // what is not written yet stays known
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := k.Store.Update(ctx, func(tx store.Tx) error {
		for id, at := range used {
			key, err := tx.Key(id)
			if errors.Is(err, store.ErrNotFound) || err == nil && !key.LastUsed.Before(at) {
				continue
			}
			if err != nil {
				return err
			}
			key.LastUsed = at.UTC()
			if err := tx.PutKey(key); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		maps.DeleteFunc(k.used, func(id string, at time.Time) bool { return used[id].Equal(at) })
	}
	return err
}

// List is every key, without secrets.
func (k *Keys) List(ctx context.Context) ([]wallet.Key, error) {
	return read(ctx, k.Store, store.Tx.AllKeys)
}

// SetTier changes the tier of a key, for the operator, and of all keys of its line that still open anything. On
// the free tier its webhooks stop: they stay registered, are shown as ended by their tier, get no events, and what
// waits for them is kept for a resend. Back on pro those go on. The owner is told in chat. NOT_FOUND,
// INVALID_REQUEST; CONFLICT for a key that has ended.
func (k *Keys) SetTier(ctx context.Context, id string, tier wallet.Tier) (wallet.Key, error) {
	if tier != wallet.FreeTier && tier != wallet.ProTier {
		return wallet.Key{}, wallet.Refuse(wallet.InvalidRequest, "body.one_of", wallet.TextArg("Field", "tier"), wallet.ListArg("Choices", []wallet.Tier{wallet.FreeTier, wallet.ProTier}))
	}
	var key wallet.Key
	event := k.NewID("evt")
	err := k.Store.Update(ctx, func(tx store.Tx) error {
		var err error
		if key, err = tx.Key(id); err != nil {
			return found(err, wallet.NotFound, "key.unknown")
		}
		if !key.UsableAt(k.Now()) {
			return wallet.Refuse(wallet.Conflict, "key.ended")
		}
		line, err := store.KeyLineage(tx, key.Lineage())
		if err != nil {
			return err
		}
		changed := false
		for _, other := range line {
			if other.Tier == tier || !other.UsableAt(k.Now()) {
				continue
			}
			changed, other.Tier = true, tier
			if err := tx.PutKey(other); err != nil {
				return err
			}
		}
		key.Tier = tier
		if !changed {
			return nil
		}
		hooks, err := k.stopOrStart(tx, key)
		if err != nil {
			return err
		}
		told, err := wallet.NewEvent(event, wallet.KeyTierSet, k.Now().UTC(), key.Owner, wallet.KeyTierSetData{KeyID: key.ID, Tier: tier, Webhooks: hooks})
		if err != nil {
			return err
		}
		return tx.Emit(told)
	})
	return key, err
}

// stopOrStart turns the webhooks of a key's line off or on again as its tier is now, and counts them. One that
// was turned off for another reason stays off.
func (k *Keys) stopOrStart(tx store.Tx, key wallet.Key) (changed int, _ error) {
	hooks, _, err := hooksOf(tx, key.Lineage())
	if err != nil {
		return 0, err
	}
	for _, hook := range hooks {
		switch {
		case key.Tier == wallet.FreeTier && hook.Active:
			hook.Active, hook.Ended = false, wallet.EndedTier
		case key.Tier == wallet.ProTier && hook.Ended == wallet.EndedTier:
			hook.Active, hook.Ended = true, ""
		default:
			continue
		}
		hook.UpdatedAt = k.Now().UTC()
		if err := tx.PutWebhook(hook); err != nil {
			return 0, err
		}
		changed++
	}
	return changed, nil
}

// Revoke ends a key now.
func (k *Keys) Revoke(ctx context.Context, id string) (wallet.Key, error) {
	var key wallet.Key
	err := k.Store.Update(ctx, func(tx store.Tx) error {
		var err error
		key, err = k.RevokeIn(tx, id)
		return err
	})
	return key, err
}

// RevokeIn is Revoke in the caller's transaction. With the last key of a line that opens anything its webhooks
// go, since nobody could change them any more.
func (k *Keys) RevokeIn(tx store.Tx, id string) (wallet.Key, error) {
	key, err := tx.Key(id)
	if err != nil {
		return key, found(err, wallet.NotFound, "key.unknown")
	}
	if now := k.Now().UTC(); key.RevokedAt.IsZero() || now.Before(key.RevokedAt) {
		key.RevokedAt = now
	}
	if err := tx.PutKey(key); err != nil {
		return key, err
	}
	all, err := tx.KeysOf(key.Owner)
	if err != nil || slices.ContainsFunc(all, func(other wallet.Key) bool { return other.Lineage() == key.Lineage() && other.UsableAt(k.Now()) }) {
		return key, err
	}
	hooks, err := tx.WebhooksOf(key.Lineage())
	if err != nil {
		return key, err
	}
	return key, deleteHooks(tx, hooks)
}
