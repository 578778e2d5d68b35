package telegram

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The Bot API's limits, in characters after parsing of the markup.
const (
	maxText    = 4096
	maxCaption = 1024
)

// reach finds the chat that a call names. It fails with 403 if the bot may not write there. Callers hold s.mu.
func (s *Server) reach(q *request) (*room, error) {
	r, err := s.chatOf(q)
	if err != nil {
		return nil, err
	}
	if r.Chat.Type == "private" {
		switch p := s.st.People[r.Chat.ID]; {
		case p == nil || !p.Started:
			return nil, forbidden("bot can't initiate conversation with a user")
		case p.Blocked:
			return nil, forbidden("bot was blocked by the user")
		}
	}
	return r, nil
}

// chatOf finds the chat that a call names: a person's private chat, started or not, or a group. Callers hold s.mu.
func (s *Server) chatOf(q *request) (*room, error) {
	raw := strings.TrimSpace(q.text("chat_id"))
	if raw == "" {
		return nil, badRequest("chat_id is empty")
	}
	id, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return nil, badRequest("chat not found") // a @username can only name a channel, and there are none here
	}
	if r := s.st.Rooms[id]; r != nil {
		return r, nil
	}
	if p := s.st.People[id]; p != nil {
		return privateRoom(p), nil
	}
	return nil, badRequest("chat not found")
}

// privateRoom is the private chat of a person. Its id is the person's id.
func privateRoom(p *person) *room {
	u := p.User
	return &room{
		Chat:    Chat{ID: u.ID, Type: "private", FirstName: u.FirstName, LastName: u.LastName, Username: u.Username},
		Members: []int64{u.ID},
	}
}

// sendMessage sends a text.
func (s *Server) sendMessage(q *request) (result, error) {
	// An absent chat is reported before an absent text, as in Telegram.
	if q.text("text") == "" {
		if strings.TrimSpace(q.text("chat_id")) == "" {
			return result{}, badRequest("chat_id is empty")
		}
		return result{}, badRequest("message text is empty")
	}
	text, entities, err := formatted(q, "text", "entities")
	if err != nil {
		return result{}, err
	}
	if err := fits(text, maxText, "message is too long"); err != nil {
		return result{}, err
	}
	if text == "" {
		return result{}, badRequest("text must be non-empty")
	}
	return s.send(q, Message{Text: text, Entities: entities}, nil)
}

// fits refuses a text with more than limit characters.
func fits(text string, limit int, otherwise string) error {
	if utf8.RuneCountInString(text) > limit {
		return badRequest("%s", otherwise)
	}
	return nil
}

// sendPhoto sends a picture, as an upload or by file_id.
func (s *Server) sendPhoto(q *request) (result, error) {
	m, f, err := s.withFile(q, "photo")
	if err != nil {
		return result{}, err
	}
	return s.send(q, m, f)
}

// sendDocument sends a file of any type, as an upload or by file_id.
func (s *Server) sendDocument(q *request) (result, error) {
	m, f, err := s.withFile(q, "document")
	if err != nil {
		return result{}, err
	}
	return s.send(q, m, f)
}

// withFile builds the message for a file, which is an upload (stored later) or is known by its file_id.
func (s *Server) withFile(q *request, field string) (Message, *newFile, error) {
	var m Message
	var err error
	m.Caption, m.CaptionEntities, err = formatted(q, "caption", "caption_entities")
	if err != nil {
		return m, nil, err
	}
	if err := fits(m.Caption, maxCaption, "message caption is too long"); err != nil {
		return m, nil, err
	}
	f, err := s.fileOf(q, field)
	if err != nil {
		return m, nil, err
	}
	m.carry(f.meta)
	return m, f, nil
}

// carry puts a file into the message and removes any other.
func (m *Message) carry(f fileMeta) {
	m.Photo, m.Video, m.Document = nil, nil, nil
	switch f.kind() {
	case "photo":
		m.Photo = []PhotoSize{f.photo()}
	case "video":
		m.Video = f.video()
	default:
		m.Document = f.document()
	}
}

// send sends a message that lacks only its chat, sender, id and markup. Message, file and keyboard are one commit.
func (s *Server) send(q *request, m Message, f *newFile) (result, error) {
	mk, err := readMarkup(q.text("reply_markup"))
	if err != nil {
		return result{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reach(q)
	if err != nil {
		return result{}, err
	}
	if err := s.addReply(q, r.Chat.ID, &m); err != nil {
		return result{}, err
	}
	// Limits count last, so that a call that is refused for another reason costs nothing.
	if err := s.allow(r.Chat, 1); err != nil {
		return result{}, err
	}
	m = s.outgoing(q, r, m)
	m.ReplyMarkup = mk.inline
	changes, err := s.keep(f)
	if err != nil {
		return result{}, err
	}
	changes = append(changes, change{Message: &stored{Message: m, Keyboard: mk.keys}})
	// The newest message with a keyboard replaces the chat's keyboard, or removes it.
	if mk.keys != nil || mk.remove {
		with := *r
		with.Keyboard = mk.keys
		changes = append(changes, change{Room: &with})
	}
	if err := s.commit(changes...); err != nil {
		return result{}, err
	}
	// Who watches learns of the keyboard and the message only when both are durable.
	if mk.keys != nil || mk.remove {
		s.feed.add(event{Kind: "keyboard", Chat: r.Chat.ID, Keyboard: mk.keys})
	}
	s.tellMessage(m.ID)
	s.feed.add(event{Kind: "typing", Chat: r.Chat.ID})
	return result{value: m}, nil
}

// outgoing completes a message of the bot: id, sender, date, and the options of the call. Callers hold s.mu.
func (s *Server) outgoing(q *request, r *room, m Message) Message {
	bot := s.bot
	m.ID, m.From, m.Chat, m.Date = s.st.NextMessage, &bot, r.Chat, s.unix()
	m.Protected = q.flag("protect_content")
	// Preview options are stored and returned as they came.
	if raw := q.text("link_preview_options"); json.Valid([]byte(raw)) && strings.HasPrefix(raw, "{") {
		m.LinkPreview = json.RawMessage(raw)
	}
	return m
}

// keep stores the bytes of a new file and returns the change that makes the file known. There is none for a file that
// is known.
func (s *Server) keep(f *newFile) ([]change, error) {
	if f == nil || f.data == nil {
		return nil, nil
	}
	if err := s.journal.save(f.meta.ID, f.data); err != nil {
		return nil, err
	}
	return []change{{File: &f.meta}}, nil
}

// addReply sets the message that reply_parameters (or the older reply_to_message_id) names. Callers hold s.mu.
func (s *Server) addReply(q *request, chat int64, m *Message) error {
	id, lenient := q.number("reply_to_message_id", 0), q.flag("allow_sending_without_reply")
	// reply_parameters replaces the two older parameters.
	if raw := q.text("reply_parameters"); raw != "" {
		var p struct {
			MessageID int64 `json:"message_id"`
			Lenient   bool  `json:"allow_sending_without_reply"`
		}
		if err := json.Unmarshal([]byte(raw), &p); err != nil {
			return badRequest("can't parse reply parameters JSON object")
		}
		id, lenient = p.MessageID, p.Lenient
	}
	if id == 0 {
		return nil
	}
	quoted := s.st.Messages[id]
	if quoted == nil || quoted.Message.Chat.ID != chat {
		if lenient {
			return nil
		}
		return badRequest("message to be replied not found")
	}
	inner := quoted.Message
	inner.ReplyTo = nil
	m.ReplyTo = &inner
	return nil
}

// ownMessage finds the bot's message that an edit names. Callers hold s.mu.
func (s *Server) ownMessage(q *request) (*stored, error) {
	if q.text("inline_message_id") != "" {
		return nil, badRequest("MESSAGE_ID_INVALID")
	}
	r, err := s.chatOf(q)
	if err != nil {
		return nil, err
	}
	id := q.number("message_id", 0)
	if id == 0 {
		return nil, badRequest("message identifier is not specified")
	}
	m := s.st.Messages[id]
	if m == nil || m.Message.Chat.ID != r.Chat.ID {
		return nil, badRequest("message to edit not found")
	}
	if !m.Message.FromBot() {
		return nil, badRequest("message can't be edited")
	}
	return m, nil
}

// edit lets changed modify a message of the bot, and commits it with the file that it brings (nil: none). An edit without reply_markup removes the buttons. An
// edit that changes nothing is an error, as in Telegram; bots have to expect it.
func (s *Server) edit(q *request, f *newFile, changed func(*Message) error) (result, error) {
	mk, err := readMarkup(q.text("reply_markup"))
	if err != nil {
		return result{}, err
	}
	if mk.keys != nil || mk.remove {
		return result{}, badRequest("inline keyboard expected")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, err := s.ownMessage(q)
	if err != nil {
		return result{}, err
	}
	// A blocked bot cannot edit either. Edits count towards the limits.
	if p := s.st.People[old.Message.Chat.ID]; p != nil && p.Blocked {
		return result{}, forbidden("bot was blocked by the user")
	}
	if err := s.allow(old.Message.Chat, 1); err != nil {
		return result{}, err
	}
	next := *old
	if err := changed(&next.Message); err != nil {
		return result{}, err
	}
	// An edit without buttons removes them, as in Telegram.
	next.Message.ReplyMarkup = mk.inline
	if sameMessage(next.Message, old.Message) {
		return result{}, badRequest("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	}
	next.Message.EditDate = s.unix()
	next.Edits++
	kept, err := s.keep(f)
	if err != nil {
		return result{}, err
	}
	if err := s.commit(append(kept, change{Message: &next})...); err != nil {
		return result{}, err
	}
	s.tellMessage(next.Message.ID)
	return result{value: next.Message}, nil
}

// sameMessage tells whether two versions of a message look the same.
func sameMessage(a, b Message) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// editMessageText replaces the text of a message that has one.
func (s *Server) editMessageText(q *request) (result, error) {
	if q.text("text") == "" {
		return result{}, badRequest("message text is empty")
	}
	text, entities, err := formatted(q, "text", "entities")
	if err != nil {
		return result{}, err
	}
	if err := fits(text, maxText, "MESSAGE_TOO_LONG"); err != nil {
		return result{}, err
	}
	if text == "" {
		return result{}, badRequest("text must be non-empty")
	}
	return s.edit(q, nil, func(m *Message) error {
		if m.Text == "" { // messages with a file have a caption instead
			return badRequest("there is no text in the message to edit")
		}
		m.Text, m.Entities = text, entities
		return nil
	})
}

// editMessageCaption replaces the caption of a file.
func (s *Server) editMessageCaption(q *request) (result, error) {
	caption, entities, err := formatted(q, "caption", "caption_entities")
	if err != nil {
		return result{}, err
	}
	if err := fits(caption, maxCaption, "message caption is too long"); err != nil {
		return result{}, err
	}
	return s.edit(q, nil, func(m *Message) error {
		if !m.hasFile() {
			return badRequest("there is no caption in the message to edit")
		}
		m.Caption, m.CaptionEntities = caption, entities
		return nil
	})
}

// editMessageReplyMarkup replaces the buttons only.
func (s *Server) editMessageReplyMarkup(q *request) (result, error) {
	return s.edit(q, nil, func(*Message) error { return nil })
}

// deleteMessage removes a message for everybody in the chat.
func (s *Server) deleteMessage(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.chatOf(q)
	if err != nil {
		return result{}, err
	}
	id := q.number("message_id", 0)
	if id == 0 {
		return result{}, badRequest("message identifier is not specified")
	}
	m := s.st.Messages[id]
	if m == nil || m.Message.Chat.ID != r.Chat.ID {
		return result{}, badRequest("message to delete not found")
	}
	// Bots may delete any message in a private chat and their own in a group, within 48 hours.
	if s.unix()-m.Message.Date > 48*3600 || r.Chat.Type != "private" && !m.Message.FromBot() {
		return result{}, badRequest("message can't be deleted for everyone")
	}
	if err := s.commit(change{Gone: id}); err != nil {
		return result{}, err
	}
	s.feed.add(event{Kind: "gone", Chat: r.Chat.ID, MessageID: id})
	return result{value: true}, nil
}

// sendChatAction shows "typing" and the like on the page. It is not stored.
func (s *Server) sendChatAction(q *request) (result, error) {
	switch q.text("action") {
	case "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice",
		"upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note":
	default:
		return result{}, badRequest("wrong parameter action in request")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reach(q)
	if err != nil {
		return result{}, err
	}
	s.feed.add(event{Kind: "typing", Chat: r.Chat.ID, Action: q.text("action")})
	s.wake()
	return result{value: true}, nil
}

// setMessageReaction checks its arguments. The page does not show reactions.
func (s *Server) setMessageReaction(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reach(q)
	if err != nil {
		return result{}, err
	}
	if m := s.st.Messages[q.number("message_id", 0)]; m == nil || m.Message.Chat.ID != r.Chat.ID {
		return result{}, badRequest("message to react not found")
	}
	return result{value: true}, nil
}
