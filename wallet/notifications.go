package wallet

import (
	"slices"
	"strings"
	"time"
)

// Notifications are what a person wants to be told of. Events are names or wildcards.
type Notifications struct {
	Enabled   bool      `json:"enabled"`
	Events    []string  `json:"events"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Wants tells whether a person is to be told of an event: by default of all.
func (u User) Wants(name string) bool {
	if u.Notifications == nil {
		return true
	}
	family, _, _ := strings.Cut(name, ".")
	return u.Notifications.Enabled && slices.ContainsFunc(u.Notifications.Events, func(e string) bool {
		return e == name || e == "*" || e == family+".*"
	})
}

// NotificationNames lists what a person can be told of, and the wildcards (DESIGN §6, Notifications PUT).
func NotificationNames() []string {
	return []string{
		"transaction.pending", "transaction.confirmed", "transaction.failed", "transaction.received", "transaction.large",
		"balance.updated", "wallet.connected", "wallet.disconnected",
		"price.alert", "price.significant_change", "price.change", "portfolio.summary", "market.news",
		"stake.delegated", "stake.reward", "stake.undelegated", "stake.status", "stake.cooldown", "validator.performance",
		"*", "price.*", "stake.*", "transaction.*",
	}
}
