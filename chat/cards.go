package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"purser/wallet"
)

// Stage is what a card and a line of the history show of a transaction. It is derived from the status, and is finer: an
// expired transaction is at another stage if it was never confirmed than if it was never signed.
type Stage string

// The stages, by the life of a kind.
const (
	StageReview       Stage = "review"        // waits for the owner's Confirm
	StageDelayed      Stage = "delayed"       // confirmed, and waits before it can be signed; only kinds that can wait
	StageSign         Stage = "sign"          // waits for the signature on the owner's device
	StageSignProgram  Stage = "sign_program"  // waits for the signature of the program that holds the wallet's key
	StageSigned       Stage = "signed"        // signed, and not yet accepted by a node
	StagePending      Stage = "pending"       // broadcast, and accepted by a node
	StageHeld         Stage = "held"          // the outcome is unknown (wallet.Transaction.Indeterminate)
	StageConfirmed    Stage = "confirmed"     // landed on chain
	StageFailed       Stage = "failed"        // can never land, or landed and failed on chain
	StageRejected     Stage = "rejected"      // rejected by its owner
	StageReplaced     Stage = "replaced"      // rejected by starting another payment; only a line in the history
	StageNotConfirmed Stage = "not_confirmed" // expired before Confirm
	StageNotSigned    Stage = "not_signed"    // expired before it was signed
	StageLandedLate   Stage = "landed_late"   // landed after its owner had cancelled it; sent as a separate message

	StageReceived Stage = "received" // an incoming payment

	StageRequested Stage = "requested" // a payment request that waits to be paid
	StagePaid      Stage = "paid"      // a payment request that was paid
	StageNotPaid   Stage = "not_paid"  // a payment request that expired
)

// stagesOf returns all stages that transactions of a kind can have. A Card needs a text for each.
func stagesOf(rules wallet.Rules) []Stage {
	switch rules.Life {
	case wallet.Outgoing:
		all := []Stage{StageReview, StageSign, StageSignProgram, StageSigned, StagePending, StageHeld, StageConfirmed, StageFailed,
			StageRejected, StageNotConfirmed, StageNotSigned, StageLandedLate}
		if rules.CanWait {
			all = append(all, StageDelayed)
		}
		return all
	case wallet.Awaited:
		return []Stage{StageRequested, StagePaid, StageNotPaid}
	}
	return []Stage{StageReceived}
}

// stageOf returns the current stage of a transaction with this life.
func stageOf(t wallet.Transaction, life wallet.Life) Stage {
	if life == wallet.Awaited {
		return map[wallet.Status]Stage{wallet.Requested: StageRequested, wallet.Received: StagePaid, wallet.Expired: StageNotPaid}[t.Status]
	}
	switch {
	case t.Indeterminate:
		return StageHeld
	case t.Status == wallet.Expired && !t.Approved():
		return StageNotConfirmed
	case t.Status == wallet.AwaitingSignature && t.Signer == wallet.DeveloperWallet:
		return StageSignProgram
	}
	return map[wallet.Status]Stage{
		wallet.AwaitingConfirmation: StageReview, wallet.Delayed: StageDelayed, wallet.AwaitingSignature: StageSign, wallet.Signed: StageSigned, wallet.Pending: StagePending,
		wallet.Confirmed: StageConfirmed, wallet.Failed: StageFailed, wallet.Rejected: StageRejected, wallet.Expired: StageNotSigned,
		wallet.Received: StageReceived,
	}[t.Status]
}

// Card says how transactions of one kind are shown: the texts of their stages, and which address is the other party. The
// variables of the texts (facts) and the buttons are the same for all kinds.
type Card struct {
	Kind wallet.Kind
	// Texts are the catalogue keys of the card by stage. Every stage of the kind (stagesOf) must have one.
	Texts map[Stage]string
	// Lines are the catalogue keys of the line in the history. A stage without an entry has no line.
	Lines map[Stage]string
	// With returns the address of the other party, whose name the history shows: the recipient of a payment, or its sender.
	With func(wallet.Transaction) wallet.Address
	// Events are event types of this kind alone that send the owner a message, with the catalogue key of its text. The text
	// has the same variables as the card. Events that all kinds share redraw the card instead.
	Events map[wallet.EventName]string
	// Vars returns extra variables for the texts, or is nil. Values are escaped.
	Vars func(wallet.Transaction) map[string]any
	// Locales holds the kind's own sentences in files named like those of this package. nil: no sentences of its own.
	Locales fs.FS
}

// worded returns the card with the texts of a section of the catalogue, for a kind that cannot wait: the text of each stage has the stage's name, and the
// lines in the history are line_open, line_held, line_done and line_not_done.
func (c Card) worded(section string) Card {
	c.Texts, c.Lines = map[Stage]string{StageLandedLate: section + "." + string(StageLandedLate)}, map[Stage]string{}
	for line, stages := range map[string][]Stage{
		"line_open":     {StageReview, StageSign, StageSignProgram, StageSigned, StagePending},
		"line_held":     {StageHeld},
		"line_done":     {StageConfirmed},
		"line_not_done": {StageFailed, StageRejected, StageNotConfirmed, StageNotSigned},
	} {
		for _, stage := range stages {
			c.Texts[stage], c.Lines[stage] = section+"."+string(stage), section+"."+line
		}
	}
	return c
}

// ReceiptCard shows an incoming payment.
func ReceiptCard() Card {
	return Card{Kind: wallet.Receive, With: func(t wallet.Transaction) wallet.Address { return t.From },
		Texts: map[Stage]string{StageReceived: "received.text"}, Lines: map[Stage]string{StageReceived: "history.received"}}
}

// RequestCard shows a payment request. A request that was paid has no line in the history: the receipt of its payment has
// one.
func RequestCard() Card {
	return Card{Kind: wallet.Request, With: func(t wallet.Transaction) wallet.Address { return t.From },
		Texts: map[Stage]string{StageRequested: "card.requested", StagePaid: "card.paid", StageNotPaid: "card.not_paid"},
		Lines: map[Stage]string{StageRequested: "history.requested", StageNotPaid: "history.not_paid"}}
}

// cards holds the Card of every kind. It does not change after newCards.
type cards map[wallet.Kind]Card

// newCards indexes the cards by kind. It returns an error unless every kind that the store knows has exactly one card, with a
// text in the catalogue for every stage of its life.
func newCards(all []Card, kinds wallet.Kinds, words catalogue) (cards, error) {
	out := cards{}
	var wrong []error
	for _, c := range all {
		rules, err := kinds.Of(c.Kind)
		if err != nil {
			return nil, err
		}
		if _, twice := out[c.Kind]; twice || c.With == nil {
			wrong = append(wrong, fmt.Errorf("the kind %s needs one card, and With", c.Kind))
		}
		// Texts are required for every stage; lines and events only have to exist if they are named.
		for _, stage := range stagesOf(rules) {
			if !words.has(c.Texts[stage]) {
				wrong = append(wrong, fmt.Errorf("the card of %s has no sentence for %q", c.Kind, stage))
			}
		}
		for _, stage := range slices.Sorted(maps.Keys(c.Lines)) {
			if !words.has(c.Lines[stage]) {
				wrong = append(wrong, fmt.Errorf("the line of %s has no sentence for %q", c.Kind, stage))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Events)) {
			if !words.has(c.Events[name]) {
				wrong = append(wrong, fmt.Errorf("the kind %s has no sentence for the event %s", c.Kind, name))
			}
		}
		out[c.Kind] = c
	}
	// A kind without a card could not be shown at all.
	for _, kind := range kinds.Names() {
		if _, ok := out[kind]; !ok {
			wrong = append(wrong, fmt.Errorf("the kind %s has no card", kind))
		}
	}
	return out, errors.Join(wrong...)
}

// cardOf returns the card of a transaction's kind, and its current stage.
func (s *replyTx) cardOf(t wallet.Transaction) (Card, Stage, error) {
	rules, err := s.tx.Kinds().Of(t.Kind)
	if err != nil {
		return Card{}, "", err
	}
	card, ok := s.cards[t.Kind]
	if !ok {
		return Card{}, "", fmt.Errorf("%w: no card for %q", wallet.ErrUnknownKind, t.Kind)
	}
	return card, stageOf(t, rules.Life), nil
}

// notices returns the notices for the events in Card.Events. Several kinds may share an event: sayEvent picks the text by the
// kind of the transaction.
func (all cards) notices() map[wallet.EventName]notice {
	out := map[wallet.EventName]notice{}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		for name := range all[kind].Events {
			out[name] = notice{priority: alerts, category: wallet.Category(name), waits: true, notify: func(s *replyTx, event wallet.Event) error {
				return withTransaction(func(s *replyTx, t wallet.Transaction) error { return s.sayEvent(t, event.Name) })(s, event)
			}}
		}
	}
	return out
}

// sayEvent sends the text that a transaction's kind has for an event, or nothing if it has none.
func (s *replyTx) sayEvent(t wallet.Transaction, name wallet.EventName) error {
	card, _, err := s.cardOf(t)
	if err != nil || card.Events[name] == "" {
		return err
	}
	v, err := s.facts(t)
	if err != nil {
		return err
	}
	return s.reply(card.Events[name], v)
}
