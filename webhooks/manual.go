package webhooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// What the developer of a webhook asks for by hand: tests, redelivery, its limit.

// tryTimeout is how long a test waits for its answer: the request that asked for it waits as long.
const tryTimeout = 10 * time.Second

// May reports whether a webhook's key may receive events of a name about a person ("": about nobody),
// whatever the webhook subscribes to now.
func (s *Service) May(tx store.Tx, hook wallet.Webhook, name wallet.EventName, user wallet.UserID) (bool, error) {
	hook.Active, hook.Events = true, []string{"*"}
	known := s.subscriptionsNow()
	stands, _ := known.authorizeIgnoringPreferences(tx, known.register(tx, hook), eventScope{name: name, user: user}, s.Now())
	return stands == authAllowed, nil
}

// Receives reports whether a person lets an app (wallet.ToOperators: the operators' programs) receive events of a name
// about them, and whether a webhook of it takes such events now.
func (s *Service) Receives(tx store.Tx, app wallet.AppID, person wallet.UserID, name wallet.EventName) (granted, listening bool, err error) {
	var owner wallet.UserID
	if app != wallet.ToOperators {
		of, err := tx.App(app)
		if err != nil {
			return false, false, err
		}
		owner = of.Owner
	}
	known := s.subscriptionsNow()
	rule, _ := ruleOf(wallet.BotKey, name)
	granted, _ = known.consents(tx, person, consentQuery{holder: app, scope: rule.Scope, own: owner == person, all: owner == ""})
	if !granted {
		return false, false, nil
	}
	hooks, err := tx.WebhooksOfOwner(owner)
	if err != nil {
		return true, false, err
	}
	for _, hook := range hooks { // read again: the caller's transaction may be newer than what is remembered
		if known.authorize(tx, known.register(tx, hook), eventScope{name: name, user: person, to: app}, s.Now()) == authAllowed {
			return true, true, nil
		}
	}
	return true, false, nil
}

// Try sends an event to a webhook once, now, whether it is on or not, and returns the result. It is
// counted like any other. RATE_LIMIT_EXCEEDED.
func (s *Service) Try(ctx context.Context, hook wallet.Webhook, e wallet.Event) (store.LogEntry, error) {
	body, err := Body(wallet.APIKey, e) // webhook.test looks alike to all
	if err != nil {
		return store.LogEntry{}, err
	}
	left, err := s.Meter.Take(ctx, counterOf(hook), s.Limit)
	if err != nil {
		return store.LogEntry{}, err
	}
	if !left.OK {
		return store.LogEntry{}, wallet.Refuse(wallet.RateLimitExceeded, "webhooks.hour_used_up")
	}
	at := s.Now().UTC()
	entry := store.LogEntry{Delivery: deliveryOf(hook, e, body, at), State: store.DeliveryDeadLettered}
	within, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	result := s.Transport.Post(within, NewMessage(hook, e.ID, body, at))
	if result.Interrupted {
		result.Reason = wallet.Because("attempt.no_answer", wallet.DurationArg("Within", tryTimeout))
	}
	if result.Verdict() == Delivered {
		entry.State = store.DeliveryDelivered
	}
	entry.Attempts, entry.EndedAt = 1, s.Now().UTC()
	entry.Attempted = []store.Attempt{{At: at, Latency: result.Latency, Status: result.Status, Reason: result.Reason, Answer: result.Answer}}
	return entry, nil
}

// Used counts the events that a webhook has had in the last hour, and returns their limit.
func (s *Service) Used(ctx context.Context, hook wallet.Webhook) (used, limit uint64, err error) {
	left, err := s.Meter.Look(ctx, counterOf(hook), s.Limit)
	return left.Limit - left.Remaining, left.Limit, err
}

// Delay is for how long the limit of the hour lets no new event of a webhook go; 0 where there is room.
func (s *Service) Delay(ctx context.Context, hook wallet.Webhook) (time.Duration, error) {
	left, err := s.Meter.Look(ctx, counterOf(hook), s.Limit)
	if err != nil || left.OK {
		return 0, err
	}
	return left.Reset, nil
}

// counterOf names what counts a webhook's events: of the same key and receiver, so that a developer who registers it
// again, or writes its address another way, starts no new hour. All listeners of a key are one.
func counterOf(hook wallet.Webhook) string {
	sum := sha256.Sum256([]byte(receiverOf(hook.URL)))
	return "webhook/" + hook.Lineage + "/" + hex.EncodeToString(sum[:12])
}

// receiverOf is the part of an address that names a receiver: host, port and path, in one spelling. The query
// only says something to it, and the scheme is no other receiver.
func receiverOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if address, err := netip.ParseAddr(host); err == nil {
		host = address.String()
	}
	return net.JoinHostPort(host, strings.TrimLeft(port, "0")) + path.Clean("/"+u.Path)
}
