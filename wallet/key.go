package wallet

import (
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"
)

// KeyKind is which endpoints a key is for: those of wallets or those of the bot.
type KeyKind string

// The kinds of keys. Using the wrong one is the same as using none (docs/specification.md).
const (
	APIKey KeyKind = "api"
	BotKey KeyKind = "bot"
)

// Tier decides the limits of a key (docs/specification.md, Limits). Operators set it.
type Tier string

// The tiers.
const (
	FreeTier Tier = "free"
	ProTier  Tier = "pro"
)

// Scope is a group of operations that a key may use.
type Scope string

// The scopes (docs/specification.md, Keys).
const (
	WalletRead Scope = "wallet:read" // balances, wallets and transactions
	WalletSend Scope = "wallet:send" // propose transfers, connect wallets, submit signatures
	BotSend    Scope = "bot:send"    // send messages; an API key: to its owner
	BotExecute Scope = "bot:execute" // run commands; an API key: for its owner
	BotUsers   Scope = "bot:users"   // look people up, change their subscriptions
	Webhooks   Scope = "webhooks"    // register webhooks

	BotMessages Scope = "bot:messages" // receive what people write to the bot, except in purser's own conversations
)

// Scopes lists every scope.
func Scopes() []Scope {
	return []Scope{WalletRead, WalletSend, BotSend, BotExecute, BotUsers, BotMessages, Webhooks}
}

// ScopesOf lists the scopes that a kind of key can have. An API key sends messages to its owner only, and runs commands
// for its owner only.
func ScopesOf(kind KeyKind) []Scope {
	if kind == BotKey {
		return []Scope{BotSend, BotExecute, BotUsers, BotMessages, Webhooks}
	}
	return []Scope{WalletRead, WalletSend, BotSend, BotExecute, Webhooks}
}

// Grantable lists the scopes of a key for which its app must ask people. What an API key can do for its owner only needs
// no grant from others.
func Grantable(kind KeyKind, scopes []Scope) []Scope {
	var out []Scope
	for _, scope := range scopes {
		if kind == BotKey || scope != BotSend && scope != BotExecute {
			out = append(out, scope)
		}
	}
	return out
}

// Key is an API key or bot token. The secret is shown once and never stored. The store finds a key by a keyed hash of its
// secret.
type Key struct {
	ID        string    `json:"id"`
	Kind      KeyKind   `json:"kind"`
	Tier      Tier      `json:"tier"`
	Scopes    []Scope   `json:"scopes"`
	Owner     UserID    `json:"owner"` // "" for an operator's key
	App       AppID     `json:"app"`   // the app that it was created for; "" for none
	Hint      string    `json:"hint"`  // the secret's last four characters
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`   // zero: never
	RevokedAt time.Time `json:"revoked_at"`   // zero: not revoked; in the future during the grace period of a rotation
	LastUsed  time.Time `json:"last_used_at"` // zero: never; may lag by handlers' lastUsedEvery
	First     string    `json:"first"`        // ID of the first key of its lineage; "" for that key itself
	Next      string    `json:"next"`         // ID of its successor; "" for none
}

// Lineage identifies a key together with all its rotations. Wallets, webhooks, limits and idempotency records belong to
// the lineage, so they survive a rotation.
func (k Key) Lineage() string {
	if k.First != "" {
		return k.First
	}
	return k.ID
}

// UsableAt reports whether the key is neither revoked nor expired at now.
func (k Key) UsableAt(now time.Time) bool {
	return (k.RevokedAt.IsZero() || now.Before(k.RevokedAt)) && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// NewestUsable returns the last usable key of a lineage, which is ordered oldest first; false if none is usable.
func NewestUsable(line []Key, now time.Time) (newest Key, ok bool) {
	for _, key := range slices.Backward(line) {
		if key.UsableAt(now) {
			return key, true
		}
	}
	return Key{}, false
}

// May reports whether the key has a scope.
func (k Key) May(scope Scope) bool {
	for _, s := range k.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// Lengths in the secret of a key, in base62 digits.
const (
	secretLen   = 30
	checksumLen = 6
)

// NewKeySecret draws the secret of a key: pur_live_ (mainnet), pur_test_ (other clusters) or pur_bot_, then 30 random
// base62 digits and a checksum of 6. With the checksum, leak scanners and IsKeySecret can recognize a secret without the
// store.
func NewKeySecret(random io.Reader, kind KeyKind, mainnet bool) (string, error) {
	prefix := "pur_test_"
	switch {
	case kind == BotKey:
		prefix = "pur_bot_"
	case mainnet:
		prefix = "pur_live_"
	}
	body, err := RandomText(random, secretLen)
	if err != nil {
		return "", err
	}
	return prefix + body + checksum(prefix+body), nil
}

// IsKeySecret reports whether text has the form of a secret with a valid checksum, and of which kind. It does not check
// that the key exists.
func IsKeySecret(text string) (KeyKind, bool) {
	for _, p := range []struct {
		prefix string
		kind   KeyKind
	}{{"pur_live_", APIKey}, {"pur_test_", APIKey}, {"pur_bot_", BotKey}} {
		body, ok := strings.CutPrefix(text, p.prefix)
		if !ok || len(body) != secretLen+checksumLen {
			continue
		}
		for i := range len(body) {
			if strings.IndexByte(base62, body[i]) < 0 {
				return "", false
			}
		}
		return p.kind, checksum(text[:len(text)-checksumLen]) == text[len(text)-checksumLen:]
	}
	return "", false
}

// checksum returns the CRC-32 of text in base62. It detects typing errors, and secures nothing.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, checksumLen)
	for i := checksumLen - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}
