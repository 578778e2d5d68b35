package records

import (
	"bytes"
	"errors"
	"time"

	"purser/store"
)

// fingerprintSize is the length of the fingerprint, which is sealed in front of the body: it would
// let a thief test guesses of a short request.
const fingerprintSize = 32

// answerKeySize is how much of the hash of an idempotency key is kept.
const answerKeySize = 16

// answerPlace is what an answer is sealed to, and its key in answerKeys.
func (t *tx) answerPlace(idempotencyKey string) (place, key []byte) {
	hash := t.store.lookup.Text(store.ByIdempotency, idempotencyKey)
	return hash[:], hash[:answerKeySize]
}

func (t *tx) Answer(idempotencyKey string, now time.Time) (store.Answer, error) {
	place, key := t.answerPlace(idempotencyKey)
	number := t.get(answerKeys, key)
	if number == nil {
		return store.Answer{}, store.ErrNotFound
	}
	r, err := t.row(answers, number, t.get(answers, number))
	if err != nil {
		return store.Answer{}, err
	}
	var a store.Answer
	sealed, err := t.unsealAs(answers.String(), place, r, &a, "answer")
	if err != nil {
		return store.Answer{}, err
	}
	if len(sealed[0]) < fingerprintSize {
		return store.Answer{}, store.ErrDamaged
	}
	if !a.ExpiresAt.After(now) {
		if t.in.Writable() { // free is free: PutAnswer may take it
			if err := t.removeAnswer(key); err != nil {
				return store.Answer{}, err
			}
		}
		return store.Answer{}, store.ErrNotFound
	}
	a.Fingerprint = [32]byte(sealed[0])
	if body := sealed[0][fingerprintSize:]; len(body) > 0 {
		a.Body = body
	}
	return a, nil
}

func (t *tx) PutAnswer(idempotencyKey string, a store.Answer) error {
	place, key := t.answerPlace(idempotencyKey)
	if t.get(answerKeys, key) != nil {
		return store.ErrConflict
	}
	plain := a
	plain.Fingerprint, plain.Body = [32]byte{}, nil
	raw, err := t.sealAs(answers.String(), place, "", plain, field{"answer", join(a.Fingerprint[:], a.Body)})
	if err != nil {
		return err
	}
	return t.keepAnswer(key, a.ExpiresAt, raw)
}

// keepAnswer puts a row and all that leads to it. Keys are where chance puts them, so they lie apart from the
// rows, which are many times longer: fewer pages are written.
func (t *tx) keepAnswer(key []byte, until time.Time, raw []byte) error {
	n, err := t.next(answers)
	if err != nil {
		return err
	}
	number := numberKey(n)
	return errors.Join(t.putRow(answers, number, raw), t.put(answerKeys, key, number), t.expire(answerOver, until, key))
}

func (t *tx) DropAnswer(idempotencyKey string) error {
	_, key := t.answerPlace(idempotencyKey)
	return t.removeAnswer(key)
}

func (t *tx) removeAnswer(key []byte) error {
	number := bytes.Clone(t.get(answerKeys, key))
	raw := t.get(answers, number)
	if raw == nil {
		return nil
	}
	a, _, err := plainOf[store.Answer](t, answers, number, raw)
	if err != nil {
		return err
	}
	return errors.Join(t.unexpire(answerOver, a.ExpiresAt, key), t.delete(answers, number), t.delete(answerKeys, key))
}
