package webhooks

import (
	"errors"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// authorization says whether a webhook may have an event now.
type authorization int

const (
	authAllowed     authorization = iota
	authDisabled                  // the webhook was turned off, by its owner or by purser
	authDenied                    // the key may not have this event, or the webhook did not subscribe to it
	authNeedsLookup               // only the store can decide: see consentQuery
)

// consentQuery is what must be looked up in the store before an event about a person may be delivered.
type consentQuery struct {
	holder wallet.AppID  // the app, or the lineage of a key without one, under which the person's grant is stored
	scope  wallet.Scope  // must be covered by the grant
	own    bool          // no grant is needed: the person owns the key
	all    bool          // no grant is needed: it is an operator's key. The person must not have been erased
	owner  wallet.UserID // of the key, whose account must not be frozen; "" for an operator's
}

// eventScope is what the rules need of an event: its name, and the person it is about.
type eventScope struct {
	name wallet.EventName
	user wallet.UserID
	to   wallet.AppID // the only app that may have it (wallet.Event.To). "" for all, and at an attempt: the relay has checked it
}

// listeners lists the webhooks that may have an event (docs/webhooks.md, Whose events). The relay makes a delivery
// for each.
func (k *subscriptionSnapshot) listeners(tx store.Tx, e eventScope, now time.Time) ([]wallet.Webhook, error) {
	asked, err := k.candidates(tx, e)
	if err != nil {
		return nil, err
	}
	var may []wallet.Webhook
	for _, r := range asked {
		if k.authorize(tx, r, e, now) == authAllowed {
			may = append(may, r.Webhook)
		}
	}
	return may, nil
}

// candidates lists the webhooks that could have an event, each once: for a public event all, else those of operators,
// of the person, and of the developers whose apps the person granted access. So the cost does not grow with the
// number of developers.
func (k *subscriptionSnapshot) candidates(tx store.Tx, e eventScope) ([]subscription, error) {
	if e.user == "" {
		return k.everyone(tx)
	}
	var all []subscription
	for _, owner := range k.holders(tx, e.user) {
		hooks, err := k.of(tx, owner)
		switch {
		case err != nil:
			return nil, err
		case len(all) == 0:
			all = slices.Clip(hooks) // most events have one holder with webhooks: nothing is copied
		default:
			all = append(all, hooks...)
		}
	}
	return all, nil
}

// holders lists the owners of the keys that events about a person may be for: "" for operators, the person, and the
// developers whose apps the person granted access. If the grants cannot be read, it is only the first two. The result is
// shared: callers must not change it.
func (k *subscriptionSnapshot) holders(tx store.Tx, person wallet.UserID) []wallet.UserID {
	k.mu.Lock()
	owners, known := k.holding[person]
	k.mu.Unlock()
	if known {
		return owners
	}
	grants, err := tx.GrantsOf(person)
	if err != nil {
		k.damaged("grants of", string(person), err)
	}
	owners = []wallet.UserID{"", person}
	readable := err == nil
	for _, grant := range grants {
		app, err := tx.App(grant.App)
		switch {
		case err != nil:
			k.damaged("app", string(grant.App), err)
			readable = readable && errors.Is(err, store.ErrNotFound)
		case !slices.Contains(owners, app.Owner):
			owners = append(owners, app.Owner)
		}
	}
	if !readable { // the next event looks again
		return owners
	}
	k.mu.Lock()
	if len(k.holding) >= maxRemembered {
		clear(k.holding)
	}
	k.holding[person] = owners
	k.mu.Unlock()
	return owners
}

// authorize reports whether a webhook may have an event at now. The webhook must be on and subscribe to it. Its key
// must be usable, of the pro tier, and have the scopes. The event must be public, or about the key's owner, or about
// a person who granted the key's app access to such events. Operators' keys may have all events, except those about
// erased people. An app gets only those events about the person that it asked for (wallet.Grant.Events).
func (k *subscriptionSnapshot) authorize(tx store.Tx, r subscription, e eventScope, now time.Time) authorization {
	stands, wish := k.authorizeIgnoringPreferences(tx, r, e, now)
	if stands == authAllowed && !wish.Wants(e.name) {
		return authDenied
	}
	return stands
}

// authorizeIgnoringPreferences is authorize without the check of what the app asked for, which it returns instead.
// nil: all.
func (k *subscriptionSnapshot) authorizeIgnoringPreferences(tx store.Tx, r subscription, e eventScope, now time.Time) (authorization, *wallet.Notifications) {
	stands, of := r.authorizeFromCache(e, now)
	if stands != authNeedsLookup {
		return stands, nil
	}
	if wish, given := k.consented(e.user, of); given {
		return authAllowed, wish
	}
	lets, grant := k.consents(tx, e.user, of)
	if !lets {
		return authDenied, nil
	}
	k.remember(e.user, of, grant.Events)
	return authAllowed, grant.Events
}

// consents reports whether a person allows a receiver to have events about them, and returns the grant that allows
// it. A grant that cannot be read counts as none.
func (k *subscriptionSnapshot) consents(tx store.Tx, person wallet.UserID, of consentQuery) (bool, wallet.Grant) {
	if of.all {
		if _, err := tx.User(person); errors.Is(err, store.ErrNotFound) { // a damaged row still belongs to a person
			return false, wallet.Grant{}
		}
	}
	if !of.all && (frozen(tx, person) || frozen(tx, of.owner)) {
		return false, wallet.Grant{}
	}
	grant, err := tx.Grant(person, of.holder)
	if err != nil {
		k.damaged("grant to "+string(of.holder)+" of", string(person), err)
	}
	return of.all || of.own || err == nil && grant.Covers(of.scope), grant
}

// authorizeFromCache is authorize as far as it can be decided without the store. The result is authNeedsLookup, with
// what must be looked up, for events about a person.
func (r subscription) authorizeFromCache(e eventScope, now time.Time) (authorization, consentQuery) {
	if e.name == wallet.WebhookTest { // only the webhook's owner can cause it
		return authAllowed, consentQuery{}
	}
	if !r.Active {
		return authDisabled, consentQuery{}
	}
	// What the key itself must have.
	rule, known := ruleOf(r.Kind, e.name)
	key, alive := wallet.NewestUsable(r.keys, now)
	switch {
	case !known || !r.Takes(e.name), !alive, key.Tier != wallet.ProTier, !key.May(wallet.Webhooks),
		rule.Scope != "" && !key.May(rule.Scope):
		return authDenied, consentQuery{}
	case e.to != "" && key.Owner != "" && key.App != e.to: // it is for another app
		return authDenied, consentQuery{}
	// The event is about nobody.
	case e.user == "" && (key.Owner == "" || rule.Public):
		return authAllowed, consentQuery{}
	case e.user == "":
		return authDenied, consentQuery{}
	// It is about a person: of the key's owner, or any person for an operator's key. The store has what they asked
	// for.
	case e.user == key.Owner, key.Owner == "":
		return authNeedsLookup, consentQuery{holder: key.AppOrLineage(), own: e.user == key.Owner, all: key.Owner == "", owner: key.Owner}
	// It is about another person: only an app can have their grant.
	case key.App == "":
		return authDenied, consentQuery{}
	}
	return authNeedsLookup, consentQuery{holder: key.App, scope: rule.Scope, owner: key.Owner}
}

// frozen reports whether a person's account is frozen: then programs get no events about them, and their own programs none
// about anybody. A row that cannot be read counts as not frozen. A freeze raises AccessVersion, so what was remembered
// before it is dropped.
func frozen(tx store.Tx, person wallet.UserID) bool {
	user, err := tx.User(person)
	return err == nil && user.Freeze != nil
}
