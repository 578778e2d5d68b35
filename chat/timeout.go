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

// How the queue of time-outs is worked on: at most timeoutWidth at once, each leased for timeoutLease.
const (
	timeoutWidth = 4
	timeoutLease = time.Minute
)

// unreachablePause is the time between attempts to remove a key from the chat of a person who has blocked the bot.
const unreachablePause = time.Hour

// Run ends conversations that got no answer in time, until ctx ends. Its error comes from the store; the process should stop
// then, because the outcome of the last commit is unknown.
func (c *Chat) Run(ctx context.Context) error {
	if err := c.timeouts().Run(ctx); err != nil {
		return fmt.Errorf("end timed-out conversations: %w", err)
	}
	return nil
}

// timeouts is the pool that handles time-outs of conversations. store.SaveConversation puts their jobs. A failed job is
// retried without limit, because it may be the one that removes a key from a chat.
func (c *Chat) timeouts() *work.Pool {
	return &work.Pool{Store: c.Store, Queue: store.ConversationTimeouts, Node: cmp.Or(c.Node, "main"), Width: timeoutWidth, PerOwner: 1, Lease: timeoutLease,
		Schedule: work.Schedule{First: 5 * time.Second, Most: time.Hour}, Handle: c.HandleTimeout, Now: c.Now, After: c.After, Log: c.Log}
}

// HandleTimeout handles the time-out of one conversation (work.Pool.Handle). It ends a conversation that got no answer in time
// and tells the person. If the conversation has moved on, the job comes back at the new time. Transactions are not touched
// here: settle watches their deadlines.
func (c *Chat) HandleTimeout(ctx context.Context, job store.Job) (work.Result, error) {
	var conv store.Conversation
	err := c.Store.View(ctx, func(tx store.Tx) (err error) {
		conv, err = store.ConversationOfTimeout(tx, job)
		return err
	})
	switch {
	case errors.Is(err, store.ErrDamaged): // retrying cannot help: a dead letter for the operator
		return work.Result{}, work.Permanent(err)
	case err != nil:
		return work.Result{}, err
	case conv.State == "" || conv.ExpiresAt.IsZero(): // the conversation has ended already
		return work.Result{Commit: func(tx store.Tx) error { _, err := unmoved(tx, conv); return err }}, nil
	case c.Now().Before(conv.ExpiresAt):
		return work.Result{Again: conv.ExpiresAt, Commit: func(tx store.Tx) error { _, err := unmoved(tx, conv); return err }}, nil
	}
	return work.Result{Commit: func(tx store.Tx) error {
		if err := c.endTimedOut(tx, conv); err != nil {
			return err
		}
		// The step may lead to a state that can time out as well. Its time-out is put again, since the end of this job
		// would remove it.
		now, err := tx.Conversation(conv.Chat, conv.User, conv.Slot)
		if err != nil || now.State == "" || now.ExpiresAt.IsZero() {
			return err
		}
		return store.ScheduleTimeout(tx, now, c.Now().UTC())
	}}, nil
}

// unmoved reads a conversation again in the writing transaction. It returns store.ErrConflict if it has changed since.
func unmoved(tx store.Tx, was store.Conversation) (store.Conversation, error) {
	conv, err := tx.Conversation(was.Chat, was.User, was.Slot)
	if err == nil && conv.Version != was.Version {
		err = store.ErrConflict
	}
	return conv, err
}

// endTimedOut takes the time-out step of the conversation's table. Some conversations take no step: unreadable data and erased
// people only end them, a slot has its own function, and a cleanup that cannot run yet is put off. endTimedOut returns
// store.ErrConflict if the conversation has changed since it was read as was. The job is then tried again.
func (c *Chat) endTimedOut(tx store.Tx, was store.Conversation) error {
	conv, err := unmoved(tx, was)
	if err != nil {
		return err
	}
	s := &replyTx{Chat: c, tx: tx, now: c.Now().UTC(), conv: conv}
	if s.question, s.data = c.open(&s.conv); s.conv.State == "" { // data of another version of purser: drop the conversation
		s.moved = true
		return s.end()
	}
	switch s.user, err = tx.UserByTelegram(conv.User); {
	case errors.Is(err, store.ErrNotFound): // the person was erased: nobody to notify
		s.conv.State, s.moved = "", true
		return s.end()
	case err != nil:
		return err
	}
	// From here on the person exists and the data is readable.
	s.words = c.wordsFor(s.user)
	of := c.registry.byName[s.conv.Flow]
	if s.user.Unreachable && of.cleanup[s.state()] { // blocked: the message cannot be deleted now, so try again later
		s.conv.ExpiresAt, s.moved = s.now.Add(unreachablePause), true
		return s.end()
	}
	// A conversation beside the main one has no table: its slot's function ends it.
	if conv.Slot != "" {
		if end := of.slots[conv.Slot]; end != nil {
			return end(s, conv)
		}
		s.conv.State, s.moved = "", true // a slot of another version of purser
		return s.end()
	}
	if err := s.transition(s.conv.Flow, timedOut); err != nil {
		return err
	}
	// The state has ended; messages to a person who blocked the bot would only fail.
	if s.user.Unreachable {
		s.out = nil
	}
	return s.end()
}

// replyTxOf returns a replyTx for a message that purser sends without an Input, such as a notification. It loads the person's
// conversation, which the message may move.
func (c *Chat) replyTxOf(tx store.Tx, user wallet.User, priority int) (*replyTx, error) {
	conv, err := tx.Conversation(user.TelegramID, user.TelegramID, "") // their private chat
	if err != nil {
		return nil, err
	}
	conv.Chat, conv.User = user.TelegramID, user.TelegramID
	s := &replyTx{Chat: c, words: c.wordsFor(user), tx: tx, user: user, now: c.Now().UTC(), conv: conv, priority: priority}
	s.question, s.data = c.open(&s.conv)
	return s, nil
}
