package handlers

import (
	"errors"
	"strconv"
	"time"

	"purser/store"
	"purser/wallet"
)

// rateLimit is how often something may be done in any span of time. It is counted in the store transaction of
// what is done, under a keyed hash of whom it is about: no crash gives more of it, and neither does
// /delete_me, which destroys the person's own rows.
type rateLimit struct {
	kind string // of the counters' names
	most uint64
	span time.Duration
}

// account is how a person is counted: by what stays the same when they are erased and come back.
func account(u wallet.User) string { return strconv.FormatInt(u.TelegramID, 10) }

// next is when there is room for one more; zero: there is now. Nothing is counted.
func (b rateLimit) next(tx store.Tx, now time.Time, about string) (time.Time, error) {
	slots, used, err := b.live(tx, now, about)
	if err != nil || used < b.most {
		return time.Time{}, err
	}
	return b.ends(slots[0]), nil
}

// live are the slots that still count.
func (b rateLimit) live(tx store.Tx, now time.Time, about string) (slots []store.Slot, used uint64, err error) {
	row, err := tx.Counter(tx.CounterName(b.kind, about))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, 0, err
	}
	start := wholeSecond(now)
	for _, s := range row.Slots {
		s.Start = min(s.Start, start) // of a clock that ran ahead
		if b.ends(s).After(now) {
			slots, used = append(slots, s), used+s.Count
		}
	}
	return slots, used, nil
}

// spend counts one more. Where there is no room for it nothing is counted, and again is when there will be.
func (b rateLimit) spend(tx store.Tx, now time.Time, about string) (again time.Time, err error) {
	slots, used, err := b.live(tx, now, about)
	if err != nil {
		return time.Time{}, err
	}
	if used >= b.most {
		return b.ends(slots[0]), nil
	}
	return time.Time{}, b.put(tx, about, append(slots, store.Slot{Start: wholeSecond(now), Count: 1}))
}

// renew forgets what was counted and counts one.
func (b rateLimit) renew(tx store.Tx, now time.Time, about string) error {
	return b.put(tx, about, []store.Slot{{Start: wholeSecond(now), Count: 1}})
}

// forget makes room for all of it.
func (b rateLimit) forget(tx store.Tx, now time.Time, about string) error {
	return tx.PutCounters([]store.Counter{{Name: tx.CounterName(b.kind, about), ExpiresAt: now}})
}

func (b rateLimit) put(tx store.Tx, about string, slots []store.Slot) error {
	return tx.PutCounters([]store.Counter{{Name: tx.CounterName(b.kind, about), Slots: slots, ExpiresAt: b.ends(slots[len(slots)-1])}})
}

// ends is when a slot counts no more.
func (b rateLimit) ends(s store.Slot) time.Time { return time.Unix(s.Start, 0).UTC().Add(b.span) }

// wholeSecond is the next one: slots are of seconds, and err on the strict side.
func wholeSecond(at time.Time) int64 { return at.Add(time.Second - 1).Unix() }
