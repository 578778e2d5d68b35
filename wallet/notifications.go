package wallet

import (
	"slices"
	"strings"
	"time"
)

// Notifications is a setting: which events a person gets in their chat, or which events about a person an app gets
// (Grant.Events). Events are names or wildcards.
type Notifications struct {
	Enabled   bool      `json:"enabled"`
	Events    []string  `json:"events"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Wants reports whether a person gets a message about an event. The default is every event.
func (u User) Wants(name string) bool { return u.Notifications.Wants(name) }

// Wants reports whether the setting includes an event. Without a setting it does. Events that a setting cannot name, such
// as message.received, are always included.
func (n *Notifications) Wants(name string) bool {
	if n == nil || !slices.Contains(NotificationNames(), name) {
		return true
	}
	family, _, _ := strings.Cut(name, ".")
	return n.Enabled && slices.ContainsFunc(n.Events, func(e string) bool {
		return e == name || e == "*" || e == family+".*"
	})
}

// NotificationNames lists the events and wildcards that a setting can name (docs/specification.md, Messages and
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
