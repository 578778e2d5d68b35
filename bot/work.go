package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"purser/chat"
	"purser/store"
)

const (
	attempts      = 3                // then an update is parked
	rereads       = 5                // how often a conflict is handled anew within one attempt
	handleTimeout = 45 * time.Second // of one Talker.Handle
	typingAfter   = 300 * time.Millisecond
	typingEvery   = 4500 * time.Millisecond // Telegram shows it for 5 s
	toastLife     = 12 * time.Second        // a tap that waits longer has given up
)

// work brings one update to its end: handled, or parked after three failures. It returns early,
// leaving the row for the next start, when ctx ends or stopping closes while it waits.
func (b *Bot) work(ctx context.Context, row store.Update, stopping <-chan struct{}) {
	for {
		u, err := kept(row.Body)
		if err == nil {
			err = b.attempt(ctx, row, u)
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrUnknownOutcome) {
			return
		}
		row.Attempts++
		parked := row.Attempts >= attempts
		b.log.Error("an update could not be handled", "update", row.ID, "attempt", row.Attempts, "parked", parked, "error", err)
		if err := b.failed(ctx, row, u, parked); err != nil {
			b.log.Error("a failed update could not be marked", "update", row.ID, "error", err)
		}
		if parked {
			return
		}
		timer := time.NewTimer(backoff(row.Attempts, patience))
		select {
		case <-timer.C:
		case <-ctx.Done():
		case <-stopping:
		}
		if timer.Stop() || ctx.Err() != nil {
			return
		}
	}
}

// attempt handles the update once. A panic of a handler is an error.
func (b *Bot) attempt(ctx context.Context, row store.Update, u incoming) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
			b.log.Error("a handler panicked", "update", row.ID, "error", err, "stack", string(debug.Stack()))
		}
	}()
	if u.in.At.IsZero() {
		u.in.At = row.At
	}
	return b.converse(ctx, row, u)
}

// converse lets the talker decide, and makes the decision true together with the end of the row.
func (b *Bot) converse(ctx context.Context, row store.Update, u incoming) error {
	if u.kind == membership {
		return b.finish(ctx, row, func(tx store.Tx) error { return reachable(tx, u.in.From.TelegramID, !u.blocked) })
	}
	var err error
	for range rereads {
		var turn chat.Turn
		if turn, err = b.ask(ctx, u.in); err != nil {
			return err
		}
		if err = b.finish(ctx, row, turn.Commit); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("handled %d times, each time the world had moved: %w", rereads, err)
}

// ask lets the router find what answers, and shows that somebody is typing while it takes long.
func (b *Bot) ask(ctx context.Context, in chat.Input) (chat.Turn, error) {
	ctx, cancel := context.WithTimeout(ctx, handleTimeout)
	defer cancel()
	quiet := b.typing(ctx, in.Chat)
	defer quiet()
	return b.router.handle(ctx, in)
}

// typing shows "typing…" from 300 ms on until the returned function is called. Best effort.
func (b *Bot) typing(ctx context.Context, where int64) func() {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for wait := typingAfter; pause(ctx, wait); wait = typingEvery {
			err := b.transport.call(ctx, "sendChatAction", map[string]any{"chat_id": where, "action": "typing"}, nil)
			if err != nil && ctx.Err() == nil {
				b.log.Debug("typing could not be shown", "error", err)
			}
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

// finish removes the row and commits what was decided, in one transaction. A row that is gone was
// finished before: then nothing of this is true.
func (b *Bot) finish(ctx context.Context, row store.Update, commit func(store.Tx) error) error {
	gone := false
	err := b.update(ctx, func(tx store.Tx) error {
		err := tx.DoneUpdate(row.Seq)
		gone = errors.Is(err, store.ErrNotFound)
		if err != nil || commit == nil {
			return err
		}
		return commit(tx)
	})
	if gone {
		return nil
	}
	return err
}

// failed counts a failure. A parked update's person is told, and the spinner of a button ends.
func (b *Bot) failed(ctx context.Context, row store.Update, u incoming, parked bool) error {
	var replies []store.Reply
	if parked && u.kind != ignored && u.kind != membership {
		var err error
		if replies, err = b.apology(u.in); err != nil {
			b.log.Error("no apology could be made", "update", row.ID, "error", err)
		}
	}
	return b.update(ctx, func(tx store.Tx) error {
		if err := tx.FailUpdate(row.Seq, parked); err != nil {
			return err
		}
		if len(replies) == 0 {
			return nil
		}
		return tx.Enqueue(replies)
	})
}

func (b *Bot) apology(in chat.Input) (rows []store.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, panicked(p))
		}
	}()
	said := b.opt.Chat.Apology(in)
	isToast := func(r chat.Reply) bool { return r.Kind == chat.Toast }
	if in.Tap != nil && !slices.ContainsFunc(said, isToast) {
		said = append(said, chat.Reply{Kind: chat.Toast, CallbackID: in.Tap.CallbackID})
	}
	return b.toSay(in.Chat, said)
}

// flooded tells a private chat that some of what it sent is left out; a group is told nothing.
func (b *Bot) flooded(where int64) []store.Reply {
	if where <= 0 {
		return nil
	}
	rows, err := b.toSay(where, b.opt.Chat.TooMany())
	if err != nil {
		b.log.Error("nobody could be told that updates are left out", "error", err)
	}
	return rows
}

// toSay makes rows of what is said outside of a Turn.
func (b *Bot) toSay(where int64, said []chat.Reply) (rows []store.Reply, err error) {
	now := b.now().UTC()
	for _, reply := range said {
		body, err := json.Marshal(reply)
		if err != nil {
			return nil, err
		}
		row := store.Reply{Chat: where, Body: body, At: now}
		if reply.Kind == chat.Toast {
			row.NotAfter = now.Add(toastLife)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// reachable notes whether a person lets the bot write to them.
func reachable(tx store.Tx, telegramID int64, yes bool) error {
	user, err := tx.UserByTelegram(telegramID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil || user.Unreachable == !yes {
		return err
	}
	user.Unreachable = !yes
	return tx.PutUser(user)
}
