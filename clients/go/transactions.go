package purser

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Status is the state of a transaction; docs/lifecycle.md explains each.
type Status string

// The states of a transaction.
const (
	AwaitingConfirmation Status = "awaiting_confirmation"
	Delayed              Status = "delayed" // confirmed, and waits until DelayEndsAt
	AwaitingSignature    Status = "awaiting_signature"
	Signed               Status = "signed"
	Pending              Status = "pending"
	Confirmed            Status = "confirmed"
	Failed               Status = "failed"
	Rejected             Status = "rejected"
	Expired              Status = "expired"
	Received             Status = "received"
	Requested            Status = "requested"
)

// SendRequest is a transfer to propose.
type SendRequest struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Amount string `json:"amount"`          // "1.5", in the token's own unit
	Token  string `json:"token"`           // a well-known symbol, or a mint
	Memo   string `json:"memo,omitempty"`  // a public note on chain, at most 256 bytes
	Label  string `json:"label,omitempty"` // what the payment is for; the owner sees it before they confirm; not on chain
}

// Proposal is a proposed transfer, which waits for its owner's Confirm, for the end of a delay, or for a signature.
type Proposal struct {
	TransactionID       string    `json:"transaction_id"`
	Status              Status    `json:"status"`
	Warnings            []string  `json:"warnings"`             // the fraud rules that found something, which the owner sees
	Recipient           string    `json:"recipient"`            // the recipient; if To was a token account, its owner
	ExpiresAt           time.Time `json:"expires_at"`           // zero while it is Delayed
	DelayEndsAt         time.Time `json:"delay_ends_at"`        // zero unless it is Delayed
	UnsignedTransaction string    `json:"unsigned_transaction"` // base64; "" until the owner's Confirm: see Sign
}

func (p Proposal) complete() bool { return p.TransactionID != "" && p.Status != "" }

// Send is POST /v1/wallet/send. No call moves money by itself: the owner confirms in chat. If the owner's program holds the
// wallet's key, the proposal waits for the signature immediately.
func (c *Client) Send(ctx context.Context, r SendRequest) (Proposal, error) {
	return do[Proposal](ctx, c, call{method: http.MethodPost, path: "/v1/wallet/send", body: r})
}

// PaymentRequest is a payment request to create. Anybody can pay it.
type PaymentRequest struct {
	Address string `json:"address"`         // the wallet that is paid
	Amount  string `json:"amount"`          // "1.5", in the token's own unit
	Token   string `json:"token"`           // a well-known symbol, or a mint
	Memo    string `json:"memo,omitempty"`  // a public note for the payment, at most 256 bytes; a wallet may omit it
	Label   string `json:"label,omitempty"` // who requests the payment, or for what; wallets show it
}

// RequestedPayment is a payment request. purser watches for its payment until ExpiresAt.
type RequestedPayment struct {
	TransactionID string    `json:"transaction_id"`
	Status        Status    `json:"status"`
	Recipient     string    `json:"recipient"`
	Amount        string    `json:"amount"`
	Token         string    `json:"token"`
	URL           string    `json:"url"`       // a Solana Pay link: show it as a QR code
	Reference     string    `json:"reference"` // the public key by which the payment is found on chain
	ExpiresAt     time.Time `json:"expires_at"`
}

func (p RequestedPayment) complete() bool { return p.TransactionID != "" && p.URL != "" }

// RequestPayment is POST /v1/wallet/request. Each payment emits transaction.received once it is final.
func (c *Client) RequestPayment(ctx context.Context, r PaymentRequest) (RequestedPayment, error) {
	return do[RequestedPayment](ctx, c, call{method: http.MethodPost, path: "/v1/wallet/request", body: r})
}

// Transaction is one transfer. A value that is not known yet is "", zero or nil.
type Transaction struct {
	TransactionID string `json:"transaction_id"`
	Type          string `json:"type"` // "send", "receive", "stake", "unstake", "withdraw", "swap" or "revoke"
	Status        Status `json:"status"`
	WalletAddress string `json:"wallet_address"`
	Recipient     string `json:"recipient"`
	Amount        string `json:"amount"`
	Token         string `json:"token"`
	Mint          string `json:"mint"`         // "" for SOL
	Fee           string `json:"fee"`          // in SOL; an estimate until it lands
	Rent          string `json:"rent"`         // in SOL, for the recipient's new token account
	TransferFee   string `json:"transfer_fee"` // in the token: the part of Amount that its issuer keeps
	RetryOf       string `json:"retry_of"`     // the failed transaction that it replaces
	Memo          string `json:"memo"`         // a public note on chain
	Label         string `json:"label"`        // the sender's description; not on chain
	// Terms are what only this Type has: a JSON object whose "schema" names its fields (openapi.json); null without.
	Terms         json.RawMessage `json:"terms"`
	Signature     string          `json:"signature"`
	Reference     string          `json:"reference"`
	CreatedAt     time.Time       `json:"created_at"`
	SubmittedAt   time.Time       `json:"submitted_at"`
	ConfirmedAt   time.Time       `json:"confirmed_at"`
	BlockHeight   *uint64         `json:"block_height"`
	Confirmations *int            `json:"confirmations"`
	ErrorCode     string          `json:"error_code"`
	ErrorMessage  string          `json:"error_message"`
	Warnings      []string        `json:"warnings"`      // the fraud rules that found something
	Held          bool            `json:"held"`          // true while it is unclear whether it landed
	ExpiresAt     time.Time       `json:"expires_at"`    // the deadline for Confirm, then for the signature, or of a payment request; later zero
	DelayEndsAt   time.Time       `json:"delay_ends_at"` // zero unless it is Delayed
}

func (t Transaction) complete() bool { return t.TransactionID != "" && t.Status != "" }

// Transaction is GET /v1/wallet/transactions/{id}.
func (c *Client) Transaction(ctx context.Context, id string) (Transaction, error) {
	path, err := ofTransaction(id, "")
	if err != nil {
		return Transaction{}, err
	}
	return do[Transaction](ctx, c, call{method: http.MethodGet, path: path})
}

func ofTransaction(id, operation string) (string, error) {
	id, err := segment("transaction id", id)
	return "/v1/wallet/transactions/" + id + operation, err
}

// TransactionFilter selects transactions. The zero value selects all.
type TransactionFilter struct {
	Address      string
	Token        string
	Type         string // "send", "receive", "stake", "unstake", "withdraw", "swap" or "revoke"
	Status       Status
	Since, Until time.Time
	Source       string // "purser": only what purser recorded itself, without asking a Solana node
	Cursor       string // the NextCursor of the previous page
	Limit        int    // entries per page: 1 to 100; 0: purser's default
}

func (f TransactionFilter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"address": f.Address, "token": f.Token, "type": f.Type, "status": string(f.Status), "source": f.Source, "cursor": f.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	if f.Limit != 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return q
}

// TransactionPage is one page of a list, newest first. It can have fewer items than requested, even none, and still have a
// next page.
type TransactionPage struct {
	Transactions []HistoryEntry `json:"transactions"`
	NextCursor   string         `json:"next_cursor"` // "" on the last page
	// Complete is false if transactions that purser did not record itself are missing because no Solana node answered.
	Complete bool `json:"complete"`
}

func (p TransactionPage) complete() bool { return p.Transactions != nil && all(p.Transactions) }

// HistoryEntry is one transaction of the list: purser's own, or one that purser read on chain.
type HistoryEntry struct {
	Transaction             // without a TransactionID if Source is "chain". Type can be "swap", "internal", "account_opened", "account_closed" or "other" too
	Source           string `json:"source"`            // "purser" or "chain"
	Counterparty     string `json:"counterparty"`      // who was paid, or who paid; "" if there are several, or it is not known
	CounterpartyName string `json:"counterparty_name"` // the owner's contact; "" for none
	// Suspect is why an incoming transaction may be there only to put an address into the history: "zero_value", "dust", "unlisted_token" or
	// "similar_address". "" if nothing is suspected.
	Suspect string   `json:"suspect"`
	Slot    *uint64  `json:"slot"`    // nil if Source is "purser"
	Changes []Change `json:"changes"` // what the wallet gained and lost, with Source "chain"
}

func (e HistoryEntry) complete() bool {
	return e.Status != "" && (e.TransactionID != "" || e.Source == "chain" && e.Signature != "")
}

// Change is a gain or a loss of one token.
type Change struct {
	Token     string `json:"token"`
	Mint      string `json:"mint"` // "" for SOL
	Amount    string `json:"amount"`
	Direction string `json:"direction"` // "in" or "out"
}

// TransactionPage is GET /v1/wallet/transactions: one page.
func (c *Client) TransactionPage(ctx context.Context, f TransactionFilter) (TransactionPage, error) {
	return do[TransactionPage](ctx, c, call{method: http.MethodGet, path: "/v1/wallet/transactions", query: f.query()})
}

// Transactions iterates over the whole list, newest first, and requests each page when it is needed. An error ends it.
func (c *Client) Transactions(ctx context.Context, f TransactionFilter) iter.Seq2[HistoryEntry, error] {
	return walk(f.Cursor, func(cursor string) ([]HistoryEntry, string, error) {
		f := f
		f.Cursor = cursor
		page, err := c.TransactionPage(ctx, f)
		return page.Transactions, page.NextCursor, err
	})
}

// walk iterates over a list, page by page. An error ends it.
func walk[T any](first string, page func(cursor string) (list []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := first; ; {
			list, next, err := page(cursor)
			if err == nil && next != "" && next == cursor {
				err = errors.New("purser: a page of a list leads to itself")
			}
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, one := range list {
				if !yield(one, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// Refresh is POST /v1/wallet/transactions/{id}/refresh: the transaction with a fresh blockhash. It
// expires after 150 blocks, so sign at once, and refresh again if that took more than some seconds.
func (c *Client) Refresh(ctx context.Context, id string) (Proposal, error) {
	path, err := ofTransaction(id, "/refresh")
	if err != nil {
		return Proposal{}, err
	}
	return do[Proposal](ctx, c, call{method: http.MethodPost, path: path})
}

// Progress is the state of a transaction after a signature was submitted.
type Progress struct {
	TransactionID string `json:"transaction_id"`
	Status        Status `json:"status"`
}

func (p Progress) complete() bool { return p.TransactionID != "" && p.Status != "" }

// Signature is exactly one of the two: a signature over the newest blockhash (see Sign), or the whole transaction as
// a wallet returned it, in base64.
type Signature struct {
	Signature         string `json:"signature,omitempty"`
	SignedTransaction string `json:"signed_transaction,omitempty"`
}

// SubmitSignature is POST /v1/wallet/transactions/{id}/signature. From then on purser settles
// the transaction. Submitting the same signature again changes nothing.
func (c *Client) SubmitSignature(ctx context.Context, id string, s Signature) (Progress, error) {
	path, err := ofTransaction(id, "/signature")
	if err != nil {
		return Progress{}, err
	}
	return do[Progress](ctx, c, call{method: http.MethodPost, path: path, body: s})
}

// Reject is POST /v1/wallet/transactions/{id}/reject. Nothing is sent. It fails once the transaction is signed.
func (c *Client) Reject(ctx context.Context, id string) (Progress, error) {
	path, err := ofTransaction(id, "/reject")
	if err != nil {
		return Progress{}, err
	}
	return do[Progress](ctx, c, call{method: http.MethodPost, path: path})
}
