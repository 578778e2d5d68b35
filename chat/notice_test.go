package chat_test

import (
	"errors"
	"strings"
	"testing"

	"purser/chat"
	"purser/store"
	"purser/wallet"
)

// notifies has the chat tell a person of an event, in a transaction of the test's.
func (r *harness) notifies(tx store.Tx, name string, what wallet.EventName, about wallet.TransactionID, data any) error {
	r.Helper()
	person, err := tx.UserByTelegram(r.people[name].TelegramID)
	r.Must(err)
	event, err := wallet.NewEvent("evt_test_"+string(what)+"_"+string(about), what, r.Now(), person.ID, data)
	r.Must(err)
	event.Transaction = about
	return r.chat.Notify(tx, person, event)
}

// TestATypeOfEventIsAddedByOneValue: one that only a test's conversation knows goes from the store, through the queue of
// events and package notify, into the chat. Nothing else was told of it.
func TestATypeOfEventIsAddedByOneValue(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	mixed := func() string {
		r.seen = nil
		r.Must(r.Update(func(tx store.Tx) error {
			event, err := wallet.NewEvent("evt_mixed_"+r.Now().String(), "colour.mixed", r.Now(), r.userIn(tx, "alice"), map[string]string{"colour": "<teal>"})
			return errors.Join(err, tx.Emit(event))
		}))
		r.Pass(1)
		r.settle()
		return strings.Join(r.seen, "")
	}
	if said := mixed(); said != "" {
		t.Errorf("without the value: %q", said)
	}
	var err error
	r.chat, err = chat.NewWithProbe(r.options())
	r.Must(err)
	if said := mixed(); !strings.Contains(said, "alice < Somebody mixed &lt;teal&gt;.") {
		t.Errorf("with it: %q", said)
	}
}

// TestWhatNobodyIsToldOf: an event of a later version, one of a transaction that is gone or another person's, one that
// they have turned off, and what they did themselves a moment ago.
func TestWhatNobodyIsToldOf(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", 5*sol)
	r.rich("bob", sol)
	r.happen("alice: /send 1 SOL $bob")
	hers := r.newest("alice").ID
	r.settle()
	r.seen = nil
	quiet := func(what, name string, event wallet.EventName, about wallet.TransactionID, data any) {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error { return r.notifies(tx, name, event, about, data) }))
		if said := r.said(name); len(said) > 0 {
			t.Errorf("%s: %q", what, said)
		}
	}
	quiet("a later version's", "alice", "a.later.version", hers, struct{}{})
	quiet("a transaction that is gone", "alice", wallet.TransactionConfirmed, "tx_gone", struct{}{})
	quiet("another person's transaction", "bob", wallet.TransactionConfirmed, hers, struct{}{})
	quiet("her own word", "alice", wallet.WalletDisconnected, "", wallet.WalletDisconnectedData{Reason: wallet.UserInitiated})
	quiet("it was final before", "alice", wallet.TransactionFinalized, hers, struct{}{})

	r.Must(r.Update(func(tx store.Tx) error {
		person, err := tx.User(r.userIn(tx, "alice"))
		person.Notifications = &wallet.Notifications{Enabled: true, Events: []string{"price.*"}}
		return errors.Join(err, tx.PutUser(person))
	}))
	quiet("turned off", "alice", wallet.TransactionReceived, hers, struct{}{})
	r.Must(r.Update(func(tx store.Tx) error { return r.notifies(tx, "alice", wallet.TransactionConfirmed, hers, struct{}{}) }))
	if said := r.said("alice"); len(said) != 1 {
		t.Errorf("a card is no notification that can be turned off: %q", said)
	}
}

// userIn is a person's id, read in a transaction.
func (r *harness) userIn(tx store.Tx, name string) wallet.UserID {
	r.Helper()
	person, err := tx.UserByTelegram(r.people[name].TelegramID)
	r.Must(err)
	return person.ID
}

// TestDataThatCannotBeReadIsAnError, so that the event becomes a dead letter and not a message without a name in it.
func TestDataThatCannotBeReadIsAnError(t *testing.T) {
	r := newHarness(t)
	r.says("alice", "/start")
	err := r.Update(func(tx store.Tx) error { return r.notifies(tx, "alice", wallet.KeyTierSet, "", "no object") })
	if err == nil || !strings.Contains(err.Error(), string(wallet.KeyTierSet)) {
		t.Errorf("%v", err)
	}
}
