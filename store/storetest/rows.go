package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func event(id string) wallet.Event {
	return wallet.Event{ID: id, Name: wallet.UserRegistered, At: noon(), User: "usr_a", Transaction: "tx_1",
		Data: json.RawMessage(`{"of":"` + id + `"}`)}
}

func testEvents(t *testing.T, open Open) {
	s := fresh(t, open)
	pending := func(limit int) []wallet.Event {
		return get(t, s, func(tx store.Tx) ([]wallet.Event, error) { return tx.PendingEvents(limit) })
	}
	names := func() []string {
		out := []string{}
		for _, e := range pending(100) {
			out = append(out, e.ID)
		}
		return out
	}
	update(t, s, func(tx store.Tx) error { return tx.Emit(event("z"), event("a"), event("z")) })
	update(t, s, func(tx store.Tx) error { return tx.Emit(event("a"), event("m")) })
	update(t, s, func(tx store.Tx) error { return tx.Emit() })
	same(t, "in order, each once", names(), []string{"z", "a", "m"})
	same(t, "the whole row", pending(1), []wallet.Event{event("z")})
	update(t, s, func(tx store.Tx) error { return doneEvent(tx, "a") })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return doneEvent(tx, "a") })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return doneEvent(tx, "unknown") })
	same(t, "handled", names(), []string{"z", "m"})
	update(t, s, func(tx store.Tx) error { return tx.Emit(event("a")) })
	same(t, "a handled one is not emitted again", names(), []string{"z", "m"})
}

func testIdempotency(t *testing.T, open Open) {
	s := fresh(t, open)
	a := store.IdempotencyRecord{Fingerprint: [32]byte{1, 2}, Status: 202, Body: []byte(`{"success":true}`), ExpiresAt: noon()}
	early, late := noon().Add(-time.Nanosecond), noon()
	read := func(key string, at time.Time) func(store.Tx) (store.IdempotencyRecord, error) {
		return func(tx store.Tx) (store.IdempotencyRecord, error) { return tx.IdempotencyRecord(key, at) }
	}
	absent(t, s, "a free key", func(tx store.Tx) error { _, err := read("k", early)(tx); return err })
	update(t, s, func(tx store.Tx) error { return tx.PutIdempotencyRecord("k", a) })
	same(t, "answered", get(t, s, read("k", early)), a)
	absent(t, s, "another key", func(tx store.Tx) error { _, err := read("K", early)(tx); return err })
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutIdempotencyRecord("k", a) })
	absent(t, s, "over", func(tx store.Tx) error { _, err := read("k", late)(tx); return err })

	empty := store.IdempotencyRecord{Status: 204, ExpiresAt: noon().Add(time.Hour)}
	update(t, s, func(tx store.Tx) error {
		if _, err := tx.IdempotencyRecord("k", late); err == nil {
			return fmt.Errorf("an answer that is over was given")
		}
		return tx.PutIdempotencyRecord("k", empty)
	})
	same(t, "answered anew", get(t, s, read("k", late)), empty)
	update(t, s, func(tx store.Tx) error { return tx.DeleteIdempotencyRecord("k") })
	absent(t, s, "dropped", func(tx store.Tx) error { _, err := read("k", late)(tx); return err })
	update(t, s, func(tx store.Tx) error { return tx.DeleteIdempotencyRecord("k") })
}

// testSweep: rows go when their time is over, not before, a few at a time, with their indexes.
func testSweep(t *testing.T, open Open) {
	s := fresh(t, open)
	soon, later := noon().Add(time.Minute), noon().Add(time.Hour)
	update(t, s, func(tx store.Tx) error {
		if err := tx.PutUser(user("usr_a", 1001)); err != nil {
			return err
		}
		for id := range int64(2) {
			if _, err := tx.NoteUpdate(noon(), id); err != nil {
				return err
			}
		}
		if err := tx.PutButtons([]store.Button{{Nonce: "soon", ExpiresAt: soon}, {Nonce: "later", ExpiresAt: later}, {Nonce: "never"}}); err != nil {
			return err
		}
		if err := tx.PutButtons([]store.Button{{Nonce: "soon"}}); err != nil { // its time was moved
			return err
		}
		if err := tx.PutBind(wallet.Bind{TokenHash: [32]byte{1}, User: "usr_a", ExpiresAt: soon}); err != nil {
			return err
		}
		return errors.Join(tx.PutIdempotencyRecord("k", store.IdempotencyRecord{ExpiresAt: soon}), tx.PutIdempotencyRecord("k2", store.IdempotencyRecord{ExpiresAt: soon}),
			tx.PutCard(1, "c", 7, soon), store.Enqueue(tx, store.Reply{Chat: 1, Body: []byte("answer")}))
	})
	sweep := func(now time.Time, limit int) int {
		t.Helper()
		var n int
		update(t, s, func(tx store.Tx) (err error) {
			n, err = tx.Sweep(now, limit)
			return err
		})
		return n
	}
	same(t, "nothing is over", sweep(soon.Add(-time.Nanosecond), 100), 0)
	same(t, "one at a time", sweep(soon, 1), 1)
	same(t, "none wanted", sweep(soon, 0), 0)
	same(t, "the others", sweep(soon, 100), 2)
	same(t, "all of them", sweep(soon, 100), 0)
	view(t, s, func(tx store.Tx) error {
		for _, nonce := range []string{"soon", "later", "never"} {
			if _, err := tx.Button(nonce); err != nil {
				return fmt.Errorf("button %s: %w", nonce, err)
			}
		}
		_, err := tx.BindOf("usr_a")
		return err
	})
	same(t, "an hour later", sweep(later, 100), 1)
	absent(t, s, "the button", func(tx store.Tx) error { _, err := tx.Button("later"); return err })
	update(t, s, func(tx store.Tx) error { return tx.UseButtons(0, 0, "", noon()) })
	same(t, "after SeenFor: the bind, two update ids", sweep(noon().Add(store.SeenFor), 100), 3)
	absent(t, s, "the bind", func(tx store.Tx) error { _, err := tx.BindOf("usr_a"); return err })
	same(t, "what waits is never swept", len(Jobs(t, s, store.Outbox)), 1)
}

// testEveryField writes rows whose every field is set and reads the same rows.
func testEveryField(t *testing.T, open Open) {
	s := fresh(t, open)
	var (
		u           wallet.User
		w           wallet.Wallet
		b           wallet.Bind
		row         wallet.Transaction
		k           wallet.Key
		portalToken store.PortalToken
		c           store.Conversation
		n           store.Button
		a           store.IdempotencyRecord
		end         store.SendResult
		e           wallet.Event
		app         wallet.App
		gr          wallet.Grant
		dev         wallet.Developer
		hook        wallet.Webhook
		fare        wallet.WebhookHealth
		post        store.Delivery
		tick        store.Counter
		from        = int64(1)
	)
	for _, one := range []any{&u, &w, &b, &row, &k, &portalToken, &c, &n, &a, &end, &e, &app, &gr, &dev, &hook, &fare, &post, &tick} {
		Fill(one, from)
		from += 1000
	}
	c.Version = 0 // the store's own to change
	row.Kind = wallet.Send
	post.Webhook = hook.ID
	update(t, s, func(tx store.Tx) error {
		if err := errors.Join(tx.PutWebhook(hook), tx.PutWebhookHealth(hook.ID, fare)); err != nil { // Emit looks for them
			return err
		}
		waiting, err := tx.PutDeliveries([]store.Delivery{post})
		if err != nil {
			return err
		}
		post.Seq = waiting[0].Seq
		for _, err := range []error{tx.PutUser(u), tx.PutWallet(w), tx.PutBind(b), tx.CreateTransaction(row), tx.CreateKey(k, "secret"), tx.PutPortalToken(portalToken, "secret", 1),
			tx.PutConversation(c), tx.PutButtons([]store.Button{n}), tx.PutIdempotencyRecord("k", a), tx.PutSendResult(7, "card", end), tx.Emit(e),
			tx.PutApp(app), tx.PutGrant(gr), tx.PutDeveloper(dev), tx.PutCounters([]store.Counter{tick})} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	row.Version, c.Version = 1, 1
	same(t, "user", get(t, s, func(tx store.Tx) (wallet.User, error) { return tx.User(u.ID) }), u)
	same(t, "wallet", get(t, s, func(tx store.Tx) (wallet.Wallet, error) { return tx.Wallet(w.Address) }), w)
	same(t, "bind", get(t, s, func(tx store.Tx) (wallet.Bind, error) { return tx.Bind(b.TokenHash) }), b)
	same(t, "transaction", get(t, s, func(tx store.Tx) (wallet.Transaction, error) { return tx.Transaction(row.ID) }), row)
	same(t, "key", get(t, s, func(tx store.Tx) (wallet.Key, error) { return tx.Key(k.ID) }), k)
	same(t, "portal_token", get(t, s, func(tx store.Tx) (store.PortalToken, error) { return tx.PortalToken(portalToken.Kind, "secret") }), portalToken)
	same(t, "conversation", get(t, s, func(tx store.Tx) (store.Conversation, error) { return tx.Conversation(c.Chat, c.User, c.Slot) }), c)
	same(t, "button", get(t, s, func(tx store.Tx) (store.Button, error) { return tx.Button(n.Nonce) }), n)
	same(t, "answer", get(t, s, func(tx store.Tx) (store.IdempotencyRecord, error) { return tx.IdempotencyRecord("k", noon()) }), a)
	same(t, "send_result", get(t, s, func(tx store.Tx) (store.SendResult, error) { return tx.SendResult(7, "card") }), end)
	same(t, "app", get(t, s, func(tx store.Tx) (wallet.App, error) { return tx.App(app.ID) }), app)
	same(t, "grant", get(t, s, func(tx store.Tx) (wallet.Grant, error) { return tx.Grant(gr.User, gr.App) }), gr)
	same(t, "developer", get(t, s, func(tx store.Tx) (wallet.Developer, error) { return tx.Developer(dev.User) }), dev)
	same(t, "webhook", get(t, s, func(tx store.Tx) (wallet.Webhook, error) { return tx.Webhook(hook.ID) }), hook)
	same(t, "health", get(t, s, func(tx store.Tx) (wallet.WebhookHealth, error) { return tx.WebhookHealth(hook.ID) }), fare)
	same(t, "delivery", get(t, s, func(tx store.Tx) (store.Delivery, error) { return tx.Delivery(post.ID) }), post)
	announced := get(t, s, func(tx store.Tx) ([]store.OutboxEvent, error) { return tx.OutboxEvents(1) })
	same(t, "outbox event", announced, []store.OutboxEvent{{Number: announced[0].Number, Event: e}})
	same(t, "counter", get(t, s, func(tx store.Tx) (store.Counter, error) { return tx.Counter(tick.Name) }), tick)
	same(t, "event", get(t, s, func(tx store.Tx) ([]wallet.Event, error) { return tx.PendingEvents(1) }), []wallet.Event{e})
}

// doneEvent takes an event out of those that wait for notify; ErrNotFound when it is not there.
func doneEvent(tx store.Tx, id string) error {
	pending, err := tx.PendingEvents(1000)
	if err != nil {
		return err
	}
	for _, e := range pending {
		if e.ID != id {
			continue
		}
		waiting, err := tx.JobsOfKey(store.Events, string(e.User), 1000)
		if err != nil {
			return err
		}
		for _, job := range waiting {
			if of, err := store.EventOf(job); err != nil || of.ID == id {
				return errors.Join(err, tx.RemoveJobs(store.Events, job.ID))
			}
		}
	}
	return store.ErrNotFound
}
