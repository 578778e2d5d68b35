package records

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// listening makes a store with a person and a webhook, so that public events wait in the outbox.
func listening(t *testing.T) *Store {
	t.Helper()
	s := fresh(t)
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(wallet.User{ID: "usr_a", TelegramID: 7}),
			tx.PutWebhook(wallet.Webhook{ID: "wh_a", Lineage: "key_a", Owner: "usr_a"}))
	})
	return s
}

func outboxEvents256(t *testing.T, s *Store) (out []store.OutboxEvent) {
	t.Helper()
	if err := s.View(context.Background(), func(tx store.Tx) (err error) {
		out, err = tx.OutboxEvents(256)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestEventsFromMemoryAreAsTheirRows: whether an event comes from memory or from its row, it is the same.
func TestEventsFromMemoryAreAsTheirRows(t *testing.T) {
	s := listening(t)
	emitted := wallet.Event{ID: "evt_tx_1k7uvkhg0fudsbq9o7m5k3i1g0_1_0", Name: wallet.TransactionReceived, User: "usr_a", Subject: "w", Transaction: "tx_1",
		At: time.Now().UTC(), Data: []byte(`{"a":1}`)}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.Emit(emitted) })
	if _, known := s.recent.get(outboxEvents256(t, s)[0].Number); !known {
		t.Fatal("it is not in memory")
	}
	remembered := outboxEvents256(t, s)
	s.recent.done([]uint64{remembered[0].Number})
	if read := outboxEvents256(t, s); !reflect.DeepEqual(read, remembered) {
		t.Errorf("from memory %+v, from the row %+v", remembered, read)
	}
}

// TestMemoryOfEventsFollowsTheRows: what did not commit is not there, what is relayed or erased is not listed.
func TestMemoryOfEventsFollowsTheRows(t *testing.T) {
	s := listening(t)
	event := func(id string) wallet.Event {
		return wallet.Event{ID: id, Name: wallet.TransactionReceived, User: "usr_a", Data: []byte("{}")}
	}
	broken := errors.New("rolled back")
	if err := s.Update(context.Background(), func(tx store.Tx) error { return errors.Join(tx.Emit(event("a")), broken) }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.Emit(event("b"), event("c")) }) // b has the number that a would have had
	waiting := outboxEvents256(t, s)
	if len(waiting) != 2 || waiting[0].Event.ID != "b" {
		t.Fatalf("%+v wait", waiting)
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.DoneOutboxEvents([]uint64{waiting[0].Number}) })
	if left := outboxEvents256(t, s); len(left) != 1 || left[0].Event.ID != "c" || len(s.recent.all) != 1 {
		t.Errorf("after one was relayed: %+v, %d in memory", left, len(s.recent.all))
	}
	mustUpdate(t, s, func(tx store.Tx) error { // one that goes in the Update that emits it
		return errors.Join(tx.Emit(event("d")), tx.DoneOutboxEvents([]uint64{waiting[1].Number + 1}))
	})
	if left := outboxEvents256(t, s); len(left) != 1 || len(s.recent.all) != 1 {
		t.Errorf("after one came and went: %+v, %d in memory", left, len(s.recent.all))
	}
	mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	if left := outboxEvents256(t, s); len(left) != 0 {
		t.Errorf("an event of an erased person is listed: %+v", left)
	}
	if len(s.recent.all) != 0 || s.recent.bytes != 0 {
		t.Errorf("memory keeps %d events of an erased person", len(s.recent.all))
	}
}

// TestMemoryListsNoEventOfAnErasedPerson, although its row was damaged, so that erasing passed over it.
func TestMemoryListsNoEventOfAnErasedPerson(t *testing.T) {
	s := listening(t)
	mustUpdate(t, s, func(tx store.Tx) error {
		return tx.Emit(wallet.Event{ID: "a", Name: wallet.TransactionReceived, User: "usr_a", Data: []byte("{}")})
	})
	number := outboxEvents256(t, s)[0].Number
	mustUpdate(t, s, func(tx store.Tx) error {
		return errors.Join(tx.(tables).put(outboxEvents, numberKey(number), []byte("garbage")), tx.EraseUser("usr_a"))
	})
	if left := outboxEvents256(t, s); len(left) != 0 {
		t.Errorf("it is listed: %+v", left)
	}
}

// TestOneEventThatStaysInMemoryHoldsNoOthers: another node relayed it, or this one did before it was added here. What comes and
// goes behind it leaves nothing.
func TestOneEventThatStaysInMemoryHoldsNoOthers(t *testing.T) {
	var r recentEvents
	r.add([]numberedEvent{{1, wallet.Event{ID: "stays"}}})
	for n := uint64(2); n < 10*maxRecent; n++ {
		r.add([]numberedEvent{{n, wallet.Event{Data: []byte("x")}}})
		r.done([]uint64{n})
	}
	if _, stays := r.get(1); !stays || len(r.all) != 1 || r.bytes != 0 {
		t.Errorf("%d events and %d bytes are kept", len(r.all), r.bytes)
	}
	if len(r.order) > 2*maxRecent {
		t.Errorf("%d places for one event", len(r.order))
	}
}

func TestMemoryOfEventsIsBounded(t *testing.T) {
	var r recentEvents
	for n := range uint64(3 * maxRecent) {
		r.add([]numberedEvent{{n, wallet.Event{ID: fmt.Sprint(n)}}})
	}
	if len(r.all) > maxRecent || len(r.order) > maxRecent+1 {
		t.Errorf("%d events, %d places", len(r.all), len(r.order))
	}
	if _, newest := r.get(3*maxRecent - 1); !newest {
		t.Error("the newest was dropped")
	}
	for n := range uint64(40) {
		r.add([]numberedEvent{{1<<40 + n, wallet.Event{Data: bytes.Repeat([]byte("x"), 1<<20)}}})
	}
	if r.bytes > maxRecentBytes || len(r.all) == 0 {
		t.Errorf("%d bytes of %d events", r.bytes, len(r.all))
	}
	var all []uint64
	for n := range r.all {
		all = append(all, n)
	}
	r.done(all)
	if r.bytes != 0 || len(r.all) != 0 || len(r.order) != 0 {
		t.Errorf("when all are relayed: %d bytes, %d events, %d places", r.bytes, len(r.all), len(r.order))
	}
}
