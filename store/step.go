package store

import (
	"time"

	"purser/wallet"
)

// A transaction that can still change has one job, named by its own id, that says when settle checks it next. Every
// function in this file that stores a transaction puts, moves or removes that job in the same store transaction. So
// nobody has to search for transactions that are due: they are claimed, and those that only wait cost nothing.

// Create stores a new transaction as it is, and schedules its first check. ErrConflict: the id exists.
func Create(tx Tx, t wallet.Transaction) error {
	if err := tx.CreateTransaction(t); err != nil {
		return err
	}
	return Schedule(tx, t, t.CreatedAt)
}

// Begin stores a new transaction that takes its first step at once, with the events of that step. It returns the row as
// stored.
func Begin(tx Tx, t wallet.Transaction, c wallet.TransitionInput) (wallet.Transaction, error) {
	next, events, err := tx.Kinds().Apply(t, c)
	if err != nil {
		return t, err
	}
	if err := tx.CreateTransaction(next); err != nil {
		return t, err
	}
	next.Version = 1 // as CreateTransaction stores it
	if err := Schedule(tx, next, c.At); err != nil {
		return t, err
	}
	return next, tx.Emit(events...)
}

// Step takes one transition of a transaction: it stores the new state, emits its events and schedules the next check,
// all in the caller's store transaction. It returns the row as stored. A transition that the state does not allow is an
// error of wallet and writes nothing. ErrConflict: the row is no longer the version that was read.
//
// If the transaction has ended or moved to another queue, its old job is removed, so that an attempt of settle that is
// under way can no longer write.
func Step(tx Tx, t wallet.Transaction, c wallet.TransitionInput) (wallet.Transaction, error) {
	next, err := Apply(tx, t, c)
	if err != nil {
		return t, err
	}
	if err := Schedule(tx, next, c.At); err != nil {
		return t, err
	}
	due, open, err := checkJob(tx.Kinds(), next, c.At)
	if err != nil {
		return t, err
	}
	for _, queue := range []Queue{Settlement, Collecting} {
		if open && due.Queue == queue {
			continue
		}
		if err := tx.RemoveJobs(queue, JobID(next.ID)); err != nil {
			return t, err
		}
	}
	return next, nil
}

// Apply is Step without the job. Settle uses it: it holds the transaction's job and says itself when the next check is
// due.
func Apply(tx Tx, t wallet.Transaction, c wallet.TransitionInput) (wallet.Transaction, error) {
	next, events, err := tx.Kinds().Apply(t, c)
	if err != nil {
		return t, err
	}
	if err := tx.PutTransaction(next); err != nil {
		return t, err
	}
	next.Version++ // as PutTransaction left it
	return next, tx.Emit(events...)
}

// Recheck stores t and has settle check it at once.
func Recheck(tx Tx, t wallet.Transaction, now time.Time) error {
	if err := tx.PutTransaction(t); err != nil {
		return err
	}
	return ScheduleAt(tx, t, now, now)
}

// Schedule puts the job of the next check of t. A closed transaction gets none.
func Schedule(tx Tx, t wallet.Transaction, now time.Time) error {
	return ScheduleAt(tx, t, now, time.Time{})
}

// ScheduleAt is Schedule with the time of the check; the zero time leaves it to the state.
func ScheduleAt(tx Tx, t wallet.Transaction, now, at time.Time) error {
	job, open, err := checkJob(tx.Kinds(), t, now)
	if err != nil || !open {
		return err
	}
	if !at.IsZero() {
		job.NotBefore = at
	}
	_, err = tx.PutJobs([]Job{job}, nil)
	return err
}

// checkJob returns the job of the next check of t, after a step at now (wallet.Rules.NextCheck). open is false if nothing can
// change any more.
func checkJob(kinds wallet.Kinds, t wallet.Transaction, now time.Time) (job Job, open bool, err error) {
	rules, err := kinds.Of(t.Kind)
	if err != nil {
		return Job{}, false, err
	}
	check, open := rules.NextCheck(t, now)
	if !open {
		return Job{}, false, nil
	}
	job = Job{ID: JobID(t.ID), Queue: Settlement, Owner: settledFor(t), At: now, NotBefore: check.At, About: t.Owner,
		Priority: map[wallet.Urgency]Priority{wallet.CheckFirst: JobUrgent, wallet.CheckSoon: JobSoon, wallet.CheckInTurn: JobNormal}[check.Urgency]}
	if check.Elsewhere {
		job.Queue = Collecting
	}
	return job, true, nil
}

// settledFor is the owner of a transaction's job: its person, or the API key for a wallet that belongs to nobody.
func settledFor(t wallet.Transaction) string {
	if t.Owner != "" {
		return string(t.Owner)
	}
	return t.KeyID
}
