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

// failureError is a refusal for people and for programs. Message and Details are English: what kind of thing went
// wrong, and what exactly. Reason and Arguments are the same as data, for programs that have their own words.
type failureError struct {
	Code      wallet.Code    `json:"code"`
	Message   string         `json:"message"`
	Details   string         `json:"details"`   // "" when there is nothing more to say
	Field     wallet.Field   `json:"field"`     // of the request, that is to blame; "" for none
	Reason    string         `json:"reason"`    // names Details; "" without
	Arguments map[string]any `json:"arguments"` // the values in Details
}

// pageFailure is what the signing page is refused with (docs/architecture.md, Custody and the signing page). Message is
// the most exact sentence there is, since the page shows it as it stands.
type pageFailure struct {
	Error struct {
		Code    wallet.Code `json:"code"`
		Message string      `json:"message"`
		Reason  string      `json:"reason"` // key of the sentence in Message, as in failureError; "" without one
	} `json:"error"`
}

// succeed answers with the envelope. said is the key of its message.
func (s *Server) succeed(c *fiber.Ctx, status int, said string, data any) error {
	body, err := s.envelope(said, data)
	if err != nil {
		return err
	}
	return sendJSON(c, status, body)
}

// envelope is the answer to what was done: its data, and the text of the key said with the arguments given, in English.
func (s *Server) envelope(said string, data any, args ...wallet.Arg) ([]byte, error) {
	if len(args) == 0 {
		return writeSuccess(s.text(said), data, s.Now())
	}
	return writeSuccess(s.explainReason(wallet.Because(said, args...)), data, s.Now())
}

// writeSuccess writes a success as encoding/json would, faster.
func writeSuccess(message string, data any, now time.Time) ([]byte, error) {
	body := append(make([]byte, 0, usualBody), `{"success":true,"data":`...)
	if own, ok := data.(jsonAppender); ok {
		body = own.appendJSON(body)
	} else {
		raw, err := json.Marshal(data)
		if err != nil {
			return nil, fmt.Errorf("render the answer: %w", err)
		}
		body = append(body, raw...)
	}
	body = appendText(append(body, `,"message":`...), message)
	body = append(body, `,"timestamp":"`...)
	body = wallet.AppendTimestamp(body, now)
	return append(body, `"}`...), nil
}

// usualBody is how many bytes most answers fit into.
const usualBody = 512

// jsonAppender is data that is asked for often, and writes itself as encoding/json would.
type jsonAppender interface{ appendJSON(to []byte) []byte }

// appendText writes a string as encoding/json does.
func appendText(to []byte, text string) []byte {
	plain := func(b byte) bool {
		return b >= ' ' && b < 0x7f && b != '"' && b != '\\' && b != '<' && b != '>' && b != '&'
	}
	if only(text, plain) {
		return append(append(append(to, '"'), text...), '"')
	}
	raw, _ := json.Marshal(text) // a string never fails
	return append(to, raw...)
}

// usualWait is what a 429 says that comes from an operation: it ends when a person answers, not at a time.
const usualWait = time.Minute

// refuse answers err, in the shape of the path that was asked for.
func (s *Server) refuse(c *fiber.Ctx, err error) error {
	e := s.helped(c, labelled(err))
	known, ok := s.refusals[e.Code]
	if !ok {
		e, known = &wallet.Error{Code: wallet.Internal, Err: err}, s.refusals[wallet.Internal]
	}
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
	if known.status == fiber.StatusTooManyRequests && len(c.Response().Header.Peek(fiber.HeaderRetryAfter)) == 0 {
		c.Set(fiber.HeaderRetryAfter, seconds(usualWait))
	}
	body, err := json.Marshal(shape)
	if err != nil {
		return fmt.Errorf("render the refusal: %w", err)
	}
	return sendJSON(c, known.status, body)
}

// failure is the envelope of a refusal.
func (s *Server) failure(e *wallet.Error) failure {
	f := failureError{Code: e.Code, Message: s.text(s.refusals[e.Code].message), Details: s.explain(e), Field: e.Field,
		Reason: e.Reason.Key, Arguments: locale.Arguments(e.Reason)}
	return failure{Error: f, Timestamp: wallet.Timestamp(s.Now())}
}

// fieldArg is the argument of reasons that name the field to blame themselves.
const fieldArg = "Field"

// explain is the reason of a refusal in English; "" without one. It names the field that is to blame: by the sentence
// itself where that has the argument Field, else before it.
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

// explainReason is a reason in English; "" for none.
func (s *Server) explainReason(r wallet.Reason) string {
	text, err := s.english.Reason(r)
	if err != nil { // a test keeps the catalogue whole
		s.Log.Error("a reason cannot be rendered", slog.String("reason", r.String()), slog.Any("error", err))
	}
	return text
}

// text is a text of the catalogue without variables.
func (s *Server) text(key string) string {
	text, err := s.english.Text(key, nil)
	if err != nil { // a test keeps the catalogue whole
		s.Log.Error("a text cannot be rendered", slog.Any("error", err))
	}
	return text
}

func sendJSON(c *fiber.Ctx, status int, body []byte) error {
	answer := c.Response()
	answer.SetStatusCode(status)
	answer.Header.SetContentType(fiber.MIMEApplicationJSON)
	answer.SetBodyRaw(body) // ours alone: it need not be copied
	return nil
}
