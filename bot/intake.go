package bot

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"math"
	"slices"
	"sync"

	"purser/store"
)

const (
	// maxWaiting bounds the updates that wait in memory. Beyond it Telegram keeps them for us.
	maxWaiting = 10_000
	// maxOfChat bounds those of one chat, so that nobody takes all the room. Beyond it the oldest are left out, and the
	// person is told once: what somebody wrote last is what they still want.
	maxOfChat = 100
	// MaxUpdate bounds a webhook body in bytes; real updates are some kilobytes.
	MaxUpdate = 1 << 20
)

// intake is the door that every update comes through: one commit at a time, which takes all that
// have gathered meanwhile, so that webhook calls in parallel share commits and the order of the
// inbox is the order in which the lines receive.
type intake struct {
	gather  sync.Mutex
	waiting []*arrival

	commit sync.Mutex   // held while writing and handing over
	lines  *chatWorkers // nil while nobody works
	limit  int
	ofChat int
}

type arrival struct {
	updates []incoming
	done    bool // written, or failed with err; guarded by commit
	err     error
}

// Accept takes one webhook call: secret is its X-Telegram-Bot-Api-Secret-Token header, body the
// update. When it returns nil the update is durably in the inbox (or of no interest) and the call
// is to be answered 200. ErrForbidden is 401, ErrBadUpdate 400; anything else is 503, and Telegram
// delivers again. It may be called before Run and while Run ends.
func (b *Bot) Accept(ctx context.Context, secret string, body []byte) error {
	if !b.Knows(secret) {
		return ErrForbidden
	}
	if len(body) > MaxUpdate {
		return ErrBadUpdate
	}
	u, err := b.reader.arrived(body)
	switch {
	case errors.Is(err, errForeign):
		// It has an id but a shape of the future: delivering it again would not help.
		b.log.Warn("an update of Telegram's cannot be read and is dropped", "update", u.id)
		return nil
	case err != nil:
		return ErrBadUpdate
	case b.intake.full():
		return ErrBusy
	}
	return b.take(ctx, []incoming{u})
}

// Knows tells whether a secret is the one that Telegram was given, in constant time.
func (b *Bot) Knows(secret string) bool {
	ours, theirs := sha256.Sum256([]byte(b.opt.WebhookSecret)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(ours[:], theirs[:]) == 1 && b.opt.Mode == Webhook
}

// take writes updates to the inbox and hands the new ones to their lines.
func (b *Bot) take(ctx context.Context, updates []incoming) error {
	mine := &arrival{}
	for _, u := range updates {
		if u.kind != ignored {
			mine.updates = append(mine.updates, u)
		}
	}
	if len(mine.updates) == 0 {
		return nil
	}
	in := &b.intake
	in.gather.Lock()
	in.waiting = append(in.waiting, mine)
	in.gather.Unlock()

	in.commit.Lock()
	defer in.commit.Unlock()
	if mine.done { // somebody before us took ours along
		return mine.err
	}
	in.gather.Lock()
	all := in.waiting
	in.waiting = nil
	in.gather.Unlock()
	err := b.write(ctx, all)
	for _, a := range all {
		a.done, a.err = true, err
	}
	return mine.err
}

func (b *Bot) write(ctx context.Context, all []*arrival) error {
	now := b.now().UTC()
	var rows []store.Update
	for _, a := range all {
		for _, u := range a.updates {
			rows = append(rows, store.Update{ID: u.id, Chat: u.in.Chat, At: now, Body: u.body})
		}
	}
	var cuts []leftOut
	if b.intake.lines != nil {
		rows, cuts = b.bound(b.intake.lines, rows)
	}
	var fresh []store.Update
	err := b.update(ctx, func(tx store.Tx) (err error) {
		if fresh, err = tx.PutUpdates(now, rows); err != nil {
			return err
		}
		return leaveOut(tx, cuts)
	})
	if b.intake.lines == nil {
		return err
	}
	if err != nil {
		for _, c := range cuts {
			b.intake.lines.restore(c.chat, c.out, c.first)
		}
		return err
	}
	b.intake.lines.add(fresh)
	return nil
}

// leftOut is what is left out of one chat's updates.
type leftOut struct {
	chat   int64
	out    []store.Update // rows to be removed
	first  bool           // the chat is to be told
	notice []store.Reply
}

// bound leaves out what is too much for one chat, the oldest first: of what waits, and then of what comes.
func (b *Bot) bound(workers *chatWorkers, rows []store.Update) (kept []store.Update, cuts []leftOut) {
	coming := map[int64]int{}
	for _, row := range rows {
		coming[row.Chat]++
	}
	skip := map[int64]int{}
	for chat, n := range coming {
		out, excess, first := workers.cut(chat, n, b.intake.ofChat)
		if len(out) == 0 && excess == 0 {
			continue
		}
		skip[chat] = excess
		c := leftOut{chat: chat, out: out, first: first}
		if first {
			b.log.Warn("a chat sends faster than it can be answered: its oldest updates are left out", "updates", len(out)+excess)
			c.notice = b.flooded(chat)
		}
		cuts = append(cuts, c)
	}
	if len(cuts) == 0 {
		return rows, nil
	}
	for _, row := range rows {
		if skip[row.Chat] == 0 {
			kept = append(kept, row)
			continue
		}
		skip[row.Chat]--
		if at := slices.IndexFunc(cuts, func(c leftOut) bool { return c.chat == row.Chat }); row.Seq != 0 { // it is in the inbox
			cuts[at].out = append(cuts[at].out, row)
		}
	}
	return kept, cuts
}

// leaveOut removes what was cut, and tells its people.
func leaveOut(tx store.Tx, cuts []leftOut) error {
	for _, c := range cuts {
		for _, row := range c.out {
			if err := tx.DoneUpdate(row.Seq); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		if len(c.notice) > 0 {
			if err := tx.Enqueue(c.notice); err != nil {
				return err
			}
		}
	}
	return nil
}

// open hands what the inbox holds from before to the lines, and from then on whatever comes in.
func (b *Bot) open(ctx context.Context, workers *chatWorkers) error {
	b.intake.commit.Lock()
	defer b.intake.commit.Unlock()
	var left []store.Update
	err := b.opt.Store.View(ctx, func(tx store.Tx) (err error) {
		left, err = tx.Updates(math.MaxInt32)
		return err
	})
	if err != nil {
		return err
	}
	if len(left) > 0 {
		b.log.Info("handling updates that waited in the inbox", "updates", len(left))
	}
	left, cuts := b.bound(workers, left)
	if len(cuts) > 0 {
		if err := b.update(ctx, func(tx store.Tx) error { return leaveOut(tx, cuts) }); err != nil {
			return err
		}
	}
	workers.add(left)
	b.intake.lines = workers
	return nil
}

// close ends the handing over; what comes in later waits in the inbox for the next start.
func (in *intake) close() {
	in.commit.Lock()
	defer in.commit.Unlock()
	in.lines = nil
}

func (in *intake) full() bool {
	in.commit.Lock()
	defer in.commit.Unlock()
	return in.lines != nil && in.lines.count() >= in.limit
}

// room waits until there is room for more.
func (in *intake) room(ctx context.Context) error {
	in.commit.Lock()
	workers := in.lines
	in.commit.Unlock()
	return workers.below(ctx, in.limit)
}
