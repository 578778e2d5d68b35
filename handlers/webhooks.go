package handlers

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Webhooks manages webhook endpoints and their deliveries. API keys have several endpoints with IDs. A bot token has one,
// whose ID is passed as "". Endpoints of another lineage are WEBHOOK_NOT_FOUND. Listeners are endpoints too: open
// connections instead of URLs.
type Webhooks struct {
	Store     store.Store
	Node      string // name of this node, which holds its listeners' connections
	Log       store.DeliveryLog
	Retention time.Duration // how long Log keeps deliveries
	Networks  wallet.WebhookNetworks

	Reachability
	Deliverer

	Now    Clock
	NewID  IDs
	Random io.Reader
}

// Reachability reports before anything is stored whether deliveries to an address would be attempted. It refuses what the
// sender itself would refuse (webhooks package).
type Reachability interface {
	// Check refuses addresses to which nothing would be delivered, with a reason for the developer. It may use DNS.
	Check(ctx context.Context, address string) error
}

// Deliverer delivers events to webhooks (webhooks.Service).
type Deliverer interface {
	// May reports whether a webhook's key may get events of a type about a person ("" for nobody), regardless of what the
	// webhook subscribes to.
	May(tx store.Tx, hook wallet.Webhook, event wallet.EventName, about wallet.UserID) (bool, error)
	// Try sends one event immediately, without retries. RATE_LIMIT_EXCEEDED.
	Try(ctx context.Context, hook wallet.Webhook, event wallet.Event) (store.LogEntry, error)
	// Used returns how many events were sent in the last hour, and the limit.
	Used(ctx context.Context, hook wallet.Webhook) (used, limit uint64, err error)
	// Delay returns how long the hourly limit holds back the webhook's next new event; 0 if there is room.
	Delay(ctx context.Context, hook wallet.Webhook) (time.Duration, error)
	// Listen passes what is delivered to a listener to take, until stop is called.
	Listen(id wallet.WebhookID, take func(ctx context.Context, header http.Header, body []byte) error) (stop func())
	// Wake reports after a commit that a webhook was changed or has new deliveries.
	Wake(wallet.WebhookID)
}

// Limits of webhooks (docs/specification.md, Limits).
const (
	MaxWebhooks    = 20 // for each lineage of keys
	MaxListeners   = 5  // open at the same time, for each lineage
	shortestSecret = 16 // characters
	longestSecret  = 128
	secretBytes    = 32 // random bytes of a secret that purser makes
	// fewestDifferent is the fewest distinct characters of a secret. Of random secrets of 16 hexadecimal digits, one in
	// 100,000 has fewer.
	fewestDifferent = 5
	secretPrefix    = "whsec_" // prefix of base64 secrets in Standard Webhooks
	// LongestSecretGrace is the longest time, in seconds, that the previous secret can stay valid after a rotation.
	LongestSecretGrace = 7 * 24 * 60 * 60
)

// HookRecord is a webhook with the health of its deliveries.
type HookRecord struct {
	wallet.Webhook
	Health wallet.WebhookHealth
}

// hooksOf lists the webhooks and the listeners of a lineage, each oldest first.
func hooksOf(tx store.Tx, line string) (hooks, listeners []wallet.Webhook, err error) {
	all, err := tx.WebhooksOf(line)
	for _, hook := range all {
		if hook.Listener {
			listeners = append(listeners, hook)
		} else {
			hooks = append(hooks, hook)
		}
	}
	return hooks, listeners, err
}

// hookOf finds one of the caller's webhooks. A bot token has only one, so its ID is ignored. WEBHOOK_NOT_FOUND.
func hookOf(tx store.Tx, who Caller, id wallet.WebhookID) (wallet.Webhook, error) {
	if who.Bot {
		all, _, err := hooksOf(tx, who.KeyLineage)
		if err != nil {
			return wallet.Webhook{}, err
		}
		if len(all) == 0 {
			return wallet.Webhook{}, wallet.Refuse(wallet.WebhookNotFound, "webhooks.none")
		}
		return all[0], nil
	}
	// Endpoints of other lineages, endpoints of bot tokens, and listeners are refused like unknown IDs, so that IDs
	// cannot be probed.
	hook, err := tx.Webhook(id)
	if err == nil && (hook.Lineage != who.KeyLineage || hook.Kind != wallet.APIKey || hook.Listener) {
		err = store.ErrNotFound
	}
	if err != nil {
		hook = wallet.Webhook{}
	}
	return hook, found(err, wallet.WebhookNotFound, "webhooks.unknown")
}

// recordOf finds one of the caller's webhooks and reads its health. WEBHOOK_NOT_FOUND.
func recordOf(tx store.Tx, who Caller, id wallet.WebhookID) (r HookRecord, err error) {
	if r.Webhook, err = hookOf(tx, who, id); err != nil {
		return r, err
	}
	r.Health, err = tx.WebhookHealth(r.ID)
	return r, err
}

// List returns the webhooks of the caller's lineage, oldest first.
func (w *Webhooks) List(ctx context.Context, who Caller) ([]HookRecord, error) {
	return read(ctx, w.Store, func(tx store.Tx) ([]HookRecord, error) {
		all, _, err := hooksOf(tx, who.KeyLineage)
		if err != nil {
			return nil, err
		}
		records := make([]HookRecord, len(all))
		for i, hook := range all {
			health, err := tx.WebhookHealth(hook.ID)
			if err != nil {
				return nil, err
			}
			records[i] = HookRecord{hook, health}
		}
		return records, nil
	})
}

// Prepare checks a new webhook of a key, and draws a secret if none is given. A bot token's webhook is always active. It
// may use DNS, so no store transaction may be open. TIER_REQUIRED, INSUFFICIENT_SCOPE, INVALID_WEBHOOK_URL,
// INVALID_REQUEST.
func (w *Webhooks) Prepare(ctx context.Context, key wallet.Key, wanted wallet.Webhook) (wallet.Webhook, error) {
	if err := MayHaveWebhooks(key); err != nil {
		return wanted, err
	}
	var err error
	if wanted.Events, err = subscriptions(key.Kind, wanted.Events); err != nil {
		return wanted, err
	}
	// Without a secret of the developer's own, purser draws one. The API shows it in the response to the creation.
	switch {
	case wanted.Secret == "":
		if wanted.Secret, err = w.NewSecret(); err != nil {
			return wanted, err
		}
	default:
		if err := checkSecret(wanted.Secret); err != nil {
			return wanted, err
		}
	}
	if err := w.CheckURL(ctx, wanted.URL); err != nil { // last, because it may take seconds
		return wanted, err
	}
	// The prefix of an ID shows what it is: wh for an endpoint of an API key, bwh for that of a bot token.
	prefix := "wh"
	if key.Kind == wallet.BotKey {
		prefix, wanted.Active = "bwh", true
	}
	return w.of(key, wanted, prefix), nil
}

// CheckURL refuses an address to which nothing would be delivered, by its text and by what its name resolves to now.
// INVALID_WEBHOOK_URL. Each delivery checks again: DNS may change.
func (w *Webhooks) CheckURL(ctx context.Context, address string) error {
	if err := w.Networks.Check(address); err != nil {
		return err
	}
	if err := w.Reachability.Check(ctx, address); err != nil {
		return wallet.About("url", err)
	}
	return nil
}

// checkSecret refuses a secret that is too short, too long, not printable ASCII, or obviously not random. A secret with
// purser's prefix must be valid base64, or libraries for Standard Webhooks would reject it. INVALID_REQUEST.
func checkSecret(secret string) error {
	no := func(key string, args ...wallet.Arg) error {
		return wallet.About("secret", wallet.Refuse(wallet.InvalidRequest, key, args...))
	}
	if len(secret) < shortestSecret || len(secret) > longestSecret || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }) {
		return no("webhook_secret.length", wallet.NumberArg("Least", shortestSecret), wallet.NumberArg("Most", longestSecret))
	}
	// The prefix is the same in every such secret, so only the rest counts as random.
	rest, ours := strings.CutPrefix(secret, secretPrefix)
	different := map[rune]bool{}
	for _, r := range rest {
		different[r] = true
	}
	delete(different, ' ')
	switch key, err := base64.StdEncoding.DecodeString(rest); {
	case strings.TrimSpace(secret) != secret:
		return no("webhook_secret.space")
	case len(different) < fewestDifferent:
		return no("webhook_secret.simple", wallet.NumberArg("Least", fewestDifferent))
	case ours && (err != nil || len(key) < shortestSecret):
		return no("webhook_secret.encoding", wallet.TextArg("Prefix", secretPrefix), wallet.NumberArg("Least", shortestSecret))
	}
	return nil
}

// subscriptions checks the names of events and returns them sorted, without duplicates. INVALID_REQUEST.
func subscriptions(kind wallet.KeyKind, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, wallet.About("events", wallet.Refuse(wallet.InvalidRequest, "events.missing"))
	}
	known := wallet.SubscriptionsOf(kind)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, wallet.About("events", wallet.Refuse(wallet.InvalidRequest, "events.unknown", wallet.ListArg("Names", known)))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names))), nil
}

// NewSecret makes a secret in the form of Standard Webhooks: whsec_ and the base64 of 32 random bytes.
func (w *Webhooks) NewSecret() (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(w.Random, raw); err != nil {
		return "", fmt.Errorf("draw a secret: %w", err)
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(raw), nil
}

// Commit stores a prepared webhook. A bot token's webhook replaces the previous one and its waiting deliveries. A lineage
// of API keys can have MaxWebhooks: WEBHOOK_LIMIT_REACHED.
func (w *Webhooks) Commit(tx store.Tx, made wallet.Webhook) error {
	all, _, err := hooksOf(tx, made.Lineage)
	if err != nil {
		return err
	}
	// Counted in the transaction that stores it, so that two requests at once cannot exceed the limit.
	if made.Kind == wallet.APIKey && len(all) >= MaxWebhooks {
		return wallet.Refuse(wallet.WebhookLimitReached, "webhooks.too_many", wallet.NumberArg("Most", MaxWebhooks))
	}
	if made.Kind == wallet.BotKey {
		if err := deleteHooks(tx, all); err != nil {
			return err
		}
	}
	return tx.PutWebhook(made)
}

// PrepareListener makes the webhook of a connection that receives a key's events. TIER_REQUIRED, INSUFFICIENT_SCOPE,
// INVALID_REQUEST.
func (w *Webhooks) PrepareListener(key wallet.Key, events []string) (wallet.Webhook, error) {
	made := wallet.Webhook{Active: true, Listener: true, Node: w.Node}
	err := MayHaveWebhooks(key)
	if err != nil {
		return made, err
	}
	if made.Events, err = subscriptions(key.Kind, events); err != nil {
		return made, err
	}
	if made.Secret, err = w.NewSecret(); err != nil {
		return made, err
	}
	return w.of(key, made, "whl"), nil
}

// CommitListener stores a listener that a key asked for. A lineage can have MaxListeners: WEBHOOK_LIMIT_REACHED. INVALID_API_KEY if the key
// has ended since: ending it ended the listeners that were there.
func (w *Webhooks) CommitListener(tx store.Tx, asked wallet.Key, made wallet.Webhook) error {
	switch key, err := tx.Key(asked.ID); {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return err
	case err != nil || !key.UsableAt(w.Now()):
		return wallet.Refuse(wallet.InvalidAPIKey, "webhooks.key_ended")
	}
	_, listeners, err := hooksOf(tx, made.Lineage)
	if err != nil {
		return err
	}
	if len(listeners) >= MaxListeners {
		return wallet.Refuse(wallet.WebhookLimitReached, "webhooks.too_many_listeners", wallet.NumberArg("Most", MaxListeners))
	}
	return tx.PutWebhook(made)
}

// CheckListener returns an error when a listener can get no more events: INVALID_API_KEY if its lineage has no usable key, an
// error of MayHaveWebhooks if the newest usable one may have none, or WEBHOOK_NOT_FOUND if its row is gone, as after a
// restart of the node.
func (w *Webhooks) CheckListener(ctx context.Context, listener wallet.Webhook) error {
	return w.Store.View(ctx, func(tx store.Tx) error {
		// A rotated key ends after its grace period and the listener goes on with its successor, so the newest usable key
		// of the lineage decides. A key that is ended at once takes the lineage's listeners with it (endOpened).
		line, err := store.KeyLineage(tx, listener.Lineage)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		key, ok := wallet.NewestUsable(line, w.Now())
		if !ok {
			return wallet.Refuse(wallet.InvalidAPIKey, "webhooks.key_ended")
		}
		if err := MayHaveWebhooks(key); err != nil {
			return err
		}
		_, err = tx.Webhook(listener.ID)
		return found(err, wallet.WebhookNotFound, "webhooks.listener_gone")
	})
}

// RemoveListener deletes a listener whose connection has ended. It is no error if it is gone already.
func (w *Webhooks) RemoveListener(tx store.Tx, id wallet.WebhookID) error {
	if err := tx.DeleteWebhook(id); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// of completes a new webhook: its ID with this prefix, its times, and the kind, lineage and owner of its key. A webhook
// belongs to the lineage, so rotating the key does not affect it.
func (w *Webhooks) of(key wallet.Key, made wallet.Webhook, prefix string) wallet.Webhook {
	now := w.Now().UTC()
	made.ID, made.Kind, made.Lineage, made.Owner = wallet.WebhookID(w.NewID(prefix)), key.Kind, key.Lineage(), key.Owner
	made.CreatedAt, made.UpdatedAt = now, now
	return made
}

// MayHaveWebhooks refuses a key that may not have webhooks. It can still list and delete those that it had before.
// INSUFFICIENT_SCOPE, TIER_REQUIRED.
func MayHaveWebhooks(key wallet.Key) error {
	switch {
	case !key.May(wallet.Webhooks):
		return wallet.Refuse(wallet.InsufficientScope, "scope_needed.missing", wallet.TextArg("Scope", wallet.Webhooks))
	case key.Tier != wallet.ProTier:
		return wallet.Refuse(wallet.TierRequired, "tier_needed.webhooks")
	}
	return nil
}

// deleteHooks deletes webhooks and the deliveries that wait for them.
func deleteHooks(tx store.Tx, all []wallet.Webhook) error {
	for _, hook := range all {
		if err := tx.DeleteWebhook(hook.ID); err != nil {
			return err
		}
	}
	return nil
}

// HookChange is a partial update: nil fields keep their values.
type HookChange struct {
	URL    *string
	Events []string
	Active *bool
}

// Change updates a webhook. Activating it, or changing its address, resets its record of failures. The caller must have
// checked a new address before (CheckURL). INVALID_REQUEST.
func (w *Webhooks) Change(tx store.Tx, who Caller, id wallet.WebhookID, c HookChange) (HookRecord, error) {
	r, err := recordOf(tx, who, id)
	if err != nil {
		return r, err
	}
	hook, health, restarted := r.Webhook, r.Health, false
	// A new address, or turning the webhook on again, makes earlier failures meaningless.
	if c.URL != nil {
		restarted, hook.URL = hook.URL != *c.URL, *c.URL
	}
	if c.Events != nil {
		if hook.Events, err = subscriptions(hook.Kind, c.Events); err != nil {
			return HookRecord{}, err
		}
	}
	if c.Active != nil {
		restarted = restarted || *c.Active && !hook.Active
		if hook.Active = *c.Active; hook.Active {
			hook.Ended = ""
		}
	}
	hook.UpdatedAt = w.Now().UTC()
	if err := tx.PutWebhook(hook); err != nil {
		return HookRecord{}, err
	}
	// The health counts from zero, or the next failure could turn the webhook off again at once.
	if restarted {
		health.FailingSince, health.Failures = time.Time{}, 0
		err = tx.PutWebhookHealth(hook.ID, health)
	}
	return HookRecord{hook, health}, err
}

// Remove deletes a webhook with its waiting deliveries, and returns it as it was.
func (w *Webhooks) Remove(tx store.Tx, who Caller, id wallet.WebhookID) (HookRecord, error) {
	gone, err := recordOf(tx, who, id)
	if err != nil {
		return gone, err
	}
	return gone, tx.DeleteWebhook(gone.ID)
}

// RotateSecret replaces a webhook's secret by one from NewSecret. Deliveries are signed with both until grace is over, so
// that the receiver can change its configuration in between. grace 0 ends the previous secret immediately. The caller
// checks grace against LongestSecretGrace. WEBHOOK_NOT_FOUND.
func (w *Webhooks) RotateSecret(tx store.Tx, who Caller, id wallet.WebhookID, secret string, grace time.Duration) (wallet.Webhook, error) {
	hook, err := hookOf(tx, who, id)
	if err != nil {
		return hook, err
	}
	now := w.Now().UTC()
	hook.Previous, hook.PreviousUntil = hook.Secret, now.Add(grace)
	if grace == 0 {
		hook.Previous, hook.PreviousUntil = "", time.Time{}
	}
	hook.Secret, hook.UpdatedAt = secret, now
	return hook, tx.PutWebhook(hook)
}

// HookStatus is a webhook with figures about its deliveries.
type HookStatus struct {
	HookRecord
	Waiting     int                   // deliveries; counted up to MaxWaiting
	Hours       []store.AttemptCounts // of the last day, oldest first; hours without attempts are left out
	Used, Limit uint64                // events in the last hour, and their limit
}

// MaxWaiting is where counting waiting deliveries stops.
const MaxWaiting = 10_000

// Status returns a webhook with figures about its deliveries. They are read one after the other, not at one instant.
func (w *Webhooks) Status(ctx context.Context, who Caller, id wallet.WebhookID) (HookStatus, error) {
	status, err := read(ctx, w.Store, func(tx store.Tx) (s HookStatus, err error) {
		if s.HookRecord, err = recordOf(tx, who, id); err != nil {
			return s, err
		}
		s.Waiting, err = tx.Waiting(s.ID, MaxWaiting)
		return s, err
	})
	if err != nil {
		return status, err
	}
	// The log of deliveries is a store of its own, and is read with no transaction open.
	if status.Hours, err = w.Log.AttemptsByHour(ctx, status.ID, w.Now().Add(-24*time.Hour)); err != nil {
		return status, err
	}
	status.Used, status.Limit, err = w.Used(ctx, status.Webhook)
	return status, err
}

// Test sends one webhook.test event immediately and returns the result. The attempt is logged even if ctx ends.
// RATE_LIMIT_EXCEEDED.
func (w *Webhooks) Test(ctx context.Context, who Caller, id wallet.WebhookID) (store.LogEntry, error) {
	hook, err := read(ctx, w.Store, func(tx store.Tx) (wallet.Webhook, error) { return hookOf(tx, who, id) })
	if err != nil {
		return store.LogEntry{}, err
	}
	event, err := wallet.NewEvent(w.NewID("evt"), wallet.WebhookTest, w.Now().UTC(), hook.Owner,
		wallet.WebhookTestData{WebhookID: hook.ID})
	if err != nil {
		return store.LogEntry{}, err
	}
	entry, err := w.Try(ctx, hook, event)
	if err != nil {
		return entry, err
	}
	return entry, w.Log.Log(context.WithoutCancel(ctx), []store.LogEntry{entry}) // it was sent, so it must be logged
}

// CommitTest records after a test when a webhook was last triggered, and last with success. It ends no row of failures:
// an event is more than a test. WEBHOOK_NOT_FOUND if it was removed meanwhile.
func (w *Webhooks) CommitTest(tx store.Tx, tested store.LogEntry) error {
	health, err := tx.WebhookHealth(tested.Webhook)
	if err != nil {
		return err
	}
	// A delivery that was attempted since is later, and stays.
	if health.LastTriggered.Before(tested.CreatedAt) {
		health.LastTriggered = tested.CreatedAt
	}
	if tested.State == store.DeliveryDelivered && health.LastSuccess.Before(tested.CreatedAt) {
		health.LastSuccess = tested.CreatedAt
	}
	return found(tx.PutWebhookHealth(tested.Webhook, health), wallet.WebhookNotFound, "webhooks.removed")
}
