package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// How often silence is looked for, and how many conversations end in one look.
const (
	silenceEvery = 5 * time.Second
	silenceBatch = 100
)

// unreachablePause is how long a key waits to be removed from the chat of whoever has blocked the bot,
// before that is tried again.
const unreachablePause = time.Hour

// Run ends silent conversations until ctx does. Its error is store.ErrUnknownOutcome; any other
// trouble is logged and met again at the next look.
func (c *Chat) Run(ctx context.Context) error {
	for {
		switch err := c.Silent(ctx); {
		case errors.Is(err, store.ErrUnknownOutcome):
			return fmt.Errorf("end silent conversations: %w", err)
		case err != nil && ctx.Err() == nil:
			c.Log.Error("a silent conversation could not be ended", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.After(silenceEvery):
		}
	}
}

// Silent ends the conversations that nobody has answered in time, and says so. No transaction ends
// here: its own deadline is settle's.
func (c *Chat) Silent(ctx context.Context) error {
	var over []store.Conversation
	err := c.Store.View(ctx, func(tx store.Tx) error {
		var err error
		over, err = tx.SilentConversations(c.Now(), silenceBatch)
		return err
	})
	if err != nil {
		return err
	}
	var failed error // gathered: one broken conversation keeps no other waiting
	for _, conv := range over {
		err := c.Store.Update(ctx, func(tx store.Tx) error { return c.endSilent(tx, conv) })
		if !errors.Is(err, store.ErrConflict) { // a conflict: they have just written, so no silence
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

func (c *Chat) endSilent(tx store.Tx, was store.Conversation) error {
	conv, err := tx.Conversation(was.Chat, was.User, was.Slot)
	if err != nil {
		return err
	}
	if conv.Version != was.Version {
		return store.ErrConflict
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
