package store

import (
	"context"
	"slices"
	"time"

	"purser/wallet"
)

// Webhooks are receivers of events, and what waits to be delivered to them.
type Webhooks interface {
	Webhook(wallet.WebhookID) (wallet.Webhook, error)
	// WebhooksOf lists those of a line of keys, oldest first.
	WebhooksOf(line string) ([]wallet.Webhook, error)
	// WebhooksOfOwner lists those of all keys of a person ("": of the operator's keys), oldest first.
	WebhooksOfOwner(owner wallet.UserID) ([]wallet.Webhook, error)
	// AllWebhooks lists every webhook, by id: whom something public concerns.
	AllWebhooks() ([]wallet.Webhook, error)
	// PutWebhook creates or replaces; one of another line or owner is ErrConflict. The id of one that was
	// deleted is never used again.
	PutWebhook(wallet.Webhook) error
	// DeleteWebhook forgets it, its health, and what waits for it; ErrNotFound without one. A long
	// line of deliveries is removed by Sweep, and never listed meanwhile.
	DeleteWebhook(wallet.WebhookID) error

	// WebhookHealth is the zero value where nothing was ever delivered.
	WebhookHealth(wallet.WebhookID) (wallet.WebhookHealth, error)
	// PutWebhookHealth replaces; ErrNotFound when there is no such webhook.
	PutWebhookHealth(wallet.WebhookID, wallet.WebhookHealth) error

	// Announcements lists events that were not yet turned into deliveries, in the order in which they
	// were emitted. It passes over damaged rows.
	Announcements(limit int) ([]OutboxEvent, error)
	// DoneAnnouncements removes them; one that is gone is no error.
	DoneAnnouncements(numbers []uint64) error

	// RestoreDeliveryJobs puts the jobs of Relay and Deliveries that are missing although something waits: a damaged job
	// must not end deliveries for good.
	RestoreDeliveryJobs(now time.Time) error

	// PutDeliveries adds deliveries, with a job of the queue Deliveries for each webhook that has none: it may be claimed at
	// once, and one in flight stays as it is, since its end looks for what was put meanwhile. PutDeliveries returns those that were new, in their order, with Seq set and what they wait
	// behind. One whose id waits already is passed over, and so is one for a webhook that is gone or about a person
	// who was erased.
	PutDeliveries([]Delivery) ([]PlacedDelivery, error)
	// DeliveriesOf lists a webhook's of one urgency that wait, in the order in which they were put, from
	// behind a position on (Seq 0: from the first), with bodies. It costs what it lists. It passes over
	// damaged rows.
	DeliveriesOf(id wallet.WebhookID, after Position, limit int) ([]Delivery, error)
	// Delivery that waits, by its id; ErrNotFound when none does. One that is damaged is not there.
	Delivery(id string) (Delivery, error)
	// WaitingWebhooks lists the webhooks that something waits for.
	WaitingWebhooks() ([]wallet.WebhookID, error)
	// Waiting counts what waits for a webhook, up to a limit. It and WaitingWebhooks may count what
	// DeliveriesOf passes over.
	Waiting(id wallet.WebhookID, limit int) (int, error)
	// Reschedule writes Attempts, NextAt and Pause of deliveries, as they were listed otherwise, that still wait;
	// one that is gone is no error.
	Reschedule([]Delivery) error
	// DoneDeliveries removes deliveries, as they were listed; one that is gone is no error.
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
	Money  Urgency = iota // transactions, wallets, stakes, and what a person asked for by hand
	Normal                // balances, messages and commands
	Prices                // what is out of date by tomorrow
)

// Position orders the deliveries of one webhook.
type Position struct {
	Urgency Urgency
	Seq     uint64
}

// Delivery is one event on its way to one webhook. Body is exactly what every attempt sends; it and
// OrderingKey are sealed for User.
type Delivery struct {
	ID          string           `json:"id"` // "dlv_…"
	Webhook     wallet.WebhookID `json:"webhook"`
	EventID     string           `json:"event_id"` // sent as webhook-id
	Event       wallet.EventName `json:"event"`
	User        wallet.UserID    `json:"user,omitzero"`         // whom the event concerns; "" for nobody
	OrderingKey string           `json:"ordering_key,omitzero"` // one is in flight at a time for each of a webhook and urgency; "" is one too
	Urgency     Urgency          `json:"urgency"`
	Body        []byte           `json:"body,omitempty"`
	CreatedAt   time.Time        `json:"created_at"`
	Attempts    int              `json:"attempts,omitzero"` // made so far
	NextAt      time.Time        `json:"next_at"`           // not before; of one that was not attempted yet, when it was put
	Pause       time.Duration    `json:"pause,omitzero"`    // from the last attempt to NextAt: a wait is no longer, however the clock was set since
	Resend      bool             `json:"resend"`            // asked for by hand, of an event that was delivered or given up before
	Seq         uint64           `json:"seq"`               // set by the store
}

// Position of the delivery among those of its webhook.
func (d Delivery) Position() Position { return Position{d.Urgency, d.Seq} }

// PlacedDelivery is a delivery that was just put.
type PlacedDelivery struct {
	Delivery
	Behind uint64 // the Seq of the one that waits and was put last before it, of the same webhook and urgency; 0 for none
}

// DeliveryState is how far a delivery has come.
type DeliveryState string

// The states.
const (
	DeliveryWaiting      DeliveryState = "waiting"       // for its first attempt, or for the next one
	DeliveryDelivered    DeliveryState = "delivered"     // answered 2xx
	DeliveryDeadLettered DeliveryState = "dead_lettered" // given up; it can be sent again
	DeliveryRevoked      DeliveryState = "revoked"       // what allowed it was taken back before it was delivered
	DeliverySuperseded   DeliveryState = "superseded"    // a newer one of the same subject took its place
)

// Known tells whether there is such a state.
func (s DeliveryState) Known() bool { return slices.Contains(DeliveryStates(), s) }

// DeliveryStates lists the states.
func DeliveryStates() []DeliveryState {
	return []DeliveryState{DeliveryWaiting, DeliveryDelivered, DeliveryDeadLettered, DeliveryRevoked, DeliverySuperseded}
}

// Attempt is one POST of a delivery.
type Attempt struct {
	At      time.Time     `json:"at"`
	Latency time.Duration `json:"latency"`
	Status  int           `json:"status"`           // HTTP; 0 without an answer
	Reason  wallet.Reason `json:"reason,omitzero"`  // why it failed, for a developer; zero when it did not
	Answer  []byte        `json:"answer,omitempty"` // the first KiB of the answer's body, as it came
}

// Succeeded tells whether the receiver took the event.
func (a Attempt) Succeeded() bool { return a.Status/100 == 2 }

// LogEntry is a delivery with all that was attempted.
type LogEntry struct {
	Delivery
	State     DeliveryState `json:"state"`
	EndedAt   time.Time     `json:"ended_at,omitzero"` // zero while it waits
	Attempted []Attempt     `json:"attempted"`
}

// LogPage is a part of a webhook's log, newest first (by CreatedAt, then id). The zero LogPage holds
// nothing: Limit must be set.
type LogPage struct {
	After string           // id of the last one of the page before; "" from the newest; ErrNotFound when it is none of the log
	State DeliveryState    // "" for all
	Event wallet.EventName // "" for all
	Since time.Time        // created at or after it; zero: no such bound
	Limit int
}

// Tally counts what became of a webhook's attempts in one hour.
type Tally struct {
	Hour         time.Time `json:"hour"` // its beginning
	Succeeded    int       `json:"succeeded"`
	Failed       int       `json:"failed"`        // attempts
	DeadLettered int       `json:"dead_lettered"` // deliveries
}

// DeliveryLog is what was delivered, kept for a while beside the store: it is large, it is dropped by
// whole days, and nothing about money rests on it. Bodies, lines, answers and errors are sealed for the
// user whom the event concerns; entries of an erased one are passed over, and so are damaged ones, of
// which the operator is told. All verbs are durable when they return, and safe for use by several
// goroutines. An id belongs to one webhook, and keeps its CreatedAt.
type DeliveryLog interface {
	// Log creates or replaces entries by their ids (an entry belongs to the day of its CreatedAt, UTC),
	// and counts what is new in them into the tallies: attempts at other times than those of the entry
	// that is replaced, and that it was given up.
	Log(ctx context.Context, entries []LogEntry) error
	// Logged is one entry of a webhook; ErrNotFound. One that is damaged is not there: whose it was cannot be read.
	Logged(ctx context.Context, id wallet.WebhookID, delivery string) (LogEntry, error)
	// List is a page of a webhook's entries; bodies, lines and answers are left out. It costs what it
	// looks at.
	List(ctx context.Context, id wallet.WebhookID, p LogPage) ([]LogEntry, error)
	// Oldest lists entries of one state ("" for all), oldest first, created at or after a time and behind
	// an id ("" from the first; ErrNotFound when it is none of the log), with bodies: what a recovery walks.
	Oldest(ctx context.Context, id wallet.WebhookID, state DeliveryState, since time.Time, after string, limit int) ([]LogEntry, error)
	// Tallies lists the hours of a webhook from a time on, oldest first; an hour without attempts is absent.
	Tallies(ctx context.Context, id wallet.WebhookID, since time.Time) ([]Tally, error)
	// DropBefore removes the days that ended before a time, and tells how many.
	DropBefore(ctx context.Context, before time.Time) (int, error)
	Close() error
}
