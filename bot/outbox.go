package bot

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"purser/chat"
	"purser/store"
	"purser/work"
)

const (
	maxSending   = 64               // calls in flight, and messages that wait for their turn
	outboxLease  = 90 * time.Second // a call takes up to 30 s, and a long text several calls
	retryLimit   = time.Minute      // longest wait between two attempts to send
	toastRetries = 3                // of a toast that has no NotAfter
)

// errUnreachable says that Telegram no longer lets the bot write to this person or group: it was blocked or removed.
var errUnreachable = errors.New("bot: the chat does not take messages from the bot")

// errTooLate says that the reply's NotAfter has passed.
var errTooLate = errors.New("bot: the reply is too late")

// deliver is the outbox's work.Handle: it sends one reply as soon as Telegram's limits allow.
//
// A reply is sent at least once. After a crash between the call and the end of the job, or a response that never came, it
// is sent again, and a message may appear twice in the chat (the newer one becomes its card). That is harmless, because a
// button's nonce works only once. A message that was left out could hide what happened to money.
func (b *Bot) deliver(ctx context.Context, job store.Job) (work.Result, error) {
	row, err := store.ReplyOf(job)
	var reply chat.Reply
	if err == nil {
		err = json.Unmarshal(row.Body, &reply)
	}
	if err != nil {
		b.log.Error("a job of the outbox is no reply and is dropped", "job", job.Seq)
		return b.sent(row, 0, nil), nil
	}
	if !row.NotAfter.IsZero() && !b.now().Before(row.NotAfter) {
		return b.sent(row, 0, errTooLate), nil
	}
	if opens, ok := b.turn(ctx, row, reply.Kind, job.Seq); !ok {
		return work.Result{Again: opens}, ctx.Err()
	}
	card, err := b.card(ctx, row)
	if err != nil {
		return work.Result{}, err
	}
	ctx, cancel := b.untilFatal(ctx)
	defer cancel()
	message, err := b.say(ctx, row.Chat, card, reply)
	result, err := b.judge(ctx, row, job.Failures, reply, message, err)
	result.Deferrable = err == nil && result.Again.IsZero() && b.nobodyWaits(ctx, row)
	return result, err
}

// nobodyWaits reports whether neither a request nor another reply to the same chat waits for the end of a reply. What comes
// later needs a commit of its own, which takes a deferrable end along. See attemptEarly for what reads before its commit.
func (b *Bot) nobodyWaits(ctx context.Context, row store.Reply) bool {
	if b.now().Before(row.SendResultUntil) {
		return false
	}
	waiting := 0
	err := b.opt.Store.View(ctx, func(tx store.Tx) (err error) {
		waiting, err = tx.CountJobs(store.Outbox, store.ChatKey(row.Chat))
		return err
	})
	return err == nil && waiting <= 1 // itself
}

// turn waits until a reply may be sent. If its chat has to wait, it returns at once: ok is false, and opens says until when.
func (b *Bot) turn(ctx context.Context, row store.Reply, kind chat.ReplyKind, seq uint64) (opens time.Time, ok bool) {
	if kind == chat.Toast || kind == chat.Delete { // no messages: they do not count against Telegram's limits
		opens = b.pacer.unpaced(row.Chat)
		return opens, !opens.After(b.now())
	}
	return b.pacer.turn(ctx, row.Chat, row.Priority, seq)
}

// card returns the id of the message that has shown the reply's subject so far; 0 if there is none.
func (b *Bot) card(ctx context.Context, row store.Reply) (message int, err error) {
	if row.Card == "" {
		return 0, nil
	}
	err = b.opt.Store.View(ctx, func(tx store.Tx) error {
		message, err = tx.Card(row.Chat, row.Card)
		if errors.Is(err, store.ErrNotFound) {
			message, err = 0, nil
		}
		return err
	})
	return message, err
}

// judge decides by the result of a call what happens to the reply: it was sent, it is dropped, or it is tried again. An
// error without a response, and a response that the Bot API does not give, are tried again. A refusal of the content ends
// the reply, since a retry would be refused too.
func (b *Bot) judge(ctx context.Context, row store.Reply, failures int, reply chat.Reply, message int, err error) (work.Result, error) {
	if err == nil {
		return b.sent(row, message, nil), nil
	}
	if ctx.Err() != nil {
		return work.Result{}, ctx.Err()
	}
	no := refused(err)
	switch {
	case no == nil && errors.As(err, new(*transportError)): // nobody knows whether it was sent
		if reply.Kind == chat.Toast && row.NotAfter.IsZero() && failures+1 >= toastRetries {
			return b.sent(row, 0, nil), nil
		}
		return work.Result{}, err
	case no == nil:
	case no.retryAfter > 0:
		b.log.Warn("Telegram asks for a pause", "for", no.retryAfter)
		return work.Result{Again: b.pacer.flooded(row.Chat, no.retryAfter)}, nil
	case no.code == http.StatusUnauthorized:
		b.log.Error("Telegram refuses the bot token now. Was it revoked? Check telegram.token.")
		b.die(ErrBadToken)
		return work.Result{Again: b.now().Add(retryLimit)}, nil
	case no.code == http.StatusForbidden:
		return b.sent(row, 0, errUnreachable), nil
	case reply.Kind == chat.Toast && no.saysAny("query is too old", "query ID is invalid"),
		reply.Kind == chat.Delete && no.saysAny("message to delete not found", "message can't be deleted"):
		return b.sent(row, 0, nil), nil
	case reply.Kind == chat.Strip && no.saysAny("message is not modified", "message to edit not found", "message can't be edited"):
		return b.sent(row, 0, nil), nil
	case no.code != http.StatusBadRequest && no.code != http.StatusRequestEntityTooLarge:
		// Nothing that the Bot API says to a reply: something else answers in its place.
		b.log.Error("an odd answer to a reply; trying again", "error", err)
		return work.Result{Again: b.now().Add(retryLimit)}, nil
	}
	b.logRefused(ctx, reply, err)
	return b.sent(row, 0, err), nil
}

// logRefused logs that Telegram refuses a reply for good. The reply's content is not logged.
func (b *Bot) logRefused(ctx context.Context, reply chat.Reply, err error) {
	level := slog.LevelError
	if reply.ParseMode != "" { // an app's own words are its own fault
		level = slog.LevelInfo
	}
	b.log.Log(ctx, level, "a reply cannot be sent and is dropped", "kind", reply.Kind, "error", err)
}

// sent ends a reply. message is the id of the new message, 0 if there is none. why is the reason why it was not sent, nil
// if it was. One transaction writes the message's id as the subject's card, the result for an app that waits for it, and
// whether the person can be reached. After the commit it wakes requests that wait for the result.
func (b *Bot) sent(row store.Reply, message int, why error) work.Result {
	return work.Result{Commit: func(tx store.Tx) error {
		if message != 0 && row.Card != "" && (row.CardUntil.IsZero() || b.now().Before(row.CardUntil)) {
			if err := tx.PutCard(row.Chat, row.Card, message, row.CardUntil); err != nil {
				return err
			}
		}
		if row.Card != "" && b.now().Before(row.SendResultUntil) {
			if err := tx.PutSendResult(row.Chat, row.Card, sendResultOf(message, why, row.SendResultUntil)); err != nil {
				return err
			}
		}
		if err := chat.Posted(tx, row, message, b.now()); err != nil {
			return err
		}
		if errors.Is(why, errUnreachable) && row.Chat > 0 {
			return reachable(tx, row.Chat, false)
		}
		return nil
	}, After: func() { b.waiters.wake(row) }}
}

// handing ends an update with what was decided. Replies that can be sent at once are leased to this node in the same
// commit and passed to its own workers from memory. So no claim is needed between the commit and the message.
func (b *Bot) handing(decided func(store.Tx) error) work.Result {
	var handed []store.Job
	return work.Result{Commit: func(tx store.Tx) error {
		h := &handingTx{Tx: tx, to: b.outbox.Offer()}
		err := decided(h)
		handed = h.handed
		return err
	}, After: func() { b.outbox.Hand(handed) }}
}

// handingTx is a store transaction whose replies are leased to this node as they are put.
type handingTx struct {
	store.Tx
	to     *store.Claim
	handed []store.Job
}

// PutJobs implements store.Tx.
func (h *handingTx) PutJobs(jobs []store.Job, to *store.Claim) ([]store.Job, error) {
	if to != nil || h.to == nil {
		return h.Tx.PutJobs(jobs, to)
	}
	put, err := h.Tx.PutJobs(jobs, h.to)
	for _, job := range put {
		if job.Attempt > 0 && job.Queue == store.Outbox {
			h.handed = append(h.handed, job)
		}
	}
	return put, err
}
