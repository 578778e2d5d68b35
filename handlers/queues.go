package handlers

import (
	"context"
	"errors"

	"purser/store"
	"purser/wallet"
)

// Queues is the operator's view of the job queues: their state, and the dead letters, which can be replayed.
type Queues struct {
	Store store.Store
	Now   Clock
}

// QueueState is the state of one queue.
type QueueState struct {
	Queue store.Queue
	store.JobStats
}

// States returns the state of every queue. Each is read in a transaction of its own, so they are from slightly different
// times.
func (q *Queues) States(ctx context.Context) ([]QueueState, error) {
	var out []QueueState
	for _, queue := range store.JobQueues() {
		stats, err := read(ctx, q.Store, func(tx store.Tx) (store.JobStats, error) { return tx.JobStats(queue.Queue) })
		if err != nil {
			return nil, err
		}
		out = append(out, QueueState{queue.Queue, stats})
	}
	return out, nil
}

// DeadLetters lists the dead letters of a queue, newest first. Body, key and owner are left out, because they are
// personal data. A dead letter of the queue Events has the ID of its event, which logs and webhooks name too.
// INVALID_REQUEST for an unknown queue.
func (q *Queues) DeadLetters(ctx context.Context, queue store.Queue) ([]store.DeadLetter, error) {
	if err := knownQueue(queue); err != nil {
		return nil, err
	}
	all, err := read(ctx, q.Store, func(tx store.Tx) ([]store.DeadLetter, error) { return tx.DeadLetters(queue, store.DeadLettersKept) })
	for i := range all {
		if event, err := store.EventOf(all[i].Job); queue == store.Events && err == nil {
			all[i].ID = store.JobID(event.ID)
		}
		all[i].Body, all[i].Key, all[i].Owner = nil, "", ""
	}
	return all, err
}

// Replay puts a dead letter back at the end of its queue, with its failures reset. NOT_FOUND if there is none with that
// ID (see DeadLetters). CONFLICT while a job with the same ID waits, which makes replaying unnecessary.
func (q *Queues) Replay(ctx context.Context, queue store.Queue, id store.JobID) error {
	if err := knownQueue(queue); err != nil {
		return err
	}
	err := q.Store.Update(ctx, func(tx store.Tx) error { return tx.ReplayDeadLetter(queue, id, q.Now().UTC()) })
	if errors.Is(err, store.ErrConflict) {
		return wallet.Refuse(wallet.Conflict, "admin.letter_waits", wallet.TextArg("ID", id))
	}
	return found(err, wallet.NotFound, "admin.no_letter")
}

// knownQueue returns INVALID_REQUEST, with the names of all queues, for an unknown one.
func knownQueue(queue store.Queue) error {
	if store.KnownJobQueue(queue) {
		return nil
	}
	var names []store.Queue
	for _, q := range store.JobQueues() {
		names = append(names, q.Queue)
	}
	return wallet.Refuse(wallet.InvalidRequest, "body.one_of", wallet.TextArg("Field", "queue"), wallet.ListArg("Choices", names))
}
