package records

import (
	"errors"
	"strings"

	"purser/store"
	"purser/wallet"
)

// eventIDSize is how much of the hash of an event's id is kept: enough to tell 2^60 apart.
const eventIDSize = 16

// eventID is the key of an event's id, "evt_<transaction id>_<step>" for one of a transaction: then the time in that
// id, where it has one, is in front of the hash, so that what is written together lies together.
func (t *tx) eventID(id string) []byte {
	hash := t.store.lookup.Text(store.ByEvent, id)
	of, _ := strings.CutPrefix(id, "evt_")
	if prefix, rest, ok := strings.Cut(of, "_"); ok {
		digits, _, _ := strings.Cut(rest, "_")
		if at, ok := wallet.IDTime(prefix + "_" + digits); ok && prefix == "tx" {
			return join([]byte(at), hash[:eventIDSize])
		}
	}
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
	announced := e.Name.Public() && !t.isEmpty(webhooks)
	id := t.eventID(e.ID)
	if !e.Name.NotifiesOwner() && !announced || t.isErased(e.User) || t.get(eventIDs, id) != nil {
		return nil
	}
	number, err := t.next(events)
	if err != nil {
		return err
	}
	key := numberKey(number)
	if err := t.put(eventIDs, id, key); err != nil {
		return err
	}
	if e.Name.NotifiesOwner() {
		if err := t.putEvent(events, key, e); err != nil {
			return err
		}
		t.signal(store.Events)
	}
	if announced {
		if err := t.putEvent(announcements, key, e); err != nil {
			return err
		}
		t.signal(store.Announced)
	}
	return nil
}

func (t *tx) putEvent(b table, key []byte, e wallet.Event) error {
	plain := e
	plain.Data, plain.Subject = nil, ""
	raw, err := t.seal(b, key, e.User, plain, field{"data", e.Data}, field{"subject", []byte(e.Subject)})
	if err != nil {
		return err
	}
	return t.putRow(b, key, raw)
}

// eventsOf reads events, in order, with their keys.
func (t *tx) eventsOf(b table, limit int, each func(key []byte, e wallet.Event) error) {
	for key, raw := range t.scan(b, all()) {
		if limit <= 0 {
			break
		}
		var e wallet.Event
		sealed, err := t.unseal(b, key, raw, &e, "data", "subject")
		if err == nil {
			e.Data, e.Subject = sealed[0], string(sealed[1])
			err = each(key, e)
		}
		switch {
		case err == nil:
			limit--
		case !erased(err):
			t.skipDamaged(b, key, err)
		}
	}
}

func (t *tx) PendingEvents(limit int) ([]wallet.Event, error) {
	var out []wallet.Event
	t.eventsOf(events, limit, func(_ []byte, e wallet.Event) error { out = append(out, e); return nil })
	return out, nil
}

func (t *tx) Announcements(limit int) ([]store.OutboxEvent, error) {
	var out []store.OutboxEvent
	t.eventsOf(announcements, limit, func(key []byte, e wallet.Event) error {
		number, err := keyNumber(key)
		if err == nil {
			out = append(out, store.OutboxEvent{Number: number, Event: e})
		}
		return err
	})
	return out, nil
}

func (t *tx) DoneAnnouncements(numbers []uint64) error {
	for _, n := range numbers {
		if err := t.delete(announcements, numberKey(n)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) DoneEvent(id string) error {
	key := t.get(eventIDs, t.eventID(id))
	if key == nil || t.get(events, key) == nil {
		return store.ErrNotFound
	}
	return t.delete(events, key)
}
