package settle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"purser/chain"
	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

// ledger is several people who pay each other at random while nodes and blocks misbehave.
type ledger struct {
	*world.World
	chance *rand.Rand
	people []*world.Person
	start  []holdings
	kept   map[wallet.TransactionID][]byte // messages that a device signed and kept: it signs no other for that payment
	ids    []wallet.TransactionID
	count  map[string]int
}

// holdings are base units by token; "SOL" is lamports.
type holdings map[string]int64

var symbols = []string{"SOL", solana.USDC, solana.FEE}

// TestLedgerEqualsTheChain lets people pay each other through lost answers, swallowed transactions,
// forks, restarts and devices that keep what they sign. In the end purser's own records must explain
// every lamport and every token unit: nothing created, lost or sent twice.
func TestLedgerEqualsTheChain(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 4
	}
	seeds := make([]uint64, rounds)
	for i := range seeds {
		seeds[i] = uint64(i + 1)
	}
	if text := os.Getenv("LEDGER_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	total := map[string]int{}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			for what, n := range played(t, seed) {
				total[what] += n
			}
		})
	}
	t.Log(total)
	for _, what := range []string{"confirmed", "expired", "rejected", "failed"} {
		if total[what] == 0 && len(seeds) > 10 {
			t.Errorf("no transaction was ever %s: the play proves little (%v)", what, total)
		}
	}
}

func played(t *testing.T, seed uint64) map[string]int {
	// No fault of this play hangs, and the clock is the world's: however slow the machine, no call may end by real time.
	l := &ledger{World: world.New(t, world.Options{Timeout: time.Hour}), chance: rand.New(rand.NewPCG(seed, 7)), count: map[string]int{}, kept: map[wallet.TransactionID][]byte{}}
	for i := range 4 {
		p := l.Rich(int64(1001+i), fmt.Sprintf("P%d", i), uint64(1+l.chance.IntN(5))*world.SOL)
		for _, token := range symbols[1:] {
			if l.chance.IntN(4) > 0 {
				l.FundToken(p.Address(), token, uint64(1+l.chance.IntN(1000))*1_000_000)
			}
		}
		l.people = append(l.people, p)
	}
	for _, p := range l.people {
		l.start = append(l.start, l.held(p))
	}
	for range 120 {
		l.step()
	}
	l.Whole()
	for _, id := range l.ids { // whoever kept bytes sends them at the worst moment: last
		l.sendKept(id)
	}
	for range 12 {
		l.Blocks(40)
		l.Pass(2 * time.Minute)
		l.Rounds(3)
	}
	l.judge()
	return l.count
}

func (l *ledger) held(p *world.Person) holdings {
	h := holdings{"SOL": int64(l.Cluster.Balance(p.Address().String()))}
	for _, token := range symbols[1:] {
		h[token] = int64(l.Cluster.TokenBalance(p.Address().String(), token))
	}
	return h
}

// step does one thing that people, nodes or time do.
func (l *ledger) step() {
	l.trouble()
	defer l.Whole()
	switch l.chance.IntN(10) {
	case 0, 1, 2:
		l.begin()
	case 3, 4, 5:
		l.goOn()
	case 6:
		l.Blocks(1 + l.chance.IntN(40))
	case 7:
		if err := l.Cluster.Fork(1 + l.chance.IntN(3)); err != nil {
			l.Fatal(err)
		}
	case 8:
		l.Restart()
	case 9:
		l.Pass(time.Duration(l.chance.IntN(240)) * time.Second)
	}
	l.Blocks(l.chance.IntN(3))
	l.Rounds(1 + l.chance.IntN(3))
	l.scheduled()
}

// scheduled holds every transaction that can still change to having one job, and no other to having any.
func (l *ledger) scheduled() {
	l.Helper()
	l.View(func(tx store.Tx) error {
		open, err := tx.UnsettledTransactions(wallet.Transaction{}, 1<<20)
		jobs := 0
		for _, queue := range []store.Queue{store.Settlement, store.Collecting} {
			stats, failed := tx.JobStats(queue)
			err = errors.Join(err, failed)
			jobs += stats.Waiting
			if stats.InFlight > 0 {
				l.Errorf("%d jobs of %s are in hand while nobody works", stats.InFlight, queue)
			}
		}
		for _, t := range open {
			_, settling := tx.Job(store.Settlement, store.JobID(t.ID))
			_, collecting := tx.Job(store.Collecting, store.JobID(t.ID))
			if (settling == nil) == (collecting == nil) {
				l.Errorf("%s, which is %s, has a job in settlement: %v, in collecting: %v", t.ID, t.Status, settling == nil, collecting == nil)
			}
		}
		if jobs != len(open) {
			l.Errorf("%d transactions can still change, and there are %d jobs", len(open), jobs)
		}
		return err
	})
}

// trouble makes the node misbehave for a while, or not.
func (l *ledger) trouble() {
	fault := []solana.Fault{{}, {}, {}, {Status: 503}, {Status: 429}, {DropAnswer: true}, {Swallow: true}, {Code: -32005, Message: "behind"}, {Delay: 5}}[l.chance.IntN(9)]
	method := []string{"", "sendTransaction", "getSignatureStatuses", "getSignaturesForAddress", "getTransaction"}[l.chance.IntN(5)]
	if fault == (solana.Fault{}) {
		return
	}
	odds := rand.New(rand.NewPCG(l.chance.Uint64(), 1))
	every := odds.IntN(2) == 0
	l.Trouble()
	l.Cluster.SetFault(func(m string, _ json.RawMessage) solana.Fault {
		if (method == "" || m == method) && every {
			return fault
		}
		return solana.Fault{}
	})
}

// begin proposes a random payment; many are refused, and store nothing.
func (l *ledger) begin() {
	from := l.people[l.chance.IntN(len(l.people))]
	to := l.people[l.chance.IntN(len(l.people))].Address()
	if l.chance.IntN(8) == 0 {
		to = l.Stranger()
	}
	token := symbols[l.chance.IntN(len(symbols))]
	amount := fmt.Sprintf("%d.%06d", l.chance.IntN(3), l.chance.IntN(1_000_000))
	if l.chance.IntN(5) == 0 {
		amount = "max"
	}
	t, err := l.Prepare(from, to, amount, token)
	if err != nil {
		return
	}
	if err := l.Update(func(tx store.Tx) error { return store.Create(tx, t) }); err == nil {
		l.ids = append(l.ids, t.ID)
	}
}

// goOn takes one transaction a step further, or a step aside.
func (l *ledger) goOn() {
	if len(l.ids) == 0 {
		return
	}
	t := l.Transaction(l.ids[l.chance.IntN(len(l.ids))])
	owner := l.owner(t)
	switch t.Status {
	case wallet.AwaitingConfirmation:
		if l.chance.IntN(6) == 0 {
			_ = l.Update(func(tx store.Tx) error { _, err := l.Transfers.Reject(tx, owner.Caller(), t.ID); return err })
			return
		}
		_, _ = l.Confirm(owner.Caller(), t.ID) // it may be too late, or too much
	case wallet.AwaitingSignature:
		if message, ok := l.kept[t.ID]; ok {
			if l.chance.IntN(2) == 0 {
				_, _ = l.HandIn(owner, t.SignID, message)
			} else {
				l.sendKept(t.ID)
			}
			return
		}
		view, err := l.Signing.Refresh(context.Background(), handlers.ByLink(t.SignID))
		if err != nil || view.Message == nil {
			return
		}
		switch l.chance.IntN(6) {
		case 0: // signed, and kept: the device may send it itself, or hand it in later
			l.kept[t.ID] = view.Message
		case 1:
			_, _ = l.Signing.Reject(context.Background(), handlers.ByLink(t.SignID))
		case 2: // and nothing more
		default:
			_, _ = l.HandIn(owner, t.SignID, view.Message)
		}
	default:
		if l.chance.IntN(3) == 0 {
			l.sendKept(t.ID)
		}
	}
}

// sendKept has a device send by itself what it signed for a payment and kept.
func (l *ledger) sendKept(id wallet.TransactionID) {
	message, ok := l.kept[id]
	if !ok {
		return
	}
	wire, err := chain.Assemble(message, l.owner(l.Transaction(id)).Sign(message))
	l.Must(err)
	_ = l.Chain.Broadcast(context.Background(), wire) // it may be too old, or landed long ago
}

func (l *ledger) owner(t wallet.Transaction) *world.Person {
	for _, p := range l.people {
		if p.User.ID == t.Owner {
			return p
		}
	}
	l.Fatalf("%s is nobody's", t.ID)
	return nil
}

// judge holds the chain against what purser says of every transaction.
func (l *ledger) judge() {
	l.Helper()
	said := make([]holdings, len(l.people))
	for i := range said {
		said[i] = holdings{}
		for token, units := range l.start[i] {
			said[i][token] = units
		}
	}
	for _, id := range l.ids {
		t := l.Transaction(id)
		l.count[string(t.Status)]++
		if !t.Closed {
			l.Errorf("%s is still %s (held %v)", id, t.Status, t.Indeterminate)
		}
		query, err := l.Store.Kinds().Query(t)
		l.Must(err)
		found, err := l.Chain.Find(context.Background(), query)
		l.Must(err)
		moved := found != nil && found.Failure == ""
		if moved != (t.Status == wallet.Confirmed) {
			l.Errorf("purser calls %s %s, the chain says %+v", id, t.Status, found)
		}
		for i, p := range l.people {
			if p.Address() == t.From && found != nil {
				said[i]["SOL"] -= int64(t.Landing.Fee)
			}
			if p.Address() == t.From && moved {
				said[i]["SOL"] -= int64(t.Rent)
				said[i][t.Token.Symbol] -= int64(t.Amount)
			}
			if p.Address() == t.To && moved {
				said[i][t.Token.Symbol] += int64(t.Net())
			}
		}
	}
	for i, p := range l.people {
		for _, token := range symbols {
			if holds := l.held(p)[token]; holds != said[i][token] {
				l.Errorf("%s holds %d of %s, purser's records say %d", p.Address(), holds, token, said[i][token])
			}
		}
	}
}
