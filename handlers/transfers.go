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
}

// Transfers are sends of SOL, from the question to the owner's Confirm.
type Transfers struct {
	Store  store.Store
	Chain  TransferChain
	Build  func(wallet.Transaction) ([]byte, error) // the unsigned message, blockhash zeroed
	Fee    uint64                                   // lamports that one transfer costs
	Now    Clock
	NewID  IDs
	Random io.Reader
}

// Max is the amount that means "all that can be sent".
const Max = "max"

// SendRequest asks for a transfer. Amount is decimal text or Max.
type SendRequest struct {
	From   wallet.Address // zero: the caller's default wallet
	To     string
	Amount string
	Token  string
}

// Proposal is a transfer that was found possible, with what it was judged by.
type Proposal struct {
	Transaction wallet.Transaction
}

// Token finds what a symbol means. Only SOL can be sent so far.
func (s *Transfers) Token(symbol string) (wallet.Token, error) {
	if strings.EqualFold(symbol, wallet.SOL.Symbol) {
		return wallet.SOL, nil
	}
	return wallet.Token{}, wallet.Refuse(wallet.TokenNotFound, "only SOL can be sent so far; %s is not known here yet", tokenName(symbol))
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
	to, err := destination(text, from)
	return to, wallet.About(wallet.FieldTo, err)
}

func destination(text string, from wallet.Address) (wallet.Address, error) {
	to, err := wallet.ParseAddress(text)
	switch {
	case err != nil:
		return wallet.Address{}, err
	case to.IsZero():
		return wallet.Address{}, wallet.Refuse(wallet.InvalidRequest, "that is the System program, not a wallet")
	case to == from:
		return wallet.Address{}, wallet.Refuse(wallet.InvalidRequest, "that is the sending wallet's own address")
	case !to.OnCurve():
		return wallet.Address{}, wallet.Refuse(wallet.InvalidRequest, "no key can exist for that address: it belongs to a program or a token account. Ask for the owner's wallet address")
	}
	return to, nil
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
	if who.User == "" {
		return wallet.Wallet{}, wallet.User{}, none
	}
	user, err := tx.User(who.User)
	if err != nil {
		return wallet.Wallet{}, wallet.User{}, found(err, wallet.UserNotFound, "this person is not known here any more")
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
	if w.Owner != who.User {
		return wallet.Wallet{}, user, none
	}
	return w, user, nil
}

// Prepare finds out whether a transfer is possible and what it would cost; nothing is stored.
// Errors: INVALID_REQUEST, TOKEN_NOT_FOUND, WALLET_NOT_FOUND, INSUFFICIENT_FUNDS, NETWORK_ERROR;
// with wallet.FieldAmount or wallet.FieldTo where one of these is to blame.
func (s *Transfers) Prepare(ctx context.Context, who Caller, req SendRequest) (Proposal, error) {
	token, err := s.Token(req.Token)
	if err != nil {
		return Proposal{}, err
	}
	var amount wallet.Amount
	if !strings.EqualFold(req.Amount, Max) {
		if amount, err = wallet.ParseAmount(req.Amount, token.Decimals); err != nil {
			return Proposal{}, wallet.About(wallet.FieldAmount, err)
		}
	}
	from, user, err := s.Sender(ctx, who, req.From)
	if err != nil {
		return Proposal{}, err
	}
	to, err := s.Destination(req.To, from.Address)
	if err != nil {
		return Proposal{}, err
	}
	facts, err := s.look(ctx, from.Address, to)
	if err != nil {
		return Proposal{}, err
	}
	if err := facts.acceptable(); err != nil {
		return Proposal{}, err
	}
	if strings.EqualFold(req.Amount, Max) {
		if facts.free <= s.Fee {
			return Proposal{}, wallet.About(wallet.FieldAmount, NothingToSend(facts.free, s.Fee))
		}
		amount = wallet.Lamports(facts.free - s.Fee)
	}
	if err := facts.affordable(amount.Units, s.Fee); err != nil {
		return Proposal{}, err
	}
	now := s.Now().UTC()
	t := wallet.Transaction{
		ID: wallet.TransactionID(s.NewID("tx")), Kind: wallet.Send, Status: wallet.AwaitingConfirmation,
		Owner: user.ID, Chat: user.TelegramID, KeyID: who.Key,
		From: from.Address, To: to, Token: token, Amount: amount.Units, Fee: s.Fee,
		BalanceLeft: facts.free - amount.Units - s.Fee, Unfunded: !facts.to.Exists,
		CreatedAt: now, Deadline: now.Add(wallet.ConfirmWindow),
	}
	if _, err := io.ReadFull(s.Random, t.Reference[:]); err != nil {
		return Proposal{}, fmt.Errorf("draw a reference: %w", err)
	}
	if t.Message, err = s.Build(t); err != nil {
		return Proposal{}, fmt.Errorf("build the transfer: %w", err)
	}
	return Proposal{Transaction: t}, nil
}

// NothingToSend is the refusal of every amount: what is free does not even cover the fee, both in
// lamports.
func NothingToSend(free, fee uint64) error {
	return wallet.Refuse(wallet.InsufficientFunds, "there is nothing to send: your wallet has %s SOL free, and the network fee is %s SOL",
		wallet.Lamports(free), wallet.Lamports(fee))
}

// Commit stores the proposal: it now waits for its owner's Confirm, and reserves nothing yet.
func (s *Transfers) Commit(tx store.Tx, p Proposal) error {
	return tx.CreateTransaction(p.Transaction)
}

// maxAsked is how many proposals of programs may wait for one wallet's owner at once: a key in
// wrong hands must not bury the chat in questions (DESIGN §6).
const maxAsked = 5

// CommitAndAsk stores a proposal that came by a program, and has its owner asked in chat.
func (s *Transfers) CommitAndAsk(tx store.Tx, p Proposal) error {
	open, err := tx.UnsettledFrom(p.Transaction.From)
	if err != nil {
		return err
	}
	asked := 0
	for _, t := range open {
		if t.Status == wallet.AwaitingConfirmation && t.KeyID != "" {
			asked++
		}
	}
	if asked >= maxAsked {
		return wallet.Refuse(wallet.RateLimitExceeded, "%d proposals wait for this wallet's owner already: let them answer first", asked)
	}
	if err := s.Commit(tx, p); err != nil {
		return err
	}
	event, err := p.Transaction.Proposed()
	if err != nil {
		return err
	}
	return tx.Emit(event)
}

// Confirmation is what was found when the owner tapped Confirm.
type Confirmation struct {
	id     wallet.TransactionID
	owner  wallet.UserID
	facts  facts
	signID string
}

// PrepareConfirm looks at the chain once more, since minutes may have passed.
func (s *Transfers) PrepareConfirm(ctx context.Context, who Caller, id wallet.TransactionID) (Confirmation, error) {
	t, err := s.Of(ctx, who, id)
	if err != nil {
		return Confirmation{}, err
	}
	if err := t.ConfirmableAt(s.Now()); err != nil {
		return Confirmation{}, err
	}
	f, err := s.look(ctx, t.From, t.To)
	if err != nil {
		return Confirmation{}, err
	}
	signID, err := wallet.RandomToken(s.Random, 16)
	if err != nil {
		return Confirmation{}, err
	}
	return Confirmation{id: id, owner: who.User, facts: f, signID: signID}, nil
}

// CommitConfirm is the owner's word: it happens once, in time, with funds that no other confirmed
// transaction has reserved; then the transaction waits for the device.
func (s *Transfers) CommitConfirm(tx store.Tx, c Confirmation) (wallet.Transaction, error) {
	t, err := owned(tx, c.owner, c.id)
	if err != nil {
		return t, err
	}
	now := s.Now().UTC()
	if err := t.ConfirmableAt(now); err != nil {
		return t, err
	}
	f := c.facts
	if f.free, err = free(tx, t.From, f.from); err != nil {
		return t, err
	}
	if err := f.acceptable(); err != nil {
		return t, err
	}
	if err := f.affordable(t.Amount, t.Fee); err != nil {
		return t, err
	}
	t.SignID = c.signID
	t.BalanceLeft = f.free - t.Amount - t.Fee // as of now, not of the proposal
	return store.Step(tx, t, wallet.Change{By: wallet.OwnerConfirmed, At: now})
}

// Reject ends a transaction that is not signed yet, by its owner's word.
func (s *Transfers) Reject(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	t, err := owned(tx, who.User, id)
	if err != nil {
		return t, err
	}
	return store.Step(tx, t, wallet.Change{By: wallet.OwnerRejected, At: s.Now().UTC(),
		Failure: wallet.UserRejected, Reason: "The owner rejected the transaction."})
}

// Of is a caller's own transaction.
func (s *Transfers) Of(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) { return owned(tx, who.User, id) })
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
func owned(tx store.Tx, owner wallet.UserID, id wallet.TransactionID) (wallet.Transaction, error) {
	const unknown = "no transaction of yours has this id"
	t, err := tx.Transaction(id)
	if err != nil {
		return t, found(err, wallet.TransactionNotFound, unknown)
	}
	if owner == "" || t.Owner != owner {
		return wallet.Transaction{}, wallet.Refuse(wallet.TransactionNotFound, unknown)
	}
	return t, nil
}
