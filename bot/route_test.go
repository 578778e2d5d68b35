package bot

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"purser/chat"
	"purser/e2e/harness"
	"purser/store"
)

// routed is a Talker of one endpoint, whose handler and middleware tests choose.
type routed struct {
	*talker
	endpoint chat.Endpoint
	slow     error // what SlowDown answers
	nobody   bool  // answers
}

func (k *routed) Endpoints() []chat.Endpoint { return []chat.Endpoint{k.endpoint} }

func (k *routed) Receive(_ context.Context, in chat.Input) (chat.Inbound, error) {
	if k.nobody {
		return chat.Inbound{Input: in}, nil
	}
	return chat.Inbound{Input: in, Route: k.endpoint.Route}, nil
}

func (k *routed) PrivateOnly(chat.Inbound) (chat.Turn, error) { return saying("in private"), nil }

func (k *routed) SlowDown(_ chat.Inbound, err error) (chat.Turn, bool) {
	return saying("slow down"), err != nil && errors.Is(err, k.slow)
}

// saying is a Turn that is known by its error.
func saying(text string) chat.Turn {
	return chat.Turn{Commit: func(store.Tx) error { return errors.New(text) }}
}

// route lets the router of one endpoint handle an input. It returns what was said, and the log.
func (k *routed) route(t *testing.T, in chat.Input) (said string, log string, _ error) {
	t.Helper()
	j := &harness.Log{}
	r, err := newRouter(k, &transport{}, slog.New(slog.NewTextHandler(j, nil)))
	if err != nil {
		t.Fatal(err)
	}
	turn, err := r.handle(t.Context(), in)
	if turn.Commit != nil {
		said = turn.Commit(nil).Error()
	}
	return said, j.String(), err
}

// TestEveryKindOfRouteReachesItsEndpoint: through telebot, whatever it makes of the update that we compose.
func TestEveryKindOfRouteReachesItsEndpoint(t *testing.T) {
	for _, to := range []chat.Route{
		{Kind: chat.ByCommand, Name: "delete_me"}, {Kind: chat.ByCallback, Name: "to"}, {Kind: chat.ByCallback},
		{Kind: chat.ByText}, {Kind: chat.ByText, Name: "api/mail address"}, {Kind: chat.ByContact}, {Kind: chat.ByContact, Name: "api/contact"},
		{Kind: chat.ByPerson}, {Kind: chat.ByPerson, Name: "send/address"}, {Kind: chat.ByEdit},
	} {
		k := &routed{talker: newTalker(), endpoint: chat.Endpoint{Route: to, Groups: true,
			Handle: func(_ context.Context, h chat.Inbound) (chat.Turn, error) { return saying("to " + h.Text), nil }}}
		for _, text := range []string{"words", "\fto", "\aphoto", "/start@another", "text api/mail address", ""} { // no text is a route
			if said, _, err := k.route(t, chat.Input{Chat: 1, Private: true, Text: text}); said != "to "+text || err != nil {
				t.Errorf("%v with %q: %q, %v", to, text, said, err)
			}
		}
	}
}

func TestNobodyAnswersWhatHasNoRoute(t *testing.T) {
	k := &routed{talker: newTalker(), nobody: true, endpoint: chat.Endpoint{Route: chat.Route{Kind: chat.ByText}}}
	if said, _, err := k.route(t, chat.Input{Chat: -1, Text: "talk"}); said != "" || err != nil {
		t.Errorf("said %q, %v", said, err)
	}
}

func TestARouteWithoutAnEndpointIsAnError(t *testing.T) {
	if _, err := newRouter(&routed{talker: newTalker()}, &transport{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("an endpoint without a route was registered")
	}
	k := &routed{talker: newTalker(), endpoint: chat.Endpoint{Route: chat.Route{Kind: chat.ByCommand, Name: "start"}}}
	r, err := newRouter(k, &transport{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	k.endpoint.Name = "other"
	if _, err := r.handle(t.Context(), chat.Input{Chat: 1, Private: true}); err == nil {
		t.Error("it was passed over")
	}
}

// TestMiddleware: a panic is an error of its endpoint, who asks too often is told so, and a group is shown the way to
// the private chat, before the handler runs.
func TestMiddleware(t *testing.T) {
	tooOften := errors.New("too often")
	handle := func(_ context.Context, h chat.Inbound) (chat.Turn, error) {
		switch h.Text {
		case "panic":
			panic("a secret")
		case "slow":
			return chat.Turn{}, tooOften
		case "fail":
			return chat.Turn{}, errBroken
		}
		return saying("done"), nil
	}
	k := &routed{talker: newTalker(), slow: tooOften, endpoint: chat.Endpoint{Route: chat.Route{Kind: chat.ByCommand, Name: "start"}, Handle: handle}}
	private := func(text string) chat.Input { return chat.Input{Chat: 1, Private: true, Text: text} }
	if said, _, err := k.route(t, private("go")); said != "done" || err != nil {
		t.Errorf("%q, %v", said, err)
	}
	if said, log, err := k.route(t, private("panic")); said != "" || err == nil || strings.Contains(log+err.Error(), "a secret") || !strings.Contains(log, "start") {
		t.Errorf("a panic: %q, %v, logged as %s", said, err, log)
	}
	if said, _, err := k.route(t, private("slow")); said != "slow down" || err != nil {
		t.Errorf("too often: %q, %v", said, err)
	}
	if said, _, err := k.route(t, private("fail")); said != "" || !errors.Is(err, errBroken) {
		t.Errorf("a failure: %q, %v", said, err)
	}
	for _, text := range []string{"go", "panic", "slow"} {
		if said, _, err := k.route(t, chat.Input{Chat: -1, Text: text}); said != "in private" || err != nil {
			t.Errorf("%s in a group: %q, %v", text, said, err)
		}
	}
	k.endpoint.Groups = true
	if said, _, err := k.route(t, chat.Input{Chat: -1, Text: "go"}); said != "done" || err != nil {
		t.Errorf("what works in groups: %q, %v", said, err)
	}
}

var errBroken = errors.New("broken")
