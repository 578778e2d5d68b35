package handlers

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/store"
	"purser/wallet"
)

// Apps are developers' programs, and what people allow them.
type Apps struct {
	Now Clock
}

// Asked is an app as somebody sees it who is asked to allow it something.
type Asked struct {
	App   wallet.App
	Owner wallet.User // the zero User for an operator's
	Given bool        // they have allowed all of it already
}

// Ask finds the app behind a link. NOT_FOUND when there is none any more.
func (a *Apps) Ask(tx store.Tx, person wallet.UserID, id wallet.AppID) (Asked, error) {
	app, err := tx.App(id)
	if err != nil {
		return Asked{}, found(err, wallet.NotFound, "this app is not known here any more")
	}
	asked := Asked{App: app}
	if app.Owner != "" {
		if asked.Owner, err = tx.User(app.Owner); err != nil {
			return Asked{}, found(err, wallet.NotFound, "this app is not known here any more")
		}
	}
	grant, err := tx.Grant(person, id)
	if errors.Is(err, store.ErrNotFound) {
		return asked, nil
	}
	asked.Given = err == nil && !slices.ContainsFunc(app.Scopes, func(s wallet.Scope) bool { return !grant.Covers(s) })
	return asked, err
}

// Allow grants an app what it asks for. scopes are what the person was shown: when the app asks for
// something else by now, it is CONFLICT.
func (a *Apps) Allow(tx store.Tx, person wallet.UserID, id wallet.AppID, scopes []wallet.Scope) error {
	asked, err := a.Ask(tx, person, id)
	if err != nil {
		return err
	}
	if !slices.Equal(asked.App.Scopes, scopes) {
		return wallet.Refuse(wallet.Conflict, "the app asks for something else now: open its link once more")
	}
	return tx.PutGrant(wallet.Grant{User: person, App: id, Scopes: asked.App.Scopes, GrantedAt: a.Now().UTC()})
}

// Withdraw takes a grant back; NOT_FOUND without one. What was proposed already can still be confirmed
// or rejected by the person alone.
func (a *Apps) Withdraw(tx store.Tx, person wallet.UserID, id wallet.AppID) error {
	return found(tx.DeleteGrant(person, id), wallet.NotFound, "you have not allowed this app anything")
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

// ParseAppName reads what people are told an app is called: 1 to 40 characters that can be seen, on one
// line. INVALID_REQUEST.
func ParseAppName(text string) (string, error) {
	name := strings.Join(strings.Fields(text), " ")
	switch length := utf8.RuneCountInString(name); {
	case length == 0:
		return "", wallet.Refuse(wallet.InvalidRequest, "the app needs a name")
	case length > wallet.MaxAppName:
		return "", wallet.Refuse(wallet.InvalidRequest, "that name is too long: %d characters at most", wallet.MaxAppName)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unseen) {
		return "", wallet.Refuse(wallet.InvalidRequest, "a name is of characters that can be seen")
	}
	if strings.ContainsAny(name, ":“”\"…") || strings.Contains(strings.ToLower(name), "purser") {
		return "", wallet.Refuse(wallet.InvalidRequest, "a name holds no quotation marks, colon or ellipsis, and not the word purser: people must know who speaks")
	}
	return name, nil
}

// unseen tells of a character that shows nothing, or changes how others look.
func unseen(r rune) bool {
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// appNamed is the owner's app of that name, asking for the scopes as well from now on, for the purpose if
// one is given; a new one when there is none.
func appNamed(tx store.Tx, wanted wallet.App) (wallet.App, error) {
	name, err := ParseAppName(wanted.Name)
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
