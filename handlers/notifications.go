package handlers

import (
	"context"
	"errors"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Notifications reads and changes which events people get as messages in their chat.
type Notifications struct {
	Store store.Store
	Now   Clock
	NewID IDs
}

// all is the setting of a person who never changed it.
func all(who wallet.User) wallet.Notifications {
	return wallet.Notifications{Enabled: true, Events: []string{"*"}, UpdatedAt: who.RegisteredAt}
}

// Of returns the caller's settings.
func (n *Notifications) Of(ctx context.Context, who Caller) (wallet.Notifications, error) {
	user, err := read(ctx, n.Store, func(tx store.Tx) (wallet.User, error) {
		user, err := tx.User(who.User)
		return user, found(err, wallet.UserNotFound, "person.gone")
	})
	if err != nil || user.Notifications == nil {
		return all(user), err
	}
	return *user.Notifications, nil
}

// Set changes what the caller is told of in their chat: names, or wildcards; a name that nobody knows is
// INVALID_REQUEST. An empty list is none at all.
func (n *Notifications) Set(tx store.Tx, who Caller, enabled bool, events []string) (wallet.Notifications, error) {
	set, err := n.settings(enabled, events)
	if err != nil {
		return set, err
	}
	user, err := tx.User(who.User)
	if err != nil {
		return wallet.Notifications{}, found(err, wallet.UserNotFound, "person.gone")
	}
	user.Notifications = &set
	return set, tx.PutUser(user)
}

// settings are checked settings, each name once.
func (n *Notifications) settings(enabled bool, events []string) (wallet.Notifications, error) {
	known := wallet.NotificationNames()
	for _, name := range events {
		if !slices.Contains(known, name) {
			return wallet.Notifications{}, wallet.About("events", wallet.Refuse(wallet.InvalidRequest, "events.unknown", wallet.ListArg("Names", known)))
		}
	}
	events = slices.Clone(events)
	slices.Sort(events)
	return wallet.Notifications{Enabled: enabled, Events: append([]string{}, slices.Compact(events)...), UpdatedAt: n.Now().UTC()}, nil
}

// Wish changes which events about a person the caller's app gets (docs/specification.md, Messages and commands). What
// the person is told in their chat is theirs to say and stays as it is; of the change they are told. The same wish
// again changes nothing. INVALID_REQUEST, RATE_LIMIT_EXCEEDED, and as People.May.
func (n *Notifications) Wish(tx store.Tx, people *People, who Caller, person wallet.UserID, enabled bool, events []string) (wallet.Notifications, error) {
	user, err := people.may(tx, who, person, wallet.BotUsers)
	if err != nil {
		return wallet.Notifications{}, err
	}
	set, err := n.settings(enabled, events)
	if err != nil {
		return set, err
	}
	key, err := tx.Key(who.KeyID)
	if err != nil {
		return wallet.Notifications{}, found(err, wallet.InvalidAPIKey, "credential.ended")
	}
	grant, err := tx.Grant(person, key.WishHolder())
	switch {
	case errors.Is(err, store.ErrNotFound): // a key that needs none
		grant = wallet.Grant{User: person, App: key.WishHolder(), GrantedAt: set.UpdatedAt}
	case err != nil:
		return wallet.Notifications{}, err
	case grant.Wish != nil && grant.Wish.Enabled == set.Enabled && slices.Equal(grant.Wish.Events, set.Events):
		return *grant.Wish, nil
	}
	switch again, err := wished().Spend(tx, n.Now(), account(user)); {
	case err != nil:
		return wallet.Notifications{}, err
	case !again.IsZero():
		return wallet.Notifications{}, wallet.Refuse(wallet.RateLimitExceeded, "events.changed_often", wallet.NumberArg("Times", wished().Most), wallet.TimeArg("Again", again))
	}
	grant.Wish = &set
	event, err := wallet.NewEvent(n.NewID("evt"), wallet.AppWished, set.UpdatedAt, person,
		wallet.AppWishedData{KeyID: who.KeyID, Enabled: set.Enabled, Events: set.Events})
	if err != nil {
		return wallet.Notifications{}, err
	}
	return set, errors.Join(tx.PutGrant(grant), tx.Emit(event))
}
