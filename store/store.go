// Package store is the contract of what purser remembers, and the sealing of what is sensitive in it.
//
// Store is one database. Its View and Update give a Tx, whose verbs (Users, Wallets, Transactions, Jobs ...) read and
// write rows that become true together. A Job is work that waits in a Queue; package work claims and ends jobs.
// Create, Step and Schedule write a step of a transaction with its events and the job that looks at it next. A Sweeper
// removes what is over. Key and Keyring seal fields by a key for each person.
//
// It refuses to know how rows are laid out (see store/records), how an engine keeps bytes (see store/engine and
// store/bolt), and what the rows mean to the people they are about (see handlers).
package store

import (
	"context"
	"errors"
	"time"

	"purser/wallet"
)

// ErrNotFound says that there is no such row.
var ErrNotFound = errors.New("store: not found")

// ErrConflict says that a row is there already, or is no longer the version that was read.
var ErrConflict = errors.New("store: changed meanwhile")

// ErrDamaged says that a row, or what leads to it, is not what was written.
var ErrDamaged = errors.New("store: damaged row")

// ErrUnknownOutcome says that a commit failed in a way that leaves open whether it took effect.
// It is never "failed": the process stops, and the next start reads what is true.
var ErrUnknownOutcome = errors.New("store: outcome of a commit unknown")

// ErrClosed answers every call after Close.
var ErrClosed = errors.New("the store is closed")

// Store is one database. All rows of one Update become true together, or none.
type Store interface {
	// View runs read on a consistent snapshot. Long ones cost space: keep them short.
	View(ctx context.Context, read func(Tx) error) error
	// Update runs change and commits what it wrote, durably, before it returns. An error of
	// change rolls everything back and is returned as it is. change may be run more than once:
	// it talks to its tx and assigns results, nothing else. A queued Update is not cancelled by
	// ctx once it is queued: its outcome is waited for. A panic of change rolls back and goes on
	// in the caller.
	Update(ctx context.Context, change func(Tx) error) error
	// Changed is signalled (buffered, one slot) after a commit that added to a queue, so that its
	// worker need not poll; not for jobs that PutJobs leased, which the caller hands over. A signal is a hint: the
	// queue is the truth.
	Changed(Queue) <-chan struct{}
	// KeysVersion rises with every commit that touched an API key or a webhook, before its Update returns: what was
	// read of these since the number was asked for holds while it stays the same.
	KeysVersion() uint64
	// Kinds are Transactions.Kinds, for what needs no row.
	Kinds() wallet.Kinds
	Close() error
}

// Queue names a list of rows that wait for a worker.
type Queue string

// The queues, each with the worker that empties it.
const (
	Inbox  Queue = "inbox"  // Telegram updates, for bot
	Outbox Queue = "outbox" // replies to be sent, for bot
	Events Queue = "events" // events not yet turned into chat messages, for notify
	// Settlement are transactions with a next look, for settle: signed ones, and those that wait for their owner until
	// their time is over.
	Settlement Queue = "settlement"
	// Collecting are transactions that nobody here has signed and that the chain may show all the same, for settle:
	// requests for payment, and those that were rejected or ran out with a blockhash in a device's hands. They have
	// workers of their own, so that no number of them delays a signed payment.
	Collecting Queue = "collecting"

	// Silences are conversations that end by themselves when nobody answers, for chat (Converse).
	Silences Queue = "silences"

	// Relay has one job while events wait to be turned into deliveries, and Deliveries one for each webhook that something
	// waits for, by its id. The store puts them.
	Relay      Queue = "relay"
	Deliveries Queue = "webhooks"
	// Announced is no queue of jobs: Changed tells of events that wait to be turned into deliveries.
	Announced Queue = "announced"
)

// Tx is one store transaction: the domain's verbs. Reads see the writes before them. A verb that
// answers ErrConflict or ErrNotFound has written nothing: the closure may go on. A row that is
// returned belongs to the caller: nothing in it points into the engine.
//
// A verb about one subject answers an error when a row that it needs cannot be decoded or unsealed.
// The lists that workers live by (WebhooksOf, WebhooksOfOwner, Announcements, DeliveriesOf, ClaimJobs) and Sweep pass over such a
// row instead, so that it holds up nobody else: it is kept, and the operator is told once in a process,
// without its contents. UnsettledFrom passes over nothing: money is never judged without a row.
type Tx interface {
	Users
	Wallets
	Transactions
	Contacts
	Chats
	Queues
	Jobs
	Keys
	Passes
	Apps
	Webhooks
	Counters
	// Sweep removes up to limit rows whose time is over at now (seen update ids, buttons, bind
	// links, replies that nobody would still want, idempotency answers, cards, counters, transactions that
	// came to nothing, deliveries of webhooks and about people that are gone) and tells how many.
	Sweep(now time.Time, limit int) (int, error)
}

// Users are the people who have written to the bot. Telegram ids are looked up by a keyed hash.
type Users interface {
	User(wallet.UserID) (wallet.User, error)
	UserByTelegram(id int64) (wallet.User, error)
	// PersonOf is the id of the user of a Telegram id, "" for a stranger. It reads nothing of theirs and costs little; a
	// decision about money asks UserByTelegram, which checks that the user's row says the same.
	PersonOf(telegramID int64) wallet.UserID
	// PutUser creates or replaces. A Telegram id that is another user's is ErrConflict.
	PutUser(wallet.User) error
	// EraseUser destroys the user's data key, so that nothing sealed by it can be read again, and
	// removes the user, their wallets, binds, contacts, conversations, buttons, cards, API keys, apps (with
	// every grant to them) and grants, webhooks, what is known of them as a developer, and what waits in
	// queues for them or about them (a long line of deliveries by Sweep). Their transactions leave every
	// list and read as ErrNotFound. What comes late writes nothing of theirs any more: events and
	// deliveries about them are ignored, any other row of theirs is ErrNotFound.
	EraseUser(wallet.UserID) error
}

// Wallets are proven addresses, and the links by which they are proven.
type Wallets interface {
	Wallet(wallet.Address) (wallet.Wallet, error)
	// WalletsOf lists a user's wallets, oldest first.
	WalletsOf(wallet.UserID) ([]wallet.Wallet, error)
	// PutWallet creates or replaces. An address that is another user's is ErrConflict.
	PutWallet(wallet.Wallet) error
	// DeleteWallet forgets whose an address is; ErrNotFound when it is nobody's.
	DeleteWallet(wallet.Address) error

	Bind(tokenHash [32]byte) (wallet.Bind, error)
	// BindOf is the newest link of a user, whatever its status.
	BindOf(wallet.UserID) (wallet.Bind, error)
	// PutBind creates or replaces; it becomes the user's newest.
	PutBind(wallet.Bind) error
}

// Transactions are kept from proposal to end.
type Transactions interface {
	// Kinds are those that this binary knows. A row of another is read by no worker and no operation: whatever reads it
	// fails with wallet.ErrUnknownKind. A store that ever held a kind which a binary does not know is not opened by it.
	Kinds() wallet.Kinds
	Transaction(wallet.TransactionID) (wallet.Transaction, error)
	// TransactionBySignID looks up by the secret of a sign link (kept as a keyed hash).
	TransactionBySignID(signID string) (wallet.Transaction, error)
	TransactionBySignature(wallet.Signature) (wallet.Transaction, error)
	// CreateTransaction stores a new one with Version 1; an id that exists is ErrConflict.
	CreateTransaction(wallet.Transaction) error
	// PutTransaction replaces the row whose Version is t.Version and raises the version by one;
	// any other version is ErrConflict, and so is a sign id or signature that is another's (a
	// receipt may share its sender's signature, which finds the sender's). No row: ErrNotFound.
	PutTransaction(t wallet.Transaction) error
	// UnsettledTransactions lists, oldest first, those that are not Closed, behind the last one of the page before:
	// the zero Transaction begins. That one may have ended meanwhile. It passes over damaged rows.
	UnsettledTransactions(after wallet.Transaction, limit int) ([]wallet.Transaction, error)
	// UnsettledFrom lists those of one address, oldest first: what reservations are summed over. A
	// damaged row is an error.
	UnsettledFrom(wallet.Address) ([]wallet.Transaction, error)
	// TransactionsOf lists an owner's, newest first. It costs what the page holds.
	TransactionsOf(owner wallet.UserID, p Page) ([]wallet.Transaction, error)
	// TransactionsAt lists those of a wallet, whosever it was: what it sent and what it received.
	TransactionsAt(at wallet.Address, p Page) ([]wallet.Transaction, error)
	// Recipients lists whom an owner's own transfers have reached (wallet.Rules.Reached), newest
	// first and each once; only the newest transfers, limit of them, are looked at. What others sent
	// does not count, however much of it there is.
	Recipients(owner wallet.UserID, limit int) ([]wallet.Address, error)
}

// Page is a part of a list, newest first. The zero Page holds nothing: Limit must be set.
type Page struct {
	After wallet.TransactionID // the last one of the page before; "" from the start; ErrNotFound when it is none of the list
	Until time.Time            // none that was created at or after it; zero: no such bound
	Limit int
}

// Contacts are a person's own names for addresses. wallet.ContactKey tells one name from another.
type Contacts interface {
	// ContactsOf lists a user's contacts by name.
	ContactsOf(wallet.UserID) ([]wallet.Contact, error)
	// PutContact creates or replaces the contact of that owner and name.
	PutContact(wallet.Contact) error
	// DeleteContact removes it; ErrNotFound without one.
	DeleteContact(owner wallet.UserID, name string) error
}

// Conversation is where one person is in one chat. Data is the flow's own JSON, sealed. A person may have more than
// one in a chat, each in a slot of its own.
type Conversation struct {
	Chat      int64     `json:"chat"`
	User      int64     `json:"user"`           // Telegram id
	Slot      string    `json:"slot,omitempty"` // a constant of the program, stored in the clear; "" is the person's main conversation
	Flow      string    `json:"flow"`
	State     string    `json:"state"`
	Data      []byte    `json:"data"`
	ExpiresAt time.Time `json:"expires_at"` // zero: never falls silent
	Version   uint64    `json:"version"`
}

// Button is what an inline button means. Callback data holds Nonce and nothing else, so what a
// client claims about a button counts for nothing.
type Button struct {
	Nonce     string    `json:"nonce"`
	Chat      int64     `json:"chat"`
	User      int64     `json:"user"` // Telegram id of the only person it is for
	Action    string    `json:"action"`
	Subject   string    `json:"subject"` // e.g. a transaction id; sealed
	ExpiresAt time.Time `json:"expires_at"`
	UsedAt    time.Time `json:"used_at"` // zero: not yet
}

// Chats hold what the bot must remember of its conversations.
type Chats interface {
	// Conversation of a person in a slot of a chat; without one, a row with Version 0 and only Chat, User
	// and Slot set. EraseUser removes all of a person's, in every slot.
	Conversation(chat, user int64, slot string) (Conversation, error)
	// PutConversation replaces the row of Version c.Version (0: none yet) and raises the version;
	// any other version is ErrConflict. State "" removes the row's content but keeps its version. Converse has it time out, too.
	PutConversation(c Conversation) error

	Button(nonce string) (Button, error)
	PutButtons([]Button) error
	// UseButtons marks every button of the same chat, user and subject as used at now; one that
	// was used before keeps its time.
	UseButtons(chat, user int64, subject string, now time.Time) error

	// Card is the Telegram message that shows a subject in a chat (ErrNotFound: none yet), so
	// that later states are edits of it. It is kept until its time is over; the zero time is for good.
	// Message 0 is a card that is to be sent anew, or a mark that no message shows: chat marks that way what a
	// payment's owner was told ("rang:…"), for as long as the payment is unsettled.
	Card(chat int64, card string) (messageID int, err error)
	PutCard(chat int64, card string, messageID int, until time.Time) error

	// Outcome is what became of the reply of a card that somebody waits for (Reply.OutcomeUntil), also one whose time is
	// over; ErrNotFound without one.
	Outcome(chat int64, card string) (Outcome, error)
	// PutOutcome creates or replaces.
	PutOutcome(chat int64, card string, o Outcome) error
	// DropOutcome removes it; without one it does nothing.
	DropOutcome(chat int64, card string) error
}

// Outcome is how a reply ended that became a message, or why it became none. The node that sends it writes this in the
// Update that ends the reply's job, and whichever node waits for it reads and removes it. All of it is sealed.
type Outcome struct {
	MessageID int       `json:"message_id,omitempty"` // in its chat; 0: it became no message
	Blocked   bool      `json:"blocked,omitempty"`    // the person, or the group, takes no messages from the bot
	Refusal   string    `json:"refusal,omitempty"`    // what Telegram said against it
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Reply is one message to be sent. Body is the front's own JSON, sealed. It waits as a job of the outbox: see Enqueue.
type Reply struct {
	ID       JobID // of its job in the outbox, set by the store
	Chat     int64
	Priority int    // smaller goes first: answers 0, confirmations 1, alerts 2, messages of apps 3
	Card     string // "" or the subject whose message it creates or edits
	App      string // "" or the app that sends it, whose share of the chat it takes

	// CardUntil is until when Card remembers the message; zero: for good. What is over already is not kept.
	CardUntil time.Time
	// OutcomeUntil is until when Outcome says what became of the reply; zero: nobody asks. It needs a Card, by which it is
	// asked for.
	OutcomeUntil time.Time

	Body     []byte
	At       time.Time
	NotAfter time.Time // zero: keep trying; else dropped when late (toasts)
}

// Answer is what an Idempotency-Key was answered with. Body is sealed.
type Answer struct {
	Fingerprint [32]byte  `json:"fingerprint,omitzero"` // of the request's body
	Status      int       `json:"status"`
	Body        []byte    `json:"body,omitzero"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// Queues are what waits for a worker and is no job by itself: updates that were seen, events that are put as jobs or
// turned into deliveries, and answers of idempotency keys.
type Queues interface {
	// NoteUpdate notes the id of a Telegram update and tells whether it was noted before, within SeenFor.
	NoteUpdate(now time.Time, id int64) (known bool, err error)
	// Emit appends events: those that people are told of (wallet.EventName.NotifiesOwner) become jobs of the queue Events,
	// with the event's id as theirs and the person as their key (see EventOf), and to Announcements go those that are public, if there is any webhook at all. An id that was emitted before
	// is ignored; one of an event that went to neither was not.
	Emit(...wallet.Event) error
	// PendingEvents lists the events of the queue Events, in the order in which they were emitted.
	PendingEvents(limit int) ([]wallet.Event, error)

	// Answer of an idempotency key; ErrNotFound when the key is free at now. Within an Update, a
	// key whose answer is over is thereby free for PutAnswer.
	Answer(key string, now time.Time) (Answer, error)
	// PutAnswer keeps it; a key that is taken is ErrConflict.
	PutAnswer(key string, a Answer) error
	// DropAnswer frees a key; one that is free is no error.
	DropAnswer(key string) error
}

// Keys are API keys, by a keyed hash of their secret.
type Keys interface {
	Key(id string) (wallet.Key, error)
	KeyBySecret(secret string) (wallet.Key, error)
	// CreateKey keeps the key and the keyed hash of its secret, never the secret. An id or secret
	// that exists is ErrConflict.
	CreateKey(k wallet.Key, secret string) error
	// PutKey replaces the key of that id; ErrNotFound without one, ErrConflict when it is another owner's.
	PutKey(wallet.Key) error
	// AllKeys lists them, oldest first.
	AllKeys() ([]wallet.Key, error)
	// KeysOf lists a person's, oldest first.
	KeysOf(owner wallet.UserID) ([]wallet.Key, error)
}

// Apps are developers, their programs, and who allows these what.
type Apps interface {
	App(wallet.AppID) (wallet.App, error)
	// AppsOf lists a developer's ("": the operator's), oldest first.
	AppsOf(owner wallet.UserID) ([]wallet.App, error)
	// AllApps lists everybody's, in no order. It reads every app there is: only for what is done rarely.
	AllApps() ([]wallet.App, error)
	// PutApp creates or replaces; an app of another owner is ErrConflict.
	PutApp(wallet.App) error

	Grant(user wallet.UserID, app wallet.AppID) (wallet.Grant, error)
	// GrantsOf lists what a person has allowed, oldest first.
	GrantsOf(user wallet.UserID) ([]wallet.Grant, error)
	PutGrant(wallet.Grant) error
	// DeleteGrant takes it back; ErrNotFound without one.
	DeleteGrant(user wallet.UserID, app wallet.AppID) error

	// Developer is what is known of a person as a developer; the zero value with User set when nothing is.
	Developer(wallet.UserID) (wallet.Developer, error)
	PutDeveloper(wallet.Developer) error
}

// Counter is how often something was done, in equal slots of time, so that a limit that is rolling
// need not remember every time. Its name is its counter's own (see quota); no secret and no Telegram id may
// be in it (see CounterName).
type Counter struct {
	Name      string    `json:"name"`
	Slots     []Slot    `json:"slots"` // oldest first
	ExpiresAt time.Time `json:"expires_at"`
	// Leases are the parts of it that nodes may spend without writing (quota.Meter), one for each node.
	Leases []QuotaLease `json:"leases,omitempty"`
}

// QuotaLease is what one node may spend of a counter before it writes again, and what it may have lost.
type QuotaLease struct {
	Node  string `json:"node"`
	Run   int64  `json:"run"`            // the node's life that holds it
	Count uint64 `json:"count"`          // how often it may still count, and not have written it; it counts as spent
	Until int64  `json:"until,omitzero"` // in seconds of Unix
	Lost  Slot   `json:"lost,omitzero"`  // what the last crash or pause of the node may have spent: counts as spent
}

// Slot is one slot of a counter: how often in the slot that began at Start (Unix seconds).
type Slot struct {
	Start int64  `json:"start"`
	Count uint64 `json:"count"`
}

// Counters are what limits are counted by.
type Counters interface {
	// Counter by its name; ErrNotFound without one.
	Counter(name string) (Counter, error)
	// PutCounters creates or replaces.
	PutCounters([]Counter) error
	// CounterName names a counter of a kind about what nobody may read in it, such as a Telegram id or a
	// mail address: it holds a keyed hash of that.
	CounterName(kind, about string) string
}
