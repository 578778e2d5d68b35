package handlers

import (
	"context"
	"fmt"
	"io"
	"slices"
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
}

// KeyRequest asks for a key. OwnerTelegramID 0 makes an operator's key that belongs to nobody.
type KeyRequest struct {
	Kind            wallet.KeyKind
	Tier            wallet.Tier
	Scopes          []wallet.Scope // empty: all that fit the kind
	OwnerTelegramID int64
	ExpiresAt       time.Time
}

// Create makes a key and returns its secret: the only time that anybody sees it.
func (k *Keys) Create(ctx context.Context, req KeyRequest) (wallet.Key, string, error) {
	switch {
	case req.Kind != wallet.APIKey && req.Kind != wallet.BotKey:
		return wallet.Key{}, "", wallet.Refuse(wallet.InvalidRequest, "kind is %q or %q", wallet.APIKey, wallet.BotKey)
	case req.Tier != wallet.FreeTier && req.Tier != wallet.ProTier:
		return wallet.Key{}, "", wallet.Refuse(wallet.InvalidRequest, "tier is %q or %q", wallet.FreeTier, wallet.ProTier)
	}
	for _, scope := range req.Scopes {
		if !slices.Contains(wallet.Scopes(), scope) {
			return wallet.Key{}, "", wallet.Refuse(wallet.InvalidRequest, "there is no scope %q; the scopes are %v", scope, wallet.Scopes())
		}
	}
	if len(req.Scopes) == 0 && req.Kind == wallet.APIKey {
		req.Scopes = wallet.Scopes()
	}
	secret, err := wallet.NewKeySecret(k.Random, req.Kind, k.Mainnet)
	if err != nil {
		return wallet.Key{}, "", fmt.Errorf("draw a key: %w", err)
	}
	key := wallet.Key{
		ID: k.NewID("key"), Kind: req.Kind, Tier: req.Tier, Scopes: req.Scopes,
		Hint: secret[len(secret)-4:], CreatedAt: k.Now().UTC(), ExpiresAt: req.ExpiresAt,
	}
	err = k.Store.Update(ctx, func(tx store.Tx) error {
		key.Owner = ""
		if req.OwnerTelegramID != 0 {
			owner, err := tx.UserByTelegram(req.OwnerTelegramID)
			if err != nil {
				return found(err, wallet.UserNotFound, "nobody with this Telegram id has written to the bot yet: let them send /start first")
			}
			key.Owner = owner.ID
		}
		return tx.CreateKey(key, secret)
	})
	if err != nil {
		return wallet.Key{}, "", err
	}
	return key, secret, nil
}

// Check finds the key behind a secret. Everything that does not open the wanted kind of endpoint
// (unknown, revoked, expired, the wrong kind, not a key at all) is INVALID_API_KEY alike.
func (k *Keys) Check(ctx context.Context, secret string, want wallet.KeyKind) (wallet.Key, error) {
	refused := wallet.Refuse(wallet.InvalidAPIKey, "send a valid key in the header Authorization: Bearer KEY")
	if kind, ok := wallet.IsKeySecret(secret); !ok || kind != want {
		return wallet.Key{}, refused
	}
	key, err := read(ctx, k.Store, func(tx store.Tx) (wallet.Key, error) {
		key, err := tx.KeyBySecret(secret)
		return key, found(err, wallet.InvalidAPIKey, refused.Detail)
	})
	if err != nil {
		return wallet.Key{}, err
	}
	if !key.UsableAt(k.Now()) || key.Kind != want {
		return wallet.Key{}, refused
	}
	return key, nil
}

// List is every key, without secrets.
func (k *Keys) List(ctx context.Context) ([]wallet.Key, error) {
	return read(ctx, k.Store, store.Tx.AllKeys)
}

// Revoke ends a key now.
func (k *Keys) Revoke(ctx context.Context, id string) (wallet.Key, error) {
	var key wallet.Key
	err := k.Store.Update(ctx, func(tx store.Tx) error {
		var err error
		if key, err = tx.Key(id); err != nil {
			return found(err, wallet.NotFound, "there is no key with this id")
		}
		if key.RevokedAt.IsZero() {
			key.RevokedAt = k.Now().UTC()
		}
		return tx.PutKey(key)
	})
	return key, err
}
