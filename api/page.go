package api

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/signer"
	"purser/wallet"
)

// asset is GET /w/ and /w/{file}: the signing page as it is embedded. These cost nothing but bytes
// and count against no limit; a page that cannot load itself would leave a payment unsigned.
func (s *Server) asset(c *fiber.Ctx) error {
	content, contentType, ok := signer.File(c.Params("file"))
	if !ok {
		return wallet.Refuse(wallet.NotFound, "there is nothing at this path")
	}
	c.Set(fiber.HeaderContentType, contentType)
	return c.Send(content)
}

// fromPage lets a request through that our own page has sent: the Origin that browsers attach and
// scripts elsewhere cannot forge, JSON, and not too often from one address (DESIGN §4).
func (s *Server) fromPage(next func(*fiber.Ctx, object) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		q := s.page.take(s.client(c), s.Now())
		if !q.ok {
			return s.tooMany(c, q)
		}
		quotaHeaders(c, q)
		origins := c.Request().Header.PeekAll(fiber.HeaderOrigin)
		if len(origins) != 1 || string(origins[0]) != s.origin {
			return wallet.Refuse(wallet.PolicyViolation, "this is for the signing page only: open it at %s/w/", s.origin)
		}
		fields, err := jsonBody(c)
		if err != nil {
			return err
		}
		return next(c, fields)
	}
}

// bare answers the page, which takes no envelope.
func bare(c *fiber.Ctx, answer any) error { return c.JSON(answer) }

// challengeAnswer is POST /w/bind/challenge. All fields are text, as the page checks them.
type challengeAnswer struct {
	TelegramID   string `json:"telegram_id"`
	TelegramName string `json:"telegram_name"`
	Username     string `json:"username"` // without @; "" when unset
	Chain        string `json:"chain"`
	Nonce        string `json:"nonce"`
	IssuedAt     string `json:"issued_at"` // RFC 3339 UTC in whole seconds: part of the signed text
	ExpiresAt    string `json:"expires_at"`
}

func (s *Server) bindChallenge(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	ch, err := s.Wallets.Challenge(c.UserContext(), token)
	if err != nil {
		return err
	}
	return bare(c, challengeAnswer{
		TelegramID: strconv.FormatInt(ch.TelegramID, 10), TelegramName: ch.Name, Username: ch.Username,
		Chain: ch.Chain, Nonce: ch.Nonce,
		IssuedAt: ch.IssuedAt.UTC().Format(time.RFC3339), ExpiresAt: ch.ExpiresAt.UTC().Format(time.RFC3339),
	})
}

// bindAnswer is POST /w/bind. The wallet is not bound yet: the chat asks its owner first.
type bindAnswer struct {
	Address wallet.Address    `json:"address"`
	Status  wallet.BindStatus `json:"status"`
}

func (s *Server) bind(c *fiber.Ctx, fields object) error {
	token, err := fields.text("token")
	if err != nil {
		return err
	}
	address, err := fields.address("address")
	if err != nil {
		return err
	}
	signature, err := fields.signature("signature")
	if err != nil {
		return err
	}
	if err := s.Wallets.Prove(c.UserContext(), token, address, signature); err != nil {
		return err
	}
	return bare(c, bindAnswer{address, wallet.BindProven})
}

// signAnswer is POST /w/tx/get and /w/tx/refresh. Message is base64, or null when no signature is
// awaited any more.
type signAnswer struct {
	Status    wallet.Status  `json:"status"`
	Address   wallet.Address `json:"address"`
	Chain     string         `json:"chain"`
	Message   *string        `json:"message"`
	ExpiresAt string         `json:"expires_at"`
}

func answerOf(v handlers.SignView) signAnswer {
	a := signAnswer{Status: v.Status, Address: v.Address, Chain: v.Chain, ExpiresAt: stamp(v.Transaction.Deadline)}
	if v.Message != nil {
		message := base64.StdEncoding.EncodeToString(v.Message)
		a.Message = &message
	}
	return a
}

func (s *Server) signGet(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	view, err := s.Signing.Get(c.UserContext(), id)
	if err != nil {
		return err
	}
	return bare(c, answerOf(view))
}

func (s *Server) signRefresh(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	view, err := s.Signing.Refresh(c.UserContext(), id)
	if err != nil {
		return err
	}
	return bare(c, answerOf(view))
}

// statusAnswer is POST /w/tx/signature and /w/tx/reject.
type statusAnswer struct {
	Status wallet.Status `json:"status"`
}

func (s *Server) signSubmit(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	sum, err := fields.text("message_sha256")
	if err != nil {
		return err
	}
	signature, err := fields.signature("signature")
	if err != nil {
		return err
	}
	status, err := s.Signing.Submit(c.UserContext(), id, sum, signature)
	if err != nil {
		return err
	}
	return bare(c, statusAnswer{status})
}

func (s *Server) signReject(c *fiber.Ctx, fields object) error {
	id, err := fields.text("id")
	if err != nil {
		return err
	}
	status, err := s.Signing.Reject(c.UserContext(), id)
	if err != nil {
		return err
	}
	return bare(c, statusAnswer{status})
}

// signature is a field that holds a signature in base58.
func (o object) signature(name string) (wallet.Signature, error) {
	text, err := o.text(name)
	if err != nil {
		return wallet.Signature{}, err
	}
	signature, err := wallet.ParseSignature(text)
	return signature, about(name, err)
}
