package telegram

// event is one change that the chat page shows. Kind decides which fields are set: message (Message), gone
// (MessageID), typing (Action; "" ends it), keyboard (Keyboard), toast (Toast; Chat is the person who tapped),
// profile, person (Person), mail (the page fetches the mails).
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

// pageMessage is a message with what the bot does not see, but a person's app does.
type pageMessage struct {
	Message
	Edits int `json:"edits,omitempty"`
}

// pagePerson is a person as the page shows them.
type pagePerson struct {
	User     User           `json:"user"`
	Started  bool           `json:"started"`
	Blocked  bool           `json:"blocked"`
	Read     int64          `json:"read"`
	Keyboard *ReplyKeyboard `json:"keyboard,omitempty"`
	Commands []Command      `json:"commands"`
}

// feedLength is how many events are kept. A page that missed more has to reload.
const feedLength = 2000

// feed holds the recent events, for pages that listen. Server.mu guards it.
type feed struct {
	epoch  string // random; tells this process from an earlier one
	seq    int64  // number of the newest event
	events []event
}

// add appends an event. The caller also commits or wakes, because add notifies nobody.
func (f *feed) add(e event) {
	f.seq++
	e.Seq = f.seq
	if len(f.events) >= feedLength {
		f.events = append(f.events[:0], f.events[feedLength/2:]...)
	}
	f.events = append(f.events, e)
}

// since lists the events after seq. It returns false if some of them are no longer kept, or seq is from another
// process.
func (f *feed) since(seq int64) ([]event, bool) {
	if seq > f.seq || seq < f.seq-int64(len(f.events)) {
		return nil, false
	}
	return append([]event(nil), f.events[int64(len(f.events))-(f.seq-seq):]...), true
}

// tellMessage adds a message in its present form to the feed. Callers hold s.mu.
func (s *Server) tellMessage(id int64) {
	if m := s.st.Messages[id]; m != nil {
		s.feed.add(event{Kind: "message", Chat: m.Message.Chat.ID, Message: &pageMessage{m.Message, m.Edits}})
		s.wake()
	}
}

// tellPerson adds a person in their present form to the feed. Callers hold s.mu.
func (s *Server) tellPerson(id int64) {
	if p := s.st.People[id]; p != nil {
		s.feed.add(event{Kind: "person", Chat: id, Person: s.pagePerson(p)})
		s.wake()
	}
}

// pagePerson is the person in the form of the page. Callers hold s.mu.
func (s *Server) pagePerson(p *person) *pagePerson {
	return &pagePerson{
		User: p.User, Started: p.Started, Blocked: p.Blocked, Read: p.Read,
		Keyboard: s.keyboardOf(p.User.ID),
		Commands: append([]Command{}, s.st.commandsFor(p)...),
	}
}
