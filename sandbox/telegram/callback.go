package telegram

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"unicode/utf8"
)

// queryLife is how many seconds after a tap the bot can still answer it.
const queryLife = 60

// ErrNoButton says that the message, or its callback button, does not exist, or no longer does.
var ErrNoButton = errors.New("sandbox telegram: no such button")

// Tap taps the callback button with exactly this label. It returns the query's id, for WaitToast. The user need not
// be the one whose chat has the message, so that tests can check taps by others.
func (s *Server) Tap(user, messageID int64, label string) (string, error) {
	m, ok := s.Message(messageID)
	if !ok {
		return "", fmt.Errorf("%w: message %d is gone", ErrNoButton, messageID)
	}
	b, ok := m.Button(label)
	if !ok {
		return "", fmt.Errorf("%w: %q", ErrNoButton, label)
	}
	if b.CallbackData == "" {
		return "", fmt.Errorf("%w: %q is no callback button", ErrNoButton, label)
	}
	return s.TapData(user, messageID, b.CallbackData)
}

// TapAt taps the callback button in a row and column, both counted from 0.
func (s *Server) TapAt(user, messageID int64, row, col int) (string, error) {
	m, ok := s.Message(messageID)
	if !ok || m.ReplyMarkup == nil || row < 0 || row >= len(m.ReplyMarkup.Rows) || col < 0 || col >= len(m.ReplyMarkup.Rows[row]) {
		return "", ErrNoButton
	}
	b := m.ReplyMarkup.Rows[row][col]
	if b.CallbackData == "" {
		return "", fmt.Errorf("%w: %q is no callback button", ErrNoButton, b.Text)
	}
	return s.TapData(user, messageID, b.CallbackData)
}

// TapData sends a tap with arbitrary data, as a forged client can.
func (s *Server) TapData(user, messageID int64, data string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.st.People[user]
	if p == nil {
		return "", fmt.Errorf("sandbox telegram: nobody has id %d", user)
	}
	m := s.st.Messages[messageID]
	if m == nil {
		return "", fmt.Errorf("%w: message %d is gone", ErrNoButton, messageID)
	}
	// Telegram's chat_instance identifies the chat without naming it, so it is a hash of the chat's id.
	id := s.randomDigits(18)
	h := fnv.New64a()
	fmt.Fprint(h, m.Message.Chat.ID)
	b := s.batch()
	b.add(change{Query: &query{ID: id, User: user, Message: messageID, Data: data, At: s.unix()}})
	if _, err := b.update("callback_query", map[string]any{
		"id": id, "from": p.User, "message": m.Message, "data": data,
		"chat_instance": strconv.FormatInt(int64(h.Sum64()), 10),
	}); err != nil {
		return "", err
	}
	// Queries that can no longer be answered are removed in the same commit.
	for old, q := range s.st.Queries {
		if q.At < s.unix()-queryLife {
			b.add(change{Answered: old})
		}
	}
	return id, b.commit()
}

// answerCallbackQuery answers a tap once; a second answer gets the error for an old query.
func (s *Server) answerCallbackQuery(q *request) (result, error) {
	if utf8.RuneCountInString(q.text("text")) > 200 {
		return result{}, badRequest("MESSAGE_TOO_LONG")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.st.Queries[q.text("callback_query_id")]
	if asked == nil || s.unix()-asked.At > queryLife {
		return result{}, badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	t := Toast{
		QueryID: asked.ID, User: asked.User, MessageID: asked.Message,
		Text: q.text("text"), Alert: q.flag("show_alert"), URL: q.text("url"),
	}
	// The URL is checked as for a button.
	if t.URL != "" {
		checked, problem := checkLink(t.URL)
		if problem != "" {
			return result{}, badRequest("URL_INVALID")
		}
		t.URL = checked
	}
	if err := s.commit(change{Answered: asked.ID}); err != nil {
		return result{}, err
	}
	// Toasts are for tests and the page. Old ones are dropped in blocks, which is cheaper than one at a time.
	if s.toasts = append(s.toasts, t); len(s.toasts) > 5000 {
		s.toasts = s.toasts[1000:]
	}
	s.feed.add(event{Kind: "toast", Chat: t.User, Toast: &t})
	s.wake()
	return result{value: true}, nil
}

// Toasts lists the bot's answers to taps, oldest first. Only about the last 5,000 are kept.
func (s *Server) Toasts() []Toast {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Toast(nil), s.toasts...)
}

// WaitToast waits until the bot has answered the tap, or ctx ends.
func (s *Server) WaitToast(ctx context.Context, queryID string) (Toast, error) {
	var found Toast
	err := s.WaitFor(ctx, func() bool {
		for _, t := range s.Toasts() {
			if t.QueryID == queryID {
				found = t
				return true
			}
		}
		return false
	})
	return found, err
}
