package chat

import (
	"context"
	"errors"
	"fmt"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Inbound is an Input with what the store knew when it came, and the endpoint that it is for.
type Inbound struct {
	Input
	Route Route

	line     line
	user     wallet.User        // zero for somebody new
	conv     store.Conversation // the zero row, with its version, when there is none
	silent   bool               // the conversation's time is over, and nobody has said so yet
	question question
	data     any          // of the conversation, for reading: a handler that changes it copies it first
	button   store.Button // of a tap; zero when its nonce is unknown
	author   wallet.AppID // whose message it replies to (Reply.Author); "" for nobody's
	app      *AppCommand  // an app that runs this for the person; nil: they themselves
}

// caller is the person as handlers know them.
func (h Inbound) caller() handlers.Caller { return handlers.Caller{User: h.user.ID} }

// at is where the conversation stands in a flow.
func (h Inbound) at(flow string) State {
	if h.silent || h.conv.Flow != flow || h.conv.State == "" {
		return idle
	}
	return State(h.conv.State)
}

// Action is what an Input leads to once everything slow is done: it runs inside the store transaction,
// perhaps more than once.
type Action func(*replyTx) error

// Receive reads what the store knows of whoever did something, and finds the endpoint that it is for.
func (c *Chat) Receive(ctx context.Context, in Input) (Inbound, error) {
	if in.From.IsBot || in.From.TelegramID == 0 {
		return Inbound{Input: in}, nil
	}
	if in.Secret == NoSecret { // of an update that was taken in before fronts looked for secrets
		in.Secret = c.secrets.In(in.Text)
	}
	if in.Secret != NoSecret {
		in.Text = ""
	}
	h, err := c.look(ctx, in)
	if err != nil {
		return h, fmt.Errorf("read the conversation: %w", err)
	}
	h.Route = c.route(h)
	return h, nil
}

// look reads what the store knows of the speaker.
func (c *Chat) look(ctx context.Context, in Input) (Inbound, error) {
	h := Inbound{Input: in, line: c.registry.asMeant(read(in.Text))}
	err := c.Store.View(ctx, func(tx store.Tx) error {
		var err error
		if h.user, err = tx.UserByTelegram(in.From.TelegramID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if h.conv, err = tx.Conversation(in.Chat, in.From.TelegramID, ""); err != nil {
			return err
		}
		h.conv.Chat, h.conv.User = in.Chat, in.From.TelegramID
		if h.author, err = c.authorOf(tx, in); err != nil {
			return err
		}
		if in.Tap == nil || !nonceLike(in.Tap.Data) {
			return nil
		}
		if h.button, err = tx.Button(in.Tap.Data); errors.Is(err, store.ErrNotFound) {
			h.button = store.Button{}
			return nil
		}
		return err
	})
	if err != nil {
		return h, err
	}
	h.question, h.data = c.open(&h.conv)
	h.silent = h.conv.State != "" && !h.conv.ExpiresAt.IsZero() && !c.Now().Before(h.conv.ExpiresAt)
	return h, nil
}

// turn is what an action leads to. A refusal is an answer; an error means that nothing was decided, and the Input is
// worth another try.
func (c *Chat) turn(h Inbound, action Action, err error) (Turn, error) {
	if err != nil {
		return Turn{}, err
	}
	if action == nil {
		return Turn{Commit: func(store.Tx) error { return nil }}, nil
	}
	return Turn{Commit: func(tx store.Tx) error { return c.play(tx, h, action) }}, nil
}

// begin leaves what was being asked before something new begins.
func (c *Chat) begin(next Action, err error) (Action, error) {
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		if err := s.leave(); err != nil {
			return err
		}
		return next(s)
	}, nil
}

// refuse makes the answer of a refusal, and passes breakdowns on.
func refuse(err error) (Action, error) {
	if !labelled(err) {
		return nil, err
	}
	return func(s *replyTx) error { return s.refused(err) }, nil
}

// reply is an action of one text.
func reply(key string, v vars) Action {
	return func(s *replyTx) error { return s.reply(key, v) }
}

// TooMany is what a person is told when they send faster than they can be answered.
func (c *Chat) TooMany() []Reply {
	text, err := c.words.text("talk.too_many", nil)
	if err != nil { // a test keeps the catalogue whole
		return nil
	}
	return []Reply{{Kind: Message, Text: string(text)}}
}

// Apology is what a person is told when an Input could not be handled at all.
func (c *Chat) Apology(in Input) []Reply {
	if in.Tap == nil && (!in.Private || in.Edited || in.From.IsBot) {
		return nil
	}
	words := c.wordsFor(in.From.Language)
	text, err := words.text("talk.apology", nil)
	if err != nil { // a test keeps the catalogue whole
		return nil
	}
	replies := []Reply{{Kind: Message, Text: string(text)}}
	if in.Tap != nil {
		toast, err := words.text("toast.apology", nil)
		if err != nil {
			return replies
		}
		replies = append([]Reply{{Kind: Toast, CallbackID: in.Tap.CallbackID, Text: plain(toast)}}, replies...)
	}
	return replies
}
