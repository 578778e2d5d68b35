package wallet

import (
	"errors"
)

// Code names what went wrong, once, for every front. The API answers it as `error.code`
// (docs/specification.md, Errors), the chat looks its wording up by it.
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

// Codes lists every code that a front must be able to answer; a test of each front walks it.
func Codes() []Code {
	return []Code{
		InvalidRequest, InvalidAPIKey, InsufficientScope, TierRequired, ConsentRequired,
		PolicyViolation, BotBlocked, UnknownCommand, UserNotFound, WalletNotFound,
		TransactionNotFound, WebhookNotFound, InvalidWebhookURL, WebhookLimitReached, TokenNotFound, NotFound, MethodNotAllowed, Conflict,
		LengthRequired, PayloadTooLarge, InsufficientFunds, InvalidSignature, IdempotencyConflict,
		RateLimitExceeded, Internal, TelegramError, NetworkError,
	}
}

// Field names the part of a request that a refusal is about, as the API spells it.
type Field string

// The parts that a person can be asked for again.
const (
	FieldAmount Field = "amount"
	FieldTo     Field = "to"
	FieldToken  Field = "token"
)

// Error is a failure that may be shown: Code for programs, Reason for people (what exactly went wrong and what
// to do, as data; never a secret), Field for a front that asks for that part again ("" when no single part is to
// blame), Err for our log.
type Error struct {
	Code   Code
	Reason Reason
	Field  Field
	Err    error
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

// Refuse makes an Error with a code and a reason: the key of a sentence in the catalogue (package locale) and its
// arguments.
func Refuse(code Code, key string, args ...Arg) *Error { return RefuseFor(code, Because(key, args...)) }

// RefuseFor is Refuse with a reason that was made before.
func RefuseFor(code Code, reason Reason) *Error { return &Error{Code: code, Reason: reason} }

// About marks the part of the request that a refusal is about. What is no refusal, or is marked
// already, stays as it is.
func About(field Field, err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Field != "" {
		return err
	}
	marked := *e
	marked.Field = field
	if err != error(e) {
		marked.Err = err // what was wrapped around it is for our log
	}
	return &marked
}

// FieldOf tells the part of the request that err is about, or "".
func FieldOf(err error) Field {
	var e *Error
	if errors.As(err, &e) {
		return e.Field
	}
	return ""
}

// ReasonOf is the reason that err carries, or the zero Reason.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return Reason{}
}

// CodeOf tells the code of err: Internal for an error that nobody labelled, "" for nil.
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
