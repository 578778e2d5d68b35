package wallet

import (
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"time"
)

// KeyKind is what a key opens: wallet endpoints or the bot's.
type KeyKind string

// The kinds of key. The wrong kind is answered like no key at all (docs/specification.md).
const (
	APIKey KeyKind = "api"
	BotKey KeyKind = "bot"
)

// Tier decides a key's limits (docs/specification.md, Limits). The operator sets it.
type Tier string

// The tiers.
const (
	FreeTier Tier = "free"
	ProTier  Tier = "pro"
)

// Scope is one family of operations that a key may do.
type Scope string

// Scopes that guard what exists today (docs/specification.md, Keys).
const (
	WalletRead Scope = "wallet:read" // balances, wallets and transactions
	WalletSend Scope = "wallet:send" // propose transfers, connect wallets, hand in signatures
	BotSend    Scope = "bot:send"    // send messages; an API key: to its owner
	BotExecute Scope = "bot:execute" // run commands; an API key: for its owner
	BotUsers   Scope = "bot:users"   // look people up, change what they are notified of
	Webhooks   Scope = "webhooks"    // register receivers of events

	BotMessages Scope = "bot:messages" // be told what people write to the bot, outside of purser's own conversations
)

// Scopes lists every scope.
func Scopes() []Scope {
	return []Scope{WalletRead, WalletSend, BotSend, BotExecute, BotUsers, BotMessages, Webhooks}
}

// ScopesOf lists the scopes that mean anything for a kind of key. An API key sends messages to its owner alone,
// and runs commands for its owner alone.
func ScopesOf(kind KeyKind) []Scope {
	if kind == BotKey {
		return []Scope{BotSend, BotExecute, BotUsers, BotMessages, Webhooks}
	}
	return []Scope{WalletRead, WalletSend, BotSend, BotExecute, Webhooks}
}

// Grantable lists those scopes of a key that an app with it asks people for: what a kind of key does for its
// owner alone is nothing to ask others for.
func Grantable(kind KeyKind, scopes []Scope) []Scope {
	var out []Scope
	for _, scope := range scopes {
		if kind == BotKey || scope != BotSend && scope != BotExecute {
			out = append(out, scope)
		}
	}
	return out
}

// Key is an API key or bot token. The secret itself is shown once and never kept; the store looks
// keys up by a keyed hash of it.
type Key struct {
	ID        string    `json:"id"`
	Kind      KeyKind   `json:"kind"`
	Tier      Tier      `json:"tier"`
	Scopes    []Scope   `json:"scopes"`
	Owner     UserID    `json:"owner"` // "" for an operator's key
	App       AppID     `json:"app"`   // for which program it was made; "" for none
	Hint      string    `json:"hint"`  // the secret's last four characters
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`   // zero: never
	RevokedAt time.Time `json:"revoked_at"`   // zero: not revoked; after a rotation it may lie ahead
	LastUsed  time.Time `json:"last_used_at"` // zero: never; late by up to a minute
	First     string    `json:"first"`        // id of the first key of a row of rotations; "" for that key itself
	Next      string    `json:"next"`         // id of the key that took its place; "" for none
}

// Lineage names a key and those that took its place by rotation: what belongs to one of them (wallets,
// limits, idempotency keys) belongs to all.
func (k Key) Lineage() string {
	if k.First != "" {
		return k.First
	}
	return k.ID
}

// UsableAt tells whether the key opens anything at now.
func (k Key) UsableAt(now time.Time) bool {
	return (k.RevokedAt.IsZero() || now.Before(k.RevokedAt)) && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// NewestUsable is the last of a line's keys that opens anything at now; not ok when none does.
func NewestUsable(line []Key, now time.Time) (newest Key, ok bool) {
	for _, key := range slices.Backward(line) {
		if key.UsableAt(now) {
			return key, true
		}
	}
	return Key{}, false
}

// May tells whether the key carries a scope.
func (k Key) May(scope Scope) bool {
	for _, s := range k.Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

const (
	secretLen   = 30
	checksumLen = 6
)

// NewKeySecret draws the secret of a key: `pur_live_` (mainnet), `pur_test_` (elsewhere) or
// `pur_bot_`, then 30 base62 digits and 6 of checksum, by which leak scanners and IsKeySecret know
// one without asking the store.
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

// IsKeySecret tells whether text has the form of a key with a right checksum, and its kind.
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

func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, checksumLen)
	for i := checksumLen - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out)
}
