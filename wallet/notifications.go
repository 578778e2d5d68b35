package wallet

import (
	"slices"
	"strings"
	"time"
)

// Notifications are what a person wants to be told of in their chat, or what an app wants to be told of
// about a person (Grant.Wish). Events are names or wildcards.
type Notifications struct {
	Enabled   bool      `json:"enabled"`
	Events    []string  `json:"events"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Wants reports whether a person gets a message about an event. By default they get all.
func (u User) Wants(name string) bool { return u.Notifications.Wants(name) }

// Wants tells whether an event is wanted. Without settings all are, and an event that settings cannot name
// (message.received, say) is not theirs to refuse.
func (n *Notifications) Wants(name string) bool {
	if n == nil || !slices.Contains(NotificationNames(), name) {
		return true
	}
	family, _, _ := strings.Cut(name, ".")
	return n.Enabled && slices.ContainsFunc(n.Events, func(e string) bool {
		return e == name || e == "*" || e == family+".*"
	})
}

// NotificationNames lists what a person can be told of, and the wildcards (docs/specification.md, Messages and
// commands).
func NotificationNames() []string {
	return []string{
		"transaction.pending", "transaction.confirmed", "transaction.failed", "transaction.received", "transaction.large",
		"balance.updated", "wallet.connected", "wallet.disconnected",
		"price.alert", "price.significant_change", "price.change", "portfolio.summary", "market.news",
		"stake.delegated", "stake.reward", "stake.undelegated", "stake.status", "stake.cooldown", "validator.performance",
		"*", "price.*", "stake.*", "transaction.*",
	}
}
