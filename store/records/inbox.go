package records

import (
	"fmt"
	"time"

	"purser/store"
)

func (t *tx) PutUpdates(now time.Time, updates []store.Update) ([]store.Update, error) {
	var fresh []store.Update
	for _, u := range updates {
		known, err := t.NoteUpdate(now, u.ID)
		if err != nil {
			return nil, err
		}
		if known {
			continue
		}
		if u.Seq, err = t.next(inbox); err != nil {
			return nil, err
		}
		if err := t.putUpdate(u); err != nil {
			return nil, err
		}
		fresh = append(fresh, u)
	}
	if len(fresh) > 0 {
		t.signal(store.Inbox)
	}
	return fresh, nil
}

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
		if err := t.unexpire(seenOver, at.Add(store.SeenFor), key); err != nil {
			return false, err
		}
	}
	if err := t.expire(seenOver, now.Add(store.SeenFor), key); err != nil {
		return false, err
	}
	return false, t.put(seen, key, timeKey(now))
}

func (t *tx) putUpdate(u store.Update) error {
	who, err := identity{Chat: u.Chat}.field()
	if err != nil {
		return err
	}
	plain := u
	plain.Chat, plain.Body = 0, nil
	key := numberKey(u.Seq)
	raw, err := t.seal(inbox, key, t.chatOwner(u.Chat), plain, who, field{"body", u.Body})
	if err != nil {
		return err
	}
	return t.putRow(inbox, key, raw)
}

func (t *tx) Updates(limit int) ([]store.Update, error) {
	var out []store.Update
	for key, raw := range t.scan(inbox, all()) {
		if len(out) >= limit {
			break
		}
		u, err := t.openUpdate(key, raw)
		if erased(err) {
			continue
		}
		if err != nil {
			t.skipDamaged(inbox, key, err)
			continue
		}
		out = append(out, u)
	}
	return out, nil
}

func (t *tx) openUpdate(key, raw []byte) (store.Update, error) {
	var u store.Update
	sealed, err := t.unseal(inbox, key, raw, &u, "identity", "body")
	if err != nil {
		return store.Update{}, err
	}
	who, err := parseIdentity(sealed[0])
	if err != nil {
		return store.Update{}, err
	}
	u.Chat, u.Body = who.Chat, sealed[1]
	return u, nil
}

func (t *tx) FailUpdate(seq uint64, park bool) error {
	key := numberKey(seq)
	raw := t.get(inbox, key)
	if raw == nil {
		return store.ErrNotFound
	}
	u, r, err := plainOf[store.Update](t, inbox, key, raw)
	if err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	u.Attempts++
	if !park {
		return t.rewrite(inbox, key, r, u)
	}
	u.DeadLettered = true
	// What is sealed stays as it is, so it opens in its old place: the inbox.
	if err := t.rewrite(parked, key, r, u); err != nil {
		return err
	}
	if err := t.expire(parkedOver, u.At.Add(store.DeadLetteredFor), key); err != nil {
		return err
	}
	return t.delete(inbox, key)
}

func (t *tx) DoneUpdate(seq uint64) error {
	key := numberKey(seq)
	if t.get(inbox, key) == nil {
		return store.ErrNotFound
	}
	return t.delete(inbox, key)
}

func (t *tx) removeParked(key []byte) error {
	raw := t.get(parked, key)
	if raw == nil {
		return nil
	}
	u, _, err := plainOf[store.Update](t, parked, key, raw)
	if err != nil {
		return err
	}
	if err := t.unexpire(parkedOver, u.At.Add(store.DeadLetteredFor), key); err != nil {
		return err
	}
	return t.delete(parked, key)
}
