package handlers

import (
	"strconv"
	"time"

	"purser/quota"
	"purser/wallet"
)

// How often something may be done for one person, or to them, whichever node does it. Each is counted in the store
// transaction of what is done, by account; codesTo by mailbox.

// asked bounds the questions of programs to one person, whichever of their wallets it is about.
func asked() quota.Direct { return quota.Direct{Kind: "ask", Most: maxAskedHourly, Span: time.Hour} }

// offered bounds the links that programs have one person sent, whatever became of them.
func offered() quota.Direct { return quota.Direct{Kind: "offer", Most: 1, Span: offerPause} }

// wished bounds how often apps may change their wishes about one person, who is told each time.
func wished() quota.Direct { return quota.Direct{Kind: "wish", Most: 20, Span: time.Hour} }

// operatorsAsked bounds questions to the operators. A no begins the pause anew, a yes ends it.
func operatorsAsked() quota.Direct {
	return quota.Direct{Kind: "operators", Most: 1, Span: AskPause}
}

// codesMailed and codesTo bound the codes that are mailed: for a person, and to an address.
func codesMailed() quota.Direct {
	return quota.Direct{Kind: "mail", Most: CodesAnHour, Span: time.Hour}
}
func codesTo() quota.Direct {
	return quota.Direct{Kind: "mail_to", Most: CodesAnHour, Span: time.Hour}
}

// account is how a person is counted: by what stays the same when they are erased and come back.
func account(u wallet.User) string { return strconv.FormatInt(u.TelegramID, 10) }
