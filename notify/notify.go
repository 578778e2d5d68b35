// Package notify brings events to the chat of the person that they are about. A Notifier handles the jobs of the queues
// store.Events and store.HeldEvents, each in one store transaction, and hands them to a Talker (package chat). Summaries
// sends summaries of portfolios, at the time that a person chose. News brings market news, a page of people in each
// transaction. Each of these has a queue of its own. The package knows who can be reached. It does not know which events send a message or in which words (each is a value of package chat), how messages reach Telegram
// (see bot), or who else receives an event (see webhooks).
package notify

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

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

// Talker is the part of chat that notify needs. Its methods write to tx and must not write elsewhere: the transaction may be rolled back
// and repeated.
type Talker interface {
	// Notify writes the messages about an event, or nothing if the event sends none. What does not disturb somebody in their quiet hours
	// is put into the queue HeldEvents.
	Notify(tx store.Tx, person wallet.User, event wallet.Event) error
	// NotifyHeld writes the messages about events that were held, in their order.
	NotifyHeld(tx store.Tx, person wallet.User, held []wallet.Event) error
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

// Run handles the queues of events until ctx ends. One transaction writes the event's messages, the conversation's step and
// the end of the job, so a crash neither loses nor repeats a message. Events of one person keep their order. The returned
// error comes from the store; the process should stop then, because the outcome of the last commit is unknown.
func (n *Notifier) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, pool := range n.Pools() {
		group.Go(func() error { return pool.Run(ctx) })
	}
	return group.Wait()
}

// Pools returns the worker pools that Run starts: one for new events, and one for those that were held.
func (n *Notifier) Pools() (out []*work.Pool) {
	for _, queue := range []store.Queue{store.Events, store.HeldEvents} {
		out = append(out, &work.Pool{Store: n.Store, Queue: queue, Node: n.Node, Width: cmp.Or(n.Width, width), PerOwner: perOwner, Lease: lease,
			Schedule: work.Schedule{First: 100 * time.Millisecond, Most: time.Second, Failures: tries, Random: n.Random}, Handle: n.handle, Now: n.Now, Log: n.Log})
	}
	return out
}

// handle prepares one event. There is no slow work to do, so everything happens in the commit. An event that cannot be
// decoded fails for good.
func (n *Notifier) handle(ctx context.Context, job store.Job) (work.Result, error) {
	event, err := store.EventOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	if job.Queue == store.HeldEvents {
		return n.handleHeld(ctx, job, event)
	}
	return work.Result{Commit: func(tx store.Tx) error {
		person, ok, err := reached(tx, event.User)
		if err != nil || !ok {
			return err
		}
		return n.Chat.Notify(tx, person, event)
	}}, nil
}

// handleHeld prepares the first event that was held for a person. With it come the others, so that their messages go out together. If the
// person's quiet hours were changed and it is quiet now, it waits again, and the others behind it.
func (n *Notifier) handleHeld(ctx context.Context, job store.Job, event wallet.Event) (work.Result, error) {
	var again time.Time
	err := n.Store.View(ctx, func(tx store.Tx) error {
		person, _, err := reached(tx, event.User)
		again = person.Settings.QuietUntil(n.Now())
		return err
	})
	if err != nil {
		return work.Result{}, err
	}
	return work.Result{Again: again, Commit: func(tx store.Tx) error {
		person, ok, err := reached(tx, event.User)
		if err != nil || !ok || !again.IsZero() {
			return err
		}
		var more []wallet.Event
		if job.Failures == 0 { // one of them may be what failed: then each is handled alone, and takes no other with it
			if more, err = store.TakeHeldEvents(tx, person.ID, job.ID); err != nil {
				return err
			}
		}
		return n.Chat.NotifyHeld(tx, person, append([]wallet.Event{event}, more...))
	}}, nil
}

// reached returns the person that an event is about. ok is false if there is none, if they were erased in the meantime, or if they blocked the bot:
// such events are done, not retried. Cards are redrawn when somebody comes back.
func reached(tx store.Tx, id wallet.UserID) (person wallet.User, ok bool, err error) {
	if id == "" {
		return person, false, nil
	}
	person, err = tx.User(id)
	if errors.Is(err, store.ErrNotFound) {
		return person, false, nil
	}
	return person, err == nil && !person.Unreachable, err
}
