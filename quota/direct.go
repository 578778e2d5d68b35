package quota

import (
	"errors"
	"time"

	"purser/store"
)

// Direct is a limit that is counted in the store transaction of the operation, under a keyed hash of whom it is about.
// All nodes together keep it, to the second. A crash cannot extend it. Erasing a person cannot either, because its
// counter is none of the person's own rows. It is for operations that write anyway and are not frequent; a Meter is for
// everything else.
type Direct struct {
	Kind string // begins the counters' names
	Most uint64
	Span time.Duration // whole seconds
}

// account is the arithmetic of d at a time.
func (d Direct) account(now time.Time) account {
	return account{Limit{Count: d.Most, Span: d.Span, exact: true}, now.Unix()}
}

// slotOf is a slot with one count at a time. A slot is the second up to and including its end: limits err on the strict
// side.
func slotOf(now time.Time) store.Slot { return store.Slot{Start: now.Add(-1).Unix(), Count: 1} }

// read returns the counter of somebody with the slots that still count.
func (d Direct) read(tx store.Tx, now time.Time, about string) (row store.Counter, a account, err error) {
	row, err = tx.Counter(tx.CounterName(d.Kind, about))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return row, a, err
	}
	a = d.account(now)
	row.Slots = a.live(row.Slots)
	return row, a, nil
}

// Next returns when there is room for one more; the zero time: now. It counts nothing.
func (d Direct) Next(tx store.Tx, now time.Time, about string) (time.Time, error) {
	row, a, err := d.read(tx, now, about)
	if err != nil || sum(row.Slots) < d.Most {
		return time.Time{}, err
	}
	return time.Unix(a.ends(row.Slots[0]), 0).UTC(), nil
}

// Spend counts one more. If there is no room, it counts nothing and returns when there will be.
func (d Direct) Spend(tx store.Tx, now time.Time, about string) (again time.Time, err error) {
	row, a, err := d.read(tx, now, about)
	if err != nil {
		return time.Time{}, err
	}
	if sum(row.Slots) >= d.Most {
		return time.Unix(a.ends(row.Slots[0]), 0).UTC(), nil
	}
	return time.Time{}, d.put(tx, now, about, add(row.Slots, slotOf(now)))
}

// Renew forgets what was counted and counts one.
func (d Direct) Renew(tx store.Tx, now time.Time, about string) error {
	return d.put(tx, now, about, []store.Slot{slotOf(now)})
}

// Forget forgets what was counted.
func (d Direct) Forget(tx store.Tx, now time.Time, about string) error {
	return d.put(tx, now, about, nil)
}

// put writes the counter of somebody, with the time when it can be removed.
func (d Direct) put(tx store.Tx, now time.Time, about string, slots []store.Slot) error {
	row := store.Counter{Name: tx.CounterName(d.Kind, about), Slots: slots}
	row.ExpiresAt = time.Unix(d.account(now).over(row), 0).UTC()
	return tx.PutCounters([]store.Counter{row})
}
