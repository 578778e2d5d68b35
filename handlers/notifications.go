package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"

	"purser/store"
	"purser/wallet"
)

// Notifications reads and changes how purser speaks to a person: which messages they get in their chat, in which money, and when. It
// also changes which events about them an app gets. That is a setting of its own and changes nothing for the person.
type Notifications struct {
	Store store.Store
	Now   Clock
	NewID IDs
}

// defaults returns the setting of somebody who chose nothing.
func defaults(who wallet.User) wallet.Notifications {
	set := wallet.Notifications{Enabled: true, UpdatedAt: who.RegisteredAt}
	for _, category := range wallet.DefaultCategories() {
		set.Events = append(set.Events, string(category))
	}
	slices.Sort(set.Events)
	return set
}

// Of returns the caller's setting. USER_NOT_FOUND.
func (n *Notifications) Of(ctx context.Context, who Caller) (wallet.Notifications, error) {
	user, err := read(ctx, n.Store, func(tx store.Tx) (wallet.User, error) {
		user, err := tx.User(who.User)
		return user, found(err, wallet.UserNotFound, "person.gone")
	})
	return notificationsOf(user), err
}

// notificationsOf returns a person's setting, or the defaults.
func notificationsOf(user wallet.User) wallet.Notifications {
	if user.Notifications == nil {
		return defaults(user)
	}
	return *user.Notifications
}

// Set changes which messages the caller gets in their chat. events are of wallet.CategoryNames. An empty list is none at all. An unknown name is
// INVALID_REQUEST. Keys can do so 20 times an hour, then it is RATE_LIMIT_EXCEEDED. If a key made the change, the person is notified: somebody else may hold the key. Setting the same again does nothing.
func (n *Notifications) Set(tx store.Tx, who Caller, enabled bool, events []string) (wallet.Notifications, error) {
	set, err := n.settings(enabled, events, wallet.CategoryNames())
	if err != nil {
		return set, err
	}
	user, err := tx.User(who.User)
	if err != nil {
		return wallet.Notifications{}, found(err, wallet.UserNotFound, "person.gone")
	}
	if before := user.Notifications; before != nil && before.Enabled == set.Enabled && slices.Equal(before.Events, set.Events) {
		return *before, nil
	}
	if who.KeyID != "" {
		switch again, err := settingsByKeyLimit().Spend(tx, n.Now(), account(user)); {
		case err != nil:
			return wallet.Notifications{}, err
		case !again.IsZero():
			return wallet.Notifications{}, wallet.Refuse(wallet.RateLimitExceeded, "events.settings_changed_often", wallet.NumberArg("Times", settingsByKeyLimit().Most), wallet.TimeArg("Again", again))
		}
		event, err := wallet.NewEvent(n.NewID("evt"), wallet.NotificationsSet, set.UpdatedAt, user.ID,
			wallet.AppEventsChosenData{KeyID: who.KeyID, Enabled: set.Enabled, Events: set.Events})
		if err == nil {
			err = tx.Emit(event)
		}
		if err != nil {
			return wallet.Notifications{}, err
		}
	}
	user.Notifications = &set
	return set, n.save(tx, user, who.KeyID)
}

// Turn turns all messages of the caller on or off. Which categories they want stays as it is.
func (n *Notifications) Turn(tx store.Tx, who Caller, on bool) error {
	return n.change(tx, who, func(set *wallet.Notifications) { set.Enabled = on })
}

// Switch turns the messages about one category on or off. Turning one on turns messages on altogether.
func (n *Notifications) Switch(tx store.Tx, who Caller, category wallet.Category, on bool) error {
	return n.change(tx, who, func(set *wallet.Notifications) {
		wanted := wallet.User{Notifications: &wallet.Notifications{Enabled: true, Events: set.Events}}
		set.Events = nil // a wildcard becomes the categories that it covered
		for _, other := range wallet.Categories() {
			if other == category && on || other != category && wanted.Wants(other) {
				set.Events = append(set.Events, string(other))
			}
		}
		slices.Sort(set.Events)
		set.Enabled = set.Enabled || on
	})
}

// change changes the caller's own setting.
func (n *Notifications) change(tx store.Tx, who Caller, change func(*wallet.Notifications)) error {
	user, err := tx.User(who.User)
	if err != nil {
		return found(err, wallet.UserNotFound, "person.gone")
	}
	set := notificationsOf(user)
	change(&set)
	set.UpdatedAt = n.Now().UTC()
	user.Notifications = &set
	return n.save(tx, user, who.KeyID)
}

// save writes a person whose settings changed, and what follows from them. Which messages they get matters to their safety, and
// is logged. by is the key by which a program changed it.
func (n *Notifications) save(tx store.Tx, user wallet.User, by string) error {
	before, err := tx.User(user.ID)
	if err != nil {
		return err
	}
	now := n.Now().UTC()
	if user.Wants(wallet.CategoryNews) && !before.Wants(wallet.CategoryNews) { // they get what comes from now on
		if user.NewsSeen, err = tx.LastNews(); err != nil {
			return err
		}
	}
	steps := []error{tx.PutUser(user)}
	if was, is := wanted(before), wanted(user); was != is {
		steps = append(steps, store.LogSecurity(tx, user.ID, now, wallet.LogNotificationsSet, wallet.SecurityDetails{By: by, Value: is}))
	}
	if a, b := before.Settings, user.Settings; !a.Summary.Equal(b.Summary) || a.TimeZone != b.TimeZone || before.Wants(wallet.CategorySummary) != user.Wants(wallet.CategorySummary) {
		steps = append(steps, store.OrderPortfolioSummary(tx, user, now))
	}
	if until := user.Settings.QuietUntil(now); !until.Equal(before.Settings.QuietUntil(now)) {
		steps = append(steps, store.RescheduleHeld(tx, user.ID, now, until))
	}
	return errors.Join(steps...)
}

// wanted lists the categories that a person gets messages about, separated by spaces; "off" if messages are off.
func wanted(user wallet.User) string {
	if !notificationsOf(user).Enabled {
		return "off"
	}
	var names []string
	for _, category := range wallet.Categories() {
		if user.Wants(category) {
			names = append(names, string(category))
		}
	}
	return strings.Join(names, " ")
}

// Customize changes the caller's settings and returns the person as they are then. change gets the settings as they are.
func (n *Notifications) Customize(tx store.Tx, who Caller, change func(*wallet.Settings)) (wallet.User, error) {
	user, err := tx.User(who.User)
	if err != nil {
		return user, found(err, wallet.UserNotFound, "person.gone")
	}
	change(&user.Settings)
	return user, n.save(tx, user, who.KeyID)
}

// settings checks the names and returns the setting, sorted and without duplicates.
func (n *Notifications) settings(enabled bool, events, known []string) (wallet.Notifications, error) {
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
	set, err := n.settings(enabled, events, wallet.AppEventNames())
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
