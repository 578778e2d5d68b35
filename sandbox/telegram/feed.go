package telegram

// event is one thing that the page should show. Kind says which fields count:
// message (Message), gone (MessageID), typing (Action; "" ends it), keyboard (Keyboard),
// toast (Toast; Chat is who tapped), profile, person (Person), mail (look for it).
type event struct {
	Seq       int64          `json:"-"`
	Kind      string         `json:"kind"`
	Chat      int64          `json:"chat,omitempty"`
	Message   *pageMessage   `json:"message,omitempty"`
	MessageID int64          `json:"message_id,omitempty"`
	Keyboard  *ReplyKeyboard `json:"keyboard,omitempty"`
	Action    string         `json:"action,omitempty"`
	Toast     *Toast         `json:"toast,omitempty"`
	Person    *pagePerson    `json:"person,omitempty"`
}

// pageMessage is a message with what only a person's app knows.
type pageMessage struct {
	Message
	Edits int `json:"edits,omitempty"`
}

// pagePerson is somebody as the page shows them.
type pagePerson struct {
	User     User           `json:"user"`
	Started  bool           `json:"started"`
	Blocked  bool           `json:"blocked"`
	Read     int64          `json:"read"`
	Keyboard *ReplyKeyboard `json:"keyboard,omitempty"`
	Commands []Command      `json:"commands"`
}

const feedLength = 2000

// feed is the recent past, for pages that listen. It is guarded by Server.mu.
type feed struct {
	epoch  string // another process has another one
	seq    int64  // of the newest event
	events []event
}

// add appends an event; whoever calls it also commits or wakes.
func (f *feed) add(e event) {
	f.seq++
	e.Seq = f.seq
	if len(f.events) >= feedLength {
		f.events = append(f.events[:0], f.events[feedLength/2:]...)
	}
	f.events = append(f.events, e)
}

// since lists the events after seq; false when some of them are forgotten already.
func (f *feed) since(seq int64) ([]event, bool) {
	if seq > f.seq || seq < f.seq-int64(len(f.events)) {
		return nil, false
	}
	return append([]event(nil), f.events[int64(len(f.events))-(f.seq-seq):]...), true
}

// tellMessage puts a message, as it stands now, into the feed. Caller holds s.mu.
func (s *Server) tellMessage(id int64) {
	if m := s.st.Messages[id]; m != nil {
		s.feed.add(event{Kind: "message", Chat: m.Message.Chat.ID, Message: &pageMessage{m.Message, m.Edits}})
		s.wake()
	}
}

// tellPerson puts a person, as they stand now, into the feed. Caller holds s.mu.
func (s *Server) tellPerson(id int64) {
	if p := s.st.People[id]; p != nil {
		s.feed.add(event{Kind: "person", Chat: id, Person: s.pagePerson(p)})
		s.wake()
	}
}

func (s *Server) pagePerson(p *person) *pagePerson {
	return &pagePerson{
		User: p.User, Started: p.Started, Blocked: p.Blocked, Read: p.Read,
		Keyboard: s.keyboardOf(p.User.ID),
		Commands: append([]Command{}, s.st.commandsFor(p)...),
	}
}
