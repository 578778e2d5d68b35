package store

import (
	"time"

	"purser/wallet"
)

// SwapQuote is a quote that a program got and has not used yet (docs/decisions/0042).
type SwapQuote struct {
	ID      string        `json:"id"`
	Owner   wallet.UserID `json:"owner"`             // of the key that asked; its data key seals the quote; "": the operator
	Lineage string        `json:"lineage,omitempty"` // of that key: only it can use the quote
	EndsAt  time.Time     `json:"ends_at"`
	// Draft is the swap that it offers, with its terms.
	Draft wallet.Transaction `json:"draft"`
}

// SwapQuotes are quotes of swaps for programs. The chat has no use for them: there the quote is the proposal.
type SwapQuotes interface {
	// SwapQuote finds a quote of an owner, also one whose time is over: the caller checks EndsAt. ErrNotFound without one, and for one
	// of an erased person.
	SwapQuote(owner wallet.UserID, id string) (SwapQuote, error)
	// PutSwapQuote creates a quote. ErrConflict: its id is taken. ErrNotFound: its owner was erased. Sweep removes it after EndsAt.
	PutSwapQuote(SwapQuote) error
	// DeleteSwapQuote removes a quote, since it was used. ErrNotFound without one, so that of two uses one fails.
	DeleteSwapQuote(owner wallet.UserID, id string) error
}
