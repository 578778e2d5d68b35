// Package chat holds what people can say to purser and what it answers: commands, conversations and their wording. Its
// answers are data. It does not know Telegram's protocol (see bot), what an operation does (see handlers) or how to reach
// Solana (see chain).
//
// A front, such as bot, handles each Input in three steps:
//
//  1. Chat.Receive reads the person, the conversation and the tapped button from the store, and returns an Inbound with
//     the Route of its Endpoint.
//  2. The front's router calls Endpoint.Handle with no store transaction open. The Handler does the slow work, such as
//     asking a Solana node, and returns an Action.
//  3. The front commits the resulting Turn. The Action runs in a replyTx, which writes the conversation, the operation
//     and the replies in one store transaction.
//
// A conversation is one value: its commands, its table of states (Flow) and the handlers of its buttons and answers. Its
// files begin with its name (send.go, send_draft.go), beside its sentences (send.en.toml), and all.go lists them all. The
// rest of the package is the kernel. The kernel finds conversations through the registry and knows none of them by name.
//
// Events take a shorter way: notify calls Chat.Notify, which finds the notice for the type of event and queues its replies. A
// Card says how transactions of one kind are shown.
package chat

import (
	"time"

	"purser/store"
	"purser/wallet"
)

// Person is the Telegram account that an Input comes from. Identify people by TelegramID only: names and usernames can
// pass to other accounts.
type Person struct {
	TelegramID                              int64
	Username, FirstName, LastName, Language string
	IsBot                                   bool
}

// Input is one thing that a person did in a chat, as the front has parsed it. At most one of Text, Tap, Contact and
// Picked is set. Text is also empty where the front removed a secret.
type Input struct {
	Chat      int64
	Private   bool // a chat with one person; money and keys are handled only there
	MessageID int  // the person's message, or the message that holds the tapped button
	From      Person
	At        time.Time
	Text      string // the whole text with its newlines; "" if it held a secret
	ReplyTo   int    // the message in this chat that it replies to; 0 for none
	Secret    Secret // the kind of secret that Text held; fronts check this before they store an Input
	Forwarded bool   // forwarded from somebody else: never read as a command
	Edited    bool   // an edit of an older message: never read as a command
	Tap       *Tap
	Contact   *Contact
	Picked    *Picked
}

// Tap is a tap of an inline button. Data comes from the client and proves nothing: it counts only as a nonce that the
// store knows (store.Button).
type Tap struct {
	CallbackID string
	Data       string
}

// Contact is a shared phone contact. Fronts drop the phone number itself.
type Contact struct {
	TelegramID int64 // the contact's account as Telegram reports it; 0 if unknown
}

// Picked is the person chosen from Telegram's list of people.
type Picked struct {
	Request    int32 // Keyboard.Request of the keyboard that opened the list
	TelegramID int64 // 0 when it was not exactly one person
}

// ReplyKind says what the front does with a reply.
type ReplyKind string

// The kinds of reply.
const (
	Message  ReplyKind = "message"  // sends a message, or edits the message that shows its card
	Photo    ReplyKind = "photo"    // sends a PNG with Text as its caption, or puts both into the message MessageID
	Document ReplyKind = "document" // sends File under FileName with Text as its caption
	Toast    ReplyKind = "toast"    // answers a tap; Telegram ignores it after some seconds (see toastLife)
	Strip    ReplyKind = "strip"    // removes the buttons of a message
	Delete   ReplyKind = "delete"   // deletes a message, for example one with a recovery phrase in it
)

// Reply is one message or other effect for a chat. It is stored as JSON in store.Reply.Body, in the same transaction as the
// change that it reports. The front sends it after that transaction has committed.
type Reply struct {
	Kind       ReplyKind  `json:"kind"`
	Text       string     `json:"text,omitempty"`       // Telegram HTML with all foreign text escaped; plain text in a toast
	ParseMode  string     `json:"parse_mode,omitempty"` // set only for messages of apps; "" is HTML
	Buttons    [][]Button `json:"buttons,omitempty"`
	Keyboard   *Keyboard  `json:"keyboard,omitempty"` // only for a message without buttons and without a card
	PNG        []byte     `json:"png,omitempty"`
	File       []byte     `json:"file,omitempty"`
	FileName   string     `json:"file_name,omitempty"`
	CallbackID string     `json:"callback_id,omitempty"` // of a toast
	Alert      bool       `json:"alert,omitempty"`       // toast only: a dialog that the person must close
	MessageID  int        `json:"message_id,omitempty"`  // the message that a Delete, Strip or Photo acts on
	NewMessage bool       `json:"new_message,omitempty"` // card only: send a new message at the bottom of the chat instead of editing
	Receipts   *Receipts  `json:"receipts,omitempty"`    // set when the message reports incoming payments
	Secret     bool       `json:"secret,omitempty"`      // never in logs, events or idempotency records

	// Author is the app that wrote the message; replies to the message go to it. It is an app's id, wallet.ToOperators,
	// or the lineage of a key that belongs to no app. Such a key takes no replies.
	Author wallet.AppID `json:"author,omitempty"`
}

// Receipts summarizes the incoming payments that a message reports: one payment, or several folded into one message.
type Receipts struct {
	Count     int            `json:"count"`              // number of payments
	Requested int            `json:"asked,omitempty"`    // of these, the number that paid a payment request of this person
	Unlisted  int            `json:"unlisted,omitempty"` // of these, the number in unlisted tokens, which anybody can create
	Totals    []ReceiptTotal `json:"totals,omitempty"`   // sums of all other payments; tokens in order of their first payment
}

// ReceiptTotal is the sum received of one token, in base units. A token has several totals if its sum exceeds 64 bits.
type ReceiptTotal struct {
	Token wallet.Token `json:"token"`
	Units uint64       `json:"units"`
}

// Button is one inline button: exactly one of Data, URL and Copy is set.
type Button struct {
	Text string `json:"text"`
	Data string `json:"data,omitempty"` // the nonce of a store.Button
	URL  string `json:"url,omitempty"`
	Copy string `json:"copy,omitempty"` // copied to the clipboard (Bot API copy_text)
}

// Keyboard replaces the person's ordinary keyboard, or restores it. Exactly one of People, Contact and Remove is set.
type Keyboard struct {
	People  string `json:"people,omitempty"`  // label of the key that opens the list of people (Bot API request_users)
	Contact string `json:"contact,omitempty"` // label of the key that shares the person's own contact (request_contact)
	Request int32  `json:"request,omitempty"` // returned in Picked.Request
	Remove  bool   `json:"remove,omitempty"`
}

// Turn is the outcome of an Input, ready to be written. Commit writes the conversation, the operation and the replies in the
// caller's store transaction, together with the end of the inbox job. store.ErrConflict means that the stored state changed
// after it was read: the caller must handle the Input again from the start. The store may run Commit more than once.
type Turn struct {
	Commit func(tx store.Tx) error
}
