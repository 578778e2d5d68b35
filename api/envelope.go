package api

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/locale"
	"purser/wallet"
)

// success is the envelope of docs/specification.md, Versions and envelopes, as writeSuccess writes it.
type success struct {
	Success   bool   `json:"success"`
	Data      any    `json:"data"`
	Message   string `json:"message"`
	Timestamp string `json:"timestamp"`
}

// failure is the envelope of docs/specification.md, Versions and envelopes.
type failure struct {
	Success   bool         `json:"success"`
	Error     failureError `json:"error"`
	Timestamp string       `json:"timestamp"`
}

// failureError is a refusal, for people and for programs. Message and Details are English: the first says what kind of
// error it is, the second what exactly went wrong. Reason and Arguments are Details as data, for programs that show texts
// of their own.
type failureError struct {
	Code      wallet.Code    `json:"code"`
	Message   string         `json:"message"`
	Details   string         `json:"details"`   // "" when there is nothing more to say
	Field     wallet.Field   `json:"field"`     // of the request, that is to blame; "" for none
	Reason    string         `json:"reason"`    // names Details; "" without
	Arguments map[string]any `json:"arguments"` // the values in Details
}

// pageFailure is a refusal in the signing page's form (docs/architecture.md, Custody and the signing page). Message is the
// most exact sentence that there is, in English.
type pageFailure struct {
	Error struct {
		Code    wallet.Code `json:"code"`
		Message string      `json:"message"`
		Reason  string      `json:"reason"` // key of the sentence in Message, as in failureError; "" without one
	} `json:"error"`
}

// succeed sends data in the envelope. said is the catalogue's key of the message.
func (s *Server) succeed(c *fiber.Ctx, status int, said string, data any) error {
	body, err := s.envelope(said, data)
	if err != nil {
		return err
	}
	return sendJSON(c, status, body)
}

// succeedBy is succeed for data that is requested often. write appends it to a buffer as encoding/json would write it. The
// body lies in the response's own buffer, which fasthttp keeps for the next response of the connection, so it must be short.
// now is the time that it names.
func (s *Server) succeedBy(c *fiber.Ctx, status int, said string, now time.Time, write func(to []byte) []byte) error {
	answer := c.Response()
	body := append(answer.SwapBody(nil)[:0], successBegins...)
	answer.SwapBody(endSuccess(write(body), s.text(said), now))
	answer.SetStatusCode(status)
	answer.Header.SetContentType(fiber.MIMEApplicationJSON)
	return nil
}

// envelope renders the response to a request that succeeded: its data, and the English text of the key said with these
// arguments.
func (s *Server) envelope(said string, data any, args ...wallet.Arg) ([]byte, error) {
	if len(args) == 0 {
		return writeSuccess(s.text(said), data, s.Now())
	}
	return writeSuccess(s.explainReason(wallet.Because(said, args...)), data, s.Now())
}

// writeSuccess writes a success byte for byte as encoding/json would, with fewer allocations: it is on the path of every
// request. A test compares the two.
func writeSuccess(message string, data any, now time.Time) ([]byte, error) {
	raw, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("render the answer: %w", err)
	}
	body := append(make([]byte, 0, len(raw)+len(message)+usualEnvelope), successBegins...)
	return endSuccess(append(body, raw...), message, now), nil
}

// successBegins is what a success begins with; its data follows.
const successBegins = `{"success":true,"data":`

// usualEnvelope is a length in bytes that the envelope fits into, without data and message.
const usualEnvelope = 96

// endSuccess appends what follows the data of a success.
func endSuccess(body []byte, message string, now time.Time) []byte {
	body = appendText(append(body, `,"message":`...), message)
	body = append(body, `,"timestamp":"`...)
	return append(wallet.AppendTimestamp(body, now), `"}`...)
}

// appendText writes a string as encoding/json does.
func appendText(to []byte, text string) []byte {
	for i := range len(text) {
		if !isPlain(text[i]) {
			raw, _ := json.Marshal(text) // a string never fails
			return append(to, raw...)
		}
	}
	to = append(to, '"')
	to = append(to, text...)
	return append(to, '"')
}

// plainBelow64 and plainFrom64 have a bit for each ASCII character that encoding/json writes as it is: the printable ones
// without those that JSON or HTML gives a meaning, " & < > and \.
const (
	plainBelow64 uint64 = 0xffffffff_00000000 &^ (1<<'"' | 1<<'&' | 1<<'<' | 1<<'>')
	plainFrom64  uint64 = 0x7fffffff_ffffffff &^ (1 << ('\\' - 64))
)

// isPlain reports whether encoding/json writes an ASCII character as it is. Every answer asks it for most of its bytes, and
// a bit is found faster than six comparisons are made.
func isPlain(b byte) bool {
	plain := plainBelow64
	if b >= 64 {
		plain = plainFrom64
	}
	return b < 128 && plain>>(b&63)&1 != 0
}

// usualWait is the Retry-After of a 429 whose limit ends when a person answers, and not at a certain time.
const usualWait = time.Minute

// refuse sends the response to an error, in the form of the path: the page's, or the API's envelope. An error with an unknown
// code is answered as INTERNAL_ERROR. It returns an error only if the response cannot be rendered.
func (s *Server) refuse(c *fiber.Ctx, err error) error {
	// A code that the table lacks would be a mistake of the program. It is answered as an internal error, and logged.
	e := s.helped(c, labelled(err))
	known, ok := s.refusals[e.Code]
	if !ok {
		e, known = &wallet.Error{Code: wallet.Internal, Err: err}, s.refusals[wallet.Internal]
	}
	// Two forms: the page's own, and the envelope.
	var shape any
	if underPage(c.Path()) {
		var p pageFailure
		p.Error.Code, p.Error.Message, p.Error.Reason = e.Code, s.explain(e), e.Reason.Key
		if p.Error.Message == "" {
			p.Error.Message = s.text(known.message)
		}
		shape = p
	} else {
		shape = s.failure(e)
	}
	// Every 429 says when to try again.
	if known.status == fiber.StatusTooManyRequests && len(c.Response().Header.Peek(fiber.HeaderRetryAfter)) == 0 {
		c.Set(fiber.HeaderRetryAfter, seconds(usualWait))
	}
	body, err := json.Marshal(shape)
	if err != nil {
		return fmt.Errorf("render the refusal: %w", err)
	}
	return sendJSON(c, known.status, body)
}

// failure returns the envelope of a refusal.
func (s *Server) failure(e *wallet.Error) failure {
	f := failureError{Code: e.Code, Message: s.text(s.refusals[e.Code].message), Details: s.explain(e), Field: e.Field,
		Reason: e.Reason.Key, Arguments: locale.Arguments(e.Reason)}
	return failure{Error: f, Timestamp: wallet.Timestamp(s.Now())}
}

// fieldArg is the name of the argument that holds a field, in sentences that name the field themselves.
const fieldArg = "Field"

// explain returns the reason of a refusal in English; "" without one. If the refusal is about a field, the text names it: the
// sentence does so itself if it has the argument Field, else the name is put before it.
func (s *Server) explain(e *wallet.Error) string {
	text := s.explainReason(e.Reason)
	named := slices.ContainsFunc(e.Reason.Args, func(a wallet.Arg) bool { return a.Name == fieldArg })
	if text == "" || e.Field == "" || named {
		return text
	}
	about, err := s.english.Text("field.about", map[string]any{"Field": e.Field, "Sentence": text})
	if err != nil { // a test keeps the catalogue whole
		s.Log.Error("a refusal cannot be rendered", slog.Any("error", err))
		return text
	}
	return about
}

// explainReason returns a reason in English; "" for none.
func (s *Server) explainReason(r wallet.Reason) string {
	text, err := s.english.Reason(r)
	if err != nil { // a test keeps the catalogue whole
		s.Log.Error("a reason cannot be rendered", slog.String("reason", r.String()), slog.Any("error", err))
	}
	return text
}

// text returns a text of the catalogue that has no arguments.
func (s *Server) text(key string) string {
	text, err := s.english.Text(key, nil)
	if err != nil { // a test keeps the catalogue whole
		s.Log.Error("a text cannot be rendered", slog.Any("error", err))
	}
	return text
}

// sendJSON sends a body. The caller must not change it afterwards: it is not copied.
func sendJSON(c *fiber.Ctx, status int, body []byte) error {
	answer := c.Response()
	answer.SetStatusCode(status)
	answer.Header.SetContentType(fiber.MIMEApplicationJSON)
	answer.SetBodyRaw(body)
	return nil
}
