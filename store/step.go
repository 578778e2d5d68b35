package store

import (
	"time"

	"purser/wallet"
)

// A transaction that can still change has one job, by its own id, that says when settle looks at it next. Every
// function of this file that stores a transaction puts, moves or removes that job in the same store transaction, so that
// nothing has to be searched for: what is due is claimed, and what only waits is not touched.

// firstLook is how long after a step settle looks at what the step may have caused: a landing, or one's absence.
const firstLook = 500 * time.Millisecond

// Create stores a new transaction as it is.
func Create(tx Tx, t wallet.Transaction) error {
	if err := tx.CreateTransaction(t); err != nil {
		return err
	}
	return Schedule(tx, t, t.CreatedAt)
}

// Begin stores a transaction that takes its first step as it is made.
func Begin(tx Tx, t wallet.Transaction, c wallet.TransitionInput) (wallet.Transaction, error) {
	next, events, err := tx.Kinds().Apply(t, c)
	if err != nil {
		return t, err
	}
	if err := tx.CreateTransaction(next); err != nil {
		return t, err
	}
	next.Version = 1 // which is CreateTransaction's contract
	if err := Schedule(tx, next, c.At); err != nil {
		return t, err
	}
	return next, tx.Emit(events...)
}

// Step takes one edge of a transaction's life and announces it: the fact, its event and its next look in the one
// store transaction that the caller holds. It returns the row as it now stands. An attempt of settle that is under way
// is fenced where the step ends the transaction or gives it to another queue.
func Step(tx Tx, t wallet.Transaction, c wallet.TransitionInput) (wallet.Transaction, error) {
	next, err := Apply(tx, t, c)
	if err != nil {
		return t, err
	}
	if err := Schedule(tx, next, c.At); err != nil {
		return t, err
	}
	due, open, err := nextLook(tx.Kinds(), next, c.At)
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

// Apply is Step without the job: for settle, which takes a step while it holds the job, and then says itself when the
// next look is due.
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

// Recheck stores t and has settle look at it at once.
func Recheck(tx Tx, t wallet.Transaction, now time.Time) error {
	if err := tx.PutTransaction(t); err != nil {
		return err
	}
	return ScheduleAt(tx, t, now, now)
}

// Schedule puts the job of the next look at t, when its state says; none when nothing can change any more.
func Schedule(tx Tx, t wallet.Transaction, now time.Time) error {
	return ScheduleAt(tx, t, now, time.Time{})
}

// ScheduleAt is Schedule for a look at a time of the caller's.
func ScheduleAt(tx Tx, t wallet.Transaction, now, at time.Time) error {
	job, open, err := nextLook(tx.Kinds(), t, now)
	if err != nil || !open {
		return err
	}
	if !at.IsZero() {
		job.NotBefore = at
	}
	_, err = tx.PutJobs([]Job{job}, nil)
	return err
}

// nextLook is when and in which queue settle looks at t next, if all that is known of it happened at now. open is false
// when nothing can change any more.
func nextLook(kinds wallet.Kinds, t wallet.Transaction, now time.Time) (job Job, open bool, err error) {
	rules, err := kinds.Of(t.Kind)
	if err != nil || t.Closed {
		return Job{}, false, err
	}
	job = Job{ID: JobID(t.ID), Queue: Settlement, Owner: settledFor(t), At: now, NotBefore: now, About: t.Owner}
	if rules.Awaits(t) {
		job.Queue, job.Priority = Collecting, JobNormal
		return job, true, nil
	}
	switch t.Status {
	case wallet.Signed: // it goes out at once
		job.Priority = JobUrgent
	case wallet.AwaitingConfirmation, wallet.AwaitingSignature: // nothing but its time ends it
		job.Priority, job.NotBefore = JobNormal, t.Deadline
	case wallet.Rejected, wallet.Expired: // a device may have signed it all the same
		job.Queue, job.Priority, job.NotBefore = Collecting, JobSoon, now.Add(firstLook)
	default: // pending, confirmed, and whatever else is with the network
		job.Priority, job.NotBefore = JobSoon, now.Add(firstLook)
	}
	return job, true, nil
}

// settledFor is whom fairness counts a transaction's looks by: its owner, or the key of a wallet that is nobody's.
func settledFor(t wallet.Transaction) string {
	if t.Owner != "" {
		return string(t.Owner)
	}
	return t.KeyID
}
