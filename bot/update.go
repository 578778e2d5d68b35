package bot

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"purser/chat"
)

// updateKind is what an update is to us.
type updateKind int

const (
	ignored    updateKind = iota // nothing that we answer: acknowledged and dropped
	words                        // a text, or media with or without a caption
	media                        // like words, but no text message
	edit                         // an edited message
	contact                      // a shared phone number
	picked                       // a person chosen from Telegram's list
	tap                          // a touch of a button
	membership                   // the bot was blocked or unblocked
)

// incoming is one update as we understand it. in.Chat is its line also for kinds without Input.
type incoming struct {
	id      int64
	kind    updateKind
	in      chat.Input
	blocked bool // of membership: the person has blocked us
	body    []byte
}

var (
	errNoUpdate = errors.New("bot: not a Telegram update")
	errForeign  = errors.New("bot: an update of a form that we do not know")
)

// The Bot API's objects, as far as we read them (Bot API: Update, Message, CallbackQuery,
// ChatMemberUpdated). telebot's own structs are not used for reading: one field whose type changes
// in a later Bot API would lose them the whole update.
type rawUpdate struct {
	ID         *int64         `json:"update_id"`
	Message    *rawMessage    `json:"message"`
	Edited     *rawMessage    `json:"edited_message"`
	Callback   *rawCallback   `json:"callback_query"`
	Membership *rawMembership `json:"my_chat_member"`
}

type rawUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	Language  string `json:"language_code"`
}

type rawChat struct {
	ID   int64  `json:"id"`
	Type string `json:"type"`
}

type rawMessage struct {
	ID         int             `json:"message_id"`
	From       *rawUser        `json:"from"`
	SenderChat json.RawMessage `json:"sender_chat"` // an anonymous admin, or a channel
	Chat       *rawChat        `json:"chat"`
	Date       int64           `json:"date"` // unix seconds
	EditDate   int64           `json:"edit_date"`
	Text       string          `json:"text"`
	Caption    string          `json:"caption"`

	ForwardOrigin json.RawMessage `json:"forward_origin"`
	ForwardDate   int64           `json:"forward_date"` // before Bot API 7.0
	ViaBot        json.RawMessage `json:"via_bot"`      // words that another bot composed

	Contact *struct {
		Phone  string `json:"phone_number"`
		UserID int64  `json:"user_id"`
	} `json:"contact"`

	// Bot API 7.0 told user_ids, 7.2 and later tell users.
	UsersShared *struct {
		Request int32 `json:"request_id"`
		Users   []struct {
			ID int64 `json:"user_id"`
		} `json:"users"`
		IDs []int64 `json:"user_ids"`
	} `json:"users_shared"`

	// What a person can send besides words. Service messages have none of these.
	Photo     json.RawMessage `json:"photo"`
	Voice     json.RawMessage `json:"voice"`
	Audio     json.RawMessage `json:"audio"`
	Animation json.RawMessage `json:"animation"`
	Document  json.RawMessage `json:"document"`
	Sticker   json.RawMessage `json:"sticker"`
	Video     json.RawMessage `json:"video"`
	VideoNote json.RawMessage `json:"video_note"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Story     json.RawMessage `json:"story"`
	Location  json.RawMessage `json:"location"`
	Venue     json.RawMessage `json:"venue"`
	Dice      json.RawMessage `json:"dice"`
	Poll      json.RawMessage `json:"poll"`
	Game      json.RawMessage `json:"game"`
	Checklist json.RawMessage `json:"checklist"`
}

func (m *rawMessage) hasMedia() bool {
	for _, raw := range []json.RawMessage{
		m.Photo, m.Voice, m.Audio, m.Animation, m.Document, m.Sticker, m.Video, m.VideoNote,
		m.PaidMedia, m.Story, m.Location, m.Venue, m.Dice, m.Poll, m.Game, m.Checklist,
	} {
		if present(raw) {
			return true
		}
	}
	return false
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

type rawCallback struct {
	ID      string      `json:"id"`
	From    *rawUser    `json:"from"`
	Message *rawMessage `json:"message"`
	Data    string      `json:"data"`
}

type rawMembership struct {
	Chat *rawChat `json:"chat"`
	From *rawUser `json:"from"`
	New  struct {
		Status string `json:"status"`
	} `json:"new_chat_member"`
}

// parseUpdate reads a raw update. errNoUpdate: it is none. errForeign: it has an id, which is set,
// but fields that we need have other types than the Bot API says.
func parseUpdate(body []byte) (incoming, error) {
	var raw rawUpdate
	if err := json.Unmarshal(body, &raw); err != nil {
		var head struct {
			ID *int64 `json:"update_id"`
		}
		if json.Unmarshal(body, &head) == nil && head.ID != nil {
			return incoming{id: *head.ID}, errForeign
		}
		return incoming{}, errNoUpdate
	}
	if raw.ID == nil || *raw.ID < 0 {
		return incoming{}, errNoUpdate
	}
	u := incoming{id: *raw.ID, body: body}
	switch {
	case raw.Message != nil:
		u.readMessage(raw.Message)
	case raw.Edited != nil:
		if u.readMessage(raw.Edited); u.kind != ignored {
			u.kind, u.in.Edited, u.in.Contact, u.in.Picked = edit, true, nil, nil
		}
	case raw.Callback != nil:
		u.readCallback(raw.Callback)
	case raw.Membership != nil:
		u.readMembership(raw.Membership)
	}
	return u, nil
}

// readMessage keeps what a person wrote. Bots, channels, anonymous admins and service messages
// stay ignored: nobody who could be answered, or nothing to answer.
func (u *incoming) readMessage(m *rawMessage) {
	if m.Chat == nil || m.Chat.ID == 0 || m.From == nil || m.From.ID <= 0 || m.From.IsBot || present(m.SenderChat) {
		return
	}
	u.in = chat.Input{
		Chat: m.Chat.ID, Private: m.Chat.Type == "private", MessageID: m.ID, From: m.From.person(),
		At: moment(max(m.Date, m.EditDate)), Text: m.Text,
		Forwarded: present(m.ForwardOrigin) || m.ForwardDate != 0 || present(m.ViaBot),
	}
	switch {
	case m.Text != "":
		u.kind = words
	case m.Contact != nil:
		u.kind = contact
		u.in.Contact = &chat.Contact{TelegramID: m.Contact.UserID, Phone: m.Contact.Phone}
	case m.UsersShared != nil && u.in.Private:
		u.kind = picked
		u.in.Picked = &chat.Picked{Request: m.UsersShared.Request}
		ids := m.UsersShared.IDs
		if len(ids) == 0 {
			for _, user := range m.UsersShared.Users {
				ids = append(ids, user.ID)
			}
		}
		if len(ids) == 1 { // we ask for one
			u.in.Picked.TelegramID = ids[0]
		}
	case m.hasMedia() && u.in.Private:
		u.kind = media
		u.in.Text = m.Caption
	}
}

func (u *incoming) readCallback(c *rawCallback) {
	// A button without its message belongs to inline mode, which this bot does not have.
	if c.ID == "" || c.From == nil || c.From.ID <= 0 || c.From.IsBot || c.Message == nil || c.Message.Chat == nil || c.Message.Chat.ID == 0 {
		return
	}
	u.kind = tap
	u.in = chat.Input{
		Chat: c.Message.Chat.ID, Private: c.Message.Chat.Type == "private", MessageID: c.Message.ID,
		From: c.From.person(), Tap: &chat.Tap{CallbackID: c.ID, Data: c.Data},
	}
}

func (u *incoming) readMembership(m *rawMembership) {
	if m.Chat == nil || m.Chat.ID <= 0 || m.Chat.Type != "private" || m.From == nil || m.From.ID <= 0 {
		return
	}
	u.kind = membership
	u.in = chat.Input{Chat: m.Chat.ID, Private: true, From: m.From.person()}
	u.blocked = m.New.Status == "kicked" || m.New.Status == "left"
}

func (r *rawUser) person() chat.Person {
	return chat.Person{
		TelegramID: r.ID, Username: strings.TrimPrefix(r.Username, "@"), FirstName: r.FirstName,
		LastName: r.LastName, Language: r.Language, IsBot: r.IsBot,
	}
}

// moment is zero for an unset or absurd time.
func moment(unix int64) time.Time {
	if unix <= 0 || unix > 1<<40 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}
