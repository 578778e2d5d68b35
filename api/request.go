package api

import (
	"errors"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// requestData is `data` of POST /v1/wallet/request. url is a Solana Pay link, which any wallet can pay. reference is
// the account by which the payment is recognised on chain. amount is in the token's units, as decimal text.
type requestData struct {
	TransactionID wallet.TransactionID `json:"transaction_id"`
	Status        wallet.Status        `json:"status"`
	Recipient     wallet.Address       `json:"recipient"`
	Amount        string               `json:"amount"`
	Token         string               `json:"token"`
	URL           string               `json:"url"`
	Reference     wallet.Address       `json:"reference"`
	ExpiresAt     string               `json:"expires_at"`
}

// requestPayment is POST /v1/wallet/request {address, amount, token, memo, label}. It answers 201. purser looks for the
// payment until expires_at.
func (s *Server) requestPayment(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	req, err := paymentRequest(fields)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		// Slow checks first, such as that of the token, with no transaction open.
		p, err := s.Transfers.PrepareRequest(c.UserContext(), handlers.CallerOf(key), req)
		if err != nil {
			return err
		}
		// One transaction: the request for payment, and the response that a retry gets.
		return s.answer(c, fiber.StatusCreated, saveAnswer, func(tx store.Tx) ([]byte, error) {
			if err := s.Transfers.CommitRequest(tx, p); err != nil {
				return nil, err
			}
			t := p.Transaction
			return s.envelope("done.payment_requested", requestData{TransactionID: t.ID, Status: t.Status, Recipient: t.To, Amount: t.Money().String(),
				Token: t.Token.Name(), URL: p.URL, Reference: t.Reference, ExpiresAt: wallet.Timestamp(t.Deadline)})
		})
	})
}

// paymentRequest parses the fields of a payment request. Unknown ones are refused, as in a send.
func paymentRequest(fields object) (req handlers.RequestFor, err error) {
	if err := fields.only("address", "amount", "token", "memo", "label"); err != nil {
		return req, err
	}
	if req.To, err = fields.ownWallet("address"); err != nil {
		return req, err
	}
	if req.Amount, err = fields.amount(); err != nil {
		return req, err
	}
	if req.Token, err = fields.token(); err != nil {
		return req, err
	}
	req.Memo, req.Label, err = words(fields)
	return req, err
}

// words parses memo and label, which are optional, and checks that both can be shown and stored. memo is public on
// chain, label is not on chain.
func words(fields object) (memo, label string, err error) {
	if memo, err = fields.optional("memo", ""); err != nil {
		return "", "", err
	}
	if label, err = fields.optional("label", ""); err != nil {
		return "", "", err
	}
	return memo, label, errors.Join(about("memo", wallet.CheckMemo(memo)), about("label", wallet.CheckLabel(label)))
}
