package handlers

import (
	"context"
	"errors"

	"purser/store"
	"purser/wallet"
)

// Queues are what an operator does with the queues of jobs: see how they stand, and give what was given up another try.
type Queues struct {
	Store store.Store
	Now   Clock
}

// QueueState is how one queue stands.
type QueueState struct {
	Queue store.Queue
	store.JobStats
}

// States says how every queue stands, each by a read of its own.
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

// DeadLetters lists what was given up in a queue, newest first, without what it says: that is people's own.
// INVALID_REQUEST for a queue that there is not.
func (q *Queues) DeadLetters(ctx context.Context, queue store.Queue) ([]store.DeadLetter, error) {
	if err := knownQueue(queue); err != nil {
		return nil, err
	}
	all, err := read(ctx, q.Store, func(tx store.Tx) ([]store.DeadLetter, error) { return tx.DeadLetters(queue, store.DeadLettersKept) })
	for i := range all {
		all[i].Body, all[i].Key, all[i].Owner = nil, "", ""
	}
	return all, err
}

// Replay gives one that was given up another try, behind all others of its queue and as if it had never failed.
// NOT_FOUND without it, CONFLICT while a job of its id waits: then there is nothing to be made up for.
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
