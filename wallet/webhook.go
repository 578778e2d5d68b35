package wallet

import (
	"slices"
	"strings"
	"time"
)

// WebhookID names a registered receiver of events: "wh_…" of a platform key, "bwh_…" of a bot token.
type WebhookID string

// Webhook is a receiver of events (docs/webhooks.md, Registering): one of a platform key's, or the
// one of a bot token. The store seals URL, Secret and Previous.
type Webhook struct {
	ID      WebhookID `json:"id"`
	Kind    KeyKind   `json:"kind"`    // APIKey: platform events; BotKey: bot events
	Lineage string    `json:"lineage"` // of the key that registered it (Key.Lineage): whose events it gets follows from that key
	Owner   UserID    `json:"owner"`
	URL     string    `json:"url"`
	Events  []string  `json:"events"` // names and wildcards, sorted
	Active  bool      `json:"active"`

	Secret        string    `json:"secret"`         // its literal bytes key x-service-signature
	Previous      string    `json:"previous"`       // the secret before the last rotation; "" for none
	PreviousUntil time.Time `json:"previous_until"` // until when deliveries carry its signature too

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Ended     Ending    `json:"ended"` // why purser turned it off; "" when it did not

	// Listener marks one whose receiver is a connection to purser (purser listen), not a URL: it lasts as
	// long as that.
	Listener bool `json:"listener,omitzero"`
	// Node is the node that holds the connection of a listener, "" of any other: the row goes with it.
	Node string `json:"node,omitzero"`
}

// EventsOf lists the events that webhooks of a kind can ask for (docs/specification.md, Events).
func EventsOf(kind KeyKind) []EventName {
	if kind == BotKey {
		return []EventName{MessageReceived, CommandExecuted, UserRegistered, WalletConnected}
	}
	return []EventName{TransactionPending, TransactionConfirmed, TransactionFailed, TransactionReceived, BalanceUpdated,
		WalletConnected, WalletDisconnected, PriceAlert, PriceSignificantChange, StakeDelegated, StakeReward, StakeUndelegated}
}

// SubscriptionsOf lists what the events of a webhook may hold: names, families ("transaction.*") and "*".
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

// Ending is why purser turned a webhook off.
type Ending string

// The endings.
const (
	EndedGone    Ending = "gone"    // its receiver answered 410
	EndedFailing Ending = "failing" // nothing but failures for days
	EndedTier    Ending = "tier"    // its key has not the tier pro any more; it goes on when the key has
)

// Takes tells whether the webhook asks for an event: by its name, its family ("transaction.*") or "*".
func (w Webhook) Takes(name EventName) bool {
	family, _, _ := strings.Cut(string(name), ".")
	return slices.ContainsFunc(w.Events, func(e string) bool { return e == string(name) || e == family+".*" || e == "*" })
}

// WebhookHealth is how a webhook's deliveries fare. It is kept apart from the webhook, since every
// delivery changes it.
type WebhookHealth struct {
	LastTriggered time.Time `json:"last_triggered"`       // the last attempt; zero: never
	LastSuccess   time.Time `json:"last_success"`         // zero: never
	FailingSince  time.Time `json:"failing_since"`        // the first failure after the last success; zero: not failing
	Failures      int       `json:"failures"`             // attempts that failed since then
	LastStatus    int       `json:"last_status"`          // of the last answer; 0 when there was none
	LastReason    Reason    `json:"last_reason,omitzero"` // why the last attempt failed; zero after a success
	ToldAt        time.Time `json:"told_at,omitzero"`     // when its owner was last told that it fails; zero: never
}
