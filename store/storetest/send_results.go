package storetest

import (
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// testSendResults: what became of replies that somebody waits for.
func testSendResults(t *testing.T, open Open) {
	s := fresh(t, open)
	const alice, group = 1001, -7
	sent := store.SendResult{MessageID: 5, ExpiresAt: noon()}
	refused := store.SendResult{Refusal: "can't parse entities", ExpiresAt: noon().Add(time.Hour)}
	outcome := func(chat int64, card string) func(store.Tx) (store.SendResult, error) {
		return func(tx store.Tx) (store.SendResult, error) { return tx.SendResult(chat, card) }
	}
	gone := func(what string, chat int64, card string) {
		t.Helper()
		absent(t, s, what, func(tx store.Tx) error { _, err := tx.SendResult(chat, card); return err })
	}
	update(t, s, func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a", TelegramID: alice}) })
	gone("before it is known", alice, "app:1")
	update(t, s, func(tx store.Tx) error { return tx.DropSendResult(alice, "app:1") })
	update(t, s, func(tx store.Tx) error { return tx.PutSendResult(alice, "app:1", sent) })
	update(t, s, func(tx store.Tx) error { return tx.PutSendResult(group, "app:1", refused) })
	same(t, "sent", get(t, s, outcome(alice, "app:1")), sent)
	same(t, "refused, in another chat", get(t, s, outcome(group, "app:1")), refused)
	gone("of another card", alice, "app:2")
	absent(t, s, "a send result as a card", func(tx store.Tx) error { _, err := tx.Card(alice, "app:1"); return err })
	sent.Blocked, sent.ExpiresAt = true, noon().Add(time.Minute)
	update(t, s, func(tx store.Tx) error { return tx.PutSendResult(alice, "app:1", sent) })
	same(t, "put again", get(t, s, outcome(alice, "app:1")), sent)
	if n := changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(noon(), 10) }); n != 0 {
		t.Errorf("%d rows are over too early", n)
	}
	if n := changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(noon().Add(time.Minute), 10) }); n != 1 {
		t.Errorf("%d rows are over", n)
	}
	gone("what was swept", alice, "app:1")
	update(t, s, func(tx store.Tx) error { return tx.DropSendResult(group, "app:1") })
	gone("what was read", group, "app:1")
	if n := changing(t, s, func(tx store.Tx) (int, error) { return tx.Sweep(noon().Add(100*time.Hour), 10) }); n != 0 {
		t.Errorf("%d rows are left of it", n)
	}

	// SendResultOf: open while the reply waits and while it is on its way.
	type state struct {
		o    store.SendResult
		open bool
	}
	of := func() state {
		return get(t, s, func(tx store.Tx) (state, error) {
			o, open, err := store.SendResultOf(tx, alice, "app:3")
			return state{o, open}, err
		})
	}
	same(t, "what was never put", of(), state{})
	update(t, s, func(tx store.Tx) error {
		return store.Enqueue(tx, store.Reply{Chat: alice, Card: "app:3", SendResultUntil: noon().Add(time.Hour), Body: []byte("x"), At: noon()})
	})
	same(t, "waiting", of(), state{open: true})
	jobs := claims(t, s, store.Claim{Queue: store.Outbox, Node: "b", Now: noon(), Max: 1, Lease: time.Minute})
	same(t, "on its way", of(), state{open: true})
	reply, err := store.ReplyOf(jobs[0])
	if err != nil || !reply.SendResultUntil.Equal(noon().Add(time.Hour)) {
		t.Errorf("the reply is %+v, %v", reply, err)
	}
	sent.ExpiresAt = reply.SendResultUntil
	update(t, s, func(tx store.Tx) error {
		if err := tx.PutSendResult(alice, "app:3", sent); err != nil {
			return err
		}
		return tx.DoneJobs(jobs[0].Ref())
	})
	same(t, "ended", of(), state{o: sent})
	update(t, s, func(tx store.Tx) error { return tx.DropSendResult(alice, "app:3") })
	same(t, "read", of(), state{})
}

// claims takes jobs, at least one.
func claims(t *testing.T, s store.Store, c store.Claim) []store.Job {
	t.Helper()
	jobs := changing(t, s, func(tx store.Tx) ([]store.Job, error) {
		jobs, _, err := tx.ClaimJobs(c)
		return jobs, err
	})
	if len(jobs) == 0 {
		t.Fatal("there is nothing to claim")
	}
	return jobs
}
