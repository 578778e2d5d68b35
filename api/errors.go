package api

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"purser/store"
	"purser/wallet"
)

// refusal is how a code is answered: its HTTP status and error.message.
type refusal struct {
	status  int
	message string
}

// refusals is the error table of docs/specification.md, Errors. A test finds every wallet.Code in it.
func refusals() map[wallet.Code]refusal {
	return map[wallet.Code]refusal{
		wallet.InvalidRequest:      {400, "The request is not valid."},
		wallet.UnknownCommand:      {400, "The bot does not know this command."},
		wallet.InvalidAPIKey:       {401, "The API key is missing or not valid."},
		wallet.InsufficientScope:   {403, "This key may not do that."},
		wallet.TierRequired:        {403, "This needs a higher tier."},
		wallet.ConsentRequired:     {403, "This person has not granted your app access."},
		wallet.PolicyViolation:     {403, "This is not allowed."},
		wallet.BotBlocked:          {403, "This person has blocked the bot."},
		wallet.NotFound:            {404, "There is no such thing here."},
		wallet.UserNotFound:        {404, "This user is not known."},
		wallet.WalletNotFound:      {404, "This wallet is not known."},
		wallet.TransactionNotFound: {404, "This transaction is not known."},
		wallet.WebhookNotFound:     {404, "There is no such webhook."},
		wallet.InvalidWebhookURL:   {400, "The address of the webhook is not valid."},
		wallet.WebhookLimitReached: {409, "There are as many webhooks as there may be."},
		wallet.TokenNotFound:       {404, "This token is not known."},
		wallet.MethodNotAllowed:    {405, "This method is not allowed here."},
		wallet.Conflict:            {409, "This is not possible in the present state."},
		wallet.LengthRequired:      {411, "The request must announce its length."},
		wallet.PayloadTooLarge:     {413, "The request is too large."},
		wallet.InsufficientFunds:   {422, "The balance is too low for this transaction."},
		wallet.InvalidSignature:    {422, "The signature is not valid."},
		wallet.IdempotencyConflict: {422, "This Idempotency-Key was used for another request."},
		wallet.RateLimitExceeded:   {429, "Too many requests."},
		wallet.Internal:            {500, "Something went wrong on our side. It is logged; try again later."},
		wallet.TelegramError:       {502, "Telegram did not take the message."},
		wallet.NetworkError:        {503, "The Solana network is not available right now."},
	}
}

// labelled gives err the code that it is answered with. What nobody labelled is Internal.
func labelled(err error) *wallet.Error {
	var known *wallet.Error
	if errors.As(err, &known) {
		return known
	}
	var http *fiber.Error
	switch {
	case errors.As(err, &http):
		return fromFiber(http)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return &wallet.Error{Code: wallet.NetworkError, Detail: "this took too long: try again in a moment, with the same Idempotency-Key if you sent one", Err: err}
	}
	return fromStore(err)
}

// What is said of a path, before it is known what else could be asked.
const (
	nothingHere = "there is nothing at this path"
	otherMethod = "this path does not take this method"
)

// helped adds the way on to a refusal of a path: the documentation, or what the path takes.
func (s *Server) helped(c *fiber.Ctx, e *wallet.Error) *wallet.Error {
	switch {
	case e.Detail == nothingHere && s.DocsURL != nil:
		return wallet.Refuse(e.Code, "%s; the API is described at %s", nothingHere, s.DocsURL)
	case e.Detail == otherMethod:
		if takes := c.GetRespHeader(fiber.HeaderAllow); takes != "" {
			return wallet.Refuse(e.Code, "this path takes %s", takes)
		}
	}
	return e
}

// fromFiber never repeats the library's own words: they can hold what the caller sent.
func fromFiber(err *fiber.Error) *wallet.Error {
	switch err.Code {
	case fiber.StatusNotFound:
		return wallet.Refuse(wallet.NotFound, nothingHere)
	case fiber.StatusMethodNotAllowed:
		return wallet.Refuse(wallet.MethodNotAllowed, otherMethod)
	case fiber.StatusRequestEntityTooLarge:
		return tooLarge(maxBody)
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return wallet.Refuse(wallet.InvalidRequest, "the headers may have %d bytes at most", maxHeader)
	case fiber.StatusRequestTimeout:
		return wallet.Refuse(wallet.InvalidRequest, "the request did not arrive within %d seconds", int(readTimeout.Seconds()))
	}
	return wallet.Refuse(wallet.InvalidRequest, "this is malformed HTTP")
}

// fromStore labels the store's own errors.
func fromStore(err error) *wallet.Error {
	switch {
	case errors.Is(err, store.ErrConflict):
		return &wallet.Error{Code: wallet.Conflict, Detail: "this changed meanwhile: look at it again", Err: err}
	case errors.Is(err, store.ErrUnknownOutcome):
		return &wallet.Error{Code: wallet.Internal, Detail: "it is not known whether this took effect: look before you try again", Err: err}
	}
	return &wallet.Error{Code: wallet.Internal, Err: err}
}
