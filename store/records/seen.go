package records

import (
	"time"

	"purser/store"
)

// NoteUpdate records the time when an update id was last received. An id that comes again within store.SeenFor is
// known. After that it counts as new: Telegram chooses a random id after a week without updates, so ids do repeat.
func (t *tx) NoteUpdate(now time.Time, id int64) (known bool, err error) {
	key := numberKey(uint64(id))
	if raw := t.get(seen, key); raw != nil {
		at, err := keyTime(raw)
		if err != nil {
			return false, err
		}
		if now.Before(at.Add(store.SeenFor)) {
			return true, nil
		}
		// The row is over, and Sweep has not removed it yet: its old note goes.
		if err := t.unexpire(seenOver, at.Add(store.SeenFor), key); err != nil {
			return false, err
		}
	}
	if err := t.expire(seenOver, now.Add(store.SeenFor), key); err != nil {
		return false, err
	}
	return false, t.put(seen, key, timeKey(now))
}
