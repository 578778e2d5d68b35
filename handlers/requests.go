package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// RequestWindow is how long a payment request can be paid.
const RequestWindow = time.Hour

// These bound a person's open requests, because each costs an RPC call every few seconds. Programs have their own limits,
// so that they can use up neither each other's places nor those of the person in chat.
const (
	maxRequests         = 5  // open requests of one requester: the person in chat, an app, or a key without an app
	maxProgramsRequests = 15 // open requests of all programs together
)

// PaymentRequest is a request that anybody can pay: the transaction that waits for the payment, and the Solana Pay link
// that wallets open.
type PaymentRequest struct {
	Transaction wallet.Transaction
	URL         string
}

// RequestFor is the input of a payment request, in values that a front has parsed.
type RequestFor struct {
	To     wallet.Address // the wallet to be paid; zero: the one that payers of the caller are given (Wallets.Receiving)
	Amount wallet.Decimal
	Token  wallet.TokenRef
	Memo   string // public note that the payment should carry; "" for none
	Label  string // who requests the payment or what it is for; "" for none
}

// PrepareRequest prepares a payment request. The wallet to be paid is one that the caller may send from: their own, or
// one of a person who granted wallet:send to the caller's app. The payment is recognized by a fresh reference (Solana
// Pay, Transfer Request). Nothing is stored. Errors: INVALID_REQUEST, WALLET_NOT_FOUND, TOKEN_NOT_FOUND, NETWORK_ERROR;
// POLICY_VIOLATION for a token with a transfer fee, and for no wallet while payers are given none.
func (s *Transfers) PrepareRequest(ctx context.Context, who Caller, req RequestFor) (PaymentRequest, error) {
	if err := errors.Join(wallet.CheckMemo(req.Memo), wallet.CheckLabel(req.Label)); err != nil {
		return PaymentRequest{}, err
	}
	if req.To.IsZero() && who.User != "" {
		to, err := read(ctx, s.Store, func(tx store.Tx) (wallet.Wallet, error) { return receivingOf(tx, who.User, s.Now()) })
		if err != nil {
			return PaymentRequest{}, err
		}
		req.To = to.Address
	}
	to, user, err := s.Sender(ctx, who, req.To)
	if err != nil {
		return PaymentRequest{}, err
	}
	token, err := s.Token(ctx, req.Token)
	if err != nil {
		return PaymentRequest{}, err
	}
	amount, err := token.Exactly(req.Amount)
	if err != nil {
		return PaymentRequest{}, err
	}
	// With a transfer fee the recipient would get less than the amount, and the request would never be fully paid.
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

// payURL returns the Solana Pay transfer request of a payment request.
func payURL(t wallet.Transaction) string {
	return wallet.PayLink{To: t.To, Amount: t.Money().Decimal(), Mint: t.Token.Mint, References: []wallet.Address{t.Reference},
		Label: t.Label, Memo: t.Memo}.String()
}

// CommitRequest stores a request and schedules the search for its payment. RATE_LIMIT_EXCEEDED when the requester, or all
// programs together, have too many open ones.
func (s *Transfers) CommitRequest(tx store.Tx, r PaymentRequest) error {
	asker, err := askerOf(tx, r.Transaction.KeyID)
	if err != nil {
		return err
	}
	open, err := s.openRequests(tx, r.Transaction)
	if err != nil {
		return err
	}
	// Count what is open for the same requester, and for all programs together.
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
	// The refusal names what the limit counts: what others have open is neither the reason nor the requester's business.
	switch {
	case same >= maxRequests:
		return wallet.Refuse(wallet.RateLimitExceeded, "payment_request.too_many", wallet.NumberArg("Count", same))
	case asker != "" && programs >= maxProgramsRequests:
		return wallet.Refuse(wallet.RateLimitExceeded, "payment_request.too_many_of_apps", wallet.NumberArg("Count", programs))
	}
	return store.Create(tx, r.Transaction)
}

// askerOf returns under whose limit a request counts: the app of its key, or the key's lineage if it has no app. It is ""
// for a person in chat.
func askerOf(tx store.Tx, keyID string) (wallet.AppID, error) {
	if keyID == "" {
		return "", nil
	}
	key, err := tx.Key(keyID)
	if errors.Is(err, store.ErrNotFound) {
		return wallet.AppID(keyID), nil
	}
	return key.AppOrLineage(), err
}

// IsAwaited reports whether t pays a payment request that was made here and is still open, so that the person who made it is
// notified of the payment. It reads only from tx.
func (s *Transfers) IsAwaited(tx store.Tx, t wallet.Transaction) (bool, error) {
	if t.PaymentRequestRef.IsZero() {
		return false, nil
	}
	to, err := tx.Wallet(t.To)
	if errors.Is(err, store.ErrNotFound) || err == nil && to.Owner == "" {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	open, err := s.openRequests(tx, wallet.Transaction{Owner: to.Owner})
	return slices.ContainsFunc(open, func(r wallet.Transaction) bool {
		return r.Reference == t.PaymentRequestRef && r.To == t.To && r.Token.Mint == t.Token.Mint && r.Amount == t.Net() && s.Now().Before(r.Deadline)
	}), err
}

// openRequests lists the open requests that count together with r: those of the same owner, or, for an operator's key, of
// the same wallet. No open request is older than RequestWindow, so the history is read back that far only.
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
