package api

import (
	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// botWebhookData is `data` of the endpoints of a bot token's one webhook. secret is told when purser
// made it, once: a replay of that answer says secret_shown instead.
type botWebhookData struct {
	WebhookID   string   `json:"webhook_id"`
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	CreatedAt   string   `json:"created_at"`
	Secret      string   `json:"secret,omitempty"`
	SecretShown bool     `json:"secret_shown,omitempty"`
}

func botWebhookOf(w wallet.Webhook) botWebhookData {
	return botWebhookData{WebhookID: string(w.ID), URL: w.URL, Events: append([]string{}, w.Events...), CreatedAt: stamp(w.CreatedAt)}
}

// botWebhook is GET /v1/telegram/webhook.
func (s *Server) botWebhook(c *fiber.Ctx, key wallet.Key) error {
	w, err := s.BotWebhooks.Of(c.UserContext(), handlers.CallerOf(key))
	if err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "Webhook read.", botWebhookOf(w))
}

// setBotWebhook is POST /v1/telegram/webhook {url, events, secret}: it takes the place of the one before.
func (s *Server) setBotWebhook(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("url", "events", "secret"); err != nil {
		return err
	}
	wanted := wallet.Webhook{}
	if wanted.URL, err = fields.text("url"); err != nil {
		return err
	}
	if wanted.Events, err = fields.texts("events", maxEvents); err != nil {
		return err
	}
	given := false
	if _, given = fields["secret"]; given {
		if wanted.Secret, err = fields.text("secret"); err != nil {
			return err
		}
	}
	return s.once(c, key, func(remember remember) error {
		made, err := s.BotWebhooks.Prepare(key, wanted)
		if err != nil {
			return err
		}
		data := botWebhookOf(made)
		data.SecretShown = !given
		replay, err := s.envelope("Webhook set.", data)
		if err != nil {
			return err
		}
		if data.SecretShown = false; !given {
			data.Secret = made.Secret
		}
		body, err := s.envelope("Webhook set.", data)
		if err != nil {
			return err
		}
		err = s.Store.Update(c.UserContext(), func(tx store.Tx) error {
			if err := s.BotWebhooks.Commit(tx, made); err != nil {
				return err
			}
			return remember(tx, fiber.StatusCreated, replay)
		})
		if err != nil {
			return err
		}
		return sendJSON(c, fiber.StatusCreated, body)
	})
}

// deleteBotWebhook is DELETE /v1/telegram/webhook.
func (s *Server) deleteBotWebhook(c *fiber.Ctx, key wallet.Key) error {
	var gone wallet.Webhook
	err := s.Store.Update(c.UserContext(), func(tx store.Tx) (err error) {
		gone, err = s.BotWebhooks.Remove(tx, handlers.CallerOf(key))
		return err
	})
	if err != nil {
		return err
	}
	return s.succeed(c, fiber.StatusOK, "Webhook removed.", botWebhookOf(gone))
}
