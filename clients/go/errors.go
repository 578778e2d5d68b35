package purser

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is error.code of a response: what went wrong.
type Code string

// The codes that purser returns. Codes can be added: handle an unknown one by its Status.
const (
	InvalidRequest      Code = "INVALID_REQUEST"
	UnknownCommand      Code = "UNKNOWN_COMMAND"
	InvalidWebhookURL   Code = "INVALID_WEBHOOK_URL"
	InvalidAPIKey       Code = "INVALID_API_KEY"
	InsufficientScope   Code = "INSUFFICIENT_SCOPE"
	TierRequired        Code = "TIER_REQUIRED"
	ConsentRequired     Code = "CONSENT_REQUIRED"
	PolicyViolation     Code = "POLICY_VIOLATION"
	BotBlocked          Code = "BOT_BLOCKED"
	NotFound            Code = "NOT_FOUND"
	UserNotFound        Code = "USER_NOT_FOUND"
	WalletNotFound      Code = "WALLET_NOT_FOUND"
	TransactionNotFound Code = "TRANSACTION_NOT_FOUND"
	WebhookNotFound     Code = "WEBHOOK_NOT_FOUND"
	WebhookLimitReached Code = "WEBHOOK_LIMIT_REACHED"
	TokenNotFound       Code = "TOKEN_NOT_FOUND"
	MethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	Conflict            Code = "CONFLICT"
	QuoteExpired        Code = "QUOTE_EXPIRED"
	LengthRequired      Code = "LENGTH_REQUIRED"
	PayloadTooLarge     Code = "PAYLOAD_TOO_LARGE"
	InsufficientFunds   Code = "INSUFFICIENT_FUNDS"
	InvalidSignature    Code = "INVALID_SIGNATURE"
	IdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	RateLimitExceeded   Code = "RATE_LIMIT_EXCEEDED"
	InternalError       Code = "INTERNAL_ERROR"
	TelegramError       Code = "TELEGRAM_ERROR"
	NetworkError        Code = "NETWORK_ERROR"
)

// Error is an HTTP response other than success. Its texts never contain the client's key.
type Error struct {
	Status     int    // the HTTP status
	Code       Code   // "" for a response that is not purser's (such as a proxy's page): the result of a POST is then unknown
	Message    string // the kind of error, as a sentence for people
	Details    string // what exactly is wrong, as a sentence; may be ""
	Field      string // the field of the request that is wrong; may be ""
	Reason     string // the key of the sentence in Details, for programs with their own texts; may be "". Reasons may be renamed: decide by Code
	RequestID  string // the id by which the operator finds the request in purser's log; may be ""
	RetryAfter time.Duration

	// Arguments are the values in Details by name, each a string (amounts too), an int64 (durations are in seconds) or
	// a []string. It is empty if there are none.
	Arguments map[string]any
}

// Error returns status, code, reason and sentences. Details names the field and has the arguments.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "purser: %d", e.Status)
	if e.Code != "" {
		b.WriteString(" " + string(e.Code))
	}
	if e.Reason != "" {
		b.WriteString(" " + e.Reason)
	}
	b.WriteString(": " + e.Message)
	if e.Details != "" {
		b.WriteString(" (" + e.Details + ")")
	}
	if e.RequestID != "" {
		b.WriteString(" [" + e.RequestID + "]")
	}
	return b.String()
}

// ErrSecretLost means that a call took effect, but the only response with its new secret was lost: purser shows a secret
// once. The method that returns this error says what to do.
var ErrSecretLost = errors.New("purser: it is done, but the answer that held the new secret was lost, and it is not shown again")

// longestText is how much of a text in an error response is kept, in bytes.
const longestText = 1000

// printable returns a text of an error response as an error may show it: bounded, printable, without the key.
func (c *Client) printable(text string) string {
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	return strings.ReplaceAll(text, c.key(), "[key]")
}

// arguments returns the values of an error response as an error may show them. It leaves out all but strings, whole numbers
// and lists of strings, because purser sends nothing else.
func (c *Client) arguments(raw json.RawMessage) map[string]any {
	values, given := map[string]any{}, map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &given) // anything but an object has no arguments
	for name, value := range given {
		var text string
		var number int64
		var list []string
		switch {
		case string(value) == "null":
			continue
		case json.Unmarshal(value, &text) == nil:
			values[c.printable(name)] = c.printable(text)
		case json.Unmarshal(value, &number) == nil:
			values[c.printable(name)] = number
		case json.Unmarshal(value, &list) == nil:
			for i := range list {
				list[i] = c.printable(list[i])
			}
			values[c.printable(name)] = list
		}
	}
	return values
}
