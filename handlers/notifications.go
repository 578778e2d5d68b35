package handlers

import (
	"context"
	"slices"
	"strings"

	"purser/store"
	"purser/wallet"
)

// Notifications are what people want to be told of in their chat.
type Notifications struct {
	Store store.Store
	Now   Clock
	Bot   BotName // whose links ask for consent
}

// NotificationNames lists what a person can be told of (DESIGN §6, Notifications PUT).
func NotificationNames() []string {
	return []string{
		"transaction.pending", "transaction.confirmed", "transaction.failed", "transaction.received", "transaction.large",
		"balance.updated", "wallet.connected", "wallet.disconnected",
		"price.alert", "price.significant_change", "price.change", "portfolio.summary", "market.news",
		"stake.delegated", "stake.reward", "stake.undelegated", "stake.status", "stake.cooldown", "validator.performance",
	}
}

// Wildcards lists the names that stand for several.
func Wildcards() []string { return []string{"*", "price.*", "stake.*", "transaction.*"} }

// all is what a person is told who never said anything else.
func all(who wallet.User) wallet.Notifications {
	return wallet.Notifications{Enabled: true, Events: []string{"*"}, UpdatedAt: who.RegisteredAt}
}

// Of is what a person wants to be told of.
func (n *Notifications) Of(ctx context.Context, who Caller, person wallet.UserID) (wallet.Notifications, error) {
	user, err := read(ctx, n.Store, func(tx store.Tx) (wallet.User, error) {
		if err := consented(tx, n.Bot, who, person, wallet.BotUsers); err != nil {
			return wallet.User{}, err
		}
		user, err := tx.User(person)
		return user, found(err, wallet.UserNotFound, "this person is not known here any more")
	})
	if err != nil || user.Notifications == nil {
		return all(user), err
	}
	return *user.Notifications, nil
}

// Set changes what a person is told of: names, or wildcards; a name that nobody knows is
// INVALID_REQUEST, and told. An empty list is none at all.
func (n *Notifications) Set(tx store.Tx, who Caller, person wallet.UserID, enabled bool, events []string) (wallet.Notifications, error) {
	if err := consented(tx, n.Bot, who, person, wallet.BotUsers); err != nil {
		return wallet.Notifications{}, err
	}
	known := append(NotificationNames(), Wildcards()...)
	for _, name := range events {
		if !slices.Contains(known, name) {
			return wallet.Notifications{}, wallet.Refuse(wallet.InvalidRequest, "events: a name in it is none; the names are %s", strings.Join(known, ", "))
		}
	}
	user, err := tx.User(person)
	if err != nil {
		return wallet.Notifications{}, found(err, wallet.UserNotFound, "this person is not known here any more")
	}
	events = slices.Clone(events)
	slices.Sort(events)
	set := wallet.Notifications{Enabled: enabled, Events: append([]string{}, slices.Compact(events)...), UpdatedAt: n.Now().UTC()}
	user.Notifications = &set
	return set, tx.PutUser(user)
}
