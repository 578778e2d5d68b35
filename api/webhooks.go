package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Webhooks of API keys are under /v1/webhooks, and the only one of a bot token is at /v1/telegram/webhook, without an id. The
// operations are the same.

// webhookData is a registered webhook (docs/webhooks.md, Registering). secret is only shown if purser made it, and
// only once: a replay of that response has secret_shown instead.
type webhookData struct {
	WebhookID     wallet.WebhookID `json:"webhook_id"`
	URL           string           `json:"url"`
	Events        []string         `json:"events"`
	Active        bool             `json:"active"`
	CreatedAt     string           `json:"created_at"`
	UpdatedAt     string           `json:"updated_at"`
	LastTriggered string           `json:"last_triggered"` // time of the last attempt; "" for never
	FailingSince  string           `json:"failing_since"`  // since when every attempt failed; "" if the last one succeeded
	Ended         wallet.Ending    `json:"ended"`          // why purser turned it off; "" if it did not
	Secret        string           `json:"secret,omitempty"`
	SecretShown   bool             `json:"secret_shown,omitempty"`
}

// webhookOf renders a webhook without its secret.
func webhookOf(r handlers.HookRecord) webhookData {
	return webhookData{WebhookID: r.ID, URL: r.URL, Events: append([]string{}, r.Events...), Active: r.Active, CreatedAt: stamp(r.CreatedAt), UpdatedAt: stamp(r.UpdatedAt),
		LastTriggered: stamp(r.Health.LastTriggered), FailingSince: stamp(r.Health.FailingSince), Ended: r.Ended}
}

// webhooksData is `data` of GET /v1/webhooks, oldest first.
type webhooksData struct {
	Webhooks   []webhookData `json:"webhooks"`
	TotalCount int           `json:"total_count"`
}

// webhookStatusData is `data` of GET of one webhook.
type webhookStatusData struct {
	webhookData
	Health healthData `json:"health"`
}

// healthData is how the webhook's receiver does.
type healthData struct {
	LastSuccess string      `json:"last_success"` // "" for never
	Failures    int         `json:"failures"`     // failed attempts in a row
	LastStatus  int         `json:"last_status"`  // 0: no answer, or never tried
	LastError   string      `json:"last_error"`
	Waiting     int         `json:"waiting"` // deliveries that wait; counted up to handlers.MaxWaiting
	Hours       []hourData  `json:"hours"`
	Events      eventsUsage `json:"events"`
}

// hourData counts the attempts of one hour, and the deliveries that were given up in it.
type hourData struct {
	Hour         string `json:"hour"`
	Succeeded    int    `json:"succeeded"`
	Failed       int    `json:"failed"`
	DeadLettered int    `json:"dead_lettered"`
}

// eventsUsage is what the webhook has used of its hourly limit of events.
type eventsUsage struct {
	Used  uint64 `json:"used"` // in the last hour
	Limit uint64 `json:"limit"`
}

// secretData is `data` of POST …/secret/rotate.
type secretData struct {
	WebhookID     wallet.WebhookID `json:"webhook_id"`
	Secret        string           `json:"secret"`
	SecretShown   bool             `json:"secret_shown"`
	PreviousUntil string           `json:"previous_until"` // until when the secret before it signs too; "" if it ended at once
}

// testData is `data` of POST …/test. It does not contain the receiver's response: a developer could register the address of
// somebody else's server and read what it answers.
type testData struct {
	DeliveryID string `json:"delivery_id"`
	Delivered  bool   `json:"delivered"`
	Status     int    `json:"status"` // 0: no answer
	LatencyMS  int64  `json:"latency_ms"`
	Error      string `json:"error"`
}

// havingWebhooks limits a key whose tier does not (or no longer) include webhooks to reading and deleting those that
// it has.
func havingWebhooks(next operation) operation {
	return func(c *fiber.Ctx, key wallet.Key) error {
		switch c.Method() {
		case fiber.MethodGet, fiber.MethodHead, fiber.MethodDelete:
		default:
			if err := handlers.MayHaveWebhooks(key); err != nil {
				return err
			}
		}
		return next(c, key)
	}
}

// hookID returns the id in the path. On the paths of bot tokens it is "", which means the token's only webhook.
// WEBHOOK_NOT_FOUND for a malformed id.
func hookID(c *fiber.Ctx, key wallet.Key) (wallet.WebhookID, error) {
	id := c.Params("webhook_id")
	if key.Kind == wallet.APIKey && !saneID(id) {
		return "", wallet.Refuse(wallet.WebhookNotFound, "webhooks.unknown")
	}
	return wallet.WebhookID(id), nil
}

// webhookEvents is GET /v1/webhooks/events: the catalogue of events.
func (s *Server) webhookEvents(c *fiber.Ctx, _ wallet.Key) error {
	return s.succeed(c, fiber.StatusOK, "done.events", fiber.Map{"events": s.Catalogue})
}

// listWebhooks is GET /v1/webhooks.
func (s *Server) listWebhooks(c *fiber.Ctx, key wallet.Key) error {
	if _, err := query(c); err != nil {
		return err
	}
	all, err := s.Webhooks.List(c.UserContext(), handlers.CallerOf(key))
	if err != nil {
		return err
	}
	data := webhooksData{Webhooks: []webhookData{}, TotalCount: len(all)}
	for _, r := range all {
		data.Webhooks = append(data.Webhooks, webhookOf(r))
	}
	return s.succeed(c, fiber.StatusOK, "done.webhooks", data)
}

// webhook is GET of one webhook: its settings, its health, and its attempts by hour.
func (s *Server) webhook(c *fiber.Ctx, key wallet.Key) error {
	id, err := hookID(c, key)
	if err != nil {
		return err
	}
	status, err := s.Webhooks.Status(c.UserContext(), handlers.CallerOf(key), id)
	if err != nil {
		return err
	}
	h := status.Health
	data := webhookStatusData{webhookOf(status.HookRecord), healthData{LastSuccess: stamp(h.LastSuccess), Failures: h.Failures, LastStatus: h.LastStatus, LastError: s.explainReason(h.LastReason),
		Waiting: status.Waiting, Hours: []hourData{}, Events: eventsUsage{status.Used, status.Limit}}}
	for _, t := range status.Hours {
		data.Health.Hours = append(data.Health.Hours, hourData{stamp(t.Hour), t.Succeeded, t.Failed, t.DeadLettered})
	}
	return s.succeed(c, fiber.StatusOK, "done.webhook", data)
}

// createWebhook is POST /v1/webhooks {url, events, secret, active}, and POST /v1/telegram/webhook {url, events,
// secret}, which replaces the bot token's only webhook. Without secret purser makes one.
func (s *Server) createWebhook(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	// A bot token's webhook cannot be registered inactive.
	known := []string{"url", "events", "secret", "active"}
	if key.Kind == wallet.BotKey {
		known = known[:3]
	}
	if err := fields.only(known...); err != nil {
		return err
	}
	wanted := wallet.Webhook{}
	if wanted.URL, err = fields.text("url"); err != nil {
		return err
	}
	if wanted.Events, err = fields.texts("events", maxEvents); err != nil {
		return err
	}
	if wanted.Secret, err = fields.optional("secret", ""); err != nil {
		return err
	}
	if wanted.Active, err = fields.boolean("active", true); err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		// The address is checked before the transaction, since that may look up its host.
		made, err := s.Webhooks.Prepare(c.UserContext(), key, wanted)
		if err != nil {
			return err
		}
		// A secret that the caller gave is shown to nobody. One that purser made is shown now, and not in a replay.
		shown, kept := webhookOf(handlers.HookRecord{Webhook: made}), webhookOf(handlers.HookRecord{Webhook: made})
		if wanted.Secret == "" {
			shown.Secret, kept.SecretShown = made.Secret, true
		}
		return s.idempotentSecret(c, saveAnswer, fiber.StatusCreated, "done.webhook_set", func(tx store.Tx) (any, any, error) {
			return shown, kept, s.Webhooks.Commit(tx, made)
		})
	})
}

// idempotentSecret commits an operation that makes a secret. It responds with shown, which has the secret, and stores kept,
// which has not, for replays.
func (s *Server) idempotentSecret(c *fiber.Ctx, saveAnswer save, status int, said string, commit func(store.Tx) (shown, kept any, err error)) error {
	var body []byte
	err := s.Store.Update(c.UserContext(), func(tx store.Tx) error {
		shown, kept, err := commit(tx)
		if err != nil {
			return err
		}
		if body, err = s.envelope(said, shown); err != nil {
			return err
		}
		replay, err := s.envelope(said, kept)
		if err != nil {
			return err
		}
		return saveAnswer(tx, status, replay)
	})
	if err != nil {
		return err
	}
	return sendJSON(c, status, body)
}

// changeWebhook is PUT of one webhook {url, events, active}. It changes only the fields that are given. The session
// of the webhook then reads it again.
func (s *Server) changeWebhook(c *fiber.Ctx, key wallet.Key) error {
	id, fields, err := aboutHook(c, key, jsonBody, "url", "events", "active")
	if err != nil {
		return err
	}
	change, err := changeOf(fields)
	if err != nil {
		return err
	}
	// The host is looked up before the transaction.
	if change.URL != nil {
		if err := s.Webhooks.CheckURL(c.UserContext(), *change.URL); err != nil {
			return err
		}
	}
	var changed handlers.HookRecord
	err = s.Store.Update(c.UserContext(), func(tx store.Tx) (err error) {
		changed, err = s.Webhooks.Change(tx, handlers.CallerOf(key), id, change)
		return err
	})
	if err != nil {
		return err
	}
	s.Webhooks.Wake(changed.ID)
	return s.succeed(c, fiber.StatusOK, "done.webhook_changed", webhookOf(changed))
}

// changeOf parses the fields of a change. A field that is not given is nil.
func changeOf(fields object) (change handlers.HookChange, err error) {
	if _, given := fields["url"]; given {
		url, err := fields.text("url")
		if err != nil {
			return change, err
		}
		change.URL = &url
	}
	if _, given := fields["events"]; given {
		if change.Events, err = fields.texts("events", maxEvents); err != nil {
			return change, err
		}
	}
	if _, given := fields["active"]; given {
		active, err := fields.boolean("active", true)
		if err != nil {
			return change, err
		}
		change.Active = &active
	}
	return change, nil
}

// deleteWebhook is DELETE of one webhook. Deliveries that wait for it are dropped.
func (s *Server) deleteWebhook(c *fiber.Ctx, key wallet.Key) error {
	id, err := hookID(c, key)
	if err != nil {
		return err
	}
	var gone handlers.HookRecord
	err = s.Store.Update(c.UserContext(), func(tx store.Tx) (err error) {
		gone, err = s.Webhooks.Remove(tx, handlers.CallerOf(key), id)
		return err
	})
	if err != nil {
		return err
	}
	s.Webhooks.Wake(gone.ID)
	return s.succeed(c, fiber.StatusOK, "done.webhook_removed", webhookOf(gone))
}

// usualGrace is how long the previous secret stays valid after a rotation, in seconds, if the request does not say it.
const usualGrace = 24 * 60 * 60

// rotateSecret is POST …/secret/rotate {grace_seconds}. The previous secret goes on signing, beside the new one, for
// the grace period.
func (s *Server) rotateSecret(c *fiber.Ctx, key wallet.Key) error {
	id, fields, err := aboutHook(c, key, optionalBody, "grace_seconds")
	if err != nil {
		return err
	}
	// The grace period is in seconds.
	grace, err := fields.count("grace_seconds", usualGrace, handlers.LongestSecretGrace)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		// Drawn before the transaction, since its closure may run more than once.
		secret, err := s.Webhooks.NewSecret()
		if err != nil {
			return err
		}
		return s.idempotentSecret(c, saveAnswer, fiber.StatusOK, "done.secret_rotated", func(tx store.Tx) (any, any, error) {
			hook, err := s.Webhooks.RotateSecret(tx, handlers.CallerOf(key), id, secret, time.Duration(grace)*time.Second)
			kept := secretData{WebhookID: hook.ID, SecretShown: true, PreviousUntil: stamp(hook.PreviousUntil)}
			shown := kept
			shown.Secret, shown.SecretShown = secret, false
			return shown, kept, err
		})
	})
}

// testWebhook is POST …/test. It sends webhook.test once, now, without retries, and waits for the result.
func (s *Server) testWebhook(c *fiber.Ctx, key wallet.Key) error {
	id, _, err := aboutHook(c, key, optionalBody)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		// The attempt is made before the transaction. After a crash in between, a retry sends another test event.
		tested, err := s.Webhooks.Test(c.UserContext(), handlers.CallerOf(key), id)
		if err != nil {
			return err
		}
		// A test has exactly one attempt.
		last := tested.Attempted[0]
		data := testData{tested.ID, tested.State == store.DeliveryDelivered, last.Status, last.Latency.Milliseconds(), s.explainReason(last.Reason)}
		said := "done.test_delivered"
		if !data.Delivered {
			said = "done.test_not_delivered"
		}
		return s.answer(c, fiber.StatusOK, saveAnswer, func(tx store.Tx) ([]byte, error) {
			if err := s.Webhooks.CommitTest(tx, tested); err != nil {
				return nil, err
			}
			return s.envelope(said, data)
		})
	})
}

// aboutHook parses a request about the webhook in its path. Its body, read by body, may have only the known fields.
func aboutHook(c *fiber.Ctx, key wallet.Key, body func(*fiber.Ctx) (object, error), known ...string) (wallet.WebhookID, object, error) {
	id, err := hookID(c, key)
	if err != nil {
		return id, nil, err
	}
	fields, err := body(c)
	if err != nil {
		return id, nil, err
	}
	return id, fields, fields.only(known...)
}
