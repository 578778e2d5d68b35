package store

import (
	"errors"
	"time"

	"purser/wallet"
)

// HoldEvent puts the job that notifies a person of an event later, when their quiet hours end. Jobs of one person keep the order of
// their events. Holding an event again moves it.
func HoldEvent(tx Tx, who wallet.UserID, e wallet.Event, now, until time.Time) error {
	head, err := EventHead(e)
	if err != nil {
		return err
	}
	_, err = tx.PutJobs([]Job{{ID: JobID(e.ID), Queue: HeldEvents, Key: string(who), Owner: string(who), Priority: JobNormal,
		At: now, NotBefore: until, About: who, Body: EventBody(head, e)}}, nil)
	return err
}

// RescheduleHeld lets what is held for a person wait until another time, in its order; the zero time is now. A change of quiet hours calls it in the same Update.
func RescheduleHeld(tx Tx, who wallet.UserID, now, until time.Time) error {
	held, err := TakeHeldEvents(tx, who, "")
	for _, event := range held {
		err = errors.Join(err, HoldEvent(tx, who, event, now, until))
	}
	return err
}

// maxHeldAtOnce bounds how many held events one transaction takes.
const maxHeldAtOnce = 100

// TakeHeldEvents removes what is held for a person, at most 100 events, and returns it in its order. except is the job that the
// caller handles and ends itself: it is neither removed nor returned. A damaged job is left to its own attempt.
func TakeHeldEvents(tx Tx, who wallet.UserID, except JobID) ([]wallet.Event, error) {
	jobs, err := tx.JobsOfKey(HeldEvents, string(who), maxHeldAtOnce)
	if err != nil {
		return nil, err
	}
	var out []wallet.Event
	for _, job := range jobs {
		if job.ID == except {
			continue
		}
		event, err := EventOf(job)
		if err != nil {
			continue
		}
		if err := tx.RemoveJobs(HeldEvents, job.ID); err != nil {
			return nil, err
		}
		out = append(out, event)
	}
	return out, nil
}
