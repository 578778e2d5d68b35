package handlers

import (
	"errors"

	"purser/store"
	"purser/wallet"
)

// granted reports whether a person has granted a scope to the caller's app. It is false for callers without an app.
// POLICY_VIOLATION if it is granted and the person's account is frozen.
func granted(tx store.Tx, who Caller, person wallet.UserID, scope wallet.Scope) (bool, error) {
	if who.App == "" || person == "" {
		return false, nil
	}
	grant, err := tx.Grant(person, who.App)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || !grant.Covers(scope) {
		return false, err
	}
	return true, usable(tx, person, wallet.ByApp)
}

// consented returns nil if the caller may act for a person within a scope: as that person, as an operator's bot token, or
// as an app with a grant for the scope. POLICY_VIOLATION while the person's account is frozen. Otherwise it returns CONSENT_REQUIRED (docs/specification.md, Whose data), whose
// message says how to get consent: by a link that opens the bot, if its name is known.
func consented(tx store.Tx, bot BotName, who Caller, person wallet.UserID, scope wallet.Scope) error {
	switch {
	case who.User != "" && who.User == person:
		return usable(tx, person, who.useOf(person))
	case who.operator() && who.Bot && scope == wallet.BotSend: // what an operator writes only informs
		return nil
	case who.operator() && who.Bot:
		return usable(tx, person, wallet.ByApp)
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

// BotName returns the bot's username without @, or "" until Telegram has reported it. A nil BotName is the same as "".
type BotName func() string
