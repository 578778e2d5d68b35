package chat

import (
	"context"
	"encoding/json"
	"errors"
	stdhtml "html"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// AppMessage is a message that an app sends to a person over the API.
type AppMessage struct {
	ID        string          // id of this message: the API reports its outcome by it
	By        handlers.Caller // the app's key
	Chat      int64           // the person's private chat; its id is their Telegram id
	Text      string
	ParseMode string // Telegram's parse mode for Text; "" is plain text
}

// Posting is a checked message of an app. Commit queues it in the caller's transaction. Its outcome (sent or failed) is kept
// under Card until the given time (store.SendResultOf).
type Posting struct {
	Card   string
	Commit func(tx store.Tx, until time.Time) error
}

// appCard is the prefix of the cards of apps' messages.
const appCard = "app:"

// Post checks a message of an app and adds the line that names the app. It returns INVALID_REQUEST for an unknown parse mode
// and for a message that could pass for purser's own. Errors in the markup itself are reported by Telegram when it is sent.
func (c *Chat) Post(ctx context.Context, m AppMessage) (Posting, error) {
	escape, known := parseModes()[m.ParseMode]
	if !known {
		return Posting{}, wallet.About("parse_mode", wallet.Refuse(wallet.InvalidRequest, "app_message.parse_mode"))
	}
	if err := c.plainText(m.Text, m.ParseMode); err != nil {
		return Posting{}, err
	}
	said := Reply{Kind: Message, Text: m.Text, ParseMode: m.ParseMode, Author: m.By.App}
	switch {
	case m.By.User == "":
		said.Author = wallet.ToOperators
	case said.Author == "": // a key without an app: its lineage, as in Key.AppOrLineage, so that replies are recognised
		said.Author = wallet.AppID(m.By.KeyLineage)
	}
	if m.ParseMode == "" {
		said.Text, said.ParseMode = escape.Replace(m.Text), "HTML"
	}
	words, err := c.wordsIn(ctx, m.Chat)
	if err != nil {
		return Posting{}, err
	}
	head, err := c.writer(ctx, m.By, words)
	if err != nil {
		return Posting{}, err
	}
	if head != "" {
		said.Text = escape.Replace(head) + "\n\n" + said.Text
		if long(m.Text, m.ParseMode) {
			// The closing line has no text of the app, so nothing in it can end markup that the app left open. Telegram
			// refuses a message with open markup, so an app cannot hide the line inside it.
			foot, err := words.text("app.wrote_end", nil)
			if err != nil {
				return Posting{}, err
			}
			said.Text += "\n\n" + escape.Replace(stdhtml.UnescapeString(string(foot)))
		}
	}
	body, err := json.Marshal(said)
	if err != nil {
		return Posting{}, err
	}
	app := shareOf(m.By)
	row := store.Reply{Chat: m.Chat, Priority: broadcasts, Card: appCard + m.ID, App: app, Body: body, At: c.Now().UTC()}
	return Posting{row.Card, func(tx store.Tx, until time.Time) error {
		queued := row
		queued.CardUntil, queued.SendResultUntil = queued.At, until // the message is never edited, so the row of its card may expire at once
		if err := roomForApp(tx, m.Chat, app); err != nil {
			return err
		}
		return store.Enqueue(tx, queued)
	}}, nil
}

// Limits on apps' messages that wait to be sent to one chat: maxOfApps in total, and maxOfApp for one app, so that no app can
// block the others. purser's own messages are never refused: the bot slows down people who send faster than it may answer,
// and receipts are folded into one message.
const (
	maxOfApps = 100
	maxOfApp  = 25
)

// shareOf names the share of a chat's queue that a caller uses: its app's, or its key's if the key has no app.
func shareOf(by handlers.Caller) string {
	if by.App != "" {
		return string(by.App)
	}
	return "key " + string(by.KeyLineage)
}

// roomForApp returns RATE_LIMIT_EXCEEDED while too many of apps' messages wait to be sent to a chat.
func roomForApp(tx store.Tx, chat int64, app string) error {
	refusal := func(most int) error {
		return wallet.Refuse(wallet.RateLimitExceeded, "chat_messages.full", wallet.NumberArg("Most", most))
	}
	waiting, err := tx.CountJobs(store.Outbox, store.ChatKey(chat))
	switch {
	case err != nil:
		return err
	case waiting >= maxOfApps:
		return refusal(maxOfApps)
	case waiting < maxOfApp: // below one app's limit even if all are its own
		return nil
	}
	// Count the app's own messages only when that can matter: it decodes every waiting one.
	jobs, err := tx.JobsOfKey(store.Outbox, store.ChatKey(chat), waiting)
	if err != nil {
		return err
	}
	own := 0
	for _, job := range jobs {
		if r, err := store.ReplyOf(job); err == nil && r.App == app {
			own++
		}
	}
	if own >= maxOfApp {
		return refusal(maxOfApp)
	}
	return nil
}

// wordsIn returns the catalogue in the language of the person with this Telegram id; English if they are unknown.
func (c *Chat) wordsIn(ctx context.Context, telegramID int64) (words catalogue, err error) {
	err = c.Store.View(ctx, func(tx store.Tx) error {
		user, err := tx.UserByTelegram(telegramID)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		words = c.wordsFor(user)
		return err
	})
	return words, err
}

// writer returns purser's line above an app's message, as plain text. It names the app, so that nobody takes the message for
// purser's. Messages with an operator's key have no such line: the result is "".
func (c *Chat) writer(ctx context.Context, by handlers.Caller, words catalogue) (string, error) {
	if by.User == "" {
		return "", nil
	}
	var from handlers.Requester
	err := c.Store.View(ctx, func(tx store.Tx) (err error) {
		from, err = handlers.RequesterOf(tx, by.KeyID)
		return err
	})
	if err != nil {
		return "", err
	}
	head, err := words.text("app.wrote", vars{"App": from.App, "Hint": from.KeyHint})
	return stdhtml.UnescapeString(string(head)), err
}

// parseModes maps each parse mode of Telegram to the replacer that escapes purser's own words in it (Bot API, "Formatting
// options").
func parseModes() map[string]*strings.Replacer {
	escaped := func(special string) *strings.Replacer {
		var pairs []string
		for _, r := range special {
			pairs = append(pairs, string(r), `\`+string(r))
		}
		return strings.NewReplacer(pairs...)
	}
	entities := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	return map[string]*strings.Replacer{
		"": entities, "HTML": entities,
		"Markdown":   escaped("_*`["),
		"MarkdownV2": escaped("\\_*[]()~`>#+-=|{}.!"),
	}
}

// appName returns the name of an app; "" for no app and for a deleted one.
func (s *replyTx) appName(id wallet.AppID) (string, error) {
	if id == "" {
		return "", nil
	}
	app, err := s.tx.App(id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return app.Name, err
}

// keyHint returns the last characters of an API key, by which a person recognises it; "" for a deleted key.
func (s *replyTx) keyHint(id string) (html, error) {
	key, err := s.tx.Key(id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return html(escape(key.Hint)), err
}
