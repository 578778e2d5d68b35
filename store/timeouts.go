package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A conversation that ends when nobody answers has one job in the queue ConversationTimeouts, which looks at it no later than its
// time-out. The job is only the alarm, the conversation decides. A job that comes too early waits again until the
// conversation's present time-out, and one that finds the conversation ended is done. So an answer moves no job, and
// most steps of a conversation put none.

// timeoutBody is the body of a time-out's job: which conversation it is about.
type timeoutBody struct {
	Chat int64  `json:"chat"`
	User int64  `json:"user"`
	Slot string `json:"slot,omitempty"`
}

// SaveConversation stores a conversation and makes sure that a job looks at it by ExpiresAt. ErrConflict as PutConversation.
func SaveConversation(tx Tx, c Conversation, now time.Time) error {
	if err := tx.PutConversation(c); err != nil {
		return err
	}
	if c.State == "" || c.ExpiresAt.IsZero() {
		return nil
	}
	id := timeoutID(c)
	// An existing job that is due in time stays: it finds the later ExpiresAt and waits again.
	switch job, err := tx.Job(ConversationTimeouts, id); {
	case err == nil && !job.NotBefore.After(c.ExpiresAt):
		return nil // it looks in time, and then waits again
	case errors.Is(err, ErrDamaged): // another takes its place
		if err := tx.RemoveJobs(ConversationTimeouts, id); err != nil {
			return err
		}
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	}
	return ScheduleTimeout(tx, c, now)
}

// ScheduleTimeout puts the job that looks at a conversation when its time is over. It replaces one that waits or is in
// flight.
func ScheduleTimeout(tx Tx, c Conversation, now time.Time) error {
	body, err := json.Marshal(timeoutBody{c.Chat, c.User, c.Slot})
	if err != nil {
		return fmt.Errorf("write a time-out: %w", err)
	}
	_, err = tx.PutJobs([]Job{{ID: timeoutID(c), Queue: ConversationTimeouts, Owner: ChatKey(c.User), Priority: JobNormal,
		At: now, NotBefore: c.ExpiresAt, About: ChatPerson(tx, c.User), Body: body}}, nil)
	return err
}

// timeoutID is the ID of the job of a conversation: one for each slot.
func timeoutID(c Conversation) JobID {
	return JobID(fmt.Sprintf("%d %d %s", c.Chat, c.User, c.Slot))
}

// ConversationOfTimeout is the present state of the conversation of a job of ConversationTimeouts. State is "" if it has ended.
func ConversationOfTimeout(tx Tx, j Job) (Conversation, error) {
	var of timeoutBody
	if err := json.Unmarshal(j.Body, &of); err != nil {
		return Conversation{}, fmt.Errorf("%w: a time-out of no conversation: %v", ErrDamaged, err)
	}
	return tx.Conversation(of.Chat, of.User, of.Slot)
}
