package bot

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"

	tele "gopkg.in/telebot.v3"

	"purser/chat"
)

// router lets telebot dispatch. Every endpoint of the chat is registered with it, behind middleware for panics, for
// people who ask too often, and for what works in private chats alone. telebot gets no token, no transport of its own
// and no poller, and runs handlers on the caller's goroutine.
//
// What a person sent does not reach telebot: it sees an update that we compose of the route that the chat has found,
// since only the store knows which button a nonce is and which question waits. That also keeps clear of the traps of
// v3.3.8: callback data and a text "\fname" reach the handler of the button that they name, a text that equals an
// endpoint reaches it, one that begins with "\a" is dropped, "/cmd@other" is dropped in a private chat too, and an
// error of a handler goes to the standard logger.
type router struct {
	tele   *tele.Bot
	talker Talker
	log    *slog.Logger

	mu         sync.Mutex        // guards what follows
	dispatches map[int]*dispatch // by the ID of the composed update
	last       int               // ID of the newest; it has nothing to do with Telegram's update IDs
}

// dispatch is one update on its way through telebot. A tele.Context made by ProcessUpdate carries only the tele.Update, so
// what a handler needs and returns is kept here, under the update's number. Only the goroutine in handle uses it.
type dispatch struct {
	ctx  context.Context
	in   chat.Inbound
	turn chat.Turn // what the handler answered; handle returns it
	err  error     // of the handler; until one has run, that telebot found none
}

// newRouter registers every endpoint of the talker. It returns an error for an endpoint that no update can reach. It sends
// nothing: telebot is offline, so even getMe is left to the transport.
func newRouter(talker Talker, w *transport, log *slog.Logger) (*router, error) {
	t, err := tele.NewBot(tele.Settings{
		URL: "http://" + placeholder, Client: w.client, Offline: true, Synchronous: true,
		OnError: func(error, tele.Context) {}, // the first middleware keeps it
	})
	if err != nil {
		return nil, err
	}
	r := &router{tele: t, talker: talker, log: log, dispatches: map[int]*dispatch{}}
	// The first is the outermost: kept stores the error that recovered made of a panic, and limited sees only errors that
	// handlers returned.
	t.Use(r.kept, r.recovered, r.limited)
	private := t.Group()
	private.Use(r.privateOnly)
	for _, e := range talker.Endpoints() {
		name := endpoint(e.Route)
		if name == "" { // telebot would panic
			return nil, fmt.Errorf("bot: no router can reach the endpoint %+v", e.Route)
		}
		register := private.Handle
		if e.Groups {
			register = t.Handle
		}
		register(name, func(c tele.Context) (err error) {
			d := r.dispatch(c)
			d.turn, err = e.Handle(d.ctx, d.in)
			return err
		})
	}
	return r, nil
}

// endpoint is how telebot names a route. A route that has no counterpart of telebot's is named by a text: telebot
// hands a message of exactly that text to it, and nobody can send one.
func endpoint(to chat.Route) string {
	switch {
	case to.Kind == chat.ByCommand:
		return "/" + to.Name
	case to.Kind == chat.ByCallback && to.Name != "":
		return "\f" + to.Name
	case to.Name != "":
		return string(to.Kind) + " " + to.Name
	}
	return map[chat.InputKind]string{
		chat.ByText: tele.OnText, chat.ByCallback: tele.OnCallback, chat.ByContact: tele.OnContact,
		chat.ByPerson: tele.OnUserShared, chat.ByEdit: tele.OnEdited,
	}[to.Kind]
}

// composed returns an update that telebot dispatches to the route's endpoint. It has nothing else of the real update: the
// handler reads that from the dispatch.
func composed(id int, in chat.Inbound) tele.Update {
	out := tele.Update{ID: id}
	message := &tele.Message{Chat: &tele.Chat{ID: in.Chat}}
	switch to := in.Route; {
	case to.Kind == chat.ByCallback:
		out.Callback = &tele.Callback{}
		if to.Name != "" {
			out.Callback.Data = endpoint(to)
		}
		return out
	case to.Kind == chat.ByEdit:
		out.EditedMessage = message
		return out
	case to.Name != "":
		message.Text = endpoint(to)
	case to.Kind == chat.ByText:
		message.Text = " " // telebot ignores a message without text, and no endpoint has this one
	case to.Kind == chat.ByContact:
		message.Contact = &tele.Contact{}
	case to.Kind == chat.ByPerson:
		message.UserShared = &tele.RecipientShared{}
	}
	out.Message = message
	return out
}

// handle finds what an input leads to, and runs it on the caller's goroutine. The Turn is empty where nobody answers, for
// example to messages among the members of a group. Nothing is stored yet: the caller commits the Turn. An error means that
// nothing was decided, so the update may be handled again.
func (r *router) handle(ctx context.Context, in chat.Input) (chat.Turn, error) {
	received, err := r.talker.Receive(ctx, in)
	if err != nil || received.Route.Kind == chat.Nobody {
		return chat.Turn{}, err
	}
	d := &dispatch{ctx: ctx, in: received, err: fmt.Errorf("bot: telebot has no endpoint for %v", received.Route)}
	r.mu.Lock()
	r.last++
	id := r.last
	r.dispatches[id] = d
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.dispatches, id)
		r.mu.Unlock()
	}()
	r.tele.ProcessUpdate(composed(id, received))
	return d.turn, d.err
}

// dispatch returns the dispatch of an update that is in telebot's hands.
func (r *router) dispatch(c tele.Context) *dispatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dispatches[c.Update().ID]
}

// kept keeps a handler's error for handle: telebot only reports it.
func (r *router) kept(next tele.HandlerFunc) tele.HandlerFunc {
	return func(c tele.Context) error {
		r.dispatch(c).err = next(c)
		return nil
	}
}

// recovered turns a panic of a handler into an error, so that one person's update cannot end the process. The pool then
// retries the update like any other that failed.
func (r *router) recovered(next tele.HandlerFunc) tele.HandlerFunc {
	return func(c tele.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p)
				r.log.Error("a handler panicked", "endpoint", r.dispatch(c).in.Route, "error", err, "stack", string(debug.Stack()))
			}
		}()
		return next(c)
	}
}

// limited answers people who have used up what each of them may ask of the network (chat.Lookups): a reply replaces the
// error, so that the update is not handled again.
func (r *router) limited(next tele.HandlerFunc) tele.HandlerFunc {
	return func(c tele.Context) error {
		err := next(c)
		d := r.dispatch(c)
		if turn, slow := r.talker.SlowDown(d.in, err); slow {
			d.turn, err = turn, nil
		}
		return err
	}
}

// privateOnly answers in groups what works in private chats alone.
func (r *router) privateOnly(next tele.HandlerFunc) tele.HandlerFunc {
	return func(c tele.Context) (err error) {
		d := r.dispatch(c)
		if d.in.Private {
			return next(c)
		}
		d.turn, err = r.talker.PrivateOnly(d.in)
		return err
	}
}

// panicked returns an error that is safe to log and to store: Go's own runtime errors in full, and of any other value only
// its type, since it may hold keys or people's texts.
func panicked(p any) error {
	if err, ok := p.(runtime.Error); ok {
		return fmt.Errorf("panic: %w", err)
	}
	return fmt.Errorf("panic with a %T", p)
}
