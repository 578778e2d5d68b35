package chat_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// received tells a person of a payment that came in.
func (r *harness) received(name string, number int, token wallet.Token, units uint64, asked bool) {
	r.Helper()
	t := wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_in%03d", number)), Kind: wallet.Receive, Status: wallet.Received, Closed: true,
		Owner: r.userOf(name), From: r.Stranger(), To: r.people[name].Address(), Token: token, Amount: units,
		Signature: wallet.Signature{byte(number + 1), byte(number >> 8)}, CreatedAt: r.Now()}
	if asked {
		t.PaymentRequestRef = r.Stranger()
	}
	r.Must(r.Update(func(tx store.Tx) error {
		return errors.Join(tx.CreateTransaction(t), r.notifies(tx, name, wallet.TransactionReceived, t.ID, struct{}{}))
	}))
}

// said are the texts that wait for a person, in order.
func (r *harness) said(name string) (texts []string) {
	r.Helper()
	for _, row := range r.outbox() {
		var reply chat.Reply
		if row.Chat == r.people[name].TelegramID {
			r.Must(json.Unmarshal(row.Body, &reply))
			texts = append(texts, reply.Text)
		}
	}
	return texts
}

// TestReceiptsThatWaitAreOneMessage: with how many they are, what came in of each token, and a way to all of them. One
// that a worker has in its hands is told by itself, and other people's are nobody else's.
func TestReceiptsThatWaitAreOneMessage(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.rich("bob", sol)
	usdc := wallet.Token{Symbol: "USDC", Mint: r.Stranger(), Decimals: 6}
	r.settle()
	r.received("alice", 0, wallet.SOL, sol, false)
	if said := r.said("alice"); len(said) != 1 || !strings.Contains(said[0], "You received 1 SOL") {
		t.Fatalf("one payment: %q", said)
	}
	r.received("bob", 100, wallet.SOL, sol, false)
	r.received("alice", 1, usdc, 2_500_000, false)
	r.received("alice", 2, wallet.SOL, sol/2, true)
	r.received("alice", 3, wallet.Token{Mint: r.Stranger()}, 1_000_000, false)
	r.received("alice", 4, wallet.Token{Mint: r.Stranger()}, 7, false)
	r.received("alice", 5, usdc, 1, false)
	said := r.said("alice")
	want := "💰 <b>You received 6 payments</b>, 1 of them for your payment requests\n\n1.5 SOL\n2.500001 USDC\n2 payments of unlisted tokens"
	if len(said) != 1 || strings.Replace(said[0], " on a local network (test money)", "", 1) != want {
		t.Errorf("alice is told %q", said)
	}
	if said := r.said("bob"); len(said) != 1 || !strings.Contains(said[0], "You received 1 SOL") {
		t.Errorf("bob is told %q", said)
	}
	// The button leads to all of them.
	r.settle()
	r.seen = nil
	r.presses("alice", "History", "alice")
	if all := strings.Join(r.seen, ""); strings.Count(all, "Received") != 6 {
		t.Errorf("the history: %s", all)
	}
	// What is on its way is not folded; what comes after it is.
	r.received("alice", 6, wallet.SOL, sol, false)
	var held []store.Job
	r.Must(r.Update(func(tx store.Tx) (err error) {
		held, _, err = tx.ClaimJobs(store.Claim{Queue: store.Outbox, Node: "n", Now: r.Now(), Max: 1, Lease: time.Hour})
		return err
	}))
	r.received("alice", 7, wallet.SOL, sol, false)
	r.received("alice", 8, wallet.SOL, sol, false)
	if said := r.said("alice"); len(said) != 2 || !strings.Contains(said[0], "You received 1 SOL") || !strings.Contains(said[1], "You received 2 payments") {
		t.Errorf("beside one that is on its way: %q", said)
	}
	r.Must(r.Update(func(tx store.Tx) error { return tx.DoneJobs(held[0].Ref()) }))
}

// TestTotalsOfReceiptsAreExact, however large.
func TestTotalsOfReceiptsAreExact(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.settle()
	huge := wallet.Token{Symbol: "HUGE", Mint: r.Stranger()}
	for n := range 3 {
		r.received("alice", n, huge, math.MaxUint64-1, false)
	}
	r.received("alice", 3, huge, 1, false)
	said := r.said("alice")
	if len(said) != 1 || strings.Count(said[0], "18446744073709551614 HUGE") != 2 || strings.Count(said[0], "18446744073709551615 HUGE") != 1 {
		t.Errorf("%q", said)
	}
}

// TestMessagesOfAppsAreRefusedWhereTooManyWait, and what the person does is answered all the same.
func TestMessagesOfAppsAreRefusedWhereTooManyWait(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	r.settle()
	by := func(n int) handlers.Caller {
		key := fmt.Sprint("key_", n)
		return handlers.Caller{KeyID: key, KeyLineage: key, Bot: true}
	}
	post := func(name string, by handlers.Caller) error {
		t.Helper()
		posting, err := r.chat.Post(r.Context(), chat.AppMessage{ID: r.NewID("msg"), By: by, Chat: r.people[name].TelegramID, Text: "news"})
		r.Must(err)
		return r.Update(func(tx store.Tx) error { return posting.Commit(tx, time.Time{}) })
	}
	command := func(by handlers.Caller) error {
		t.Helper()
		run, err := r.chat.Execute(r.Context(), chat.AppCommand{By: by, Person: r.people["alice"].User, Text: "/wallet address"})
		r.Must(err)
		return r.Update(func(tx store.Tx) error { _, err := run(tx); return err })
	}
	full := func(what string, err error) {
		t.Helper()
		if wallet.CodeOf(err) != wallet.RateLimitExceeded {
			t.Errorf("%s: %v", what, err)
		}
	}
	r.rich("bob", sol)
	r.settle()
	for range 24 {
		r.Must(post("alice", by(1)))
	}
	r.Must(command(by(1)))
	full("beyond the share of one", post("alice", by(1)))
	full("its command", command(by(1)))
	r.Must(command(by(2))) // another one has its own share
	for range 24 {
		r.Must(post("alice", by(2)))
	}
	for n := range 50 {
		r.Must(post("alice", by(3+n/25)))
	}
	full("the hundred and first", post("alice", by(5)))
	full("a command of an app's", command(by(5)))
	r.Must(post("bob", by(1)))
	if n := len(r.said("alice")); n != 100 {
		t.Errorf("%d messages wait", n)
	}
	in := r.input("alice")
	in.Text = "/help"
	turn, err := r.chat.Handle(r.Context(), in)
	r.Must(err)
	r.Must(r.Update(turn.Commit))
	if n := len(r.said("alice")); n != 101 {
		t.Errorf("%d messages wait after /help", n)
	}
}
