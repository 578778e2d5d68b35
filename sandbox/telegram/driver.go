package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrBlockedBot is returned when a person who has blocked the bot would write to it.
var ErrBlockedBot = errors.New("sandbox telegram: this person has blocked the bot")

// AddUser adds a person, or replaces the one with the same id. The phone number may be empty.
func (s *Server) AddUser(u User, phone string) error {
	if u.ID <= 0 || u.ID == s.bot.ID {
		return fmt.Errorf("sandbox telegram: %d cannot be a person's id", u.ID)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commit(change{Person: &person{User: u, Phone: phone}})
}

// NewGroup makes a group of these people and the bot, and returns its id, which is negative as in Telegram.
func (s *Server) NewGroup(title string, members ...int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Group ids are negative and count down from here.
	id := int64(-4_000_000_001)
	for s.st.Rooms[id] != nil {
		id--
	}
	if len(members) == 0 {
		return 0, errors.New("sandbox telegram: a group needs a member")
	}
	for _, m := range members {
		if s.st.People[m] == nil {
			return 0, fmt.Errorf("sandbox telegram: nobody has id %d", m)
		}
	}
	r := room{Chat: Chat{ID: id, Type: "group", Title: title}, Members: append(slices.Clone(members), s.bot.ID)}
	b := s.batch()
	b.add(change{Room: &r})
	if _, err := b.update("my_chat_member", s.membership(r.Chat, s.st.People[members[0]].User, "left", "member")); err != nil {
		return 0, err
	}
	return id, b.commit()
}

// membership is a ChatMemberUpdated about the bot: by is the person who changed its status from before to after.
func (s *Server) membership(c Chat, by User, before, after string) map[string]any {
	member := func(status string) map[string]any { return map[string]any{"user": s.bot, "status": status} }
	return map[string]any{
		"chat": c, "from": by, "date": s.unix(),
		"old_chat_member": member(before), "new_chat_member": member(after),
	}
}

// Say sends a text from the person to the bot in their private chat. Text over 4,096 characters is sent in parts, as
// the apps do. It returns the id of the last update.
func (s *Server) Say(user int64, text string) (int64, error) { return s.say(user, user, text, nil) }

// SayIn sends a text from a member in a group. In privacy mode the bot receives only commands, replies to it and
// mentions of it. For any other text the returned update id is 0.
func (s *Server) SayIn(chat, user int64, text string) (int64, error) {
	return s.say(chat, user, text, nil)
}

// Reply sends a text in reply to a message of the private chat.
func (s *Server) Reply(user, messageID int64, text string) (int64, error) {
	return s.say(user, user, text, func(m *Message) error {
		quoted := s.st.Messages[messageID]
		if quoted == nil || quoted.Message.Chat.ID != user {
			return fmt.Errorf("sandbox telegram: no message %d in this chat", messageID)
		}
		// A quoted message never contains the message that it quotes itself.
		inner := quoted.Message
		inner.ReplyTo = nil
		m.ReplyTo = &inner
		return nil
	})
}

// Forward sends a text that author wrote as a forwarded message.
func (s *Server) Forward(user, author int64, text string) (int64, error) {
	return s.say(user, user, text, func(m *Message) error {
		p := s.st.People[author]
		if p == nil {
			return fmt.Errorf("sandbox telegram: nobody has id %d", author)
		}
		// The original was written a minute earlier.
		m.ForwardOrigin = &Origin{Type: "user", Date: m.Date - 60, SenderUser: &p.User}
		return nil
	})
}

// ShareContact sends the contact card of the person whose. The person's own card answers a contact request.
func (s *Server) ShareContact(user, person int64) (int64, error) {
	return s.say(user, user, "", func(m *Message) error {
		p := s.st.People[person]
		if p == nil {
			return fmt.Errorf("sandbox telegram: nobody has id %d", person)
		}
		m.Contact = &Contact{PhoneNumber: p.Phone, FirstName: p.User.FirstName, LastName: p.User.LastName, UserID: person}
		if k := s.keyboardOf(user); k != nil && person == user {
			for _, id := range slices.Backward(s.st.Order[user]) { // apps reply to the message with the keyboard
				if asked := s.st.Messages[id]; asked.Keyboard != nil {
					inner := asked.Message
					inner.ReplyTo = nil
					m.ReplyTo = &inner
					break
				}
			}
		}
		return nil
	})
}

// ErrNoKey says that the chat's keyboard has no key with that request.
var ErrNoKey = errors.New("sandbox telegram: the keyboard does not ask for people")

// ShareUsers sends the people whom the person chose from Telegram's list. A key with this request id in the keyboard
// opens that list.
func (s *Server) ShareUsers(user int64, request int32, chosen ...int64) (int64, error) {
	return s.say(user, user, "", func(m *Message) error {
		// The key must be in the keyboard that the chat shows now.
		var asked *RequestUsers
		if k := s.keyboardOf(user); k != nil {
			for _, key := range slices.Concat(k.Rows...) {
				if key.RequestUsers != nil && key.RequestUsers.RequestID == request {
					asked = key.RequestUsers
				}
			}
		}
		if asked == nil || asked.UserIsBot != nil && *asked.UserIsBot {
			return ErrNoKey
		}
		if len(chosen) < 1 || len(chosen) > asked.MaxQuantity {
			return fmt.Errorf("sandbox telegram: the key asks for 1 to %d people, not %d", asked.MaxQuantity, len(chosen))
		}
		m.UsersShared = &UsersShared{RequestID: request}
		for _, id := range chosen {
			if s.st.People[id] == nil {
				return fmt.Errorf("sandbox telegram: nobody has id %d", id)
			}
			m.UsersShared.Users = append(m.UsersShared.Users, SharedUser{UserID: id})
		}
		return nil
	})
}

// keyboardOf is the reply keyboard of a chat, or nil. Callers hold s.mu.
func (s *Server) keyboardOf(chat int64) *ReplyKeyboard {
	if r := s.st.Rooms[chat]; r != nil {
		return r.Keyboard
	}
	return nil
}

// say sends a text as a person in a chat. shape completes each message that the text is split into. It returns the id
// of the last update that the bot gets for it, or 0 if it gets none.
//
// Long: all of it is one batch, so whatever refuses it comes before the commit.
func (s *Server) say(chat, user int64, text string, shape func(*Message) error) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.st.People[user]
	if p == nil {
		return 0, fmt.Errorf("sandbox telegram: nobody has id %d", user)
	}
	if p.Blocked && chat == user {
		return 0, ErrBlockedBot
	}
	// The private chat exists from the first message on.
	r := s.st.Rooms[chat]
	if r == nil && chat == user {
		r = privateRoom(p)
	}
	if r == nil || !slices.Contains(r.Members, user) {
		return 0, fmt.Errorf("sandbox telegram: %d is not in chat %d", user, chat)
	}
	// The first message of a chat also starts the bot there.
	b := s.batch()
	if chat == user && (!p.Started || s.st.Rooms[chat] == nil) {
		started := *p
		started.Started = true
		b.add(change{Person: &started})
		b.add(change{Room: r})
	}
	// Each part is a message of its own, with consecutive ids.
	var last, first int64 = 0, s.st.NextMessage
	texts := parts(text)
	if text != "" && len(texts) == 0 {
		return 0, errors.New("sandbox telegram: there is nothing to send")
	}
	if text == "" {
		texts = []string{""}
	}
	for i, part := range texts {
		part, _ = tidy(part, nil)
		m := Message{ID: first + int64(i), From: &p.User, Chat: r.Chat, Date: s.unix(), Text: part, Entities: withFound(part, nil)}
		if shape != nil {
			if err := shape(&m); err != nil {
				return 0, err
			}
		}
		if m.Text == "" && m.Contact == nil && m.UsersShared == nil {
			return 0, errors.New("sandbox telegram: there is nothing to send")
		}
		b.add(change{Message: &stored{Message: m}})
		// In a group the bot may not see the message. It is stored all the same.
		if r.Chat.Type == "group" && !s.hearsInGroup(m) {
			continue
		}
		id, err := b.update("message", m)
		if err != nil {
			return 0, err
		}
		last = id
	}
	if err := b.commit(); err != nil {
		return 0, err
	}
	for i := range texts {
		s.tellMessage(first + int64(i))
	}
	return last, nil
}

// parts splits a text as the apps do: into at most 4,096 characters, at a line break or space if there is one in the
// second half.
func parts(text string) []string {
	var out []string
	for rest := []rune(strings.TrimSpace(text)); len(rest) > 0; {
		n := min(len(rest), maxText)
		if n < len(rest) {
			for i := n; i > n/2; i-- {
				if rest[i-1] == '\n' || rest[i-1] == ' ' {
					n = i
					break
				}
			}
		}
		if part := strings.TrimSpace(string(rest[:n])); part != "" {
			out = append(out, part)
		}
		rest = rest[n:]
	}
	return out
}

// hearsInGroup is privacy mode: commands, mentions and replies to the bot. Callers hold s.mu.
func (s *Server) hearsInGroup(m Message) bool {
	return strings.HasPrefix(m.Text, "/") ||
		strings.Contains(strings.ToLower(m.Text), "@"+strings.ToLower(s.bot.Username)) ||
		m.ReplyTo != nil && m.ReplyTo.FromBot()
}

// EditSaid edits a message that the person wrote. The bot receives an edited_message.
func (s *Server) EditSaid(user, messageID int64, text string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A person can edit only what they wrote.
	old := s.st.Messages[messageID]
	if old == nil || old.Message.From == nil || old.Message.From.ID != user {
		return 0, fmt.Errorf("sandbox telegram: message %d is not theirs", messageID)
	}
	next := *old
	next.Message.Text, _ = tidy(text, nil)
	next.Message.Entities = withFound(next.Message.Text, nil)
	next.Message.EditDate = s.unix()
	next.Edits++
	b := s.batch()
	b.add(change{Message: &next})
	id, err := b.update("edited_message", next.Message)
	if err != nil {
		return 0, err
	}
	if err := b.commit(); err != nil {
		return 0, err
	}
	s.tellMessage(messageID)
	return id, nil
}

// SayRaw queues any JSON object as an update. Its update_id is replaced by the next one.
func (s *Server) SayRaw(update json.RawMessage) (int64, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(update, &object); err != nil {
		return 0, fmt.Errorf("sandbox telegram: raw update: %w", err)
	}
	if object == nil { // null is JSON of any type
		return 0, errors.New("sandbox telegram: raw update: it is no object")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.st.NextUpdate
	object["update_id"] = json.RawMessage(fmt.Sprint(id))
	body, err := json.Marshal(object)
	if err != nil {
		return 0, err
	}
	return id, s.commit(change{Update: &pendingUpdate{ID: id, Kind: "raw", At: s.unix(), Body: body}})
}

// Block makes the person block the bot. The bot gets an update about it, and 403 for every message to them from then
// on.
func (s *Server) Block(user int64) error { return s.setBlocked(user, true) }

// Unblock undoes Block.
func (s *Server) Unblock(user int64) error { return s.setBlocked(user, false) }

// setBlocked does nothing if the state is the same already.
func (s *Server) setBlocked(user int64, blocked bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.st.People[user]
	if p == nil {
		return fmt.Errorf("sandbox telegram: nobody has id %d", user)
	}
	if p.Blocked == blocked {
		return nil
	}
	next := *p
	next.Blocked = blocked
	// Telegram tells the bot about a block by a change of its membership.
	before, after := "member", "kicked"
	if !blocked {
		before, after = after, before
	}
	b := s.batch()
	b.add(change{Person: &next})
	if p.Started {
		if _, err := b.update("my_chat_member", s.membership(privateRoom(p).Chat, p.User, before, after)); err != nil {
			return err
		}
	}
	if err := b.commit(); err != nil {
		return err
	}
	s.tellPerson(user)
	return nil
}

// Messages lists a chat's messages in their present form, oldest first.
func (s *Server) Messages(chat int64) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.st.messages(chat)
}

// Message returns one message in its present form. It is false for a deleted one.
func (s *Server) Message(id int64) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.st.Messages[id]
	if m == nil {
		return Message{}, false
	}
	return m.public(), true
}

// Keyboard is the reply keyboard that the chat shows now, or nil.
func (s *Server) Keyboard(chat int64) *ReplyKeyboard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keyboardOf(chat)
}

// Commands is the command menu that the person sees, by their language.
func (s *Server) Commands(user int64) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.st.People[user]
	if p == nil {
		return nil
	}
	return append([]Command(nil), s.st.commandsFor(p)...)
}

// Pending is the number of updates that the bot has not acknowledged.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.st.Updates)
}

// WaitMessage waits until the chat has a message that match accepts, and returns the newest one.
func (s *Server) WaitMessage(ctx context.Context, chat int64, match func(Message) bool) (Message, error) {
	var found Message
	err := s.WaitFor(ctx, func() bool {
		for _, m := range slices.Backward(s.Messages(chat)) {
			if match(m) {
				found = m
				return true
			}
		}
		return false
	})
	// The error shows the last message, which usually explains why a test has waited for nothing.
	if err != nil {
		last := "nothing"
		if all := s.Messages(chat); len(all) > 0 {
			last = fmt.Sprintf("%q", all[len(all)-1].Body())
		}
		err = fmt.Errorf("%w; the last message of chat %d is %s", err, chat, last)
	}
	return found, err
}

// WaitFor waits until cond is true. It calls cond at once, and again after every change of state. cond may call the
// Server, because no lock is held. It returns an error when ctx ends or the Server closes.
func (s *Server) WaitFor(ctx context.Context, cond func() bool) error {
	for {
		// The channel is read before cond, so that a change in between is not missed.
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("sandbox telegram: waited in vain: %w", ctx.Err())
		case <-s.done:
			return errClosed
		}
	}
}
