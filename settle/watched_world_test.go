package settle_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/chain"
	"purser/store"
	"purser/wallet"
)

// TestAWorldOfWalletsLosesNoPayment has wallets paid in every way that there is while nodes fail, lag, forget, lie and
// contradict themselves, blocks are abandoned, commits end in the unknown, and the process dies and starts again over its
// file. In the end each payment that landed was announced once, what is known of every wallet is what the chain says, and
// nobody is said to have been paid what they were not.
func TestAWorldOfWalletsLosesNoPayment(t *testing.T) {
	wallets, rounds, payments := 1000, 60, 60
	seeds := []uint64{14}
	if testing.Short() {
		wallets, rounds, payments = 50, 25, 12
		seeds = []uint64{2, 3}
	}
	if text := os.Getenv("WATCHER_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("WATCHER_SEED=%d", seed), func(t *testing.T) {
			w := newWatchedWorld(t, seed, wallets)
			for round := range rounds {
				w.play(round+1, payments)
			}
			w.rest()
			w.judge()
		})
	}
}

// watchedWorld is many wallets that are watched through nodes that cannot be trusted.
type watchedWorld struct {
	payments
	client *chain.Client
	pass   func(context.Context) error
	dead   atomic.Bool // a commit ended in the unknown: the process ends
	lives  int
}

func newWatchedWorld(t *testing.T, seed uint64, wallets int) *watchedWorld {
	r := &watching{newHarness(t), &strings.Builder{}}
	w := &watchedWorld{payments: payments{watching: r, dice: rand.New(rand.NewPCG(seed, 14)), kinds: map[string]int{},
		sent: map[wallet.Signature]sentPayment{}}}
	w.keys = map[wallet.Address]ed25519.PrivateKey{r.alice.Address(): r.alice.Key, r.bob.Address(): r.bob.Key}
	w.all = []wallet.Address{r.alice.Address(), r.bob.Address()}
	w.funded = slices.Clone(w.all)
	w.nodes = newNodes(t, r.Cluster.Handler(), seed)
	var err error
	w.client, err = chain.New(chain.Options{RPCURLs: w.nodes.urls, Cluster: wallet.Localnet, Timeout: time.Minute, Now: r.Now})
	r.Must(err)
	t.Cleanup(w.client.Close)
	w.people(wallets)
	for range 3 {
		asked := r.requests("1", "SOL").Transaction
		w.requested, w.asked = append(w.requested, asked.ID), append(w.asked, asked.Reference)
	}
	w.stock()
	w.start()
	w.Blocks(40)
	w.look() // what they hold
	return w
}

// people own most wallets, some of them several. The others are those of an operator's key.
func (w *watchedWorld) people(wallets int) {
	w.Helper()
	const firstPerson, funded = 5000, 3
	owner := w.bob.User.ID
	var rows []wallet.Wallet
	for i := len(w.all); i < wallets; i++ {
		key := w.NewKey()
		of := wallet.Wallet{Address: wallet.Address(public(key)), Owner: owner, ConnectedAt: w.Now()}
		switch w.dice.IntN(10) {
		case 0, 1, 2:
			of.Owner, of.KeyLineage = "", "key_1"
		case 3, 4, 5:
			p := w.Somebody(firstPerson+int64(i), fmt.Sprint("Person ", i))
			w.Meet(p)
			owner = p.User.ID
			of.Owner = owner
		}
		w.keys[of.Address] = key
		w.all = append(w.all, of.Address)
		if i%funded == 0 {
			w.funded = append(w.funded, of.Address)
		}
		rows = append(rows, of)
	}
	w.Must(w.Update(func(tx store.Tx) error {
		for _, of := range rows {
			if err := tx.PutWallet(of); err != nil {
				return err
			}
		}
		return nil
	}))
}

// start is a process that begins, with nothing but the file.
func (w *watchedWorld) start() {
	w.Helper()
	if w.lives++; w.lives > 1 {
		w.Reopen()
		w.Must(w.Update(func(tx store.Tx) error { return tx.ReleaseNode("main") }))
	}
	w.dead.Store(false)
	w.restart()
	w.Restart()
	w.Watcher.Chain, w.Settler.Chain = w.client, w.client
	w.pass = w.Watcher.Passes()
}

// look is a pass of the leader, and what is due after it.
func (w *watchedWorld) look() {
	w.Helper()
	w.Must(w.pass(context.Background()))
	w.work(0)
}

// play is a round: payments, blocks, and a watcher that does what it can.
func (w *watchedWorld) play(round, most int) {
	w.Helper()
	w.nodes.begin(round, w.mood(), w.mood(), w.mood())
	w.fresh()
	before := len(w.order)
	for range w.dice.IntN(2 * most) {
		w.one()
	}
	w.Blocks(1 + w.dice.IntN(12))
	if w.dice.IntN(5) == 0 {
		w.Must(w.Cluster.Fork(1 + w.dice.IntN(25)))
		w.again(w.order[before:])
	}
	w.Pass(time.Duration(w.dice.IntN(40)) * time.Second)
	_ = w.pass(context.Background()) // the nodes may fail
	dies := 0
	if w.dice.IntN(3) == 0 {
		dies = 1 + w.dice.IntN(2*most)
	}
	settlesFirst := w.dice.IntN(2) == 0
	if settlesFirst {
		_ = w.Settle() // the nodes may fail
	}
	if w.work(dies); !settlesFirst && !w.dead.Load() {
		_ = w.Settle()
	}
	if dies > 0 || w.dice.IntN(6) == 0 {
		w.start()
	}
}

// mood draws what is wrong with a node for a while.
func (w *watchedWorld) mood() (m mood) {
	const longAgo = 60
	switch w.dice.IntN(10) {
	case 0, 1, 2:
	case 3:
		m.cut = 20 + w.dice.IntN(80)
	case 4, 5:
		m.behind, m.admits = 1+w.dice.Uint64N(longAgo), w.dice.IntN(2) == 0
	case 6:
		m.keeps, m.unknown = w.nodes.finalized()-w.dice.Uint64N(longAgo), w.dice.IntN(2) == 0
	case 7:
		m.unknown, m.cut = true, 10
	case 8:
		m.omits = 10 + w.dice.IntN(50)
	case 9:
		m.garbage = 10 + w.dice.IntN(90)
	}
	return m
}

// work does the jobs that are due, several at once, as the pool does. With dies, the commit of that job, counted from 1, ends
// in the unknown, written or not, and nothing is written afterwards.
func (w *watchedWorld) work(dies int) {
	w.Helper()
	const most, atOnce = 300, 8
	var done atomic.Int64
	written := w.dice.IntN(2) == 0
	for range most {
		due := w.Due(w.Watcher, 200)
		if len(due) == 0 || w.dead.Load() {
			return
		}
		group := errgroup.Group{}
		group.SetLimit(atOnce)
		for _, job := range due {
			group.Go(func() error {
				result, err := w.Watcher.Handle(context.Background(), job)
				if w.dead.Load() {
					return nil
				}
				if n := done.Add(1); dies > 0 && n == int64(dies) {
					w.dead.Store(true)
					if !written {
						return nil
					}
				}
				return w.end(job, result.Commit, result.Again, err)
			})
		}
		w.Must(group.Wait())
	}
	w.Fatal("the looks find no end")
}

// end writes what a job found, and its end. What cannot be written is tried again, like any job: a summary and a look may have
// changed the same row.
func (w *watchedWorld) end(job store.Job, commit func(store.Tx) error, again time.Time, err error) error {
	if err == nil {
		err = w.Update(func(tx store.Tx) error {
			if commit != nil {
				if err := commit(tx); err != nil {
					return err
				}
			}
			switch {
			case again.IsZero():
				return tx.DoneJobs(job.Ref())
			case again.Sub(w.Now()) < time.Second:
				again = w.Now()
			}
			return tx.SnoozeJobs(again, job.Ref())
		})
	}
	if err == nil {
		return nil
	}
	return w.Update(func(tx store.Tx) error { return tx.RetryJobs(w.Now().Add(time.Second), job.Ref()) })
}

// rest lets all trouble end, and the watcher do all that it has to.
func (w *watchedWorld) rest() {
	w.Helper()
	w.nodes.begin(-1)
	w.start()
	w.Blocks(40)
	for range 4 {
		w.Pass(2 * time.Minute)
		w.Must(w.Settle())
		w.look()
	}
	for range 2 {
		w.Pass(25 * time.Hour)
		w.Must(w.Settle())
		w.look()
	}
}

// paid is one gain of one transaction.
type paid struct {
	gain
	signature wallet.Signature
}

// landed is what the payments brought that are on the chain, and how many were folded, by wallet.
func (w *watchedWorld) landed() (want map[paid]uint64, folded map[wallet.Address]int) {
	w.Helper()
	want, folded = map[paid]uint64{}, map[wallet.Address]int{}
	n := 0
	for _, l := range w.Cluster.Landed() {
		signature, err := wallet.ParseSignature(l.Signature)
		w.Must(err)
		if l.Err != nil {
			continue
		}
		n++
		for g, units := range w.sent[signature].gains {
			want[paid{g, signature}] = units
		}
		for _, to := range w.sent[signature].dust {
			folded[to]++
		}
	}
	w.Logf("%d lives, %d transactions landed; sent %v; nodes %v", w.lives, n, w.kinds, w.nodes.spoiled)
	const few = 100
	if n < few || w.lives == 1 || len(w.nodes.spoiled) < 8 {
		w.Error("this proves little")
	}
	return want, folded
}

// judge compares what was announced with what landed, and what is known of the wallets with what they hold.
func (w *watchedWorld) judge() {
	w.Helper()
	want, folded := w.landed()
	got, events := map[paid]uint64{}, map[wallet.TransactionID]int{}
	var receipts []wallet.TransactionID
	var counted uint64
	var rows []wallet.Watch
	w.View(func(tx store.Tx) error {
		for _, at := range w.all {
			all, err := tx.TransactionsAt(at, store.Page{Limit: 10_000})
			w.Must(err)
			for _, t := range all {
				if t.Kind != wallet.Receive {
					continue
				}
				got[paid{gain{at, t.Token.Mint}, t.Signature}] = t.Amount
				receipts = append(receipts, t.ID)
			}
			row, err := tx.Watch(at)
			w.Must(err)
			rows = append(rows, row)
			folded, err := tx.Folded(at)
			w.Must(err)
			counted += folded
		}
		pending, err := tx.PendingEvents(1_000_000)
		for _, e := range pending {
			switch e.Name {
			case wallet.TransactionReceived:
				events[e.Transaction]++
			case wallet.PaymentsFolded:
				var data wallet.PaymentsFoldedData
				w.Must(json.Unmarshal(e.Data, &data))
				counted += data.Count
			}
		}
		return err
	})
	for k, units := range want {
		if got[k] != units {
			w.Errorf("%d units of %s to %s in %s: announced %d", units, k.mint, k.to, k.signature, got[k])
		}
	}
	for k, units := range got {
		if want[k] == 0 {
			w.Errorf("%d units of %s to %s in %s were announced, and never came", units, k.mint, k.to, k.signature)
		}
	}
	w.once(receipts, events)
	w.answered()
	w.counts(folded, counted)
	w.known(rows)
}

// once checks that each receipt has one event, and each event a receipt.
func (w *watchedWorld) once(receipts []wallet.TransactionID, events map[wallet.TransactionID]int) {
	w.Helper()
	for _, id := range receipts {
		if events[id] != 1 {
			w.Errorf("%s was announced %d times", id, events[id])
		}
	}
	if len(events) != len(receipts) {
		w.Errorf("%d receipts, and events about %d", len(receipts), len(events))
	}
}

// answered checks that each request that a payment covers was ended by one of them, and no other request by any.
func (w *watchedWorld) answered() {
	w.Helper()
	answers := map[wallet.TransactionID]int{}
	covering := map[wallet.Address]int{} // landed payments that cover a request, by its reference
	for _, l := range w.Cluster.Landed() {
		signature, err := wallet.ParseSignature(l.Signature)
		w.Must(err)
		if made := w.sent[signature]; l.Err == nil && made.gains[gain{to: w.bob.Address()}] >= sol {
			covering[made.answers]++
		}
	}
	w.View(func(tx store.Tx) error {
		all, err := tx.TransactionsAt(w.bob.Address(), store.Page{Limit: 10_000})
		for _, t := range all {
			if t.Kind == wallet.Receive && t.Answers != "" {
				answers[t.Answers]++
			}
		}
		return err
	})
	ended := 0
	for i, id := range w.requested {
		t := w.Transaction(id)
		want, receipts := wallet.Expired, 0
		if covering[w.asked[i]] > 0 {
			want, receipts = wallet.Received, 1
			ended++
		}
		if t.Status != want || answers[id] != receipts {
			w.Errorf("request %d is %s, and %d receipts say that they ended it; %d payments cover it", i, t.Status, answers[id], covering[w.asked[i]])
		}
	}
	w.Logf("%d of %d requests were paid", ended, len(w.requested))
}

// counts compares what was folded for people. Wallets without an owner have no count.
func (w *watchedWorld) counts(folded map[wallet.Address]int, counted uint64) {
	w.Helper()
	var want uint64
	w.View(func(tx store.Tx) error {
		for at, n := range folded {
			of, err := tx.Wallet(at)
			w.Must(err)
			if of.Owner != "" {
				want += uint64(n)
			}
		}
		return nil
	})
	if counted != want {
		w.Errorf("%d payments were folded, counted %d", want, counted)
	}
}

// known compares what is known of the wallets with what an honest node says.
func (w *watchedWorld) known(rows []wallet.Watch) {
	w.Helper()
	for _, row := range rows {
		at := make([]wallet.Address, len(row.Accounts))
		for i, a := range row.Accounts {
			at[i] = a.Address
		}
		truth, err := w.Chain.Sweep(context.Background(), at, 0)
		w.Must(err)
		for i, a := range row.Accounts {
			units := truth[i].Lamports
			if i > 0 {
				units = 0
				if truth[i].Token != nil {
					units = truth[i].Token.Units
				}
			}
			if a.Units != units || !a.DeniedSince.IsZero() {
				w.Errorf("%s of %s holds %d, known %+v", a.Address, row.Address, units, a)
			}
		}
		if len(row.Unread) > 0 || row.Failures > 0 {
			w.Errorf("%s has %d transactions that were not read, %d failures", row.Address, len(row.Unread), row.Failures)
		}
	}
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "level=ERROR") {
			w.Error(line)
		}
	}
}
