package quota

import (
	"errors"
	"time"

	"purser/store"
)

// Direct is a limit that is counted in the store transaction of what is done, under a keyed hash of whom it is about:
// by all nodes together, exactly to the second. No crash gives more of it, and neither does erasing a person, which
// destroys the person's own rows. It is for what writes to the store anyhow, and not often; a Meter is for all else.
type Direct struct {
	Kind string // of the counters' names
	Most uint64
	Span time.Duration // whole seconds
}

// account is the arithmetic of d at a time.
func (d Direct) account(now time.Time) account {
	return account{Limit{Count: d.Most, Span: d.Span, exact: true}, now.Unix()}
}

// slotOf counts one at a time. A slot is the second up to and with its end: limits err on the strict side.
func slotOf(now time.Time) store.Slot { return store.Slot{Start: now.Add(-1).Unix(), Count: 1} }

// read is the counter of somebody as it counts now.
func (d Direct) read(tx store.Tx, now time.Time, about string) (row store.Counter, a account, err error) {
	row, err = tx.Counter(tx.CounterName(d.Kind, about))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return row, a, err
	}
	a = d.account(now)
	row.Slots = a.live(row.Slots)
	return row, a, nil
}

// Next is when there is room for one more; zero: there is now. Nothing is counted.
func (d Direct) Next(tx store.Tx, now time.Time, about string) (time.Time, error) {
	row, a, err := d.read(tx, now, about)
	if err != nil || sum(row.Slots) < d.Most {
		return time.Time{}, err
	}
	return time.Unix(a.ends(row.Slots[0]), 0).UTC(), nil
}

// Spend counts one more. Where there is no room for it nothing is counted, and again is when there will be.
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

// Forget makes room for all of it.
func (d Direct) Forget(tx store.Tx, now time.Time, about string) error {
	return d.put(tx, now, about, nil)
}

func (d Direct) put(tx store.Tx, now time.Time, about string, slots []store.Slot) error {
	row := store.Counter{Name: tx.CounterName(d.Kind, about), Slots: slots}
	row.ExpiresAt = time.Unix(d.account(now).over(row), 0).UTC()
	return tx.PutCounters([]store.Counter{row})
}
