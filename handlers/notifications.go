package handlers

import (
	"context"
	"errors"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Notifications reads and changes which events a person gets as messages in their chat, and which events about them an
// app gets. The two settings are independent.
type Notifications struct {
	Store store.Store
	Now   Clock
	NewID IDs
}

// all returns the default setting: every event.
func all(who wallet.User) wallet.Notifications {
	return wallet.Notifications{Enabled: true, Events: []string{"*"}, UpdatedAt: who.RegisteredAt}
}

// Of returns the caller's setting. USER_NOT_FOUND.
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

// Set changes which events the caller is notified of. events are names or wildcards. An empty list is none at all. An
// unknown name is INVALID_REQUEST.
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

// settings checks the names and returns the setting, sorted and without duplicates.
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

// SetForApp sets which events about a person the caller's app gets (docs/specification.md, Messages and commands). It does not
// change what the person gets in chat. The person is notified of the change. Setting the same again does nothing. Errors:
// INVALID_REQUEST, RATE_LIMIT_EXCEEDED, and those of People.May.
func (n *Notifications) SetForApp(tx store.Tx, people *People, who Caller, person wallet.UserID, enabled bool, events []string) (wallet.Notifications, error) {
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
	grant, err := tx.Grant(person, key.AppOrLineage())
	switch {
	case errors.Is(err, store.ErrNotFound): // a key that needs no grant
		grant = wallet.Grant{User: person, App: key.AppOrLineage(), GrantedAt: set.UpdatedAt}
	case err != nil:
		return wallet.Notifications{}, err
	case grant.Events != nil && grant.Events.Enabled == set.Enabled && slices.Equal(grant.Events.Events, set.Events):
		return *grant.Events, nil
	}
	switch again, err := appEventsLimit().Spend(tx, n.Now(), account(user)); {
	case err != nil:
		return wallet.Notifications{}, err
	case !again.IsZero():
		return wallet.Notifications{}, wallet.Refuse(wallet.RateLimitExceeded, "events.changed_often", wallet.NumberArg("Times", appEventsLimit().Most), wallet.TimeArg("Again", again))
	}
	grant.Events = &set
	event, err := wallet.NewEvent(n.NewID("evt"), wallet.AppEventsChosen, set.UpdatedAt, person,
		wallet.AppEventsChosenData{KeyID: who.KeyID, Enabled: set.Enabled, Events: set.Events})
	if err != nil {
		return wallet.Notifications{}, err
	}
	return set, errors.Join(tx.PutGrant(grant), tx.Emit(event))
}
