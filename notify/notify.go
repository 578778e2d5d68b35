// Package notify brings events to the chat of the person they are about: a Notifier handles the jobs of the queue
// store.Events, one transaction each. It knows who can be reached. It refuses to know which events a person gets
// and in which words (a value of package chat each), how a message is sent (see bot), and who else hears of an event.
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

// tries is how often an event may fail to be told before it is a dead letter: one that cannot be rendered must not hold
// up those of the same person that come after it.
const tries = 3

// How events are handled: how many at once, how many of one person, and for how long they are this node's.
const (
	width    = 16 // where Notifier.Width does not say otherwise
	perOwner = 1
	lease    = time.Minute
)

// Talker is what notify needs of chat: Notify writes what a person is told of an event into the transaction that it is
// given, and nothing for an event that nobody is told of.
type Talker interface {
	Notify(tx store.Tx, person wallet.User, event wallet.Event) error
}

// Notifier turns events into chat messages.
type Notifier struct {
	Store store.Store
	Chat  Talker
	Node  string // see work.Pool
	Width int    // how many events are handled at once; 0: a sensible number
	Now   func() time.Time
	Log   *slog.Logger

	Random io.Reader // of the waits after failures; see work.Schedule
}

// Run handles the queue of events until ctx ends: each event's messages, its conversation's step and its end in the queue
// become true in one transaction, so that nothing is told twice or never. Events of one person keep their order. Its error
// is the store's, after which nothing is certain.
func (n *Notifier) Run(ctx context.Context) error {
	pool := &work.Pool{Store: n.Store, Queue: store.Events, Node: n.Node, Width: cmp.Or(n.Width, width), PerOwner: perOwner, Lease: lease,
		Schedule: work.Schedule{First: 100 * time.Millisecond, Most: time.Second, Failures: tries, Random: n.Random}, Handle: n.handle, Now: n.Now, Log: n.Log}
	return pool.Run(ctx)
}

// handle routes one event. There is nothing to be done but to write, so all of it is the commit.
func (n *Notifier) handle(_ context.Context, job store.Job) (work.Result, error) {
	event, err := store.EventOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	return work.Result{Commit: func(tx store.Tx) error { return n.route(tx, event) }}, nil
}

// route hands an event to the chat, if it is about a person who is still here and can be reached.
func (n *Notifier) route(tx store.Tx, event wallet.Event) error {
	if event.User == "" {
		return nil
	}
	person, err := tx.User(event.User)
	switch {
	case errors.Is(err, store.ErrNotFound): // erased meanwhile
		return nil
	case err != nil:
		return err
	case person.Unreachable: // the card is drawn again when they ask for something
		return nil
	}
	return n.Chat.Notify(tx, person, event)
}
