package records

import (
	"encoding/binary"
	"errors"
	"strings"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// eventIDSize is how many bytes of the hash of an event's id are kept. A collision of two ids would lose an event;
// with 16 bytes it is not expected below 2^60 events.
const eventIDSize = 16

// eventID is the key of an event's id in eventIDs. The id of a transaction's event is "evt_<transaction id>_<step>".
// The key then begins with the time digits of the transaction's id, and the hash follows, so that ids of events of
// about the same time lie on the same pages.
func (t *tx) eventID(id string) []byte {
	hash := t.store.lookup.Text(store.ByEvent, id)
	if at, ok := transactionTime(id); ok {
		return join([]byte(at), hash[:eventIDSize])
	}
	return hash[:eventIDSize]
}

// transactionTime returns the time digits of a transaction's id, also from the id of an event that contains it. ok is
// false for other ids.
func transactionTime(id string) (digits string, ok bool) {
	id, _ = strings.CutPrefix(id, "evt_")
	if !strings.HasPrefix(id, "tx_") {
		return "", false
	}
	_, rest, _ := strings.Cut(id, "_")
	rest, _, _ = strings.Cut(rest, "_")
	return wallet.IDTime("tx_" + rest)
}

// Emit stores events in the transaction that makes them true. An error leaves the transaction to be rolled back as a
// whole.
func (t *tx) Emit(list ...wallet.Event) error {
	for _, e := range list {
		if err := t.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// emit stores one event, at most once by its id: as a job for notify, as an outbox event for webhooks, as both, or
// not at all if nobody receives it.
func (t *tx) emit(e wallet.Event) error {
	if e.ID == "" {
		return errors.New("store: an event without an id")
	}
	// A public event needs a webhook: without any, it would wait for a receiver that does not exist.
	announced := e.Name.Public() && !t.isEmpty(webhooks)
	// An event without a receiver, about an erased person, or emitted before, leaves nothing. The check of the id
	// makes a repeated step of a worker harmless.
	id := t.eventID(e.ID)
	if !e.Name.NotifiesOwner() && !announced || t.isErased(e.User) || t.get(eventIDs, id) != nil {
		return nil
	}
	if err := t.put(eventIDs, id, []byte{emitted}); err != nil {
		return err
	}
	// The event is encoded once. Both rows hold the same plain head, and each seals the data on its own.
	head, err := store.EventHead(e)
	if err != nil {
		return err
	}
	if e.Name.NotifiesOwner() {
		if err := t.queueEvent(head, e); err != nil {
			return err
		}
	}
	if !announced {
		return nil
	}
	// Numbers rise with each emission: the relay hands outbox events on in this order.
	number, err := t.next(outboxEvents)
	if err != nil {
		return err
	}
	t.signal(store.RelaySignal)
	return errors.Join(t.putEvent(outboxEvents, numberKey(number), head, e), t.wakeRelay(e.At))
}

// emitted is the value beside the id of an event. Only the key says anything.
const emitted = 1

// queueEvent puts the job of an event for notify. The person is its ordering key, so that a person is notified of
// their events in the order of emission. About makes EraseUser find the job.
func (t *tx) queueEvent(head []byte, e wallet.Event) error {
	person := string(e.User)
	_, err := t.PutJobs([]store.Job{{ID: store.JobID(e.ID), Queue: store.Events, Key: person, Owner: person, About: e.User, At: e.At,
		Body: store.EventBody(head, e)}}, nil)
	return err
}

// putEvent writes an event's row: its head plain, its data and subject sealed for its user.
func (t *tx) putEvent(b table, key, head []byte, e wallet.Event) error {
	raw, err := t.sealBeside(b.String(), key, e.User, head, field{"data", e.Data}, field{"subject", []byte(e.Subject)})
	if err != nil {
		return err
	}
	return t.putRow(b, key, raw)
}

// eventsOf calls each for up to limit events of a table, in the order of their keys. It skips events of erased users
// silently, and reports damaged ones to the operator. each must not write to the table.
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

// PendingEvents opens the jobs of the queue Events in the order of their numbers, which is that of emission, whether
// they are in flight or not.
func (t *tx) PendingEvents(limit int) ([]wallet.Event, error) {
	q, err := t.jobQueue(store.Events)
	if err != nil {
		return nil, err
	}
	var out []wallet.Event
	for key := range t.scan(jobs, engine.Prefix(q.at(rowOf))) {
		if len(out) >= limit {
			break
		}
		seq := binary.BigEndian.Uint64(key[len(key)-8:])
		e, err := q.event(seq)
		switch {
		case err == nil:
			out = append(out, e)
		case !erased(err):
			if err := q.skipJob(seq, err); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// event reads the event of the job with a number.
func (q *jobQueue) event(seq uint64) (wallet.Event, error) {
	stored, err := q.read(seq)
	if err != nil {
		return wallet.Event{}, err
	}
	job, err := q.unsealJob(stored)
	if err != nil {
		return wallet.Event{}, err
	}
	return store.EventOf(job)
}

// OutboxEvents lists events in the order of their numbers, the oldest first.
func (t *tx) OutboxEvents(limit int) ([]store.OutboxEvent, error) {
	var out []store.OutboxEvent
	t.eventsOf(outboxEvents, limit, func(key []byte, e wallet.Event) error {
		number, err := keyNumber(key)
		if err == nil {
			out = append(out, store.OutboxEvent{Number: number, Event: e})
		}
		return err
	})
	return out, nil
}

// DoneOutboxEvents removes outbox events. The relay calls it in the Update that stores the last deliveries of an
// event. After a crash before it, the event is relayed again from the start: it is not lost, and may be delivered
// twice.
func (t *tx) DoneOutboxEvents(numbers []uint64) error {
	for _, n := range numbers {
		if err := t.delete(outboxEvents, numberKey(n)); err != nil {
			return err
		}
	}
	return nil
}
