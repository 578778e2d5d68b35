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

// ChatKey is the ordering key and the owner of jobs of a chat: of its updates in the inbox, and of its replies in the
// outbox.
func ChatKey(chat int64) string { return strconv.FormatInt(chat, 10) }

// replyHead is the first line of a reply's job, as JSON. The reply's Body is everything after it, unchanged.
type replyHead struct {
	Chat            int64     `json:"chat"`
	Card            string    `json:"card,omitempty"`
	App             string    `json:"app,omitempty"`
	CardUntil       time.Time `json:"card_until,omitzero"`
	SendResultUntil time.Time `json:"send_result_until,omitzero"`
	NotAfter        time.Time `json:"not_after,omitzero"`
}

// Enqueue puts replies into the outbox. Of one chat and priority they are sent in this order. A reply with a Card
// replaces one of the same chat and card that still waits, since only the newest state is worth sending. A reply with
// NotAfter has an ordering key beside the chat's, so that it does not wait behind the chat's other replies.
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

// job is the job that sends a reply. The key of the person whose chat it is seals it.
func (r Reply) job(tx Tx) (Job, error) {
	head, err := json.Marshal(replyHead{r.Chat, r.Card, r.App, r.CardUntil, r.SendResultUntil, r.NotAfter})
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

// replyID is the ID of the job of a card's reply.
func replyID(chat int64, card string) JobID { return JobID(ChatKey(chat) + " " + card) }

// ReplyOf reads the reply of a job of the outbox.
func ReplyOf(j Job) (Reply, error) {
	head, body, ok := bytes.Cut(j.Body, []byte{'\n'})
	var h replyHead
	if !ok || json.Unmarshal(head, &h) != nil {
		return Reply{}, errors.New("store: a job of the outbox holds no reply")
	}
	return Reply{ID: j.ID, Chat: h.Chat, Card: h.Card, App: h.App, CardUntil: h.CardUntil, SendResultUntil: h.SendResultUntil, NotAfter: h.NotAfter, Priority: int(j.Priority), At: j.At, Body: body}, nil
}

// Waits tells whether a reply of a card waits to be sent or is being sent.
func Waits(tx Tx, chat int64, card string) (bool, error) {
	_, err := tx.Job(Outbox, replyID(chat, card))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// ChatPerson is the person of a private chat, whose data key seals what is said there. It is "" for groups and for
// people whom purser has not met. Telegram's ids of groups are negative.
func ChatPerson(tx Tx, chat int64) wallet.UserID {
	if chat <= 0 {
		return ""
	}
	return tx.PersonOf(chat)
}

// SendResultOf says what became of the reply of a card that was put with Reply.SendResultUntil. open: it still waits or is
// being sent. A zero SendResult of a reply that is not open means that nothing is known: the reply was dropped, its person
// was erased, or the send result was removed.
func SendResultOf(tx Tx, chat int64, card string) (o SendResult, open bool, err error) {
	if open, err = Waits(tx, chat, card); open || err != nil {
		return SendResult{}, open, err
	}
	if o, err = tx.SendResult(chat, card); errors.Is(err, ErrNotFound) {
		return SendResult{}, false, nil
	}
	return o, false, err
}
