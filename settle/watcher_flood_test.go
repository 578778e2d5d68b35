package settle_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"purser/e2e/world"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// moneyLedger is a chain in memory, fast enough for many wallets: payments of SOL, each final at once. It counts calls as the
// real client makes them.
type moneyLedger struct {
	mu       sync.Mutex
	slot     uint64
	n        uint64
	balances map[wallet.Address]uint64
	history  map[wallet.Address][]wallet.SignatureEntry // oldest first
	paid     map[wallet.Signature]wallet.Activity
	calls    map[string]int
	tokens   map[wallet.Address]*wallet.TokenAccount
}

func newMoneyLedger() *moneyLedger {
	return &moneyLedger{slot: 1000, balances: map[wallet.Address]uint64{}, history: map[wallet.Address][]wallet.SignatureEntry{},
		paid: map[wallet.Signature]wallet.Activity{}, calls: map[string]int{}}
}

// pay lets a stranger's payment land in a slot of its own.
func (l *moneyLedger) pay(to wallet.Address, lamports uint64) wallet.Signature {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	l.slot++
	var sig wallet.Signature
	binary.BigEndian.PutUint64(sig[:], l.n)
	l.balances[to] += lamports
	l.history[to] = append(l.history[to], wallet.SignatureEntry{Signature: sig, Slot: l.slot, Finalized: true})
	l.paid[sig] = wallet.Activity{Signature: sig, Slot: l.slot, Kind: wallet.ActivityReceived,
		Net:     []wallet.NetChange{{Token: wallet.SOL, Units: lamports, Explained: true}},
		Changes: []wallet.BalanceChange{{Account: to, Pre: l.balances[to] - lamports, Post: l.balances[to]}}}
	return sig
}

func (l *moneyLedger) Sweep(_ context.Context, as []wallet.Address, min uint64) ([]wallet.AccountBalance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls["sweep"] += (len(as) + 99) / 100
	if min > l.slot {
		return nil, wallet.ErrNodeBehind
	}
	out := make([]wallet.AccountBalance, len(as))
	for i, at := range as {
		units, exists := l.balances[at]
		out[i] = wallet.AccountBalance{Address: at, Slot: l.slot, Exists: exists, Lamports: units}
		if held := l.tokens[at]; held != nil {
			token := *held
			if exists { // payments came into it
				token.Units = units
			}
			out[i].Token = &token
		}
	}
	return out, nil
}

// Walk lists the history as the real client does, from the deepest place of the cursor that it knows.
func (l *moneyLedger) Walk(_ context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	const most, page = 10_000, 1000
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[wallet.Signature]bool{}
	for _, sig := range q.From.Seen {
		seen[sig] = true
	}
	var found []wallet.SignatureEntry
	for _, e := range l.history[q.Address] {
		if e.Slot >= q.From.Slot && !seen[e.Signature] {
			found = append(found, e)
		}
	}
	cursor := slices.Clone(q.Cursor)
	for ; len(cursor) > 0; cursor = cursor[:len(cursor)-1] {
		if at := slices.IndexFunc(found, func(e wallet.SignatureEntry) bool { return e.Signature == cursor[len(cursor)-1] }); at > 0 {
			found = found[:at]
			break
		}
	}
	l.calls["walk"] += 1 + len(found)/page
	if q.Changed && len(found) == 0 {
		return wallet.HistoryWalk{Next: q.From}, wallet.ErrNothingNew
	}
	for at := len(found) - page; at >= most; at -= page {
		cursor = append(cursor, found[at].Signature)
	}
	out := wallet.HistoryWalk{Entries: found[:min(len(found), most)], More: len(cursor) > 0 || len(found) > most}
	if len(cursor) > 0 {
		out.Cursor = cursor[:len(cursor)-1]
	}
	out.Next = q.From.Past(out.Entries)
	return out, nil
}

func (l *moneyLedger) History(_ context.Context, at wallet.Address, _ wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls["history"]++
	all := slices.Clone(l.history[at])
	slices.Reverse(all)
	return all[:min(limit, len(all))], len(all) > limit, nil
}

func (l *moneyLedger) Activities(_ context.Context, sig wallet.Signature, _ ...wallet.Address) ([]wallet.Activity, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls["read"]++
	a, ok := l.paid[sig]
	if !ok {
		return nil, wallet.ErrTransactionUnknown
	}
	return []wallet.Activity{a}, nil
}

func (l *moneyLedger) TokenAccounts(context.Context, wallet.Address) ([]wallet.TokenAccount, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls["accounts"] += 2
	return nil, nil
}

// total is how many calls were made.
func (l *moneyLedger) total() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, calls := range l.calls {
		n += calls
	}
	return n
}

// TestAFloodOfDustDelaysNobody: 10,000 payments of nearly nothing come to Bob, and then one that counts. It is told in the
// first look, others are told in between, and the dust is neither told nor stored.
func TestAFloodOfDustDelaysNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 10,000 transactions")
	}
	r := newWatching(t)
	chain := newMoneyLedger()
	r.Must(r.Update(func(tx store.Tx) error {
		return errors.Join(tx.DropWatch(r.alice.Address()), tx.DropWatch(r.bob.Address()))
	}))
	r.Watcher.Chain, r.Watcher.Expected = chain, nil
	r.look()
	for range 10_000 {
		chain.pay(r.bob.Address(), 1)
	}
	chain.pay(r.bob.Address(), sol)
	r.Pass(20 * time.Second)
	r.Must(r.Watcher.Sweep(context.Background()))
	one := func() store.Job {
		due := r.Due(r.Watcher, 1)
		if len(due) != 1 {
			t.Fatalf("%d jobs", len(due))
		}
		return due[0]
	}
	r.handle(one())
	r.expect("1 SOL to bob")
	if reads := chain.calls["read"]; reads > 120 {
		t.Errorf("one look read %d transactions", reads)
	}
	chain.pay(r.bob.Address(), 2*sol) // and during the flood
	r.handle(one())
	r.expect("1 SOL to bob", "2 SOL to bob")
	chain.pay(r.alice.Address(), 3*sol)
	r.Pass(20 * time.Second)
	r.Must(r.Watcher.Sweep(context.Background()))
	r.handle(one())
	r.handle(one())
	r.expect("1 SOL to bob", "2 SOL to bob", "3 SOL to alice")
	r.drain()
	r.final()
	r.expect("1 SOL to bob", "2 SOL to bob", "3 SOL to alice")
	r.View(func(tx store.Tx) error {
		rows, err := tx.TransactionsAt(r.bob.Address(), store.Page{Limit: 100})
		row, err2 := tx.Watch(r.bob.Address())
		if len(rows) != 2 || len(row.Unread) != 0 || row.Accounts[0].Units != chain.balances[r.bob.Address()] || len(row.Accounts[0].Mark.Seen) != 1 {
			t.Errorf("%d rows are stored, and %+v", len(rows), row)
		}
		return errors.Join(err, err2)
	})
	r.Pass(time.Hour)
	r.look()
	r.counts(10_000) // whatever was read out of turn, once
	if reads := chain.calls["read"]; reads > 12_000 {
		t.Errorf("%d reads", reads)
	}
}

// TestCallsForTenThousandWallets states what watching costs: 10,000 wallets of 6 accounts, of which one in a hundred gets a
// payment each minute. The aim is fewer than 400 calls a minute.
func TestCallsForTenThousandWallets(t *testing.T) {
	if testing.Short() {
		t.Skip("10,000 wallets")
	}
	const wallets, active, minutes = 10_000, 100, 12
	w := world.New(t, world.Options{})
	chain := newMoneyLedger()
	watcher := &settle.Watcher{Store: w.Store, Chain: chain, Listed: w.Tokens.ByMint, Now: w.Now, Log: slog.New(slog.DiscardHandler),
		Pace: settle.DefaultWatchPace(120), Node: "main", After: nil}
	all := make([]wallet.Address, wallets)
	w.Must(w.Update(func(tx store.Tx) error {
		for i := range all {
			binary.BigEndian.PutUint32(all[i][:], uint32(i+1))
			row := wallet.Watch{Address: all[i], Since: 1000, FullAt: w.Now().Add(-24 * time.Hour * time.Duration(i) / wallets)}
			for n := range 6 {
				at := all[i]
				at[31] = byte(n)
				row.Accounts = append(row.Accounts, wallet.WatchedAccount{Address: at, Slot: 1000, Mark: wallet.Watermark{Slot: 1001}})
			}
			if err := errors.Join(tx.PutWallet(wallet.Wallet{Address: all[i], KeyLineage: fmt.Sprint("key_", i), ConnectedAt: w.Now()}), tx.PutWatch(row)); err != nil {
				return err
			}
		}
		return nil
	}))
	r := &watching{harness: &harness{World: w}}
	r.Watcher = watcher
	passes := watcher.Passes()
	before, from := 0, 0
	for second := 0; second < minutes*60; second += 5 {
		if second%60 == 0 {
			if second == 2*60 { // the first sweep of all is over
				before, from = chain.total(), second
			}
			for i := range active {
				chain.pay(all[i*97], sol)
			}
		}
		w.Must(passes(context.Background()))
		r.drain()
		w.Pass(5 * time.Second)
	}
	perMinute := (chain.total() - before) * 60 / (minutes*60 - from)
	receipts := 0
	w.View(func(tx store.Tx) error {
		for i := range active {
			rows, err := tx.TransactionsAt(all[i*97], store.Page{Limit: 100})
			w.Must(err)
			receipts += len(rows)
		}
		return nil
	})
	t.Logf("%d calls a minute: %v in all", perMinute, chain.calls)
	if perMinute >= 400 || receipts < active*(minutes-1) {
		t.Errorf("%d calls a minute, %d receipts", perMinute, receipts)
	}
}
