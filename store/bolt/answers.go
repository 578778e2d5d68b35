package bolt

import (
	"time"

	"purser/store"
)

// fingerprintSize is the length of the fingerprint, which is sealed in front of the body: it would
// let a thief test guesses of a short request.
const fingerprintSize = 32

func (t *tx) answerKey(key string) []byte {
	hash := t.store.lookup.Text(store.ByIdempotency, key)
	return hash[:]
}

func (t *tx) Answer(idempotencyKey string, now time.Time) (store.Answer, error) {
	key := t.answerKey(idempotencyKey)
	raw := t.get(answers, key)
	if raw == nil {
		return store.Answer{}, store.ErrNotFound
	}
	var a store.Answer
	sealed, err := t.unseal(answers, key, raw, &a, "answer")
	if err != nil {
		return store.Answer{}, err
	}
	if len(sealed[0]) < fingerprintSize {
		return store.Answer{}, ErrDamaged
	}
	if !a.ExpiresAt.After(now) {
		if t.bucket(answers).Writable() { // free is free: PutAnswer may take it
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
	key := t.answerKey(idempotencyKey)
	if t.get(answers, key) != nil {
		return store.ErrConflict
	}
	plain := a
	plain.Fingerprint, plain.Body = [32]byte{}, nil
	raw, err := t.seal(answers, key, "", plain, field{"answer", join(a.Fingerprint[:], a.Body)})
	if err != nil {
		return err
	}
	if err := t.expire(answerOver, a.ExpiresAt, key); err != nil {
		return err
	}
	return t.put(answers, key, raw)
}

func (t *tx) DropAnswer(idempotencyKey string) error {
	return t.removeAnswer(t.answerKey(idempotencyKey))
}

func (t *tx) removeAnswer(key []byte) error {
	raw := t.get(answers, key)
	if raw == nil {
		return nil
	}
	a, _, err := plainOf[store.Answer](raw)
	if err != nil {
		return err
	}
	if err := t.unexpire(answerOver, a.ExpiresAt, key); err != nil {
		return err
	}
	return t.delete(answers, key)
}
