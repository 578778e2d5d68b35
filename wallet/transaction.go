package wallet

import (
	"bytes"
	"math"
	"math/bits"
	"time"
)

// TransactionID is purser's name of a transaction ("tx_…").
type TransactionID string

// SignatureFee is what the network charges for each signature today, in lamports. What a fee will be is asked
// of the network (getFeeForMessage); this bounds what a device signs, and reads what it is shown.
const SignatureFee = 5_000

// NetworkFee is what a transaction of one signature costs in lamports: the signature, and limit
// compute units at price micro-lamports each, rounded up. The caller keeps the product small.
func NetworkFee(limit uint32, price uint64) uint64 {
	const micro = 1_000_000
	high, low := bits.Mul64(uint64(limit), price)
	if high >= micro {
		return math.MaxUint64
	}
	priority, rest := bits.Div64(high, low, micro)
	if rest > 0 {
		priority++
	}
	if priority > math.MaxUint64-SignatureFee {
		return math.MaxUint64
	}
	return SignatureFee + priority
}

// Windows of the lifecycle (docs/architecture.md, The rule against paying twice).
const (
	ConfirmWindow = 5 * time.Minute  // from the proposal to the owner's Confirm
	SignWindow    = 15 * time.Minute // from Confirm to the signature
	// NeverLandsAfter is how long by our own clock after the last issued blockhash a
	// transaction may still be called alive, whatever block heights say.
	NeverLandsAfter = 3 * time.Minute
	// MaxRefreshes bounds how many blockhashes are issued for one transaction.
	MaxRefreshes = 10
	// FreshFor is how long an issued blockhash is handed out again instead of a new one: short beside
	// the 150 blocks that it can land in, which took 60 seconds once, take 45 today and will take 30.
	FreshFor = 10 * time.Second
)

// MaxComputeUnits is what one transaction may ask for at most (Solana's own limit).
const MaxComputeUnits = 1_400_000

// Transaction is one movement of value from its proposal to its end. Amount is in base units of
// Token; Fee in lamports (the estimate before landing, the charged fee after).
type Transaction struct {
	ID          TransactionID `json:"id"`
	Kind        Kind          `json:"type"`
	Status      Status        `json:"status"`
	Owner       UserID        `json:"owner,omitzero"`
	Chat        int64         `json:"chat,omitzero"`    // where the owner is asked and told
	KeyID       string        `json:"key_id,omitempty"` // the API key that asked; "" for its owner in chat
	Signer      WalletType    `json:"signer"`           // what signs for From
	From        Address       `json:"from"`
	To          Address       `json:"to"`
	Token       Token         `json:"token"`
	Amount      uint64        `json:"amount"`
	Fee         uint64        `json:"fee,omitzero"`
	BalanceLeft uint64        `json:"balance_left,omitzero"` // base units of Token left after it, as shown at proposal
	Unfunded    bool          `json:"unfunded,omitzero"`     // the recipient had no account at proposal
	Reference   Address       `json:"reference,omitzero"`

	RequestedDestination Address       `json:"requested_destination,omitzero"` // what was asked to be paid, when To is its owner
	PoisoningSuspect     Address       `json:"poisoning_suspect,omitzero"`     // what To, or Named, could be taken for; sealed by the store
	Rent                 uint64        `json:"rent,omitempty"`                 // lamports for the recipient's new token account
	TransferFee          uint64        `json:"transfer_fee,omitempty"`         // base units that the token's issuer keeps of Amount
	Memo                 string        `json:"memo,omitempty"`                 // public note on chain; sealed by the store
	Label                string        `json:"label,omitempty"`                // what the link, the app or the request says that it is for; sealed by the store
	ComputeUnitLimit     uint32        `json:"compute_unit_limit,omitempty"`   // compute units; 0 leaves budget out
	ComputeUnitPrice     uint64        `json:"compute_unit_price,omitempty"`   // micro-lamports a unit
	Warnings             []Warning     `json:"warnings,omitempty"`
	RetryOf              TransactionID `json:"retry_of,omitempty"`
	PaymentRequestRef    Address       `json:"payment_request_ref,omitzero"` // reference of the payment link that it answers; of a receipt, of the request
	// Answers is, of a receipt, the request that it ended: a payment ends one at most, however many it names.
	Answers TransactionID `json:"answers,omitempty"`
	// LinkReferences are all references of the payment link that it answers, in the link's order: the transfer
	// names them before its own, for whoever made the link to find it by.
	LinkReferences     []Address     `json:"link_references,omitempty"`
	RetriedBy          TransactionID `json:"retried_by,omitempty"`          // the newest that takes its place
	RecheckRequestedAt time.Time     `json:"recheck_requested_at,omitzero"` // when its owner last asked to look for it

	CreatedAt time.Time `json:"created_at"`
	Deadline  time.Time `json:"deadline,omitzero"` // of Confirm, then of the signature

	Message           []byte            `json:"message,omitzero"` // with the blockhash zeroed: what every issue shares
	SignID            string            `json:"sign_id,omitzero"` // sealed by the store; "" until Confirm, and for what a program signs at once
	IssuedBlockhashes []IssuedBlockhash `json:"issued_blockhashes,omitzero"`

	Signed      []byte    `json:"signed,omitzero"` // wire bytes, stored before the first broadcast
	Signature   Signature `json:"signature,omitzero"`
	SignedAt    time.Time `json:"signed_at,omitzero"`
	SubmittedAt time.Time `json:"submitted_at,omitzero"`

	// Refusal is why a node would not take it so far: no verdict, but the reason if it never lands.
	Refusal       Failure `json:"refusal,omitempty"`
	RefusalReason Reason  `json:"refusal_reason,omitzero"`

	Landing       *Landing  `json:"landing,omitempty"`
	ConfirmedAt   time.Time `json:"confirmed_at,omitzero"`
	EndedAt       time.Time `json:"ended_at,omitzero"`
	Indeterminate bool      `json:"indeterminate,omitzero"` // may or may not have landed; nobody can tell yet
	Closed        bool      `json:"closed,omitzero"`        // nothing can change any more
	ErrorCode     Failure   `json:"error_code,omitzero"`
	ErrorReason   Reason    `json:"error_reason,omitzero"`

	Changes uint64 `json:"changes"` // steps taken; numbers its events
	Version uint64 `json:"version"` // compare-and-set of the store
}

// Approved tells whether its signature was ever asked for: by its owner's Confirm, or by the program that signs.
func (t Transaction) Approved() bool { return t.SignID != "" || len(t.IssuedBlockhashes) > 0 }

// Money is the amount with its decimals.
func (t Transaction) Money() Amount { return t.Token.Amount(t.Amount) }

// Warning names what an owner should know before they confirm; each front has words for it.
type Warning string

// The warnings.
const (
	WarnNewRecipient Warning = "new_recipient"      // no contact, no wallet of the owner's, and never paid by them
	WarnUnlisted     Warning = "unlisted_token"     // the mint is on no list of well-known ones
	WarnDelegate     Warning = "permanent_delegate" // somebody may take the token from anybody
	WarnScaled       Warning = "scaled_amounts"     // other wallets show other figures for it
	WarnUnknown      Warning = "unknown_extensions" // the token can do things unknown here
	WarnAllSOL       Warning = "all_sol"            // nothing is left to pay the fee of another transfer
)

// LandedAfterCancel tells whether t landed although it had been ended here before.
func (t Transaction) LandedAfterCancel() bool {
	return t.Status == Confirmed && !t.EndedAt.IsZero() && t.EndedAt.Before(t.ConfirmedAt)
}

// Net is what reaches the recipient, in base units of Token.
func (t Transaction) Net() uint64 { return t.Amount - t.TransferFee }

// Reserves tells whether t holds back what it spends from a balance that was read at slot: from Confirm until it is
// final, but not in a balance that already shows its landing (docs/architecture.md, The rule against paying twice, 5).
func (t Transaction) Reserves(slot uint64) bool {
	switch t.Status {
	case AwaitingSignature, Signed, Pending:
		return true
	case Confirmed:
		return !t.Closed && t.Landing != nil && slot < t.Landing.Slot
	}
	return false
}

// ConfirmableAt tells, by nil, that t waits for its owner's Confirm and its time is not over; else
// why not (Conflict).
func (t Transaction) ConfirmableAt(now time.Time) error { return t.waitsAt(AwaitingConfirmation, now) }

// SignableAt is ConfirmableAt for the signature.
func (t Transaction) SignableAt(now time.Time) error { return t.waitsAt(AwaitingSignature, now) }

func (t Transaction) waitsAt(status Status, now time.Time) error {
	if t.Status != status {
		return RefuseFor(Conflict, t.Status.Reason())
	}
	if t.TimedOutAt(now) {
		return RefuseFor(Conflict, Expired.Reason())
	}
	return nil
}

// TimedOutAt tells that t waited for its owner in vain: its deadline has come.
func (t Transaction) TimedOutAt(now time.Time) bool {
	waits := t.Status == AwaitingConfirmation || t.Status == AwaitingSignature || t.Status == Requested
	return waits && !now.Before(t.Deadline)
}

// NeverLanded tells that t has ended for good without moving anything: another may take its place.
func (t Transaction) NeverLanded() bool {
	return t.Closed && (t.Status == Failed || t.Status == Expired || t.Status == Rejected)
}

// NothingSigned tells that t has ended for good, and that nothing was ever signed for it or could have been: no
// blockhash was handed out. It is of no use but to whoever looks at what was proposed lately.
func (t Transaction) NothingSigned() bool {
	return (t.Status == Failed || t.Status == Expired || t.Status == Rejected) && t.Closed &&
		t.Signature.IsZero() && len(t.Signed) == 0 && len(t.IssuedBlockhashes) == 0 && t.Landing == nil
}

// AlreadySigned tells whether a device has handed in just this before: a signature, or signed bytes.
func (t Transaction) AlreadySigned(signature Signature, signed []byte) bool {
	if len(t.Signed) == 0 {
		return false
	}
	if signed != nil {
		return bytes.Equal(t.Signed, signed)
	}
	return t.Signature == signature
}

// LastIssuedBlockhash is the newest blockhash handed out, by our clock; false when none was.
func (t Transaction) LastIssuedBlockhash() (IssuedBlockhash, bool) {
	if len(t.IssuedBlockhashes) == 0 {
		return IssuedBlockhash{}, false
	}
	return t.IssuedBlockhashes[len(t.IssuedBlockhashes)-1], true
}

// FreshAt says whether the newest blockhash was handed out less than FreshFor ago.
func (t Transaction) FreshAt(now time.Time) bool {
	last, ok := t.LastIssuedBlockhash()
	age := now.Sub(last.At)
	return ok && age >= 0 && age < FreshFor
}

// LastValidBlockHeight is the highest block that any issue of t can land in.
func (t Transaction) LastValidBlockHeight() uint64 {
	var highest uint64
	for _, issue := range t.IssuedBlockhashes {
		highest = max(highest, issue.Blockhash.LastValidBlockHeight)
	}
	return highest
}

// What the actions of a decoded transaction are called.
const (
	ActionTransfer      = "transfer"       // lamports, From to To
	ActionTokenTransfer = "token_transfer" // units of a mint, From's own account to Account
	ActionCreateAccount = "create_account" // To's associated account for a mint, paid by the signer
	ActionMemo          = "memo"
)
