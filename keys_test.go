package main

import (
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// TestAKeyIsListedInPlainWords: what it may do, when it was used last, and whether it still works.
func TestAKeyIsListedInPlainWords(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
	for name, c := range map[string]struct {
		key  wallet.Key
		want string
	}{
		"new":              {wallet.Key{}, "never used\n    works until it is revoked"},
		"used":             {wallet.Key{LastUsed: hour(-1).In(time.FixedZone("elsewhere", 7200))}, "last used 2026-11-22 11:00 UTC\n    works until it is revoked"},
		"expires":          {wallet.Key{ExpiresAt: hour(1)}, "works until 2026-11-22 13:00 UTC"},
		"expired":          {wallet.Key{ExpiresAt: now}, "ended 2026-11-22 12:00 UTC: expired"},
		"revoked":          {wallet.Key{RevokedAt: now, ExpiresAt: hour(2)}, "ended 2026-11-22 12:00 UTC: revoked or replaced"},
		"rotated":          {wallet.Key{RevokedAt: hour(24)}, "works until 2026-11-23 12:00 UTC: replaced"},
		"expires first":    {wallet.Key{RevokedAt: hour(24), ExpiresAt: hour(3)}, "works until 2026-11-22 15:00 UTC"},
		"is revoked first": {wallet.Key{RevokedAt: hour(3), ExpiresAt: hour(24)}, "works until 2026-11-22 15:00 UTC: replaced"},
	} {
		c.key.CreatedAt, c.key.ID, c.key.Kind, c.key.Tier, c.key.Hint = hour(-24), "key_1", wallet.BotKey, wallet.FreeTier, "ab12"
		c.key.Scopes = []wallet.Scope{wallet.BotSend, wallet.BotExecute}
		got, err := describe(c.key, now)
		if err != nil || !strings.HasPrefix(got, "key_1  bot  free  …ab12  the operator's\n    can: Send messages (bot:send), Run commands (bot:execute)\n    created 2026-11-21 12:00 UTC, ") || !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	// Every scope has its words.
	if all, err := abilities(wallet.Scopes()); err != nil || strings.Count(all, "(") != len(wallet.Scopes()) {
		t.Errorf("all scopes: %q, %v", all, err)
	}
	if none, err := abilities(nil); err != nil || none != "Nothing: it has no scopes" {
		t.Errorf("no scope: %q, %v", none, err)
	}
}
