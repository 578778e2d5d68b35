package api

import (
	"errors"
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"golang.org/x/sync/semaphore"

	"purser/handlers"
	"purser/wallet"
)

// Requests without a key cost little memory. The headers alone decide whether a body is read at all (admits). A body takes
// memory as it arrives, and not as its length announces. Bodies larger than readAhead share a budget.
const (
	// readAhead is how much of an admitted body fasthttp itself reads before the request is handled, in bytes.
	readAhead = 8 << 10
	// maxPageBody is the longest body that the signing page and the portal send, in bytes: a transaction of 4,096 bytes in
	// base64, with some fields around it.
	maxPageBody = 16 << 10

	// Budgets of the bytes that bodies beyond readAhead hold at one time: the first for senders of whom nothing is known,
	// the second for holders of keys, the third for Telegram.
	strangersBudget = 4 << 20
	keysBudget      = 32 << 20
	telegramBudget  = 16 << 20
)

// sender is a class of senders: the longest body of one of them in bytes, and the budget that they share.
type sender struct {
	maxBody int
	shared  *semaphore.Weighted // bytes of bodies beyond readAhead, of all requests at one time
}

// senderOf returns the class of senders of a path.
func (s *Server) senderOf(path string) sender {
	switch {
	case s.Webhook != nil && path == WebhookPath:
		return sender{s.Webhook.MaxBody, s.fromTelegram}
	case underPage(path), path == portalPath:
		return sender{maxPageBody, s.fromStrangers}
	}
	return sender{maxBody, s.fromKeys}
}

// headerReceived decides before a byte of a body is read whether it will be read. fasthttp calls it after the header.
// A body that is not admitted is hidden from fasthttp: the request is handled without it, and so gets its usual
// refusal at once. The connection is closed after that (middleware).
func (s *Server) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.ContentLength() == 0 || h.ContentLength() == noLength {
		return fasthttp.RequestConfig{}
	}
	path := pathOf(h)
	if f := readFraming(h.RawHeaders()); f.refusal() != nil || f.length > s.senderOf(path).maxBody || !s.admits(h, path) {
		h.SetContentLength(0)
		h.Del(fiber.HeaderExpect) // no 100 Continue is sent for a body that nobody reads
		return fasthttp.RequestConfig{}
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: s.senderOf(path).maxBody}
}

// noLength is fasthttp's ContentLength of a request without any.
const noLength = -2

// pathOf returns a request's path in the same form as the router sees it.
func pathOf(h *fasthttp.RequestHeader) string {
	u := fasthttp.AcquireURI()
	defer fasthttp.ReleaseURI(u)
	if u.Parse(h.Host(), h.RequestURI()) != nil {
		return ""
	}
	return string(u.PathOriginal())
}

// admits reports whether a request's body may be read, by its headers alone: Telegram shows its secret, the pages their
// Origin, and all others a key or a session. It counts and stores nothing. The handlers check again, with the same result
// unless something has changed meanwhile.
func (s *Server) admits(h *fasthttp.RequestHeader, path string) bool {
	if h.IsGet() || h.IsHead() { // no endpoint reads the body of a GET
		return false // they mean nothing there
	}
	switch {
	case s.Webhook != nil && path == WebhookPath:
		return s.Webhook.Updates.Knows(string(h.Peek(telegramSecretHeader)))
	case underPage(path):
		return hasOrigin(h, s.origin)
	case path == portalPath && string(h.Method()) == fiber.MethodPost:
		return true // the secret is the body
	case strings.HasPrefix(path, "/v1/"):
		secret := bearerTokenIn(h)
		if handlers.IsPortalSession(secret) {
			_, err := s.Portal.Check(s.base, secret)
			return err == nil
		}
		return s.Keys.Opens(s.base, secret)
	}
	return false
}

// hasOrigin reports whether a request has exactly one Origin header, with that value.
func hasOrigin(h *fasthttp.RequestHeader, origin string) bool {
	all := h.PeekAll(fiber.HeaderOrigin)
	return len(all) == 1 && string(all[0]) == origin
}

// receive reads the body of an admitted request as it arrives. The caller must call release after the request is
// answered: it gives back what was reserved of a budget. NETWORK_ERROR: the budget is used up, and the request may be
// tried again.
func (s *Server) receive(c *fiber.Ctx) (release func(), err error) {
	release = func() {}
	stream := c.Request().BodyStream()
	if stream == nil {
		return release, nil
	}
	length, shared, reserved := c.Request().Header.ContentLength(), s.senderOf(c.Path()).shared, int64(0)
	release = func() { shared.Release(reserved) }
	// The buffer doubles as bytes arrive. What it has beyond readAhead is reserved first, so an announced length
	// alone costs nothing.
	body := make([]byte, 0, min(length, readAhead))
	for len(body) < length {
		if len(body) == cap(body) {
			room := min(length, 2*cap(body))
			more := int64(room-readAhead) - reserved
			if !shared.TryAcquire(more) {
				c.Set(fiber.HeaderRetryAfter, "1")
				return release, &wallet.Error{Code: wallet.NetworkError, Reason: wallet.Because("http_request.crowded"), Err: errBudget}
			}
			reserved += more
			body = append(make([]byte, 0, room), body...)
		}
		n, err := stream.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if len(body) == length {
			break // an EOF with the last byte is no error
		}
		if err != nil {
			return release, unarrived(err)
		}
	}
	c.Request().SetBodyRaw(body)
	return release, nil
}

var errBudget = errors.New("the budget of bodies is used up")

// unarrived is the refusal of a request whose body did not arrive whole.
func unarrived(err error) error {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fromFiber(fiber.ErrRequestTimeout)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return wallet.Refuse(wallet.InvalidRequest, "http_request.cut_short")
	}
	return wallet.Refuse(wallet.InvalidRequest, "http_request.malformed")
}

// arrived refuses a request whose body was withheld, if its endpoint needs one. It is called after authentication, so that a
// sender without a key learns that first.
func (s *Server) arrived(c *fiber.Ctx) error {
	r := requestState(c)
	if !r.withheld || c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead {
		return nil
	}
	if most := s.senderOf(c.Path()).maxBody; r.framing.length > most {
		return tooLarge(most)
	}
	return wallet.Refuse(wallet.InvalidRequest, "http_request.unread") // the key became good meanwhile
}

// tooLarge refuses a body of more than that many bytes.
func tooLarge(most int) *wallet.Error {
	return wallet.Refuse(wallet.PayloadTooLarge, "http_request.too_large", wallet.NumberArg("Most", most))
}
