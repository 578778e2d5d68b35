// Package notify brings events to the chat of the person that they are about. A Notifier handles the jobs of the queue
// store.Events, each in one store transaction, and hands them to a Talker (package chat). It knows who can be reached. It
// does not know which events send a message or in which words (each is a value of package chat), how messages reach Telegram
// (see bot), or who else receives an event (see webhooks).
package notify

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// tries is how many attempts an event gets before it becomes a dead letter. An event that cannot be rendered must not hold up
// later events of the same person.
const tries = 3

// How the queue is worked on: events at once, events of one person at once, and the length of a lease.
const (
	width    = 16 // default of Notifier.Width
	perOwner = 1
	lease    = time.Minute
)

// Talker is the part of chat that notify needs. Notify writes the messages about an event to tx, or nothing if the event
// sends none. It must not write elsewhere: the transaction may be rolled back and repeated.
type Talker interface {
	Notify(tx store.Tx, person wallet.User, event wallet.Event) error
}

// Notifier turns events into chat messages. Width and Random may be left out.
type Notifier struct {
	Store store.Store
	Chat  Talker
	Node  string // see work.Pool
	Width int    // how many events are handled at once; 0: 16
	Now   func() time.Time
	Log   *slog.Logger

	Random io.Reader // jitter of the waits after failures; see work.Schedule
}

// Run handles the queue of events until ctx ends. One transaction writes the event's messages, the conversation's step and
// the end of the job, so a crash neither loses nor repeats a message. Events of one person keep their order. The returned
// error comes from the store; the process should stop then, because the outcome of the last commit is unknown.
func (n *Notifier) Run(ctx context.Context) error {
	pool := &work.Pool{Store: n.Store, Queue: store.Events, Node: n.Node, Width: cmp.Or(n.Width, width), PerOwner: perOwner, Lease: lease,
		Schedule: work.Schedule{First: 100 * time.Millisecond, Most: time.Second, Failures: tries, Random: n.Random}, Handle: n.handle, Now: n.Now, Log: n.Log}
	return pool.Run(ctx)
}

// handle prepares one event. There is no slow work to do, so everything happens in the commit. An event that cannot be
// decoded fails for good.
func (n *Notifier) handle(_ context.Context, job store.Job) (work.Result, error) {
	event, err := store.EventOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	return work.Result{Commit: func(tx store.Tx) error { return n.route(tx, event) }}, nil
}

// route passes an event to the chat if its person still exists and can be reached. Skipped events are done, not retried.
func (n *Notifier) route(tx store.Tx, event wallet.Event) error {
	if event.User == "" {
		return nil
	}
	person, err := tx.User(event.User)
	switch {
	case errors.Is(err, store.ErrNotFound): // the person was erased in the meantime
		return nil
	case err != nil:
		return err
	case person.Unreachable: // the person blocked the bot; cards are redrawn when they come back
		return nil
	}
	return n.Chat.Notify(tx, person, event)
}
