package purser

import (
	"context"
	"net/http"
	"time"
)

// Key describes an API key or bot token: its owner, scopes and remaining rate limit.
type Key struct {
	KeyID      string    `json:"key_id"`
	Kind       string    `json:"kind"`   // "api" or "bot"
	Tier       string    `json:"tier"`   // "free" or "pro"
	Scopes     []string  `json:"scopes"` // such as "wallet:read"
	Owner      string    `json:"owner"`  // "" for an operator's
	AppID      string    `json:"app_id"` // "" for none
	Cluster    string    `json:"cluster"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at"`   // zero: never
	LastUsedAt time.Time `json:"last_used_at"` // zero: never; up to a minute late
	RateLimit  RateLimit `json:"rate_limit"`
}

// RateLimit counts requests in a rolling hour.
type RateLimit struct {
	Limit        uint64 `json:"limit"`
	Remaining    uint64 `json:"remaining"`
	ResetSeconds int64  `json:"reset_seconds"` // seconds until one more is free
}

func (k Key) complete() bool { return k.KeyID != "" && k.Kind != "" }

// Key is GET /v1/key: the key that this client uses. It needs no scope.
func (c *Client) Key(ctx context.Context) (Key, error) {
	return do[Key](ctx, c, call{method: http.MethodGet, path: "/v1/key"})
}

// Rotation is how a key is replaced.
type Rotation struct {
	EndNow bool `json:"end_now"` // the old key ends at once, not in 24 hours
}

// RotatedKey is the key that replaces a rotated one.
type RotatedKey struct {
	KeyID       string    `json:"key_id"`
	Key         Secret    `json:"key"`          // shown only once
	SecretShown bool      `json:"secret_shown"` // it was shown in a response that was lost
	OldEndsAt   time.Time `json:"old_ends_at"`
}

func (k RotatedKey) complete() bool { return k.KeyID != "" && (k.Key != "" || k.SecretShown) }

// RotateKey is POST /v1/key/rotate. It creates the key that replaces this client's. The client continues with the old key:
// create another Client with string(rotated.Key).
//
// If it fails with [ErrSecretLost], the result is set but has no new key. The old key works until OldEndsAt and cannot be
// rotated again: ask the operator for a key before then. With EndNow, a lost response can leave you without any key, since
// the retry is refused with InvalidAPIKey. Prefer the 24 hours.
func (c *Client) RotateKey(ctx context.Context, how Rotation) (RotatedKey, error) {
	made, err := do[RotatedKey](ctx, c, call{method: http.MethodPost, path: "/v1/key/rotate", body: how})
	if err == nil && made.Key == "" {
		err = ErrSecretLost
	}
	return made, err
}
