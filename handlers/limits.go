package handlers

import (
	"strconv"
	"time"

	"purser/quota"
	"purser/wallet"
)

// How often something may be done for one person, or to them, whichever node does it. Each is counted in the store
// transaction of what is done, by account; codesTo by mailbox.

// questionLimit limits the questions of programs to one person, across all their wallets.
func questionLimit() quota.Direct {
	return quota.Direct{Kind: "ask", Most: maxAskedHourly, Span: time.Hour}
}

// offerLimit limits the wallet links that programs have sent to one person, whether used or not.
func offerLimit() quota.Direct { return quota.Direct{Kind: "offer", Most: 1, Span: offerPause} }

// appEventsLimit limits how often apps may change their subscription to events about one person, who is notified each time.
func appEventsLimit() quota.Direct {
	return quota.Direct{Kind: "app_events", Most: 20, Span: time.Hour}
}

// settingsByKeyLimit limits how often keys change a person's settings: the person is notified of each change.
func settingsByKeyLimit() quota.Direct {
	return quota.Direct{Kind: "settings_by_key", Most: 20, Span: time.Hour}
}

// operatorsAsked limits how often one person may ask the operators for approval. A denial restarts the pause, and an
// approval ends it.
func operatorsAsked() quota.Direct {
	return quota.Direct{Kind: "operators", Most: 1, Span: AskPause}
}

// codesMailed limits the codes mailed for one person, and codesTo those mailed to one address.
func codesMailed() quota.Direct {
	return quota.Direct{Kind: "mail", Most: CodesAnHour, Span: time.Hour}
}
func codesTo() quota.Direct {
	return quota.Direct{Kind: "mail_to", Most: CodesAnHour, Span: time.Hour}
}

// account returns the key by which a person is counted. The Telegram ID survives erasure, so erasing an account resets no
// limit.
func account(u wallet.User) string { return strconv.FormatInt(u.TelegramID, 10) }
