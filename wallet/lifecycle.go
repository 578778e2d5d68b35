package wallet

import (
	"fmt"
	"time"
)

// Status is where a transaction is in its life (docs/architecture.md, The rule against paying twice).
type Status string

// The states of a transaction.
const (
	AwaitingConfirmation Status = "awaiting_confirmation"
	AwaitingSignature    Status = "awaiting_signature"
	Signed               Status = "signed"
	Pending              Status = "pending"
	Confirmed            Status = "confirmed"
	Failed               Status = "failed"
	Rejected             Status = "rejected"
	Expired              Status = "expired"
	Received             Status = "received"
	Requested            Status = "requested" // somebody was asked to pay, by a link
)

// Known tells whether s is a state.
func (s Status) Known() bool {
	switch s {
	case AwaitingConfirmation, AwaitingSignature, Signed, Pending, Confirmed, Failed, Rejected, Expired, Received, Requested:
		return true
	}
	return false
}

// Trigger is what moves a transaction from one state to the next.
type Trigger string

// The triggers of the lifecycle.
const (
	OwnerConfirmed  Trigger = "owner confirmed"
	OwnerRejected   Trigger = "owner rejected"
	TimeRanOut      Trigger = "time ran out"
	DeviceSigned    Trigger = "device signed"
	NetworkAccepted Trigger = "network accepted"
	Landed          Trigger = "landed"
	Finalized       Trigger = "finalized"
	FailedOnChain   Trigger = "failed on chain"
	CanNeverLand    Trigger = "can never land"
	RolledBack      Trigger = "rolled back"
	FoundOnChain    Trigger = "found on chain"
	BecameUncertain Trigger = "became uncertain"
	Paid            Trigger = "paid"
)

// Failure says why a transaction ended without landing: `error_code` of transaction.failed.
type Failure string

// The failures that purser can tell apart today (docs/specification.md, Money).
const (
	InsufficientBalance Failure = "INSUFFICIENT_BALANCE"
	UserRejected        Failure = "USER_REJECTED"
	ConfirmationExpired Failure = "CONFIRMATION_EXPIRED"
	BlockhashExpired    Failure = "BLOCKHASH_EXPIRED"
	SimulationFailed    Failure = "SIMULATION_FAILED"
	ChainError          Failure = "CHAIN_ERROR"
)

// Transition is one step of the lifecycle: from a state, by a trigger, to a state, announcing events.
type Transition struct {
	From   Status
	By     Trigger
	To     Status
	Emits  []EventName
	Closes bool // nothing can change after it
}

// Lifecycle is the whole life of a transaction as data. docs/lifecycle.md is printed from it.
// A transaction that ended without a signature closes at once only before its owner's Confirm; later
// CanNeverLand must be proven: a device might have signed and kept it.
func Lifecycle() []Transition {
	return []Transition{
		{AwaitingConfirmation, OwnerConfirmed, AwaitingSignature, []EventName{TransactionApproved}, false},
		{AwaitingConfirmation, OwnerRejected, Rejected, []EventName{TransactionFailed}, true},
		{AwaitingConfirmation, TimeRanOut, Expired, []EventName{TransactionFailed}, true},
		{AwaitingSignature, DeviceSigned, Signed, []EventName{TransactionSigned}, false},
		{AwaitingSignature, OwnerRejected, Rejected, []EventName{TransactionFailed}, false},
		{AwaitingSignature, TimeRanOut, Expired, []EventName{TransactionFailed}, false},
		{Signed, NetworkAccepted, Pending, []EventName{TransactionPending}, false},
		{Signed, Landed, Confirmed, []EventName{TransactionPending, TransactionConfirmed}, false},
		{Signed, FailedOnChain, Failed, []EventName{TransactionFailed}, true},
		{Signed, CanNeverLand, Failed, []EventName{TransactionFailed}, true},
		{Signed, BecameUncertain, Signed, []EventName{TransactionHeld}, false},
		{Pending, Landed, Confirmed, []EventName{TransactionConfirmed}, false},
		{Pending, FailedOnChain, Failed, []EventName{TransactionFailed}, true},
		{Pending, CanNeverLand, Failed, []EventName{TransactionFailed}, true},
		{Pending, BecameUncertain, Pending, []EventName{TransactionHeld}, false},
		{Confirmed, Finalized, Confirmed, []EventName{TransactionFinalized}, true},
		{Confirmed, RolledBack, Pending, []EventName{TransactionRolledBack}, false},
		{Requested, Paid, Received, nil, true}, // each payment is a receipt of its own
		{Requested, TimeRanOut, Expired, nil, true},
		{Rejected, FoundOnChain, Confirmed, []EventName{TransactionConfirmed}, false},
		{Rejected, CanNeverLand, Rejected, []EventName{TransactionClosed}, true},
		{Expired, FoundOnChain, Confirmed, []EventName{TransactionConfirmed}, false},
		{Expired, CanNeverLand, Expired, []EventName{TransactionClosed}, true},
	}
}

// TransitionInput is a trigger with what is known of it.
type TransitionInput struct {
	By      Trigger
	At      time.Time
	Landing *Landing // of Landed, FoundOnChain, Finalized, FailedOnChain
	Failure Failure  // of the triggers that end it without success
	Reason  Reason   // of those: why, for people
}

// apply is the part of Rules.Apply that is the same for every kind. Programs see the kind called typ.
func (t Transaction) apply(c TransitionInput, typ Kind) (Transaction, []Event, error) {
	step, ok := t.transition(c.By)
	if !ok {
		return t, nil, &Error{Code: Conflict, Reason: t.Status.Reason(),
			Err: fmt.Errorf("transaction %s is %s: not %q", t.ID, t.Status, c.By)}
	}
	t.Status = step.To
	t.Changes++
	t.Closed = step.Closes
	t.Indeterminate = c.By == BecameUncertain
	if c.Failure != "" {
		t.ErrorCode, t.ErrorReason = c.Failure, c.Reason
	}
	if c.Landing != nil {
		landing := *c.Landing
		t.Landing, t.Signature = &landing, landing.Signature
		if landing.Fee > 0 { // a node may know the landing before its details
			t.Fee = landing.Fee
		}
	}
	switch c.By {
	case OwnerConfirmed:
		t.Deadline = c.At.Add(SignWindow)
	case OwnerRejected, TimeRanOut:
		// With its sign link in some device's hands it could still land: settle watches on. That no
		// blockhash is noted proves nothing, since the database may have been restored from a backup.
		t.Closed = step.From != AwaitingSignature
		t.EndedAt = c.At
	case DeviceSigned:
		t.SignedAt = c.At
	case NetworkAccepted:
		t.SubmittedAt = c.At
	case Landed, FoundOnChain:
		if t.SubmittedAt.IsZero() {
			t.SubmittedAt = c.At
		}
		t.ConfirmedAt = c.At
		t.ErrorCode, t.ErrorReason = "", Reason{}
	case RolledBack:
		t.Landing, t.ConfirmedAt = nil, time.Time{}
	case Finalized, FailedOnChain, CanNeverLand:
		if t.EndedAt.IsZero() {
			t.EndedAt = c.At
		}
	}
	events := make([]Event, 0, len(step.Emits))
	for i, name := range step.Emits {
		event, err := t.event(name, typ, i, c.At)
		if err != nil {
			return t, nil, err
		}
		events = append(events, event)
	}
	return t, events, nil
}

func (t Transaction) transition(by Trigger) (Transition, bool) {
	for _, step := range Lifecycle() {
		if step.From == t.Status && step.By == by {
			return step, true
		}
	}
	return Transition{}, false
}

// Reason says what a state means for what somebody just tried.
func (s Status) Reason() Reason {
	switch s {
	case AwaitingConfirmation:
		return Because("status.awaiting_confirmation")
	case AwaitingSignature:
		return Because("status.awaiting_signature")
	case Signed:
		return Because("status.signed")
	case Pending:
		return Because("status.pending")
	case Confirmed:
		return Because("status.confirmed")
	case Failed:
		return Because("status.failed")
	case Rejected:
		return Because("status.rejected")
	case Expired:
		return Because("status.expired")
	case Requested:
		return Because("status.requested")
	case Received:
		return Because("status.received")
	}
	return Because("status.ended")
}
