package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"purser/store"
	"purser/wallet"
)

// RequestWindow is how long a request for payment is looked for.
const RequestWindow = time.Hour

// maxRequests is how many of a person's requests are looked for at once: each costs a call to the
// node every few seconds.
const maxRequests = 5

// PaymentRequest asks anybody for a payment: the transaction that waits for it, and the link that a
// wallet reads.
type PaymentRequest struct {
	Transaction wallet.Transaction
	URL         string
}

// RequestFor is what a payment is asked for with. Amount is decimal text, Token a listed symbol or a mint; "" is SOL.
type RequestFor struct {
	To            wallet.Address // the wallet that is paid; zero is the caller's default wallet
	Amount, Token string
	Memo          string // that the payment is asked to carry, as a public note; "" for none
	Label         string // who asks, or for what; "" for nothing
}

// PrepareRequest makes a request for an amount of a token to a wallet that a caller may send from: their own, or that of
// a person who lets their app propose transfers. What pays it is known by its reference (Solana Pay, Transfer Request).
func (s *Transfers) PrepareRequest(ctx context.Context, who Caller, req RequestFor) (PaymentRequest, error) {
	if err := errors.Join(wallet.CheckMemo(req.Memo), wallet.CheckLabel(req.Label)); err != nil {
		return PaymentRequest{}, err
	}
	to, user, err := s.Sender(ctx, who, req.To)
	if err != nil {
		return PaymentRequest{}, err
	}
	token, err := s.Token(ctx, req.Token)
	if err != nil {
		return PaymentRequest{}, err
	}
	units, err := wallet.ParseAmount(req.Amount, token.Decimals)
	if err != nil {
		return PaymentRequest{}, wallet.About(wallet.FieldAmount, err)
	}
	if !token.Native() {
		mint, err := s.Chain.Mint(ctx, token.Mint)
		if err != nil {
			return PaymentRequest{}, err
		}
		if mint.TransferFee != nil {
			return PaymentRequest{}, wallet.Refuse(wallet.PolicyViolation,
				"the issuer of %s keeps a part of each payment, so that nobody can pay you an exact sum of it", token.Name())
		}
	}
	now := s.Now().UTC()
	t := wallet.Transaction{
		ID: wallet.TransactionID(s.NewID("tx")), Kind: wallet.Receive, Status: wallet.Requested, Owner: user.ID, Chat: user.TelegramID,
		KeyID: who.KeyID, To: to.Address, Token: token, Amount: units.Units, Memo: req.Memo, Label: req.Label, CreatedAt: now, Deadline: now.Add(RequestWindow),
	}
	if _, err := io.ReadFull(s.Random, t.Reference[:]); err != nil {
		return PaymentRequest{}, fmt.Errorf("draw a reference: %w", err)
	}
	return PaymentRequest{t, payURL(t)}, nil
}

// payURL is a Solana Pay transfer request.
func payURL(t wallet.Transaction) string {
	return wallet.PayLink{To: t.To, Amount: t.Money().String(), Mint: t.Token.Mint, References: []wallet.Address{t.Reference},
		Label: t.Label, Memo: t.Memo}.String()
}

// CommitRequest stores a request, which is looked for from now on.
func (s *Transfers) CommitRequest(tx store.Tx, r PaymentRequest) error {
	const look = 100
	list, page := tx.TransactionsOf, store.Page{Limit: look}
	if r.Transaction.Owner == "" { // of an operator's key: counted by the wallet
		list = func(_ wallet.UserID, page store.Page) ([]wallet.Transaction, error) {
			return tx.TransactionsAt(r.Transaction.To, page)
		}
	}
	past, err := list(r.Transaction.Owner, page)
	if err != nil {
		return err
	}
	open := 0
	for _, t := range past {
		if t.Status == wallet.Requested && !t.TimedOutAt(s.Now()) {
			open++
		}
	}
	if open >= maxRequests {
		return wallet.Refuse(wallet.RateLimitExceeded, "%d requests wait to be paid already: each is looked for during an hour", open)
	}
	return tx.CreateTransaction(r.Transaction)
}
