package api

import (
	"encoding/base64"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// balanceData is `data` of GET /v1/wallet/balance (docs/specification.md, Balances). Amounts are in the token's
// units, as decimal text. Values in USD are "" while their price is unknown. The total leaves unlisted tokens out.
type balanceData struct {
	Address       string                  `json:"address"`  // as in the request, also the zero Address, which is the System program's
	Balances      map[string]balanceEntry `json:"balances"` // listed tokens by symbol, others by mint
	TotalUSDValue string                  `json:"total_usd_value"`
	UpdatedAt     string                  `json:"updated_at"`
}

// balanceEntry is the balance of one token.
type balanceEntry struct {
	Amount   string `json:"amount"`
	Reserved string `json:"reserved"` // part of Amount that is held back for confirmed transactions
	USDValue string `json:"usd_value"`
	Mint     string `json:"mint"` // "" for SOL
	Decimals uint8  `json:"decimals"`
}

// balance is GET /v1/wallet/balance?address=. Balances on chain are public, so any key may read those of any address. What
// purser itself knows of the wallet is only returned to callers who may read it.
func (s *Server) balance(c *fiber.Ctx, key wallet.Key) error {
	q, err := query(c, "address")
	if err != nil {
		return err
	}
	if q["address"] == "" {
		return bad("address", "body.missing")
	}
	address, err := parseAddress("address", q["address"])
	if err != nil {
		return err
	}
	b, err := s.Wallets.BalanceFor(c.UserContext(), handlers.CallerOf(key), address)
	if err != nil {
		return err
	}
	// SOL is always there, also with a balance of 0. Lamports and base units become decimal text without a float.
	balances := map[string]balanceEntry{wallet.SOL.Symbol: {
		Amount: wallet.Lamports(b.Lamports).String(), Reserved: wallet.Lamports(b.Reserved).String(), USDValue: b.Worth.String(),
		Decimals: wallet.SOL.Decimals,
	}}
	for _, held := range b.Tokens {
		balances[held.Token.Name()] = balanceEntry{
			Amount: held.Token.Amount(held.Units).String(), Reserved: held.Token.Amount(held.Reserved).String(), USDValue: held.Worth.String(),
			Mint: held.Token.Mint.String(), Decimals: held.Token.Decimals,
		}
	}
	return s.succeed(c, fiber.StatusOK, "done.balance", balanceData{
		Address: b.Address.String(), Balances: balances, TotalUSDValue: b.Total.String(), UpdatedAt: wallet.Timestamp(b.At),
	})
}

// query parses the known query parameters. Each may be given once. Others are refused: if a filter were ignored
// because it is misspelt, the caller would take the response for a filtered one.
func query(c *fiber.Ctx, known ...string) (map[string]string, error) {
	values, twice, strange := map[string]string{}, "", ""
	c.Context().QueryArgs().VisitAll(func(rawName, rawValue []byte) {
		name := string(rawName)
		if !slices.Contains(known, name) {
			strange = name
			return
		}
		if _, given := values[name]; given {
			twice = name
		}
		values[name] = string(rawValue)
	})
	switch {
	case twice != "":
		return nil, bad(twice, "body.repeated")
	case strange != "":
		return nil, badName(strange, "body.unknown")
	}
	return values, nil
}

// sent renders the response to a send: with the unsigned transaction if nobody has to confirm it first.
func (s *Server) sent(key wallet.Key, t wallet.Transaction) ([]byte, error) {
	data := sendData{TransactionID: t.ID, Status: t.Status, Recipient: t.To, Warnings: warningsFor(key, t), ExpiresAt: stamp(t.Deadline), DelayEndsAt: delayEnd(key, t)}
	switch t.Status {
	case wallet.AwaitingSignature:
	case wallet.Delayed:
		return s.envelope("done.delayed", data)
	default:
		return s.envelope("done.owner_asked", data)
	}
	// Nobody has to confirm it: the transaction is ready to be signed.
	view, err := s.Signing.View(t)
	if err != nil {
		return nil, err
	}
	data.UnsignedTransaction = unsigned(view)
	return s.envelope("done.sign_transaction", data)
}

// unsigned returns a transaction in Solana's wire format, in base64, with an empty signature; nil if no signature is
// awaited.
func unsigned(v handlers.SignView) *string {
	if v.Message == nil {
		return nil
	}
	// One signature of 64 zero bytes, then the message: libraries read this as an unsigned transaction.
	text := base64.StdEncoding.EncodeToString(append(append([]byte{1}, make([]byte, 64)...), v.Message...))
	return &text
}

// warningsFor returns the names of the fraud rules that found something in a transaction. An app of somebody else learns only of
// findings that do not depend on whom the owner knows, pays or considers a large payment: it could ask for many payments to find that out.
func warningsFor(key wallet.Key, t wallet.Transaction) []wallet.RuleName {
	found := t.Findings
	if key.Owner != t.Owner {
		found = t.PublicFindings()
	}
	names := []wallet.RuleName{}
	for _, f := range found {
		names = append(names, f.Rule)
	}
	return names
}

// sendData is `data` of POST /v1/wallet/send and …/{id}/refresh. unsigned_transaction is null until the owner has confirmed:
// before that, and while it is delayed, there is nothing to sign. recipient is the wallet that is paid. If the request named a token account, that is
// its owner.
type sendData struct {
	TransactionID       wallet.TransactionID `json:"transaction_id"`
	Status              wallet.Status        `json:"status"`
	Recipient           wallet.Address       `json:"recipient"`
	Warnings            []wallet.RuleName    `json:"warnings"`      // the fraud rules that found something (warningsFor)
	ExpiresAt           string               `json:"expires_at"`    // "" while it is delayed
	DelayEndsAt         *string              `json:"delay_ends_at"` // null unless it is delayed, and for a key of somebody else
	UnsignedTransaction *string              `json:"unsigned_transaction"`
}

// send is POST /v1/wallet/send {from, to, amount, token, memo, label}. It answers 202, and the chat asks the owner to confirm.
// No call of the API moves value by itself (docs/security.md).
func (s *Server) send(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	req, err := sendRequest(fields)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		// Slow checks first: token, recipient, balance and fee, with no transaction open.
		p, err := s.Transfers.Prepare(c.UserContext(), handlers.CallerOf(key), req)
		if err != nil {
			return err
		}
		// One transaction: the proposal, the question to its owner, and the response that a retry gets.
		return s.answer(c, fiber.StatusAccepted, saveAnswer, func(tx store.Tx) ([]byte, error) {
			t, err := s.Transfers.CommitByProgram(tx, p)
			if err != nil {
				return nil, err
			}
			return s.sent(key, t)
		})
	})
}

// sendRequest parses the fields of a send. Unknown ones are refused: if a field such as a destination tag were ignored, the
// payment could be lost.
func sendRequest(fields object) (req handlers.SendRequest, err error) {
	if err := fields.only("from", "to", "amount", "token", "memo", "label"); err != nil {
		return req, err
	}
	if req.From, err = fields.ownWallet("from"); err != nil {
		return req, err
	}
	if req.To, err = fields.address("to"); err != nil {
		return req, err
	}
	// An exact decimal: base units follow when the token, and so its decimals, are known.
	exact, err := fields.amount()
	if err != nil {
		return req, err
	}
	req.Amount.Exact = exact
	if req.Token, err = fields.token(); err != nil {
		return req, err
	}
	req.Memo, req.Label, err = words(fields)
	return req, err
}

// transactionData is `data` of GET /v1/wallet/transactions/{id}. Fields that are not known yet are "", numbers null. Amounts
// are in the token's units, as decimal text.
type transactionData struct {
	TransactionID wallet.TransactionID `json:"transaction_id"`
	Type          wallet.EntryType     `json:"type"`
	Status        wallet.Status        `json:"status"`
	WalletAddress wallet.Address       `json:"wallet_address"`
	Recipient     wallet.Address       `json:"recipient"`
	Amount        string               `json:"amount"`
	Token         string               `json:"token"`
	Mint          string               `json:"mint"`         // "" for SOL
	Fee           string               `json:"fee"`          // SOL: estimated until it lands
	Rent          string               `json:"rent"`         // SOL: for the recipient's new token account
	TransferFee   string               `json:"transfer_fee"` // of the token: what its issuer keeps of Amount
	RetryOf       wallet.TransactionID `json:"retry_of"`     // the failed transaction that it replaces; "" for none
	Memo          string               `json:"memo"`         // public note on chain
	Label         string               `json:"label"`        // what it is for, as its maker wrote; not on chain
	Terms         wallet.Terms         `json:"terms"`        // the kind's own data, as it is; null for a kind without
	Signature     wallet.Signature     `json:"signature"`
	Reference     wallet.Address       `json:"reference"`
	CreatedAt     string               `json:"created_at"`
	SubmittedAt   string               `json:"submitted_at"`
	ConfirmedAt   string               `json:"confirmed_at"`
	BlockHeight   *uint64              `json:"block_height"`
	Confirmations *int                 `json:"confirmations"`
	ErrorCode     wallet.Failure       `json:"error_code"`
	ErrorMessage  string               `json:"error_message"`
	Warnings      []wallet.RuleName    `json:"warnings"`      // the fraud rules that found something (warningsFor)
	Held          bool                 `json:"held"`          // nobody can say yet whether it landed
	ExpiresAt     string               `json:"expires_at"`    // of Confirm, then of the signature, or of a payment request; "" after that
	DelayEndsAt   *string              `json:"delay_ends_at"` // null unless it is delayed, and for a key of somebody else
}

// recordOf renders a transaction for a key that may read it. rules are those of its kind.
func (s *Server) recordOf(key wallet.Key, t wallet.Transaction, rules wallet.Rules) transactionData {
	d := transactionData{
		TransactionID: t.ID, Type: rules.Type, Status: t.Status, WalletAddress: rules.WalletOf(t), Recipient: t.To,
		Amount: t.Money().String(), Token: t.Token.Name(), Fee: wallet.Lamports(t.Fee).String(),
		Signature: t.Signature, Reference: t.Reference, CreatedAt: stamp(t.CreatedAt),
		SubmittedAt: stamp(t.SubmittedAt), ConfirmedAt: stamp(t.ConfirmedAt),
		ErrorCode: t.ErrorCode, ErrorMessage: s.explainReason(t.ErrorReason), Held: t.Indeterminate,
		Rent: wallet.Lamports(t.Rent).String(), TransferFee: t.Token.Amount(t.TransferFee).String(), RetryOf: t.RetryOf,
		Memo: t.Memo, Label: t.Label, Terms: t.Terms, Warnings: warningsFor(key, t), DelayEndsAt: delayEnd(key, t),
	}
	if !t.Token.Native() {
		d.Mint = t.Token.Mint.String()
	}
	// Numbers of a block are null until the transaction has landed.
	if t.Landing != nil {
		d.BlockHeight, d.Confirmations = &t.Landing.BlockHeight, &t.Landing.Confirmations
	}
	if t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature || rules.Awaits(t) {
		d.ExpiresAt = stamp(t.Deadline)
	}
	return d
}

// delayEnd returns when a delayed transaction can be signed; nil for others. An app of somebody else does not learn it: how long a payment
// waits depends on whom the owner paid before, and on their limits.
func delayEnd(key wallet.Key, t wallet.Transaction) *string {
	if t.Status != wallet.Delayed || key.Owner != t.Owner {
		return nil
	}
	end := wallet.Timestamp(t.DelayEndsAt)
	return &end
}

// stamp returns a timestamp in the API's form; "" for the zero time, which is one that is not known yet.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return wallet.Timestamp(t)
}

// transaction is GET /v1/wallet/transactions/{id}. A key may read those of its owner, an operator's key all.
func (s *Server) transaction(c *fiber.Ctx, key wallet.Key) error {
	id := wallet.TransactionID(c.Params("id"))
	if !saneID(string(id)) {
		return wallet.Refuse(wallet.TransactionNotFound, "transaction_id.unknown")
	}
	t, err := s.Transfers.Read(c.UserContext(), handlers.CallerOf(key), id)
	if err != nil {
		return err
	}
	rules, err := s.Store.Kinds().Of(t.Kind)
	if err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "done.transaction", s.recordOf(key, t, rules))
}
