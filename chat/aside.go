package chat

import (
	"errors"
	"slices"
	"time"

	"purser/store"
)

// aside is a question beside the conversation, such as "Delete everything about you?". Its buttons answer it, and it neither
// ends the conversation nor is ended by it. It is remembered so that /cancel can close it, and so that its buttons leave the
// chat when its time is over. Several can be open at once.
type aside struct {
	Card   string    `json:"card"`   // the message that shows it; also the subject of its buttons
	Asked  html      `json:"asked"`  // its text, shown again without buttons when it is closed
	Closed html      `json:"closed"` // what /cancel says when it closes the question
	Until  time.Time `json:"until"`  // when its buttons stop working
}

// asides is the data of the conversation that remembers the open asides of one person in one chat. It lies in a slot of its
// own (store.Conversation.Slot), beside the main conversation.
type asides struct {
	Open []aside `json:"open"` // oldest first
}

// The slot and the only state of that conversation, which belongs to menuButtons.
const (
	asideSlot       = "asides"
	asidesAre State = "asides open"
)

// maxAsides is how many asides are remembered per person and chat, which bounds the size of the row. Opening another one
// closes the oldest.
const maxAsides = 10

// asideTable returns the table of that conversation. It has no steps: asides come and go without any order.
func asideTable() Flow { return Flow{idle: {}, asidesAre: {}} }

// askAside sends a question with rows of buttons whose subject is card, and remembers it. key and v give its text. closed is
// what /cancel says when it closes the question. The buttons should expire with it, after AnswerTimeout.
func (s *replyTx) askAside(card, key string, v vars, closed html, rows ...[]Button) error {
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	if err := s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows}, card); err != nil {
		return err
	}
	return s.openAside(aside{Card: card, Asked: text, Closed: closed, Until: s.now.Add(AnswerTimeout)})
}

// openAside remembers a question that was sent. A question that the same card showed before is replaced.
func (s *replyTx) openAside(a aside) error {
	row, open, err := s.openAsides()
	if err != nil {
		return err
	}
	open = append(otherThan(open, a.Card), a)
	for len(open) > maxAsides {
		if err := s.closeAside(open[0]); err != nil {
			return err
		}
		open = open[1:]
	}
	return s.keepAsides(row, open)
}

// endAside forgets the question of a card because it was answered. It changes nothing in the chat: the answer does that.
func (s *replyTx) endAside(card string) error {
	row, open, err := s.openAsides()
	if err != nil || !slices.ContainsFunc(open, func(a aside) bool { return a.Card == card }) {
		return err
	}
	return s.keepAsides(row, otherThan(open, card))
}

// asideOf returns the open question of a card; the zero aside if there is none.
func (s *replyTx) asideOf(card string) (aside, error) {
	_, open, err := s.openAsides()
	for _, a := range open {
		if a.Card == card {
			return a, err
		}
	}
	return aside{}, err
}

// cancelAsides closes all open asides for /cancel, and says of each what was closed. It returns false if none was open.
func (s *replyTx) cancelAsides() (bool, error) {
	row, open, err := s.openAsides()
	if err != nil {
		return false, err
	}
	any := false
	for _, a := range open {
		if !s.now.Before(a.Until) { // its time is over: the time-out closes it
			continue
		}
		any = true
		if err := errors.Join(s.closeAside(a), s.enqueue(Reply{Kind: Message, Text: string(a.Closed)}, "")); err != nil {
			return false, err
		}
		open = otherThan(open, a.Card)
	}
	if !any {
		return false, nil
	}
	return true, s.keepAsides(row, open)
}

// timedOutAsides closes the asides whose time is over. It is the end of the slot (conversation.slots): s.conv is its row.
func (s *replyTx) timedOutAsides(row store.Conversation) error {
	_, open, err := s.openAsides()
	if err != nil {
		return err
	}
	for _, a := range open {
		if s.now.Before(a.Until) {
			continue
		}
		if err := s.closeAside(a); err != nil {
			return err
		}
		open = otherThan(open, a.Card)
	}
	// The buttons are used up in the store either way; only the edits of messages are dropped.
	if s.user.Unreachable { // messages to a person who blocked the bot would only fail
		s.out = nil
	}
	if err := s.keepAsides(row, open); err != nil {
		return err
	}
	return s.end()
}

// closeAside takes the buttons away from a question: those in the chat, and those in the store.
func (s *replyTx) closeAside(a aside) error {
	return errors.Join(s.showAnswered(a.Card, a.Asked), s.tx.UseButtons(s.conv.Chat, s.conv.User, a.Card, s.now))
}

// openAsides reads the row of the slot and the asides in it.
func (s *replyTx) openAsides() (store.Conversation, []aside, error) {
	row, err := s.tx.Conversation(s.conv.Chat, s.conv.User, asideSlot)
	if err != nil {
		return row, nil, err
	}
	row.Chat, row.User, row.Slot = s.conv.Chat, s.conv.User, asideSlot // a row that does not exist has none of them yet
	_, data := s.open(&row)
	held, ok := data.(*asides)
	if !ok {
		return row, nil, nil
	}
	return row, held.Open, nil
}

// keepAsides writes the row of the slot. Its time-out is that of the question that ends first.
func (s *replyTx) keepAsides(row store.Conversation, open []aside) error {
	// A replyTx of its own writes the slot's row, so that the main conversation and its replies stay untouched.
	there := &replyTx{Chat: s.Chat, tx: s.tx, now: s.now, conv: row, data: &asides{open}, moved: true}
	if there.conv.State = ""; len(open) > 0 {
		there.conv.Flow, there.conv.State, there.conv.ExpiresAt = menuFlow, string(asidesAre), open[0].Until
		for _, a := range open {
			if a.Until.Before(there.conv.ExpiresAt) {
				there.conv.ExpiresAt = a.Until
			}
		}
	}
	return there.end()
}

// otherThan returns a copy of the asides without those of a card.
func otherThan(open []aside, card string) []aside {
	return slices.DeleteFunc(slices.Clone(open), func(a aside) bool { return a.Card == card })
}
