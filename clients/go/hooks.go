package purser

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// WebhookRequest is a webhook to register for platform events.
type WebhookRequest struct {
	URL      string   // https
	Events   []string // "transaction.confirmed", "price.*", "*", …
	Secret   Secret   // 16 to 128 printable ASCII characters; "": purser generates one
	Inactive bool     // nothing is delivered until it is activated
}

// BotWebhookRequest is the webhook to register for a bot token.
type BotWebhookRequest struct {
	URL    string   `json:"url"`              // https
	Events []string `json:"events"`           // "message.received", "wallet.*", "*", …
	Secret Secret   `json:"secret,omitempty"` // 16 to 128 printable ASCII characters; "": purser generates one
}

// Webhook is a registered webhook.
type Webhook struct {
	WebhookID     string    `json:"webhook_id"`
	URL           string    `json:"url"`
	Events        []string  `json:"events"`
	Active        bool      `json:"active"`
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
	LastTriggered time.Time `json:"last_triggered"` // zero: never
	FailingSince  time.Time `json:"failing_since"`  // zero: it is not failing
	Ended         string    `json:"ended"`          // why purser turned it off: "gone" (410), "failing", "backlog" (an event waited through 72 hours in which purser ran), or "tier" (until the key has pro again); "" when it did not
	Secret        Secret    `json:"secret"`         // a secret that purser generated, shown only once; else ""
	SecretShown   bool      `json:"secret_shown"`   // it was shown in a response that was lost
}

func (w Webhook) complete() bool { return w.WebhookID != "" && w.URL != "" }

// withSecret returns ErrSecretLost when the response with the new secret was lost.
func (w Webhook) withSecret(err error) (Webhook, error) {
	if err == nil && w.SecretShown && w.Secret == "" {
		err = ErrSecretLost
	}
	return w, err
}

// WebhookStatus is a webhook with the health of its deliveries.
type WebhookStatus struct {
	Webhook
	Health WebhookHealth `json:"health"`
}

// WebhookHealth is the health of a webhook's deliveries.
type WebhookHealth struct {
	LastSuccess time.Time     `json:"last_success"` // zero: never
	Failures    int           `json:"failures"`     // failed attempts in a row
	LastStatus  int           `json:"last_status"`  // 0: no response, or never tried
	LastError   string        `json:"last_error"`
	Waiting     int           `json:"waiting"` // waiting deliveries, counted up to 10,000
	Hours       []WebhookHour `json:"hours"`   // of the last day, oldest first
	Events      struct {
		Used  uint64 `json:"used"` // in the last hour
		Limit uint64 `json:"limit"`
	} `json:"events"`
}

// WebhookHour counts the results of the attempts in one hour.
type WebhookHour struct {
	Hour         time.Time `json:"hour"`
	Succeeded    int       `json:"succeeded"`
	Failed       int       `json:"failed"`
	DeadLettered int       `json:"dead_lettered"` // deliveries that were dead-lettered
}

type webhookList struct {
	Webhooks []Webhook `json:"webhooks"`
}

func (l webhookList) complete() bool { return l.Webhooks != nil && all(l.Webhooks) }

// Webhooks is GET /v1/webhooks: the webhooks of this key and of the keys that it replaced, oldest first.
func (c *Client) Webhooks(ctx context.Context) ([]Webhook, error) {
	list, err := do[webhookList](ctx, c, call{method: http.MethodGet, path: "/v1/webhooks"})
	return list.Webhooks, err
}

// CreateWebhook is POST /v1/webhooks. If it fails with [ErrSecretLost], the webhook exists with a secret that nobody knows:
// rotate the secret.
func (c *Client) CreateWebhook(ctx context.Context, r WebhookRequest) (Webhook, error) {
	body := struct {
		BotWebhookRequest
		Active bool `json:"active"`
	}{BotWebhookRequest{r.URL, append([]string{}, r.Events...), r.Secret}, !r.Inactive}
	made, err := do[Webhook](ctx, c, call{method: http.MethodPost, path: "/v1/webhooks", body: body})
	return made.withSecret(err)
}

// SetBotWebhook is POST /v1/telegram/webhook (bot token). It replaces the token's webhook. If it fails with [ErrSecretLost],
// the webhook is set with a secret that nobody knows: rotate the secret.
func (c *Client) SetBotWebhook(ctx context.Context, r BotWebhookRequest) (Webhook, error) {
	r.Events = append([]string{}, r.Events...) // [] and not null
	set, err := do[Webhook](ctx, c, call{method: http.MethodPost, path: "/v1/telegram/webhook", body: r})
	return set.withSecret(err)
}

// WebhookEvent is a type of event that webhooks can receive.
type WebhookEvent struct {
	Event   string          `json:"event"`
	Kind    string          `json:"kind"`  // "api" or "bot": the kind of key whose webhooks can receive it
	When    string          `json:"when"`  // when the event is sent
	Scope   string          `json:"scope"` // that an app needs to receive the event about other people
	Public  bool            `json:"public"`
	Emitted bool            `json:"emitted"` // false: nothing emits it yet
	Schema  json.RawMessage `json:"schema"`  // JSON Schema of a body
	Example json.RawMessage `json:"example"` // an example of a body
}

func (e WebhookEvent) complete() bool { return e.Event != "" }

type webhookEventList struct {
	Events []WebhookEvent `json:"events"`
}

func (l webhookEventList) complete() bool { return l.Events != nil && all(l.Events) }

// WebhookEvents is GET /v1/webhooks/events: every event that a webhook can subscribe to. Any key may read it.
func (c *Client) WebhookEvents(ctx context.Context) ([]WebhookEvent, error) {
	list, err := do[webhookEventList](ctx, c, call{method: http.MethodGet, path: "/v1/webhooks/events"})
	return list.Events, err
}

// Hook is a reference to a webhook. Its methods call the API.
type Hook struct {
	c    *Client
	path string
	err  error
}

// Hook returns a reference to the webhook with this id. It makes no request.
func (c *Client) Hook(id string) Hook {
	part, err := segment("webhook id", id)
	return Hook{c, "/v1/webhooks/" + part, err}
}

// BotHook returns a reference to the one webhook of a bot token. It makes no request.
func (c *Client) BotHook() Hook { return Hook{c: c, path: "/v1/telegram/webhook"} }

func of[T answer](ctx context.Context, h Hook, method, tail string, body any) (T, error) {
	if h.err != nil {
		var zero T
		return zero, h.err
	}
	return do[T](ctx, h.c, call{method: method, path: h.path + tail, body: body})
}

// Status is GET: the webhook with the health of its deliveries.
func (h Hook) Status(ctx context.Context) (WebhookStatus, error) {
	return of[WebhookStatus](ctx, h, http.MethodGet, "", nil)
}

// WebhookChange is a change to a webhook. Fields that are not set stay as they are.
type WebhookChange struct {
	URL    string   `json:"url,omitempty"`
	Events []string `json:"events,omitempty"`
	Active *bool    `json:"active,omitempty"`
}

// Change is PUT.
func (h Hook) Change(ctx context.Context, change WebhookChange) (Webhook, error) {
	return of[Webhook](ctx, h, http.MethodPut, "", change)
}

// Delete is DELETE. Deliveries that wait are deleted with the webhook. The result is empty if the first response was lost.
func (h Hook) Delete(ctx context.Context) (Webhook, error) {
	return of[Webhook](ctx, h, http.MethodDelete, "", nil)
}

// WebhookTest is the result of a test delivery.
type WebhookTest struct {
	DeliveryID string `json:"delivery_id"`
	Delivered  bool   `json:"delivered"`
	Status     int    `json:"status"` // 0: no response
	LatencyMS  int64  `json:"latency_ms"`
	Error      string `json:"error"`
}

func (t WebhookTest) complete() bool { return t.DeliveryID != "" }

// Test is POST …/test. It sends one webhook.test event immediately.
func (h Hook) Test(ctx context.Context) (WebhookTest, error) {
	return of[WebhookTest](ctx, h, http.MethodPost, "/test", nil)
}

// SecretRotation is how a secret is replaced. With the zero value deliveries are also signed with the old secret for a day.
type SecretRotation struct {
	EndNow bool
	Grace  time.Duration // whole seconds, a week at most; 0: a day
}

// WebhookSecret is the new secret of a webhook.
type WebhookSecret struct {
	WebhookID     string    `json:"webhook_id"`
	Secret        Secret    `json:"secret"`         // shown only once
	SecretShown   bool      `json:"secret_shown"`   // it was shown in a response that was lost
	PreviousUntil time.Time `json:"previous_until"` // until when deliveries are also signed with the previous secret
}

func (s WebhookSecret) complete() bool { return s.WebhookID != "" && (s.Secret != "" || s.SecretShown) }

// RotateSecret is POST …/secret/rotate. If it fails with [ErrSecretLost], call it again before the grace period of the
// secret that you know ends.
func (h Hook) RotateSecret(ctx context.Context, how SecretRotation) (WebhookSecret, error) {
	body := map[string]int64{}
	if how.EndNow || how.Grace != 0 {
		body["grace_seconds"] = int64(how.Grace / time.Second)
	}
	if how.EndNow {
		body["grace_seconds"] = 0
	}
	made, err := of[WebhookSecret](ctx, h, http.MethodPost, "/secret/rotate", body)
	if err == nil && made.Secret == "" {
		err = ErrSecretLost
	}
	return made, err
}

// Delivery is an event on its way to a webhook.
type Delivery struct {
	DeliveryID string    `json:"delivery_id"`
	EventID    string    `json:"event_id"` // the same in all attempts and resends
	Event      string    `json:"event"`
	State      string    `json:"state"` // "waiting", "delivered", "dead_lettered", "revoked", "superseded"
	CreatedAt  time.Time `json:"created_at"`
	NextAt     time.Time `json:"next_at"`  // the next attempt of a waiting delivery
	EndedAt    time.Time `json:"ended_at"` // zero while it waits
	Resend     bool      `json:"resend"`
	Attempts   int       `json:"attempts"`
	LastStatus int       `json:"last_status"`
	LastError  string    `json:"last_error"`
}

func (d Delivery) complete() bool { return d.DeliveryID != "" && d.State != "" }

// WholeDelivery is a delivery with its body and all attempts.
type WholeDelivery struct {
	Delivery
	Body      string    `json:"body"`       // exactly what is signed and sent; "" where BodyShown is false
	BodyShown bool      `json:"body_shown"` // whether the body may be shown and is still kept
	Attempted []Attempt `json:"attempted"`
}

// Attempt is one POST of a delivery.
type Attempt struct {
	At        time.Time `json:"at"`
	LatencyMS int64     `json:"latency_ms"`
	Status    int       `json:"status"` // 0: no response
	Error     string    `json:"error"`
	Answer    string    `json:"answer"` // the first KiB of the receiver's response
}

// DeliveryFilter selects deliveries. The zero value selects all.
type DeliveryFilter struct {
	State  string
	Event  string
	Since  time.Time
	Cursor string // the NextCursor of the previous page
	Limit  int    // entries per page, at most 100; 0 means 20
}

func (f DeliveryFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"state": f.State, "event": f.Event, "cursor": f.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if !f.Since.IsZero() {
		q.Set("since", f.Since.UTC().Format(time.RFC3339Nano))
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// DeliveryPage is one page of a list, newest first. It can have fewer items than requested, even none, and still have a next
// page.
type DeliveryPage struct {
	Deliveries []Delivery `json:"deliveries"`
	NextCursor string     `json:"next_cursor"` // "" on the last page
}

func (p DeliveryPage) complete() bool { return p.Deliveries != nil && all(p.Deliveries) }

// DeliveryPage is GET …/deliveries: one page.
func (h Hook) DeliveryPage(ctx context.Context, f DeliveryFilter) (DeliveryPage, error) {
	if h.err != nil {
		return DeliveryPage{}, h.err
	}
	return do[DeliveryPage](ctx, h.c, call{method: http.MethodGet, path: h.path + "/deliveries", query: f.query()})
}

// Deliveries iterates over the whole list, newest first, and requests each page when it is needed. An error ends it.
func (h Hook) Deliveries(ctx context.Context, f DeliveryFilter) iter.Seq2[Delivery, error] {
	return walk(f.Cursor, func(cursor string) ([]Delivery, string, error) {
		f := f
		f.Cursor = cursor
		page, err := h.DeliveryPage(ctx, f)
		return page.Deliveries, page.NextCursor, err
	})
}

// Delivery is GET …/deliveries/{delivery_id}.
func (h Hook) Delivery(ctx context.Context, id string) (WholeDelivery, error) {
	part, err := segment("delivery id", id)
	if err != nil {
		return WholeDelivery{}, err
	}
	return of[WholeDelivery](ctx, h, http.MethodGet, "/deliveries/"+part, nil)
}

// Resend is POST …/deliveries/{delivery_id}/resend: a new delivery of the same event.
func (h Hook) Resend(ctx context.Context, id string) (Delivery, error) {
	part, err := segment("delivery id", id)
	if err != nil {
		return Delivery{}, err
	}
	return of[Delivery](ctx, h, http.MethodPost, "/deliveries/"+part+"/resend", nil)
}

// Recovery is the progress of resending dead-lettered deliveries.
type Recovery struct {
	Recovered int       // deliveries that will be attempted again
	NextSince time.Time // the since of the next call; zero when everything was looked at
}

type recovery struct {
	Recovered *int      `json:"recovered"`
	NextSince time.Time `json:"next_since"`
}

func (r recovery) complete() bool { return r.Recovered != nil }

// Recover is POST …/recover. It resends dead-lettered deliveries that were created since a time, oldest first. Calling it twice
// resends nothing twice.
func (h Hook) Recover(ctx context.Context, since time.Time) (Recovery, error) {
	done, err := of[recovery](ctx, h, http.MethodPost, "/recover", map[string]string{"since": since.UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return Recovery{}, err
	}
	return Recovery{*done.Recovered, done.NextSince}, nil
}
