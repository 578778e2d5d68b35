package wallet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// EventName names what happened. The first group is public (SPEC, Events); the second is for
// purser's own rooms and never leaves it.
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
)

// Internal events: they keep the owner's chat true.
const (
	TransactionProposed   EventName = "internal.transaction.proposed"
	TransactionApproved   EventName = "internal.transaction.approved"
	TransactionSigned     EventName = "internal.transaction.signed"
	TransactionHeld       EventName = "internal.transaction.held"
	TransactionRolledBack EventName = "internal.transaction.rolled_back"
	TransactionFinalized  EventName = "internal.transaction.finalized"
	TransactionClosed     EventName = "internal.transaction.closed" // ended before, and now can never land
	WalletProven          EventName = "internal.wallet.proven"
	WalletClaimed         EventName = "internal.wallet.claimed"
	WalletWanted          EventName = "internal.wallet.wanted"
)

// Event is one announcement, written in the store transaction that makes it true and rendered
// once: Data is the exact JSON that every receiver gets.
type Event struct {
	ID          string          `json:"id"`
	Name        EventName       `json:"event"`
	At          time.Time       `json:"timestamp"`
	User        UserID          `json:"user"`        // whom it concerns; "" for nobody of ours
	Transaction TransactionID   `json:"transaction"` // "" where none
	Data        json.RawMessage `json:"data"`
}

// TransactionPendingData is `data` of transaction.pending (SPEC, Platform event types).
type TransactionPendingData struct {
	TransactionID TransactionID `json:"transaction_id"`
	WalletAddress Address       `json:"wallet_address"`
	Amount        string        `json:"amount"`
	Token         string        `json:"token"`
	Type          Kind          `json:"type"`
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
	Type          Kind          `json:"type"`
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
	Type          Kind          `json:"type"`
	ErrorCode     Failure       `json:"error_code"`
	ErrorMessage  string        `json:"error_message"`
	FailedAt      string        `json:"failed_at"`
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

// WalletConnectedData is `data` of the platform's wallet.connected.
type WalletConnectedData struct {
	UserID        UserID     `json:"user_id"`
	WalletAddress Address    `json:"wallet_address"`
	WalletType    WalletType `json:"wallet_type"`
	ConnectedAt   string     `json:"connected_at"`
}

// WalletDisconnectedData is `data` of wallet.disconnected.
type WalletDisconnectedData struct {
	UserID         UserID  `json:"user_id"`
	WalletAddress  Address `json:"wallet_address"`
	DisconnectedAt string  `json:"disconnected_at"`
	Reason         string  `json:"reason"`
}

// Reasons of a wallet.disconnected.
const (
	UserInitiated  = "user_initiated"   // its owner asked for it
	MovedToAnother = "moved_to_another" // a fresh proof moved it to another account
)

// WalletClaimedData is `data` of the internal event by which an owner is told.
type WalletClaimedData struct {
	WalletAddress Address `json:"wallet_address"`
}

// WalletWantedData is `data` of the internal event by which a person is offered a link.
type WalletWantedData struct {
	KeyID string `json:"key_id"` // the API key that asks
}

// UserRegisteredData is `data` of user.registered.
type UserRegisteredData struct {
	ChatID       string `json:"chat_id"`
	Username     string `json:"username"`
	FirstName    string `json:"first_name"`
	RegisteredAt string `json:"registered_at"`
}

// Timestamp writes a time as every front does: ISO 8601, UTC, milliseconds.
func Timestamp(t time.Time) string {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.Format("2006-01-02T15:04:05.000Z")
	}
	hour, minute, second := t.Clock()
	milli := t.Nanosecond() / int(time.Millisecond)
	// By hand, since every answer has some: time.Format reads its layout each time.
	text := []byte("0000-00-00T00:00:00.000Z")
	for _, part := range [...]struct{ end, value int }{{4, year}, {7, int(month)}, {10, day}, {13, hour}, {16, minute}, {19, second}, {23, milli}} {
		for i, v := part.end-1, part.value; v > 0; i, v = i-1, v/10 {
			text[i] = byte('0' + v%10)
		}
	}
	return string(text)
}

// NewEvent renders data once. id must be derived from what happened, so that a step that is run
// again writes the same event again and not a second one.
func NewEvent(id string, name EventName, at time.Time, user UserID, data any) (Event, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return Event{}, fmt.Errorf("render %s: %w", name, err)
	}
	return Event{ID: id, Name: name, At: at, User: user, Data: raw}, nil
}

// event renders one announcement of the transaction's newest step.
func (t Transaction) event(name EventName, nth int, at time.Time) (Event, error) {
	var data any = struct{}{}
	amount, stamp := t.Money().String(), Timestamp(at)
	switch name {
	case TransactionPending:
		data = TransactionPendingData{t.ID, t.From, amount, t.Token.Name(), t.Kind, t.To, stamp}
	case TransactionConfirmed:
		data = TransactionConfirmedData{t.ID, t.Signature, t.From, amount, t.Token.Name(),
			Lamports(t.Fee).String(), t.Kind, t.To, t.Landing.BlockHeight, t.Landing.Confirmations, stamp}
	case TransactionFailed:
		data = TransactionFailedData{t.ID, t.From, amount, t.Token.Name(), t.Kind, t.ErrorCode, t.ErrorText, stamp}
	case TransactionReceived:
		data = TransactionReceivedData{t.ID, t.Signature, t.To, amount, t.Token.Name(), t.From, stamp}
	}
	event, err := NewEvent(fmt.Sprintf("evt_%s_%d_%d", t.ID, t.Changes, nth), name, at, t.Owner, data)
	event.Transaction = t.ID
	return event, err
}

// Proposed announces a new transaction to its owner's chat.
func (t Transaction) Proposed() (Event, error) {
	return t.event(TransactionProposed, 0, t.CreatedAt)
}

// ReceivedID names an incoming payment by signature, address and mint: whoever sees it first
// records it, and nobody records it twice.
func ReceivedID(signature Signature, to, mint Address) TransactionID {
	sum := sha256.Sum256([]byte(signature.String() + "/" + to.String() + "/" + mint.String()))
	return TransactionID("tx_" + hex.EncodeToString(sum[:16]))
}

// ReceiptOf is the incoming payment that t, once landed, is for the owner of its recipient.
func (t Transaction) ReceiptOf(to Wallet, chat int64, at time.Time) (Transaction, Event, error) {
	receipt := Transaction{
		ID: ReceivedID(t.Signature, t.To, t.Token.Mint), Kind: Receive, Status: Received,
		Owner: to.Owner, Chat: chat, From: t.From, To: t.To, Token: t.Token, Amount: t.Net(),
		Signature: t.Signature, Landing: t.Landing, CreatedAt: at, ConfirmedAt: at, Final: true, Asked: t.Asked,
	}
	event, err := receipt.event(TransactionReceived, 0, at)
	return receipt, event, err
}
