package bot

import (
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"purser/chat"
)

// Telegram's limits, in characters as it counts them (after parsing; Bot API, sendMessage,
// sendPhoto, sendDocument, answerCallbackQuery).
const (
	maxText    = 4096
	maxCaption = 1024
	maxToast   = 200
)

// say carries out one reply. It returns the id of the message that shows the reply from now on, or 0 if there is none.
// card is the id of the message that has shown the reply's subject so far; 0 means that there is none. Errors are those of
// transport.call.
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
	case chat.Document:
		return b.file(ctx, where, reply, upload{"sendDocument", "document", reply.FileName, reply.File})
	case chat.Message:
		return b.message(ctx, where, card, reply)
	}
	return 0, errors.New("bot: a reply of unknown kind")
}

// message edits the card, or sends a new message if there is no card, or the person has deleted it. A text that is too
// long for one message becomes several, the last of which has the buttons and is returned.
//
// If a part fails, the parts before it were sent already, and a retry sends them again: Telegram has no way to send
// several messages at once.
func (b *Bot) message(ctx context.Context, where int64, card int, reply chat.Reply) (int, error) {
	texts := []string{reply.Text} // an app's own markup is not split: Telegram refuses it if it is too long
	if reply.ParseMode == "" {
		texts = splitHTML(reply.Text, maxText)
	}
	if card != 0 && len(texts) == 1 && !reply.NewMessage {
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

// photo sends a picture, or puts it in the place of the picture of an earlier message. If that message is gone, or the caption
// is too long for one, it is sent as a new message. An edit is repeated after an unknown result, since it changes nothing then.
func (b *Bot) photo(ctx context.Context, where int64, reply chat.Reply) (int, error) {
	if reply.MessageID == 0 || len(splitHTML(reply.Text, maxCaption)) > 1 {
		return b.file(ctx, where, reply, upload{"sendPhoto", "photo", "picture.png", reply.PNG})
	}
	err := b.editPhoto(ctx, where, reply)
	no := refused(err)
	switch {
	// A newer edit, which shows the newest state, cancels one that Telegram is still working on.
	case no != nil && no.saysAny("message is not modified", "canceled by new editMessageMedia request"):
		return reply.MessageID, nil
	case no != nil && no.saysAny("message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID"):
		reply.MessageID = 0
		return b.photo(ctx, where, reply)
	}
	return reply.MessageID, err
}

// editPhoto replaces the picture, the caption and the buttons of a message. The file is a part of the form, which the media
// object names (Bot API, InputMediaPhoto).
func (b *Bot) editPhoto(ctx context.Context, where int64, reply chat.Reply) error {
	const part = "picture"
	media := map[string]any{"type": "photo", "media": "attach://" + part}
	if reply.Text != "" {
		media["caption"], media["parse_mode"] = reply.Text, "HTML"
	}
	params := map[string]any{"chat_id": where, "message_id": reply.MessageID, "media": media}
	if len(reply.Buttons) > 0 {
		params["reply_markup"] = keyboard(reply.Buttons)
	}
	fields, err := formFields(params)
	if err != nil {
		return err
	}
	return b.transport.upload(ctx, "editMessageMedia", fields, part, "picture.png", reply.PNG, nil)
}

// formFields returns the parameters of a call as fields of a form: texts as they are, anything else as JSON.
func formFields(params map[string]any) (map[string]string, error) {
	fields := make(map[string]string, len(params))
	for key, value := range params {
		if plain, ok := value.(string); ok {
			fields[key] = plain
			continue
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		fields[key] = string(encoded)
	}
	return fields, nil
}

// upload is a file that a method of the Bot API sends.
type upload struct {
	method string
	field  string // of the form
	name   string
	file   []byte
}

// file sends a file. A text that is too long for a caption follows as messages. Then the last of these is returned.
func (b *Bot) file(ctx context.Context, where int64, reply chat.Reply, up upload) (int, error) {
	caption := reply.Text
	if len(splitHTML(caption, maxCaption)) > 1 {
		caption = ""
	}
	params := map[string]any{"chat_id": where}
	if caption != "" {
		params["caption"], params["parse_mode"] = caption, "HTML"
	}
	if caption == reply.Text && len(reply.Buttons) > 0 {
		params["reply_markup"] = keyboard(reply.Buttons)
	}
	fields, err := formFields(params)
	if err != nil {
		return 0, err
	}
	var made posted
	if err := b.transport.upload(ctx, up.method, fields, up.field, up.name, up.file, &made); err != nil || caption == reply.Text {
		return made.ID, err
	}
	return b.message(ctx, where, 0, reply)
}

// posted is the part of a sent message that purser reads.
type posted struct {
	ID int `json:"message_id"`
}

// post calls a method that sends a message, and returns the message's id.
func (b *Bot) post(ctx context.Context, method string, params map[string]any) (int, error) {
	var made posted
	err := b.transport.call(ctx, method, params, &made)
	return made.ID, err
}

// text returns the parameters of sendMessage and editMessageText. Link previews are off: for a preview, Telegram would
// fetch links that are meant for one person, such as signing links.
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

// copyText is Telegram's CopyTextButton: a tap copies the text to the clipboard.
type copyText struct {
	Text string `json:"text"`
}

// keyboard is Telegram's InlineKeyboardMarkup, the buttons below a message.
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
