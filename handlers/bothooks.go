package handlers

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"purser/store"
	"purser/wallet"
)

// BotWebhooks are the receivers of bot tokens' events, one a token.
type BotWebhooks struct {
	Store  store.Store
	Now    Clock
	NewID  IDs
	Random io.Reader
}

// Bounds of a webhook (DESIGN §7).
const (
	shortestSecret = 16
	longestSecret  = 128
	longestURL     = 2048
	secretBytes    = 32 // of one that purser makes
)

// BotEvents lists what a bot webhook can be told of (SPEC, Bot event types), and the wildcards.
func BotEvents() []string {
	return []string{"message.received", "command.executed", "user.registered", "wallet.connected",
		"message.*", "command.*", "user.*", "wallet.*", "*"}
}

// Of is the webhook of the caller's bot token. WEBHOOK_NOT_FOUND.
func (b *BotWebhooks) Of(ctx context.Context, who Caller) (wallet.BotWebhook, error) {
	return read(ctx, b.Store, func(tx store.Tx) (wallet.BotWebhook, error) { return hookOf(tx, who) })
}

func hookOf(tx store.Tx, who Caller) (wallet.BotWebhook, error) {
	w, err := tx.BotWebhook(who.Key)
	return w, found(err, wallet.WebhookNotFound, "this bot token has no webhook")
}

// Prepare judges a webhook that a key wants, and draws a secret where none is given. TIER_REQUIRED,
// INVALID_WEBHOOK_URL, INVALID_REQUEST.
func (b *BotWebhooks) Prepare(key wallet.Key, wanted wallet.BotWebhook) (wallet.BotWebhook, error) {
	if key.Tier != wallet.ProTier {
		return wanted, wallet.Refuse(wallet.TierRequired, "webhooks are part of the tier pro")
	}
	if err := webhookURL(wanted.URL); err != nil {
		return wanted, err
	}
	if len(wanted.Events) == 0 {
		return wanted, wallet.Refuse(wallet.InvalidRequest, "events: name one at least")
	}
	for _, name := range wanted.Events {
		if !slices.Contains(BotEvents(), name) {
			return wanted, wallet.Refuse(wallet.InvalidRequest, "events: a name in it is none; the names are %s", strings.Join(BotEvents(), ", "))
		}
	}
	wanted.Events = slices.Compact(slices.Sorted(slices.Values(wanted.Events)))
	if wanted.Secret == "" {
		raw := make([]byte, secretBytes)
		if _, err := io.ReadFull(b.Random, raw); err != nil {
			return wanted, fmt.Errorf("draw a secret: %w", err)
		}
		wanted.Secret = "whsec_" + base64.StdEncoding.EncodeToString(raw)
	} else if len(wanted.Secret) < shortestSecret || len(wanted.Secret) > longestSecret {
		return wanted, wallet.Refuse(wallet.InvalidRequest, "secret: %d to %d bytes, or left out to be given one", shortestSecret, longestSecret)
	}
	wanted.ID, wanted.Line, wanted.CreatedAt = b.NewID("bwh"), key.Line(), b.Now().UTC()
	return wanted, nil
}

// Commit puts a prepared webhook in the place of the one before.
func (b *BotWebhooks) Commit(tx store.Tx, key wallet.Key, made wallet.BotWebhook) error {
	return tx.PutBotWebhook(key.Owner, made)
}

// Remove ends the webhook of the caller's bot token, and returns it. WEBHOOK_NOT_FOUND.
func (b *BotWebhooks) Remove(tx store.Tx, who Caller) (wallet.BotWebhook, error) {
	gone, err := hookOf(tx, who)
	if err != nil {
		return gone, err
	}
	return gone, tx.DeleteBotWebhook(who.Key)
}

// webhookURL judges the address of a receiver by its text: https, a name or a public address, nothing
// odd. Deliveries look at what the name leads to once more.
func webhookURL(text string) error {
	no := func(reason string) error {
		return wallet.Refuse(wallet.InvalidWebhookURL, "url: %s", reason)
	}
	u, err := url.Parse(text)
	switch {
	case len(text) > longestURL || !printable(text):
		return no("must be of at most 2048 printable ASCII characters")
	case err != nil || u.Host == "" || u.Opaque != "":
		return no("must be an address such as https://example.com/hook")
	case u.Scheme != "https":
		return no("must be https")
	case u.User != nil:
		return no("must hold no user name or password")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return no("must hold no #")
	}
	host := u.Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		if !address.Unmap().IsGlobalUnicast() || address.Unmap().IsPrivate() {
			return no("must lead to a public address")
		}
		return nil
	}
	lower := strings.ToLower(strings.TrimSuffix(host, "."))
	if !strings.Contains(lower, ".") || strings.HasSuffix(lower, ".localhost") || strings.HasSuffix(lower, ".local") || strings.HasSuffix(lower, ".internal") ||
		numeric(lower) {
		return no("must name a public host")
	}
	return nil
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// numeric tells what some resolvers take for an IPv4 address: 127.1, 0x7f000001, 2130706433.
func numeric(host string) bool {
	return strings.Trim(host, "0123456789.xabcdef") == "" && strings.ContainsAny(host[:1], "0123456789")
}
