package handlers

import (
	"errors"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Apps are developers' programs, and what people allow them.
type Apps struct {
	Now Clock
}

// Asked is an app as somebody sees it who is asked to allow it something.
type Asked struct {
	App     wallet.App
	Owner   wallet.User    // the zero User for an operator's
	Granted []wallet.Scope // what they have allowed it so far
	wish    *wallet.Notifications
}

// Given tells whether they have allowed all that the app asks for.
func (a Asked) Given() bool {
	return len(a.Granted) > 0 && !slices.ContainsFunc(a.App.Scopes, func(s wallet.Scope) bool { return !slices.Contains(a.Granted, s) })
}

// ConsentFor finds the app behind a link. NOT_FOUND when there is none any more.
func (a *Apps) ConsentFor(tx store.Tx, person wallet.UserID, id wallet.AppID) (Asked, error) {
	app, err := tx.App(id)
	if err != nil {
		return Asked{}, found(err, wallet.NotFound, "app_access.gone")
	}
	asked := Asked{App: app}
	if app.Owner != "" {
		if asked.Owner, err = tx.User(app.Owner); err != nil {
			return Asked{}, found(err, wallet.NotFound, "app_access.gone")
		}
	}
	grant, err := tx.Grant(person, id)
	if errors.Is(err, store.ErrNotFound) {
		return asked, nil
	}
	asked.Granted, asked.wish = grant.Scopes, grant.Wish
	return asked, err
}

// Allow grants an app those scopes that a person has chosen of what it asks for, in place of what they allowed
// it before. shown are all that they were shown: when the app asks for something else by now, it is CONFLICT.
// INVALID_REQUEST for a choice of nothing, or of what was not shown; NOT_FOUND when there is no app any more.
func (a *Apps) Allow(tx store.Tx, person wallet.UserID, id wallet.AppID, shown, chosen []wallet.Scope) error {
	asked, err := a.ConsentFor(tx, person, id)
	if err != nil {
		return err
	}
	if !slices.Equal(asked.App.Scopes, shown) {
		return wallet.Refuse(wallet.Conflict, "app_access.asks_anew")
	}
	if len(chosen) == 0 || slices.ContainsFunc(chosen, func(s wallet.Scope) bool { return !slices.Contains(shown, s) }) {
		return wallet.Refuse(wallet.InvalidRequest, "app_access.nothing_chosen")
	}
	grant := wallet.Grant{User: person, App: id, Scopes: chosen, GrantedAt: a.Now().UTC()}
	if grant.Covers(wallet.BotUsers) { // by which the app made its wish; without it the wish ends
		grant.Wish = asked.wish
	}
	return tx.PutGrant(grant)
}

// Withdraw takes a grant back; NOT_FOUND without one. What was proposed already can still be confirmed
// or rejected by the person alone.
func (a *Apps) Withdraw(tx store.Tx, person wallet.UserID, id wallet.AppID) error {
	const none = "app_access.no_access"
	switch grant, err := tx.Grant(person, id); {
	case err != nil:
		return found(err, wallet.NotFound, none)
	case len(grant.Scopes) == 0: // a wish of their own keys: Apps.Of does not list it either
		return wallet.Refuse(wallet.NotFound, none)
	}
	return found(tx.DeleteGrant(person, id), wallet.NotFound, none)
}

// Granted is an app that a person has allowed something.
type Granted struct {
	App   wallet.App
	Grant wallet.Grant
}

// Of lists what a person has allowed, oldest first. Apps that are gone are left out.
func (a *Apps) Of(tx store.Tx, person wallet.UserID) ([]Granted, error) {
	grants, err := tx.GrantsOf(person)
	var out []Granted
	for _, g := range grants {
		if len(g.Scopes) == 0 { // allows nothing: the wish of a key that needs no grant
			continue
		}
		app, err := tx.App(g.App)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Granted{app, g})
	}
	return out, err
}

// appName reads what an app of an owner's is to be called. INVALID_REQUEST for a developer's that could be taken for
// purser itself or for whoever runs it, or has a symbol that could be taken for a badge; CONFLICT for one that looks like another app's: people tell apps by name.
// A name that the owner has used already is theirs.
func appName(tx store.Tx, bot BotName, owner wallet.UserID, text string) (string, error) {
	name, err := wallet.ParseAppName(text)
	if err != nil {
		return "", err
	}
	own, err := tx.AppsOf(owner)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(own, func(app wallet.App) bool { return app.Name == name }) {
		return name, nil
	}
	me := ""
	if bot != nil {
		me = bot()
	}
	switch {
	case owner != "" && wallet.HoldsSymbol(name):
		return "", wallet.Refuse(wallet.InvalidRequest, "app_name.symbols")
	case owner != "" && wallet.Official(name, me):
		return "", wallet.Refuse(wallet.InvalidRequest, "app_name.official", wallet.ListArg("Words", wallet.ReservedWords()))
	}
	all, err := tx.AllApps()
	if err != nil {
		return "", err
	}
	like := wallet.Likeness(name)
	if slices.ContainsFunc(all, func(app wallet.App) bool { return wallet.Likeness(app.Name) == like }) {
		return "", wallet.Refuse(wallet.Conflict, "app_name.taken")
	}
	return name, nil
}

// appNamed is the owner's app of that name, asking for the scopes as well from now on, for the purpose if
// one is given; a new one when there is none. The refusals of appName.
func appNamed(tx store.Tx, bot BotName, wanted wallet.App) (wallet.App, error) {
	name, err := appName(tx, bot, wanted.Owner, wanted.Name)
	if err != nil {
		return wallet.App{}, err
	}
	wanted.Name = name
	all, err := tx.AppsOf(wanted.Owner)
	if err != nil {
		return wallet.App{}, err
	}
	for _, app := range all {
		if app.Name != name {
			continue
		}
		for _, s := range wanted.Scopes {
			if !slices.Contains(app.Scopes, s) {
				app.Scopes = append(app.Scopes, s)
			}
		}
		if wanted.Purpose != "" {
			app.Purpose = wanted.Purpose
		}
		return app, tx.PutApp(app)
	}
	return wanted, tx.PutApp(wanted)
}
