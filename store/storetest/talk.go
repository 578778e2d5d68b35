package storetest

import (
	"errors"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

func testConversations(t *testing.T, open Open) {
	s := fresh(t, open)
	read := func(chat, user int64) store.Conversation {
		return get(t, s, func(tx store.Tx) (store.Conversation, error) { return tx.Conversation(chat, user, "") })
	}
	same(t, "none", read(5, 6), store.Conversation{Chat: 5, User: 6})

	c := store.Conversation{Chat: 5, User: 6, Flow: "send", State: "review", Data: []byte(`{"tx":"1"}`), ExpiresAt: noon()}
	update(t, s, func(tx store.Tx) error { return tx.PutConversation(c) })
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutConversation(c) })
	c.Version = 1
	same(t, "begun", read(5, 6), c)
	same(t, "the other way round", read(6, 5), store.Conversation{Chat: 6, User: 5})
	future := c
	future.Version = 2
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutConversation(future) })

	group := store.Conversation{Chat: -100, User: 6, Flow: "send", State: "amount", ExpiresAt: noon().Add(-time.Second)}
	update(t, s, func(tx store.Tx) error { return tx.PutConversation(group) })
	group.Version = 1

	c.State, c.ExpiresAt = "signing", noon().Add(time.Minute)
	update(t, s, func(tx store.Tx) error { return tx.PutConversation(c) })
	c.Version = 2
	same(t, "its time moved", read(5, 6), c)
	same(t, "the group's", read(-100, 6), group)

	c.State = ""
	update(t, s, func(tx store.Tx) error { return tx.PutConversation(c) })
	same(t, "ended", read(5, 6), store.Conversation{Chat: 5, User: 6, Version: 3})
	refuses(t, s, store.ErrConflict, func(tx store.Tx) error { return tx.PutConversation(c) })
	again := store.Conversation{Chat: 5, User: 6, Flow: "wallet", State: "choose", Version: 3}
	update(t, s, func(tx store.Tx) error { return tx.PutConversation(again) })
	again.Version = 4
	same(t, "begun again, without an end", read(5, 6), again)

	slot := func(name string) store.Conversation {
		return get(t, s, func(tx store.Tx) (store.Conversation, error) { return tx.Conversation(5, 6, name) })
	}
	same(t, "none in a slot", slot("keys"), store.Conversation{Chat: 5, User: 6, Slot: "keys"})
	keys := store.Conversation{Chat: 5, User: 6, Slot: "keys", Flow: "api", State: "shown", Data: []byte(`{}`), ExpiresAt: noon()}
	update(t, s, func(tx store.Tx) error { return tx.PutConversation(keys) })
	keys.Version = 1
	same(t, "in a slot", slot("keys"), keys)
	same(t, "beside the main one", read(5, 6), again)
	keys.State = ""
	update(t, s, func(tx store.Tx) error { return tx.PutConversation(keys) })
	same(t, "ended in a slot", slot("keys"), store.Conversation{Chat: 5, User: 6, Slot: "keys", Version: 2})
	same(t, "the main one goes on", read(5, 6), again)
}

func testButtons(t *testing.T, open Open) {
	s := fresh(t, open)
	button := func(nonce string, chat, user int64, subject string) store.Button {
		return store.Button{Nonce: nonce, Chat: chat, User: user, Action: "confirm", Subject: subject, ExpiresAt: noon().Add(time.Hour)}
	}
	read := func(nonce string) store.Button {
		return get(t, s, func(tx store.Tx) (store.Button, error) { return tx.Button(nonce) })
	}
	yes, no := button("a1", 5, 6, "tx_1"), button("a2", 5, 6, "tx_1")
	others := []store.Button{button("b1", 5, 6, "tx_2"), button("b2", 5, 7, "tx_1"), button("b3", 8, 6, "tx_1")}
	absent(t, s, "an unknown nonce", func(tx store.Tx) error { _, err := tx.Button("a1"); return err })
	absent(t, s, "no nonce", func(tx store.Tx) error { _, err := tx.Button(""); return err })
	update(t, s, func(tx store.Tx) error { return tx.PutButtons(append([]store.Button{yes, no}, others...)) })
	same(t, "put", read("a1"), yes)

	update(t, s, func(tx store.Tx) error { return tx.UseButtons(5, 6, "tx_1", noon()) })
	yes.UsedAt, no.UsedAt = noon(), noon()
	same(t, "used", read("a1"), yes)
	same(t, "used with it", read("a2"), no)
	for _, other := range others {
		same(t, "not used", read(other.Nonce), other)
	}
	update(t, s, func(tx store.Tx) error { return tx.UseButtons(5, 6, "tx_1", noon().Add(time.Minute)) })
	same(t, "the first use counts", read("a1"), yes)
	update(t, s, func(tx store.Tx) error { return tx.UseButtons(5, 6, "tx_unknown", noon()) })

	moved := button("a1", 5, 6, "tx_3")
	update(t, s, func(tx store.Tx) error { return tx.PutButtons([]store.Button{moved}) })
	update(t, s, func(tx store.Tx) error { return tx.UseButtons(5, 6, "tx_1", noon()) })
	same(t, "replaced", read("a1"), moved)
	if err := s.Update(t.Context(), func(tx store.Tx) error { return tx.PutButtons([]store.Button{{}}) }); err == nil {
		t.Error("a button without a nonce was taken")
	}
}

func testCards(t *testing.T, open Open) {
	s := fresh(t, open)
	absent(t, s, "no card yet", func(tx store.Tx) error { _, err := tx.Card(5, "tx_1"); return err })
	update(t, s, func(tx store.Tx) error { return tx.PutCard(5, "tx_1", 77, time.Time{}) })
	update(t, s, func(tx store.Tx) error { return tx.PutCard(-5, "tx_1", 78, time.Time{}) })
	update(t, s, func(tx store.Tx) error { return tx.PutCard(5, "tx_1", 79, time.Time{}) })
	read := func(chat int64) int {
		return get(t, s, func(tx store.Tx) (int, error) { return tx.Card(chat, "tx_1") })
	}
	same(t, "replaced", read(5), 79)
	same(t, "another chat's", read(-5), 78)
	absent(t, s, "another card", func(tx store.Tx) error { _, err := tx.Card(5, "tx_2"); return err })

	// One that is over some time goes then, with its chat, or when it is kept for longer, not before.
	soon, later := noon().Add(time.Hour), noon().Add(2*time.Hour)
	update(t, s, func(tx store.Tx) error {
		return errors.Join(tx.PutUser(user("usr_a", 7)), tx.PutCard(5, "app:1", 80, soon), tx.PutCard(7, "app:2", 81, soon),
			tx.PutCard(5, "app:3", 82, soon), tx.PutCard(5, "app:3", 83, later), tx.PutCard(5, "app:4", 84, soon), tx.PutCard(5, "app:4", 85, time.Time{}))
	})
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_a") })
	swept := func(at time.Time) (n int) {
		update(t, s, func(tx store.Tx) (err error) { n, err = tx.Sweep(at, 100); return err })
		return n
	}
	same(t, "before its time", swept(soon.Add(-time.Nanosecond)), 0)
	same(t, "a card that is over some time", get(t, s, func(tx store.Tx) (int, error) { return tx.Card(5, "app:1") }), 80)
	same(t, "in its time", swept(soon), 1)
	absent(t, s, "a card that is over", func(tx store.Tx) error { _, err := tx.Card(5, "app:1"); return err })
	same(t, "one that is kept for longer", get(t, s, func(tx store.Tx) (int, error) { return tx.Card(5, "app:3") }), 83)
	same(t, "until then", swept(later), 1)
	same(t, "one that is kept for good by now", get(t, s, func(tx store.Tx) (int, error) { return tx.Card(5, "app:4") }), 85)
	same(t, "one that always was", read(5), 79)
}

func testNoteUpdate(t *testing.T, open Open) {
	s := fresh(t, open)
	note := func(at time.Time, list ...int64) (fresh []int64) {
		t.Helper()
		update(t, s, func(tx store.Tx) error {
			fresh = []int64{}
			for _, id := range list {
				known, err := tx.NoteUpdate(at, id)
				if err != nil {
					return err
				}
				if !known {
					fresh = append(fresh, id)
				}
			}
			return nil
		})
		return fresh
	}
	same(t, "new ones", note(noon(), 30, 10, 30, 20), []int64{30, 10, 20})
	same(t, "seen ones", note(noon().Add(47*time.Hour), 10, 40), []int64{40})
	same(t, "ids may come again after SeenFor", note(noon().Add(store.SeenFor), 10), []int64{10})
	same(t, "and are seen anew", note(noon().Add(95*time.Hour), 10), []int64{})
	same(t, "negative ids are ids", note(noon(), -1), []int64{-1})
}

// testReplies: a reply is a job of the outbox, a newer state of a card takes the place of the one that waits, and of a
// chat's replies the more urgent go first.
func testReplies(t *testing.T, open Open) {
	s := fresh(t, open)
	reply := func(chat int64, card, body string) store.Reply {
		return store.Reply{Chat: chat, Card: card, Body: []byte(body), At: noon(), Priority: 1}
	}
	bodies := func() []string {
		out := []string{}
		for _, r := range Outbox(t, s) {
			out = append(out, string(r.Body))
		}
		return out
	}
	put := func(replies ...store.Reply) {
		t.Helper()
		update(t, s, func(tx store.Tx) error { return store.Enqueue(tx, replies...) })
	}
	waits := func(chat int64, card string) bool {
		return get(t, s, func(tx store.Tx) (bool, error) { return store.Waits(tx, chat, card) })
	}
	update(t, s, func(tx store.Tx) error { return tx.PutUser(user("usr_six", 6)) })
	put(reply(5, "", "a"), reply(5, "c1", "b"), reply(6, "c1", "c\nand a line"), reply(5, "c2", "d"))
	same(t, "in order", bodies(), []string{"a", "b", "c\nand a line", "d"})
	same(t, "who waits", []bool{waits(5, "c1"), waits(6, "c1"), waits(6, "c2"), waits(5, "")}, []bool{true, true, false, false})
	put(reply(5, "c1", "b2"), reply(5, "", "e"))
	same(t, "a newer state in its place", bodies(), []string{"a", "b2", "c\nand a line", "d", "e"})
	put(reply(5, "c3", "f"), reply(5, "c3", "f2"))
	same(t, "within one call", bodies(), []string{"a", "b2", "c\nand a line", "d", "e", "f2"})

	whole := store.Reply{Chat: 6, Priority: 2, Card: "whole", CardUntil: noon().Add(time.Hour), Body: []byte("g"), At: noon()}
	put(whole)
	job := Jobs(t, s, store.Outbox)[6]
	got, err := store.ReplyOf(job)
	whole.ID = job.ID
	same(t, "the whole reply", got, whole)
	same(t, "and its job", []any{err, job.About, job.Key, job.Owner}, []any{error(nil), wallet.UserID("usr_six"), "6", "6"})
	if _, err := store.ReplyOf(store.Job{Body: []byte("{}")}); err == nil {
		t.Error("a job that is no reply is one")
	}

	urgent, toast := reply(5, "", "urgent"), reply(5, "", "toast")
	urgent.Priority, toast.NotAfter = 0, noon().Add(time.Second)
	put(urgent, toast)
	order := []string{}
	update(t, s, func(tx store.Tx) error { return tx.RemoveJobs(store.Outbox, job.ID) })
	for range 3 {
		update(t, s, func(tx store.Tx) error {
			claimed, _, err := tx.ClaimJobs(store.Claim{Queue: store.Outbox, Node: "n", Now: noon(), Max: 10, Lease: time.Minute})
			for _, j := range claimed {
				r, _ := store.ReplyOf(j)
				if r.Chat == 5 {
					order = append(order, string(r.Body))
				}
				err = errors.Join(err, tx.DoneJobs(j.Ref()))
			}
			return err
		})
	}
	same(t, "the urgent first, and beside it what is soon too late", order, []string{"urgent", "toast", "a", "b2"})
	same(t, "who waits then", []bool{waits(5, "c1"), waits(5, "c2")}, []bool{false, true})
	update(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_six") })
	same(t, "hers are gone", bodies(), []string{"d", "e", "f2"})
}
