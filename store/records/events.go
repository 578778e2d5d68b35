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
	// The event is encoded once. Both rows hold the same plain head, and each seals the data on its own.
	head, err := store.EventHead(e)
	if err != nil {
		return err
	}
	job := uint64(0)
	if e.Name.NotifiesOwner() {
		if job, err = t.queueEvent(head, e); err != nil {
			return err
		}
	}
	if err := t.put(eventIDs, id, binary.AppendUvarint(nil, job)); err != nil || !announced {
		return err
	}
	// Numbers rise with each emission: the relay hands outbox events on in this order.
	number, err := t.next(outboxEvents)
	if err != nil {
		return err
	}
	t.signal(store.RelaySignal)
	t.emitted = append(t.emitted, numberedEvent{number, asStored(e)})
	return errors.Join(t.putEvent(outboxEvents, numberKey(number), head, e), t.wakeRelay(e.At))
}

// asStored returns an event as its row would be read: its time without the reading of the process's own clock.
func asStored(e wallet.Event) wallet.Event {
	e.At = e.At.Round(0)
	return e
}

// queueEvent puts the job of an event for notify, and returns its number. The person is its ordering key, so that a
// person is notified of their events in the order of emission. About makes EraseUser find the job. The store makes the
// ID of the job: eventIDs holds that of the event, with the number of the job.
func (t *tx) queueEvent(head []byte, e wallet.Event) (uint64, error) {
	person := string(e.User)
	put, err := t.PutJobs([]store.Job{{Queue: store.Events, Key: person, Owner: person, About: e.User, At: e.At,
		Body: store.EventBody(head, e)}}, nil)
	if err != nil || len(put) == 0 {
		return 0, err
	}
	return put[0].Seq, nil
}

// jobOfEvent returns the number of the first job of an event. ok is false if it was never emitted, or nobody is to be notified.
func (t *tx) jobOfEvent(event string) (number uint64, ok bool) {
	number, size := binary.Uvarint(t.get(eventIDs, t.eventID(event)))
	return number, size > 0 && number > 0
}

// waits reports whether an event still waits for notify.
func (t *tx) waits(event string) (bool, error) {
	queue, err := t.jobQueue(store.Events)
	if err != nil {
		return false, err
	}
	job, ok := t.jobOfEvent(event)
	if !ok {
		return false, nil
	}
	switch _, err := queue.read(job); {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case err != nil:
		return false, queue.skipJob(job, err)
	}
	return true, nil
}

// putEvent writes an event's row: its head plain, its data and subject sealed for its user.
func (t *tx) putEvent(b table, key, head []byte, e wallet.Event) error {
	raw, err := t.sealBeside(b.String(), key, e.User, head, field{"data", e.Data}, field{"subject", []byte(e.Subject)})
	if err != nil {
		return err
	}
	return t.putRow(b, key, raw)
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

// OutboxEvents lists events in the order of their numbers, the oldest first. It skips events of erased users silently,
// and reports damaged ones to the operator. Events that this process has just emitted come from memory.
func (t *tx) OutboxEvents(limit int) ([]store.OutboxEvent, error) {
	var out []store.OutboxEvent
	for key, raw := range t.scan(outboxEvents, all()) {
		if len(out) >= limit {
			break
		}
		number, err := keyNumber(key)
		var e wallet.Event
		if err == nil {
			e, err = t.outboxEvent(number, key, raw)
		}
		switch {
		case err == nil:
			out = append(out, store.OutboxEvent{Number: number, Event: e})
		case !erased(err):
			t.skipDamaged(outboxEvents, key, err)
		}
	}
	return out, nil
}

// outboxEvent returns one event, from memory or from its row.
func (t *tx) outboxEvent(number uint64, key, raw []byte) (e wallet.Event, err error) {
	if e, ok := t.store.recent.get(number); ok && !t.isErased(e.User) {
		return e, nil
	}
	sealed, err := t.unseal(outboxEvents, key, raw, &e, "data", "subject")
	if err == nil {
		e.Data, e.Subject = sealed[0], string(sealed[1])
	}
	return e, err
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
	t.relayed = append(t.relayed, numbers...)
	return nil
}
