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

// idempotencyKeySize is how many bytes of the keyed hash of an idempotency key are kept as its key in idempotencyKeys. The
// whole hash is authenticated with the sealed record, so two keys that share these 16 bytes cannot read each other's
// record.
const idempotencyKeySize = 16

// idempotencyPlace returns what a record is sealed to (the whole hash of its idempotency key), and its key in idempotencyKeys.
func (t *tx) idempotencyPlace(idempotencyKey string) (place, key []byte) {
	hash := t.store.lookup.Text(store.ByIdempotency, idempotencyKey)
	return hash[:], hash[:idempotencyKeySize]
}

// IdempotencyRecord follows two tables: idempotencyKeys leads from the hash of the key to the number of the row in idempotencyRecords.
// ErrNotFound: the key is free. ErrDamaged or ErrUnsealed: the row is not what was written. The caller must not treat
// that as free, or it would run a payment a second time.
func (t *tx) IdempotencyRecord(idempotencyKey string, now time.Time) (store.IdempotencyRecord, error) {
	place, key := t.idempotencyPlace(idempotencyKey)
	number := t.get(idempotencyKeys, key)
	if number == nil {
		return store.IdempotencyRecord{}, store.ErrNotFound
	}
	r, err := t.row(idempotencyRecords, number, t.get(idempotencyRecords, number))
	if err != nil {
		return store.IdempotencyRecord{}, err
	}
	var a store.IdempotencyRecord
	sealed, err := t.unsealAs(idempotencyRecords.String(), place, r, &a, "answer")
	if err != nil {
		return store.IdempotencyRecord{}, err
	}
	// The sealed field is the fingerprint, 32 bytes, then the body.
	if len(sealed[0]) < fingerprintSize {
		return store.IdempotencyRecord{}, store.ErrDamaged
	}
	// An expired record may wait long for Sweep. It counts as absent from the moment it expires.
	if !a.ExpiresAt.After(now) {
		if t.in.Writable() { // in an Update the row goes now, so that PutIdempotencyRecord may take the key
			if err := t.removeIdempotencyRecord(key); err != nil {
				return store.IdempotencyRecord{}, err
			}
		}
		return store.IdempotencyRecord{}, store.ErrNotFound
	}
	a.Fingerprint = [32]byte(sealed[0])
	if body := sealed[0][fingerprintSize:]; len(body) > 0 {
		a.Body = body
	}
	return a, nil
}

// PutIdempotencyRecord refuses a key that has a record, expired or not. Its caller asks IdempotencyRecord first, in the same Update, which
// removes an expired one. The system's key seals it, so erasing a person does not end a record: its time does.
func (t *tx) PutIdempotencyRecord(idempotencyKey string, a store.IdempotencyRecord) error {
	place, key := t.idempotencyPlace(idempotencyKey)
	if t.get(idempotencyKeys, key) != nil {
		return store.ErrConflict
	}
	plain := a
	plain.Fingerprint, plain.Body = [32]byte{}, nil
	raw, err := t.sealAs(idempotencyRecords.String(), place, "", plain, field{"answer", join(a.Fingerprint[:], a.Body)})
	if err != nil {
		return err
	}
	return t.keepIdempotencyRecord(key, a.ExpiresAt, raw)
}

// keepIdempotencyRecord puts a row, the entry that leads to it, and its note for Sweep. Why two tables: the hashes are spread
// over the whole of theirs, and a row is many times larger than its entry. Under growing numbers the rows fill one
// page after the other, so a commit writes fewer pages.
func (t *tx) keepIdempotencyRecord(key []byte, until time.Time, raw []byte) error {
	n, err := t.next(idempotencyRecords)
	if err != nil {
		return err
	}
	number := numberKey(n)
	return errors.Join(t.putRow(idempotencyRecords, number, raw), t.put(idempotencyKeys, key, number), t.expire(idempotencyOver, until, key))
}

// DeleteIdempotencyRecord frees an idempotency key. For a free key it does nothing.
func (t *tx) DeleteIdempotencyRecord(idempotencyKey string) error {
	_, key := t.idempotencyPlace(idempotencyKey)
	return t.removeIdempotencyRecord(key)
}

// removeIdempotencyRecord removes the record of a key of idempotencyKeys, with its note; without one it does nothing.
func (t *tx) removeIdempotencyRecord(key []byte) error {
	// The number belongs to the engine. It is copied because the deletes below change the page on which it lies.
	number := bytes.Clone(t.get(idempotencyKeys, key))
	raw := t.get(idempotencyRecords, number)
	if raw == nil {
		return nil
	}
	a, _, err := plainOf[store.IdempotencyRecord](t, idempotencyRecords, number, raw)
	if err != nil {
		return err
	}
	return errors.Join(t.unexpire(idempotencyOver, a.ExpiresAt, key), t.delete(idempotencyRecords, number), t.delete(idempotencyKeys, key))
}
