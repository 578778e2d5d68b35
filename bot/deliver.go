package bot

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"
	"unicode/utf8"

	"purser/chat"
	"purser/store"
)

// Telegram's limits, in characters as it counts them (after parsing; Bot API, sendMessage,
// sendPhoto, answerCallbackQuery).
const (
	maxText    = 4096
	maxCaption = 1024
	maxToast   = 200
)

const (
	retryLimit   = time.Minute // longest wait between two attempts to send
	toastRetries = 3           // of a toast that has no NotAfter
)

// errUnreachable says that the person, or the group, lets the bot write no more.
var errUnreachable = errors.New("bot: the chat does not take messages from the bot")

// deliver sends one reply as it stands in the store now, and notes that it was sent. Between the
// two a crash, or an answer that never came, sends it again: a message may then stand twice in the
// chat (the newer one becomes its card). That is harmless, since a button's nonce works once
// however often it is shown, while a message left out could hide what became of money.
func (b *Bot) deliver(ctx context.Context, p outgoing) result {
	var row store.Reply
	card, found := 0, false
	err := b.opt.Store.View(ctx, func(tx store.Tx) error {
		rows, err := tx.Replies(p.seq-1, 1)
		if err != nil || len(rows) == 0 || rows[0].Seq != p.seq {
			return err
		}
		row, found = rows[0], true
		if row.Card == "" {
			return nil
		}
		card, err = tx.Card(row.Chat, row.Card)
		if errors.Is(err, store.ErrNotFound) {
			card, err = 0, nil
		}
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil:
		b.log.Error("a reply could not be read; trying again", "error", err)
		return result{again: true, wait: time.Second}
	case err != nil:
		return result{again: true}
	case !found:
		return result{}
	}
	if !row.NotAfter.IsZero() && !b.now().Before(row.NotAfter) {
		return b.sent(ctx, row, 0, errTooLate)
	}
	var reply chat.Reply
	if err := json.Unmarshal(row.Body, &reply); err != nil {
		b.log.Error("a row of the outbox is no reply and is dropped", "seq", row.Seq)
		return b.sent(ctx, row, 0, nil)
	}
	message, err := b.say(ctx, row.Chat, card, reply)
	return b.judge(ctx, row, p, reply, message, err)
}

// judge turns the outcome of a call into what becomes of the reply.
func (b *Bot) judge(ctx context.Context, row store.Reply, p outgoing, reply chat.Reply, message int, err error) result {
	if err == nil {
		return b.sent(ctx, row, message, nil)
	}
	if ctx.Err() != nil {
		return result{again: true}
	}
	no := refused(err)
	switch {
	case no == nil && errors.As(err, new(*transportError)): // keep trying
		if reply.Kind == chat.Toast && row.NotAfter.IsZero() && p.tries+1 >= toastRetries {
			return b.sent(ctx, row, 0, nil)
		}
		wait := backoff(p.tries+1, retryLimit)
		level := slog.LevelDebug // once is enough
		if p.tries == 0 {
			level = slog.LevelWarn
		}
		b.log.Log(ctx, level, "a reply could not be sent; trying again", "error", err, "in", wait)
		return result{again: true, wait: wait}
	case no == nil:
	case no.retryAfter > 0:
		b.log.Warn("Telegram asks for a pause", "for", no.retryAfter)
		return result{again: true, wait: no.retryAfter, flood: true}
	case no.code == http.StatusUnauthorized:
		b.log.Error("Telegram refuses the bot token now. Was it revoked? Check telegram.token.")
		b.stop(ErrBadToken)
		return result{again: true, wait: retryLimit}
	case no.code == http.StatusForbidden:
		return b.sent(ctx, row, 0, errUnreachable)
	case reply.Kind == chat.Toast && no.saysAny("query is too old", "query ID is invalid"),
		reply.Kind == chat.Delete && no.saysAny("message to delete not found", "message can't be deleted"):
		return b.sent(ctx, row, 0, nil)
	case reply.Kind == chat.Strip && no.saysAny("message is not modified", "message to edit not found", "message can't be edited"):
		return b.sent(ctx, row, 0, nil)
	case no.code != http.StatusBadRequest && no.code != http.StatusRequestEntityTooLarge:
		// Nothing that the Bot API says to a reply: something else answers in its place.
		b.log.Error("an odd answer to a reply; trying again", "error", err)
		return result{again: true, wait: retryLimit}
	}
	level := slog.LevelError
	if reply.ParseMode != "" { // an app's own words are its own fault
		level = slog.LevelInfo
	}
	b.log.Log(ctx, level, "a reply cannot be sent and is dropped", "kind", reply.Kind, "error", err)
	return b.sent(ctx, row, 0, err)
}

// errTooLate says that nobody wants the reply any more.
var errTooLate = errors.New("bot: the reply is too late")

// sent removes the reply, and tells whoever waits for it. message is the new message of its card, 0
// when there is none; why says what kept it from being sent.
func (b *Bot) sent(ctx context.Context, row store.Reply, message int, why error) result {
	newer := false
	err := b.update(ctx, func(tx store.Tx) error {
		newer = false
		if message != 0 && row.Card != "" && (row.CardUntil.IsZero() || b.now().Before(row.CardUntil)) {
			if err := tx.PutCard(row.Chat, row.Card, message, row.CardUntil); err != nil {
				return err
			}
		}
		if err := chat.Posted(tx, row, message, b.now()); err != nil {
			return err
		}
		if errors.Is(why, errUnreachable) && row.Chat > 0 {
			if err := reachable(tx, row.Chat, false); err != nil {
				return err
			}
		}
		if err := tx.DoneReply(row); err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		// A newer state of the card may have taken the row's place while this one went out.
		rows, err := tx.Replies(row.Seq-1, 1)
		newer = len(rows) > 0 && rows[0].Seq == row.Seq
		return err
	})
	if err != nil && !errors.Is(err, store.ErrUnknownOutcome) {
		b.log.Error("a sent reply could not be noted; it may be sent twice", "error", err)
		return result{again: true, wait: time.Second}
	}
	b.outcomes.tell(row, outcomeOf(message, why))
	return result{again: newer}
}

// say carries out one reply and tells the id of the message that shows it from now on; 0 when it
// made none. card is the message that showed its subject so far.
func (b *Bot) say(ctx context.Context, where int64, card int, reply chat.Reply) (int, error) {
	switch reply.Kind {
	case chat.Toast:
		return 0, b.transport.call(ctx, "answerCallbackQuery", map[string]any{
			"callback_query_id": reply.CallbackID, "text": cut(reply.Text, maxToast), "show_alert": reply.Alert,
		}, nil)
	case chat.Delete:
		return 0, b.transport.call(ctx, "deleteMessage", map[string]any{"chat_id": where, "message_id": reply.MessageID}, nil)
	case chat.Strip:
		return 0, b.transport.call(ctx, "editMessageReplyMarkup", map[string]any{"chat_id": where, "message_id": reply.MessageID}, nil)
	case chat.Photo:
		return b.photo(ctx, where, reply)
	case chat.Message:
		return b.message(ctx, where, card, reply)
	}
	return 0, errors.New("bot: a reply of unknown kind")
}

// message edits the card, or sends a message when there is none or it is gone.
func (b *Bot) message(ctx context.Context, where int64, card int, reply chat.Reply) (int, error) {
	texts := []string{reply.Text} // an app's markup is Telegram's to judge
	if reply.ParseMode == "" {
		texts = splitHTML(reply.Text, maxText)
	}
	if card != 0 && len(texts) == 1 && !reply.Anew {
		params := text(where, texts[0], reply.Buttons)
		params["message_id"] = card
		err := b.transport.call(ctx, "editMessageText", params, nil)
		no := refused(err)
		switch {
		case no != nil && no.says("message is not modified"):
			return card, nil
		case no == nil || !no.saysAny("message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID", "there is no text in the message to edit"):
			return card, err
		}
	}
	last := 0
	for i, part := range texts {
		var buttons [][]chat.Button
		if i == len(texts)-1 {
			buttons = reply.Buttons
		}
		var err error
		params := text(where, part, buttons)
		if reply.ParseMode != "" {
			params["parse_mode"] = reply.ParseMode
		}
		if reply.Keyboard != nil {
			params["reply_markup"] = replyKeyboard(*reply.Keyboard)
		}
		if last, err = b.post(ctx, "sendMessage", params); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// photo sends a PNG. A text that is too long for a caption follows as messages.
func (b *Bot) photo(ctx context.Context, where int64, reply chat.Reply) (int, error) {
	caption := reply.Text
	if len(splitHTML(caption, maxCaption)) > 1 {
		caption = ""
	}
	fields := map[string]string{}
	params := map[string]any{"chat_id": where}
	if caption != "" {
		params["caption"], params["parse_mode"] = caption, "HTML"
	}
	if caption == reply.Text && len(reply.Buttons) > 0 {
		params["reply_markup"] = keyboard(reply.Buttons)
	}
	for key, value := range params {
		if plain, ok := value.(string); ok {
			fields[key] = plain
			continue
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return 0, err
		}
		fields[key] = string(encoded)
	}
	var made posted
	if err := b.transport.upload(ctx, "sendPhoto", fields, "photo", "picture.png", reply.PNG, &made); err != nil || caption == reply.Text {
		return made.ID, err
	}
	return b.message(ctx, where, 0, reply)
}

type posted struct {
	ID int `json:"message_id"`
}

func (b *Bot) post(ctx context.Context, method string, params map[string]any) (int, error) {
	var made posted
	err := b.transport.call(ctx, method, params, &made)
	return made.ID, err
}

// text is what sendMessage and editMessageText take. Previews are off: they would fetch links that
// people were sent in confidence.
func text(where int64, html string, buttons [][]chat.Button) map[string]any {
	params := map[string]any{
		"chat_id": where, "text": html, "parse_mode": "HTML",
		"link_preview_options": map[string]any{"is_disabled": true},
	}
	if len(buttons) > 0 {
		params["reply_markup"] = keyboard(buttons)
	}
	return params
}

// inlineButton is Telegram's InlineKeyboardButton, as far as purser uses it. There is no web_app,
// and there must never be: docs/security.md, Not a Mini App.
type inlineButton struct {
	Text string    `json:"text"`
	Data string    `json:"callback_data,omitempty"`
	URL  string    `json:"url,omitempty"`
	Copy *copyText `json:"copy_text,omitempty"`
}

type copyText struct {
	Text string `json:"text"`
}

func keyboard(buttons [][]chat.Button) any {
	rows := make([][]inlineButton, 0, len(buttons))
	for _, row := range buttons {
		line := make([]inlineButton, 0, len(row))
		for _, button := range row {
			made := inlineButton{Text: button.Text, Data: button.Data, URL: button.URL}
			if button.Copy != "" {
				made.Copy = &copyText{button.Copy}
			}
			line = append(line, made)
		}
		rows = append(rows, line)
	}
	return map[string]any{"inline_keyboard": rows}
}

// replyKeyboard is Telegram's ReplyKeyboardMarkup with one key that shares the person's own contact, or
// opens the list of people (Bot API 7.0, KeyboardButtonRequestUsers), or ReplyKeyboardRemove.
func replyKeyboard(k chat.Keyboard) any {
	if k.Remove {
		return map[string]any{"remove_keyboard": true}
	}
	key := map[string]any{"text": k.People, "request_users": map[string]any{
		"request_id": k.Request, "user_is_bot": false, "max_quantity": 1,
	}}
	if k.Contact != "" {
		key = map[string]any{"text": k.Contact, "request_contact": true}
	}
	return map[string]any{"keyboard": [][]any{{key}}, "resize_keyboard": true, "one_time_keyboard": true}
}

// cut shortens plain text to at most limit characters.
func cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}
