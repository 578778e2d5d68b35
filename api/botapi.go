package api

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"purser/chat"
	"purser/handlers"
	"purser/quota"
	"purser/store"
	"purser/wallet"
)

// Endpoints that send messages to people's chats, and run commands there (docs/specification.md, Messages and commands): with
// a bot token in the chats of its app's users, with an API key in the chat of its owner.

// Chat checks and queues messages of apps, and runs commands for them. It is implemented by chat.Chat.
type Chat interface {
	// Post checks a message. Its Commit queues the message.
	Post(ctx context.Context, m chat.AppMessage) (chat.Posting, error)
	// Execute runs a command. commit writes its effect in the caller's Update, and returns the response to show.
	Execute(ctx context.Context, cmd chat.AppCommand) (commit func(store.Tx) (string, error), err error)
}

// Bot wakes requests that wait until this node has sent a message. It is implemented by bot.Bot. The result itself is
// in the store, where a request also finds that of a message which another node sent.
type Bot interface {
	// Await returns a channel that is signalled when the message of a card in a chat has ended. The caller calls
	// done.
	Await(where int64, card string) (ended <-chan struct{}, done func())
}

// maxMessage is the most characters of an app's message (docs/specification.md, Messages and commands).
const maxMessage = 4000

// sentMessageData is `data` of POST /v1/telegram/send-message and POST /v1/messages. message_id is Telegram's.
type sentMessageData struct {
	MessageID int    `json:"message_id"`
	SentAt    string `json:"sent_at"`
}

// openMessage is the body of a pending idempotency record: where to find the result of the message.
type openMessage struct {
	Chat int64  `json:"chat"`
	Card string `json:"card"`
}

// sendMessage is POST /v1/telegram/send-message {chat_id, message, parse_mode}.
func (s *Server) sendMessage(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("chat_id", "message", "parse_mode"); err != nil {
		return err
	}
	id, err := fields.telegramID("chat_id")
	if err != nil {
		return err
	}
	return s.postMessage(c, key, fields, id)
}

// messageOwner is POST /v1/messages {message, parse_mode}: send-message to the API key's own owner.
func (s *Server) messageOwner(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("message", "parse_mode"); err != nil {
		return err
	}
	id, err := s.ownChat(c, key)
	if err != nil {
		return err
	}
	return s.postMessage(c, key, fields, id)
}

// ownChat returns the private chat of the key's owner. USER_NOT_FOUND for an operator's key, which has no owner.
func (s *Server) ownChat(c *fiber.Ctx, key wallet.Key) (int64, error) {
	if err := ofPerson(key); err != nil {
		return 0, err
	}
	return s.People.ChatOf(c.UserContext(), key.Owner)
}

// postMessage queues the message of a request to a person's chat, and waits until it was sent or refused, at most
// answerTimeout. BOT_BLOCKED: the person accepts no messages. TELEGRAM_ERROR: it was not sent in time, and may still
// be sent.
func (s *Server) postMessage(c *fiber.Ctx, key wallet.Key, fields object, id int64) error {
	// First all that the request itself shows to be wrong.
	message, err := fields.text("message")
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(message) > maxMessage || strings.TrimSpace(message) == "" {
		return bad("message", "body.message", wallet.NumberArg("Most", maxMessage))
	}
	mode, err := fields.parseMode()
	if err != nil {
		return err
	}
	who := handlers.CallerOf(key)
	posting, err := s.Chat.Post(c.UserContext(), chat.AppMessage{ID: s.NewID("msg"), By: who, Chat: id, Text: message, ParseMode: mode})
	if err != nil {
		return err
	}
	// Checked before a stored response is replayed: after a person has withdrawn consent or was erased, the key
	// learns nothing more about them.
	person, err := s.People.ByTelegram(c.UserContext(), who, id, wallet.BotSend)
	if err != nil {
		return err
	}
	return s.idempotentPending(c, key, func(r record) error {
		if err := s.mayPost(c, who, person, wallet.BotSend); err != nil {
			return err
		}
		sent := openMessage{Chat: id, Card: posting.Card}
		kept, err := json.Marshal(sent)
		if err != nil {
			return err
		}
		// Wait from before the commit, so that no signal is missed.
		ended, done := s.Bot.Await(sent.Chat, sent.Card)
		defer done()
		// One transaction: the message waits in the outbox, and the record says so. After a crash a retry resumes
		// from the record.
		err = s.Store.Update(c.UserContext(), func(tx store.Tx) error {
			if err := s.People.Reachable(tx, who, person.ID, wallet.BotSend); err != nil {
				return err
			}
			if err := posting.Commit(tx, r.sendResultUntil(s.Now())); err != nil {
				return err
			}
			return r.keep(tx, pending, kept)
		})
		if err != nil {
			return err
		}
		return s.awaited(c, r, sent, ended)
	}, func(r record, kept []byte) error { return s.resumeMessage(c, r, kept) })
}

// mayPost counts one more message to a person, against a limit that all apps share (docs/specification.md, Limits).
// It counts nothing if the key may not write to the person, or if the person has blocked the bot.
// RATE_LIMIT_EXCEEDED.
func (s *Server) mayPost(c *fiber.Ctx, who handlers.Caller, person wallet.User, scope wallet.Scope) error {
	err := s.Store.View(c.UserContext(), func(tx store.Tx) error { return s.People.Reachable(tx, who, person.ID, scope) })
	if err != nil {
		return err
	}
	q, err := s.Meter.Take(c.UserContext(), "message/"+string(person.ID), quota.Limit{Count: s.Limits.Messages, Span: time.Minute})
	if err != nil || q.OK {
		return err
	}
	return s.rateLimited(c, q, "rate_limit.messages_per_minute")
}

// How often a request looks in the store for the result of its message, which another node may send: first after
// firstResultPoll, then each time after twice as long, but never longer than longestResultPoll.
const (
	firstResultPoll   = 50 * time.Millisecond
	longestResultPoll = time.Second
)

// awaited answers as soon as a message was sent or refused. A signal on ended says to look at once. If the request's
// time ends first, it returns TELEGRAM_ERROR, and the record stays pending: the message may still be sent.
func (s *Server) awaited(c *fiber.Ctx, r record, sent openMessage, ended <-chan struct{}) error {
	for wait := firstResultPoll; ; wait = min(2*wait, longestResultPoll) {
		timer := time.NewTimer(wait)
		select {
		case <-ended:
		case <-timer.C:
		case <-c.UserContext().Done():
		}
		timer.Stop()
		if c.UserContext().Err() != nil {
			return wallet.Refuse(wallet.TelegramError, "app_message.delayed")
		}
		result, open, err := s.sendResult(c, sent)
		if err != nil {
			return err
		}
		if !open {
			return s.ended(c, r, sent, result)
		}
	}
}

// sendResult reads the result of sending a message; open is true while there is none.
func (s *Server) sendResult(c *fiber.Ctx, sent openMessage) (result store.SendResult, open bool, err error) {
	err = s.Store.View(c.UserContext(), func(tx store.Tx) (err error) {
		result, open, err = store.SendResultOf(tx, sent.Chat, sent.Card)
		return err
	})
	return result, open, err
}

// errSettled says that another node has answered the same request.
var errSettled = errors.New("api: the request was answered by another node")

// ended answers with the result of a message. One transaction replaces the request's pending record by the response,
// or frees its key after a refusal. It also removes the result, which nothing else needs.
func (s *Server) ended(c *fiber.Ctx, r record, sent openMessage, o store.SendResult) error {
	// What the result means for the caller.
	var refusal error
	switch {
	case o.Blocked:
		refusal = wallet.Refuse(wallet.BotBlocked, "person.blocked_bot")
	case o.Refusal != "":
		refusal = about("message", wallet.Refuse(wallet.InvalidRequest, "app_message.rejected", wallet.TextArg("Error", withoutOffset(o.Refusal))))
	case o.MessageID == 0:
		refusal = wallet.Refuse(wallet.TelegramError, "app_message.unsent")
	}
	var body []byte
	err := s.Store.Update(c.UserContext(), func(tx store.Tx) (err error) {
		// Another node may have answered the same request, after a retry reached it. Its response stands.
		if err := r.stillPending(tx); err != nil {
			return err
		}
		if err := tx.DropSendResult(sent.Chat, sent.Card); err != nil {
			return err
		}
		if refusal != nil {
			return r.free(tx)
		}
		if body, err = s.envelope("done.message_sent", sentMessageData{o.MessageID, wallet.Timestamp(s.Now())}); err != nil {
			return err
		}
		return r.replace(tx, fiber.StatusOK, body)
	})
	if errors.Is(err, errSettled) {
		// Then this request gets that response too.
		if found, replayed := s.replay(c, r, nil); found {
			return replayed
		}
	}
	if err := errors.Join(refusal, err); err != nil {
		return err
	}
	return sendJSON(c, fiber.StatusOK, body)
}

// offset matches the position in a text that Telegram names for a mistake. It counts purser's own first line, which
// the app does not know, so it is removed.
var offset = regexp.MustCompile(`( starting)? at byte offset \d+`)

// withoutOffset removes such positions from Telegram's error.
func withoutOffset(refusal string) string { return offset.ReplaceAllString(refusal, "") }

// resumeMessage continues a request whose message had no result when the earlier request ended.
func (s *Server) resumeMessage(c *fiber.Ctx, r record, kept []byte) error {
	var sent openMessage
	if err := json.Unmarshal(kept, &sent); err != nil {
		return err
	}
	ended, done := s.Bot.Await(sent.Chat, sent.Card) // before the look into the store, so that no signal is missed
	defer done()
	switch result, open, err := s.sendResult(c, sent); {
	case err != nil:
		return err
	case !open:
		return s.ended(c, r, sent, result)
	}
	return s.awaited(c, r, sent, ended)
}

// parseMode returns the optional field `parse_mode`; "" means plain text.
func (o object) parseMode() (string, error) {
	raw, ok := o["parse_mode"]
	if !ok || string(raw) == `""` {
		return "", nil
	}
	return o.text("parse_mode")
}

// executedData is `data` of POST /v1/telegram/execute-command and POST /v1/commands.
type executedData struct {
	Command    string `json:"command"`
	Response   string `json:"response"` // Markdown
	ExecutedAt string `json:"executed_at"`
}

// maxCommand is the most characters of a command.
const maxCommand = 1000

// executeCommand is POST /v1/telegram/execute-command {chat_id, command, silent}.
func (s *Server) executeCommand(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("chat_id", "command", "silent"); err != nil {
		return err
	}
	id, err := fields.telegramID("chat_id")
	if err != nil {
		return err
	}
	return s.runCommand(c, key, fields, id)
}

// commandOwner is POST /v1/commands {command, silent}: execute-command for the API key's own owner.
func (s *Server) commandOwner(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	if err := fields.only("command", "silent"); err != nil {
		return err
	}
	id, err := s.ownChat(c, key)
	if err != nil {
		return err
	}
	return s.runCommand(c, key, fields, id)
}

// runCommand runs the command of a request for a person. With silent the result is returned to the app, and not shown
// in the chat.
func (s *Server) runCommand(c *fiber.Ctx, key wallet.Key, fields object, id int64) error {
	command, err := fields.text("command")
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(command) > maxCommand {
		return bad("command", "body.too_long", wallet.NumberArg("Most", maxCommand))
	}
	silent, err := fields.boolean("silent", false)
	if err != nil {
		return err
	}
	who := handlers.CallerOf(key)
	person, err := s.People.ByTelegram(c.UserContext(), who, id, wallet.BotExecute)
	if err != nil {
		return err
	}
	// A command that shows its result in the chat counts as a message to the person.
	return s.idempotent(c, key, func(saveAnswer save) error {
		if !silent {
			if err := s.mayPost(c, who, person, wallet.BotExecute); err != nil {
				return err
			}
		}
		// Slow work first: a command may ask Solana. Its effect is committed together with the response.
		commit, err := s.Chat.Execute(c.UserContext(), chat.AppCommand{By: who, Person: person, Text: command, Silent: silent})
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusOK, saveAnswer, func(tx store.Tx) ([]byte, error) {
			allowed := s.People.Reachable
			if silent { // its proposal is still shown to the person, and checks again whether the bot is blocked
				allowed = s.People.May
			}
			if err := allowed(tx, who, person.ID, wallet.BotExecute); err != nil {
				return nil, err
			}
			response, err := commit(tx)
			if err != nil {
				return nil, err
			}
			return s.envelope("done.command_ran", executedData{command, response, wallet.Timestamp(s.Now())})
		})
	})
}

// userData is `data` of GET /v1/telegram/user/{telegram_id} (docs/specification.md, Messages and commands).
type userData struct {
	TelegramID           string `json:"telegram_id"`
	Username             string `json:"username"` // with @; "" if the person has none
	RegisteredAt         string `json:"registered_at"`
	WalletConnected      bool   `json:"wallet_connected"`
	NotificationsEnabled bool   `json:"notifications_enabled"`
}

// user is GET /v1/telegram/user/{telegram_id}.
func (s *Server) user(c *fiber.Ctx, key wallet.Key) error {
	id, err := parseTelegramID("telegram_id", c.Params("telegram_id"))
	if err != nil {
		return err
	}
	p, err := s.People.Profile(c.UserContext(), handlers.CallerOf(key), id)
	if err != nil {
		return err
	}
	data := userData{TelegramID: c.Params("telegram_id"), Username: p.User.Handle(), RegisteredAt: stamp(p.User.RegisteredAt), WalletConnected: p.HasWallet, NotificationsEnabled: p.Notifications}
	return s.succeed(c, fiber.StatusOK, "done.user", data)
}
