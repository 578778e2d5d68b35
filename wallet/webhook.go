package wallet

import (
	"slices"
	"strings"
	"time"
)

// WebhookID identifies a webhook: "wh_..." of an API key, "bwh_..." of a bot token.
type WebhookID string

// Webhook is a registered receiver of events (docs/webhooks.md, Registering). An API key can have several, a bot token
// one. The store seals URL, Secret and Previous.
type Webhook struct {
	ID      WebhookID `json:"id"`
	Kind    KeyKind   `json:"kind"`    // APIKey: platform events; BotKey: bot events
	Lineage string    `json:"lineage"` // of the key that registered it (Key.Lineage); decides which events it may get
	Owner   UserID    `json:"owner"`
	URL     string    `json:"url"`
	Events  []string  `json:"events"` // names and wildcards, sorted
	Active  bool      `json:"active"`

	Secret        string    `json:"secret"`         // its bytes as written are the key of x-service-signature
	Previous      string    `json:"previous"`       // the secret before the last rotation; "" for none
	PreviousUntil time.Time `json:"previous_until"` // deliveries are signed with Previous too until then

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Ended     Ending    `json:"ended"` // why purser turned it off; "" if it did not

	// Listener marks a webhook whose receiver is an open connection (purser listen) and not a URL. It exists as long as
	// that connection.
	Listener bool `json:"listener,omitzero"`
	// Node is the node that holds a listener's connection; "" for other webhooks. The row is deleted when that node is
	// gone.
	Node string `json:"node,omitzero"`
}

// EventsOf lists the events that webhooks of a kind of key can subscribe to (docs/specification.md, Events).
func EventsOf(kind KeyKind) []EventName {
	if kind == BotKey {
		return []EventName{MessageReceived, CommandExecuted, UserRegistered, WalletConnected}
	}
	return []EventName{TransactionPending, TransactionConfirmed, TransactionFailed, TransactionReceived, BalanceUpdated,
		WalletConnected, WalletDisconnected, PriceAlert, PriceSignificantChange, StakeDelegated, StakeReward, StakeUndelegated}
}

// SubscriptionsOf lists the valid entries of Webhook.Events: names, families ("transaction.*") and "*".
func SubscriptionsOf(kind KeyKind) []string {
	var names, families []string
	for _, name := range EventsOf(kind) {
		family, _, _ := strings.Cut(string(name), ".")
		names = append(names, string(name))
		if family += ".*"; !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	return append(append(names, families...), "*")
}

// Ending is the reason why purser turned a webhook off.
type Ending string

// The reasons.
const (
	EndedGone    Ending = "gone"    // its receiver returned 410 Gone
	EndedFailing Ending = "failing" // all attempts failed for days
	EndedBacklog Ending = "backlog" // it took events more slowly than they came, and the oldest waited for days
	EndedTier    Ending = "tier"    // its key left the pro tier; it is turned on again with the tier
)

// Takes reports whether the webhook subscribes to an event by name, by family ("transaction.*") or by "*".
func (w Webhook) Takes(name EventName) bool {
	family, _, _ := strings.Cut(string(name), ".")
	return slices.ContainsFunc(w.Events, func(e string) bool { return e == string(name) || e == family+".*" || e == "*" })
}

// WebhookHealth summarizes the deliveries of a webhook. It is a row of its own, because every delivery changes it.
type WebhookHealth struct {
	LastTriggered   time.Time `json:"last_triggered"`             // the last attempt; zero: never
	LastSuccess     time.Time `json:"last_success"`               // zero: never
	FailingSince    time.Time `json:"failing_since"`              // the first failure after the last success; zero: not failing
	Failures        int       `json:"failures"`                   // failed attempts since then
	LastStatus      int       `json:"last_status"`                // HTTP status of the last response; 0 without one
	LastReason      Reason    `json:"last_reason,omitzero"`       // why the last attempt failed; zero after a success
	OwnerNotifiedAt time.Time `json:"owner_notified_at,omitzero"` // when its owner was last notified that it fails; zero: never
}
