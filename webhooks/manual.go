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

// What the developer of a webhook asks for: tests, redelivery, the state of the hourly limit.

// tryTimeout is how long a test waits for the receiver's answer. The API request of the test waits as long.
const tryTimeout = 10 * time.Second

// May reports whether a webhook's key may receive events of a name about a person ("": events about nobody), whatever
// the webhook subscribes to now. The API asks it before it shows or resends a delivery.
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
	// First the person's consent.
	rule, _ := ruleOf(wallet.BotKey, name)
	granted, _ = known.consents(tx, person, consentQuery{holder: app, scope: rule.Scope, own: owner == person, all: owner == ""})
	if !granted {
		return false, false, nil
	}
	hooks, err := tx.WebhooksOfOwner(owner)
	if err != nil {
		return true, false, err
	}
	// Then whether any webhook of the owner takes such events.
	for _, hook := range hooks { // read again: the caller's transaction may be newer than what is remembered
		if known.authorize(tx, known.register(tx, hook), eventScope{name: name, user: person, to: app}, s.Now()) == authAllowed {
			return true, true, nil
		}
	}
	return true, false, nil
}

// Try sends an event to a webhook once, now, even if the webhook is off, and returns the result. It counts against
// the hourly limit like any other event; over the limit the error is RATE_LIMIT_EXCEEDED. It stores no
// delivery: the caller logs the entry.
func (s *Service) Try(ctx context.Context, hook wallet.Webhook, e wallet.Event) (store.LogEntry, error) {
	body, err := Body(wallet.APIKey, e) // webhook.test has the same body for every kind of key
	if err != nil {
		return store.LogEntry{}, err
	}
	// A test counts, so that it cannot be used to send a receiver more than its limit.
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
	// Nobody repeats a test, so its timeout is a failure.
	if result.Interrupted {
		result.Reason = wallet.Because("attempt.no_answer", wallet.DurationArg("Within", tryTimeout))
	}
	if result.Verdict() == Delivered {
		entry.State = store.DeliveryDelivered
	}
	entry.Attempts, entry.EndedAt = 1, s.Now().UTC()
	entry.Attempted = []store.Attempt{{At: at, Latency: result.Latency, Status: result.Status, Reason: result.Reason, ResponseBody: result.Answer}}
	return entry, nil
}

// Used returns how many events a webhook has had in the last hour, and its limit. Both are numbers of events.
func (s *Service) Used(ctx context.Context, hook wallet.Webhook) (used, limit uint64, err error) {
	left, err := s.Meter.Look(ctx, counterOf(hook), s.Limit)
	return left.Limit - left.Remaining, left.Limit, err
}

// Delay returns for how long the hourly limit holds back new events of a webhook; 0 if it does not.
func (s *Service) Delay(ctx context.Context, hook wallet.Webhook) (time.Duration, error) {
	left, err := s.Meter.Look(ctx, counterOf(hook), s.Limit)
	if err != nil || left.OK {
		return 0, err
	}
	return left.Reset, nil
}

// counterOf is the name of the counter of a webhook's events. It is made of the key's lineage and the receiver, so a
// developer who registers the same receiver again, or spells its address in another way, does not begin a new hour.
// All listeners of a key share one counter.
func counterOf(hook wallet.Webhook) string {
	sum := sha256.Sum256([]byte(receiverOf(hook.URL)))
	return "webhook/" + hook.Lineage + "/" + hex.EncodeToString(sum[:12])
}

// receiverOf returns the part of an address that identifies a receiver, in one spelling: host, port and path. The
// query is not part of it, and http and https differ only by their port.
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
