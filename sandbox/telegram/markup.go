package telegram

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// markup is a decoded reply_markup. At most one field is set.
type markup struct {
	inline *InlineKeyboard
	keys   *ReplyKeyboard
	remove bool
}

// readMarkup decodes and checks reply_markup. An absent one and {} both mean none.
func readMarkup(raw string) (markup, error) {
	raw = strings.TrimSpace(raw)
	if raw == "" || raw == "null" {
		return markup{}, nil
	}
	var m struct {
		Inline      json.RawMessage `json:"inline_keyboard"`
		Keyboard    json.RawMessage `json:"keyboard"`
		Remove      bool            `json:"remove_keyboard"`
		Force       bool            `json:"force_reply"`
		Resize      bool            `json:"resize_keyboard"`
		OneTime     bool            `json:"one_time_keyboard"`
		Persistent  bool            `json:"is_persistent"`
		Placeholder string          `json:"input_field_placeholder"`
	}
	// The descriptions tell a value that is no object from an object with wrong members.
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		if !strings.HasPrefix(raw, "{") {
			return markup{}, badRequest("object expected as reply markup")
		}
		return markup{}, badRequest("can't parse reply keyboard markup JSON object")
	}
	if len(m.Placeholder) > 0 && utf8.RuneCountInString(m.Placeholder) > 64 {
		return markup{}, badRequest("reply markup placeholder is too long")
	}
	// The first kind in this order wins.
	switch {
	case isSet(m.Inline):
		k, err := readInline(m.Inline)
		return markup{inline: k}, err
	case isSet(m.Keyboard):
		rows, err := readKeys(m.Keyboard)
		if err != nil {
			return markup{}, err
		}
		return markup{keys: &ReplyKeyboard{Rows: rows, Resize: m.Resize, OneTime: m.OneTime, Persistent: m.Persistent, Placeholder: m.Placeholder}}, nil
	case m.Remove:
		return markup{remove: true}, nil
	case m.Force:
		return markup{keys: &ReplyKeyboard{ForceReply: true, Placeholder: m.Placeholder}}, nil
	}
	return markup{}, nil
}

// isSet is false for an absent member and for null.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(raw, []byte("null"))
}

// readInline checks inline buttons. It drops empty rows, as Telegram does, and returns nil if there are no buttons.
func readInline(raw json.RawMessage) (*InlineKeyboard, error) {
	var rows [][]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, badRequest(`field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays`)
	}
	var k InlineKeyboard
	total := 0
	for _, row := range rows {
		var out []Button
		for _, fields := range row {
			b, err := readButton(fields)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
		// The limit is for all buttons of a message together.
		if total += len(out); total > 100 {
			return nil, badRequest("reply markup is too long")
		}
		if len(out) > 0 {
			k.Rows = append(k.Rows, out)
		}
	}
	if total == 0 {
		return nil, nil
	}
	return &k, nil
}

// readButton checks one inline button. Like Telegram it takes the first kind of button that it finds and ignores
// other fields (telebot sends several). Callback data is limited to 64 bytes, text to copy to 256 characters.
func readButton(fields map[string]json.RawMessage) (Button, error) {
	const cannot = "can't parse inline keyboard button: "
	all := Button{}
	// Only the fields that the sandbox knows are decoded; a wrong type in one of them is an error.
	for name, into := range map[string]any{
		"text": &all.Text, "style": &all.Style, "url": &all.URL, "callback_data": &all.CallbackData, "copy_text": &all.CopyText,
	} {
		if raw := fields[name]; isSet(raw) && json.Unmarshal(raw, into) != nil {
			return all, badRequest(cannot+"Field %q has a wrong type", name)
		}
	}
	b := Button{Text: all.Text, Style: all.Style}
	if strings.TrimSpace(b.Text) == "" {
		return b, badRequest(cannot + `Field "text" must be of type String and non-empty`)
	}
	switch {
	case isSet(fields["url"]):
		checked, problem := checkLink(all.URL)
		if problem != "" {
			return b, badRequest("inline keyboard button URL '%s' is invalid: %s", all.URL, problem)
		}
		b.URL = checked
	// Telegram limits callback data in bytes, not characters.
	case isSet(fields["callback_data"]):
		if n := len(all.CallbackData); n < 1 || n > 64 {
			return b, badRequest("BUTTON_DATA_INVALID")
		}
		b.CallbackData = all.CallbackData
	case all.CopyText != nil:
		if n := utf8.RuneCountInString(all.CopyText.Text); n < 1 || n > 256 {
			return b, badRequest("BUTTON_COPY_TEXT_INVALID")
		}
		b.CopyText = all.CopyText
	default:
		// Kinds of buttons that the sandbox does not have get a description of their own, so that a developer sees
		// why.
		for _, other := range []string{"login_url", "switch_inline_query", "switch_inline_query_current_chat", "switch_inline_query_chosen_chat", "callback_game", "pay"} {
			if isSet(fields[other]) {
				return b, badRequest(cannot+"the sandbox has no buttons of kind %s", other)
			}
		}
		return b, badRequest(cannot + "Text buttons are unallowed in the inline keyboard")
	}
	return b, nil
}

// readKeys reads a reply keyboard. A key is a string or an object.
func readKeys(raw json.RawMessage) ([][]Key, error) {
	var rows [][]json.RawMessage
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, badRequest(`field "keyboard" of the ReplyKeyboardMarkup must be an Array of Arrays`)
	}
	var out [][]Key
	for _, row := range rows {
		var keys []Key
		for _, one := range row {
			var k Key
			// A string is the short form of a key with only a text.
			if json.Unmarshal(one, &k.Text) != nil {
				if err := json.Unmarshal(one, &k); err != nil {
					return nil, badRequest("can't parse keyboard button: KeyboardButton must be a String or an Object")
				}
			}
			if k.RequestUsers != nil {
				if err := k.RequestUsers.complete(one); err != nil {
					return nil, err
				}
			}
			if strings.TrimSpace(k.Text) == "" {
				return nil, badRequest(`can't parse keyboard button: Field "text" must be of type String and non-empty`)
			}
			keys = append(keys, k)
		}
		if len(keys) > 0 {
			out = append(out, keys)
		}
	}
	if len(out) == 0 {
		return nil, badRequest("reply keyboard must have at least one button")
	}
	return out, nil
}

// complete checks a request for people and sets its default. raw is the JSON of the key.
func (r *RequestUsers) complete(raw json.RawMessage) error {
	var given struct {
		Request struct {
			ID  *int32 `json:"request_id"`
			Max *int   `json:"max_quantity"`
		} `json:"request_users"`
	}
	if err := json.Unmarshal(raw, &given); err != nil || given.Request.ID == nil {
		return badRequest(`can't parse keyboard button: Field "request_id" must be of type Number`)
	}
	// An absent maximum means one person. An explicit 0 is an error.
	if given.Request.Max == nil {
		r.MaxQuantity = 1
	}
	if r.MaxQuantity < 1 || r.MaxQuantity > 10 {
		return badRequest("can't parse keyboard button: max_quantity must be 1-10")
	}
	return nil
}
