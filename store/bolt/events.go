package bolt

import (
	"errors"

	"purser/store"
	"purser/wallet"
)

// eventIDSize is how much of the hash of an event's id is kept: enough to tell 2^60 apart.
const eventIDSize = 16

func (t *tx) eventID(id string) []byte {
	hash := t.store.lookup.Text(store.ByEvent, id)
	return hash[:eventIDSize]
}

func (t *tx) Emit(list ...wallet.Event) error {
	for _, e := range list {
		if err := t.emit(e); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) emit(e wallet.Event) error {
	if e.ID == "" {
		return errors.New("bolt: an event without an id")
	}
	id := t.eventID(e.ID)
	if t.get(eventIDs, id) != nil {
		return nil
	}
	number, err := t.next(events)
	if err != nil {
		return err
	}
	key := numberKey(number)
	plain := e
	plain.Data = nil
	raw, err := t.seal(events, key, e.User, plain, field{"data", e.Data})
	if err != nil {
		return err
	}
	if err := t.put(eventIDs, id, key); err != nil {
		return err
	}
	t.news[store.Events] = true
	return t.put(events, key, raw)
}

func (t *tx) PendingEvents(limit int) ([]wallet.Event, error) {
	var out []wallet.Event
	cursor := t.bucket(events).Cursor()
	for key, raw := cursor.First(); key != nil && len(out) < limit; key, raw = cursor.Next() {
		var e wallet.Event
		sealed, err := t.unseal(events, key, raw, &e, "data")
		if erased(err) {
			continue
		}
		if err != nil {
			t.passOver(events, key, err)
			continue
		}
		e.Data = sealed[0]
		out = append(out, e)
	}
	return out, nil
}

func (t *tx) DoneEvent(id string) error {
	key := t.get(eventIDs, t.eventID(id))
	if key == nil || t.get(events, key) == nil {
		return store.ErrNotFound
	}
	return t.delete(events, key)
}
