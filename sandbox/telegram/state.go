package telegram

import (
	"encoding/json"
	"slices"
)

// person is somebody who uses Telegram, with their relation to the bot.
type person struct {
	User    User   `json:"user"`
	Phone   string `json:"phone,omitempty"`
	Started bool   `json:"started,omitempty"` // has written to the bot, so the bot may write back
	Blocked bool   `json:"blocked,omitempty"`
	Read    int64  `json:"read,omitempty"` // highest message id seen on the page
}

// room is a chat: the private chat of a person, or a group with members.
type room struct {
	Chat     Chat           `json:"chat"`
	Members  []int64        `json:"members,omitempty"`
	Keyboard *ReplyKeyboard `json:"keyboard,omitempty"` // shown now
	Pinned   []int64        `json:"pinned,omitempty"`   // message ids, in the order in which they were pinned
}

// stored is a message with what the Bot API does not return: its reply keyboard and its number of edits.
type stored struct {
	Message  Message        `json:"message"`
	Keyboard *ReplyKeyboard `json:"keyboard,omitempty"`
	Edits    int            `json:"edits,omitempty"`
}

// pendingUpdate is an update that the bot has not acknowledged yet.
type pendingUpdate struct {
	ID   int64           `json:"id"`
	Kind string          `json:"kind"` // "message", "callback_query", ...
	At   int64           `json:"at"`   // Unix seconds; removed after keepUpdates
	Body json.RawMessage `json:"body"` // the whole update, with its update_id
}

// query is a tap on a callback button that the bot can still answer, for queryLife seconds.
type query struct {
	ID      string `json:"id"`
	User    int64  `json:"user"`
	Message int64  `json:"message"`
	Data    string `json:"data"`
	At      int64  `json:"at"` // unix seconds
}

// fileMeta describes an uploaded file. Its bytes are in a file of their own beside the journal, named by ID. Size is
// in bytes, width and height in pixels.
type fileMeta struct {
	ID     string `json:"id"`
	Unique string `json:"unique"`
	Path   string `json:"path"` // file_path in getFile
	Name   string `json:"name,omitempty"`
	Mime   string `json:"mime"`
	Size   int64  `json:"size"`
	Width  int    `json:"width,omitempty"`
	Height int    `json:"height,omitempty"`
	Photo  bool   `json:"photo,omitempty"`
	Video  bool   `json:"video,omitempty"`
	Length int    `json:"length,omitempty"` // of a video, in seconds
}

// profile is what the bot has set for itself: texts by language, menus, and how it receives updates. Its maps are
// replaced, never modified, because earlier versions share them.
type profile struct {
	Commands    map[string][]Command       `json:"commands,omitempty"` // key: scope and language
	Description map[string]string          `json:"description,omitempty"`
	Short       map[string]string          `json:"short,omitempty"`
	Name        map[string]string          `json:"name,omitempty"`
	Menu        map[string]json.RawMessage `json:"menu,omitempty"` // key: chat id, "" for all
	Allowed     []string                   `json:"allowed,omitempty"`
	Webhook     *webhook                   `json:"webhook,omitempty"`
}

// webhook is where updates are posted. A bot with a webhook cannot use getUpdates.
type webhook struct {
	URL            string `json:"url"`
	Secret         string `json:"secret,omitempty"`
	MaxConnections int    `json:"max_connections"`
	IP             string `json:"ip,omitempty"`
}

// counters are the ids that the next update and message get. They only grow, so no id is used twice.
type counters struct {
	NextUpdate  int64 `json:"next_update"`
	NextMessage int64 `json:"next_message"`
}

// state is everything that survives a restart. Only apply modifies it. Server.mu guards it.
type state struct {
	counters
	People   map[int64]*person
	Rooms    map[int64]*room
	Messages map[int64]*stored
	Order    map[int64][]int64 // chat id -> message ids, ascending
	Updates  []pendingUpdate
	Queries  map[string]*query
	Files    map[string]*fileMeta
	Profile  profile
}

// newState is a state without people or messages.
func newState() *state {
	return &state{
		People: map[int64]*person{}, Rooms: map[int64]*room{}, Messages: map[int64]*stored{},
		Order: map[int64][]int64{}, Queries: map[string]*query{}, Files: map[string]*fileMeta{},
	}
}

// change is one thing that happened. A line of the journal is a list of them, which is applied as a whole or not at
// all. Every field holds the new value, not a difference, and a nil or zero field changes nothing. Gone is a deleted
// message, Ack acknowledges updates, and Answered ends a query.
type change struct {
	Counters *counters      `json:"counters,omitempty"`
	Person   *person        `json:"person,omitempty"`
	Room     *room          `json:"room,omitempty"`
	Message  *stored        `json:"message,omitempty"`
	Gone     int64          `json:"gone,omitempty"` // message id
	Update   *pendingUpdate `json:"update,omitempty"`
	Ack      int64          `json:"ack,omitempty"` // all updates up to this id are acknowledged
	Query    *query         `json:"query,omitempty"`
	Answered string         `json:"answered,omitempty"` // query id
	File     *fileMeta      `json:"file,omitempty"`
	Profile  *profile       `json:"profile,omitempty"`
}

// apply makes the change true. It copies what it stores and cannot fail, so a line that was written can always be
// replayed.
func (st *state) apply(c change) {
	// Ids never go back, not even when an old line is applied again.
	if c.Counters != nil {
		st.NextUpdate = max(st.NextUpdate, c.Counters.NextUpdate)
		st.NextMessage = max(st.NextMessage, c.Counters.NextMessage)
	}
	if c.Person != nil {
		p := *c.Person
		st.People[p.User.ID] = &p
	}
	if c.Room != nil {
		r := *c.Room
		st.Rooms[r.Chat.ID] = &r
	}
	if c.Message != nil {
		m := *c.Message
		id, chat := m.Message.ID, m.Message.Chat.ID
		// A new message goes to the end of its chat; an edit keeps its place.
		if st.Messages[id] == nil {
			st.Order[chat] = append(st.Order[chat], id)
		}
		st.Messages[id] = &m
		st.NextMessage = max(st.NextMessage, id+1)
	}
	if c.Gone != 0 {
		if m := st.Messages[c.Gone]; m != nil {
			chat := m.Message.Chat.ID
			st.Order[chat] = slices.DeleteFunc(st.Order[chat], func(id int64) bool { return id == c.Gone })
			delete(st.Messages, c.Gone)
		}
	}
	if c.Update != nil {
		st.Updates = append(st.Updates, *c.Update)
		st.NextUpdate = max(st.NextUpdate, c.Update.ID+1)
	}
	if c.Ack != 0 {
		st.Updates = slices.DeleteFunc(st.Updates, func(u pendingUpdate) bool { return u.ID <= c.Ack })
	}
	if c.Query != nil {
		q := *c.Query
		st.Queries[q.ID] = &q
	}
	if c.Answered != "" {
		delete(st.Queries, c.Answered)
	}
	if c.File != nil {
		f := *c.File
		st.Files[f.ID] = &f
	}
	if c.Profile != nil {
		st.Profile = *c.Profile
	}
}

// snapshot lists changes that build the same state from an empty one.
func (st *state) snapshot() []change {
	all := []change{{Counters: &counters{st.NextUpdate, st.NextMessage}}, {Profile: &st.Profile}}
	// Each value is a change of its own. Only messages need an order, that of their chat.
	for _, p := range st.People {
		all = append(all, change{Person: p})
	}
	for _, r := range st.Rooms {
		all = append(all, change{Room: r})
	}
	for _, ids := range st.Order {
		for _, id := range ids {
			all = append(all, change{Message: st.Messages[id]})
		}
	}
	for i := range st.Updates {
		all = append(all, change{Update: &st.Updates[i]})
	}
	for _, q := range st.Queries {
		all = append(all, change{Query: q})
	}
	for _, f := range st.Files {
		all = append(all, change{File: f})
	}
	return all
}

// messages lists a chat's messages in their present form, oldest first.
func (st *state) messages(chat int64) []Message {
	out := make([]Message, 0, len(st.Order[chat]))
	for _, id := range st.Order[chat] {
		out = append(out, st.Messages[id].public())
	}
	return out
}

// public is the message with the fields that only tests and the page see.
func (m *stored) public() Message {
	out := m.Message
	out.Keyboard, out.Edits = m.Keyboard, m.Edits
	return out
}
