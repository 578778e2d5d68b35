package handlers

import (
	"errors"

	"purser/store"
	"purser/wallet"
)

// granted tells whether a person lets the caller's app do a family of operations.
func granted(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) (bool, error) {
	if who.App == "" || person == "" {
		return false, nil
	}
	grant, err := tx.Grant(person, who.App)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && grant.Covers(scope), err
}

// consented refuses what a person has not allowed: the caller is that person, an operator's bot token,
// or an app with a grant that covers the scope; else CONSENT_REQUIRED (docs/specification.md, Whose data).
func consented(tx store.Tx, bot BotName, who Caller, person wallet.UserID, scope wallet.Scope) error {
	if who.User != "" && who.User == person || who.operator() && who.Bot {
		return nil
	}
	ok, err := granted(tx, who, person, scope)
	if err != nil || ok {
		return err
	}
	if who.App == "" {
		return wallet.Refuse(wallet.ConsentRequired, "consent_needed.no_app")
	}
	if bot == nil || bot() == "" {
		return wallet.Refuse(wallet.ConsentRequired, "consent_needed.start", wallet.TextArg("App", who.App), wallet.TextArg("Scope", scope))
	}
	return wallet.Refuse(wallet.ConsentRequired, "consent_needed.link",
		wallet.TextArg("URL", "https://t.me/"+bot()+"?start="+string(who.App)), wallet.TextArg("Scope", scope))
}

// BotName tells the bot's username without @; "", like none, while it is not known.
type BotName func() string
