package handlers

import (
	"context"
	"errors"

	"purser/wallet"
)

// TransferChain is what transfers need to know of the chain. Errors are NETWORK_ERROR unless stated otherwise.
type TransferChain interface {
	// Parties reads both sides of a transfer at one slot. An account that does not exist is no error.
	Parties(ctx context.Context, from, to wallet.Address) (wallet.Parties, error)
	// RentMinimum returns the smallest balance an account with size bytes of data may have, in lamports.
	RentMinimum(ctx context.Context, size uint64) (uint64, error)
	// Mint reads a mint account. TOKEN_NOT_FOUND if the address is none.
	Mint(ctx context.Context, at wallet.Address) (wallet.Mint, error)
	// TokenFacts reads the mint and both sides of a token transfer at one slot.
	TokenFacts(ctx context.Context, from, to, mint, program wallet.Address) (wallet.TokenFacts, error)
}

// Tokens is the list of well-known tokens (market.Tokens).
type Tokens interface {
	BySymbol(symbol string) (wallet.Token, bool)
	ByMint(mint wallet.Address) (wallet.Token, bool)
}

// Transfers are sends of SOL and tokens, and payment requests: which transfer is requested, whether it is possible, and
// how it is retried. What happens to a proposal afterwards is the same for every kind (Transactions).
type Transfers struct {
	*Transactions
	Chain  TransferChain
	Tokens Tokens
}

// Operation returns the Operation of sends, for Transactions.Operations.
func (s *Transfers) Operation() Operation {
	return Operation{Kind: wallet.Send, Load: s.load, Retry: s.retry}
}

// load reads both sides of a stored transfer again.
func (s *Transfers) load(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	return s.fetch(ctx, t.From, t.To, t.Token)
}

// SendRequest asks for a transfer, in values that a front has parsed. Two values are still open because they need the
// chain or the list of tokens: which token a TokenRef means, and how much "max" is.
type SendRequest struct {
	From    wallet.Address // zero: the caller's default wallet
	To      wallet.Address // a wallet, or the associated token account of one
	Amount  wallet.Quantity
	Token   wallet.TokenRef
	RetryOf wallet.TransactionID // the transaction that this one replaces; "" for none
	Ask     bool                 // require the owner's confirmation in chat, even if a program holds the key
	Memo    string               // public note on chain; "" for none
	Label   string               // who requests it or what it is for, as text of the requester; "" for none
	Purpose string               // what it is for, as text of a payment link; "" for none
	// References are those of the payment link that this transfer answers; nil for none.
	References []wallet.Address
}

// Prepare checks whether a transfer is possible and what it costs. Nothing is stored.
//
// Errors: INVALID_REQUEST, TOKEN_NOT_FOUND, WALLET_NOT_FOUND, INSUFFICIENT_FUNDS, POLICY_VIOLATION, NETWORK_ERROR. They
// carry a wallet.Field when one part of the request is at fault.
func (s *Transfers) Prepare(ctx context.Context, who Caller, req SendRequest) (Proposal, error) {
	// First everything that needs no RPC call: somebody without a wallet must not be able to make us call a node.
	from, user, err := s.Sender(ctx, who, req.From)
	if err != nil {
		return Proposal{}, err
	}
	if err := s.Destination(req.To, from.Address); err != nil {
		return Proposal{}, err
	}
	if err := req.checkWords(); err != nil {
		return Proposal{}, err
	}
	token, err := s.Token(ctx, req.Token)
	if err != nil {
		return Proposal{}, err
	}
	units := uint64(1) // stand-in for "max": the fee does not depend on the amount
	if !req.Amount.Max {
		amount, err := token.Exactly(req.Amount.Exact)
		if err != nil {
			return Proposal{}, err
		}
		units = amount.Units
	}
	// Then both sides of the transfer, as the chain has them: again if the owner of the address that was named is paid.
	f, err := s.fetch(ctx, from.Address, req.To, token)
	if err != nil {
		return Proposal{}, err
	}
	to, err := recipient(f.atRecipient, req.To, from.Address)
	if err != nil {
		return Proposal{}, err
	}
	if to != req.To {
		if f, err = s.fetch(ctx, from.Address, to, token); err != nil {
			return Proposal{}, err
		}
	}
	if err := f.checkAccounts(); err != nil {
		return Proposal{}, err
	}
	f.all = req.Amount.Max
	return s.Propose(ctx, who, from, req.Ask, req.transaction(from, user, to, token, units, f), f)
}

// transaction returns the draft of a transfer: units, in base units of token, from a wallet to an address, with what the
// snapshot says of both sides. to is the wallet that is paid: the address in the request, or the owner of the token
// account in the request, which is then kept as RequestedDestination.
func (r SendRequest) transaction(from wallet.Wallet, user wallet.User, to wallet.Address, token wallet.Token, units uint64, f accountSnapshot) wallet.Transaction {
	t := wallet.Transaction{
		Kind: wallet.Send, Owner: user.ID, Chat: user.TelegramID, From: from.Address, To: to, Token: token, Amount: units, Unfunded: !f.to.Exists,
		Rent: f.rent, RetryOf: r.RetryOf,
		Memo: r.Memo, Label: r.Label, Purpose: r.Purpose, LinkReferences: r.References,
	}
	if r.To != to {
		t.RequestedDestination = r.To
	}
	if t.Memo == "" && f.held.Destination.MemoRequired {
		t.Memo = requiredMemo
	}
	if len(t.LinkReferences) > 0 {
		t.PaymentRequestRef = t.LinkReferences[0]
	}
	return t
}

// requiredMemo is the memo for token accounts that refuse transfers without one (Token-2022, MemoTransfer), when the
// sender wrote none.
const requiredMemo = "payment"

// checkWords checks memo, label and the number of references.
func (r SendRequest) checkWords() error {
	if len(r.References) > wallet.MaxLinkReferences {
		return wallet.Refuse(wallet.InvalidRequest, "pay_link.too_many_references", wallet.NumberArg("Most", wallet.MaxLinkReferences))
	}
	return errors.Join(wallet.CheckMemo(r.Memo), wallet.CheckLabel(r.Label))
}

// retry prepares a transfer with the terms of an earlier one. Fee, recipient risk and balances are checked again.
func (s *Transfers) retry(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error) {
	return s.Prepare(ctx, who, SendRequest{From: first.From, To: first.To, Amount: wallet.Quantity{Exact: first.Money().Decimal()},
		Token: first.Token.Ref(), RetryOf: first.ID, Memo: first.Memo, Label: first.Label, Purpose: first.Purpose, References: first.LinkReferences})
}
