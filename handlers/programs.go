package handlers

import (
	"time"

	"purser/store"
	"purser/wallet"
)

// CommitByProgram stores a proposal that a program made. Normally it emits the event by which the chat asks the owner. If
// the program holds the wallet's key (Proposal.signedByProgram), nobody is asked: the transaction waits for the program's signature,
// and its funds are reserved now. If it has to wait first, its owner is notified, and can cancel it. Errors: CONFLICT when the wallet changed hands, BOT_BLOCKED,
// RATE_LIMIT_EXCEEDED, INSUFFICIENT_FUNDS.
func (s *Transactions) CommitByProgram(tx store.Tx, p Proposal) (wallet.Transaction, error) {
	t := p.Transaction
	// Since Prepare the grant may have been revoked, the wallet connected elsewhere, or its owner erased.
	_, owner, err := sender(tx, p.who, t.From)
	if err != nil {
		return t, err
	}
	if owner.ID != t.Owner {
		return t, wallet.Refuse(wallet.Conflict, "own_wallet.moved")
	}
	if err := owner.Frozen(p.who.useOf(owner.ID)); err != nil {
		return t, err
	}
	// Of many proposals at once, some may have been judged before the pause began.
	if err := s.probingPaused(tx, p.who.KeyID, t.Owner); err != nil {
		return t, err
	}
	if p.signedByProgram {
		if t, err = s.reassessLimits(tx, t); err != nil {
			return t, err
		}
		if t.DelayFor > 0 {
			p.over = nil
		}
	}
	// The owner must confirm, or may cancel: there has to be a chat that can say so, and the owner must not have too many questions.
	if !p.signedByProgram || t.DelayFor > 0 {
		if err := reachable(owner); err != nil {
			return t, err
		}
		if err := s.roomFor(tx, owner); err != nil {
			return t, err
		}
	}
	if !p.signedByProgram {
		if err := s.Commit(tx, p); err != nil {
			return t, err
		}
		event, err := t.Proposed()
		if err != nil {
			return t, err
		}
		return t, tx.Emit(event)
	}
	// The program's signature is the confirmation, so the same checks as at Confirm apply. The blockhash that it signs is
	// recorded before it leaves the process: from then on the transaction could land.
	if err := s.replaces(tx, t); err != nil {
		return t, err
	}
	t, err = s.covered(tx, t, p.snapshot)
	if err != nil {
		return t, err
	}
	if p.over != nil {
		t.IssuedBlockhashes = append(t.IssuedBlockhashes, wallet.IssuedBlockhash{Blockhash: *p.over, At: s.Now().UTC()})
	}
	return store.Begin(tx, t, wallet.TransitionInput{By: wallet.OwnerConfirmed, At: s.Now().UTC()})
}

// These bound how often programs may ask one person. A leaked key must not flood a chat, or ask until somebody taps the
// wrong button (docs/specification.md, Whose data).
const (
	maxAsked       = 5  // questions that wait for an answer at the same time
	maxAskedHourly = 20 // questions in one hour, answered or not
)

// roomFor counts one more question to a person. It returns RATE_LIMIT_EXCEEDED when maxAsked or maxAskedHourly is
// reached. The limits are per person, across all their wallets and all programs.
func (s *Transactions) roomFor(tx store.Tx, owner wallet.User) error {
	if err := roomToAsk(tx, owner); err != nil {
		return err
	}
	switch again, err := questionLimit().Spend(tx, s.Now(), account(owner)); {
	case err != nil:
		return err
	case !again.IsZero():
		return askedTooOften(again)
	}
	return nil
}

// askedTooOften is RATE_LIMIT_EXCEEDED until a time.
func askedTooOften(again time.Time) error {
	return wallet.Refuse(wallet.RateLimitExceeded, "proposal.too_often", wallet.NumberArg("Times", maxAskedHourly), wallet.TimeArg("Again", again))
}

// roomToAsk returns RATE_LIMIT_EXCEEDED while maxAsked questions of programs wait for a person.
func roomToAsk(tx store.Tx, owner wallet.User) error {
	open, err := OpenTransactions(tx, owner.ID)
	if err != nil {
		return err
	}
	waiting := 0
	for _, other := range open {
		asks := other.Status == wallet.AwaitingConfirmation || other.Status == wallet.Delayed && other.Signer == wallet.DeveloperWallet
		if asks && other.KeyID != "" {
			waiting++
		}
	}
	if waiting >= maxAsked {
		return wallet.Refuse(wallet.RateLimitExceeded, "proposal.too_many_waiting", wallet.NumberArg("Count", waiting))
	}
	return nil
}
