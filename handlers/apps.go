package handlers

import (
	"errors"
	"slices"

	"purser/store"
	"purser/wallet"
)

// Apps manages developers' apps and the access that people have granted them.
type Apps struct {
	Now Clock
}

// ConsentRequest is an app as shown to a person who is asked for consent.
type ConsentRequest struct {
	App     wallet.App
	Owner   wallet.User           // the developer; the zero User for an operator's app
	Granted []wallet.Scope        // scopes that the person has granted already
	events  *wallet.Notifications // the app's subscription, kept when the grant changes
}

// AlreadyGranted reports whether the person has already granted every scope that the app requests.
func (a ConsentRequest) AlreadyGranted() bool {
	return len(a.Granted) > 0 && !slices.ContainsFunc(a.App.Scopes, func(s wallet.Scope) bool { return !slices.Contains(a.Granted, s) })
}

// ConsentFor returns the app behind a consent link. NOT_FOUND if the app or its developer no longer exists.
func (a *Apps) ConsentFor(tx store.Tx, person wallet.UserID, id wallet.AppID) (ConsentRequest, error) {
	app, err := tx.App(id)
	if err != nil {
		return ConsentRequest{}, found(err, wallet.NotFound, "app_access.gone")
	}
	asked := ConsentRequest{App: app}
	if app.Owner != "" {
		if asked.Owner, err = tx.User(app.Owner); err != nil {
			return ConsentRequest{}, found(err, wallet.NotFound, "app_access.gone")
		}
	}
	grant, err := tx.Grant(person, id)
	if errors.Is(err, store.ErrNotFound) {
		return asked, nil
	}
	asked.Granted, asked.events = grant.Scopes, grant.Events
	return asked, err
}

// Allow grants an app the chosen scopes, replacing an earlier grant. shown are the scopes that the person saw. If the app
// requests others by now, the answer is CONFLICT and nothing is granted. INVALID_REQUEST for no scope, or one that was
// not shown. NOT_FOUND if the app no longer exists.
func (a *Apps) Allow(tx store.Tx, person wallet.UserID, id wallet.AppID, shown, chosen []wallet.Scope) error {
	if err := usable(tx, person, wallet.ByPerson); err != nil {
		return err
	}
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
	if grant.Covers(wallet.BotUsers) { // the subscription depends on this scope, and ends without it
		grant.Events = asked.events
	}
	kind := wallet.LogAccessGranted
	switch {
	case len(asked.Granted) > 0 && slices.Equal(asked.Granted, chosen):
		return tx.PutGrant(grant)
	case len(asked.Granted) > 0:
		kind = wallet.LogAccessChanged
	}
	return errors.Join(tx.PutGrant(grant), store.LogSecurity(tx, person, a.Now(), kind, wallet.SecurityDetails{App: id, AppName: asked.App.Name, Scopes: chosen}))
}

// Withdraw revokes an app's access. Proposals that it has already made remain: the person can still confirm or reject
// them. NOT_FOUND without a grant.
func (a *Apps) Withdraw(tx store.Tx, person wallet.UserID, id wallet.AppID) error {
	const none = "app_access.no_access"
	switch grant, err := tx.Grant(person, id); {
	case err != nil:
		return found(err, wallet.NotFound, none)
	case len(grant.Scopes) == 0: // only the subscription of a key that needs no grant: Of does not list it either
		return wallet.Refuse(wallet.NotFound, none)
	}
	app, err := tx.App(id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := tx.DeleteGrant(person, id); err != nil {
		return found(err, wallet.NotFound, none)
	}
	return store.LogSecurity(tx, person, a.Now(), wallet.LogAccessRevoked, wallet.SecurityDetails{App: id, AppName: app.Name})
}

// Granted is an app with the access that a person granted it.
type Granted struct {
	App   wallet.App
	Grant wallet.Grant
}

// Of lists a person's connected apps, oldest first. Apps that no longer exist are left out.
func (a *Apps) Of(tx store.Tx, person wallet.UserID) ([]Granted, error) {
	grants, err := tx.GrantsOf(person)
	var out []Granted
	for _, g := range grants {
		if len(g.Scopes) == 0 { // grants nothing: the subscription of a key that needs no grant
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

// appName checks the name of an owner's app and returns it as it will be shown. People recognize apps by name, so a
// developer's name must not resemble purser, its operator, or another app, or contain a symbol that looks like a badge.
// INVALID_REQUEST; CONFLICT if it resembles another app. A name that the owner already uses is always accepted.
func appName(tx store.Tx, bot BotName, owner wallet.UserID, text string) (string, error) {
	name, err := wallet.ParseAppName(text)
	if err != nil {
		return "", err
	}
	own, err := tx.AppsOf(owner)
	if err != nil {
		return "", err
	}
	// A name in use stays valid, also if the rules became stricter since.
	if slices.ContainsFunc(own, func(app wallet.App) bool { return app.Name == name }) {
		return name, nil
	}
	me := ""
	if bot != nil {
		me = bot()
	}
	if owner != "" && wallet.HoldsSymbol(name) {
		symbols, rest := wallet.Symbols(name)
		if rest == "" {
			return "", wallet.Refuse(wallet.InvalidRequest, "app_name.symbols_only")
		}
		return "", wallet.Refuse(wallet.InvalidRequest, "app_name.symbols", wallet.TextArg("Symbols", symbols), wallet.TextArg("Without", rest))
	}
	if word := wallet.OfficialWord(name, me); owner != "" && word != "" {
		return "", wallet.Refuse(wallet.InvalidRequest, "app_name.official", wallet.TextArg("Word", word))
	}
	// Compare with the apps of all owners.
	all, err := tx.AllApps()
	if err != nil {
		return "", err
	}
	like := wallet.LooseSkeleton(name)
	if slices.ContainsFunc(all, func(app wallet.App) bool { return wallet.LooseSkeleton(app.Name) == like }) {
		return "", wallet.Refuse(wallet.Conflict, "app_name.taken")
	}
	return name, nil
}

// appNamed returns the owner's app with that name, after adding the wanted scopes and purpose to it. If there is none, it
// creates one. Errors: those of appName.
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
