package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// How time-outs of conversations are handled: how many at once, how many of one person, and for how long they are this
// node's.
const (
	silenceWidth = 4
	silenceLease = time.Minute
)

// unreachablePause is how long a key waits to be removed from the chat of whoever has blocked the bot,
// before that is tried again.
const unreachablePause = time.Hour

// Run ends silent conversations until ctx does. Its error is the store's, after which nothing is certain.
func (c *Chat) Run(ctx context.Context) error {
	if err := c.silences().Run(ctx); err != nil {
		return fmt.Errorf("end silent conversations: %w", err)
	}
	return nil
}

// silences handles the time-outs of conversations (store.Converse). One that fails is tried again for good: it may be what
// removes a key from a chat.
func (c *Chat) silences() *work.Pool {
	return &work.Pool{Store: c.Store, Queue: store.Silences, Node: cmp.Or(c.Node, "main"), Width: silenceWidth, PerOwner: 1, Lease: silenceLease,
		Schedule: work.Schedule{First: 5 * time.Second, Most: time.Hour}, Handle: c.FellSilent, Now: c.Now, After: c.After, Log: c.Log}
}

// FellSilent is the work.Handle of a conversation's time-out: it ends the conversation that nobody has answered in time,
// and says so. One that has moved on is looked at again when its new time is over. No transaction ends here: its own
// deadline is settle's.
func (c *Chat) FellSilent(ctx context.Context, job store.Job) (work.Result, error) {
	var conv store.Conversation
	err := c.Store.View(ctx, func(tx store.Tx) (err error) {
		conv, err = store.SilentConversation(tx, job)
		return err
	})
	switch {
	case errors.Is(err, store.ErrDamaged): // no further attempt reads it: the operator has it as a dead letter
		return work.Result{}, work.Permanent(err)
	case err != nil:
		return work.Result{}, err
	case conv.State == "" || conv.ExpiresAt.IsZero(): // it has ended
		return work.Result{Commit: func(tx store.Tx) error { _, err := unmoved(tx, conv); return err }}, nil
	case c.Now().Before(conv.ExpiresAt):
		return work.Result{Again: conv.ExpiresAt, Commit: func(tx store.Tx) error { _, err := unmoved(tx, conv); return err }}, nil
	}
	return work.Result{Commit: func(tx store.Tx) error {
		if err := c.endSilent(tx, conv); err != nil {
			return err
		}
		now, err := tx.Conversation(conv.Chat, conv.User, conv.Slot)
		if err != nil || now.State == "" || now.ExpiresAt.IsZero() {
			return err
		}
		return store.PutSilence(tx, now, c.Now().UTC()) // it went on to something that can fall silent: this attempt's end must not end that
	}}, nil
}

// unmoved reads a conversation again; ErrConflict when it is no longer as it was.
func unmoved(tx store.Tx, was store.Conversation) (store.Conversation, error) {
	conv, err := tx.Conversation(was.Chat, was.User, was.Slot)
	if err == nil && conv.Version != was.Version {
		err = store.ErrConflict
	}
	return conv, err
}

func (c *Chat) endSilent(tx store.Tx, was store.Conversation) error {
	conv, err := unmoved(tx, was)
	if err != nil {
		return err
	}
	s := &replyTx{Chat: c, tx: tx, now: c.Now().UTC(), conv: conv}
	if s.question, s.data = c.open(&s.conv); s.conv.State == "" { // nothing that this version understands: it is just forgotten
		s.moved = true
		return s.end()
	}
	switch s.user, err = tx.UserByTelegram(conv.User); {
	case errors.Is(err, store.ErrNotFound): // erased: nobody is left to be told
		s.conv.State, s.moved = "", true
		return s.end()
	case err != nil:
		return err
	}
	s.words = c.wordsFor(s.user.Language)
	of := c.registry.byName[s.conv.Flow]
	if s.user.Unreachable && of.cleanup[s.state()] { // nothing can be deleted there now, and it must not stay
		s.conv.ExpiresAt, s.moved = s.now.Add(unreachablePause), true
		return s.end()
	}
	if conv.Slot != "" {
		if end := of.slots[conv.Slot]; end != nil {
			return end(s, conv)
		}
		s.conv.State, s.moved = "", true // of another version
		return s.end()
	}
	if err := s.transition(s.conv.Flow, silence); err != nil {
		return err
	}
	if s.user.Unreachable {
		s.out = nil
	}
	return s.end()
}

// replyTxOf is a replyTx that no Input began: purser has something to tell by itself.
func (c *Chat) replyTxOf(tx store.Tx, user wallet.User, priority int) (*replyTx, error) {
	conv, err := tx.Conversation(user.TelegramID, user.TelegramID, "") // their private chat
	if err != nil {
		return nil, err
	}
	conv.Chat, conv.User = user.TelegramID, user.TelegramID
	s := &replyTx{Chat: c, words: c.wordsFor(user.Language), tx: tx, user: user, now: c.Now().UTC(), conv: conv, priority: priority}
	s.question, s.data = c.open(&s.conv)
	return s, nil
}
