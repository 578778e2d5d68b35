// Package chat is what can be said: commands, conversations and their wording. Its answers are data. It refuses to know
// Telegram's wire (see bot), what an operation does (see handlers) and how Solana is spoken to.
//
// A Chat answers Inputs. Receive reads what the store knows of whoever did something, and finds the Endpoint that it is
// for; a front's router runs it; the Turn that comes of it writes conversation, operation and replies in one store
// transaction. In between, a Handler does what is slow and returns an Action, which runs in a replyTx.
//
// Everything that people can talk about is a conversation: a value with its commands, its table of questions (Flow) and
// what answers them, in a file of its own beside its sentences (send.go, send.en.toml). all.go lists them. The rest is
// the kernel, which knows none of them by name.
package chat

import (
	"time"

	"purser/store"
	"purser/wallet"
)

// Person is who says something. Identify by TelegramID only: names and usernames change hands.
type Person struct {
	TelegramID                              int64
	Username, FirstName, LastName, Language string
	IsBot                                   bool
}

// Input is one thing that somebody did in a chat, as the front has read it. Exactly one of Text,
// Tap, Contact and Picked is meant.
type Input struct {
	Chat      int64
	Private   bool // a chat with one person; money and keys only there
	MessageID int  // of the message that was written, or that holds the tapped button
	From      Person
	At        time.Time
	Text      string // the whole text, newlines and all; "" where it held a secret
	ReplyTo   int    // the message in this chat that it replies to; 0 for none
	Secret    Secret // what Text held. Fronts look for it before they keep anything
	Forwarded bool   // somebody else's words: never a command
	Edited    bool   // an edit of an older message: never a command
	Tap       *Tap
	Contact   *Contact
	Picked    *Picked
}

// Tap is a touch of an inline button. Data is what the client claims; only a nonce that the store
// knows means anything.
type Tap struct {
	CallbackID string
	Data       string
}

// Contact says that somebody shared a phone number, which fronts leave out.
type Contact struct {
	TelegramID int64 // whose it is, by Telegram's word; 0 unknown
}

// Picked is who was chosen from Telegram's list of people.
type Picked struct {
	Request    int32 // of the Keyboard that asked
	TelegramID int64 // 0 when it was not exactly one person
}

// ReplyKind is what a reply does.
type ReplyKind string

// The kinds of reply.
const (
	Message ReplyKind = "message" // sends, or edits the message of its card
	Photo   ReplyKind = "photo"   // sends a PNG with Text as its caption
	Toast   ReplyKind = "toast"   // answers a tap; worthless after some seconds
	Strip   ReplyKind = "strip"   // takes the buttons from a message
	Delete  ReplyKind = "delete"  // removes a message, for example one with words typed into it
)

// Reply is one thing to say. It is stored as store.Reply.Body in the transaction that makes it
// true, and sent by the front afterwards.
type Reply struct {
	Kind       ReplyKind  `json:"kind"`
	Text       string     `json:"text,omitempty"`       // Telegram HTML, everything foreign escaped; of a toast: plain
	ParseMode  string     `json:"parse_mode,omitempty"` // of a message by an app; "" is HTML
	Buttons    [][]Button `json:"buttons,omitempty"`
	Keyboard   *Keyboard  `json:"keyboard,omitempty"` // of a message without buttons and card
	PNG        []byte     `json:"png,omitempty"`
	CallbackID string     `json:"callback_id,omitempty"` // of a toast
	Alert      bool       `json:"alert,omitempty"`       // of a toast: a box that must be closed
	MessageID  int        `json:"message_id,omitempty"`  // of a delete or a strip
	Anew       bool       `json:"anew,omitempty"`        // of a card: a new message, below all others
	Receipts   *Receipts  `json:"receipts,omitempty"`    // of a message that tells of payments that came in
	Secret     bool       `json:"secret,omitempty"`      // never in logs, events or idempotency records

	// Author is the app whose message it is, to which an answer goes: an app's id, wallet.ToOperators, or of a
	// key of no app its line, which takes no answers.
	Author wallet.AppID `json:"author,omitempty"`
}

// Receipts is what a message says about payments that came in: one payment, or several that are folded.
type Receipts struct {
	Count    int            `json:"count"`              // of payments
	Asked    int            `json:"asked,omitempty"`    // of these paid a request of the person's
	Unlisted int            `json:"unlisted,omitempty"` // of these are of tokens that are on no list: anybody can make such a token
	Totals   []ReceiptTotal `json:"totals,omitempty"`   // of all other payments, each token in the order in which it came first
}

// ReceiptTotal is what came of one token, in base units. A token has more than one total if its sum exceeds 64 bits.
type ReceiptTotal struct {
	Token wallet.Token `json:"token"`
	Units uint64       `json:"units"`
}

// Button is one inline button: exactly one of Data, URL and Copy is set.
type Button struct {
	Text string `json:"text"`
	Data string `json:"data,omitempty"` // a nonce of store.Button
	URL  string `json:"url,omitempty"`
	Copy string `json:"copy,omitempty"` // copied to the clipboard (Bot API copy_text)
}

// Keyboard takes the place of a person's ordinary keyboard, or gives it back: one of People, Contact
// and Remove is set.
type Keyboard struct {
	People  string `json:"people,omitempty"`  // label of a key that opens the list of people (Bot API request_users)
	Contact string `json:"contact,omitempty"` // label of a key that shares the person's own contact (request_contact)
	Request int32  `json:"request,omitempty"` // comes back in Picked
	Remove  bool   `json:"remove,omitempty"`
}

// Turn is what an Input leads to. Commit writes all of it (conversation, operation, replies) in the
// caller's store transaction, together with the inbox row; store.ErrConflict means that the
// world moved meanwhile and the Input is to be handled again from the start.
type Turn struct {
	Commit func(tx store.Tx) error
}
