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

// Webhooks are receivers of events: those of API keys, by their ids, and the one of a bot token, whose
// id is "" here. What is another line of keys' is WEBHOOK_NOT_FOUND.
type Webhooks struct {
	Store     store.Store
	Node      string // the name of this node, which holds the connections of its listeners
	Log       store.DeliveryLog
	Retention time.Duration // of Log
	Networks  wallet.WebhookNetworks

	Reachability
	Deliverer

	Now    Clock
	NewID  IDs
	Random io.Reader
}

// Reachability tells beforehand whether an attempt to deliver would be made.
type Reachability interface {
	// Check refuses an address that no attempt would be made to deliver to, in words for a developer. It may ask DNS.
	Check(ctx context.Context, address string) error
}

// Deliverer brings events to webhooks (webhooks.Service).
type Deliverer interface {
	// May tells whether a webhook's key may be told of such events about a person ("": about nobody),
	// whatever the webhook asks for now.
	May(tx store.Tx, hook wallet.Webhook, event wallet.EventName, about wallet.UserID) (bool, error)
	// Try sends an event once, now. RATE_LIMIT_EXCEEDED.
	Try(ctx context.Context, hook wallet.Webhook, event wallet.Event) (store.LogEntry, error)
	// Used counts the events of the last hour, and tells their limit.
	Used(ctx context.Context, hook wallet.Webhook) (used, limit uint64, err error)
	// Delay is for how long the limit of the hour lets no new event of a webhook go; 0 where there is room.
	Delay(ctx context.Context, hook wallet.Webhook) (time.Duration, error)
	// Listen has what goes to a listener taken, until stop.
	Listen(id wallet.WebhookID, take func(ctx context.Context, header http.Header, body []byte) error) (stop func())
	// Wake says that a webhook was changed, or that something waits for it, after the commit.
	Wake(wallet.WebhookID)
}

// Bounds of webhooks (docs/specification.md, Limits).
const (
	MaxWebhooks    = 20 // of a line of keys
	MaxListeners   = 5  // of a line of keys, at once
	shortestSecret = 16
	longestSecret  = 128
	secretBytes    = 32 // of one that purser makes
	// fewestDifferent characters are in a secret: of 16 hexadecimal digits by chance, fewer are in one of 100,000.
	fewestDifferent = 5
	secretPrefix    = "whsec_" // begins one that is base64 of its key, as Standard Webhooks has it
	// LongestSecretGrace is for how long the secret before a rotation may go on, in seconds.
	LongestSecretGrace = 7 * 24 * 60 * 60
)

// HookRecord is a webhook, and how its deliveries fare.
type HookRecord struct {
	wallet.Webhook
	Health wallet.WebhookHealth
}

// hooksOf lists what a line of keys has registered, and its listeners, oldest first.
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

// hookOf finds a webhook of the caller's.
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
	hook, err := tx.Webhook(id)
	if err == nil && (hook.Lineage != who.KeyLineage || hook.Kind != wallet.APIKey || hook.Listener) {
		err = store.ErrNotFound
	}
	if err != nil {
		hook = wallet.Webhook{}
	}
	return hook, found(err, wallet.WebhookNotFound, "webhooks.unknown")
}

func recordOf(tx store.Tx, who Caller, id wallet.WebhookID) (r HookRecord, err error) {
	if r.Webhook, err = hookOf(tx, who, id); err != nil {
		return r, err
	}
	r.Health, err = tx.WebhookHealth(r.ID)
	return r, err
}

// List is the webhooks of a line of API keys, oldest first.
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

// Prepare judges a webhook that a key wants, and draws a secret where none is given. A bot token's is
// always active. It may ask DNS, so no transaction is open. TIER_REQUIRED, INVALID_WEBHOOK_URL, INVALID_REQUEST.
func (w *Webhooks) Prepare(ctx context.Context, key wallet.Key, wanted wallet.Webhook) (wallet.Webhook, error) {
	if err := MayHaveWebhooks(key); err != nil {
		return wanted, err
	}
	var err error
	if wanted.Events, err = subscriptions(key.Kind, wanted.Events); err != nil {
		return wanted, err
	}
	switch {
	case wanted.Secret == "":
		if wanted.Secret, err = w.DrawSecret(); err != nil {
			return wanted, err
		}
	default:
		if err := checkSecret(wanted.Secret); err != nil {
			return wanted, err
		}
	}
	if err := w.CheckURL(ctx, wanted.URL); err != nil { // last, since it may take a while
		return wanted, err
	}
	prefix := "wh"
	if key.Kind == wallet.BotKey {
		prefix, wanted.Active = "bwh", true
	}
	return w.of(key, wanted, prefix), nil
}

// CheckURL refuses an address that nothing would be delivered to: by its text, and by what its name leads to now.
// INVALID_WEBHOOK_URL.
func (w *Webhooks) CheckURL(ctx context.Context, address string) error {
	if err := w.Networks.Check(address); err != nil {
		return err
	}
	if err := w.Reachability.Check(ctx, address); err != nil {
		return wallet.About("url", err)
	}
	return nil
}

// checkSecret refuses a secret that is none: too short, too long, not to be typed, or plainly no chance's work. One
// that begins as purser's own must be written as those are, or libraries of Standard Webhooks refuse it. INVALID_REQUEST.
func checkSecret(secret string) error {
	no := func(key string, args ...wallet.Arg) error {
		return wallet.About("secret", wallet.Refuse(wallet.InvalidRequest, key, args...))
	}
	rest, ours := strings.CutPrefix(secret, secretPrefix)
	different := map[rune]bool{}
	for _, r := range rest {
		different[r] = true
	}
	delete(different, ' ')
	switch key, err := base64.StdEncoding.DecodeString(rest); {
	case len(secret) < shortestSecret || len(secret) > longestSecret || strings.ContainsFunc(secret, func(r rune) bool { return r < ' ' || r > '~' }):
		return no("webhook_secret.length", wallet.NumberArg("Least", shortestSecret), wallet.NumberArg("Most", longestSecret))
	case strings.TrimSpace(secret) != secret:
		return no("webhook_secret.space")
	case len(different) < fewestDifferent:
		return no("webhook_secret.simple", wallet.NumberArg("Least", fewestDifferent))
	case ours && (err != nil || len(key) < shortestSecret):
		return no("webhook_secret.encoding", wallet.TextArg("Prefix", secretPrefix), wallet.NumberArg("Least", shortestSecret))
	}
	return nil
}

// subscriptions are names of events as a webhook keeps them. INVALID_REQUEST.
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

// DrawSecret makes the secret of a webhook.
func (w *Webhooks) DrawSecret() (string, error) {
	raw := make([]byte, secretBytes)
	if _, err := io.ReadFull(w.Random, raw); err != nil {
		return "", fmt.Errorf("draw a secret: %w", err)
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(raw), nil
}

// Commit adds a prepared webhook. A bot token's takes the place of the one before, and what waited for
// that goes with it; of a line of API keys there are MaxWebhooks at most: WEBHOOK_LIMIT_REACHED.
func (w *Webhooks) Commit(tx store.Tx, made wallet.Webhook) error {
	all, _, err := hooksOf(tx, made.Lineage)
	if err != nil {
		return err
	}
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

// PrepareListener makes the webhook of a connection that takes events of a key. TIER_REQUIRED,
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
	if made.Secret, err = w.DrawSecret(); err != nil {
		return made, err
	}
	return w.of(key, made, "whl"), nil
}

// CommitListener stores it: of a line of keys there are MaxListeners at most. WEBHOOK_LIMIT_REACHED.
func (w *Webhooks) CommitListener(tx store.Tx, made wallet.Webhook) error {
	_, listeners, err := hooksOf(tx, made.Lineage)
	if err != nil {
		return err
	}
	if len(listeners) >= MaxListeners {
		return wallet.Refuse(wallet.WebhookLimitReached, "webhooks.too_many_listeners", wallet.NumberArg("Most", MaxListeners))
	}
	return tx.PutWebhook(made)
}

// Hears refuses a listener that hears nothing any more: no key of its line opens anything (INVALID_API_KEY), or
// the newest that does may have no webhooks, or its row is gone, as after purser's engine began anew
// (WEBHOOK_NOT_FOUND).
func (w *Webhooks) Hears(ctx context.Context, listener wallet.Webhook) error {
	return w.Store.View(ctx, func(tx store.Tx) error {
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

// RemoveListener ends it, when its connection has ended; one that is gone is no error.
func (w *Webhooks) RemoveListener(tx store.Tx, id wallet.WebhookID) error {
	if err := tx.DeleteWebhook(id); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// of completes a webhook of a key.
func (w *Webhooks) of(key wallet.Key, made wallet.Webhook, prefix string) wallet.Webhook {
	now := w.Now().UTC()
	made.ID, made.Kind, made.Lineage, made.Owner = wallet.WebhookID(w.NewID(prefix)), key.Kind, key.Lineage(), key.Owner
	made.CreatedAt, made.UpdatedAt = now, now
	return made
}

// MayHaveWebhooks refuses a key that may have none. One that had some may look at them yet, and remove them.
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

func deleteHooks(tx store.Tx, all []wallet.Webhook) error {
	for _, hook := range all {
		if err := tx.DeleteWebhook(hook.ID); err != nil {
			return err
		}
	}
	return nil
}

// HookChange is what is to be another way; nil stays as it is.
type HookChange struct {
	URL    *string
	Events []string
	Active *bool
}

// Change changes a webhook. Turning it on again, or sending to another address, forgets for how long its
// deliveries have failed. A new address was checked before (CheckURL). INVALID_REQUEST.
func (w *Webhooks) Change(tx store.Tx, who Caller, id wallet.WebhookID, c HookChange) (HookRecord, error) {
	r, err := recordOf(tx, who, id)
	if err != nil {
		return r, err
	}
	hook, health, anew := r.Webhook, r.Health, false
	if c.URL != nil {
		anew, hook.URL = hook.URL != *c.URL, *c.URL
	}
	if c.Events != nil {
		if hook.Events, err = subscriptions(hook.Kind, c.Events); err != nil {
			return HookRecord{}, err
		}
	}
	if c.Active != nil {
		anew = anew || *c.Active && !hook.Active
		if hook.Active = *c.Active; hook.Active {
			hook.Ended = ""
		}
	}
	hook.UpdatedAt = w.Now().UTC()
	if err := tx.PutWebhook(hook); err != nil {
		return HookRecord{}, err
	}
	if anew {
		health.FailingSince, health.Failures = time.Time{}, 0
		err = tx.PutWebhookHealth(hook.ID, health)
	}
	return HookRecord{hook, health}, err
}

// Remove ends a webhook, and what waits for it, and returns it as it was.
func (w *Webhooks) Remove(tx store.Tx, who Caller, id wallet.WebhookID) (HookRecord, error) {
	gone, err := recordOf(tx, who, id)
	if err != nil {
		return gone, err
	}
	return gone, tx.DeleteWebhook(gone.ID)
}

// RotateSecret gives a webhook a secret that was drawn. For the grace, deliveries are signed with the one
// before too.
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

// HookStatus is how a webhook fares.
type HookStatus struct {
	HookRecord
	Waiting     int           // deliveries, MostWaiting at most
	Hours       []store.Tally // of the last day, oldest first; without those in which nothing was attempted
	Used, Limit uint64        // events of the last hour
}

// MostWaiting is how far deliveries that wait are counted.
const MostWaiting = 10_000

// Status tells how a webhook fares.
func (w *Webhooks) Status(ctx context.Context, who Caller, id wallet.WebhookID) (HookStatus, error) {
	status, err := read(ctx, w.Store, func(tx store.Tx) (s HookStatus, err error) {
		if s.HookRecord, err = recordOf(tx, who, id); err != nil {
			return s, err
		}
		s.Waiting, err = tx.Waiting(s.ID, MostWaiting)
		return s, err
	})
	if err != nil {
		return status, err
	}
	if status.Hours, err = w.Log.Tallies(ctx, status.ID, w.Now().Add(-24*time.Hour)); err != nil {
		return status, err
	}
	status.Used, status.Limit, err = w.Used(ctx, status.Webhook)
	return status, err
}

// Test sends webhook.test to a webhook, once and now, and tells what came of it. RATE_LIMIT_EXCEEDED.
func (w *Webhooks) Test(ctx context.Context, who Caller, id wallet.WebhookID) (store.LogEntry, error) {
	hook, err := read(ctx, w.Store, func(tx store.Tx) (wallet.Webhook, error) { return hookOf(tx, who, id) })
	if err != nil {
		return store.LogEntry{}, err
	}
	event, err := wallet.NewEvent(w.NewID("evt"), wallet.WebhookTest, w.Now().UTC(), hook.Owner,
		wallet.WebhookTestData{WebhookID: hook.ID, Message: "This is a test. Nothing happened."})
	if err != nil {
		return store.LogEntry{}, err
	}
	entry, err := w.Try(ctx, hook, event)
	if err != nil {
		return entry, err
	}
	return entry, w.Log.Log(context.WithoutCancel(ctx), []store.LogEntry{entry}) // it was sent, whatever comes now
}

// CommitTest notes that a webhook was tested.
func (w *Webhooks) CommitTest(tx store.Tx, tested store.LogEntry) error {
	health, err := tx.WebhookHealth(tested.Webhook)
	if err != nil {
		return err
	}
	if health.LastTriggered.Before(tested.CreatedAt) {
		health.LastTriggered = tested.CreatedAt
	}
	return found(tx.PutWebhookHealth(tested.Webhook, health), wallet.WebhookNotFound, "webhooks.removed")
}
