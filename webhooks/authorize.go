package webhooks

import (
	"errors"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// authorization is whether a webhook may have an event now.
type authorization int

const (
	authAllowed     authorization = iota
	authDisabled                  // its owner, or purser, turned the webhook off
	authDenied                    // the key may have no events, or not this one, or the webhook asks for others
	authNeedsLookup               // the store knows: see needed
)

// consentQuery is what the store must say before an event about a person may be delivered.
type consentQuery struct {
	holder wallet.AppID // under which the person's grant is kept, and the app's wish with it
	scope  wallet.Scope // that the grant must cover
	own    bool         // no grant is needed: the key is the person's own
	all    bool         // no grant is needed: an operator's key, and the person must be known still
}

// eventScope is what the rules need of an event: what it is, and whom it concerns.
type eventScope struct {
	name wallet.EventName
	user wallet.UserID
	to   wallet.AppID // wallet.Event.To; "" also for what was addressed when it was fanned out
}

// listeners lists the webhooks that may have an event (docs/webhooks.md, Whose events).
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

// candidates lists the webhooks of everybody who may receive an event, each once.
func (k *subscriptionSnapshot) candidates(tx store.Tx, e eventScope) ([]subscription, error) {
	if e.user == "" {
		return k.everyone(tx)
	}
	grants, err := tx.GrantsOf(e.user)
	if err != nil {
		k.damaged("grants of", string(e.user), err)
	}
	owners := []wallet.UserID{"", e.user} // operators' keys get all
	for _, grant := range grants {
		app, err := tx.App(grant.App)
		switch {
		case err != nil:
			k.damaged("app", string(grant.App), err)
		case !slices.Contains(owners, app.Owner):
			owners = append(owners, app.Owner)
		}
	}
	var all []subscription
	for _, owner := range owners {
		hooks, err := k.of(tx, owner)
		if err != nil {
			return nil, err
		}
		all = append(all, hooks...)
	}
	return all, nil
}

// authorize reports whether a webhook may have an event at now: it is on and asks for it, its key is alive and
// may have webhooks and know of such events, and the event is public, of the key's owner, or of somebody who
// consented that the key's app may know of such events. Operators' keys get all events, except about people who were
// erased. An app gets only the events about the person that it asked for (wallet.Grant.Events).
func (k *subscriptionSnapshot) authorize(tx store.Tx, r subscription, e eventScope, now time.Time) authorization {
	stands, wish := k.authorizeIgnoringPreferences(tx, r, e, now)
	if stands == authAllowed && !wish.Wants(string(e.name)) {
		return authDenied
	}
	return stands
}

// authorizeIgnoringPreferences is authorize, whatever the app wants; it also returns what that is.
func (k *subscriptionSnapshot) authorizeIgnoringPreferences(tx store.Tx, r subscription, e eventScope, now time.Time) (authorization, *wallet.Notifications) {
	stands, of := r.authorizeFromCache(e, now)
	if stands != authNeedsLookup {
		return stands, nil
	}
	lets, grant := k.consents(tx, e.user, of)
	if !lets {
		return authDenied, nil
	}
	return authAllowed, grant.Events
}

// consents says whether a person lets a receiver know of what is about them, and returns the grant by which they do.
func (k *subscriptionSnapshot) consents(tx store.Tx, person wallet.UserID, of consentQuery) (bool, wallet.Grant) {
	if of.all {
		if _, err := tx.User(person); errors.Is(err, store.ErrNotFound) { // a damaged row is a person still
			return false, wallet.Grant{}
		}
	}
	grant, err := tx.Grant(person, of.holder)
	if err != nil {
		k.damaged("grant to "+string(of.holder)+" of", string(person), err)
	}
	return of.all || of.own || err == nil && grant.Covers(of.scope), grant
}

// authorizeFromCache is authorize, as far as it can be decided without the store.
func (r subscription) authorizeFromCache(e eventScope, now time.Time) (authorization, consentQuery) {
	if e.name == wallet.WebhookTest { // only its owner causes it
		return authAllowed, consentQuery{}
	}
	if !r.Active {
		return authDisabled, consentQuery{}
	}
	rule, known := ruleOf(r.Kind, e.name)
	key, alive := wallet.NewestUsable(r.keys, now)
	switch {
	case !known || !r.Takes(e.name), !alive, key.Tier != wallet.ProTier, !key.May(wallet.Webhooks),
		rule.Scope != "" && !key.May(rule.Scope):
		return authDenied, consentQuery{}
	case e.to != "" && key.Owner != "" && key.App != e.to: // it is for another app
		return authDenied, consentQuery{}
	case e.user == "" && (key.Owner == "" || rule.Public):
		return authAllowed, consentQuery{}
	case e.user == "":
		return authDenied, consentQuery{}
	case e.user == key.Owner, key.Owner == "":
		return authNeedsLookup, consentQuery{holder: key.AppOrLineage(), own: e.user == key.Owner, all: key.Owner == ""}
	case key.App == "":
		return authDenied, consentQuery{}
	}
	return authNeedsLookup, consentQuery{holder: key.App, scope: rule.Scope}
}
