package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
	// Fee is what the network charges for a message, in lamports.
	Fee(ctx context.Context, message []byte) (uint64, error)
	// Blockhash is the newest one.
	Blockhash(ctx context.Context) (wallet.Blockhash, error)
	// Simulate tells how many compute units a message takes; *wallet.PreflightError when it would fail.
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

// SendRequest asks for a transfer. Amount is decimal text or wallet.Max, To an address, Token a listed
// symbol or a mint; "" is SOL.
type SendRequest struct {
	From    wallet.Address // zero: the caller's default wallet
	To      string
	Amount  string
	Token   string
	RetryOf wallet.TransactionID // "" unless it takes the place of one that can never land
	Ask     bool                 // the owner must confirm in chat, whoever signs
	Memo    string               // public note on chain; "" for none
	Label   string               // what whoever asks says that it is for; "" for nothing
	// References are those of the payment link that it answers; none without.
	References []wallet.Address
}

// Proposal is a transfer that was found possible, ready to be committed.
type Proposal struct {
	Transaction wallet.Transaction
	facts       accountSnapshot
	who         Caller
	over        *wallet.Blockhash // that a program signs over at once, with its wallet's key: that signature is the confirmation; nil where the owner confirms
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
	named, err := s.Destination(req.To, from.Address)
	if err != nil {
		return Proposal{}, err
	}
	if err := req.checkWords(); err != nil {
		return Proposal{}, err
	}
	token, err := s.Token(ctx, req.Token)
	if err != nil {
		return Proposal{}, err
	}
	var units uint64
	all := strings.EqualFold(req.Amount, wallet.Max)
	if !all {
		amount, err := wallet.ParseAmount(req.Amount, token.Decimals)
		if err != nil {
			return Proposal{}, wallet.About(wallet.FieldAmount, err)
		}
		units = amount.Units
	}
	to, err := s.recipient(ctx, named, from.Address)
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
	now := s.Now().UTC()
	t := wallet.Transaction{
		ID: wallet.TransactionID(s.NewID("tx")), Kind: wallet.Send, Status: wallet.AwaitingConfirmation,
		Owner: user.ID, Chat: user.TelegramID, KeyID: who.KeyID, Signer: from.Type,
		From: from.Address, To: to, Token: token, Amount: units, Unfunded: !f.to.Exists,
		Rent: f.rent, Warnings: f.warnings(), RetryOf: req.RetryOf,
		Memo: req.Memo, Label: req.Label, LinkReferences: req.References,
		CreatedAt: now, Deadline: now.Add(wallet.ConfirmWindow),
	}
	if named != to {
		t.RequestedDestination = named
	}
	if t.Memo == "" && f.held.Destination.MemoRequired {
		t.Memo = requiredMemo
	}
	if len(t.LinkReferences) > 0 {
		t.PaymentRequestRef = t.LinkReferences[0]
	}
	if err := referable(t); err != nil {
		return Proposal{}, err
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
	p := Proposal{Transaction: t, facts: f, who: who}
	if t.Signer == wallet.DeveloperWallet && who.KeyLine != "" && who.owns(from) && !req.Ask && t.PoisoningSuspect.IsZero() {
		hash, err := s.Chain.Blockhash(ctx)
		if err != nil {
			return Proposal{}, err
		}
		p.over = &hash
	}
	return p, nil
}

// checkWords judges what is carried in words, and how many references.
func (r SendRequest) checkWords() error {
	if len(r.References) > wallet.MaxLinkReferences {
		return wallet.Refuse(wallet.InvalidRequest, "that payment link names too many references")
	}
	return errors.Join(wallet.CheckMemo(r.Memo), wallet.CheckLabel(r.Label))
}

// referable finds the references of a link good for a transfer: none may be an account that the transfer changes.
func referable(t wallet.Transaction) error {
	for i, reference := range t.LinkReferences {
		if reference == t.To || slices.Contains(wallet.SendRules().Writes(t), reference) || slices.Contains(t.LinkReferences[:i], reference) {
			return wallet.Refuse(wallet.InvalidRequest, "that payment link names a reference twice, or an account of the payment as one")
		}
	}
	return nil
}

// Commit stores the proposal: it now waits for its owner's Confirm, and reserves nothing yet.
func (s *Transfers) Commit(tx store.Tx, p Proposal) error {
	if err := s.replaces(tx, p.Transaction); err != nil {
		return err
	}
	return tx.CreateTransaction(p.Transaction)
}

// Reject ends a transaction that is not signed yet, by its owner's word.
func (s *Transfers) Reject(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	t, err := authorizeOwner(tx, who, id)
	if err != nil {
		return t, err
	}
	return store.Step(tx, t, wallet.TransitionInput{By: wallet.OwnerRejected, At: s.Now().UTC(),
		Failure: wallet.UserRejected, Reason: "The owner rejected the transaction."})
}

// Of is a caller's own transaction.
func (s *Transfers) Of(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) { return authorizeOwner(tx, who, id) })
}

// Read is Of for whoever may look: an operator's key belongs to nobody and reads every transaction, an
// app those of people who let it.
func (s *Transfers) Read(ctx context.Context, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	return read(ctx, s.Store, func(tx store.Tx) (wallet.Transaction, error) {
		t, err := authorizeOwner(tx, who, id)
		if err == nil || wallet.CodeOf(err) != wallet.TransactionNotFound {
			return t, err
		}
		other, missing := tx.Transaction(id)
		if missing != nil {
			return t, err
		}
		if who.operator() {
			return other, nil
		}
		switch ok, grantErr := granted(tx, who, other.Owner, wallet.WalletRead); {
		case grantErr != nil:
			return t, grantErr
		case ok:
			return other, nil
		}
		return t, err
	})
}

// Filter chooses transactions of a list. Zero fields choose all.
type Filter struct {
	Address      wallet.Address // of the wallet that they concern; an operator's key must name one
	Token        string         // a symbol or a mint
	Type         wallet.Kind    // as programs see it (wallet.Rules.Type)
	Status       wallet.Status
	Since, Until time.Time // by creation; until itself is left out
	Cursor       wallet.TransactionID
	Limit        int
}

// maxLooked bounds how many transactions one page looks at: a filter that little fits gets short pages,
// even empty ones, with a cursor to go on from.
const maxLooked = 1000

// List is a page of transactions, newest first, and where the next one begins ("" at the end): the
// caller's own, or those of one wallet that they may read. INVALID_REQUEST, WALLET_NOT_FOUND.
func (s *Transfers) List(ctx context.Context, who Caller, f Filter) ([]wallet.Transaction, wallet.TransactionID, error) {
	mint, err := s.filterToken(f.Token)
	if err != nil {
		return nil, "", err
	}
	if who.operator() && f.Address.IsZero() {
		return nil, "", wallet.Refuse(wallet.InvalidRequest, "address: an ownerless key must say whose transactions")
	}
	var out []wallet.Transaction
	var next wallet.TransactionID
	err = s.Store.View(ctx, func(tx store.Tx) (err error) {
		out, next, err = f.page(tx, who, mint)
		return err
	})
	return out, next, err
}

// page reads the page, as far as maxLooked goes.
func (f Filter) page(tx store.Tx, who Caller, token wallet.Token) (out []wallet.Transaction, next wallet.TransactionID, _ error) {
	owner := who.User
	if !f.Address.IsZero() {
		w, err := authorizeRead(tx, who, f.Address)
		if err != nil {
			return nil, "", err
		}
		owner = w.Owner
	}
	page := store.Page{After: f.Cursor, Until: f.Until, Limit: f.Limit}
	for looked := 0; ; looked += page.Limit {
		batch, err := listed(tx, who, f.Address, page)
		if err != nil {
			return out, next, found(err, wallet.InvalidRequest, "cursor: this list has no such place: begin anew without one")
		}
		for _, t := range batch {
			if !f.Since.IsZero() && t.CreatedAt.Before(f.Since) {
				return out, "", nil
			}
			next = t.ID
			if t.Owner != owner && !who.operator() {
				continue // of whoever held the wallet before
			}
			rules, err := tx.Kinds().Of(t.Kind)
			if err != nil {
				return nil, "", err
			}
			if f.fits(t, rules.Type, token) {
				if out = append(out, t); len(out) == f.Limit {
					return out, next, nil
				}
			}
		}
		if len(batch) < page.Limit {
			return out, "", nil
		}
		if looked >= maxLooked {
			return out, next, nil
		}
		page.After = next
	}
}

func listed(tx store.Tx, who Caller, address wallet.Address, p store.Page) ([]wallet.Transaction, error) {
	if address.IsZero() {
		return tx.TransactionsOf(who.User, p)
	}
	return tx.TransactionsAt(address, p)
}

func (f Filter) fits(t wallet.Transaction, typ wallet.Kind, token wallet.Token) bool {
	return (f.Type == "" || f.Type == typ) && (f.Status == "" || f.Status == t.Status) &&
		(f.Token == "" || token.Mint == t.Token.Mint)
}

// authorizeRead tells whether a caller may see a wallet's history.
func authorizeRead(tx store.Tx, who Caller, address wallet.Address) (wallet.Wallet, error) {
	none := wallet.Refuse(wallet.WalletNotFound, "address: this wallet is not connected to you, or its owner has not allowed your app")
	w, err := tx.Wallet(address)
	switch {
	case err != nil:
		return w, found(err, wallet.WalletNotFound, none.Detail)
	case who.owns(w), who.operator():
		return w, nil
	}
	ok, err := granted(tx, who, w.Owner, wallet.WalletRead)
	if err != nil || ok {
		return w, err
	}
	return w, none
}

// authorizeOwner hides other people's transactions as if they did not exist.
func authorizeOwner(tx store.Tx, who Caller, id wallet.TransactionID) (wallet.Transaction, error) {
	const unknown = "no transaction of yours has this id"
	t, err := tx.Transaction(id)
	if err != nil {
		return t, found(err, wallet.TransactionNotFound, unknown)
	}
	ours := t.Owner == who.User
	if who.User == "" { // an operator's key has what it began itself
		line, err := lineOf(tx, t.KeyID)
		if err != nil {
			return wallet.Transaction{}, err
		}
		ours = who.KeyLine != "" && t.Owner == "" && line == who.KeyLine
	}
	if !ours {
		return wallet.Transaction{}, wallet.Refuse(wallet.TransactionNotFound, unknown)
	}
	return t, nil
}
