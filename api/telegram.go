package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofiber/fiber/v2"

	"purser/wallet"
)

// WebhookPath is where Telegram delivers updates in webhook mode.
const WebhookPath = "/telegram/webhook"

// UpdateReceiver takes the updates that Telegram delivers. bot.Bot implements it.
type UpdateReceiver interface {
	// Accept returns after the update is durable: until then Telegram keeps it and delivers it again.
	Accept(ctx context.Context, secret string, body []byte) error
	// Knows reports whether a secret is Telegram's, before a body is read.
	Knows(secret string) bool
}

// Webhook is how updates reach the bot when Telegram delivers them.
type Webhook struct {
	Updates UpdateReceiver
	// Forbidden and BadUpdate are what Accept returns for a wrong secret and for a body that is no
	// update; any other error means that the update was not kept.
	Forbidden, BadUpdate error
	MaxBody              int // of an update, in bytes; Telegram decides how large updates are
}

// telegramSecretHeader holds the secret that purser gave to Telegram with setWebhook.
const telegramSecretHeader = "X-Telegram-Bot-Api-Secret-Token"

// telegram is POST /telegram/webhook. It answers 200 after the update is stored, 401 for a wrong secret, 400 for a
// body that is no update, and 503 if the update could not be stored. Telegram repeats an update until it gets a 200.
func (s *Server) telegram(c *fiber.Ctx) error {
	secret := c.Get(telegramSecretHeader)
	if !s.Webhook.Updates.Knows(secret) {
		return s.notTelegram(c, s.Webhook.Forbidden)
	}
	requestState(c).known = true
	if err := s.arrived(c); err != nil {
		return err
	}
	err := s.Webhook.Updates.Accept(c.UserContext(), secret, c.BodyRaw())
	switch {
	case err == nil:
		return s.succeed(c, fiber.StatusOK, "done.update", struct{}{})
	case errors.Is(err, s.Webhook.Forbidden):
		return s.notTelegram(c, err)
	case errors.Is(err, s.Webhook.BadUpdate):
		return &wallet.Error{Code: wallet.InvalidRequest, Reason: wallet.Because("telegram_update.malformed"), Err: err}
	}
	return &wallet.Error{Code: wallet.NetworkError, Reason: wallet.Because("telegram_update.not_stored"), Err: fmt.Errorf("keep an update: %w", err)}
}

// notTelegram refuses a wrong secret, and limits how often one client can guess.
func (s *Server) notTelegram(c *fiber.Ctx, err error) error {
	if q := s.badKeys.take(s.client(c), s.Now()); !q.OK {
		return s.rateLimited(c, q, "rate_limit.requests_per_minute")
	}
	return &wallet.Error{Code: wallet.InvalidAPIKey, Reason: wallet.Because("telegram_update.secret"), Err: err}
}
