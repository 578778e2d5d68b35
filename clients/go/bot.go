package purser

import (
	"context"
	"net/http"
	"time"
)

// The methods in this file need a bot token ("pur_bot_…"), except MessageOwner and CommandOwner, which need an API key.

// Message is a message to a person's chat.
type Message struct {
	ChatID    string `json:"chat_id"`              // the person's Telegram id, in digits
	Text      string `json:"message"`              // 1 to 4000 characters
	ParseMode string `json:"parse_mode,omitempty"` // "", "Markdown", "MarkdownV2" or "HTML"
}

// SentMessage is a message that Telegram accepted.
type SentMessage struct {
	MessageID int       `json:"message_id"`
	SentAt    time.Time `json:"sent_at"`
}

func (m SentMessage) complete() bool { return m.MessageID != 0 }

// SendMessage is POST /v1/telegram/send-message. It returns when Telegram has accepted the message.
func (c *Client) SendMessage(ctx context.Context, m Message) (SentMessage, error) {
	return do[SentMessage](ctx, c, call{method: http.MethodPost, path: "/v1/telegram/send-message", body: m})
}

// OwnerMessage is a message to the chat of the API key's owner.
type OwnerMessage struct {
	Text      string `json:"message"`              // 1 to 4000 characters
	ParseMode string `json:"parse_mode,omitempty"` // "", "Markdown", "MarkdownV2" or "HTML"
}

// MessageOwner is POST /v1/messages, with an API key. It returns when Telegram has accepted the message.
func (c *Client) MessageOwner(ctx context.Context, m OwnerMessage) (SentMessage, error) {
	return do[SentMessage](ctx, c, call{method: http.MethodPost, path: "/v1/messages", body: m})
}

// Command is a slash command that runs for a person.
type Command struct {
	ChatID  string `json:"chat_id"`
	Command string `json:"command"` // "/wallet balance"
	Silent  bool   `json:"silent"`  // the reply is returned here only; prompts to confirm are always posted
}

// ExecutedCommand is a command that ran, with its reply.
type ExecutedCommand struct {
	Command    string    `json:"command"`
	Response   string    `json:"response"` // Markdown
	ExecutedAt time.Time `json:"executed_at"`
}

func (e ExecutedCommand) complete() bool { return e.Command != "" }

// ExecuteCommand is POST /v1/telegram/execute-command. A command that moves money only proposes a payment: the
// person confirms in chat.
func (c *Client) ExecuteCommand(ctx context.Context, cmd Command) (ExecutedCommand, error) {
	return do[ExecutedCommand](ctx, c, call{method: http.MethodPost, path: "/v1/telegram/execute-command", body: cmd})
}

// OwnerCommand is a slash command that runs for an API key's owner.
type OwnerCommand struct {
	Command string `json:"command"` // "/wallet balance"
	Silent  bool   `json:"silent"`  // the reply is returned here only; prompts to confirm are always posted
}

// CommandOwner is POST /v1/commands, with an API key: ExecuteCommand for the key's owner.
func (c *Client) CommandOwner(ctx context.Context, cmd OwnerCommand) (ExecutedCommand, error) {
	return do[ExecutedCommand](ctx, c, call{method: http.MethodPost, path: "/v1/commands", body: cmd})
}

// User is a user of the bot.
type User struct {
	TelegramID           string    `json:"telegram_id"`
	Username             string    `json:"username"` // with its @; "" when unset
	RegisteredAt         time.Time `json:"registered_at"`
	WalletConnected      bool      `json:"wallet_connected"`
	NotificationsEnabled bool      `json:"notifications_enabled"` // as SetUserNotifications set it; true until then
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

// SetUserNotifications is PUT /v1/telegram/user/{chat_id}/notifications: which events about a person your app
// receives. It does not change the notifications that the person gets in their chat.
func (c *Client) SetUserNotifications(ctx context.Context, chatID string, s NotificationSettings) (Notifications, error) {
	id, err := segment("chat id", chatID)
	if err != nil {
		return Notifications{}, err
	}
	return do[Notifications](ctx, c, call{method: http.MethodPut, path: "/v1/telegram/user/" + id + "/notifications", body: s.body()})
}
