package chat_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// dusty is a chain on which strangers send SOL. Each payment is final at once.
type dusty struct {
	slot    uint64
	held    map[wallet.Address]uint64
	history map[wallet.Address][]wallet.SignatureEntry // oldest first
	units   map[wallet.Signature]uint64
	changes map[wallet.Signature]wallet.BalanceChange
}

func (d *dusty) pay(to wallet.Address, lamports uint64) {
	d.slot++
	var sig wallet.Signature
	binary.BigEndian.PutUint64(sig[:], d.slot)
	d.changes[sig] = wallet.BalanceChange{Account: to, Pre: d.held[to], Post: d.held[to] + lamports}
	d.held[to] += lamports
	d.history[to] = append(d.history[to], wallet.SignatureEntry{Signature: sig, Slot: d.slot, Finalized: true})
	d.units[sig] = lamports
}

func (d *dusty) Sweep(_ context.Context, as []wallet.Address, _ uint64) (out []wallet.AccountBalance, _ error) {
	for _, at := range as {
		out = append(out, wallet.AccountBalance{Address: at, Slot: d.slot, Exists: true, Lamports: d.held[at]})
	}
	return out, nil
}

func (d *dusty) Walk(_ context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	var found []wallet.SignatureEntry
	for _, e := range d.history[q.Address] {
		if e.Slot >= q.From.Slot && !slices.Contains(q.From.Seen, e.Signature) {
			found = append(found, e)
		}
	}
	return wallet.HistoryWalk{Entries: found, Next: q.From.Past(found)}, nil
}

func (d *dusty) History(_ context.Context, at wallet.Address, _ wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error) {
	all := slices.Clone(d.history[at])
	slices.Reverse(all)
	return all[:min(limit, len(all))], len(all) > limit, nil
}

func (d *dusty) Activities(_ context.Context, sig wallet.Signature, _ ...wallet.Address) ([]wallet.Activity, error) {
	return []wallet.Activity{{Signature: sig, Slot: binary.BigEndian.Uint64(sig[:]), Kind: wallet.ActivityReceived,
		Net: []wallet.NetChange{{Token: wallet.SOL, Units: d.units[sig], Explained: true}}, Changes: []wallet.BalanceChange{d.changes[sig]}}}, nil
}

func (d *dusty) TokenAccounts(context.Context, wallet.Address) ([]wallet.TokenAccount, error) {
	return nil, nil
}

// watched lets the watcher look as often as it does in a minute, and delivers what people are told.
func (r *harness) watched(pass func(context.Context) error) {
	r.Helper()
	r.Must(pass(r.Context()))
	for range 3 { // 300 transactions at most
		due := r.Due(r.Watcher, 10)
		for _, job := range due {
			result, err := r.Watcher.Handle(r.Context(), job)
			r.Must(err)
			r.Must(r.Update(func(tx store.Tx) error {
				if err := result.Commit(tx); err != nil {
					return err
				}
				if result.Again.IsZero() {
					return tx.DoneJobs(job.Ref())
				}
				return tx.SnoozeJobs(r.Now(), job.Ref())
			}))
		}
	}
	r.settle()
}

// TestAFloodOfDustIsAtMostOneMessageAnHour: strangers send Alice 10,080 payments of nearly nothing within two hours. Bob's and
// her own real ones are told in the minute in which they come, and the rest is two messages with how many they were.
func TestAFloodOfDustIsAtMostOneMessageAnHour(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 10,000 transactions")
	}
	const aMinute, minutes = 84, 120
	r := newHarness(t)
	r.rich("alice", sol)
	r.rich("bob", sol)
	chain := &dusty{held: map[wallet.Address]uint64{}, history: map[wallet.Address][]wallet.SignatureEntry{}, units: map[wallet.Signature]uint64{},
		changes: map[wallet.Signature]wallet.BalanceChange{}}
	r.Watcher.Chain, r.Watcher.Arriving, r.Watcher.Expected = chain, nil, nil
	pass := r.Watcher.Passes()
	r.watched(pass)
	r.seen = nil
	alice, bob := r.people["alice"].Address(), r.people["bob"].Address()
	folded := regexp.MustCompile(`(\d+) small payments or unknown tokens came in`)
	var sum, times []int
	for minute := range minutes + 61 {
		for range aMinute {
			if minute < minutes {
				chain.pay(alice, 1)
			}
		}
		real := 0 // payments that are told
		if minute%30 == 7 {
			chain.pay(alice, sol)
			chain.pay(bob, 2*sol)
			real = 2
		}
		r.Pass(time.Minute)
		before := len(r.delivered)
		r.watched(pass)
		for _, reply := range r.delivered[before:] {
			if count := folded.FindStringSubmatch(reply.Text); count != nil {
				n, err := strconv.Atoi(count[1])
				r.Must(err)
				sum, times = append(sum, n), append(times, minute)
				continue
			}
			real--
			if !regexp.MustCompile("You received [12] SOL").MatchString(reply.Text) {
				t.Errorf("told %q", reply.Text)
			}
		}
		if real != 0 {
			t.Fatalf("in minute %d: %q", minute, r.seen)
		}
		r.seen = nil
		if minute%10 != 0 {
			continue
		}
		before = len(r.delivered) // whoever is flooded is answered within the same second
		r.says("alice", "/help")
		if len(r.delivered) != before+1 || !strings.Contains(r.delivered[before].Text, "/send") {
			t.Fatalf("in minute %d the answer to /help is %+v", minute, r.delivered[before:])
		}
		r.seen = nil
	}
	total := 0
	for i, n := range sum {
		if total += n; i > 0 && times[i]-times[i-1] < 60 {
			t.Errorf("messages in the minutes %d", times)
		}
	}
	if len(sum) != 2 || total != aMinute*minutes {
		t.Errorf("%d messages about %d payments", len(sum), total)
	}
	r.View(func(tx store.Tx) error {
		rows, err := tx.TransactionsAt(alice, store.Page{Limit: 100})
		if len(rows) != 6 {
			t.Errorf("%d rows are stored: %v", len(rows), fmt.Sprint(rows))
		}
		return err
	})
}

// TestTheSummaryOfWhatIsFolded: what it says, and who does not get it.
func TestTheSummaryOfWhatIsFolded(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	told := func(count uint64) []string {
		t.Helper()
		r.Must(r.Update(func(tx store.Tx) error {
			e, err := wallet.NewEvent(fmt.Sprint("evt_folded_", count), wallet.PaymentsFolded, r.Now(), r.userOf("alice"), wallet.PaymentsFoldedData{Count: count})
			r.Must(err)
			return store.NotifyOwner(tx, e)
		}))
		r.seen = nil
		r.settle()
		return r.seen
	}
	one, many := told(1), told(12)
	if len(one) != 1 || len(many) != 1 {
		t.Fatalf("%q, %q", one, many)
	}
	t.Log(one[0], many[0])
	r.Must(r.Update(func(tx store.Tx) error {
		alice, err := tx.User(r.userOf("alice"))
		r.Must(err)
		alice.Notifications = &wallet.Notifications{Enabled: true, Events: []string{"stake.*"}}
		return tx.PutUser(alice)
	}))
	if none := told(13); len(none) != 0 {
		t.Errorf("told %q", none)
	}
}

// arriving tells a person of a payment that is not final.
func (r *harness) arriving(name string, t wallet.Transaction, outcome string) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		return r.notifies(tx, name, wallet.PaymentArriving, t.ID, wallet.PaymentArrivingData{
			TransactionID: t.ID, Signature: t.Signature, WalletAddress: t.To, Sender: t.From, Token: t.Token, Units: t.Amount, Outcome: outcome})
	}))
}

// TestAnArrivingPaymentIsOneMessage: "arriving" and "received", or how it ended, are the same message, also when other
// receipts wait or when nothing was sent in between.
func TestAnArrivingPaymentIsOneMessage(t *testing.T) {
	r := newHarness(t)
	r.rich("alice", sol)
	payment := func(number byte) wallet.Transaction {
		return wallet.Transaction{ID: wallet.TransactionID(fmt.Sprintf("tx_arr%03d", number)), Kind: wallet.Receive, Status: wallet.Received, Closed: true,
			Owner: r.userOf("alice"), From: r.Stranger(), To: r.people["alice"].Address(), Token: wallet.SOL, Amount: uint64(number) * sol,
			Signature: wallet.Signature{number}, CreatedAt: r.Now()}
	}
	final := func(t wallet.Transaction) {
		r.Must(r.Update(func(tx store.Tx) error {
			return errors.Join(tx.CreateTransaction(t), r.notifies(tx, "alice", wallet.TransactionReceived, t.ID, struct{}{}))
		}))
	}
	messages := func(want ...string) {
		t.Helper()
		r.settle()
		var got []string
		for _, m := range r.messages[r.people["alice"].TelegramID] {
			if first, _, _ := strings.Cut(m.reply.Text, "</b>"); strings.ContainsAny(first, "⏳💰❌❔") {
				got = append(got, first)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the chat shows\n%q, want\n%q", got, want)
		}
	}
	one, two, three, four := payment(1), payment(2), payment(3), payment(4)
	r.arriving("alice", one, wallet.StillArriving)
	messages("⏳ <b>Arriving: 1 SOL")
	r.arriving("alice", one, wallet.StillArriving)
	messages("⏳ <b>Arriving: 1 SOL")
	final(one)
	messages("💰 <b>You received 1 SOL")
	for _, late := range []string{wallet.StillArriving, wallet.DidNotArrive, wallet.UnknownArrival} { // what is final stays
		r.arriving("alice", one, late)
		messages("💰 <b>You received 1 SOL")
	}
	// One that is dropped, comes again, and is final.
	r.arriving("alice", two, wallet.StillArriving)
	r.arriving("alice", two, wallet.DidNotArrive)
	messages("💰 <b>You received 1 SOL", "❌ <b>Did not arrive: 2 SOL")
	r.arriving("alice", two, wallet.UnknownArrival)
	messages("💰 <b>You received 1 SOL", "❔ <b>Not confirmed: 2 SOL")
	final(two)
	messages("💰 <b>You received 1 SOL", "💰 <b>You received 2 SOL")
	// One that nobody saw arrive does not end.
	r.arriving("alice", three, wallet.DidNotArrive)
	messages("💰 <b>You received 1 SOL", "💰 <b>You received 2 SOL")
	// Receipts that wait do not take it in.
	r.received("alice", 6, wallet.SOL, 6*sol, false)
	r.arriving("alice", four, wallet.StillArriving)
	final(four)
	r.received("alice", 7, wallet.SOL, 7*sol, false)
	messages("💰 <b>You received 1 SOL", "💰 <b>You received 2 SOL", "💰 <b>You received 4 SOL", "💰 <b>You received 2 payments")
	// Who wants no messages about payments gets none.
	r.Must(r.Update(func(tx store.Tx) error {
		alice, err := tx.User(r.userOf("alice"))
		r.Must(err)
		alice.Notifications = &wallet.Notifications{Enabled: true, Events: []string{"stake.*"}}
		return tx.PutUser(alice)
	}))
	r.arriving("alice", three, wallet.StillArriving)
	r.arriving("alice", three, wallet.DidNotArrive)
	messages("💰 <b>You received 1 SOL", "💰 <b>You received 2 SOL", "💰 <b>You received 4 SOL", "💰 <b>You received 2 payments")
}
