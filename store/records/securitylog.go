package records

import (
	"bytes"
	"errors"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// securityRow is the plain part of an entry: its place. The rest is sealed.
type securityRow struct {
	Number uint64 `json:"number"`
}

// securityKey is the key of an entry. Its order is that of the numbers.
func securityKey(owner wallet.UserID, number uint64) []byte {
	return join(userPrefix(owner), numberKey(number))
}

// AppendSecurityEntry writes the entry behind the newest one, then the head, and removes the oldest entry beyond the bound.
func (t *tx) AppendSecurityEntry(e wallet.SecurityEntry) (wallet.SecurityEntry, error) {
	if err := errors.Join(e.Check(), checkID(string(e.Owner))); err != nil {
		return e, err
	}
	if t.isErased(e.Owner) {
		return e, store.ErrNotFound
	}
	head, err := t.SecurityHead(e.Owner)
	switch {
	case store.IsDamaged(err):
		if head, err = t.lostHead(e.Owner); err != nil {
			return e, err
		}
	case err != nil:
		return e, err
	}
	e.At, e.Number, e.Before = e.At.UTC(), head.Count+1, head.Hash
	if head.Count == 0 {
		head.From = 1
	}
	if err := t.putWithPayload(securityLog, securityKey(e.Owner, e.Number), e.Owner, securityRow{e.Number}, e); err != nil {
		return e, err
	}
	head.Count, head.Hash = e.Number, e.Hash()
	for head.Count-head.From >= wallet.MaxSecurityEntries {
		if head.Anchor, err = t.removeOldest(e.Owner, head.From); err != nil {
			return e, err
		}
		head.From++
	}
	return e, t.putWithPayload(securityHeads, []byte(e.Owner), e.Owner, struct{}{}, head)
}

// lostHead is the head that takes the place of one that is missing or damaged: it ends at the newest entry that can be read. Its
// Hash is zero, so that the next entry names no entry before it: what was cut off, if anything was, shows there for good.
func (t *tx) lostHead(owner wallet.UserID) (wallet.SecurityHead, error) {
	rows, err := t.SecurityEntries(owner, 0, wallet.MaxSecurityEntries+1)
	if err != nil {
		return wallet.SecurityHead{}, err
	}
	for _, row := range rows {
		if row.Entry != nil && row.Entry.Number == row.Number {
			return wallet.SecurityHead{Count: row.Number, From: min(row.Number, rows[len(rows)-1].Number)}, nil
		}
	}
	return wallet.SecurityHead{Count: 1, From: 2}, nil
}

// removeOldest removes an entry and returns its hash, by which the next one can be checked: zero if neither that one nor the
// entry itself can be read.
func (t *tx) removeOldest(owner wallet.UserID, number uint64) (hash wallet.SecurityHash, _ error) {
	next, err := t.SecurityEntry(owner, number+1)
	switch {
	case err == nil:
		hash = next.Before
	case !store.IsDamaged(err) && !errors.Is(err, store.ErrNotFound):
		return hash, err
	default:
		gone, err := t.SecurityEntry(owner, number)
		if err == nil {
			hash = gone.Hash()
		} else if !store.IsDamaged(err) && !errors.Is(err, store.ErrNotFound) {
			return hash, err
		}
	}
	return hash, t.delete(securityLog, securityKey(owner, number))
}

// SecurityEntry reads one row.
func (t *tx) SecurityEntry(owner wallet.UserID, number uint64) (wallet.SecurityEntry, error) {
	_, e, err := readWithPayload[securityRow, wallet.SecurityEntry](t, securityLog, securityKey(owner, number))
	return e, err
}

// SecurityEntries walks a person's rows backwards.
func (t *tx) SecurityEntries(owner wallet.UserID, before uint64, limit int) ([]wallet.SecurityRow, error) {
	prefix := userPrefix(owner)
	r := engine.Prefix(prefix)
	r.Backward = true
	if before > 0 {
		r.Before = securityKey(owner, before)
	}
	var found []entry
	for key, value := range t.scan(securityLog, r) {
		if len(found) >= limit {
			break
		}
		found = append(found, entry{bytes.Clone(key), bytes.Clone(value)})
	}
	var out []wallet.SecurityRow
	for _, e := range found {
		number, err := keyNumber(e.key[len(prefix):])
		if err != nil {
			t.skipDamaged(securityLog, e.key, err)
			continue
		}
		row := wallet.SecurityRow{Number: number}
		read, err := t.SecurityEntry(owner, number)
		switch {
		case store.IsDamaged(err):
			t.skipDamaged(securityLog, e.key, err)
			row.Belongs = t.belongsAt(owner, e.value)
		case erased(err):
			continue
		case err != nil:
			return nil, err
		default:
			row.Entry = &read
		}
		out = append(out, row)
	}
	return out, nil
}

// belongsAt returns the number of the place for which a row was written that was moved to another one; 0 if it is no row of
// this person's log at all.
func (t *tx) belongsAt(owner wallet.UserID, raw []byte) uint64 {
	if len(raw) <= tagSize {
		return 0
	}
	untrusted, err := decodeRow(raw[:len(raw)-tagSize])
	if err != nil {
		return 0
	}
	var plain securityRow
	if untrusted.into(&plain) != nil {
		return 0
	}
	if _, err := t.row(securityLog, securityKey(owner, plain.Number), raw); err != nil { // the tag says whether the plain part is true
		return 0
	}
	return plain.Number
}

// SecurityHead reads one row.
func (t *tx) SecurityHead(owner wallet.UserID) (wallet.SecurityHead, error) {
	_, head, err := readWithPayload[struct{}, wallet.SecurityHead](t, securityHeads, []byte(owner))
	if !errors.Is(err, store.ErrNotFound) {
		return head, err
	}
	if key, _ := t.firstUnder(securityLog, userPrefix(owner)); key != nil {
		return head, store.ErrDamaged
	}
	return head, nil
}

// Seen reads one row. What a damaged one has remembered is forgotten.
func (t *tx) Seen(owner wallet.UserID, subject string) (wallet.Seen, error) {
	key := join(userPrefix(owner), []byte(subject))
	_, seen, err := readWithPayload[struct{}, wallet.Seen](t, securitySeen, key)
	switch {
	case store.IsDamaged(err):
		t.skipDamaged(securitySeen, key, err)
		return wallet.Seen{}, nil
	case errors.Is(err, store.ErrNotFound):
		return wallet.Seen{}, nil
	}
	return seen, err
}

// PutSeen writes one row.
func (t *tx) PutSeen(owner wallet.UserID, subject string, seen wallet.Seen) error {
	if err := errors.Join(checkID(string(owner)), checkID(subject)); err != nil {
		return err
	}
	return t.putWithPayload(securitySeen, join(userPrefix(owner), []byte(subject)), owner, struct{}{}, seen)
}
