package chat

import (
	"encoding/json"
	"fmt"

	"purser/store"
)

// question is the last question of a conversation, as far as it is needed to close it once it is answered.
type question struct {
	Ask      string   `json:"ask,omitempty"`   // its card, which is also the subject of its buttons
	Asked    html     `json:"asked,omitempty"` // its text, shown again without buttons when it is closed; "" leaves the message alone
	Keyboard keyboard `json:"keyboard,omitzero"`
}

// keyboard is a keyboard that has replaced the person's ordinary one.
type keyboard struct {
	In     State  `json:"in,omitempty"`     // the state that it belongs to: leaving that state closes it
	Closed string `json:"closed,omitempty"` // catalogue key of the message that closes it; "" if there is no keyboard
}

// memory is the JSON in store.Conversation.Data.
type memory struct {
	Version int             `json:"v,omitempty"` // conversation.version of Data
	Data    json.RawMessage `json:"data,omitempty"`
	question
}

// open decodes a conversation's data. If this version of purser cannot read it, the conversation is reset to idle: that is
// safe, since no money depends on it.
func (c *Chat) open(conv *store.Conversation) (question, any) {
	of := c.registry.byName[conv.Flow]
	if of != nil && of.flow[State(conv.State)] != nil {
		var m memory
		data := of.data()
		if json.Unmarshal(conv.Data, &m) == nil && m.Version == of.version && json.Unmarshal(m.Data, data) == nil {
			return m.question, data
		}
	}
	conv.Flow, conv.State, conv.Data = "", "", nil
	return question{}, nil
}

// remembered encodes the conversation's data for its row.
func (s *replyTx) remembered(flow string) ([]byte, error) {
	data := s.data
	of := s.registry.byName[flow]
	if data == nil && of != nil && of.data != nil {
		data = of.data()
	}
	raw, err := json.Marshal(data)
	if err == nil {
		m := memory{Data: raw, question: s.question}
		if of != nil {
			m.Version = of.version
		}
		raw, err = json.Marshal(m)
	}
	if err != nil {
		return nil, fmt.Errorf("write the conversation: %w", err)
	}
	return raw, nil
}

// newQuestion gives the question a random name. Its buttons belong to that name, and only those of the newest question work.
func (s *replyTx) newQuestion() error {
	nonce, err := s.nonce()
	s.question.Ask = "ask:" + nonce
	return err
}

// ask sends a question, preceded by what was wrong with the last answer, with a Cancel button below.
func (s *replyTx) ask(key string, v vars, rows [][]Button) error {
	if err := s.reason(v); err != nil {
		return err
	}
	asked, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	s.question.Asked = asked // with the reason: the person may read it only after the question has closed
	stop, err := s.catalogueButton("button.cancel", "stop", s.question.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	return s.show(s.question.Ask, key, v, append(rows, []Button{stop})...)
}

// reason sets v["Reason"] to what was wrong with the last answer, if anything was.
func (s *replyTx) reason(v vars) error {
	v["Reason"] = html("")
	if s.refusal == nil {
		return nil
	}
	s.failed = true
	headline, reason, err := s.words.refusal(s.refusal)
	if v["Reason"] = reason; reason == "" {
		v["Reason"] = headline
	}
	return err
}

// closeQuestion removes the buttons from a question that is no longer open, by sending its text again to its card.
func (s *replyTx) closeQuestion(was question) error {
	if was.Ask == "" || was.Asked == "" || was.Ask == s.question.Ask {
		return nil
	}
	return s.showAnswered(was.Ask, was.Asked)
}

// showAnswered shows a question again without its buttons. Below its text stands what was chosen, if a button answered it: a
// typed answer stays in the chat by itself.
func (s *replyTx) showAnswered(card string, asked html) error {
	if s.chosen == "" {
		return s.enqueue(Reply{Kind: Message, Text: string(asked)}, card)
	}
	return s.show(card, "question.answered", vars{"Asked": asked, "Answer": s.chosen})
}

// openKeyboard asks by a special keyboard. closed is the key of the message that restores the ordinary keyboard when the
// conversation leaves this state. A Telegram message with such a keyboard can have no inline buttons.
func (s *replyTx) openKeyboard(key string, v vars, closed string, k Keyboard) error {
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	s.question.Keyboard = keyboard{In: s.state(), Closed: closed}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Keyboard: &k}, "")
}

// closeKeyboard restores the ordinary keyboard.
func (s *replyTx) closeKeyboard(key string, v vars) error {
	s.question.Keyboard = keyboard{}
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Keyboard: &Keyboard{Remove: true}}, "")
}
