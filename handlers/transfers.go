package handlers

import (
	"context"
	"errors"

	"purser/wallet"
)

// TransferChain is what a transfer needs to know of the chain.
type TransferChain interface {
	// Accounts reads several addresses at one slot.
	Accounts(ctx context.Context, addresses []wallet.Address) ([]wallet.Account, error)
	// RentMinimum is the smallest balance that an account of size bytes may keep, in lamports.
	RentMinimum(ctx context.Context, size uint64) (uint64, error)
	// Mint reads a token; TOKEN_NOT_FOUND where there is none.
	Mint(ctx context.Context, at wallet.Address) (wallet.Mint, error)
	// TokenAccountAt reads a token account; Exists is false where there is none.
	TokenAccountAt(ctx context.Context, at wallet.Address) (wallet.TokenAccount, error)
	// TokenFacts reads both sides of a transfer of a token at one slot.
	TokenFacts(ctx context.Context, from, to, mint, program wallet.Address) (wallet.TokenFacts, error)
}

// Tokens is the list of well-known tokens.
type Tokens interface {
	BySymbol(symbol string) (wallet.Token, bool)
	ByMint(mint wallet.Address) (wallet.Token, bool)
}

// Transfers are sends of SOL and tokens, and requests for them: what is asked for, how it is judged by what the chain
// holds, and how it is tried again. What becomes of a proposal is the same for every kind (Transactions).
type Transfers struct {
	*Transactions
	Chain  TransferChain
	Tokens Tokens
}

// Operation is a transfer as Transactions carries it.
func (s *Transfers) Operation() Operation {
	return Operation{Kind: wallet.Send, Load: s.load, Retry: s.retry}
}

// load reads both sides of a transfer.
func (s *Transfers) load(ctx context.Context, t wallet.Transaction) (Snapshot, error) {
	return s.fetch(ctx, t.From, t.To, t.Token)
}

// SendRequest asks for a transfer, in values that a front has parsed. What only the chain or a list can tell is still
// open: which token a TokenRef names, and how much all of it is.
type SendRequest struct {
	From    wallet.Address // zero: the caller's default wallet
	To      wallet.Address // a wallet, or a token account of one
	Amount  wallet.Quantity
	Token   wallet.TokenRef
	RetryOf wallet.TransactionID // "" unless it takes the place of one that can never land
	Ask     bool                 // the owner must confirm in chat, whoever signs
	Memo    string               // public note on chain; "" for none
	Label   string               // what whoever asks says that it is for; "" for nothing
	// References are those of the payment link that it answers; none without.
	References []wallet.Address
}

// Prepare finds out whether a transfer is possible and what it would cost; nothing is stored.
// Errors: INVALID_REQUEST, TOKEN_NOT_FOUND, WALLET_NOT_FOUND, INSUFFICIENT_FUNDS, POLICY_VIOLATION,
// NETWORK_ERROR; with a wallet.Field where one part of the request is to blame.
func (s *Transfers) Prepare(ctx context.Context, who Caller, req SendRequest) (Proposal, error) {
	// What costs no call to a node comes first: a stranger without a wallet must not have one read what they name.
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
	units := uint64(1) // of the largest amount: no fee depends on it
	if !req.Amount.Max {
		amount, err := req.Amount.Exact.In(token.Decimals)
		if err != nil {
			return Proposal{}, err
		}
		units = amount.Units
	}
	to, err := s.recipient(ctx, req.To, from.Address)
	if err != nil {
		return Proposal{}, err
	}
	f, err := s.fetch(ctx, from.Address, to, token)
	if err != nil {
		return Proposal{}, err
	}
	if err := f.checkAccounts(); err != nil {
		return Proposal{}, err
	}
	f.all = req.Amount.Max
	return s.Propose(ctx, who, from, req.Ask, req.transaction(from, user, to, token, units, f), f)
}

// transaction is the draft of a transfer that was asked for: units of token from one wallet to another's, with what the
// chain says of both sides. to is who is paid: what the request names, or the owner of the token account that it names.
func (r SendRequest) transaction(from wallet.Wallet, user wallet.User, to wallet.Address, token wallet.Token, units uint64, f accountSnapshot) wallet.Transaction {
	t := wallet.Transaction{
		Kind: wallet.Send, Owner: user.ID, Chat: user.TelegramID, From: from.Address, To: to, Token: token, Amount: units, Unfunded: !f.to.Exists,
		Rent: f.rent, Warnings: f.warnings(), RetryOf: r.RetryOf,
		Memo: r.Memo, Label: r.Label, LinkReferences: r.References,
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

// requiredMemo is what a recipient reads who takes a token only with a memo.
const requiredMemo = "payment"

// checkWords judges what is carried in words, and how many references.
func (r SendRequest) checkWords() error {
	if len(r.References) > wallet.MaxLinkReferences {
		return wallet.Refuse(wallet.InvalidRequest, "pay_link.too_many_references", wallet.NumberArg("Most", wallet.MaxLinkReferences))
	}
	return errors.Join(wallet.CheckMemo(r.Memo), wallet.CheckLabel(r.Label))
}

// retry prepares a transfer of the same to the same.
func (s *Transfers) retry(ctx context.Context, who Caller, first wallet.Transaction) (Proposal, error) {
	return s.Prepare(ctx, who, SendRequest{From: first.From, To: first.To, Amount: wallet.Quantity{Exact: first.Money().Decimal()},
		Token: first.Token.Ref(), RetryOf: first.ID, Memo: first.Memo, Label: first.Label, References: first.LinkReferences})
}
