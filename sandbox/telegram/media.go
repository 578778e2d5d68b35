package telegram

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// hasFile tells whether the message has a file, and so a caption instead of a text.
func (m Message) hasFile() bool { return m.Photo != nil || m.Video != nil || m.Document != nil }

// sendVideo sends one video. The sandbox stores it as it is and never decodes it.
func (s *Server) sendVideo(q *request) (result, error) {
	m, f, err := s.withFile(q, "video")
	if err != nil {
		return result{}, err
	}
	return s.send(q, m, f)
}

// inputMedia reads one InputMedia object, and returns the message and file that it describes. An upload is a part of
// the same call, named by attach://name.
func (s *Server) inputMedia(q *request, raw json.RawMessage) (Message, *newFile, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return Message{}, nil, badRequest("can't parse InputMedia: expected an Object")
	}
	// The object is read like a call of its own, so that its caption is parsed like any other.
	inner := &request{r: q.r, params: map[string]string{}, files: map[string]upload{}}
	for name, value := range fields {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		inner.params[name] = text
	}
	kind := inner.text("type")
	if !slices.Contains([]string{"photo", "video", "document"}, kind) {
		return Message{}, nil, badRequest("can't parse InputMedia: the sandbox has no media of type %q", kind)
	}
	inner.params[kind] = inner.text("media")
	// The upload is a part of the outer call.
	if name, attached := strings.CutPrefix(inner.text("media"), "attach://"); attached {
		up, uploaded := q.files[name]
		if !uploaded {
			return Message{}, nil, badRequest("there is no %s in the request", kind)
		}
		inner.files[kind], inner.params[kind] = up, ""
	}
	return s.withFile(inner, kind)
}

// sendMediaGroup sends an album of 2 to 10 photos and videos, or of documents only. It counts as that many messages
// for the limits.
func (s *Server) sendMediaGroup(q *request) (result, error) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(q.text("media")), &list) != nil {
		return result{}, badRequest("can't parse media: expected an Array of InputMedia")
	}
	if len(list) < 2 || len(list) > 10 {
		return result{}, badRequest("media must include 2-10 items")
	}
	messages, files := make([]Message, len(list)), make([]*newFile, len(list))
	documents := 0
	for i, raw := range list {
		var err error
		if messages[i], files[i], err = s.inputMedia(q, raw); err != nil {
			return result{}, err
		}
		if messages[i].Document != nil {
			documents++
		}
	}
	if documents != 0 && documents != len(list) {
		return result{}, badRequest("document can't be mixed with other media types")
	}
	// All messages are checked before the first is stored, and all are stored in one commit.
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reach(q)
	if err != nil {
		return result{}, err
	}
	if err := s.allow(r.Chat, len(list)); err != nil {
		return result{}, err
	}
	group, first := s.randomDigits(17), s.st.NextMessage
	var changes []change
	for i := range messages {
		m := s.outgoing(q, r, messages[i])
		m.ID, m.MediaGroupID = first+int64(i), group
		if err := s.addReply(q, r.Chat.ID, &m); err != nil {
			return result{}, err
		}
		// Files are stored before the commit that refers to them. A crash in between leaves a file that nothing uses.
		kept, err := s.keep(files[i])
		if err != nil {
			return result{}, err
		}
		messages[i] = m
		changes = append(append(changes, kept...), change{Message: &stored{Message: m}})
	}
	if err := s.commit(changes...); err != nil {
		return result{}, err
	}
	for _, m := range messages {
		s.tellMessage(m.ID)
	}
	return result{value: messages}, nil
}

// editMessageMedia replaces a message's file or text by another file with its caption.
func (s *Server) editMessageMedia(q *request) (result, error) {
	raw := q.text("media")
	if raw == "" {
		return result{}, badRequest("there is no media in the request")
	}
	next, f, err := s.inputMedia(q, json.RawMessage(raw))
	if err != nil {
		return result{}, err
	}
	return s.edit(q, f, func(m *Message) error {
		if m.Text == "" && !m.hasFile() {
			return badRequest("message can't be edited")
		}
		m.Text, m.Entities = "", nil
		m.Caption, m.CaptionEntities = next.Caption, next.CaptionEntities
		m.carry(f.meta)
		return nil
	})
}

// sendLocation sends a point on the map: degrees, and an accuracy in metres.
func (s *Server) sendLocation(q *request) (result, error) {
	var at [3]float64
	for i, name := range []string{"latitude", "longitude", "horizontal_accuracy"} {
		// The accuracy is optional.
		text := strings.TrimSpace(q.text(name))
		if text == "" && name == "horizontal_accuracy" {
			continue
		}
		degrees, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(degrees) || math.IsInf(degrees, 0) {
			return result{}, badRequest("%s is invalid", name)
		}
		at[i] = degrees
	}
	if math.Abs(at[0]) > 90 || math.Abs(at[1]) > 180 || at[2] < 0 || at[2] > 1500 {
		return result{}, badRequest("wrong location specified")
	}
	return s.send(q, Message{Location: &Location{at[0], at[1], at[2]}}, nil)
}

// faces is the highest value of each emoji that sendDice accepts. Read-only after start.
var faces = map[string]int{"🎲": 6, "🎯": 6, "🎳": 6, "🏀": 5, "⚽": 5, "🎰": 64}

// sendDice draws a value from 1 to the emoji's highest.
func (s *Server) sendDice(q *request) (result, error) {
	emoji := orElse(strings.TrimSuffix(strings.TrimSpace(q.text("emoji")), "\ufe0f"), "🎲")
	highest := faces[emoji]
	if highest == 0 {
		return result{}, badRequest("wrong dice emoji specified")
	}
	s.mu.Lock()
	// The value comes from the Server's own randomness, so that tests can fix it.
	drawn, err := strconv.Atoi(s.randomDigits(6))
	s.mu.Unlock()
	if err != nil {
		return result{}, err
	}
	return s.send(q, Message{Dice: &Dice{emoji, 1 + drawn%highest}}, nil)
}

// The Bot API's limits for polls, in characters and answers.
const (
	maxQuestion   = 300
	maxPollOption = 100
	maxOptions    = 12
)

// sendPoll sends a poll. Nobody can vote in the sandbox, so it stays at zero votes.
func (s *Server) sendPoll(q *request) (result, error) {
	question := strings.TrimSpace(q.text("question"))
	if question == "" {
		return result{}, badRequest("poll question must be non-empty")
	}
	if err := fits(question, maxQuestion, "poll question length must not exceed 300"); err != nil {
		return result{}, err
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(q.text("options")), &list) != nil {
		return result{}, badRequest("can't parse options JSON object")
	}
	if len(list) < 1 || len(list) > maxOptions {
		return result{}, badRequest("poll must have 1-%d options", maxOptions)
	}
	p := &Poll{Question: question, Type: orElse(q.text("type"), "regular"), AllowsMultiple: q.flag("allows_multiple_answers"),
		IsAnonymous: q.text("is_anonymous") == "" || q.flag("is_anonymous"), IsClosed: q.flag("is_closed")}
	if p.Type != "regular" && p.Type != "quiz" {
		return result{}, badRequest("unsupported poll type specified")
	}
	// An option is a string, or an object with a text.
	for _, raw := range list {
		var option struct{ Text string }
		if json.Unmarshal(raw, &option.Text) != nil && json.Unmarshal(raw, &option) != nil {
			return result{}, badRequest("can't parse options JSON object")
		}
		text := strings.TrimSpace(option.Text)
		if text == "" {
			return result{}, badRequest("poll options must be non-empty")
		}
		if utf8.RuneCountInString(text) > maxPollOption {
			return result{}, badRequest("poll options length must not exceed 100")
		}
		p.Options = append(p.Options, PollOption{Text: text})
	}
	s.mu.Lock()
	p.ID = s.randomDigits(19)
	s.mu.Unlock()
	return s.send(q, Message{Poll: p}, nil)
}

// stopPoll closes a poll and returns its final state.
func (s *Server) stopPoll(q *request) (result, error) {
	res, err := s.edit(q, nil, func(m *Message) error {
		switch {
		case m.Poll == nil:
			return badRequest("message with poll to stop not found")
		case m.Poll.IsClosed:
			return badRequest("poll has already been closed")
		}
		closed := *m.Poll
		closed.IsClosed = true
		m.Poll = &closed
		return nil
	})
	if err != nil {
		return result{}, err
	}
	return result{value: res.value.(Message).Poll}, nil
}

// source finds the message that a call forwards or copies. what is the verb for errors. Callers hold s.mu.
func (s *Server) source(q *request, what string) (Message, error) {
	from := &request{params: map[string]string{"chat_id": q.text("from_chat_id")}}
	r, err := s.chatOf(from)
	if err != nil {
		return Message{}, err
	}
	m := s.st.Messages[q.number("message_id", 0)]
	switch {
	case m == nil || m.Message.Chat.ID != r.Chat.ID:
		return Message{}, badRequest("message to %s not found", what)
	case m.Message.Protected || m.Message.Pinned != nil:
		return Message{}, badRequest("message can't be %s", map[string]string{"forward": "forwarded", "copy": "copied"}[what])
	}
	// The copy keeps the content. Reply, buttons and album belong to the original.
	out := m.Message
	out.ReplyTo, out.ReplyMarkup, out.EditDate, out.MediaGroupID, out.LinkPreview = nil, nil, 0, "", nil
	return out, nil
}

// forwardMessage sends a message again, with its author as the origin.
func (s *Server) forwardMessage(q *request) (result, error) {
	s.mu.Lock()
	m, err := s.source(q, "forward")
	s.mu.Unlock()
	if err != nil {
		return result{}, err
	}
	if m.ForwardOrigin == nil {
		m.ForwardOrigin = &Origin{Type: "user", Date: m.Date, SenderUser: m.From}
	}
	// The options of the call count, except for buttons and replies, which a forwarded message has not.
	return s.send(&request{r: q.r, params: without(q.params, "reply_markup", "reply_parameters", "reply_to_message_id")}, m, nil)
}

// copyMessage sends a message again without its origin, and with another caption if one is given. It returns the new
// id only.
func (s *Server) copyMessage(q *request) (result, error) {
	s.mu.Lock()
	m, err := s.source(q, "copy")
	s.mu.Unlock()
	if err != nil {
		return result{}, err
	}
	m.ForwardOrigin = nil
	if _, given := q.params["caption"]; given && m.hasFile() {
		if m.Caption, m.CaptionEntities, err = formatted(q, "caption", "caption_entities"); err != nil {
			return result{}, err
		}
		if err := fits(m.Caption, maxCaption, "message caption is too long"); err != nil {
			return result{}, err
		}
	}
	res, err := s.send(q, m, nil)
	if err != nil {
		return result{}, err
	}
	return result{value: map[string]int64{"message_id": res.value.(Message).ID}}, nil
}

// without is a copy of the parameters without some of them.
func without(params map[string]string, names ...string) map[string]string {
	out := map[string]string{}
	for name, value := range params {
		if !slices.Contains(names, name) {
			out[name] = value
		}
	}
	return out
}

// pinChatMessage pins a message and adds a service message about it, as Telegram does.
func (s *Server) pinChatMessage(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reach(q)
	if err != nil {
		return result{}, err
	}
	id := q.number("message_id", 0)
	pinned := s.st.Messages[id]
	if pinned == nil || pinned.Message.Chat.ID != r.Chat.ID {
		return result{}, badRequest("message to pin not found")
	}
	// Pinning a pinned message changes nothing.
	if slices.Contains(r.Pinned, id) {
		return result{value: true}, nil
	}
	next := *r
	next.Pinned = append(slices.Clone(r.Pinned), id)
	inner := pinned.Message
	inner.ReplyTo = nil
	note := s.outgoing(&request{}, r, Message{Pinned: &inner})
	if err := s.commit(change{Room: &next}, change{Message: &stored{Message: note}}); err != nil {
		return result{}, err
	}
	s.tellMessage(note.ID)
	return result{value: true}, nil
}

// unpinChatMessage unpins the given message, or else the one that was pinned last.
func (s *Server) unpinChatMessage(q *request) (result, error) {
	return s.unpin(q, func(pinned []int64) ([]int64, error) {
		if len(pinned) == 0 {
			return nil, badRequest("message to unpin not found")
		}
		id := q.number("message_id", pinned[len(pinned)-1])
		if !slices.Contains(pinned, id) {
			return nil, badRequest("message to unpin not found")
		}
		return slices.DeleteFunc(slices.Clone(pinned), func(other int64) bool { return other == id }), nil
	})
}

// unpinAllChatMessages unpins every message of a chat.
func (s *Server) unpinAllChatMessages(q *request) (result, error) {
	return s.unpin(q, func([]int64) ([]int64, error) { return nil, nil })
}

// unpin replaces the list of pinned messages by what left returns for it.
func (s *Server) unpin(q *request, left func([]int64) ([]int64, error)) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.reach(q)
	if err != nil {
		return result{}, err
	}
	next := *r
	if next.Pinned, err = left(r.Pinned); err != nil {
		return result{}, err
	}
	return result{value: true}, s.commit(change{Room: &next})
}

// getUserProfilePhotos returns no pictures, because no one in the sandbox has any.
func (s *Server) getUserProfilePhotos(q *request) (result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := q.number("user_id", 0); s.st.People[id] == nil && id != s.bot.ID {
		return result{}, badRequest("user not found")
	}
	return result{value: struct {
		Total  int           `json:"total_count"`
		Photos [][]PhotoSize `json:"photos"`
	}{0, [][]PhotoSize{}}}, nil
}
