package wallet

import (
	"bytes"
	"math"
	"math/bits"
	"time"
)

// TransactionID identifies a transaction in this store ("tx_..."). On chain it is known by its Signature.
type TransactionID string

// SignatureFee is the network's fee for one signature, in lamports. Actual fees are asked of the network
// (getFeeForMessage). This constant serves to check and to display what a device signs.
const SignatureFee = 5_000

// NetworkFee returns the fee, in lamports, of a transaction with one signature and limit compute units at price
// micro-lamports each, rounded up. A fee beyond 64 bits is math.MaxUint64.
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

// Time limits of the lifecycle (docs/architecture.md, The rule against paying twice).
const (
	ConfirmWindow = 5 * time.Minute  // from the proposal to the owner's Confirm
	SignWindow    = 15 * time.Minute // from Confirm to the signature
	// DelayedSignWindow is SignWindow for a transaction that was delayed, from the end of its delay. The person did not
	// choose that moment and may be asleep (docs/decisions/0051).
	DelayedSignWindow = 12 * time.Hour
	// MaxDelay is the longest delay between Confirm and the request for a signature.
	MaxDelay = 7 * 24 * time.Hour
	// NeverLandsAfter is the shortest time, by our own clock, between the last issued blockhash and the verdict that a
	// transaction can never land. It is required in addition to the block height.
	NeverLandsAfter = 3 * time.Minute
	// MaxRefreshes is how many blockhashes can be issued for one transaction.
	MaxRefreshes = 10
	// FreshFor is how long an issued blockhash is returned again instead of a new one. It is short compared with the 150
	// blocks for which a blockhash is valid: once 60 seconds, today 45, and 30 in the future.
	FreshFor = 10 * time.Second
)

// MaxComputeUnits is Solana's limit on the compute units of one transaction.
const MaxComputeUnits = 1_400_000

// Transaction is one movement of value, from proposal to end. It is a plain value. Only Rules.Apply changes its status,
// and the store writes it by compare-and-set on Version. Amount is in base units of Token. Fee is in lamports: the
// estimate until it lands, and the actual fee afterwards.
//
// Signed is set once and never replaced: recovery sends the same bytes. IssuedBlockhashes only grows: the never-to-land
// rule depends on all of them. Signature is that of Signed, until the chain reports a landing with another one.
type Transaction struct {
	ID          TransactionID `json:"id"`
	Kind        Kind          `json:"type"`
	Status      Status        `json:"status"`
	Owner       UserID        `json:"owner,omitzero"`
	Chat        int64         `json:"chat,omitzero"`    // the owner's private chat
	KeyID       string        `json:"key_id,omitempty"` // the API key that proposed it; "" for the owner in chat
	Signer      WalletType    `json:"signer"`           // what signs for From
	From        Address       `json:"from"`
	To          Address       `json:"to"`
	Token       Token         `json:"token"`
	Amount      uint64        `json:"amount"`
	Fee         uint64        `json:"fee,omitzero"`
	BalanceLeft uint64        `json:"balance_left,omitzero"` // base units of Token left after it; updated at Confirm
	Unfunded    bool          `json:"unfunded,omitzero"`     // the recipient had no account on chain at the proposal
	Reference   Address       `json:"reference,omitzero"`

	// RequestedDestination is the token account in the request, if To is its owner.
	RequestedDestination Address `json:"requested_destination,omitzero"`
	// PoisoningSuspect is the known address that To or RequestedDestination resembles. The store seals it.
	PoisoningSuspect Address `json:"poisoning_suspect,omitzero"`
	// Rent is the deposit for an account that the transaction creates, in lamports: the recipient's token account, or a stake
	// account.
	Rent uint64 `json:"rent,omitempty"`
	// TransferFee is how many base units of Amount the token's transfer fee withholds.
	TransferFee uint64 `json:"transfer_fee,omitempty"`
	// Terms are what its kind alone knows of it. The store seals them, checks them when it reads, and refuses others.
	Terms Terms `json:"terms,omitempty"`
	// Memo is the public note on chain. The store seals it here.
	Memo string `json:"memo,omitempty"`
	// Label is who asks for the payment or what it is for, in the words of the link, the app or the request. Purpose is
	// what a payment link says that it is for (its message). The store seals both.
	Label            string        `json:"label,omitempty"`
	Purpose          string        `json:"purpose,omitempty"`
	ComputeUnitLimit uint32        `json:"compute_unit_limit,omitempty"` // 0: no compute budget instructions
	ComputeUnitPrice uint64        `json:"compute_unit_price,omitempty"` // micro-lamports per compute unit
	RetryOf          TransactionID `json:"retry_of,omitempty"`
	// PaymentRequestRef is the reference of the payment request that it answers, also on a receipt.
	PaymentRequestRef Address `json:"payment_request_ref,omitzero"`
	// Answers is set on a receipt: the payment request that this payment closed. A payment closes one at most.
	Answers TransactionID `json:"answers,omitempty"`
	// LinkReferences are the references of the payment link that it answers, in order. The transfer names them before its
	// own, so that the creator of the link can find it.
	LinkReferences     []Address     `json:"link_references,omitempty"`
	RetriedBy          TransactionID `json:"retried_by,omitempty"`          // the newest transaction that replaces it
	RecheckRequestedAt time.Time     `json:"recheck_requested_at,omitzero"` // when its owner last requested a search

	CreatedAt time.Time `json:"created_at"`
	Deadline  time.Time `json:"deadline,omitzero"` // for Confirm, then for the signature; zero while it is delayed

	// DelayFor is how long it has to wait between Confirm and the request for a signature, at most MaxDelay, and DelayReason
	// says why; zero for not at all. They are set before Confirm. The store seals the reason.
	DelayFor    time.Duration `json:"delay_for,omitzero"`
	DelayReason Reason        `json:"delay_reason,omitzero"`
	// DelayEndsAt is when its delay ends or ended; zero if it was never delayed.
	DelayEndsAt time.Time `json:"delay_ends_at,omitzero"`

	// Findings are what the fraud rules found at the proposal, or at Confirm if that was worse (Judge). The store seals them.
	Findings []Finding `json:"findings,omitempty"`

	Message []byte `json:"message,omitzero"` // with a zero blockhash
	// SignID is the secret of the signing link. The store seals it. It is "" until a signature is requested, or until Confirm if it
	// waits for RuleLimitNewRecipient, and if a program signs without a confirmation.
	SignID            string            `json:"sign_id,omitzero"`
	IssuedBlockhashes []IssuedBlockhash `json:"issued_blockhashes,omitzero"`

	Signed      []byte    `json:"signed,omitzero"` // wire bytes, stored before the first broadcast
	Signature   Signature `json:"signature,omitzero"`
	SignedAt    time.Time `json:"signed_at,omitzero"`
	SubmittedAt time.Time `json:"submitted_at,omitzero"`

	// Refusal is the last useful reason why a node refused it. It becomes the reason of the failure if it never lands.
	Refusal       Failure `json:"refusal,omitempty"`
	RefusalReason Reason  `json:"refusal_reason,omitzero"`

	Landing     *Landing  `json:"landing,omitempty"`
	ConfirmedAt time.Time `json:"confirmed_at,omitzero"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
	// Indeterminate means that it may have landed or not, and the nodes cannot say which yet.
	Indeterminate bool    `json:"indeterminate,omitzero"`
	Closed        bool    `json:"closed,omitzero"` // final: nothing can change any more
	ErrorCode     Failure `json:"error_code,omitzero"`
	ErrorReason   Reason  `json:"error_reason,omitzero"`

	Changes uint64 `json:"changes"` // number of transitions; part of the IDs of its events
	Version uint64 `json:"version"` // for the store's compare-and-set
}

// Approved reports whether a signature was requested: after the owner's Confirm and the delay, if there was one, or from
// the program that signs.
func (t Transaction) Approved() bool {
	if t.WasDelayed() && t.Deadline.IsZero() { // its delay did not end, though it may have a link already
		return false
	}
	return t.SignID != "" || len(t.IssuedBlockhashes) > 0
}

// WasDelayed reports whether t waits or waited between Confirm and the request for a signature.
func (t Transaction) WasDelayed() bool { return !t.DelayEndsAt.IsZero() }

// Money returns the amount with the token's decimals.
func (t Transaction) Money() Amount { return t.Token.Amount(t.Amount) }

// LandedAfterCancel reports whether t landed after it had been rejected or had expired here.
func (t Transaction) LandedAfterCancel() bool {
	return t.Status == Confirmed && !t.EndedAt.IsZero() && t.EndedAt.Before(t.ConfirmedAt)
}

// Net returns what the recipient gets, in base units of Token.
func (t Transaction) Net() uint64 { return t.Amount - t.TransferFee }

// Reserves reports whether t must be subtracted from a balance that was read at slot. It holds its funds from Confirm
// until it is closed. A balance read at or after the slot of its landing already shows it (docs/architecture.md, The rule
// against paying twice, 5).
func (t Transaction) Reserves(slot uint64) bool {
	switch t.Status {
	case Delayed, AwaitingSignature, Signed, Pending:
		return true
	case Confirmed:
		return !t.Closed && t.Landing != nil && slot < t.Landing.Slot
	}
	return false
}

// Reservation is what a transaction that is under way holds back from the balances of the wallet that it pays from.
type Reservation struct {
	ID       TransactionID
	Spending Spending
	LandedAt uint64 // slot of its landing; 0: it has not landed
}

// Holds is Transaction.Reserves.
func (r Reservation) Holds(slot uint64) bool { return r.LandedAt == 0 || slot < r.LandedAt }

// Reservation returns what t holds back. false: nothing, at whatever slot the balances were read.
func (r Rules) Reservation(t Transaction) (Reservation, bool) {
	if !t.Reserves(0) {
		return Reservation{}, false
	}
	held := Reservation{ID: t.ID, Spending: r.Spends(t)}
	if t.Status == Confirmed {
		held.LandedAt = t.Landing.Slot
	}
	return held, true
}

// ConfirmableAt returns nil if t waits for the owner's Confirm and its deadline has not passed. Otherwise it is CONFLICT
// with the reason.
func (t Transaction) ConfirmableAt(now time.Time) error { return t.waitsAt(AwaitingConfirmation, now) }

// ReleasableAt returns nil if the delay of t has ended and it has not left it yet. Otherwise it is CONFLICT with the reason.
func (t Transaction) ReleasableAt(now time.Time) error {
	if t.Status != Delayed || now.Before(t.DelayEndsAt) {
		return RefuseFor(Conflict, t.Status.Reason())
	}
	return nil
}

// Waits reports whether t waits for a person at now: for Confirm, for the end of its delay, in which they can cancel it, or for a
// signature.
func (t Transaction) Waits(now time.Time) bool {
	return t.Status == Delayed || t.ConfirmableAt(now) == nil || t.SignableAt(now) == nil
}

// SignableAt is ConfirmableAt for the device's signature.
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

// TimedOutAt reports whether t still waits for a person although its deadline has passed. The deadline itself counts.
func (t Transaction) TimedOutAt(now time.Time) bool {
	waits := t.Status == AwaitingConfirmation || t.Status == AwaitingSignature || t.Status == Requested
	return waits && !now.Before(t.Deadline)
}

// NeverLanded reports whether t is closed and moved nothing. Only then may another transaction replace it.
func (t Transaction) NeverLanded() bool {
	return t.Closed && (t.Status == Failed || t.Status == Expired || t.Status == Rejected)
}

// NothingSigned reports whether t is closed and nothing was or could have been signed for it, because no blockhash was
// ever issued. Such a row matters only as recent history.
func (t Transaction) NothingSigned() bool {
	return (t.Status == Failed || t.Status == Expired || t.Status == Rejected) && t.Closed &&
		t.Signature.IsZero() && len(t.Signed) == 0 && len(t.IssuedBlockhashes) == 0 && t.Landing == nil
}

// AlreadySigned reports whether t already has exactly this signature, or these signed bytes if signed is not nil.
func (t Transaction) AlreadySigned(signature Signature, signed []byte) bool {
	if len(t.Signed) == 0 {
		return false
	}
	if signed != nil {
		return bytes.Equal(t.Signed, signed)
	}
	return t.Signature == signature
}

// LastIssuedBlockhash returns the most recently issued blockhash; false if none was issued.
func (t Transaction) LastIssuedBlockhash() (IssuedBlockhash, bool) {
	if len(t.IssuedBlockhashes) == 0 {
		return IssuedBlockhash{}, false
	}
	return t.IssuedBlockhashes[len(t.IssuedBlockhashes)-1], true
}

// FreshAt reports whether the newest blockhash was issued less than FreshFor ago.
func (t Transaction) FreshAt(now time.Time) bool {
	last, ok := t.LastIssuedBlockhash()
	age := now.Sub(last.At)
	return ok && age >= 0 && age < FreshFor
}

// LastValidBlockHeight returns the highest block in which t can land, over all issued blockhashes; 0 if none was issued.
func (t Transaction) LastValidBlockHeight() uint64 {
	var highest uint64
	for _, issue := range t.IssuedBlockhashes {
		highest = max(highest, issue.Blockhash.LastValidBlockHeight)
	}
	return highest
}

// The types of actions.
const (
	ActionTransfer      = "transfer"       // lamports, from From to To
	ActionTokenTransfer = "token_transfer" // base units of a mint, from From's associated account to Account
	ActionCreateAccount = "create_account" // To's associated account for a mint, paid by the fee payer
	ActionMemo          = "memo"

	ActionCreateStake     = "create_stake"     // an empty stake account, derived from From and the seed in Text, paid by From
	ActionInitializeStake = "initialize_stake" // gives both authorities of Account to From, without lockup
	ActionDelegate        = "delegate"         // delegates Account to the vote account To
	ActionSplitStake      = "split_stake"      // moves Lamports of stake from Source to Account
	ActionMergeStake      = "merge_stake"      // moves everything from Source to Account, and ends Source
	ActionDeactivate      = "deactivate"       // begins the cooldown of Account
	ActionWithdrawStake   = "withdraw_stake"   // Lamports from Account to From

	ActionWrap       = "wrap"        // Lamports from From to its own associated account for wrapped SOL
	ActionSyncNative = "sync_native" // makes that account count its lamports as wrapped SOL
	ActionReference  = "reference"   // transfers nothing from From to From, and names Reference
	ActionSwap       = "swap"        // the instruction of the swap program, in Swap
	ActionUnwrap     = "unwrap"      // closes From's associated account for wrapped SOL, and returns all of its lamports to From

	ActionRevoke = "revoke" // takes the delegate of From's token account Account away
)
