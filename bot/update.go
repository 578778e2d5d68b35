package bot

import (
	"encoding/json"
	"errors"
	"slices"
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

// reader reads updates.
type reader struct{ secrets chat.Secrets }

var (
	errNoUpdate = errors.New("bot: not a Telegram update")
	errForeign  = errors.New("bot: an update of a form that we do not know")
)

// The Bot API's objects, as far as we read them (Bot API: Update, Message, CallbackQuery,
// ChatMemberUpdated). telebot's own structs are not used for reading: one field whose type changes
// in a later Bot API would lose them the whole update.
type rawUpdate struct {
	ID         *int64         `json:"update_id"`
	Message    *rawMessage    `json:"message,omitempty"`
	Edited     *rawMessage    `json:"edited_message,omitempty"`
	Callback   *rawCallback   `json:"callback_query,omitempty"`
	Membership *rawMembership `json:"my_chat_member,omitempty"`
}

type rawUser struct {
	ID        int64  `json:"id,omitempty"`
	IsBot     bool   `json:"is_bot,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Username  string `json:"username,omitempty"`
	Language  string `json:"language_code,omitempty"`
}

type rawChat struct {
	ID   int64  `json:"id,omitempty"`
	Type string `json:"type,omitempty"`
}

type rawMessage struct {
	ID         int             `json:"message_id,omitempty"`
	From       *rawUser        `json:"from,omitempty"`
	SenderChat json.RawMessage `json:"sender_chat,omitempty"` // an anonymous admin, or a channel
	Chat       *rawChat        `json:"chat,omitempty"`
	Date       int64           `json:"date,omitempty"` // unix seconds
	EditDate   int64           `json:"edit_date,omitempty"`
	Text       string          `json:"text,omitempty"`
	Caption    string          `json:"caption,omitempty"`
	Secret     chat.Secret     `json:"purser_secret,omitempty"` // of rows of ours alone: what was taken out of text or caption

	ReplyTo *struct {
		ID int `json:"message_id,omitempty"`
	} `json:"reply_to_message,omitempty"`

	ForwardOrigin json.RawMessage `json:"forward_origin,omitempty"`
	ForwardDate   int64           `json:"forward_date,omitempty"` // before Bot API 7.0
	ViaBot        json.RawMessage `json:"via_bot,omitempty"`      // words that another bot composed

	Contact *struct {
		UserID int64 `json:"user_id,omitempty"`
	} `json:"contact,omitempty"`

	// Bot API 7.0 sent user_ids, 7.2 and later send users.
	UsersShared *struct {
		Request int32 `json:"request_id,omitempty"`
		Users   []struct {
			ID int64 `json:"user_id,omitempty"`
		} `json:"users,omitempty"`
		IDs []int64 `json:"user_ids,omitempty"`
	} `json:"users_shared,omitempty"`

	// What a person can send besides words. Service messages have none of these.
	Photo     json.RawMessage `json:"photo,omitempty"`
	Voice     json.RawMessage `json:"voice,omitempty"`
	Audio     json.RawMessage `json:"audio,omitempty"`
	Animation json.RawMessage `json:"animation,omitempty"`
	Document  json.RawMessage `json:"document,omitempty"`
	Sticker   json.RawMessage `json:"sticker,omitempty"`
	Video     json.RawMessage `json:"video,omitempty"`
	VideoNote json.RawMessage `json:"video_note,omitempty"`
	PaidMedia json.RawMessage `json:"paid_media,omitempty"`
	Story     json.RawMessage `json:"story,omitempty"`
	Location  json.RawMessage `json:"location,omitempty"`
	Venue     json.RawMessage `json:"venue,omitempty"`
	Dice      json.RawMessage `json:"dice,omitempty"`
	Poll      json.RawMessage `json:"poll,omitempty"`
	Game      json.RawMessage `json:"game,omitempty"`
	Checklist json.RawMessage `json:"checklist,omitempty"`
}

// media lists the fields for everything that a person can send besides text.
func (m *rawMessage) media() []*json.RawMessage {
	return []*json.RawMessage{
		&m.Photo, &m.Voice, &m.Audio, &m.Animation, &m.Document, &m.Sticker, &m.Video, &m.VideoNote,
		&m.PaidMedia, &m.Story, &m.Location, &m.Venue, &m.Dice, &m.Poll, &m.Game, &m.Checklist,
	}
}

func (m *rawMessage) hasMedia() bool {
	return slices.ContainsFunc(m.media(), func(raw *json.RawMessage) bool { return present(*raw) })
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

// arrived parses an update as Telegram sends it, and reduces it to the fields that purser reads. It drops quoted messages,
// the text above a tapped button (which may be a new API key), and every secret that somebody typed. The reduced update
// is what the inbox stores. Free pages of a database keep everything that was ever written to it, so a secret must not
// get there at all.
//
// errNoUpdate means that body is no update. errForeign means that it has an id, which is set in the result, but that
// other fields have types which the Bot API does not document.
func (r reader) arrived(body []byte) (incoming, error) {
	raw, err := decodeUpdate(body)
	if err != nil {
		return incoming{id: raw.id()}, err
	}
	for _, m := range []*rawMessage{raw.Message, raw.Edited} {
		if m != nil {
			r.reduce(m)
		}
	}
	if c := raw.Callback; c != nil && c.Message != nil {
		c.Message = &rawMessage{ID: c.Message.ID, Chat: c.Message.Chat}
	}
	u := raw.read()
	if u.kind == ignored {
		return u, nil
	}
	u.body, err = json.Marshal(raw)
	return u, err
}

// kept parses an update that arrived has reduced, as a job of the inbox holds it.
func kept(body []byte) (incoming, error) {
	raw, err := decodeUpdate(body)
	if err != nil {
		return incoming{}, err
	}
	return raw.read(), nil
}

// reduce removes from a message everything that readMessage does not read. Of media it keeps that there was some, of a
// secret its kind. A text with a secret is dropped as a whole.
func (r reader) reduce(m *rawMessage) {
	m.Secret = r.secrets.In(m.Text + "\n" + m.Caption) // a message has one of the two
	if m.Secret != chat.NoSecret {
		m.Text, m.Caption = "", ""
	}
	for _, raw := range append(m.media(), &m.SenderChat, &m.ForwardOrigin, &m.ViaBot) {
		if present(*raw) {
			*raw = json.RawMessage("true")
		}
	}
}

// id returns the update's id; 0 without one.
func (raw *rawUpdate) id() int64 {
	if raw.ID == nil {
		return 0
	}
	return *raw.ID
}

// decodeUpdate parses JSON. If it fails because of a field of another type, it still looks for the id: such an update has
// to be acknowledged, or Telegram sends it again for ever.
func decodeUpdate(body []byte) (*rawUpdate, error) {
	raw := &rawUpdate{}
	if err := json.Unmarshal(body, raw); err != nil {
		head := &rawUpdate{}
		var only struct {
			ID *int64 `json:"update_id"`
		}
		if json.Unmarshal(body, &only) == nil && only.ID != nil {
			head.ID = only.ID
			return head, errForeign
		}
		return head, errNoUpdate
	}
	if raw.ID == nil || *raw.ID < 0 {
		return &rawUpdate{}, errNoUpdate
	}
	return raw, nil
}

// read returns what the update means to purser. Its kind is ignored if it is for nobody.
func (raw *rawUpdate) read() incoming {
	u := incoming{id: *raw.ID}
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
	return u
}

// readMessage reads a person's message. Messages of bots, channels and anonymous admins stay ignored, because nobody could
// be answered. So do service messages, because there is nothing to answer.
func (u *incoming) readMessage(m *rawMessage) {
	if m.Chat == nil || m.Chat.ID == 0 || m.From == nil || m.From.ID <= 0 || m.From.IsBot || present(m.SenderChat) {
		return
	}
	u.in = chat.Input{
		Chat: m.Chat.ID, Private: m.Chat.Type == "private", MessageID: m.ID, From: m.From.person(),
		At: moment(max(m.Date, m.EditDate)), Text: m.Text, Secret: m.Secret,
		Forwarded: present(m.ForwardOrigin) || m.ForwardDate != 0 || present(m.ViaBot),
	}
	if m.ReplyTo != nil {
		u.in.ReplyTo = m.ReplyTo.ID
	}
	switch {
	case m.Text != "", m.Secret != chat.NoSecret && !m.hasMedia():
		u.kind = words
	case m.Contact != nil:
		u.kind = contact
		u.in.Contact = &chat.Contact{TelegramID: m.Contact.UserID}
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

// readCallback reads a tap on an inline button.
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

// readMembership reads whether a person has blocked the bot in their private chat, or unblocked it.
func (u *incoming) readMembership(m *rawMembership) {
	if m.Chat == nil || m.Chat.ID <= 0 || m.Chat.Type != "private" || m.From == nil || m.From.ID <= 0 {
		return
	}
	u.kind = membership
	u.in = chat.Input{Chat: m.Chat.ID, Private: true, From: m.From.person()}
	u.blocked = m.New.Status == "kicked" || m.New.Status == "left"
}

// person converts a Telegram user to the chat's form.
func (r *rawUser) person() chat.Person {
	return chat.Person{
		TelegramID: r.ID, Username: strings.TrimPrefix(r.Username, "@"), FirstName: r.FirstName,
		LastName: r.LastName, Language: r.Language, IsBot: r.IsBot,
	}
}

// moment converts Unix seconds. It returns the zero time for a time that is unset or out of any reasonable range.
func moment(unix int64) time.Time {
	if unix <= 0 || unix > 1<<40 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}
