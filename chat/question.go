package chat

import (
	"encoding/json"
	"fmt"

	"purser/store"
)

// question is the last thing that a conversation asked, as far as it must be taken back once it is answered.
type question struct {
	Ask      string   `json:"ask,omitempty"`   // its card, and the subject of its buttons
	Asked    html     `json:"asked,omitempty"` // its text
	Keyboard keyboard `json:"keyboard,omitzero"`
}

// keyboard is a key that has taken the place of the person's ordinary keyboard.
type keyboard struct {
	In     State  `json:"in,omitempty"`     // the state that it belongs to: it goes with it
	Closed string `json:"closed,omitempty"` // catalogue key: what is said when it goes; "" for no keyboard
}

// memory is what the row of a conversation holds.
type memory struct {
	Version int             `json:"v,omitempty"` // of Data
	Data    json.RawMessage `json:"data,omitempty"`
	question
}

// open reads a conversation's memory. One that this version does not understand begins anew: a conversation may be
// forgotten, no money hangs on it.
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

// remembered is the memory as a row holds it.
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

// newQuestion names the question: its buttons belong together, and only the newest's count.
func (s *replyTx) newQuestion() error {
	nonce, err := s.nonce()
	s.question.Ask = "ask:" + nonce
	return err
}

// ask puts a question, with what was wrong about the last answer before it, and a way out below.
func (s *replyTx) ask(key string, v vars, rows [][]Button) error {
	v["Reason"] = html("")
	asked, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	s.question.Asked = asked
	if err := s.reason(v); err != nil {
		return err
	}
	stop, err := s.ours("button.cancel", "stop", s.question.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	return s.show(s.question.Ask, key, v, append(rows, []Button{stop})...)
}

// reason says what was wrong about the last answer, if anything was.
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

// closeQuestion takes the buttons from a question that waits no more: they would only say so.
func (s *replyTx) closeQuestion(was question) error {
	if was.Ask == "" || was.Asked == "" || was.Ask == s.question.Ask {
		return nil
	}
	return s.enqueue(Reply{Kind: Message, Text: string(was.Asked)}, was.Ask)
}

// openKeyboard asks by a key in the place of the ordinary keyboard; closed is what is said when the conversation goes
// on without it. A message with such a key has no buttons.
func (s *replyTx) openKeyboard(key string, v vars, closed string, k Keyboard) error {
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	s.question.Keyboard = keyboard{In: s.state(), Closed: closed}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Keyboard: &k}, "")
}

// closeKeyboard gives the ordinary keyboard back.
func (s *replyTx) closeKeyboard(key string, v vars) error {
	s.question.Keyboard = keyboard{}
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Keyboard: &Keyboard{Remove: true}}, "")
}
