package webhooks

import (
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// standing is whether a webhook may have an event now.
type standing int

const (
	allowed standing = iota
	off              // its owner, or purser, turned the webhook off, or it no longer asks for this event
	barred           // whoever registered it may have no events, or not this one
)

// about is what the rules need of an event: what it is, whom it concerns, and to which kind of webhook
// it goes.
type about struct {
	name wallet.EventName
	user wallet.UserID
}

// listeners lists the webhooks that may have an event (DESIGN §7, Whose).
func listeners(tx store.Tx, e about, now time.Time) ([]wallet.Webhook, error) {
	asked, err := candidates(tx, e)
	if err != nil {
		return nil, err
	}
	var may []wallet.Webhook
	for _, hook := range asked {
		stands, err := judge(tx, hook, e, now)
		if err != nil {
			return nil, err
		}
		if stands == allowed {
			may = append(may, hook)
		}
	}
	return may, nil
}

// candidates lists the webhooks of everybody who might be told of an event, each once.
func candidates(tx store.Tx, e about) ([]wallet.Webhook, error) {
	if e.user == "" {
		return tx.AllWebhooks()
	}
	owners := []wallet.UserID{e.user}
	grants, err := tx.GrantsOf(e.user)
	if err != nil {
		return nil, err
	}
	for _, grant := range grants {
		app, err := tx.App(grant.App)
		switch {
		case errors.Is(err, store.ErrNotFound):
			continue
		case err != nil:
			return nil, err
		}
		owners = append(owners, app.Owner)
	}
	owners = append(owners, "") // operators' keys get all
	var all []wallet.Webhook
	asked := map[wallet.UserID]bool{}
	for _, owner := range owners {
		if asked[owner] {
			continue
		}
		asked[owner] = true
		hooks, err := tx.WebhooksOfOwner(owner)
		if err != nil {
			return nil, err
		}
		all = append(all, hooks...)
	}
	return all, nil
}

// judge tells whether a webhook may have an event at now: it is on and asks for it, its key is alive and
// may have webhooks, and the event is public, of the key's owner, or of somebody who lets the key's app
// know of such events.
func judge(tx store.Tx, hook wallet.Webhook, e about, now time.Time) (standing, error) {
	if e.name == wallet.WebhookTest { // only its owner causes it
		return allowed, nil
	}
	rule, known := ruleOf(hook.Kind, e.name)
	if !hook.Active || !known || !hook.Takes(e.name) {
		return off, nil
	}
	key, err := liveKey(tx, hook.Line, now)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return barred, nil
	case err != nil:
		return barred, err
	case key.Tier != wallet.ProTier || !key.May(wallet.Webhooks):
		return barred, nil
	}
	operator := key.Owner == ""
	if operator || e.user == key.Owner || e.user == "" && rule.Public {
		return allowed, nil
	}
	grant, err := tx.Grant(e.user, key.App)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return barred, nil
	case err != nil:
		return barred, err
	case !grant.Covers(rule.Scope):
		return barred, nil
	}
	return allowed, nil
}

// liveKey is the newest key of a line that opens anything at now; ErrNotFound when none does.
func liveKey(tx store.Tx, line string, now time.Time) (wallet.Key, error) {
	var live wallet.Key
	for id := line; id != ""; {
		key, err := tx.Key(id)
		if err != nil {
			return key, err
		}
		if key.UsableAt(now) {
			live = key
		}
		id = key.Next
	}
	if live.ID == "" {
		return live, store.ErrNotFound
	}
	return live, nil
}
