package records

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"purser/store"
)

// expiry is the kind of row that a note in the table expiries is about. A note is a key without a value: when the row's
// time is over, the kind, the row's key. So the notes lie in the order in which rows expire.
type expiry byte

const (
	seenOver        expiry = 's'
	buttonOver      expiry = 'b'
	bindOver        expiry = 'l'
	answerOver      expiry = 'a'
	cardOver        expiry = 'k'
	portalTokenOver expiry = 'p'
	sendResultOver  expiry = 'o'

	counterOver  expiry = 'c'
	proposalOver expiry = 't'
	deadJobOver  expiry = 'j'

	webhookGone  expiry = 'w' // its deliveries are left to remove; the note's key is the webhook's id
	personErased expiry = 'e' // deliveries and jobs about them are left to remove; the note's key is the user's id
)

// key is the note of a row.
func (e expiry) key(at time.Time, key []byte) []byte {
	return append(append(timeKey(at), byte(e)), key...)
}

// expire notes when a row's time is over. The zero time is never.
func (t *tx) expire(e expiry, at time.Time, key []byte) error {
	if at.IsZero() {
		return nil
	}
	return t.put(expiries, e.key(at, key), nil)
}

// unexpire removes the note, for a row that goes or gets another time.
func (t *tx) unexpire(e expiry, at time.Time, key []byte) error {
	if at.IsZero() {
		return nil
	}
	return t.delete(expiries, e.key(at, key))
}

// Sweep walks the notes from the oldest, so it costs what it removes and not what the store holds.
func (t *tx) Sweep(now time.Time, limit int) (int, error) {
	var over [][]byte
	for key := range t.scan(expiries, all()) {
		if len(over) >= limit {
			break
		}
		at, err := keyTime(key)
		if err == nil && at.After(now) {
			break
		}
		over = append(over, bytes.Clone(key))
	}
	removed := 0
	for _, note := range over {
		if removed >= limit {
			break
		}
		// A row that cannot be removed for its damage stays; without its note it is not met again.
		n, all, err := t.removeNoted(note, limit-removed)
		switch {
		case errors.Is(err, store.ErrDamaged):
			t.skipDamaged(expiries, note, err)
		case err != nil:
			return 0, err
		}
		removed += n
		if !all {
			continue
		}
		if err := t.delete(expiries, note); err != nil {
			return 0, err
		}
	}
	return removed, nil
}

// removeNoted removes up to limit rows that a note is about. It returns how many, and whether these were all.
func (t *tx) removeNoted(note []byte, limit int) (n int, all bool, err error) {
	if len(note) <= timeSize+1 {
		return 1, true, fmt.Errorf("%w: a note of %d bytes", store.ErrDamaged, len(note))
	}
	e, key := expiry(note[timeSize]), note[timeSize+1:]
	if e == webhookGone || e == personErased {
		return t.dropAbandoned(note, limit)
	}
	return 1, true, t.removeOver(e, key)
}

// removeOver removes the one row whose time is over.
func (t *tx) removeOver(e expiry, key []byte) error {
	switch e {
	case seenOver:
		return t.delete(seen, key)
	case buttonOver:
		return t.removeButton(key)
	case bindOver:
		return t.removeBind(key)
	case answerOver:
		return t.removeAnswer(key)
	case cardOver:
		return t.removeCard(key)
	case portalTokenOver:
		return t.removePortalToken(key)
	case sendResultOver:
		return t.removeSendResult(key)
	case counterOver:
		return t.removeCounter(key)
	case proposalOver:
		return t.removeProposal(key)
	case deadJobOver:
		return t.removeDeadJob(key)
	}
	return fmt.Errorf("%w: a note of kind %q", store.ErrDamaged, byte(e))
}
