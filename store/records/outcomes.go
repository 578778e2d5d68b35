package records

import (
	"time"

	"purser/store"
)

// outcomeRow is the plain part of an outcome. The rest is sealed for the person whose private chat it is.
type outcomeRow struct {
	ExpiresAt time.Time `json:"expires_at"`
}

// outcomeKey begins with the chat's hash, so that all outcomes of a chat lie together for EraseUser.
func (t *tx) outcomeKey(chat int64, card string) []byte {
	where, what := t.chatHash(chat), t.store.lookup.Text(store.ByCard, "outcome", card)
	return join(where[:], what[:])
}

// Outcome does not check the time: its caller wants an expired one too.
func (t *tx) Outcome(chat int64, card string) (store.Outcome, error) {
	r, o, err := readWithPayload[outcomeRow, store.Outcome](t, outcomes, t.outcomeKey(chat, card))
	o.ExpiresAt = r.ExpiresAt
	return o, err
}

// PutOutcome replaces an outcome together with its note for Sweep.
func (t *tx) PutOutcome(chat int64, card string, o store.Outcome) error {
	key := t.outcomeKey(chat, card)
	if err := t.removeOutcome(key); err != nil {
		return err
	}
	r := outcomeRow{o.ExpiresAt}
	o.ExpiresAt = time.Time{}
	if err := t.putWithPayload(outcomes, key, t.personBy(t.telegramHash(chat)), r, o); err != nil {
		return err
	}
	return t.expire(outcomeOver, r.ExpiresAt, key)
}

func (t *tx) DropOutcome(chat int64, card string) error {
	return t.removeOutcome(t.outcomeKey(chat, card))
}

// removeOutcome removes an outcome and its note for Sweep; without one it does nothing. A damaged outcome is removed too:
// it must neither keep a person from being erased nor the end of a job from being written. Its note leads to nothing then.
func (t *tx) removeOutcome(key []byte) error {
	raw := t.get(outcomes, key)
	if raw == nil {
		return nil
	}
	if r, _, err := plainOf[outcomeRow](t, outcomes, key, raw); err == nil {
		if err := t.unexpire(outcomeOver, r.ExpiresAt, key); err != nil {
			return err
		}
	}
	return t.delete(outcomes, key)
}
