package wallet

import (
	"errors"
)

// Code names what went wrong, once for all fronts. The API returns it as error.code (docs/specification.md, Errors). The
// chat chooses its wording by it.
type Code string

// The codes of docs/specification.md, Errors.
const (
	InvalidRequest      Code = "INVALID_REQUEST"
	InvalidAPIKey       Code = "INVALID_API_KEY"
	InsufficientScope   Code = "INSUFFICIENT_SCOPE"
	TierRequired        Code = "TIER_REQUIRED"
	ConsentRequired     Code = "CONSENT_REQUIRED"
	PolicyViolation     Code = "POLICY_VIOLATION"
	BotBlocked          Code = "BOT_BLOCKED"
	UnknownCommand      Code = "UNKNOWN_COMMAND"
	UserNotFound        Code = "USER_NOT_FOUND"
	WalletNotFound      Code = "WALLET_NOT_FOUND"
	TransactionNotFound Code = "TRANSACTION_NOT_FOUND"
	WebhookNotFound     Code = "WEBHOOK_NOT_FOUND"
	InvalidWebhookURL   Code = "INVALID_WEBHOOK_URL"
	WebhookLimitReached Code = "WEBHOOK_LIMIT_REACHED"
	TokenNotFound       Code = "TOKEN_NOT_FOUND"
	NotFound            Code = "NOT_FOUND"
	MethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	Conflict            Code = "CONFLICT"
	QuoteExpired        Code = "QUOTE_EXPIRED"
	LengthRequired      Code = "LENGTH_REQUIRED"
	PayloadTooLarge     Code = "PAYLOAD_TOO_LARGE"
	InsufficientFunds   Code = "INSUFFICIENT_FUNDS"
	InvalidSignature    Code = "INVALID_SIGNATURE"
	IdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	RateLimitExceeded   Code = "RATE_LIMIT_EXCEEDED"
	Internal            Code = "INTERNAL_ERROR"
	TelegramError       Code = "TELEGRAM_ERROR"
	NetworkError        Code = "NETWORK_ERROR"
)

// Codes lists every code. Tests of each front check that it handles all of them.
func Codes() []Code {
	return []Code{
		InvalidRequest, InvalidAPIKey, InsufficientScope, TierRequired, ConsentRequired,
		PolicyViolation, BotBlocked, UnknownCommand, UserNotFound, WalletNotFound,
		TransactionNotFound, WebhookNotFound, InvalidWebhookURL, WebhookLimitReached, TokenNotFound, NotFound, MethodNotAllowed, Conflict,
		QuoteExpired, LengthRequired, PayloadTooLarge, InsufficientFunds, InvalidSignature, IdempotencyConflict,
		RateLimitExceeded, Internal, TelegramError, NetworkError,
	}
}

// Field names the part of a request that a refusal is about, spelled as in the API.
type Field string

// The fields that the chat can ask for again.
const (
	FieldAmount Field = "amount"
	FieldTo     Field = "to"
	FieldToken  Field = "token"
)

// Error is a failure that may be shown to people and programs.
type Error struct {
	Code   Code   // for programs
	Reason Reason // for people: what went wrong and what to do, as data; never a secret
	Field  Field  // the part of the request at fault; "" if no single part is
	Err    error  // for our log only
}

func (e *Error) Error() string {
	text := string(e.Code)
	if !e.Reason.IsZero() {
		text += ": " + e.Reason.String()
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Refuse returns an Error with a code and a reason: the key of a sentence in the catalogue (package locale) with its
// arguments.
func Refuse(code Code, key string, args ...Arg) *Error { return RefuseFor(code, Because(key, args...)) }

// RefuseFor is Refuse with an existing Reason.
func RefuseFor(code Code, reason Reason) *Error { return &Error{Code: code, Reason: reason} }

// About sets the Field of a refusal. Errors that are no refusals, or already have a field, are returned unchanged. nil
// stays nil.
func About(field Field, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Field != "" {
		return err
	}
	marked := *e
	marked.Field = field
	if err != error(e) {
		marked.Err = err // keep what was wrapped around it for the log
	}
	return &marked
}

// AboutInstead is About for an error that may have another field: what one request calls token, another calls from_token.
func AboutInstead(field Field, err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) && e.Field != "" {
		marked := *e
		marked.Field = field
		return &marked
	}
	return About(field, err)
}

// FieldOf returns the Field of err; "" if it has none.
func FieldOf(err error) Field {
	var e *Error
	if errors.As(err, &e) {
		return e.Field
	}
	return ""
}

// ReasonOf returns the Reason of err; the zero Reason if it has none.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return Reason{}
}

// CodeOf returns the Code of err: Internal for an error without one, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
