package chat

import (
	"context"
	"errors"
	"fmt"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Inbound is an Input with what the store held about it when Receive read it, and the route of its endpoint. It is a
// snapshot: an Action must read again in its transaction what it relies on.
type Inbound struct {
	Input
	Route Route

	line     parsedLine
	user     wallet.User        // the zero User for a new person
	conv     store.Conversation // the zero row with its version if there is none
	timedOut bool               // the conversation's time is over and the person has not been notified yet
	question question
	data     any          // the conversation's data, read-only: handlers use copyOf
	button   store.Button // the tapped button; zero if its nonce is unknown
	author   wallet.AppID // the app whose message it replies to (Reply.Author); "" for none
	// whileFrozen is set by Endpoints: this input is answered also if the person's account is frozen.
	whileFrozen bool
	app         *AppCommand // set if an app runs a command for the person; nil if the person acts
}

// caller returns the person as the operations of handlers identify them.
func (h Inbound) caller() handlers.Caller { return handlers.Caller{User: h.user.ID} }

// reader returns the person as far as it decides how they are spoken to. The language of this message may be newer than the stored one.
func (h Inbound) reader() wallet.User {
	return wallet.User{Language: h.From.Language, Settings: h.user.Settings}
}

// at returns the state of the conversation if it belongs to this flow. It returns idle for another flow and for a
// conversation whose time is over.
func (h Inbound) at(flow string) State {
	if h.timedOut || h.conv.Flow != flow || h.conv.State == "" {
		return idle
	}
	return State(h.conv.State)
}

// Action is the writing part of an answer. It runs inside the store transaction, possibly more than once, so it must not do
// network calls or keep state outside its replyTx.
type Action func(*replyTx) error

// Receive reads what the store holds about the sender and finds the endpoint for an input. Inputs of bots get the route
// Nobody. If the text contains a secret, Receive drops the text. An error is the store's, and the Input may be tried again.
func (c *Chat) Receive(ctx context.Context, in Input) (Inbound, error) {
	if in.From.IsBot || in.From.TelegramID == 0 {
		return Inbound{Input: in}, nil
	}
	if in.Secret == NoSecret { // an update that was queued before fronts checked for secrets
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

// look reads the person, their conversation, the author of the message they reply to, and the tapped button, in one snapshot
// of the store.
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
		// A row that does not exist has no chat and user yet.
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
	// Decoding needs no transaction.
	h.question, h.data = c.open(&h.conv)
	h.timedOut = h.conv.State != "" && !h.conv.ExpiresAt.IsZero() && !c.Now().Before(h.conv.ExpiresAt)
	return h, nil
}

// turn wraps an action as a Turn. A nil action commits nothing. An error means that nothing was decided and the Input is
// worth another try. A refusal is not an error here: it is an action that answers (see refuse).
func (c *Chat) turn(h Inbound, action Action, err error) (Turn, error) {
	if err != nil {
		return Turn{}, err
	}
	if action == nil {
		return Turn{Commit: func(store.Tx) error { return nil }}, nil
	}
	return Turn{Commit: func(tx store.Tx) error { return c.play(tx, h, action) }}, nil
}

// begin wraps an action that starts something new: it first ends the question that is open.
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

// refuse returns an action that explains a refusal. It passes any other error on.
func refuse(err error) (Action, error) {
	if !labelled(err) {
		return nil, err
	}
	return func(s *replyTx) error { return s.refused(err) }, nil
}

// reply returns an action that sends one text of the catalogue.
func reply(key string, v vars) Action {
	return func(s *replyTx) error { return s.reply(key, v) }
}

// TooMany returns the replies for a private chat that sends faster than purser can answer, in the language of its person. A
// person whom the store does not know yet gets English. An error is the store's.
func (c *Chat) TooMany(tx store.Tx, chat int64) ([]Reply, error) {
	user, err := tx.UserByTelegram(chat) // the id of a private chat is that of its person
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	text, err := c.wordsFor(user).text("talk.too_many", nil)
	if err != nil {
		return nil, err
	}
	return []Reply{{Kind: Message, Text: string(text)}}, nil
}

// Apology returns the replies for an Input that could not be handled after all attempts. It returns nil for inputs that need
// no answer: edits, bots, and messages in groups.
func (c *Chat) Apology(in Input) []Reply {
	if in.Tap == nil && (!in.Private || in.Edited || in.From.IsBot) {
		return nil
	}
	words := c.wordsFor(wallet.User{Language: in.From.Language})
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
