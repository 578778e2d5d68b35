package purser

import (
	"context"
	"net/http"
	"time"
)

// Methods of this file need a bot token ("pur_bot_…").

// Message is one to a person's chat.
type Message struct {
	ChatID    string `json:"chat_id"`              // their Telegram id, digits
	Text      string `json:"message"`              // 1 to 4000 characters
	ParseMode string `json:"parse_mode,omitempty"` // "", "Markdown", "MarkdownV2" or "HTML"
}

// SentMessage is a message that Telegram took.
type SentMessage struct {
	MessageID int       `json:"message_id"`
	SentAt    time.Time `json:"sent_at"`
}

func (m SentMessage) complete() bool { return m.MessageID != 0 }

// SendMessage is POST /v1/telegram/send-message. It returns when Telegram has taken the message.
func (c *Client) SendMessage(ctx context.Context, m Message) (SentMessage, error) {
	return do[SentMessage](ctx, c, call{method: http.MethodPost, path: "/v1/telegram/send-message", body: m})
}

// Command is a slash command that runs for a person.
type Command struct {
	ChatID  string `json:"chat_id"`
	Command string `json:"command"` // "/wallet balance"
	Silent  bool   `json:"silent"`  // its reply is not posted; what must be confirmed always is
}

// ExecutedCommand is what a command replied.
type ExecutedCommand struct {
	Command    string    `json:"command"`
	Response   string    `json:"response"` // Markdown
	ExecutedAt time.Time `json:"executed_at"`
}

func (e ExecutedCommand) complete() bool { return e.Command != "" }

// ExecuteCommand is POST /v1/telegram/execute-command. A command that moves money only proposes: the
// person is asked in chat.
func (c *Client) ExecuteCommand(ctx context.Context, cmd Command) (ExecutedCommand, error) {
	return do[ExecutedCommand](ctx, c, call{method: http.MethodPost, path: "/v1/telegram/execute-command", body: cmd})
}

// User is somebody who uses the bot.
type User struct {
	TelegramID           string    `json:"telegram_id"`
	Username             string    `json:"username"` // with its @; "" when unset
	RegisteredAt         time.Time `json:"registered_at"`
	WalletConnected      bool      `json:"wallet_connected"`
	NotificationsEnabled bool      `json:"notifications_enabled"`
}

func (u User) complete() bool { return u.TelegramID != "" }

// User is GET /v1/telegram/user/{telegram_id}.
func (c *Client) User(ctx context.Context, telegramID string) (User, error) {
	id, err := segment("telegram id", telegramID)
	if err != nil {
		return User{}, err
	}
	return do[User](ctx, c, call{method: http.MethodGet, path: "/v1/telegram/user/" + id})
}

// SetUserNotifications is PUT /v1/telegram/user/{chat_id}/notifications.
func (c *Client) SetUserNotifications(ctx context.Context, chatID string, s NotificationSettings) (Notifications, error) {
	id, err := segment("chat id", chatID)
	if err != nil {
		return Notifications{}, err
	}
	return do[Notifications](ctx, c, call{method: http.MethodPut, path: "/v1/telegram/user/" + id + "/notifications", body: s.body()})
}

// BotWebhookRequest registers a receiver of a bot token's events.
type BotWebhookRequest struct {
	URL    string   `json:"url"`              // https
	Events []string `json:"events"`           // "message.received", "wallet.*", "*", …
	Secret Secret   `json:"secret,omitempty"` // 16 to 128 bytes; "": purser draws one
}

// BotWebhook is the one receiver of a bot token's events.
type BotWebhook struct {
	WebhookID   string    `json:"webhook_id"`
	URL         string    `json:"url"`
	Events      []string  `json:"events"`
	CreatedAt   time.Time `json:"created_at"`
	Secret      Secret    `json:"secret"`       // one that purser drew, told this once; else ""
	SecretShown bool      `json:"secret_shown"` // it was told in an answer that was lost
}

func (w BotWebhook) complete() bool { return w.WebhookID != "" && w.URL != "" }

// BotWebhook is GET /v1/telegram/webhook.
func (c *Client) BotWebhook(ctx context.Context) (BotWebhook, error) {
	return do[BotWebhook](ctx, c, call{method: http.MethodGet, path: "/v1/telegram/webhook"})
}

// SetBotWebhook is POST /v1/telegram/webhook; it takes the place of the one before. Where it fails with
// [ErrSecretLost] the webhook is set, with a secret that nobody knows: call again, and it gets another.
func (c *Client) SetBotWebhook(ctx context.Context, r BotWebhookRequest) (BotWebhook, error) {
	r.Events = append([]string{}, r.Events...) // [] and not null
	set, err := do[BotWebhook](ctx, c, call{method: http.MethodPost, path: "/v1/telegram/webhook", body: r})
	if err == nil && set.SecretShown && set.Secret == "" {
		err = ErrSecretLost
	}
	return set, err
}

// DeleteBotWebhook is DELETE /v1/telegram/webhook. Where a first answer was lost the record is empty.
func (c *Client) DeleteBotWebhook(ctx context.Context) (BotWebhook, error) {
	return do[BotWebhook](ctx, c, call{method: http.MethodDelete, path: "/v1/telegram/webhook"})
}
