package store

import (
	"context"
	"slices"
	"time"

	"purser/wallet"
)

// Webhooks are the registered endpoints of developers, and the deliveries that wait for them.
type Webhooks interface {
	Webhook(wallet.WebhookID) (wallet.Webhook, error)
	// WebhooksOf lists the webhooks of a lineage of keys, oldest first.
	WebhooksOf(line string) ([]wallet.Webhook, error)
	// WebhooksOfOwner lists the webhooks of all keys of a person ("": of the operator), oldest first.
	WebhooksOfOwner(owner wallet.UserID) ([]wallet.Webhook, error)
	// AllWebhooks lists every webhook, by id: for events that concern everybody.
	AllWebhooks() ([]wallet.Webhook, error)
	// PutWebhook creates or replaces a webhook. One of another lineage or owner is ErrConflict. The id of a deleted
	// webhook is never used again.
	PutWebhook(wallet.Webhook) error
	// DeleteWebhook removes a webhook, its health, and what waits for it; ErrNotFound without one. A long list of
	// deliveries is removed by Sweep, and is not listed meanwhile.
	DeleteWebhook(wallet.WebhookID) error

	// WebhookHealth is the zero value if nothing was ever delivered.
	WebhookHealth(wallet.WebhookID) (wallet.WebhookHealth, error)
	// PutWebhookHealth replaces it; ErrNotFound without the webhook.
	PutWebhookHealth(wallet.WebhookID, wallet.WebhookHealth) error

	// OutboxEvents lists events that were not yet turned into deliveries, in the order in which they were emitted.
	// Damaged rows are passed over.
	OutboxEvents(limit int) ([]OutboxEvent, error)
	// DoneOutboxEvents removes outbox events by number; one that is gone is no error.
	DoneOutboxEvents(numbers []uint64) error

	// RestoreDeliveryJobs puts the jobs of Relay and Deliveries that are missing although something waits. A damaged
	// job must not end deliveries for good.
	RestoreDeliveryJobs(now time.Time) error

	// PutDeliveries adds deliveries, and a job of the queue Deliveries for each of their webhooks that has none that
	// may be claimed at once. A job in flight stays as it is, since its end looks for deliveries put meanwhile. The
	// result lists those that are new, in order, with Seq and what they wait behind. A delivery is passed over if its
	// id waits already, its webhook is gone, or its person was erased.
	PutDeliveries([]Delivery) ([]PlacedDelivery, error)
	// DeliveriesOf lists the waiting deliveries of a webhook and urgency with their bodies, in the order in which they
	// were put, behind a position (Seq 0: from the first). Its cost is that of the result. Damaged rows are passed
	// over.
	DeliveriesOf(id wallet.WebhookID, after Position, limit int) ([]Delivery, error)
	// Delivery returns a waiting delivery by its id; ErrNotFound without one, and for a damaged one.
	Delivery(id string) (Delivery, error)
	// WaitingWebhooks lists the webhooks that have deliveries waiting.
	WaitingWebhooks() ([]wallet.WebhookID, error)
	// Waiting counts the deliveries that wait for a webhook, up to a limit. It and WaitingWebhooks may count damaged
	// ones.
	Waiting(id wallet.WebhookID, limit int) (int, error)
	// Reschedule writes Attempts, NextAt, Pause and Counted of deliveries that still wait where they were listed; one that is
	// gone is no error.
	Reschedule([]Delivery) error
	// DoneDeliveries removes deliveries where they were listed; one that is gone is no error.
	DoneDeliveries([]Delivery) error
}

// OutboxEvent is an event that waits to be turned into deliveries.
type OutboxEvent struct {
	Number uint64 // its place in the order of emission, set by the store
	Event  wallet.Event
}

// Urgency says which deliveries of a webhook go first when it cannot take all at once.
type Urgency uint8

// The urgencies, most urgent first.
const (
	Money  Urgency = iota // transactions, wallets, stakes, and what a person asked for themselves
	Normal                // balances, messages and commands
	Prices                // outdated by tomorrow
)

// Position orders the deliveries of one webhook.
type Position struct {
	Urgency Urgency
	Seq     uint64
}

// Delivery is one event on its way to one webhook. Body holds the exact bytes of every attempt. Body and OrderingKey
// are sealed for User.
type Delivery struct {
	ID          string           `json:"id"` // "dlv_…"
	Webhook     wallet.WebhookID `json:"webhook"`
	EventID     string           `json:"event_id"` // sent as webhook-id
	Event       wallet.EventName `json:"event"`
	User        wallet.UserID    `json:"user,omitzero"`         // the person that the event is about; "" for nobody
	OrderingKey string           `json:"ordering_key,omitzero"` // one is in flight at a time for each key; "" counts as a key
	Urgency     Urgency          `json:"urgency"`
	Body        []byte           `json:"body,omitempty"`
	CreatedAt   time.Time        `json:"created_at"`
	Attempts    int              `json:"attempts,omitzero"` // made so far
	NextAt      time.Time        `json:"next_at"`           // not before; before the first attempt, when it was put
	Pause       time.Duration    `json:"pause,omitzero"`    // from the last attempt to NextAt: bounds the wait if a clock is set back
	Counted     bool             `json:"counted,omitzero"`  // the hourly limit has counted it, and its first attempt was interrupted
	Resend      bool             `json:"resend"`            // a person asked to send an ended delivery again
	Seq         uint64           `json:"seq"`               // set by the store
}

// Position is the place of the delivery among those of its webhook.
func (d Delivery) Position() Position { return Position{d.Urgency, d.Seq} }

// PlacedDelivery is a delivery that was just put.
type PlacedDelivery struct {
	Delivery
	Behind uint64 // Seq of the one put last before it for the same webhook and urgency that still waits; 0: none
}

// DeliveryState is how far a delivery has come.
type DeliveryState string

// The states.
const (
	DeliveryWaiting      DeliveryState = "waiting"       // for its first attempt, or for the next one
	DeliveryDelivered    DeliveryState = "delivered"     // the receiver answered 2xx
	DeliveryDeadLettered DeliveryState = "dead_lettered" // given up; it can be resent
	DeliveryRevoked      DeliveryState = "revoked"       // what allowed it was revoked before it was delivered
	DeliverySuperseded   DeliveryState = "superseded"    // a newer one of the same subject replaced it
)

// Known tells whether there is such a state.
func (s DeliveryState) Known() bool { return slices.Contains(DeliveryStates(), s) }

// DeliveryStates lists the states.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{DeliveryWaiting, DeliveryDelivered, DeliveryDeadLettered, DeliveryRevoked, DeliverySuperseded}
}

// Attempt is one POST of a delivery, as the log keeps it.
type Attempt struct {
	At           time.Time     `json:"at"`
	Latency      time.Duration `json:"latency"`
	Status       int           `json:"status"`           // HTTP; 0 without an answer
	Reason       wallet.Reason `json:"reason,omitzero"`  // why it failed, for the developer; zero if it did not
	ResponseBody []byte        `json:"answer,omitempty"` // the first KiB of the response body, unchanged
}

// Succeeded tells whether the receiver accepted the event: any status 2xx.
func (a Attempt) Succeeded() bool { return a.Status/100 == 2 }

// LogEntry is a delivery with all attempts at it.
type LogEntry struct {
	Delivery
	State     DeliveryState `json:"state"`
	EndedAt   time.Time     `json:"ended_at,omitzero"` // zero while it waits
	Attempted []Attempt     `json:"attempted"`
}

// LogPage selects a part of a webhook's log, newest first (by CreatedAt, then id). Limit must be set: the zero LogPage
// selects nothing.
type LogPage struct {
	After string           // id of the last one of the page before; "": from the newest; ErrNotFound if it is not in the log
	State DeliveryState    // "" for all
	Event wallet.EventName // "" for all
	Since time.Time        // created at or after it; zero: no such bound
	Limit int
}

// AttemptCounts counts the results of a webhook's attempts in one hour.
type AttemptCounts struct {
	Hour         time.Time `json:"hour"` // its beginning
	Succeeded    int       `json:"succeeded"`
	Failed       int       `json:"failed"`        // attempts
	DeadLettered int       `json:"dead_lettered"` // deliveries
}

// DeliveryLog is what was delivered. It is kept for some days beside the store: it is large, it is dropped by whole
// days, and nothing about money depends on it. Bodies, ordering keys, answers and reasons are sealed for the user that
// the event is about. Entries of an erased user are passed over, and so are damaged ones, which are reported to the
// operator. Every verb is durable when it returns, and safe for several goroutines. An id belongs to one webhook, and
// keeps its CreatedAt.
type DeliveryLog interface {
	// Log creates or replaces entries by their ids. An entry belongs to the day of its CreatedAt, in UTC. Log adds to
	// the hourly counts what is new compared with the entry that is replaced: attempts at other times, and that it was given
	// up.
	Log(ctx context.Context, entries []LogEntry) error
	// Logged returns one entry of a webhook; ErrNotFound without it, and for a damaged one, whose webhook cannot be
	// read.
	Logged(ctx context.Context, id wallet.WebhookID, delivery string) (LogEntry, error)
	// List returns a page of a webhook's entries without bodies, ordering keys and answers. Its cost is that of the
	// entries it looks at.
	List(ctx context.Context, id wallet.WebhookID, p LogPage) ([]LogEntry, error)
	// Oldest lists entries of one state ("": all) with bodies, oldest first, created at or after a time and behind an
	// id ("": from the first; ErrNotFound if it is not in the log). A recovery walks them.
	Oldest(ctx context.Context, id wallet.WebhookID, state DeliveryState, since time.Time, after string, limit int) ([]LogEntry, error)
	// AttemptsByHour lists the hours of a webhook from a time on, oldest first. An hour without attempts is absent.
	AttemptsByHour(ctx context.Context, id wallet.WebhookID, since time.Time) ([]AttemptCounts, error)
	// DropBefore removes the days that ended before a time, and returns how many.
	DropBefore(ctx context.Context, before time.Time) (int, error)
	Close() error
}
