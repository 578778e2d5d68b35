package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"purser/wallet"
)

// ChatKey is the ordering key, and the owner, of what waits for a chat: in the inbox its updates, in the outbox its
// replies. Of those that wait in the outbox a more urgent one goes first; see Enqueue.
func ChatKey(chat int64) string { return strconv.FormatInt(chat, 10) }

// replyHead is the first line of a reply's job, as JSON; the reply's Body is all that follows it.
type replyHead struct {
	Chat         int64     `json:"chat"`
	Card         string    `json:"card,omitempty"`
	App          string    `json:"app,omitempty"`
	CardUntil    time.Time `json:"card_until,omitzero"`
	OutcomeUntil time.Time `json:"outcome_until,omitzero"`
	NotAfter     time.Time `json:"not_after,omitzero"`
}

// Enqueue puts replies into the outbox, in order: of those of one chat and priority the first goes first. One with a
// Card takes the place of a reply of the same chat and card that still waits: only the newest state is worth sending.
// One with a NotAfter goes beside the chat's others, and waits for none of them.
func Enqueue(tx Tx, replies ...Reply) error {
	jobs := make([]Job, 0, len(replies))
	for _, r := range replies {
		job, err := r.job(tx)
		if err != nil {
			return err
		}
		jobs = append(jobs, job)
	}
	_, err := tx.PutJobs(jobs, nil)
	return err
}

// job is the job that sends a reply. It is sealed by the key of the person whose chat it is.
func (r Reply) job(tx Tx) (Job, error) {
	head, err := json.Marshal(replyHead{r.Chat, r.Card, r.App, r.CardUntil, r.OutcomeUntil, r.NotAfter})
	if err != nil {
		return Job{}, fmt.Errorf("write a reply: %w", err)
	}
	chat := ChatKey(r.Chat)
	body := append(append(make([]byte, 0, len(head)+1+len(r.Body)), head...), '\n')
	job := Job{
		Queue: Outbox, Key: chat, Owner: chat, Priority: Priority(r.Priority), At: r.At, About: ChatPerson(tx, r.Chat),
		Body: append(body, r.Body...),
	}
	if r.Card != "" {
		job.ID = replyID(r.Chat, r.Card)
	}
	if !r.NotAfter.IsZero() {
		job.Key += " beside"
	}
	return job, nil
}

func replyID(chat int64, card string) JobID { return JobID(ChatKey(chat) + " " + card) }

// ReplyOf is the reply that a job of the outbox sends.
func ReplyOf(j Job) (Reply, error) {
	head, body, ok := bytes.Cut(j.Body, []byte{'\n'})
	var h replyHead
	if !ok || json.Unmarshal(head, &h) != nil {
		return Reply{}, errors.New("store: a job of the outbox holds no reply")
	}
	return Reply{ID: j.ID, Chat: h.Chat, Card: h.Card, App: h.App, CardUntil: h.CardUntil, OutcomeUntil: h.OutcomeUntil, NotAfter: h.NotAfter, Priority: int(j.Priority), At: j.At, Body: body}, nil
}

// Waits tells whether a reply of that card still waits to be sent, or is on its way.
func Waits(tx Tx, chat int64, card string) (bool, error) {
	_, err := tx.Job(Outbox, replyID(chat, card))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ChatPerson is the person whose private chat it is, by whose data key what is said there is sealed: "" for groups, and
// for somebody whom purser has not met.
func ChatPerson(tx Tx, chat int64) wallet.UserID {
	if chat <= 0 {
		return ""
	}
	return tx.PersonOf(chat)
}

// OutcomeOf is what became of the reply of a card that was put with Reply.OutcomeUntil. open says that it still waits or is
// on its way. The zero Outcome, of a reply that ended, says that nothing is known of it: it was dropped, its person was
// erased, or its outcome was removed.
func OutcomeOf(tx Tx, chat int64, card string) (o Outcome, open bool, err error) {
	if open, err = Waits(tx, chat, card); open || err != nil {
		return Outcome{}, open, err
	}
	if o, err = tx.Outcome(chat, card); errors.Is(err, ErrNotFound) {
		return Outcome{}, false, nil
	}
	return o, false, err
}
