package handlers

import (
	"context"

	"purser/store"
	"purser/wallet"
)

// approval is what a transaction needs that waits for its signature at once.
type approval struct {
	signID    string
	blockhash wallet.Blockhash
}

func (s *Transfers) approve(ctx context.Context) (*approval, error) {
	hash, err := s.Chain.Blockhash(ctx)
	if err != nil {
		return nil, err
	}
	signID, err := wallet.RandomToken(s.Random, 16)
	return &approval{signID, hash}, err
}

// CommitByProgram stores a proposal that came by a program: its owner is asked in chat, or, where a
// program signs for the wallet, it waits for that signature at once, with its funds reserved.
func (s *Transfers) CommitByProgram(tx store.Tx, p Proposal) (wallet.Transaction, error) {
	t := p.Transaction
	if err := s.roomFor(tx, t); err != nil {
		return t, err
	}
	if err := s.Commit(tx, p); err != nil {
		return t, err
	}
	if p.approved == nil {
		event, err := t.Proposed()
		if err != nil {
			return t, err
		}
		return t, tx.Emit(event)
	}
	t, err := tx.Transaction(t.ID)
	if err != nil {
		return t, err
	}
	t.Issues = append(t.Issues, wallet.Issue{Blockhash: p.approved.blockhash, At: s.Now().UTC()})
	return s.confirmed(tx, t, p.facts, p.approved.signID)
}

// roomFor refuses proposals of programs beyond maxAsked for one wallet.
func (s *Transfers) roomFor(tx store.Tx, t wallet.Transaction) error {
	open, err := tx.UnsettledFrom(t.From)
	if err != nil {
		return err
	}
	asked := 0
	for _, other := range open {
		if other.Status == wallet.AwaitingConfirmation && other.KeyID != "" {
			asked++
		}
	}
	if asked >= maxAsked {
		return wallet.Refuse(wallet.RateLimitExceeded, "%d proposals wait for this wallet's owner already: let them answer first", asked)
	}
	return nil
}
