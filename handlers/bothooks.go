package handlers

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
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
	w, err := tx.BotWebhook(who.KeyLine)
	return w, found(err, wallet.WebhookNotFound, "this bot token has no webhook")
}

// Prepare judges a webhook that a key wants, and draws a secret where none is given. TIER_REQUIRED,
// INVALID_WEBHOOK_URL, INVALID_REQUEST.
func (b *BotWebhooks) Prepare(key wallet.Key, wanted wallet.BotWebhook) (wallet.BotWebhook, error) {
	if key.Tier != wallet.ProTier {
		return wanted, wallet.Refuse(wallet.TierRequired, "webhooks are part of the tier pro; an operator gives it: ask in /api, or have them run purser key create --kind bot --tier pro")
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
	return gone, tx.DeleteBotWebhook(who.KeyLine)
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
	if number, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || number == 0) {
		return no("the port must be a number from 1 to 65535")
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if !public(address.Unmap()) {
			return no("must lead to a public address")
		}
		return nil
	}
	lower := strings.ToLower(strings.TrimSuffix(host, "."))
	_, top, dotted := strings.Cut(lower, ".")
	top = top[strings.LastIndexByte(top, '.')+1:]
	own := slices.Contains([]string{"localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "arpa", "test", "invalid", "onion", "corp"}, top)
	if !dotted || own || !hostName(lower) || numeric(top) {
		return no("must name a public host")
	}
	return nil
}

// public tells whether an address is one of the internet's: none of a network of one's own, of the machine
// itself, or one that stands for an IPv4 address (RFC 6890, RFC 6052, RFC 3056).
func public(address netip.Addr) bool {
	if !address.IsGlobalUnicast() || address.IsPrivate() {
		return false
	}
	for _, special := range []string{"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10"} {
		if netip.MustParsePrefix(special).Contains(address) {
			return false
		}
	}
	return true
}

// hostName tells whether a name is one that DNS can hold (RFC 1123, 2.1): labels of letters, digits and -.
func hostName(name string) bool {
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// numeric tells of a last label that resolvers take for a part of an IPv4 address: 127.1, 0x7f.1.
func numeric(label string) bool {
	return strings.Trim(label, "0123456789") == "" || strings.HasPrefix(label, "0x")
}
