package records

import (
	"bytes"
	"errors"
	"time"

	"purser/store"
)

// fingerprintSize is the length in bytes of the fingerprint of a request. It is sealed, in front of the body: in the
// clear it would let a thief of the file test guesses of a short request.
const fingerprintSize = 32

// answerKeySize is how many bytes of the keyed hash of an idempotency key are kept as its key in answerKeys. The
// whole hash is authenticated with the sealed answer, so two keys that share these 16 bytes cannot read each other's
// answer.
const answerKeySize = 16

// answerPlace returns what an answer is sealed to (the whole hash of its idempotency key), and its key in answerKeys.
func (t *tx) answerPlace(idempotencyKey string) (place, key []byte) {
	hash := t.store.lookup.Text(store.ByIdempotency, idempotencyKey)
	return hash[:], hash[:answerKeySize]
}

// Answer follows two tables: answerKeys leads from the hash of the key to the number of the row in answers.
// ErrNotFound: the key is free. ErrDamaged or ErrUnsealed: the row is not what was written. The caller must not treat
// that as free, or it would run a payment a second time.
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
	// The sealed field is the fingerprint, 32 bytes, then the body.
	if len(sealed[0]) < fingerprintSize {
		return store.Answer{}, store.ErrDamaged
	}
	// An expired answer may wait long for Sweep. It counts as absent from the moment it expires.
	if !a.ExpiresAt.After(now) {
		if t.in.Writable() { // in an Update the row goes now, so that PutAnswer may take the key
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

// PutAnswer refuses a key that has an answer, expired or not. Its caller asks Answer first, in the same Update, which
// removes an expired one. The system's key seals it, so erasing a person does not end an answer: its time does.
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

// keepAnswer puts a row, the entry that leads to it, and its note for Sweep. Why two tables: the hashes are spread
// over the whole of theirs, and a row is many times larger than its entry. Under growing numbers the rows fill one
// page after the other, so a commit writes fewer pages.
func (t *tx) keepAnswer(key []byte, until time.Time, raw []byte) error {
	n, err := t.next(answers)
	if err != nil {
		return err
	}
	number := numberKey(n)
	return errors.Join(t.putRow(answers, number, raw), t.put(answerKeys, key, number), t.expire(answerOver, until, key))
}

// DropAnswer frees an idempotency key. For a free key it does nothing.
func (t *tx) DropAnswer(idempotencyKey string) error {
	_, key := t.answerPlace(idempotencyKey)
	return t.removeAnswer(key)
}

// removeAnswer removes the answer of a key of answerKeys, with its note; without one it does nothing.
func (t *tx) removeAnswer(key []byte) error {
	// The number belongs to the engine. It is copied because the deletes below change the page on which it lies.
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
