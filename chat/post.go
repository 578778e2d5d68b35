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

// AppMessage is what an app writes to a person.
type AppMessage struct {
	ID        string          // of this message, by which its outcome is known
	By        handlers.Caller // the app's key
	Chat      int64           // the person's own, which has their Telegram id
	Text      string
	ParseMode string // how Telegram reads Text; "" is as it stands
}

// Posting is a message of an app that may be sent. Commit queues it, and has what becomes of it kept under Card until a
// time (store.OutcomeOf).
type Posting struct {
	Card   string
	Commit func(tx store.Tx, until time.Time) error
}

// appCard begins the names of apps' messages.
const appCard = "app:"

// Post finds out whether a message of an app can be taken for nothing else than that, and words it:
// INVALID_REQUEST. Telegram judges its markup.
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
	case said.Author == "": // as Key.WishHolder: without an author, an answer would be heard as plain talk
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
			// It holds no word of the app's: nothing in it can end markup that the app left open. Markup that stays
			// open is an error to Telegram, so the line cannot be hidden in it.
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
		queued.CardUntil, queued.OutcomeUntil = queued.At, until // no later state of it is an edit: its card need not be known
		if err := roomForApp(tx, m.Chat, app); err != nil {
			return err
		}
		return store.Enqueue(tx, queued)
	}}, nil
}

// How many messages may wait for a chat before apps' own are refused: maxOfApps of all, and maxOfApp of one app, so that no
// app can keep the others out. What purser itself has to say is never refused: the bot slows down whoever asks faster
// than it may answer (bot), and receipts are folded.
const (
	maxOfApps = 100
	maxOfApp  = 25
)

// shareOf names whose share of a chat a caller's messages take: their app's, or their key's if it is in none.
func shareOf(by handlers.Caller) string {
	if by.App != "" {
		return string(by.App)
	}
	return "key " + string(by.KeyLineage)
}

// roomForApp refuses an app's message while too many wait to be sent to a chat: RATE_LIMIT_EXCEEDED.
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
	case waiting < maxOfApp: // whoever they are from
		return nil
	}
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

// wordsIn is the catalogue in the language of whose private chat it is.
func (c *Chat) wordsIn(ctx context.Context, telegramID int64) (words catalogue, err error) {
	err = c.Store.View(ctx, func(tx store.Tx) error {
		user, err := tx.UserByTelegram(telegramID)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		words = c.wordsFor(user.Language)
		return err
	})
	return words, err
}

// writer is purser's own first line of an app's message, as plain text, so that nobody takes an app's words
// for purser's; "" above an operator's.
func (c *Chat) writer(ctx context.Context, by handlers.Caller, words catalogue) (string, error) {
	if by.User == "" {
		return "", nil
	}
	v := vars{"App": "", "Hint": ""}
	err := c.Store.View(ctx, func(tx store.Tx) error {
		if by.App != "" {
			app, err := tx.App(by.App)
			v["App"] = app.Name
			return err
		}
		key, err := tx.Key(by.KeyID)
		v["Hint"] = key.Hint
		return err
	})
	if err != nil {
		return "", err
	}
	head, err := words.text("app.wrote", v)
	return stdhtml.UnescapeString(string(head)), err
}

// parseModes are the ways in which Telegram reads an app's message, with how purser's own words are escaped
// in each (Bot API, "Formatting options").
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

// appName is what an app is called; "" for none, and for one that is gone.
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

// keyHint is how a person knows an API key again: its last characters; "" for one that is gone.
func (s *replyTx) keyHint(id string) (html, error) {
	key, err := s.tx.Key(id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return html(escape(key.Hint)), err
}
