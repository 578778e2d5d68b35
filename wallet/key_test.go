package wallet

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"
)

func TestKeySecretsAreKnownByTheirChecksum(t *testing.T) {
	for _, c := range []struct {
		kind    KeyKind
		mainnet bool
		prefix  string
	}{{APIKey, true, "pur_live_"}, {APIKey, false, "pur_test_"}, {BotKey, true, "pur_bot_"}, {BotKey, false, "pur_bot_"}} {
		secret, err := NewKeySecret(rand.Reader, c.kind, c.mainnet)
		if err != nil || !strings.HasPrefix(secret, c.prefix) || len(secret) != len(c.prefix)+36 {
			t.Fatalf("%s (%v)", secret, err)
		}
		if kind, ok := IsKeySecret(secret); !ok || kind != c.kind {
			t.Errorf("%s is not known", secret)
		}
		for i := range secret {
			other := secret[:i] + string(secret[i]^1) + secret[i+1:]
			if _, ok := IsKeySecret(other); ok {
				t.Errorf("%s passes for a key", other)
			}
		}
	}
}

func TestNewestUsableIsTheLastThatOpensAnything(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	open, over := Key{ID: "open"}, Key{ID: "over", ExpiresAt: now}
	grace, revoked := Key{ID: "grace", RevokedAt: now.Add(time.Hour)}, Key{ID: "revoked", RevokedAt: now}
	for want, lines := range map[string][][]Key{
		"":      {nil, {over}, {revoked, over}},
		"open":  {{open}, {grace, open}, {open, revoked}, {over, open}},
		"grace": {{grace}, {grace, revoked}, {open, grace}},
	} {
		for _, line := range lines {
			if got, ok := NewestUsable(line, now); got.ID != want || ok != (want != "") {
				t.Errorf("of %v: %q, %v, not %q", line, got.ID, ok, want)
			}
		}
	}
}
