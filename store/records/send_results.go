package records

import (
	"time"

	"purser/store"
)

// sendResultRow is the plain part of a send result. The rest is sealed with the data key of the person in a private
// chat, and with the system's key in a group.
type sendResultRow struct {
	ExpiresAt time.Time `json:"expires_at"`
}

// sendResultKey begins with the chat's hash, so that all send results of a chat lie together for EraseUser.
func (t *tx) sendResultKey(chat int64, card string) []byte {
	where, what := t.chatHash(chat), t.store.lookup.Text(store.ByCard, "send_result", card)
	return join(where[:], what[:])
}

// SendResult returns the result even if its time is over: its caller wants an expired one too.
func (t *tx) SendResult(chat int64, card string) (store.SendResult, error) {
	r, o, err := readWithPayload[sendResultRow, store.SendResult](t, sendResults, t.sendResultKey(chat, card))
	o.ExpiresAt = r.ExpiresAt
	return o, err
}

// PutSendResult replaces a send result together with its note for Sweep.
func (t *tx) PutSendResult(chat int64, card string, o store.SendResult) error {
	key := t.sendResultKey(chat, card)
	if err := t.removeSendResult(key); err != nil {
		return err
	}
	r := sendResultRow{o.ExpiresAt}
	o.ExpiresAt = time.Time{}
	if err := t.putWithPayload(sendResults, key, t.personBy(t.telegramHash(chat)), r, o); err != nil {
		return err
	}
	return t.expire(sendResultOver, r.ExpiresAt, key)
}

// DropSendResult removes a send result that the waiting node has read.
func (t *tx) DropSendResult(chat int64, card string) error {
	return t.removeSendResult(t.sendResultKey(chat, card))
}

// removeSendResult removes a send result and its note for Sweep; without one it does nothing. A damaged one is
// removed too. Otherwise it would stop EraseUser, or the Update in which the end of a job is written. Its note stays,
// and leads to nothing.
func (t *tx) removeSendResult(key []byte) error {
	raw := t.get(sendResults, key)
	if raw == nil {
		return nil
	}
	if r, _, err := plainOf[sendResultRow](t, sendResults, key, raw); err == nil {
		if err := t.unexpire(sendResultOver, r.ExpiresAt, key); err != nil {
			return err
		}
	}
	return t.delete(sendResults, key)
}
