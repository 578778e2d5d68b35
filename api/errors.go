package api

import (
	"context"
	"errors"

	"github.com/gofiber/fiber/v2"

	"purser/store"
	"purser/wallet"
)

// refusal is how an error code is answered: with an HTTP status, and with the catalogue's text of a key as
// error.message.
type refusal struct {
	status  int
	message string
}

// refusals is the error table of docs/specification.md, Errors. A test finds every wallet.Code in it.
func refusals() map[wallet.Code]refusal {
	return map[wallet.Code]refusal{
		wallet.InvalidRequest:      {400, "code.invalid_request"},
		wallet.UnknownCommand:      {400, "code.unknown_command"},
		wallet.InvalidAPIKey:       {401, "code.invalid_api_key"},
		wallet.InsufficientScope:   {403, "code.insufficient_scope"},
		wallet.TierRequired:        {403, "code.tier_required"},
		wallet.ConsentRequired:     {403, "code.consent_required"},
		wallet.PolicyViolation:     {403, "code.policy_violation"},
		wallet.BotBlocked:          {403, "code.bot_blocked"},
		wallet.NotFound:            {404, "code.not_found"},
		wallet.UserNotFound:        {404, "code.user_not_found"},
		wallet.WalletNotFound:      {404, "code.wallet_not_found"},
		wallet.TransactionNotFound: {404, "code.transaction_not_found"},
		wallet.WebhookNotFound:     {404, "code.webhook_not_found"},
		wallet.InvalidWebhookURL:   {400, "code.invalid_webhook_url"},
		wallet.WebhookLimitReached: {409, "code.webhook_limit_reached"},
		wallet.TokenNotFound:       {404, "code.token_not_found"},
		wallet.MethodNotAllowed:    {405, "code.method_not_allowed"},
		wallet.Conflict:            {409, "code.conflict"},
		wallet.QuoteExpired:        {409, "code.quote_expired"},
		wallet.LengthRequired:      {411, "code.length_required"},
		wallet.PayloadTooLarge:     {413, "code.payload_too_large"},
		wallet.InsufficientFunds:   {422, "code.insufficient_funds"},
		wallet.InvalidSignature:    {422, "code.invalid_signature"},
		wallet.IdempotencyConflict: {422, "code.idempotency_conflict"},
		wallet.RateLimitExceeded:   {429, "code.rate_limit_exceeded"},
		wallet.Internal:            {500, "code.internal_error"},
		wallet.TelegramError:       {502, "code.telegram_error"},
		wallet.NetworkError:        {503, "code.network_error"},
	}
}

// labelled returns err with the error code of its response. An error without a code is Internal, except for those of
// fiber, of contexts (the request took too long: NETWORK_ERROR), and of the store.
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
		return &wallet.Error{Code: wallet.NetworkError, Reason: wallet.Because("http_request.timeout"), Err: err}
	}
	return fromStore(err)
}

// Reasons why a path is refused. helped adds what the caller can do instead.
const (
	noPath      = "http_request.no_path"
	otherMethod = "http_request.other_method"
)

// helped adds to the refusal of a path what helps the caller: where the documentation is, or which methods the path
// takes. Any other refusal is returned as it is.
func (s *Server) helped(c *fiber.Ctx, e *wallet.Error) *wallet.Error {
	switch {
	case e.Reason.Key == noPath && s.DocsURL != nil:
		return wallet.Refuse(e.Code, "http_request.no_path_docs", wallet.TextArg("URL", s.DocsURL.String()))
	case e.Reason.Key == otherMethod:
		if takes := c.GetRespHeader(fiber.HeaderAllow); takes != "" {
			return wallet.Refuse(e.Code, "http_request.methods", wallet.TextArg("Methods", takes))
		}
	}
	return e
}

// fromFiber labels fiber's own errors by their status. It never repeats their text, which may contain what the caller
// sent.
func fromFiber(err *fiber.Error) *wallet.Error {
	switch err.Code {
	case fiber.StatusNotFound:
		return wallet.Refuse(wallet.NotFound, noPath)
	case fiber.StatusMethodNotAllowed:
		return wallet.Refuse(wallet.MethodNotAllowed, otherMethod)
	case fiber.StatusRequestEntityTooLarge:
		return tooLarge(maxBody)
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return wallet.Refuse(wallet.InvalidRequest, "http_request.headers", wallet.NumberArg("Most", maxHeader))
	case fiber.StatusRequestTimeout:
		return wallet.Refuse(wallet.InvalidRequest, "http_request.slow", wallet.DurationArg("Within", readTimeout))
	}
	return wallet.Refuse(wallet.InvalidRequest, "http_request.malformed")
}

// fromStore labels the store's own errors. A conflict means that nothing was written, so a retry may succeed. After
// an unknown outcome a caller must look at the resource to find out what happened; with an Idempotency-Key a retry is
// safe.
func fromStore(err error) *wallet.Error {
	switch {
	case errors.Is(err, store.ErrConflict):
		return &wallet.Error{Code: wallet.Conflict, Reason: wallet.Because("outcome.changed"), Err: err}
	case errors.Is(err, store.ErrUnknownOutcome):
		return &wallet.Error{Code: wallet.Internal, Reason: wallet.Because("outcome.unknown"), Err: err}
	}
	return &wallet.Error{Code: wallet.Internal, Err: err}
}
