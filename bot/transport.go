package bot

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// placeholder stands for Telegram's address in every request that our code or telebot builds.
// Only transport knows the real address and the token, so no error of net/http or telebot, which like
// to quote the URL, can hold them.
const placeholder = "telegram.invalid"

const (
	callTimeout = 30 * time.Second // of a call whose context has no deadline of its own
	maxAnswer   = 64 << 20         // bytes; 100 updates are far below
)

// transport is the http.RoundTripper between purser and Telegram. It inserts the real address and token, turns responses
// that are not the Bot API's JSON into errors, and keeps secrets out of errors. Any goroutine may use it.
type transport struct {
	base   *url.URL          // of the Bot API, without the token
	token  string            // the bot's; it appears in no error and no log
	next   http.RoundTripper // makes the connection
	client *http.Client      // uses the transport itself
}

// newTransport makes the transport of a bot. next makes the connections; nil is a standard one with limits on each step.
func newTransport(base *url.URL, token string, next http.RoundTripper) *transport {
	if next == nil {
		next = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   maxSending,
			IdleConnTimeout:       90 * time.Second,
			ExpectContinueTimeout: time.Second,
		}
	}
	// JoinPath on an empty path would make a relative one.
	t := &transport{base: base.JoinPath("/"), token: token, next: next}
	t.client = &http.Client{
		Transport: t,
		// Telegram never redirects. A redirect followed would carry the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return t
}

// RoundTrip implements http.RoundTripper. It refuses requests that are not for the placeholder.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	method := path.Base(req.URL.Path)
	if req.URL.Host != placeholder {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, &transportError{method, errors.New("it is not for Telegram")}
	}
	// The real address and the token exist only in this copy, which nobody else sees.
	out := req.Clone(req.Context())
	out.URL = t.base.JoinPath("bot"+t.token, method)
	out.Host = ""
	res, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, &transportError{method, nameless(err)}
	}
	defer res.Body.Close()
	// The whole response is read here, so that an error while reading is ours, too. One byte more than allowed shows a larger
	// one.
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &transportError{method, nameless(err)}
	case len(body) > maxAnswer:
		return nil, &transportError{method, errors.New("the answer is too large")}
	case !isAnswer(body):
		return nil, &transportError{method, fmt.Errorf("HTTP %d, not in the Bot API's JSON", res.StatusCode)}
	}
	res.Request = req // the one without token
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
	return res, nil
}

// isAnswer tells whether body is a JSON object with a boolean ok, as every Bot API answer is.
func isAnswer(body []byte) bool {
	var a struct {
		OK *bool `json:"ok"`
	}
	return json.Unmarshal(body, &a) == nil && a.OK != nil
}

// nameless describes a network error without addresses, URLs and headers, which may contain the token or the credentials
// of a proxy. Errors of contexts stay what they are, so that callers can recognise them.
func nameless(err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case errors.As(err, &dns):
		return errors.New("the name of its address is not found")
	case errors.As(err, &op):
		var call *os.SyscallError
		if errors.As(op.Err, &call) {
			return fmt.Errorf("%s: %w", op.Op, call.Err)
		}
		return errors.New(op.Op + " failed")
	case errors.As(err, &cert):
		return errors.New("its TLS certificate is not trusted")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return io.ErrUnexpectedEOF
	}
	return errors.New("the connection failed")
}

// transportError says that there was no usable response. Whether Telegram carried out the call is unknown, so a retry may
// send a message twice.
type transportError struct {
	method string
	err    error
}

func (e *transportError) Error() string {
	return fmt.Sprintf("telegram %s: no answer: %v", e.method, e.err)
}
func (e *transportError) Unwrap() error { return e.err }

// refusal is an error response of the Bot API: Telegram did not carry out the call. Its description may quote what purser
// sent, for example a signing link in a button, so Error only contains phrases from a fixed list.
type refusal struct {
	method      string
	code        int           // error_code, which has the meaning of an HTTP status
	description string        // Telegram's words; never logged
	retryAfter  time.Duration // how long Telegram asks to wait; 0 if it does not
}

// phrases are the parts of Telegram's descriptions that purser acts on or that help an operator. The Bot API documents no
// codes for them.
var phrases = []string{
	"message is not modified", "message to edit not found", "message can't be edited",
	"there is no text in the message to edit", "MESSAGE_ID_INVALID", "canceled by new editMessageMedia request",
	"message to delete not found", "message can't be deleted", "query is too old",
	"query ID is invalid", "can't parse entities", "message is too long", "MESSAGE_TOO_LONG",
	"caption is too long", "text is empty", "text must be non-empty", "chat not found",
	"BUTTON_URL_INVALID", "button URL", "BUTTON_DATA_INVALID", "BUTTON_TYPE_INVALID",
	"PHOTO_INVALID_DIMENSIONS", "IMAGE_PROCESS_FAILED", "group chat was upgraded",
	"bot was blocked", "user is deactivated", "can't initiate conversation", "bot was kicked",
	"not enough rights", "have no rights", "while webhook is active", "other getUpdates request",
	"setWebhook request", "bad webhook", "BOT_COMMAND_INVALID", "Unauthorized", "Not Found",
	"Too Many Requests", "Internal Server Error",
}

func (e *refusal) Error() string {
	for _, phrase := range phrases {
		if e.says(phrase) {
			return fmt.Sprintf("telegram %s: %d %s", e.method, e.code, phrase)
		}
	}
	return fmt.Sprintf("telegram %s: %d", e.method, e.code)
}

// says reports whether the description contains a phrase, in any case.
func (e *refusal) says(phrase string) bool {
	return strings.Contains(strings.ToLower(e.description), strings.ToLower(phrase))
}

// saysAny reports whether the description contains one of the phrases.
func (e *refusal) saysAny(phrases ...string) bool {
	for _, phrase := range phrases {
		if e.says(phrase) {
			return true
		}
	}
	return false
}

// refused returns the refusal that err wraps, or nil.
func refused(err error) *refusal {
	var no *refusal
	errors.As(err, &no)
	return no
}

// badToken reports whether Telegram does not know the bot's token. It answers 401 then, or 404 to a method that exists.
func badToken(err error) bool {
	no := refused(err)
	return no != nil && (no.code == http.StatusUnauthorized || no.code == http.StatusNotFound)
}

// call calls a Bot API method with a JSON body and decodes the response's result into result, unless that is nil. It
// makes one attempt. Errors are *transportError (the outcome is unknown), *refusal (nothing was done), or ctx's own.
func (t *transport) call(ctx context.Context, method string, params, result any) error {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		return fmt.Errorf("telegram %s: encode: %w", method, err)
	}
	return t.post(ctx, method, "application/json", &body, result)
}

// upload is call with one file, as a multipart form. The values of fields are the parameters: plain text, or JSON for
// parameters that are objects.
func (t *transport) upload(ctx context.Context, method string, fields map[string]string, field, name string, file []byte, result any) error {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, name)
	if err == nil {
		_, err = part.Write(file)
	}
	for key, value := range fields {
		err = errors.Join(err, form.WriteField(key, value))
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return fmt.Errorf("telegram %s: encode: %w", method, err)
	}
	return t.post(ctx, method, form.FormDataContentType(), &body, result)
}

// post sends one request and reads the response. A context without a deadline gets callTimeout.
func (t *transport) post(ctx context.Context, method, contentType string, body io.Reader, result any) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+placeholder+"/"+method, body)
	if err != nil {
		return &transportError{method, nameless(err)}
	}
	req.Header.Set("Content-Type", contentType)
	res, err := t.client.Do(req)
	if err != nil {
		var quiet *transportError
		if errors.As(err, &quiet) {
			return quiet
		}
		return &transportError{method, nameless(err)}
	}
	defer res.Body.Close()
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Code        int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return &transportError{method, errors.New("the answer has an unknown form")}
	}
	if answer.OK {
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(answer.Result, result); err != nil {
			return &transportError{method, errors.New("the result has an unknown form")}
		}
		return nil
	}
	code := answer.Code
	// A refusal without error_code has the HTTP status in its place.
	if code == 0 {
		code = res.StatusCode
	}
	// A 5xx says nothing about the call: Telegram may have carried it out before it failed.
	if code >= 500 {
		return &transportError{method, errors.New("HTTP " + strconv.Itoa(code))}
	}
	// retry_after is in seconds. It is bounded by a day, so that a wrong number does not silence the bot.
	wait := time.Duration(min(max(answer.Parameters.RetryAfter, 0), 86400)) * time.Second
	if code == http.StatusTooManyRequests {
		wait = max(wait, time.Second)
	}
	return &refusal{method, code, answer.Description, wait}
}
