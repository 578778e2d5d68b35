package handlers

import (
	"context"
	"errors"
	"time"

	"purser/quota"
	"purser/store"
	"purser/wallet"
)

// An app of somebody else gets nothing of what a Private rule says, but each refusal tells it that there is such a rule. With enough
// proposals it could find out a spending limit. So refusals are counted by app and person, and after MaxPrivateRefusals in an hour
// everything that the app proposes to that person is refused for probingPause, with the same reason.
const (
	MaxPrivateRefusals = 5
	probingPause       = time.Hour
)

// privateRefusals counts what Private rules refused. The pause begins with the last one that has room, and ends no sooner than they do.
func privateRefusals() quota.Direct {
	return quota.Direct{Kind: "private_refusals", Most: MaxPrivateRefusals, Span: time.Hour}
}

// probingPauses has one while everything is refused.
func probingPauses() quota.Direct {
	return quota.Direct{Kind: "probing_pause", Most: 1, Span: probingPause}
}

// judgedProposals counts what apps of somebody else have judged, whatever the answer is: one that is allowed and cannot be put to the owner
// says as much of a limit as one that is refused.
func judgedProposals() quota.Direct {
	return quota.Direct{Kind: "judged_proposals", Most: maxAskedHourly, Span: time.Hour}
}

// prober is an app of somebody else that proposes something to a person.
type prober struct {
	about string       // the key by which its refusals are counted
	app   wallet.AppID // "" for an operator's key without an app
}

// proberOf returns who proposes with a key to a person: all keys of an app count together, and an operator's key without an app by its lineage. The key
// decides, as for channelOf: commands that an app runs in the person's chat are its proposals too. ok is false for everybody else.
func proberOf(tx store.Tx, keyID string, person wallet.UserID) (p prober, ok bool, err error) {
	if keyID == "" || person == "" {
		return p, false, nil
	}
	key, err := tx.Key(keyID)
	switch {
	case errors.Is(err, store.ErrNotFound): // it can propose nothing any more
		return p, false, nil
	case err != nil || key.Owner == person:
		return p, false, err
	case key.App != "":
		return prober{string(person) + " " + string(key.App), key.App}, true, nil
	}
	return prober{about: string(person) + " key " + key.Lineage()}, true, nil
}

// probingPaused returns POLICY_VIOLATION while everything is refused that is proposed with a key to a person.
func (s *Transactions) probingPaused(tx store.Tx, keyID string, person wallet.UserID) error {
	p, ok, err := proberOf(tx, keyID, person)
	if err != nil || !ok {
		return err
	}
	until, err := probingPauses().Next(tx, s.Now(), p.about)
	if err == nil && !until.IsZero() {
		return wallet.Refuse(wallet.PolicyViolation, wallet.RefusedByPrivateRule)
	}
	return err
}

// mayProbe counts a proposal of an app of somebody else before it is judged. It refuses one that could not be put to the owner anyway: its answer
// would depend on private rules, and the owner would not see the question. It does nothing for everybody else. Errors: POLICY_VIOLATION during a pause,
// BOT_BLOCKED, RATE_LIMIT_EXCEEDED.
func (s *Transactions) mayProbe(ctx context.Context, keyID string, person wallet.UserID) error {
	var counted bool
	err := s.Store.View(ctx, func(tx store.Tx) (err error) {
		if err := s.probingPaused(tx, keyID, person); err != nil {
			return err
		}
		_, counted, err = proberOf(tx, keyID, person)
		return err
	})
	if err != nil || !counted {
		return err
	}
	return s.Store.Update(ctx, func(tx store.Tx) error {
		p, ok, err := proberOf(tx, keyID, person)
		if err != nil || !ok {
			return err
		}
		owner, err := tx.User(person)
		if err != nil {
			return err
		}
		if err := reachable(owner); err != nil {
			return err
		}
		if err := roomToAsk(tx, owner); err != nil {
			return err
		}
		switch again, err := judgedProposals().Spend(tx, s.Now(), p.about); {
		case err != nil:
			return err
		case !again.IsZero():
			return askedTooOften(again)
		}
		return nil
	})
}

// countRefusal counts a refusal by a Private rule, before it is returned to who proposed. With the last one that has room the pause begins,
// and the person is notified. It does nothing for other errors.
func (s *Transactions) countRefusal(ctx context.Context, keyID string, person wallet.UserID, refused error) error {
	if wallet.ReasonOf(refused).Key != wallet.RefusedByPrivateRule {
		return nil
	}
	return s.Store.Update(ctx, func(tx store.Tx) error {
		now := s.Now()
		p, ok, err := proberOf(tx, keyID, person)
		if err != nil || !ok {
			return err
		}
		if until, err := probingPauses().Next(tx, now, p.about); err != nil || !until.IsZero() { // another one of several at once began it
			return err
		}
		if _, err := privateRefusals().Spend(tx, now, p.about); err != nil {
			return err
		}
		if full, err := privateRefusals().Next(tx, now, p.about); err != nil || full.IsZero() {
			return err
		}
		details := wallet.SecurityDetails{App: p.app}
		switch app, err := tx.App(p.app); {
		case err == nil:
			details.AppName = app.Name
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		return errors.Join(probingPauses().Renew(tx, now, p.about),
			store.LogSecurityAndNotify(tx, person, now, wallet.LogAccessPaused, details))
	})
}
