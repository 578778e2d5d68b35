package handlers

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"purser/store"
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
	// UnitPrice is what others paid lately for writing the same accounts, in micro-lamports a unit.
	UnitPrice(ctx context.Context, written []wallet.Address) (uint64, error)
	// Blockhash is the newest one.
	Blockhash(ctx context.Context) (wallet.Blockhash, error)
	// Simulate tells how many compute units a message takes; *wallet.NotAccepted when it would fail.
	Simulate(ctx context.Context, message []byte) (uint64, error)
}

// Tokens is the list of well-known tokens.
type Tokens interface {
	BySymbol(symbol string) (wallet.Token, bool)
	ByMint(mint wallet.Address) (wallet.Token, bool)
}

// Transfers are sends of SOL and tokens, from the question to the owner's Confirm.
type Transfers struct {
	Store  store.Store
	Chain  TransferChain
	Tokens Tokens
	Build  func(wallet.Transaction) ([]byte, error) // the unsigned message, blockhash zeroed
	Now    Clock
	NewID  IDs
	Random io.Reader
}

// Max is the amount that means "all that can be sent".
const Max = "max"

// SendRequest asks for a transfer. Amount is decimal text or Max, To an address, Token a listed
// symbol or a mint; "" is SOL.
type SendRequest struct {
	From    wallet.Address // zero: the caller's default wallet
	To      string
	Amount  string
	Token   string
	RetryOf wallet.TransactionID // "" unless it takes the place of one that can never land
}

// Proposal is a transfer that was found possible, ready to be committed.
type Proposal struct {
	Transaction wallet.Transaction
	facts       facts
	approved    *approval // of a wallet whose program signs: its signature is the confirmation
}

// approval is what a transaction needs that waits for its signature at once.
type approval struct {
	signID    string
	blockhash wallet.Blockhash
}

// Token finds what a symbol or a mint means. Only listed symbols count; a mint that is on no list
// has no symbol here, whatever it calls itself. What it refuses is wallet.FieldToken.
func (s *Transfers) Token(ctx context.Context, name string) (wallet.Token, error) {
	if name == "" || strings.EqualFold(name, wallet.SOL.Symbol) {
		return wallet.SOL, nil
	}
	if token, ok := s.Tokens.BySymbol(name); ok {
		return token, nil
	}
	at, err := wallet.ParseAddress(name)
	if err != nil {
		return wallet.Token{}, wallet.About(wallet.FieldToken, wallet.Refuse(wallet.TokenNotFound,
			"%s is on no list here: name the token by its mint address, which its issuer publishes", tokenName(name)))
	}
	if token, ok := s.Tokens.ByMint(at); ok {
		return token, nil
	}
	mint, err := s.Chain.Mint(ctx, at)
	if err != nil {
		return wallet.Token{}, wallet.About(wallet.FieldToken, err)
	}
	return wallet.Token{Mint: at, Decimals: mint.Decimals, Program: mint.Program}, nil
}

// tokenName is a symbol fit for repeating to whoever wrote it.
func tokenName(symbol string) string {
	const longest = 16 // no token worth naming is longer
	if symbol == "" || len(symbol) > longest || strings.ContainsFunc(symbol, unicode.IsControl) || !utf8.ValidString(symbol) {
		return "this token"
	}
	return strings.ToUpper(symbol)
}

// Destination reads an address that money may be sent to from a wallet. It judges the text alone;
// Prepare also looks at what the chain holds there. What it refuses is wallet.FieldTo.
func (s *Transfers) Destination(text string, from wallet.Address) (wallet.Address, error) {
	to, err := wallet.ParseAddress(text)
	switch {
	case err != nil:
	case to.IsZero():
		err = wallet.Refuse(wallet.InvalidRequest, "that is the System program, not a wallet")
	case to == from:
		err = wallet.Refuse(wallet.InvalidRequest, "that is the sending wallet's own address")
	}
	return to, wallet.About(wallet.FieldTo, err)
}

// recipient finds who is meant by an address: an associated token account stands for its owner, from
// whom it is derived. What else a node says of an address is not believed: it could send any payment
// to whom it likes.
func (s *Transfers) recipient(ctx context.Context, named, from wallet.Address) (wallet.Address, error) {
	no := func(format string, args ...any) error {
		return wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest, format, args...))
	}
	account, err := s.Chain.TokenAccountAt(ctx, named)
	switch {
	case err != nil:
		return named, err
	case !account.Exists && !named.OnCurve():
		return named, no("no key can exist for that address: it belongs to a program. Ask for the owner's wallet address")
	case !account.Exists:
		return named, nil
	case wallet.AssociatedAccount(account.Owner, account.Mint, account.Program) != named:
		return named, no("that is a token account, and whose it is cannot be proven. Ask for the owner's wallet address")
	case account.Owner == from:
		return named, no("that is a token account of the sending wallet itself")
	case account.Owner.IsZero() || !account.Owner.OnCurve():
		return named, no("that is a token account of a program, not of a person. Ask for the owner's wallet address")
	}
	return account.Owner, nil
}

// Sender finds the wallet that a caller may send from.
func (s *Transfers) Sender(ctx context.Context, who Caller, from wallet.Address) (wallet.Wallet, wallet.User, error) {
	var w wallet.Wallet
	var u wallet.User
	err := s.Store.View(ctx, func(tx store.Tx) error {
		var err error
		w, u, err = sender(tx, who, from)
		return err
	})
	return w, u, err
}

func sender(tx store.Tx, who Caller, from wallet.Address) (wallet.Wallet, wallet.User, error) {
	none := wallet.Refuse(wallet.WalletNotFound, "this wallet is not connected to you")
	var user wallet.User
	if who.User != "" {
		var err error
		if user, err = tx.User(who.User); err != nil {
			return wallet.Wallet{}, wallet.User{}, found(err, wallet.UserNotFound, "this person is not known here any more")
		}
	}
	if from.IsZero() {
		from = user.DefaultWallet
	}
	if from.IsZero() {
		return wallet.Wallet{}, user, wallet.Refuse(wallet.WalletNotFound, "you have no wallet yet")
	}
	w, err := tx.Wallet(from)
	if err != nil {
		return wallet.Wallet{}, user, found(err, wallet.WalletNotFound, none.Detail)
	}
	if !who.owns(w) {
		return wallet.Wallet{}, user, none
	}
	return w, user, nil
}

// Prepare finds out whether a transfer is possible and what it would cost; nothing is stored.
// Errors: INVALID_REQUEST, TOKEN_NOT_FOUND, WALLET_NOT_FOUND, INSUFFICIENT_FUNDS, POLICY_VIOLATION,
// NETWORK_ERROR; with a wallet.Field where one part of the request is to blame.
func (s *Transfers) Prepare(ctx context.Context, who Caller, req SendRequest) (Proposal, error) {
	token, err := s.Token(ctx, req.Token)
	if err != nil {
		return Proposal{}, err
	}
	var units uint64
	all := strings.EqualFold(req.Amount, Max)
	if !all {
		amount, err := wallet.ParseAmount(req.Amount, token.Decimals)
		if err != nil {
			return Proposal{}, wallet.About(wallet.FieldAmount, err)
		}
		units = amount.Units
	}
	from, user, err := s.Sender(ctx, who, req.From)
	if err != nil {
		return Proposal{}, err
	}
	named, err := s.Destination(req.To, from.Address)
	if err != nil {
		return Proposal{}, err
	}
	to, err := s.recipient(ctx, named, from.Address)
	if err != nil {
		return Proposal{}, err
	}
	f, err := s.look(ctx, from.Address, to, token)
	if err != nil {
		return Proposal{}, err
	}
	if err := f.acceptable(); err != nil {
		return Proposal{}, err
	}
	now := s.Now().UTC()
	t := wallet.Transaction{
		ID: wallet.TransactionID(s.NewID("tx")), Kind: wallet.Send, Status: wallet.AwaitingConfirmation,
		Owner: user.ID, Chat: user.TelegramID, KeyID: who.Key, Signer: from.Type,
		From: from.Address, To: to, Token: token, Amount: units, Unfunded: !f.to.Exists,
		Rent: f.rent, Warnings: f.warnings(), RetryOf: req.RetryOf,
		CreatedAt: now, Deadline: now.Add(wallet.ConfirmWindow),
	}
	if named != to {
		t.Named = named
	}
	if f.held.Destination.MemoRequired {
		t.Memo = requiredMemo
	}
	if _, err := io.ReadFull(s.Random, t.Reference[:]); err != nil {
		return Proposal{}, fmt.Errorf("draw a reference: %w", err)
	}
	if t, err = s.price(ctx, t, f, all); err != nil {
		return Proposal{}, err
	}
	if t, err = s.recognized(ctx, t); err != nil {
		return Proposal{}, err
	}
	p := Proposal{Transaction: t, facts: f}
	if t.Signer == wallet.DeveloperWallet && who.Key != "" && t.Lookalike.IsZero() {
		p.approved, err = s.approve(ctx)
	}
	return p, err
}

func (s *Transfers) approve(ctx context.Context) (*approval, error) {
	hash, err := s.Chain.Blockhash(ctx)
	if err != nil {
		return nil, err
	}
	signID, err := wallet.RandomToken(s.Random, 16)
	return &approval{signID, hash}, err
}

// Commit stores the proposal: it now waits for its owner's Confirm, and reserves nothing yet.
func (s *Transfers) Commit(tx store.Tx, p Proposal) error {
	if err := s.replaces(tx, p.Transaction); err != nil {
		return err
	}
	return tx.CreateTransaction(p.Transaction)
}

// maxAsked is how many proposals of programs may wait for one wallet's owner at once: a key in
// wrong hands must not bury the chat in questions (DESIGN §6).
const maxAsked = 5

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

// Reject ends a transaction that is not signed yet, by its owner's word.
func (s *Transfers) Reject(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	t, err := owned(tx, who, id)
	if err != nil {
		return t, err
	}
	return store.Step(tx, t, wallet.Change{By: wallet.OwnerRejected, At: s.Now().UTC(),
		Failure: wallet.UserRejected, Reason: "The owner rejected the transaction."})
}

// Of is a caller's own transaction.
func (s *Transfers) Of(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) { return owned(tx, who, id) })
}

// Read is Of for whoever may look: an operator's key belongs to nobody and reads every transaction.
func (s *Transfers) Read(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	if who.User != "" || who.Key == "" {
		return s.Of(ctx, who, id)
	}
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) {
		t, err := tx.Transaction(id)
		return t, found(err, wallet.TransactionNotFound, "no transaction has this id")
	})
}

// owned hides other people's transactions as if they did not exist.
func owned(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	const unknown = "no transaction of yours has this id"
	t, err := tx.Transaction(id)
	if err != nil {
		return t, found(err, wallet.TransactionNotFound, unknown)
	}
	ours := t.Owner == who.User
	if who.User == "" { // an operator's key has what it began itself
		ours = who.Key != "" && t.Owner == "" && t.KeyID == who.Key
	}
	if !ours {
		return wallet.Transaction{}, wallet.Refuse(wallet.TransactionNotFound, unknown)
	}
	return t, nil
}
