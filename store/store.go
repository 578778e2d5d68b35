// Package store is the contract of what purser stores, and the sealing of what is sensitive in it.
//
// Its main types:
//
//   - Store is one database. View and Update run a closure with a Tx
//   - Tx has the domain's verbs (Users, Wallets, Transactions, Jobs ...). What one Update writes becomes true together
//   - Job is work that waits in a Queue. Package work claims and ends jobs
//   - Create, Begin, Step and Schedule write a step of a transaction with its events and the job of its next check
//   - Sweeper removes rows whose time is over
//   - Key and Lookup seal fields and make keyed hashes
//
// An Update reads, decides, writes and announces in one closure:
//
//	err := s.Update(ctx, func(tx store.Tx) error {
//		t, err := tx.Transaction(id)
//		if err != nil {
//			return err
//		}
//		_, err = store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerRejected, At: now})
//		return err
//	})
//
// The package does not know how rows are laid out (store/records), how an engine keeps bytes (store/engine,
// store/bolt), or what the rows mean to the people they are about (handlers).
package store

import (
	"context"
	"errors"
	"time"

	"purser/wallet"
)

// ErrNotFound says that there is no such row. For a row about an erased person it is the answer too.
var ErrNotFound = errors.New("store: not found")

// ErrConflict says that a row exists already, or is no longer the version that was read. The caller reads again and
// decides again, or reports the conflict.
var ErrConflict = errors.New("store: changed meanwhile")

// ErrDamaged says that a row, or an index entry that leads to it, is not what was written. Only a backup brings it
// back.
var ErrDamaged = errors.New("store: damaged row")

// IsDamaged reports whether an error is about one row that is there and cannot be read: it is not what was written, or
// cannot be unsealed. Other rows can be.
func IsDamaged(err error) bool { return errors.Is(err, ErrDamaged) || errors.Is(err, ErrUnsealed) }

// IgnoreNotFound returns err, or nil if it is ErrNotFound: for a caller that has nothing to do without the row.
func IgnoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// ErrUnknownOutcome says that a commit failed in a way that leaves open whether it took effect. Nobody may treat it as
// "failed": the process stops, and the next start reads what is true.
var ErrUnknownOutcome = errors.New("store: outcome of a commit unknown")

// ErrClosed is the error of every call after Close.
var ErrClosed = errors.New("the store is closed")

// IsFatal reports whether an error of the store is one after which nothing can be tried again by this process: the outcome of a
// commit is unknown, or the store is closed. A worker returns it from Run.
func IsFatal(err error) bool { return errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrClosed) }

// Store is one database. Any number of goroutines may use it. All rows of one Update become true together, or none
// does.
type Store interface {
	// View runs read on a consistent snapshot, on the caller's goroutine. While it runs, the database keeps every page
	// that changes: keep it short, and wait for nothing in it.
	View(ctx context.Context, read func(Tx) error) error
	// Update runs change and commits what it wrote, durably, before it returns. An error of change rolls everything
	// back and is returned as it is. change may run more than once: it uses its tx and assigns results, nothing else.
	// It may not call the network, send a message, append to an outer slice, or start another Update. ctx can cancel an
	// Update until it is queued. After that its outcome is waited for. A panic of change rolls back and continues in
	// the caller. An Update whose ctx is Deferrable may wait a little for the commit of others.
	Update(ctx context.Context, change func(Tx) error) error
	// Changed is signalled (buffered, one slot) after a commit that added to a queue, so that its worker need not poll.
	// Jobs that PutJobs leased to the caller signal nothing, since the caller hands them over. A signal is a hint, and
	// other nodes' commits may give none: the queue is the truth.
	Changed(Queue) <-chan struct{}
	// AccessVersion rises with every commit that touched an API key, a webhook, an app or a grant, and with a freeze, the end
	// of one, and the erasure of a person: before its Update returns on this node, and within a second on every other node, while the store's Run
	// runs there. Somebody who asks for the version, then reads such rows, may use what was read as long as the version
	// stays the same.
	AccessVersion() uint64
	// Kinds returns the kinds of transactions that this binary knows: Transactions.Kinds without a transaction.
	Kinds() wallet.Kinds
	// Close commits what is queued, waits for running Views, and closes the engine.
	Close() error
}

// Queue names a list of rows that wait for a worker.
type Queue string

// The queues. JobQueues lists the worker of each.
const (
	Inbox  Queue = "inbox"  // updates from Telegram, for bot
	Outbox Queue = "outbox" // messages to be sent to Telegram, for bot
	Events Queue = "events" // events that people are notified of in chat, for notify
	// Settlement has the transactions that settle checks again at some time: signed ones, and those that wait for their
	// owner until their deadline.
	Settlement Queue = "settlement"
	// Collecting has transactions that nobody signed through purser and that may appear on the chain all the same:
	// payment requests, and rejected or expired transactions whose blockhash a device had. They have workers of their
	// own, so that no number of them delays a signed payment.
	Collecting Queue = "collecting"
	// WalletScans has connected wallets whose balances on chain have changed, or whose histories are due to be read (OrderWatch).
	WalletScans Queue = "wallet_scans"
	// ArrivalSearches has wallets that hold more than is known to be final (OrderSearch), and ArrivingPayments the payments
	// that the chat shows as arriving (PutArrival).
	ArrivalSearches  Queue = "arrival_searches"
	ArrivingPayments Queue = "arriving_payments"
	// StakeChecks has wallets whose stakes are read from time to time (OrderStakeCheck).
	StakeChecks Queue = "stake_checks"
	// FoldedSummaries has people who are notified of how many small payments were folded (OrderSummary).
	FoldedSummaries Queue = "folded_summaries"

	// PortfolioSummaries has people who get summaries of their portfolio (OrderPortfolioSummary).
	PortfolioSummaries Queue = "portfolio_summaries"

	// NewsRounds has one job while there may be news that people have not got (OrderNews).
	NewsRounds Queue = "news_rounds"

	// HeldEvents has events that people are notified of when their quiet hours end (HoldEvent).
	HeldEvents Queue = "held_events"

	// ConversationTimeouts has the time-outs of conversations, for chat (SaveConversation).
	ConversationTimeouts Queue = "conversation_timeouts"

	// Relay has one job while events wait to be turned into deliveries. Deliveries has one for each webhook that
	// deliveries wait for, by the webhook's id. The store puts both.
	Relay      Queue = "relay"
	Deliveries Queue = "webhooks"
	// RelaySignal is not a queue of jobs: Changed(RelaySignal) is signalled when an event waits to be turned into
	// deliveries.
	RelaySignal Queue = "relay_signal"
)

// Tx is one store transaction: the verbs of the domain. Reads see the writes before them. A verb that returns
// ErrConflict or ErrNotFound has written nothing, and the closure may go on. A returned row belongs to the caller. One
// goroutine uses a Tx, and nobody may use it after the closure has returned.
//
// A verb about one subject returns an error if a row that it needs cannot be decoded or unsealed. The lists of workers
// (WebhooksOf, WebhooksOfOwner, OutboxEvents, DeliveriesOf, ClaimJobs) and Sweep pass over such a row, so that it
// holds nobody else up. The row stays, and the operator's log names it once in a process, without its contents.
// UnsettledFrom, UnsettledOf and ReservationsFrom pass over nothing: money is never judged without what a row says.
type Tx interface {
	Users
	Wallets
	FreezeLinks
	Policies
	Watches
	TokenPrices
	CurrencyRates
	Portfolios
	News
	NewsReaders
	Transactions
	Contacts
	Chats
	Queues
	Jobs
	Keys
	PortalTokens
	SwapQuotes
	Alerts
	PlantedSenders
	SecurityLogs
	Apps
	Webhooks
	Counters
	// Sweep removes up to limit rows whose time is over at now and returns how many: update ids, buttons, bind links,
	// portal tokens, idempotency records, send results, cards, planted senders, counters, prices, quotes, news, dead letters, transactions that came to nothing,
	// and deliveries and jobs of webhooks and people that are gone. A result of limit means that there may be more.
	Sweep(now time.Time, limit int) (int, error)
}

// Users are the people who have written to the bot. They are found by a keyed hash of their Telegram id.
type Users interface {
	// User returns a user, ErrNotFound without one.
	User(wallet.UserID) (wallet.User, error)
	// UserByTelegram finds a user by Telegram id, and checks that the row says the same id.
	UserByTelegram(id int64) (wallet.User, error)
	// PersonOf returns the user of a Telegram id, "" for a stranger. It reads one index entry and no row, so it is
	// cheap. A decision about money uses UserByTelegram, which checks the row.
	PersonOf(telegramID int64) wallet.UserID
	// PutUser creates or replaces a user. A Telegram id of another user is ErrConflict.
	PutUser(wallet.User) error
	// EraseUser destroys the user's data key, so that nothing sealed by it can be read again. It removes the user with
	// their wallets, bind links, freeze links, contacts, conversations, buttons, cards, API keys, portal tokens, apps (with every
	// grant to them), grants, webhooks, developer data, planted senders and security log, and what waits in queues for them or about them (a long list
	// of deliveries is left to Sweep). Their transactions leave every list and read as ErrNotFound. Nothing about them
	// can be written later: events and deliveries are ignored, any other row is ErrNotFound.
	EraseUser(wallet.UserID) error
}

// Wallets are addresses whose ownership was proven, and the bind links by which people prove it.
type Wallets interface {
	Wallet(wallet.Address) (wallet.Wallet, error)
	// WalletsOf lists a user's wallets, oldest first.
	WalletsOf(wallet.UserID) ([]wallet.Wallet, error)
	// PutWallet creates or replaces. An address that is another user's is ErrConflict.
	PutWallet(wallet.Wallet) error
	// DeleteWallet disconnects an address from its user; ErrNotFound if nobody has it.
	DeleteWallet(wallet.Address) error

	// Bind finds a bind link by the SHA-256 of its token. The token itself is not stored.
	Bind(tokenHash [32]byte) (wallet.Bind, error)
	// BindOf returns a user's newest link, whatever its status.
	BindOf(wallet.UserID) (wallet.Bind, error)
	// PutBind creates or replaces a link, which becomes its user's newest.
	PutBind(wallet.Bind) error
}

// Transactions are payments, receipts and payment requests, from proposal to end. Amounts are integers in base units.
// Most callers write through Create, Begin, Step and Recheck, which also schedule the next check.
type Transactions interface {
	// Kinds returns the kinds that this binary knows. Reading a row of another kind fails with wallet.ErrUnknownKind. A
	// binary does not open a store that ever held a kind which it does not know.
	Kinds() wallet.Kinds
	// Transaction returns a transaction by its id.
	Transaction(wallet.TransactionID) (wallet.Transaction, error)
	// TransactionBySignID finds it by the secret of a signing link, which is stored as a keyed hash.
	TransactionBySignID(signID string) (wallet.Transaction, error)
	TransactionBySignature(wallet.Signature) (wallet.Transaction, error)
	// CreateTransaction stores a new one with Version 1; an id that exists is ErrConflict.
	CreateTransaction(wallet.Transaction) error
	// PutTransaction replaces the row whose Version is t.Version and raises the version by one. ErrConflict: the row
	// has another version, owner or kind, or the sign id or signature belongs to another transaction. (A receipt may
	// share its sender's signature, which then finds the sender's transaction.) ErrNotFound: there is no row.
	PutTransaction(t wallet.Transaction) error
	// UnsettledTransactions lists those that are not Closed, oldest first, behind the last one of the page before. The
	// zero Transaction begins. The last one may have been closed meanwhile. Damaged rows are passed over.
	UnsettledTransactions(after wallet.Transaction, limit int) ([]wallet.Transaction, error)
	// UnsettledFrom lists the unsettled ones that pay from an address, oldest first. A damaged row is an error.
	UnsettledFrom(wallet.Address) ([]wallet.Transaction, error)
	// UnsettledOf lists an owner's unsettled ones, oldest first, whichever wallets pay. Its cost is that of everything of the
	// owner's that is not final. A damaged row is an error.
	UnsettledOf(owner wallet.UserID) ([]wallet.Transaction, error)
	// ReservationsFrom lists what those of UnsettledFrom hold back (wallet.Rules.Reservation), in the same order. It may know that from when a
	// row was last written or read, and costs much less than their rows. A damaged row that it has to read is an error.
	ReservationsFrom(wallet.Address) ([]wallet.Reservation, error)
	// TransactionsOf lists an owner's transactions, newest first. Its cost is that of the page. Damaged rows are passed over.
	TransactionsOf(owner wallet.UserID, p Page) ([]wallet.Transaction, error)
	// TransactionsAt lists what a wallet sent and received, no matter who owned it at the time. Damaged rows are passed over.
	TransactionsAt(at wallet.Address, p Page) ([]wallet.Transaction, error)
	// Recipients lists the addresses that an owner's own transfers have reached (wallet.Rules.Reached), newest first,
	// each once. Only the newest `limit` transfers count. What others sent does not.
	Recipients(owner wallet.UserID, limit int) ([]wallet.Address, error)
	// HasPaid reports whether one of an owner's newest `limit` transfers that reached their recipients, from any wallet, went from
	// this wallet to this address.
	HasPaid(owner wallet.UserID, from, to wallet.Address, limit int) (bool, error)
	// OutgoingFrom lists the outgoing transactions of a wallet that were created at since or later, newest first, then the older
	// ones that are unsettled, no matter who owned the wallet. Their sealed fields are empty. Those of erased people are left out.
	// A damaged row is an error: a sum without it would be too low.
	OutgoingFrom(from wallet.Address, since time.Time) ([]wallet.Transaction, error)
}

// Page selects a part of a list, newest first. Limit must be set: the zero Page selects nothing.
type Page struct {
	After wallet.TransactionID // last one of the page before; "": from the start; ErrNotFound if it is not in the list
	Until time.Time            // only those created before it; zero: no such bound
	Limit int
}

// Contacts are a person's own names for addresses. Names with the same wallet.ContactKey are the same name.
type Contacts interface {
	// ContactsOf lists a user's contacts by name.
	ContactsOf(wallet.UserID) ([]wallet.Contact, error)
	// PutContact creates or replaces the contact of that owner and name.
	PutContact(wallet.Contact) error
	// DeleteContact removes it; ErrNotFound without one.
	DeleteContact(owner wallet.UserID, name string) error
}

// Conversation is the state of one person in one chat. A person may have several in a chat, each in its own slot.
type Conversation struct {
	Chat      int64     `json:"chat"`
	User      int64     `json:"user"`           // Telegram id
	Slot      string    `json:"slot,omitempty"` // a constant of the program, in the clear; "": the person's main conversation
	Flow      string    `json:"flow"`
	State     string    `json:"state"`
	Data      []byte    `json:"data"`       // the flow's own JSON, sealed
	ExpiresAt time.Time `json:"expires_at"` // zero: no time-out
	Version   uint64    `json:"version"`
}

// Button is the meaning of an inline button. Callback data holds Nonce and nothing else, so a client cannot claim
// anything about a button.
type Button struct {
	Nonce     string    `json:"nonce"`
	Chat      int64     `json:"chat"`
	User      int64     `json:"user"` // Telegram id of the only person it is for
	Action    string    `json:"action"`
	Subject   string    `json:"subject"` // e.g. a transaction id; sealed
	ExpiresAt time.Time `json:"expires_at"`
	UsedAt    time.Time `json:"used_at"` // of the first use; zero: not used
}

// Chats hold what the bot must remember of its conversations.
type Chats interface {
	// Conversation returns a person's conversation in a slot of a chat. Without one it returns a row with Version 0 and
	// only Chat, User and Slot set. A damaged one reads as one that has ended, so that nobody is kept from the bot.
	// EraseUser removes all of a person's, in every slot.
	Conversation(chat, user int64, slot string) (Conversation, error)
	// PutConversation replaces the row of Version c.Version (0: none yet) and raises the version; any other version is
	// ErrConflict. State "" ends the conversation: its content is removed, its version stays. It sets no time-out:
	// SaveConversation does.
	PutConversation(c Conversation) error

	Button(nonce string) (Button, error)
	PutButtons([]Button) error
	// UseButtons marks every button of the same chat, user and subject as used at now. A button that was used before
	// keeps its time.
	UseButtons(chat, user int64, subject string, now time.Time) error

	// Card is the id of the Telegram message that shows a subject in a chat, so that later states edit that message;
	// ErrNotFound: none yet. A card is kept until its time is over; the zero time keeps it for good. Message 0 is a
	// card that has to be sent as a new message, or a mark without a message: chat marks in this way ("notified:...") what
	// it has notified a payment's owner of while the payment is unsettled.
	Card(chat int64, card string) (messageID int, err error)
	PutCard(chat int64, card string, messageID int, until time.Time) error

	// SendResult says what became of the reply of a card for which somebody waits (Reply.SendResultUntil), also after its
	// time is over; ErrNotFound without one.
	SendResult(chat int64, card string) (SendResult, error)
	// PutSendResult creates or replaces.
	PutSendResult(chat int64, card string, o SendResult) error
	// DropSendResult removes it; without one it does nothing.
	DropSendResult(chat int64, card string) error
}

// SendResult is how a reply ended: as a message, or why not. The node that sends it writes this in the Update that ends
// the reply's job, and the node that waits for it reads and removes it. All of it is sealed.
type SendResult struct {
	MessageID int       `json:"message_id,omitempty"` // in its chat; 0: no message was sent
	Blocked   bool      `json:"blocked,omitempty"`    // the person or group accepts no messages from the bot
	Refusal   string    `json:"refusal,omitempty"`    // Telegram's error
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Reply is one message to be sent to Telegram. It waits as a job of the outbox: see Enqueue.
type Reply struct {
	ID       JobID // of its job in the outbox, set by the store
	Chat     int64
	Priority int    // smaller goes first: answers 0, confirmations 1, alerts 2, messages of apps 3
	Card     string // "", or the subject whose message it creates or edits
	App      string // "", or the app that sends it and whose share of the chat it uses

	// CardUntil is how long Card remembers the message; zero: for good. A time that is over already stores no card.
	CardUntil time.Time
	// SendResultUntil is how long SendResult says what became of the reply; zero: nobody will ask. It needs a Card, by which
	// SendResult is read.
	SendResultUntil time.Time

	Body     []byte // JSON of package chat, sealed
	At       time.Time
	NotAfter time.Time // zero: keep trying; else it is dropped when late, such as the notice after a tap
}

// IdempotencyRecord is the stored response to a request with an Idempotency-Key. Body is sealed.
type IdempotencyRecord struct {
	Fingerprint [32]byte  `json:"fingerprint,omitzero"` // of the request: another request with the same key is refused
	Status      int       `json:"status"`
	Body        []byte    `json:"body,omitzero"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// Queues are things that wait but are not jobs themselves: update ids that were seen, events on their way to jobs or
// deliveries, and idempotency records.
type Queues interface {
	// NoteUpdate records the id of a Telegram update and returns whether it was recorded before, within SeenFor.
	NoteUpdate(now time.Time, id int64) (known bool, err error)
	// Emit announces events, each at most once by its id. One that people are notified of
	// (wallet.EventName.NotifiesOwner) becomes a job of the queue Events: its ID is the event's, its key the person
	// (see EventOf). One that is public goes to OutboxEvents, if there is any webhook. An event that goes to neither
	// is not recorded as emitted.
	Emit(...wallet.Event) error
	// PendingEvents lists the events of the queue Events in the order in which they were emitted.
	PendingEvents(limit int) ([]wallet.Event, error)

	// IdempotencyRecord returns the record of an idempotency key; ErrNotFound if the key is free at now. In an Update it
	// also removes a record that has expired, so that PutIdempotencyRecord succeeds.
	IdempotencyRecord(key string, now time.Time) (IdempotencyRecord, error)
	// PutIdempotencyRecord stores a record; a key that is taken is ErrConflict.
	PutIdempotencyRecord(key string, r IdempotencyRecord) error
	// DeleteIdempotencyRecord frees a key; for a free key it does nothing.
	DeleteIdempotencyRecord(key string) error
}

// Keys are API keys. They are found by a keyed hash of their secret, which is not stored.
type Keys interface {
	Key(id string) (wallet.Key, error)
	KeyBySecret(secret string) (wallet.Key, error)
	// CreateKey stores the key and the keyed hash of its secret. An id or secret that exists is ErrConflict.
	CreateKey(k wallet.Key, secret string) error
	// PutKey replaces the key of that id; ErrNotFound without one, ErrConflict if it is another owner's.
	PutKey(wallet.Key) error
	// AllKeys lists them, oldest first.
	AllKeys() ([]wallet.Key, error)
	// KeysOf lists a person's, oldest first.
	KeysOf(owner wallet.UserID) ([]wallet.Key, error)
}

// Apps are developers, their programs, and the access that people gave these.
type Apps interface {
	App(wallet.AppID) (wallet.App, error)
	// AppsOf lists a developer's apps, oldest first; "" for the operator's.
	AppsOf(owner wallet.UserID) ([]wallet.App, error)
	// AllApps lists every app, in no order. It reads all of them: only for rare operations.
	AllApps() ([]wallet.App, error)
	// PutApp creates or replaces an app; one of another owner is ErrConflict.
	PutApp(wallet.App) error

	Grant(user wallet.UserID, app wallet.AppID) (wallet.Grant, error)
	// GrantsOf lists the access that a person has granted, oldest first.
	GrantsOf(user wallet.UserID) ([]wallet.Grant, error)
	PutGrant(wallet.Grant) error
	// DeleteGrant revokes access; ErrNotFound without a grant.
	DeleteGrant(user wallet.UserID, app wallet.AppID) error

	// Developer returns what is stored about a person as a developer; without anything the zero value with User set.
	Developer(wallet.UserID) (wallet.Developer, error)
	PutDeveloper(wallet.Developer) error
}

// Counter counts how often something was done in equal slots of time, so that a rolling limit need not remember each
// time. Its owner chooses its name (see quota). The name holds no secret and no Telegram id: see CounterName.
type Counter struct {
	Name      string    `json:"name"`
	Slots     []Slot    `json:"slots"` // oldest first
	ExpiresAt time.Time `json:"expires_at"`
	// Leases are the parts of the limit that nodes may spend without writing (quota.Meter), one for each node.
	Leases []QuotaLease `json:"leases,omitempty"`
}

// QuotaLease is what one node may spend of a counter before it writes again, and what it may have lost.
type QuotaLease struct {
	Node  string `json:"node"`
	Run   int64  `json:"run"`            // which start of the node holds it; a later start has a larger number
	Count uint64 `json:"count"`          // how many more the node may count without having written them; all of it counts as spent
	Until int64  `json:"until,omitzero"` // seconds of Unix time
	Lost  Slot   `json:"lost,omitzero"`  // what the node's last crash or pause may have spent; counts as spent
}

// Slot is the count of the slot that began at Start, in seconds of Unix time.
type Slot struct {
	Start int64  `json:"start"`
	Count uint64 `json:"count"`
}

// Counters are what limits are counted by.
type Counters interface {
	// Counter returns a counter; ErrNotFound without one.
	Counter(name string) (Counter, error)
	// PutCounters creates or replaces.
	PutCounters([]Counter) error
	// CounterName makes the name of a counter about something that nobody may read in it, such as a Telegram id or a
	// mail address: it contains a keyed hash instead.
	CounterName(kind, about string) string
}
