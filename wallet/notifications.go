package wallet

import (
	"slices"
	"strings"
	"time"
)

// Notifications is a setting: which messages a person gets in their chat (Categories), or which events about a person an app gets
// (Grant.Events, AppEventNames). Events are names or wildcards.
type Notifications struct {
	Enabled   bool      `json:"enabled"`
	Events    []string  `json:"events"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Category is what a message in the chat is about, as far as people can turn it off. Most categories have the name of an event.
type Category string

// The categories.
const (
	CategoryReceived  Category = "transaction.received"
	CategoryConfirmed Category = "transaction.confirmed" // of the person's own payments
	CategoryFailed    Category = "transaction.failed"
	CategoryLarge     Category = "transaction.large" // above Settings.Large, whatever else is turned off

	CategoryAlert Category = "price.alert"              // alerts on a price
	CategoryMove  Category = "price.significant_change" // alerts on a change

	CategoryReward   Category = "stake.reward"
	CategoryStatus   Category = "stake.status"   // stakes that begin to earn
	CategoryCooldown Category = "stake.cooldown" // stakes that can be withdrawn

	CategoryValidator Category = "stake.validator" // trouble with validators that the person stakes with

	CategorySummary Category = "portfolio.summary" // what everything is worth, each day or week (SummaryPlan)
	CategoryNews    Category = "market.news"       // headlines of the operator's feeds
)

// Categories lists all of them, in the order in which people read them.
func Categories() []Category {
	return []Category{CategoryReceived, CategoryConfirmed, CategoryFailed, CategoryLarge, CategoryAlert, CategoryMove, CategoryReward, CategoryStatus, CategoryCooldown, CategoryValidator, CategorySummary, CategoryNews}
}

// DefaultCategories are the categories of somebody who chose nothing: all but what they know already, since they sign their payments
// themselves and see the message about each change, and what nobody gets who did not ask for it.
func DefaultCategories() []Category {
	return slices.DeleteFunc(Categories(), func(t Category) bool {
		return t == CategoryConfirmed || t == CategorySummary || t == CategoryNews
	})
}

// Wants reports whether a person gets messages about a category. Those about anything else cannot be turned off.
func (u User) Wants(category Category) bool {
	switch {
	case !slices.Contains(Categories(), category): // nothing names it, so nothing turns it off
		return true
	case u.Notifications == nil:
		return slices.Contains(DefaultCategories(), category)
	}
	return u.Notifications.Enabled && u.Notifications.names(string(category))
}

// CategoryNames lists what the person's own setting can name: the categories and wildcards over them (docs/specification.md, Messages
// and commands).
func CategoryNames() []string {
	var out []string
	for _, category := range Categories() {
		out = append(out, string(category))
	}
	return append(out, "*", "price.*", "stake.*", "transaction.*")
}

// Wants reports whether an app gets an event about a person. Without a setting it does. Events that a setting cannot name, such
// as message.received, are always included.
func (n *Notifications) Wants(name EventName) bool {
	if n == nil || !slices.Contains(AppEventNames(), string(name)) {
		return true
	}
	return n.Enabled && n.names(string(name))
}

// AppEventNames lists what an app's setting can name: the public events about a person, and wildcards over them
// (docs/specification.md, Messages and commands).
func AppEventNames() []string {
	return []string{
		string(TransactionPending), string(TransactionConfirmed), string(TransactionFailed), string(TransactionReceived),
		string(BalanceUpdated), string(WalletConnected), string(WalletDisconnected),
		string(PriceAlert), string(PriceSignificantChange), string(StakeDelegated), string(StakeReward), string(StakeUndelegated),
		"*", "price.*", "stake.*", "transaction.*", "wallet.*",
	}
}

// names reports whether the list has a name, or a wildcard that covers it.
func (n *Notifications) names(name string) bool {
	family, _, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(n.Events, func(e string) bool { return e == name || e == "*" || e == family+".*" })
}
