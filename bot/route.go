package bot

import (
	"errors"
	"strings"
	"sync"

	tele "gopkg.in/telebot.v3"

	"purser/chat"
)

// router lets telebot say whose turn an update is. telebot gets no token, no transport of its own
// and no poller, runs handlers on the caller's goroutine, and sees only what it routes by: our own
// reading of the update, not the JSON.
//
// The traps of v3.3.8 that this avoids: the text "\fname" reaches the handler of a button with a nil
// callback (so nothing is registered by "\f"), a text that begins with "\a" is dropped, "/cmd@other"
// is dropped in a private chat too, and an error of a handler goes to the standard logger.
type router struct {
	tele *tele.Bot

	mu   sync.Mutex
	jobs map[int]*job // by the number that the update carries through telebot
	last int
}

// job is one update on its way through telebot, whose contexts cannot carry anything of ours.
type job struct {
	deed func() error
	done bool
	err  error
}

// newRouter registers every command by name and every kind of input.
func newRouter(commands []chat.Command, w *transport) (*router, error) {
	t, err := tele.NewBot(tele.Settings{
		URL: "http://" + placeholder, Client: w.client, Offline: true, Synchronous: true,
		OnError: func(error, tele.Context) {}, // handlers keep their error in the job
	})
	if err != nil {
		return nil, err
	}
	r := &router{tele: t, jobs: map[int]*job{}}
	handle := func(c tele.Context) error {
		j := r.job(c.Update().ID)
		j.done = true
		j.err = j.deed()
		return nil
	}
	for _, c := range commands {
		if c.Name == "" || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return nil, errors.New("bot: a command's name must be of a-z, 0-9 and _: " + c.Name)
		}
		t.Handle("/"+c.Name, handle)
	}
	for _, endpoint := range []string{
		tele.OnText, tele.OnMedia, tele.OnContact, tele.OnEdited, tele.OnCallback, tele.OnMyChatMember,
	} {
		t.Handle(endpoint, handle)
	}
	return r, nil
}

// named tells telebot the bot's own name, by which it knows "/cmd@name".
func (r *router) named(me account) {
	r.tele.Me = &tele.User{ID: me.ID, Username: me.Username, IsBot: true}
}

func (r *router) job(id int) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.jobs[id]
}

// route runs deed if telebot finds that u is for this bot. It tells whether it did, and deed's error.
func (r *router) route(u incoming, deed func() error) (bool, error) {
	j := &job{deed: deed}
	r.mu.Lock()
	r.last++
	id := r.last
	r.jobs[id] = j
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.jobs, id)
		r.mu.Unlock()
	}()
	r.tele.ProcessUpdate(asTelebot(id, u))
	return j.done, j.err
}

// asTelebot is the part of u that telebot routes by.
func asTelebot(id int, u incoming) tele.Update {
	out := tele.Update{ID: id}
	where := &tele.Chat{ID: u.in.Chat}
	switch u.kind {
	case words:
		out.Message = &tele.Message{Chat: where, Text: routable(u)}
	case media:
		out.Message = &tele.Message{Chat: where, Document: &tele.Document{}}
	case contact, picked: // telebot knows no users_shared; both are something shared
		out.Message = &tele.Message{Chat: where, Contact: &tele.Contact{}}
	case edit:
		out.EditedMessage = &tele.Message{Chat: where}
	case tap:
		out.Callback = &tele.Callback{ID: u.in.Tap.CallbackID} // its data is a nonce: nothing to route by
	case membership:
		out.MyChatMember = &tele.ChatMemberUpdate{Chat: where}
	}
	return out
}

// routable is the text as telebot may see it: a control character in front would make it a message
// to telebot itself, and in a private chat "/cmd@other" can only be meant for us.
func routable(u incoming) string {
	text := u.in.Text
	if text == "" { // it held a secret
		return " "
	}
	if text[0] < ' ' || u.in.Private && strings.HasPrefix(text, "/") && strings.Contains(text, "@") {
		return " " + text
	}
	return text
}
