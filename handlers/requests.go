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

// How many of a person's requests are looked for at once, as each costs a call to the node every few seconds. No
// program uses up another's room, nor all of them together that of the person in chat.
const (
	maxRequests         = 5  // by one asker: the person in chat, an app, or a key of no app
	maxProgramsRequests = 15 // by all programs together
)

// PaymentRequest asks anybody for a payment: the transaction that waits for it, and the link that a
// wallet reads.
type PaymentRequest struct {
	Transaction wallet.Transaction
	URL         string
}

// RequestFor is what a payment is asked for with, in values that a front has parsed.
type RequestFor struct {
	To     wallet.Address // the wallet that is paid; zero is the caller's default wallet
	Amount wallet.Decimal
	Token  wallet.TokenRef
	Memo   string // that the payment is asked to carry, as a public note; "" for none
	Label  string // who asks, or for what; "" for nothing
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
	amount, err := req.Amount.In(token.Decimals)
	if err != nil {
		return PaymentRequest{}, err
	}
	if !token.Native() {
		mint, err := s.Chain.Mint(ctx, token.Mint)
		if err != nil {
			return PaymentRequest{}, err
		}
		if mint.TransferFee != nil {
			return PaymentRequest{}, wallet.Refuse(wallet.PolicyViolation,
				"payment_request.withheld", wallet.TextArg("Token", token.Name()))
		}
	}
	now := s.Now().UTC()
	t := wallet.Transaction{
		ID: wallet.TransactionID(s.NewID("tx")), Kind: wallet.Request, Status: wallet.Requested, Owner: user.ID, Chat: user.TelegramID,
		KeyID: who.KeyID, To: to.Address, Token: token, Amount: amount.Units, Memo: req.Memo, Label: req.Label, CreatedAt: now, Deadline: now.Add(RequestWindow),
	}
	if _, err := io.ReadFull(s.Random, t.Reference[:]); err != nil {
		return PaymentRequest{}, fmt.Errorf("draw a reference: %w", err)
	}
	return PaymentRequest{t, payURL(t)}, nil
}

// payURL is a Solana Pay transfer request.
func payURL(t wallet.Transaction) string {
	return wallet.PayLink{To: t.To, Amount: t.Money().Decimal(), Mint: t.Token.Mint, References: []wallet.Address{t.Reference},
		Label: t.Label, Memo: t.Memo}.String()
}

// CommitRequest stores a request, which is looked for from now on.
func (s *Transfers) CommitRequest(tx store.Tx, r PaymentRequest) error {
	asker, err := askerOf(tx, r.Transaction.KeyID)
	if err != nil {
		return err
	}
	open, err := s.openRequests(tx, r.Transaction)
	if err != nil {
		return err
	}
	same, programs := 0, 0
	for _, t := range open {
		other, err := askerOf(tx, t.KeyID)
		if err != nil {
			return err
		}
		if other == asker {
			same++
		}
		if other != "" {
			programs++
		}
	}
	if same >= maxRequests || asker != "" && programs >= maxProgramsRequests {
		return wallet.Refuse(wallet.RateLimitExceeded, "payment_request.too_many", wallet.NumberArg("Count", max(same, programs)))
	}
	return store.Create(tx, r.Transaction)
}

// askerOf tells who made a request with a key: its app, or the key's line; "" for a person in chat.
func askerOf(tx store.Tx, keyID string) (wallet.AppID, error) {
	if keyID == "" {
		return "", nil
	}
	key, err := tx.Key(keyID)
	if errors.Is(err, store.ErrNotFound) {
		return wallet.AppID(keyID), nil
	}
	return key.WishHolder(), err
}

// openRequests lists what waits to be paid beside r, of the same owner; of an operator's key, of the same wallet. None
// is older than RequestWindow, so that the history is read back to there and no further.
func (s *Transfers) openRequests(tx store.Tx, r wallet.Transaction) ([]wallet.Transaction, error) {
	now, page := s.Now(), store.Page{Limit: 100}
	var open []wallet.Transaction
	for {
		var past []wallet.Transaction
		var err error
		if r.Owner == "" {
			past, err = tx.TransactionsAt(r.To, page)
		} else {
			past, err = tx.TransactionsOf(r.Owner, page)
		}
		if err != nil {
			return nil, err
		}
		for _, t := range past {
			rules, err := tx.Kinds().Of(t.Kind)
			if err != nil {
				return nil, err
			}
			if rules.Awaits(t) && !t.TimedOutAt(now) {
				open = append(open, t)
			}
		}
		if len(past) < page.Limit || past[len(past)-1].CreatedAt.Before(now.Add(-RequestWindow)) {
			return open, nil
		}
		page.After = past[len(past)-1].ID
	}
}
