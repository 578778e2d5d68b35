package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func webhook(id wallet.WebhookID, line string, owner wallet.UserID) wallet.Webhook {
	return wallet.Webhook{ID: id, Kind: wallet.APIKey, Lineage: line, Owner: owner, URL: "https://example.com/" + string(id),
		Events: []string{"transaction.*"}, Active: true, Secret: "whsec_" + string(id), CreatedAt: noon(), UpdatedAt: noon()}
}

// delivery is one about a person, which is also its line.
func delivery(id string, to wallet.WebhookID, about wallet.UserID) store.Delivery {
	return store.Delivery{ID: id, Webhook: to, EventID: "evt_" + id, Event: wallet.BalanceUpdated, User: about, OrderingKey: "of " + string(about),
		Urgency: store.Normal, Body: []byte(`{"of":"` + id + `"}`), CreatedAt: noon(), NextAt: noon()}
}

// spoken is an event that people are not notified of.
func spoken(id string) wallet.Event {
	e := event(id)
	e.Name = wallet.MessageReceived
	return e
}

func put(t *testing.T, s store.Store, all ...store.Delivery) (fresh []store.Delivery) {
	t.Helper()
	for _, d := range place(t, s, all...) {
		fresh = append(fresh, d.Delivery)
	}
	return fresh
}

func place(t *testing.T, s store.Store, all ...store.Delivery) (fresh []store.PlacedDelivery) {
	t.Helper()
	update(t, s, func(tx store.Tx) (err error) { fresh, err = tx.PutDeliveries(all); return err })
	return fresh
}

func lineOf(t *testing.T, s store.Store, id wallet.WebhookID, after store.Position, limit int) []store.Delivery {
	t.Helper()
	return get(t, s, func(tx store.Tx) ([]store.Delivery, error) { return wholeLine(tx, id, after, limit) })
}

// wholeLine lists what waits for a webhook over all urgencies.
func wholeLine(tx store.Tx, id wallet.WebhookID, after store.Position, limit int) (out []store.Delivery, err error) {
	for err == nil && after.Urgency <= store.Prices && len(out) < limit {
		var some []store.Delivery
		some, err = tx.DeliveriesOf(id, after, limit-len(out))
		out, after = append(out, some...), store.Position{Urgency: after.Urgency + 1}
	}
	return out, err
}

func names(all []store.Delivery) []string {
	out := []string{}
	for _, d := range all {
		out = append(out, d.ID)
	}
	return out
}

func waits(t *testing.T, s store.Store, id wallet.WebhookID) int {
	t.Helper()
	return get(t, s, func(tx store.Tx) (int, error) { return tx.Waiting(id, 1<<30) })
}

func busy(t *testing.T, s store.Store) []wallet.WebhookID {
	t.Helper()
	return get(t, s, func(tx store.Tx) ([]wallet.WebhookID, error) { return tx.WaitingWebhooks() })
}

func sweepAll(t *testing.T, s store.Store, at int) (swept []int) {
	t.Helper()
	for {
		n := 0
		update(t, s, func(tx store.Tx) (err error) { n, err = tx.Sweep(noon(), at); return err })
		if n == 0 {
			return swept
		}
		swept = append(swept, n)
	}
}

func testWebhooks(t *testing.T, open Open) {
	s := fresh(t, open)
	first, second, other, house := webhook("wh_z", "key_1", "usr_a"), webhook("wh_a", "key_1", "usr_a"), webhook("wh_b", "key_12", "usr_a"), webhook("wh_c", "key_0", "")
	second.CreatedAt, other.CreatedAt = noon().Add(time.Second), noon().Add(2*time.Second)
	read := func(id wallet.WebhookID) wallet.Webhook {
		return get(t, s, func(tx store.Tx) (wallet.Webhook, error) { return tx.Webhook(id) })
	}
	of := func(line string) []wallet.Webhook {
		return get(t, s, func(tx store.Tx) ([]wallet.Webhook, error) { return tx.WebhooksOf(line) })
	}
	owned := func(by wallet.UserID) []wallet.Webhook {
		return get(t, s, func(tx store.Tx) ([]wallet.Webhook, error) { return tx.WebhooksOfOwner(by) })
	}
	absent(t, s, "an unknown webhook", func(tx store.Tx) error { _, err := tx.Webhook("wh_z"); return err })
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.DeleteWebhook("wh_z") })
	for _, w := range []wallet.Webhook{other, house, second, first} {
		update(t, s, func(tx store.Tx) error { return tx.PutWebhook(w) })
	}
	same(t, "a webhook", read("wh_z"), first)
	same(t, "of a line", of("key_1"), []wallet.Webhook{first, second})
	same(t, "of a line whose name begins so", of("key_12"), []wallet.Webhook{other})
	same(t, "of no line", of("key_"), []wallet.Webhook(nil))
	same(t, "a person's", owned("usr_a"), []wallet.Webhook{first, second, other})
	same(t, "the operator's", owned(""), []wallet.Webhook{house})

	for what, change := range map[string]func(*wallet.Webhook){
		"lineage": func(w *wallet.Webhook) { w.Lineage = "key_12" },
		"owner":   func(w *wallet.Webhook) { w.Owner = "" },
	} {
		stolen := first
		change(&stolen)
		if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutWebhook(stolen) }); !errors.Is(err, store.ErrConflict) {
			t.Errorf("another %s: %v", what, err)
		}
	}
	first.URL, first.Previous, first.Secret, first.Active, first.Ended = "https://example.org/", first.Secret, "whsec_new", false, wallet.EndedGone
	first.CreatedAt, first.Events = noon().Add(time.Minute), nil
	update(t, s, func(tx store.Tx) error { return tx.PutWebhook(first) })
	same(t, "replaced", of("key_1"), []wallet.Webhook{second, first})
	same(t, "of its owner", owned("usr_a"), []wallet.Webhook{second, other, first})

	fares := func(id wallet.WebhookID) wallet.WebhookHealth {
		return get(t, s, func(tx store.Tx) (wallet.WebhookHealth, error) { return tx.WebhookHealth(id) })
	}
	h := wallet.WebhookHealth{LastTriggered: noon(), LastSuccess: noon().Add(-time.Hour), Failures: 2, FailingSince: noon().Add(-time.Minute), LastStatus: 500, LastReason: wallet.Because("attempt.no_answer", wallet.DurationArg("Within", time.Second))}
	same(t, "never delivered", fares("wh_z"), wallet.WebhookHealth{})
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutWebhookHealth("wh_none", h) })
	update(t, s, func(tx store.Tx) error { return tx.PutWebhookHealth("wh_z", wallet.WebhookHealth{Failures: 1}) })
	update(t, s, func(tx store.Tx) error { return tx.PutWebhookHealth("wh_z", h) })
	same(t, "its health", fares("wh_z"), h)
	same(t, "another's", fares("wh_a"), wallet.WebhookHealth{})

	update(t, s, func(tx store.Tx) error { return tx.DeleteWebhook("wh_z") })
	absent(t, s, "a deleted webhook", func(tx store.Tx) error { _, err := tx.Webhook("wh_z"); return err })
	same(t, "what is left of the line", of("key_1"), []wallet.Webhook{second})
	same(t, "what is left of the owner's", owned("usr_a"), []wallet.Webhook{second, other})
	same(t, "its health", fares("wh_z"), wallet.WebhookHealth{})
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return tx.PutWebhookHealth("wh_z", h) })
	for what, w := range map[string]wallet.Webhook{"an id": {Lineage: "key_1"}, "a line": {ID: "wh_1"}} {
		if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutWebhook(w) }); err == nil {
			t.Errorf("a webhook without %s was taken", what)
		}
	}
}

func testOutboxEvents(t *testing.T, open Open) {
	s := fresh(t, open)
	announced := func(limit int) []store.OutboxEvent {
		return get(t, s, func(tx store.Tx) ([]store.OutboxEvent, error) { return tx.OutboxEvents(limit) })
	}
	announcedIDs := func() (out []string) {
		for _, a := range announced(100) {
			out = append(out, a.Event.ID)
		}
		return out
	}
	pending := func() (out []string) {
		for _, e := range get(t, s, func(tx store.Tx) ([]wallet.Event, error) { return tx.PendingEvents(100) }) {
			out = append(out, e.ID)
		}
		return out
	}
	emit := func(events ...wallet.Event) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return tx.Emit(events...) })
	}
	inner := event("inner")
	inner.Name = wallet.TransactionSigned

	emit(event("early"), spoken("word"))
	same(t, "without a webhook", announcedIDs(), []string(nil))
	same(t, "to be notified", pending(), []string{"early"})
	update(t, s, func(tx store.Tx) error { return tx.PutWebhook(webhook("wh", "key_1", "")) })
	emit(event("early"), spoken("word"), event("z"), inner, event("a"), event("z"), spoken("word"))
	same(t, "in order, each once", announcedIDs(), []string{"word", "z", "a"})
	same(t, "to be notified", pending(), []string{"early", "z", "inner", "a"})

	all := announced(2)
	same(t, "the whole rows", all, []store.OutboxEvent{{Number: all[0].Number, Event: spoken("word")}, {Number: all[1].Number, Event: event("z")}})
	if all[0].Number >= all[1].Number {
		t.Errorf("numbers %d, %d", all[0].Number, all[1].Number)
	}
	update(t, s, func(tx store.Tx) error { return doneEvent(tx, "z") })
	same(t, "notified is not announced", announcedIDs(), []string{"word", "z", "a"})
	refuses(t, s, store.ErrNotFound, func(tx store.Tx) error { return doneEvent(tx, "word") })
	for range 2 {
		update(t, s, func(tx store.Tx) error { return tx.DoneOutboxEvents([]uint64{all[0].Number, all[1].Number, 1 << 60}) })
	}
	same(t, "done", announcedIDs(), []string{"a"})
	same(t, "announced is not notified", pending(), []string{"early", "inner", "a"})
	emit(event("z"), spoken("word"))
	same(t, "those that are done do not come again", announcedIDs(), []string{"a"})

	update(t, s, func(tx store.Tx) error { return tx.DeleteWebhook("wh") })
	same(t, "they wait when nobody listens any more", announcedIDs(), []string{"a"})
	emit(event("late"))
	same(t, "and no more come", announcedIDs(), []string{"a"})
}

func testDeliveries(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutWebhook(webhook("wh_1", "key_1", "")), tx.PutWebhook(webhook("wh_10", "key_1", "")), tx.PutWebhook(webhook("wh_2", "key_1", "")))
	})
	price, money := delivery("price", "wh_1", ""), delivery("money", "wh_1", "usr_a")
	price.Urgency, money.Urgency, money.OrderingKey, money.Resend = store.Prices, store.Money, "", true
	same(t, "for nobody", len(put(t, s, delivery("none", "wh_none", "usr_a"))), 0)
	fresh := put(t, s, price, delivery("b", "wh_1", "usr_a"), delivery("other", "wh_10", "usr_a"), delivery("a", "wh_1", "usr_b"), delivery("b", "wh_1", "usr_b"), money)
	same(t, "new ones", names(fresh), []string{"price", "b", "other", "a", "money"})
	same(t, "known ones", names(put(t, s, delivery("a", "wh_10", "usr_a"), delivery("c", "wh_1", "usr_a"))), []string{"c"})

	all := lineOf(t, s, "wh_1", store.Position{}, 100)
	same(t, "in order", names(all), []string{"money", "b", "a", "c", "price"})
	money.Seq = fresh[4].Seq
	same(t, "the whole row", all[0], money)
	for i := range all {
		same(t, "limited", lineOf(t, s, "wh_1", store.Position{}, i), append([]store.Delivery(nil), all[:i]...))
		same(t, "behind one", lineOf(t, s, "wh_1", all[i].Position(), 100), append([]store.Delivery(nil), all[i+1:]...))
		same(t, "by its id", get(t, s, func(tx store.Tx) (store.Delivery, error) { return tx.Delivery(all[i].ID) }), all[i])
	}
	same(t, "another's", names(lineOf(t, s, "wh_10", store.Position{}, 100)), []string{"other"})
	same(t, "who is waited for", busy(t, s), []wallet.WebhookID{"wh_1", "wh_10"})
	same(t, "how many wait", []int{waits(t, s, "wh_1"), waits(t, s, "wh_10"), waits(t, s, "wh_2"), waits(t, s, "wh")}, []int{5, 1, 0, 0})
	same(t, "up to a limit", get(t, s, func(tx store.Tx) (int, error) { return tx.Waiting("wh_1", 3) }), 3)
	absent(t, s, "one that does not wait", func(tx store.Tx) error { _, err := tx.Delivery("none"); return err })

	tried := all[1]
	tried.Attempts, tried.NextAt, tried.Pause, tried.Counted = 3, noon().Add(time.Minute), 4*time.Second, true
	update(t, s, func(tx store.Tx) error { return tx.Reschedule([]store.Delivery{tried, delivery("gone", "wh_1", "")}) })
	same(t, "put off, in its place", lineOf(t, s, "wh_1", all[0].Position(), 1), []store.Delivery{tried})
	for range 2 {
		update(t, s, func(tx store.Tx) error { return tx.DoneDeliveries([]store.Delivery{tried, all[4]}) })
	}
	same(t, "done", names(lineOf(t, s, "wh_1", store.Position{}, 100)), []string{"money", "a", "c"})
	update(t, s, func(tx store.Tx) error { return tx.Reschedule([]store.Delivery{tried}) })
	again := put(t, s, delivery("b", "wh_1", "usr_a"))
	same(t, "its id is free", names(again), []string{"b"})
	placed := place(t, s, delivery("x", "wh_1", ""), delivery("y", "wh_2", ""), delivery("z", "wh_1", ""), price)
	behind := []uint64{placed[0].Behind, placed[1].Behind, placed[2].Behind, placed[3].Behind}
	same(t, "behind what waits", behind, []uint64{again[0].Seq, 0, placed[0].Seq, 0})
	update(t, s, func(tx store.Tx) error {
		for _, d := range placed {
			if err := tx.DoneDeliveries([]store.Delivery{d.Delivery}); err != nil {
				return err
			}
		}
		return nil
	})
	update(t, s, func(tx store.Tx) error { return tx.DoneDeliveries([]store.Delivery{tried}) })
	same(t, "and what was done does not end it", get(t, s, func(tx store.Tx) (store.Delivery, error) { return tx.Delivery("b") }), again[0])
	for what, d := range map[string]store.Delivery{"an id": delivery("", "wh_1", ""), "a webhook": delivery("d", "", "")} {
		if err := s.Update(t.Context(), func(tx store.Tx) error { _, err := tx.PutDeliveries([]store.Delivery{d}); return err }); err == nil {
			t.Errorf("a delivery without %s was taken", what)
		}
	}
}

// testDeliveryLines walks lines page by page, while what was listed before is done.
func testDeliveryLines(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error { return tx.PutWebhook(webhook("wh", "key", "")) })
	var all []store.Delivery
	for i := range 1000 {
		d := delivery(fmt.Sprintf("dlv_%03d", i), "wh", wallet.UserID(fmt.Sprint("usr_", i%7)))
		d.Urgency = store.Urgency(i % 3)
		all = append(all, d)
	}
	put(t, s, all...)
	var at store.Position
	var met []string
	for {
		page := lineOf(t, s, "wh", at, 64)
		if len(page) == 0 {
			break
		}
		met, at = append(met, names(page)...), page[len(page)-1].Position()
		update(t, s, func(tx store.Tx) error { return tx.DoneDeliveries(page[:len(page)/2]) })
	}
	var want []string
	for urgency := range 3 {
		for i := urgency; i < 1000; i += 3 {
			want = append(want, all[i].ID)
		}
	}
	same(t, "the line", met, want)
	same(t, "what still waits", waits(t, s, "wh"), 500)
}

// many puts n deliveries.
func many(t *testing.T, s store.Store, n int, to wallet.WebhookID, about wallet.UserID) {
	t.Helper()
	var all []store.Delivery
	for i := range n {
		all = append(all, delivery(fmt.Sprintf("dlv_%s_%s_%d", to, about, i), to, about))
	}
	same(t, "put", len(put(t, s, all...)), n)
}

// testGoneWebhook: what waited for a webhook is never met again, and a long line goes in pieces.
func testGoneWebhook(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutWebhook(webhook("wh_1", "key", "")), tx.PutWebhook(webhook("wh_2", "key", "")), tx.PutWebhook(webhook("wh_3", "key", "")))
	})
	many(t, s, 5000, "wh_1", "usr_a")
	many(t, s, 10, "wh_2", "usr_a")
	many(t, s, 10, "wh_3", "usr_a")
	listed := lineOf(t, s, "wh_1", store.Position{}, 5000)
	update(t, s, func(tx store.Tx) error { return errors.Join(tx.DeleteWebhook("wh_1"), tx.DeleteWebhook("wh_2")) })
	check := func(when string) {
		t.Helper()
		same(t, "listed "+when, lineOf(t, s, "wh_1", store.Position{}, 10), []store.Delivery(nil))
		same(t, "waiting "+when, waits(t, s, "wh_1"), 0)
		same(t, "waited for "+when, busy(t, s), []wallet.WebhookID{"wh_3"})
		for _, d := range []store.Delivery{listed[0], listed[4999]} {
			absent(t, s, "a delivery "+when, func(tx store.Tx) error { _, err := tx.Delivery(d.ID); return err })
		}
	}
	check("when it is gone")
	// The node that had it in hand goes on undisturbed.
	update(t, s, func(tx store.Tx) error { return tx.Reschedule(listed[4000:4010]) })
	update(t, s, func(tx store.Tx) error { return tx.DoneDeliveries(listed[4998:]) })
	check("when late words came")
	total := 0
	for _, n := range sweepAll(t, s, 500) {
		if total += n; n > 500 {
			t.Errorf("%d rows were swept at once", n)
		}
	}
	if total > 4998 || total < 3000 {
		t.Errorf("%d of 5,000 rows were left to be swept", total)
	}
	check("when it is swept")
	same(t, "another's", waits(t, s, "wh_3"), 10)
}

// testErasedDeliveries: what is about an erased person is never met again, holds up nothing that is
// behind it, and does not stay.
func testErasedDeliveries(t *testing.T, open Open) {
	s := fresh(t, open)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(user("usr_a", 1)), tx.PutUser(user("usr_b", 2)), tx.PutWebhook(webhook("wh_1", "key", "")),
			tx.PutWebhook(webhook("wh_2", "key_b", "usr_a")), tx.PutWebhook(webhook("wh_3", "key", "")))
	})
	many(t, s, 3000, "wh_1", "usr_a")
	many(t, s, 10, "wh_3", "usr_a")
	many(t, s, 5, "wh_1", "usr_b")
	many(t, s, 1200, "wh_2", "usr_b")
	hers, his := event("hers"), event("his")
	his.User = "usr_b"
	update(t, s, func(tx store.Tx) error { return tx.Emit(hers, his) })
	inHand := lineOf(t, s, "wh_1", store.Position{}, 2500)
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })

	his5 := []string{"dlv_wh_1_usr_b_0", "dlv_wh_1_usr_b_1", "dlv_wh_1_usr_b_2", "dlv_wh_1_usr_b_3", "dlv_wh_1_usr_b_4"}
	check := func(when string) {
		t.Helper()
		same(t, "listed "+when, names(lineOf(t, s, "wh_1", store.Position{}, 10)), his5)
		same(t, "of her webhook "+when, lineOf(t, s, "wh_2", store.Position{}, 10), []store.Delivery(nil))
		absent(t, s, "a delivery "+when, func(tx store.Tx) error { _, err := tx.Delivery("dlv_wh_1_usr_a_2999"); return err })
		absent(t, s, "her webhook "+when, func(tx store.Tx) error { _, err := tx.Webhook("wh_2"); return err })
	}
	check("when she is gone")
	announced := get(t, s, func(tx store.Tx) ([]store.OutboxEvent, error) { return tx.OutboxEvents(10) })
	if len(announced) != 1 || announced[0].Event.ID != "his" {
		t.Errorf("announced: %+v", announced)
	}
	update(t, s, func(tx store.Tx) error { return tx.Reschedule(inHand[2000:2010]) })
	update(t, s, func(tx store.Tx) error { return tx.DoneDeliveries(inHand[2000:2500]) })
	same(t, "what comes late", len(put(t, s, delivery("late", "wh_1", "usr_a"))), 0)
	check("when late words came")
	sweepAll(t, s, 300)
	check("when it is swept")
	same(t, "what waits", []int{waits(t, s, "wh_1"), waits(t, s, "wh_2"), waits(t, s, "wh_3")}, []int{5, 0, 0})
	same(t, "who is waited for", busy(t, s), []wallet.WebhookID{"wh_1"})
	same(t, "all is swept", sweepAll(t, s, 300), []int(nil))
}

// testLate: nothing of an erased person is kept that comes late, least of all under another key.
func testLate(t *testing.T, open Open) {
	s := fresh(t, open)
	row := transaction(1, "usr_a", 1)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(user("usr_a", 1)), tx.CreateTransaction(row), tx.PutWebhook(webhook("wh", "key", "")))
	})
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	row.Version = 1
	another := transaction(2, "usr_a", 1)
	for what, late := range map[string]func(store.Tx) error{
		"a transaction": func(tx store.Tx) error { return tx.PutTransaction(row) },
		"another":       func(tx store.Tx) error { return tx.CreateTransaction(another) },
		"a contact":     func(tx store.Tx) error { return tx.PutContact(wallet.Contact{Owner: "usr_a", Name: "rent"}) },
		"a bind":        func(tx store.Tx) error { return tx.PutBind(wallet.Bind{TokenHash: [32]byte{1}, User: "usr_a"}) },
		"a wallet": func(tx store.Tx) error {
			return tx.PutWallet(wallet.Wallet{Address: wallet.Address{1}, Owner: "usr_a"})
		},
		"a key": func(tx store.Tx) error { return tx.CreateKey(wallet.Key{ID: "key", Owner: "usr_a"}, "secret") },
		"a portal token": func(tx store.Tx) error {
			return tx.PutPortalToken(store.PortalToken{Kind: store.PortalLink, Owner: "usr_a", Lineage: "key"}, "secret", 1)
		},
		"an app":      func(tx store.Tx) error { return tx.PutApp(wallet.App{ID: "app", Owner: "usr_a"}) },
		"a grant":     func(tx store.Tx) error { return tx.PutGrant(wallet.Grant{User: "usr_a", App: "app"}) },
		"a developer": func(tx store.Tx) error { return tx.PutDeveloper(wallet.Developer{User: "usr_a"}) },
		"a webhook":   func(tx store.Tx) error { return tx.PutWebhook(webhook("wh_2", "key", "usr_a")) },
	} {
		update(t, s, func(tx store.Tx) error { // and it has written nothing: the closure may go on
			if err := late(tx); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
			return nil
		})
	}
	update(t, s, func(tx store.Tx) error { return tx.Emit(event("evt_late")) })
	same(t, "late deliveries", len(put(t, s, delivery("dlv_late", "wh", "usr_a"))), 0)
	view(t, s, func(tx store.Tx) error {
		events, err := tx.PendingEvents(10)
		same(t, "late events", len(events), 0)
		announced, err2 := tx.OutboxEvents(10)
		same(t, "late outboxEvents", len(announced), 0)
		owned, err3 := tx.WebhooksOfOwner("usr_a")
		same(t, "late webhooks", len(owned), 0)
		return errors.Join(err, err2, err3)
	})
}
