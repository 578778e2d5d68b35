package wallet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// EventName names a type of event. The first group is public (docs/specification.md, Events). The second is internal:
// those events never leave purser.
type EventName string

// Public events.
const (
	TransactionPending   EventName = "transaction.pending"
	TransactionConfirmed EventName = "transaction.confirmed"
	TransactionFailed    EventName = "transaction.failed"
	TransactionReceived  EventName = "transaction.received"
	WalletConnected      EventName = "wallet.connected"
	WalletDisconnected   EventName = "wallet.disconnected"
	UserRegistered       EventName = "user.registered"
	MessageReceived      EventName = "message.received"
	CommandExecuted      EventName = "command.executed"
	BalanceUpdated       EventName = "balance.updated"

	PriceAlert             EventName = "price.alert"
	PriceSignificantChange EventName = "price.significant_change"

	StakeDelegated   EventName = "stake.delegated"
	StakeReward      EventName = "stake.reward"
	StakeUndelegated EventName = "stake.undelegated"

	WebhookTest EventName = "webhook.test" // sent on demand, to the webhook under test only
)

// Internal events. They keep the messages in the owner's chat up to date.
const (
	TransactionProposed   EventName = "internal.transaction.proposed"
	TransactionApproved   EventName = "internal.transaction.approved"
	TransactionDelayed    EventName = "internal.transaction.delayed"     // confirmed, and has to wait
	TransactionDelayEnded EventName = "internal.transaction.delay_ended" // can be signed now
	TransactionSigned     EventName = "internal.transaction.signed"
	TransactionHeld       EventName = "internal.transaction.held"
	TransactionRolledBack EventName = "internal.transaction.rolled_back"
	TransactionFinalized  EventName = "internal.transaction.finalized"
	TransactionClosed     EventName = "internal.transaction.closed" // had ended, and can now never land
	WalletProven          EventName = "internal.wallet.proven"
	WalletClaimed         EventName = "internal.wallet.claimed"
	WalletWanted          EventName = "internal.wallet.wanted"
	DefaultChanged        EventName = "internal.wallet.default_changed"
	AccountFrozen         EventName = "internal.account.frozen"
	AccountUnfrozen       EventName = "internal.account.unfrozen"
	KeyTierSet            EventName = "internal.key.tier"              // an operator changed a key's tier
	PaymentArriving       EventName = "internal.payment.arriving"      // a payment was seen before it is final, or will not arrive
	PaymentsFolded        EventName = "internal.payments.folded"       // payments came in that are not announced one by one
	StakesChanged         EventName = "internal.stakes.changed"        // stakes began to earn, can be withdrawn, or earned rewards
	ValidatorsChanged     EventName = "internal.validators.changed"    // a validator that somebody stakes with raised its commission, stopped voting or fell behind
	NewsPublished         EventName = "internal.news.published"        // the operator's feeds have news for somebody who wants it
	NotificationsSet      EventName = "internal.notifications.set"     // a key changed which messages a person gets
	AppEventsChosen       EventName = "internal.app.events_chosen"     // an app changed which events about a person it wants
	SecurityNoticed       EventName = "internal.security.noticed"      // an entry of the person's security log that they are notified of
	WebhookDeadLettered   EventName = "internal.webhook.dead_lettered" // a delivery became a dead letter
	WebhookEnded          EventName = "internal.webhook.ended"         // purser turned the webhook off
)

// internalPrefix is the prefix of internal events.
const internalPrefix = "internal."

// Public reports whether the event may go to webhooks.
func (n EventName) Public() bool { return !strings.HasPrefix(string(n), internalPrefix) }

// NotifiesOwner reports whether the person may be notified of the event in chat. What they did there themselves a moment
// ago is excluded, and so are balances, since the payment that changed them has its own message, and what is about nobody.
func (n EventName) NotifiesOwner() bool {
	return n != MessageReceived && n != CommandExecuted && n != BalanceUpdated && n != StakeReward && n != PriceSignificantChange
}

// Event is written in the same store transaction as the fact that it reports. Data is rendered once, and every receiver
// gets exactly these bytes.
type Event struct {
	ID          string          `json:"id"`
	Name        EventName       `json:"event"`
	At          time.Time       `json:"timestamp"`
	User        UserID          `json:"user"`             // the user it is about; "" for none
	Transaction TransactionID   `json:"transaction"`      // "" where none
	To          AppID           `json:"to,omitempty"`     // the only app that may get it, besides operators; "" for all
	Subject     string          `json:"subject,omitzero"` // events with the same subject are delivered in order; "" is a subject too
	Data        json.RawMessage `json:"data"`
}

// ToOperators is the value of To for events that only operators' programs may get.
const ToOperators AppID = "operators"

// TransactionPendingData is `data` of transaction.pending (docs/specification.md, Events).
type TransactionPendingData struct {
	TransactionID TransactionID `json:"transaction_id"`
	WalletAddress Address       `json:"wallet_address"`
	Amount        string        `json:"amount"`
	Token         string        `json:"token"`
	Type          EntryType     `json:"type"`
	Recipient     Address       `json:"recipient"`
	SubmittedAt   string        `json:"submitted_at"`
}

// TransactionConfirmedData is `data` of transaction.confirmed.
type TransactionConfirmedData struct {
	TransactionID TransactionID `json:"transaction_id"`
	Signature     Signature     `json:"signature"`
	WalletAddress Address       `json:"wallet_address"`
	Amount        string        `json:"amount"`
	Token         string        `json:"token"`
	Fee           string        `json:"fee"`
	Type          EntryType     `json:"type"`
	Recipient     Address       `json:"recipient"`
	BlockHeight   uint64        `json:"block_height"`
	Confirmations int           `json:"confirmations"`
	ConfirmedAt   string        `json:"confirmed_at"`
}

// TransactionFailedData is `data` of transaction.failed.
type TransactionFailedData struct {
	TransactionID TransactionID `json:"transaction_id"`
	WalletAddress Address       `json:"wallet_address"`
	Amount        string        `json:"amount"`
	Token         string        `json:"token"`
	Type          EntryType     `json:"type"`
	ErrorCode     Failure       `json:"error_code"`
	ErrorMessage  string        `json:"error_message"`
	FailedAt      string        `json:"failed_at"`
}

// TransactionFailedEvent is the stored data of transaction.failed. Its reason is rendered as error_message when the event
// is delivered (package webhooks).
type TransactionFailedEvent struct {
	TransactionFailedData
	ErrorReason Reason `json:"error_reason,omitzero"`
}

// TransactionReceivedData is `data` of transaction.received.
type TransactionReceivedData struct {
	TransactionID TransactionID `json:"transaction_id"`
	Signature     Signature     `json:"signature"`
	WalletAddress Address       `json:"wallet_address"`
	Amount        string        `json:"amount"`
	Token         string        `json:"token"`
	Sender        Address       `json:"sender"`
	ReceivedAt    string        `json:"received_at"`
}

// BalanceUpdatedData is `data` of balance.updated. Balances holds SOL and every listed token of the wallet, by symbol.
type BalanceUpdatedData struct {
	WalletAddress Address                `json:"wallet_address"`
	Balances      map[string]BalanceData `json:"balances"`
	TotalUSDValue string                 `json:"total_usd_value"` // "" if a price is unknown
	UpdatedAt     string                 `json:"updated_at"`
}

// BalanceData is what a wallet holds of one token.
type BalanceData struct {
	Amount   string `json:"amount"`
	USDValue string `json:"usd_value"` // "" if the price is unknown
	Change   string `json:"change"`    // "0" if it did not change
}

// WalletConnectedData is `data` of wallet.connected for API keys. ChatID is used for the bot's event of the same name,
// and is in no other body.
type WalletConnectedData struct {
	ChatID        string     `json:"chat_id,omitempty"`
	UserID        UserID     `json:"user_id"`
	WalletAddress Address    `json:"wallet_address"`
	WalletType    WalletType `json:"wallet_type"`
	ConnectedAt   string     `json:"connected_at"`
}

// BotWalletConnectedData is `data` of wallet.connected for bot tokens. ChatID is "" for a wallet of an operator's key.
type BotWalletConnectedData struct {
	ChatID        string  `json:"chat_id"`
	WalletAddress Address `json:"wallet_address"`
	ConnectedAt   string  `json:"connected_at"`
}

// WalletDisconnectedData is `data` of wallet.disconnected.
type WalletDisconnectedData struct {
	UserID         UserID  `json:"user_id"`
	WalletAddress  Address `json:"wallet_address"`
	DisconnectedAt string  `json:"disconnected_at"`
	Reason         string  `json:"reason"`
}

// The reasons of wallet.disconnected.
const (
	UserInitiated  = "user_initiated"   // the owner disconnected it
	MovedToAnother = "moved_to_another" // a newer proof moved it to another account
)

// PriceAlertData is `data` of price.alert. TargetPrice is "" for an alert on a change, which has ChangePercent and Timeframe instead.
type PriceAlertData struct {
	AlertID      string `json:"alert_id"`
	UserID       UserID `json:"user_id"`
	Token        string `json:"token"`
	Condition    string `json:"condition"`
	TargetPrice  string `json:"target_price"`
	CurrentPrice string `json:"current_price"`
	TriggeredAt  string `json:"triggered_at"`

	ChangePercent json.Number `json:"change_percent,omitempty"` // by how much the price moved over Timeframe
	Timeframe     string      `json:"timeframe,omitempty"`      // "1h" or "24h"
}

// PriceSignificantChangeData is `data` of price.significant_change.
type PriceSignificantChangeData struct {
	Token         string      `json:"token"`
	PreviousPrice string      `json:"previous_price"`
	CurrentPrice  string      `json:"current_price"`
	ChangePercent json.Number `json:"change_percent"`
	ChangeAmount  string      `json:"change_amount"`
	Timeframe     string      `json:"timeframe"`
	TriggeredAt   string      `json:"triggered_at"`
}

// MessageReceivedData is `data` of message.received.
type MessageReceivedData struct {
	ChatID    string `json:"chat_id"`
	Username  string `json:"username"` // "" when unset
	Message   string `json:"message"`
	Timestamp string `json:"timestamp"`
}

// CommandExecutedData is `data` of command.executed.
type CommandExecutedData struct {
	ChatID    string `json:"chat_id"`
	Command   string `json:"command"`
	Success   bool   `json:"success"`
	Response  string `json:"response"`
	Timestamp string `json:"timestamp"`
}

// WebhookTestData is `data` of webhook.test.
type WebhookTestData struct {
	WebhookID WebhookID `json:"webhook_id"`
	Message   string    `json:"message"` // rendered when the event is delivered (package webhooks)
}

// WalletClaimedData is `data` of the internal event that warns an owner of a claim.
type WalletClaimedData struct {
	WalletAddress Address `json:"wallet_address"`
}

// AccountFrozenData is `data` of the internal event that notifies a person of a freeze.
type AccountFrozenData struct {
	FrozenAt string `json:"frozen_at"` // RFC 3339
}

// DefaultChangedData is `data` of the internal event that notifies a person that their default wallet changed, and that payers are given the previous one for a
// while.
type DefaultChangedData struct {
	To   Address `json:"to"`
	From Address `json:"from"` // DefaultChange.From
	// Again says that the change is older: a freeze has ended, and the wait began again with that.
	Again bool `json:"again,omitempty"`
}

// AccountUnfrozenData is `data` of the internal event that notifies a person that a freeze has ended.
type AccountUnfrozenData struct {
	WalletAddress Address `json:"wallet_address"` // whose key signed for it; zero for a person without a wallet
}

// WalletWantedData is `data` of the internal event that has the chat send a wallet link.
type WalletWantedData struct {
	KeyID string `json:"key_id"` // the API key that requests it
}

// SecurityNoticedData is `data` of the internal event about an entry of a person's security log.
type SecurityNoticedData struct {
	Number uint64 `json:"number"` // SecurityEntry.Number
}

// KeyTierSetData is `data` of the internal event that notifies the owner of a key of its new tier.
type KeyTierSetData struct {
	KeyID    string `json:"key_id"`
	Tier     Tier   `json:"tier"`
	Webhooks int    `json:"webhooks"` // how many were turned off or on again
}

// PaymentArrivingData is `data` of the internal event about an incoming payment that is not final.
type PaymentArrivingData struct {
	TransactionID TransactionID `json:"transaction_id"` // of the receipt that it will have
	Signature     Signature     `json:"signature"`
	WalletAddress Address       `json:"wallet_address"`
	Sender        Address       `json:"sender"`
	Token         Token         `json:"token"`
	Units         uint64        `json:"units"`     // base units
	Requested     bool          `json:"requested"` // it names a payment request
	Outcome       string        `json:"outcome"`   // StillArriving, or how it ended without a receipt
}

// The outcomes of an arriving payment.
const (
	StillArriving  = "arriving"
	DidNotArrive   = "dropped" // no node has its transaction any more, or it failed
	UnknownArrival = "unknown" // no node says so, and no receipt came in time
)

// PaymentsFoldedData is `data` of the internal event that sums up payments which are not announced one by one.
type PaymentsFoldedData struct {
	Count uint64 `json:"count"`
}

// AppEventsChosenData is `data` of the internal events that notify a person of what a key changed: an app's subscription to events about
// them, or the messages that they get.
type AppEventsChosenData struct {
	KeyID   string   `json:"key_id"` // the bot token that made the change
	Enabled bool     `json:"enabled"`
	Events  []string `json:"events"`
}

// WebhookTroubleData is `data` of the internal events that notify a webhook's owner of failures.
type WebhookTroubleData struct {
	WebhookID WebhookID `json:"webhook_id"`
	Ended     Ending    `json:"ended"`           // "" if only one delivery became a dead letter
	Status    int       `json:"status"`          // HTTP status of the last response; 0 without one
	Reason    Reason    `json:"reason,omitzero"` // why the last attempt failed
	KeptHours int       `json:"kept_hours"`      // for how many hours missed deliveries can be resent
}

// UserRegisteredData is `data` of user.registered.
type UserRegisteredData struct {
	ChatID       string `json:"chat_id"`
	Username     string `json:"username"`
	FirstName    string `json:"first_name"`
	RegisteredAt string `json:"registered_at"`
}

// Timestamp formats a time as all fronts do: ISO 8601, UTC, milliseconds.
func Timestamp(t time.Time) string {
	var text [len("0000-00-00T00:00:00.000Z")]byte
	return string(AppendTimestamp(text[:0], t))
}

// AppendTimestamp appends Timestamp(t) to a buffer.
func AppendTimestamp(to []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(to, "2006-01-02T15:04:05.000Z")
	}
	hour, minute, second := t.Clock()
	milli := t.Nanosecond() / int(time.Millisecond)
	// By hand, since every answer has some: time.Format reads its layout each time.
	digit := func(of, by int) byte { return byte('0' + of/by%10) }
	return append(to, digit(year, 1000), digit(year, 100), digit(year, 10), digit(year, 1), '-', digit(int(month), 10), digit(int(month), 1), '-', digit(day, 10), digit(day, 1),
		'T', digit(hour, 10), digit(hour, 1), ':', digit(minute, 10), digit(minute, 1), ':', digit(second, 10), digit(second, 1),
		'.', digit(milli, 100), digit(milli, 10), digit(milli, 1), 'Z')
}

// Subjected is implemented by event data whose events must keep their order: by wallet, chat, alert, or token and
// timeframe.
type Subjected interface{ Subject() string }

// Subject is the wallet.
func (d TransactionPendingData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d TransactionConfirmedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d TransactionFailedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d TransactionReceivedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d BalanceUpdatedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d WalletConnectedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d BotWalletConnectedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d WalletDisconnectedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d WalletClaimedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d StakeDelegatedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d StakeUndelegatedData) Subject() string { return d.WalletAddress.String() }

// Subject is the wallet.
func (d StakeRewardData) Subject() string { return d.WalletAddress.String() }

// Subject is the chat.
func (d UserRegisteredData) Subject() string { return d.ChatID }

// Subject is the chat.
func (d MessageReceivedData) Subject() string { return d.ChatID }

// Subject is the chat.
func (d CommandExecutedData) Subject() string { return d.ChatID }

// Subject is the alert.
func (d PriceAlertData) Subject() string { return d.AlertID }

// Subject is the token over that time.
func (d PriceSignificantChangeData) Subject() string { return d.Token + "/" + d.Timeframe }

// NewEvent renders an event. id must be derived from what happened, so that a step that runs twice writes the same event
// and not a second one.
func NewEvent(id string, name EventName, at time.Time, user UserID, data any) (Event, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return Event{}, fmt.Errorf("render %s: %w", name, err)
	}
	event := Event{ID: id, Name: name, At: at, User: user, Data: raw}
	if of, ok := data.(Subjected); ok {
		event.Subject = of.Subject()
	}
	return event, nil
}

// event renders the nth event of the transaction's newest step. typ is the kind as programs see it.
func (t Transaction) event(name EventName, typ EntryType, nth int, at time.Time) (Event, error) {
	var data any = struct{}{}
	amount, stamp := t.Money().String(), Timestamp(at)
	switch name {
	case TransactionPending:
		data = TransactionPendingData{t.ID, t.From, amount, t.Token.Name(), typ, t.To, stamp}
	case TransactionConfirmed:
		data = TransactionConfirmedData{t.ID, t.Signature, t.From, amount, t.Token.Name(),
			Lamports(t.Fee).String(), typ, t.To, t.Landing.BlockHeight, t.Landing.Confirmations, stamp}
	case TransactionFailed:
		data = TransactionFailedEvent{TransactionFailedData{t.ID, t.From, amount, t.Token.Name(), typ, t.ErrorCode, "", stamp}, t.ErrorReason}
	case TransactionReceived:
		data = TransactionReceivedData{t.ID, t.Signature, t.To, amount, t.Token.Name(), t.From, stamp}
	}
	event, err := NewEvent(t.eventID(t.Changes, nth), name, at, t.Owner, data)
	event.Transaction = t.ID
	return event, err
}

// eventID returns the ID of the nth event of a step. It is the same whenever the step is repeated.
func (t Transaction) eventID(step uint64, nth int) string {
	return fmt.Sprintf("evt_%s_%d_%d", t.ID, step, nth)
}

// EventIDs lists every ID that events of t's steps so far may have.
func (t Transaction) EventIDs() (ids []string) {
	most := 1
	for _, step := range Lifecycle() {
		most = max(most, len(step.Emits))
	}
	// A kind may have an event of its own for a step.
	most++
	for step := range t.Changes + 1 { // the proposal is step 0
		for nth := range most {
			ids = append(ids, t.eventID(step, nth))
		}
	}
	return ids
}

// Proposed returns the event by which the chat shows a new transaction to its owner.
func (t Transaction) Proposed() (Event, error) {
	return t.event(TransactionProposed, EntryType(t.Kind), 0, t.CreatedAt)
}

// ReceivedID derives the ID of an incoming payment from signature, recipient and mint, so that it is recorded once,
// however many workers see it.
func ReceivedID(signature Signature, to, mint Address) TransactionID {
	sum := sha256.Sum256([]byte(signature.String() + "/" + to.String() + "/" + mint.String()))
	return TransactionID("tx_" + hex.EncodeToString(sum[:16]))
}

// ReceiptOf returns the receipt of t, a landed payment, for the owner of the recipient's wallet, and its event. chat is
// the owner's private chat, 0 for none.
func (t Transaction) ReceiptOf(to Wallet, chat int64, at time.Time) (Transaction, Event, error) {
	receipt := Transaction{
		ID: ReceivedID(t.Signature, t.To, t.Token.Mint), Kind: Receive, Status: Received,
		Owner: to.Owner, Chat: chat, From: t.From, To: t.To, Token: t.Token, Amount: t.Net(),
		Signature: t.Signature, Landing: t.Landing, CreatedAt: at, ConfirmedAt: at, Closed: true, PaymentRequestRef: t.PaymentRequestRef, Memo: t.Memo,
	}
	event, err := receipt.event(TransactionReceived, EntryType(receipt.Kind), 0, at)
	return receipt, event, err
}
