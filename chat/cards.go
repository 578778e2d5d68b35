package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"purser/wallet"
)

// Stage is what a card and a line of the history tell of a transaction: its state, and why it is there.
type Stage string

// The stages, by the life of a kind.
const (
	StageReview       Stage = "review"        // waits for the owner's Confirm
	StageSign         Stage = "sign"          // waits for the device
	StageSignProgram  Stage = "sign_program"  // waits for the program that holds the wallet's key
	StageSigned       Stage = "signed"        // waits to be taken by the network
	StagePending      Stage = "pending"       // the network has it
	StageHeld         Stage = "held"          // nobody can tell what became of it
	StageConfirmed    Stage = "confirmed"     // landed
	StageFailed       Stage = "failed"        // can never land, or failed on chain
	StageRejected     Stage = "rejected"      // by its owner
	StageNotConfirmed Stage = "not_confirmed" // ran out before Confirm
	StageNotSigned    Stage = "not_signed"    // ran out before the signature
	StageLandedLate   Stage = "landed_late"   // landed after it had ended here: a message of its own

	StageReceived Stage = "received" // of a receipt

	StageRequested Stage = "requested" // of a request that waits
	StagePaid      Stage = "paid"      // ... that was paid
	StageNotPaid   Stage = "not_paid"  // ... that ran out
)

// stagesOf lists the stages of a life.
func stagesOf(life wallet.Life) []Stage {
	switch life {
	case wallet.Outgoing:
		return []Stage{StageReview, StageSign, StageSignProgram, StageSigned, StagePending, StageHeld, StageConfirmed, StageFailed,
			StageRejected, StageNotConfirmed, StageNotSigned, StageLandedLate}
	case wallet.Awaited:
		return []Stage{StageRequested, StagePaid, StageNotPaid}
	}
	return []Stage{StageReceived}
}

// stageOf is the stage that a transaction of a life is at.
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
		wallet.AwaitingConfirmation: StageReview, wallet.AwaitingSignature: StageSign, wallet.Signed: StageSigned, wallet.Pending: StagePending,
		wallet.Confirmed: StageConfirmed, wallet.Failed: StageFailed, wallet.Rejected: StageRejected, wallet.Expired: StageNotSigned,
		wallet.Received: StageReceived,
	}[t.Status]
}

// Card is how transactions of one kind are shown: by which sentences, and with whom. What every text may use is the same
// for all kinds (facts), and so are the buttons.
type Card struct {
	Kind wallet.Kind
	// Texts are the catalogue's keys of the card, by stage. Every stage of the kind's life has one.
	Texts map[Stage]string
	// Lines are the keys of its line in the history; a stage without one has no line.
	Lines map[Stage]string
	// With is whose name its line shows: who is paid, or who paid.
	With func(wallet.Transaction) wallet.Address
	// Events are the types of events of the kind's own that its owner is told of by a message, and the key of its
	// sentence, which may use what the card's texts may. What all kinds announce draws the card itself.
	Events map[wallet.EventName]string
	// Vars are what its texts use beside what every text may use; nil: nothing. Text is escaped.
	Vars func(wallet.Transaction) map[string]any
	// Locales hold sentences of its own, as files like those of this package; nil: it has none.
	Locales fs.FS
}

// SendCard shows a transfer.
func SendCard() Card {
	return Card{Kind: wallet.Send, With: func(t wallet.Transaction) wallet.Address { return t.To },
		Texts: map[Stage]string{
			StageReview: "card.review", StageSign: "card.sign", StageSignProgram: "card.sign_program", StageSigned: "card.signed",
			StagePending: "card.pending", StageHeld: "card.held", StageConfirmed: "card.confirmed", StageFailed: "card.failed",
			StageRejected: "card.rejected", StageNotConfirmed: "card.not_confirmed", StageNotSigned: "card.not_signed", StageLandedLate: "card.landed_late",
		},
		Lines: map[Stage]string{
			StageReview: "history.open", StageSign: "history.open", StageSignProgram: "history.open", StageSigned: "history.open",
			StagePending: "history.open", StageHeld: "history.held", StageConfirmed: "history.sent", StageFailed: "history.not_sent",
			StageRejected: "history.not_sent", StageNotConfirmed: "history.not_sent", StageNotSigned: "history.not_sent",
		}}
}

// ReceiptCard shows a payment that came in.
func ReceiptCard() Card {
	return Card{Kind: wallet.Receive, With: func(t wallet.Transaction) wallet.Address { return t.From },
		Texts: map[Stage]string{StageReceived: "received.text"}, Lines: map[Stage]string{StageReceived: "history.received"}}
}

// RequestCard shows a request for payment. One that was paid has no line: the receipt of its payment has one.
func RequestCard() Card {
	return Card{Kind: wallet.Request, With: func(t wallet.Transaction) wallet.Address { return t.From },
		Texts: map[Stage]string{StageRequested: "card.requested", StagePaid: "card.paid", StageNotPaid: "card.not_paid"},
		Lines: map[Stage]string{StageRequested: "history.requested", StageNotPaid: "history.not_paid"}}
}

// cards are every kind's Card, by kind.
type cards map[wallet.Kind]Card

// newCards joins the cards of the kinds that a store knows: each kind has one, with a text for every stage of its life.
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
		for _, stage := range stagesOf(rules.Life) {
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
	for _, kind := range kinds.Names() {
		if _, ok := out[kind]; !ok {
			wrong = append(wrong, fmt.Errorf("the kind %s has no card", kind))
		}
	}
	return out, errors.Join(wrong...)
}

// cardOf is how a transaction is shown now.
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

// notices are those of the kinds' own events (Card.Events), by name: each is a message of its own. Several kinds may
// share an event.
func (all cards) notices() map[wallet.EventName]notice {
	out := map[wallet.EventName]notice{}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		for name := range all[kind].Events {
			out[name] = notice{priority: alerts, optional: true, notify: func(s *replyTx, event wallet.Event) error {
				return withTransaction(func(s *replyTx, t wallet.Transaction) error { return s.sayEvent(t, event.Name) })(s, event)
			}}
		}
	}
	return out
}

// sayEvent says the sentence that a transaction's kind has for an event; nothing where it has none.
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
