package handlers

import (
	"context"
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

// Keys creates, rotates, checks and revokes API keys and bot tokens. Any number of nodes may share the store: what is
// cached here is checked against Store.AccessVersion, which changes with every key.
type Keys struct {
	Store   store.Store
	Mainnet bool
	Now     Clock
	NewID   IDs
	Random  io.Reader
	Log     *slog.Logger // nil: nothing is logged
	Bot     BotName      // the bot's name, which no app may use

	mu    sync.Mutex             // guards used and known
	used  map[string]time.Time   // by key ID: uses that are not written to the store yet
	known map[[32]byte]*knownKey // cache, by the SHA-256 of the secret
}

// RotationGrace is how long a rotated key stays usable beside its successor (docs/specification.md, Keys).
const RotationGrace = 24 * time.Hour

// KeyRequest describes a key to create. OwnerTelegramID 0 makes an operator's key, which has no owner. App names the app
// that people can grant access to. The owner's app of that name is used, or created if there is none.
type KeyRequest struct {
	Kind            wallet.KeyKind
	Tier            wallet.Tier
	Scopes          []wallet.Scope // empty: all that fit the kind
	OwnerTelegramID int64
	ExpiresAt       time.Time
	App             string
}

// checked validates the request and fills in the scopes. INVALID_REQUEST.
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

// Create creates a key and returns it with its secret. The secret is not stored and cannot be shown again.
func (k *Keys) Create(ctx context.Context, req KeyRequest) (wallet.Key, string, error) {
	req, err := req.checked()
	if err != nil {
		return wallet.Key{}, "", err
	}
	made, err := k.Generate(wallet.Key{Kind: req.Kind, Tier: req.Tier, Scopes: req.Scopes, ExpiresAt: req.ExpiresAt})
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
			if err := owner.Frozen(wallet.ByKey); err != nil {
				return err
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
		return errors.Join(tx.CreateKey(made.Key, made.Secret), logKey(tx, k.Now(), wallet.LogKeyCreated, made.Key))
	})
	if err != nil {
		return wallet.Key{}, "", err
	}
	return made.Key, made.Secret, nil
}

// NewKey is a key with its secret, which is shown once.
type NewKey struct {
	Key    wallet.Key
	Secret string
}

// Generate completes a described key with a new ID, secret, hint and creation time. Nothing is stored.
func (k *Keys) Generate(described wallet.Key) (NewKey, error) {
	secret, err := wallet.NewKeySecret(k.Random, described.Kind, k.Mainnet)
	if err != nil {
		return NewKey{}, fmt.Errorf("draw a key: %w", err)
	}
	described.ID, described.Hint, described.CreatedAt = k.NewID("key"), secret[len(secret)-4:], k.Now().UTC()
	described.LastUsed, described.RevokedAt, described.Next = time.Time{}, time.Time{}, ""
	return NewKey{described, secret}, nil
}

// PrepareRotation draws the successor of a key. Errors: those of rotatable.
func (k *Keys) PrepareRotation(ctx context.Context, id string) (NewKey, error) {
	old, err := read(ctx, k.Store, func(tx store.Tx) (wallet.Key, error) { return k.rotatable(tx, id) })
	if err != nil {
		return NewKey{}, err
	}
	next, err := k.Generate(old)
	next.Key = succeeds(next.Key, old)
	return next, err
}

// succeeds completes the successor of a key: all but what was drawn for it is that of the key as it is stored now, since its tier or its
// scopes may have changed since the drawing.
func succeeds(drawn, old wallet.Key) wallet.Key {
	next := old
	next.ID, next.Hint, next.CreatedAt = drawn.ID, drawn.Hint, drawn.CreatedAt
	next.LastUsed, next.RevokedAt, next.Next = time.Time{}, time.Time{}, ""
	next.First = old.Lineage()
	return next
}

// CommitRotation stores the successor of a key and returns when the old key ends: after RotationGrace, or at once if
// endNow is set. At most two keys of a lineage are usable. A successor that was never used is replaced: its secret must
// have been lost. If it was used, the answer is CONFLICT.
func (k *Keys) CommitRotation(tx store.Tx, id string, next NewKey, endNow bool) (time.Time, error) {
	// Another rotation may have been committed since PrepareRotation.
	old, err := k.rotatable(tx, id)
	if err != nil {
		return time.Time{}, err
	}
	if err := usable(tx, old.Owner, wallet.ByKey); err != nil {
		return time.Time{}, err
	}
	// Only the old key and its successor stay usable.
	if err := k.endOthers(tx, old, next.Key); err != nil {
		return time.Time{}, err
	}
	ends := k.Now().UTC()
	if !endNow {
		ends = ends.Add(RotationGrace)
	}
	if old.RevokedAt.IsZero() || ends.Before(old.RevokedAt) { // a second rotation does not extend the grace period
		old.RevokedAt = ends
	}
	if endNow {
		if err := endOpened(tx, old); err != nil {
			return time.Time{}, err
		}
	}
	// Both rows are in one commit: a crash leaves either the old key alone, or the pair.
	successor := succeeds(next.Key, old)
	old.Next = successor.ID
	return old.RevokedAt, errors.Join(tx.PutKey(old), tx.CreateKey(successor, next.Secret), logKey(tx, k.Now(), wallet.LogKeyRotated, successor))
}

// endOpened ends what keys of a lineage have opened and what asks for no key again: live streams, and links and sessions of the portal. Somebody who
// took a key that is ended at once may hold one of them, and nobody would see it.
func endOpened(tx store.Tx, key wallet.Key) error {
	_, listeners, err := hooksOf(tx, key.Lineage())
	if err != nil {
		return err
	}
	return errors.Join(deleteHooks(tx, listeners), tx.DeletePortalTokensOf(key.Owner, key.Lineage()))
}

// rotatable returns a key that can be rotated: it is usable, and has no successor that was used. NOT_FOUND, CONFLICT.
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

// successor returns the key that replaced another one. The result is true if the successor is usable, was never used and
// was not rotated itself: then its secret was probably lost.
func (k *Keys) successor(tx store.Tx, old wallet.Key) (wallet.Key, bool, error) {
	if old.Next == "" {
		return wallet.Key{}, false, nil
	}
	next, err := tx.Key(old.Next)
	return next, err == nil && next.Next == "" && next.RevokedAt.IsZero() && !k.inUse(next), err
}

// endOthers revokes the other usable keys of a lineage, so that two remain at most.
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

// inUse reports whether a key was ever used. Uses on this node count before they are written.
func (k *Keys) inUse(key wallet.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, lately := k.used[key.ID]
	return lately || !key.LastUsed.IsZero()
}

// Rotate is PrepareRotation and CommitRotation in one call, for the operator.
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

// lastUsedEvery is how far wallet.Key.LastUsed may lag behind.
const lastUsedEvery = 30 * time.Second

// Run writes the last uses of keys in batches until ctx ends, and once more then. It returns an error only if a commit
// has an unknown outcome (store.ErrUnknownOutcome).
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
		case store.IsFatal(err):
			return fmt.Errorf("write when keys were used: %w", err)
		case err != nil && k.Log != nil:
			k.Log.Warn("when keys were used could not be written", "error", err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// WriteUse writes the uses since the last call. If it fails, the next call writes them too.
func (k *Keys) WriteUse(ctx context.Context) error {
	k.mu.Lock()
	used := maps.Clone(k.used) // the original is kept until the commit succeeded
	k.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := k.Store.Update(ctx, func(tx store.Tx) error {
		for id, at := range used {
			key, err := tx.Key(id)
			// Skip a key that was deleted, or for which another node has written a later use.
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
		// A use that was recorded during the commit stays for the next call.
		maps.DeleteFunc(k.used, func(id string, at time.Time) bool { return used[id].Equal(at) })
	}
	return err
}

// List returns every key, without secrets, for the operator.
func (k *Keys) List(ctx context.Context) ([]wallet.Key, error) {
	return read(ctx, k.Store, store.Tx.AllKeys)
}

// SetTier changes the tier of all usable keys of a lineage, for the operator, and notifies the owner in chat. On the free
// tier its webhooks are turned off: they stay registered and keep what waits for a resend. Back on pro, those are turned
// on again. NOT_FOUND, INVALID_REQUEST; CONFLICT for a key that has ended.
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
		// A rotated key in its grace period changes with its successor.
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
		// The tier, its effect on the webhooks and the event become true in one commit.
		hooks, err := k.stopOrStart(tx, key)
		if err != nil {
			return err
		}
		announced, err := wallet.NewEvent(event, wallet.KeyTierSet, k.Now().UTC(), key.Owner, wallet.KeyTierSetData{KeyID: key.ID, Tier: tier, Webhooks: hooks})
		if err != nil {
			return err
		}
		return tx.Emit(announced)
	})
	return key, err
}

// stopOrStart turns the webhooks of a lineage off or on to match the tier, and returns how many. One that was turned off
// for another reason stays off.
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

// Revoke ends a key immediately. NOT_FOUND.
func (k *Keys) Revoke(ctx context.Context, id string) (wallet.Key, error) {
	var key wallet.Key
	err := k.Store.Update(ctx, func(tx store.Tx) error {
		var err error
		key, err = k.RevokeIn(tx, id)
		return err
	})
	return key, err
}

// RevokeIn is Revoke in the caller's transaction. Live streams and portal sessions of the lineage end too. With the last usable key of a
// lineage its webhooks are deleted, since nobody could manage them any more.
func (k *Keys) RevokeIn(tx store.Tx, id string) (wallet.Key, error) {
	key, err := tx.Key(id)
	if err != nil {
		return key, found(err, wallet.NotFound, "key.unknown")
	}
	// A key in its grace period ends now. A key that has ended keeps its time.
	if now := k.Now().UTC(); key.RevokedAt.IsZero() || now.Before(key.RevokedAt) {
		key.RevokedAt = now
	}
	if err := errors.Join(tx.PutKey(key), logKey(tx, k.Now(), wallet.LogKeyRevoked, key), endOpened(tx, key)); err != nil {
		return key, err
	}
	all, err := tx.KeysOf(key.Owner)
	if err != nil || slices.ContainsFunc(all, func(other wallet.Key) bool { return other.Lineage() == key.Lineage() && other.UsableAt(k.Now()) }) {
		return key, err
	}
	// This was the last usable key of its lineage.
	hooks, err := tx.WebhooksOf(key.Lineage())
	if err != nil {
		return key, err
	}
	return key, deleteHooks(tx, hooks)
}
