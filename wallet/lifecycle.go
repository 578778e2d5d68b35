package wallet

import (
	"cmp"
	"fmt"
	"time"
)

// Status is a state of the lifecycle (docs/architecture.md, The rule against paying twice).
type Status string

// The states of a transaction.
const (
	AwaitingConfirmation Status = "awaiting_confirmation" // proposed; its owner has to confirm it in chat
	Delayed              Status = "delayed"               // confirmed; it waits until DelayEndsAt, and its owner can cancel it
	AwaitingSignature    Status = "awaiting_signature"    // confirmed; a device has to sign it
	Signed               Status = "signed"                // signed bytes are stored; no node has accepted them yet
	Pending              Status = "pending"               // a node has accepted them
	Confirmed            Status = "confirmed"             // in a block; final once it is Closed
	Failed               Status = "failed"                // failed on chain, or can never land
	Rejected             Status = "rejected"              // by its owner
	Expired              Status = "expired"               // its deadline passed
	Received             Status = "received"              // an incoming payment, or a payment request that was paid
	Requested            Status = "requested"             // a payment request that waits for its payment
)

// Known reports whether s is one of the states above.
func (s Status) Known() bool {
	switch s {
	case AwaitingConfirmation, Delayed, AwaitingSignature, Signed, Pending, Confirmed, Failed, Rejected, Expired, Received, Requested:
		return true
	}
	return false
}

// Trigger is what causes a transition. Its text appears in docs/lifecycle.md and in logs.
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

	// ConfirmedToWait is what OwnerConfirmed becomes for a transaction with a delay (Transaction.DelayFor).
	ConfirmedToWait Trigger = "owner confirmed, has to wait"
	DelayEnded      Trigger = "delay ended"
	NoLongerFits    Trigger = "no longer possible" // the check at the end of the delay failed
)

// Failure is why a transaction ended without success: error_code of transaction.failed.
type Failure string

// The failures that can be distinguished (docs/specification.md, Money).
const (
	InsufficientBalance Failure = "INSUFFICIENT_BALANCE"
	UserRejected        Failure = "USER_REJECTED"
	ConfirmationExpired Failure = "CONFIRMATION_EXPIRED"
	BlockhashExpired    Failure = "BLOCKHASH_EXPIRED"
	SimulationFailed    Failure = "SIMULATION_FAILED"
	ChainError          Failure = "CHAIN_ERROR"
	PolicyViolated      Failure = "POLICY_VIOLATION" // a fraud rule or a spending limit refused it when its delay ended
)

// Transition is one row of the lifecycle: a trigger moves a transaction from one state to another and emits events.
type Transition struct {
	From   Status
	By     Trigger
	To     Status
	Emits  []EventName
	Closes bool // no transition can follow
}

// Lifecycle returns the whole state machine as data. docs/lifecycle.md is generated from it.
//
// A transaction that ends before a signature was requested is closed at once: before Confirm, and while it is delayed.
// After that a device may hold a signature that nobody has seen, so it stays open until CanNeverLand is proven.
func Lifecycle() []Transition {
	return []Transition{
		{AwaitingConfirmation, OwnerConfirmed, AwaitingSignature, []EventName{TransactionApproved}, false},
		{AwaitingConfirmation, ConfirmedToWait, Delayed, []EventName{TransactionDelayed}, false},
		{AwaitingConfirmation, OwnerRejected, Rejected, []EventName{TransactionFailed}, true},
		{AwaitingConfirmation, TimeRanOut, Expired, []EventName{TransactionFailed}, true},
		{Delayed, DelayEnded, AwaitingSignature, []EventName{TransactionDelayEnded}, false},
		{Delayed, OwnerRejected, Rejected, []EventName{TransactionFailed}, true},
		{Delayed, NoLongerFits, Failed, []EventName{TransactionFailed}, true},
		// Only after a restore from a backup that is older than its signature.
		{Delayed, FoundOnChain, Confirmed, []EventName{TransactionConfirmed}, false},
		{Delayed, FailedOnChain, Failed, []EventName{TransactionFailed}, true},
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
		{Requested, Paid, Received, nil, true}, // each payment has a receipt of its own
		{Requested, TimeRanOut, Expired, nil, true},
		{Rejected, FoundOnChain, Confirmed, []EventName{TransactionConfirmed}, false},
		{Rejected, CanNeverLand, Rejected, []EventName{TransactionClosed}, true},
		{Expired, FoundOnChain, Confirmed, []EventName{TransactionConfirmed}, false},
		{Expired, CanNeverLand, Expired, []EventName{TransactionClosed}, true},
	}
}

// TransitionInput is a trigger with its details.
type TransitionInput struct {
	By      Trigger
	At      time.Time
	Landing *Landing // for Landed, FoundOnChain, Finalized and FailedOnChain
	Failure Failure  // for triggers that end it without success
	Reason  Reason   // with Failure: the explanation for people
}

// apply is the part of Rules.Apply that is the same for every kind. An input that the
// lifecycle does not allow is CONFLICT and changes nothing.
func (t Transaction) apply(c TransitionInput, r Rules) (Transaction, []Event, error) {
	if c.By == OwnerConfirmed && t.DelayFor > 0 {
		c.By = ConfirmedToWait
	}
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
		if landing.Fee > 0 { // a node may report a landing before its fee
			t.Fee = landing.Fee
		}
	}
	t.keepTime(c, step.From, r)
	events := make([]Event, 0, len(step.Emits))
	for i, name := range step.Emits {
		event, err := t.event(name, r.Type, i, c.At)
		if err != nil {
			return t, nil, err
		}
		events = append(events, event)
	}
	return t, events, nil
}

// keepTime records when a step was taken, until when the next one can be, and that a rejected or expired one is closed.
func (t *Transaction) keepTime(c TransitionInput, from Status, r Rules) {
	switch c.By {
	case OwnerConfirmed:
		t.Deadline = c.At.Add(cmp.Or(r.SignWindow, SignWindow))
	case ConfirmedToWait:
		t.DelayEndsAt, t.Deadline = c.At.Add(t.DelayFor), time.Time{}
	case DelayEnded:
		t.Deadline = c.At.Add(DelayedSignWindow)
	case OwnerRejected, TimeRanOut:
		// If a device has the signing link, it could still land, so settle keeps watching. Having no blockhash on record
		// proves nothing: the database may have been restored from a backup.
		t.Closed = from != AwaitingSignature
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
	case Finalized, FailedOnChain, CanNeverLand, NoLongerFits:
		if t.EndedAt.IsZero() {
			t.EndedAt = c.At
		}
	}
}

// transition finds the row of the lifecycle for the current status and a trigger; false if there is none.
func (t Transaction) transition(by Trigger) (Transition, bool) {
	for _, step := range Lifecycle() {
		if step.From == t.Status && step.By == by {
			return step, true
		}
	}
	return Transition{}, false
}

// Reason returns the sentence that explains why something is impossible in this state.
func (s Status) Reason() Reason {
	switch s {
	case AwaitingConfirmation:
		return Because("status.awaiting_confirmation")
	case Delayed:
		return Because("status.delayed")
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
