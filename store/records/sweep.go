package records

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"purser/store"
)

// expiry is the kind of row that a note in the table expiries is about. The key of a note is the time when the row is
// over (12 bytes), the kind (1 byte), and the row's key. So the notes lie in the order in which rows expire. A note
// has no value, except while a long list is being removed (dropAbandoned). The letters are part of the stored form.
type expiry byte

const (
	seenOver        expiry = 's'
	buttonOver      expiry = 'b'
	bindOver        expiry = 'l'
	idempotencyOver expiry = 'a'
	cardOver        expiry = 'k'
	portalTokenOver expiry = 'p'
	sendResultOver  expiry = 'o'

	counterOver  expiry = 'c'
	proposalOver expiry = 't'
	deadJobOver  expiry = 'j'
	priceOver    expiry = 'm'
	quoteOver    expiry = 'q'
	newsOver     expiry = 'n'
	newsKeyOver  expiry = 'i'
	newsFeedOver expiry = 'f'
	plantedOver  expiry = 'd'

	// These two are not about one row but about a list, which is removed in parts.
	webhookGone  expiry = 'w' // deliveries of a deleted webhook are left to remove; the note's key is the webhook's id
	personErased expiry = 'e' // deliveries and jobs about them are left to remove; the note's key is the user's id
)

// key is the key of the note for a row that is over at a time.
func (e expiry) key(at time.Time, key []byte) []byte {
	return append(append(timeKey(at), byte(e)), key...)
}

// expire notes when a row is over. The zero time means never, and notes nothing. Each verb that puts a row with an
// end calls it in the same Update, so no such row is without its note.
func (t *tx) expire(e expiry, at time.Time, key []byte) error {
	if at.IsZero() {
		return nil
	}
	return t.put(expiries, e.key(at, key), nil)
}

// unexpire removes a note, for a row that is removed or gets another time. at must be the time that was noted.
func (t *tx) unexpire(e expiry, at time.Time, key []byte) error {
	if at.IsZero() {
		return nil
	}
	return t.delete(expiries, e.key(at, key))
}

// Sweep walks the notes from the oldest on, so its cost is what it removes and not what the store holds. Each call is
// one transaction of its caller: after a crash the next Sweep finds the same notes.
func (t *tx) Sweep(now time.Time, limit int) (int, error) {
	// First collect the notes whose time is over, because removing rows changes the table of notes. A note with a
	// damaged time counts as over.
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
	// Then remove what they are about, up to limit rows in all.
	removed := 0
	for _, note := range over {
		if removed >= limit {
			break
		}
		// A row that cannot be removed, because it is damaged, stays in its table. Its note goes, so that Sweep does
		// not meet it again.
		n, all, err := t.removeNoted(note, now, limit-removed)
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

// removeNoted removes up to limit rows that a note is about. It returns how many, and whether these were all. A
// damaged note counts as one row.
func (t *tx) removeNoted(note []byte, now time.Time, limit int) (n int, all bool, err error) {
	if len(note) <= timeSize+1 {
		return 1, true, fmt.Errorf("%w: a note of %d bytes", store.ErrDamaged, len(note))
	}
	e, key := expiry(note[timeSize]), note[timeSize+1:]
	if e == webhookGone || e == personErased {
		return t.dropAbandoned(note, limit)
	}
	return 1, true, t.removeOver(e, key, now)
}

// removeOver removes the one row that a note is about, with its index entries. Most of these functions remove the
// note too; Sweep then deletes it a second time, which does nothing.
func (t *tx) removeOver(e expiry, key []byte, now time.Time) error {
	switch e {
	case seenOver:
		return t.delete(seen, key)
	case buttonOver:
		return t.removeButton(key)
	case bindOver:
		return t.removeBind(key)
	case idempotencyOver:
		return t.removeIdempotencyRecord(key)
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
	case priceOver:
		return t.removePrice(key, now)
	case quoteOver:
		return t.removeQuote(key)
	case newsOver:
		return t.delete(newsItems, key)
	case newsKeyOver:
		return t.removeNewsKey(key, now)
	case plantedOver:
		return t.removePlanted(key)
	case newsFeedOver:
		return t.removeNewsFeed(key, now)
	}
	return fmt.Errorf("%w: a note of kind %q", store.ErrDamaged, byte(e))
}
