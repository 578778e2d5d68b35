package handlers

import (
	"context"
	"errors"

	"purser/store"
	"purser/wallet"
)

// quoteEnded is the reason of a quote that does not exist, was used, or is over: programs treat all of them alike.
const quoteEnded = "swap.quote_ended"

// PrepareQuote asks for a quote for a program. The swap is priced and simulated, so that the fee is known; nothing is proposed. Errors:
// those of Prepare.
func (s *Swaps) PrepareQuote(ctx context.Context, who Caller, req SwapRequest) (store.SwapQuote, Proposal, error) {
	draft, from, f, err := s.quote(ctx, who, req)
	if err != nil {
		return store.SwapQuote{}, Proposal{}, err
	}
	p, err := s.propose(ctx, who, from, true, draft, f, s.assessQuote)
	if err != nil {
		return store.SwapQuote{}, Proposal{}, err
	}
	return store.SwapQuote{ID: s.NewID("swq"), Owner: who.User, Lineage: who.KeyLineage, EndsAt: draft.SwapTerms().Expires, Draft: draft}, p, nil
}

// CommitQuote stores a quote until its end.
func (s *Swaps) CommitQuote(tx store.Tx, q store.SwapQuote) error { return tx.PutSwapQuote(q) }

// PrepareQuoted prepares the swap of a quote that the caller's key asked for. Balances, fee and rights are checked again. Errors:
// QUOTE_EXPIRED, and those of Prepare.
func (s *Swaps) PrepareQuoted(ctx context.Context, who Caller, id string) (Proposal, error) {
	q, err := read(ctx, s.Store, func(tx store.Tx) (store.SwapQuote, error) { return s.quoteOf(tx, who, id) })
	if err != nil {
		return Proposal{}, err
	}
	from, _, err := s.Sender(ctx, who, q.Draft.From)
	if err != nil {
		return Proposal{}, err
	}
	f, err := s.fetch(ctx, q.Draft.From, q.Draft.Token, q.Draft.SwapTerms().ToToken)
	if err != nil {
		return Proposal{}, err
	}
	return s.Propose(ctx, who, from, false, q.Draft, f)
}

// CommitQuoted stores the proposal of a quote, and uses the quote up: of two commits one gets QUOTE_EXPIRED. Errors: also those of
// CommitByProgram.
func (s *Swaps) CommitQuoted(tx store.Tx, who Caller, id string, p Proposal) (wallet.Transaction, error) {
	if _, err := s.quoteOf(tx, who, id); err != nil {
		return wallet.Transaction{}, err
	}
	if err := tx.DeleteSwapQuote(who.User, id); err != nil {
		return wallet.Transaction{}, found(err, wallet.QuoteExpired, quoteEnded)
	}
	return s.CommitByProgram(tx, p)
}

// quoteOf reads a quote that the caller may use now.
func (s *Swaps) quoteOf(tx store.Tx, who Caller, id string) (store.SwapQuote, error) {
	q, err := tx.SwapQuote(who.User, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (q.Lineage != who.KeyLineage || !s.Now().Before(q.EndsAt)):
		return q, wallet.About("quote_id", wallet.Refuse(wallet.QuoteExpired, quoteEnded))
	}
	return q, err
}
