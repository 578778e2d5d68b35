package handlers

import (
	"purser/store"
	"purser/wallet"
)

// CommitByProgram stores a proposal that came by a program: its owner is asked in chat, or, where a
// program signs for the wallet, it waits for that signature at once, with its funds reserved.
func (s *Transactions) CommitByProgram(tx store.Tx, p Proposal) (wallet.Transaction, error) {
	t := p.Transaction
	// Meanwhile the grant may have been taken back, the wallet moved, its owner erased.
	_, owner, err := sender(tx, p.who, t.From)
	if err != nil {
		return t, err
	}
	if owner.ID != t.Owner {
		return t, wallet.Refuse(wallet.Conflict, "own_wallet.moved")
	}
	if p.over == nil {
		if err := reachable(owner); err != nil {
			return t, err
		}
		if err := s.roomFor(tx, owner); err != nil {
			return t, err
		}
		if err := s.Commit(tx, p); err != nil {
			return t, err
		}
		event, err := t.Proposed()
		if err != nil {
			return t, err
		}
		return t, tx.Emit(event)
	}
	if err := s.replaces(tx, t); err != nil {
		return t, err
	}
	t, err = s.covered(tx, t, p.snapshot)
	if err != nil {
		return t, err
	}
	t.IssuedBlockhashes = append(t.IssuedBlockhashes, wallet.IssuedBlockhash{Blockhash: *p.over, At: s.Now().UTC()})
	return store.Begin(tx, t, wallet.TransitionInput{By: wallet.OwnerConfirmed, At: s.Now().UTC()})
}

// How often programs may ask one person: a key in wrong hands must not bury the chat in questions, nor
// ask until somebody taps the wrong button (docs/specification.md, Whose data).
const (
	maxAsked       = 5  // wait for an answer at once
	maxAskedHourly = 20 // were asked in an hour, answered or not
)

// roomFor counts one more question, and refuses it beyond what one person can be asked.
func (s *Transactions) roomFor(tx store.Tx, owner wallet.User) error {
	open, err := OpenTransactions(tx, owner.ID)
	if err != nil {
		return err
	}
	waiting := 0
	for _, other := range open {
		if other.Status == wallet.AwaitingConfirmation && other.KeyID != "" {
			waiting++
		}
	}
	if waiting >= maxAsked {
		return wallet.Refuse(wallet.RateLimitExceeded, "proposal.too_many_waiting", wallet.NumberArg("Count", waiting))
	}
	switch again, err := asked().Spend(tx, s.Now(), account(owner)); {
	case err != nil:
		return err
	case !again.IsZero():
		return wallet.Refuse(wallet.RateLimitExceeded, "proposal.too_often", wallet.NumberArg("Times", maxAskedHourly), wallet.TimeArg("Again", again))
	}
	return nil
}
