package settle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// summaries are the counts that Bob was or will be told of.
func (r *watching) summaries() (out []uint64) {
	r.Helper()
	r.View(func(tx store.Tx) error {
		events, err := tx.PendingEvents(1000)
		for _, e := range events {
			var data wallet.PaymentsFoldedData
			if e.Name == wallet.PaymentsFolded {
				r.Must(json.Unmarshal(e.Data, &data))
				out = append(out, data.Count)
				if e.User != r.bob.User.ID {
					r.Errorf("%s is told", e.User)
				}
			}
		}
		return err
	})
	return out
}

// folded is how many payments to a wallet were folded since the last summary.
func (r *watching) folded(at wallet.Address) (n uint64) {
	r.View(func(tx store.Tx) (err error) {
		n, err = tx.Folded(at)
		return err
	})
	return n
}

// waiting is how many jobs of the watcher wait.
func (r *watching) waiting(tx store.Tx) (n int, err error) {
	for _, pool := range r.Watcher.Pools() {
		stats, err := tx.JobStats(pool.Queue)
		if err != nil {
			return n, err
		}
		n += stats.Waiting
	}
	return n, nil
}

// counts expects these summaries.
func (r *watching) counts(want ...uint64) {
	r.Helper()
	if got := r.summaries(); !slices.Equal(got, want) {
		r.Fatalf("the summaries are %d, want %d\n%s", got, want, r.log)
	}
}

// TestAtMostOneSummaryAnHour: what is folded is summed up an hour after the first of it, and counted anew from then on.
func TestAtMostOneSummaryAnHour(t *testing.T) {
	r, chain := onLedger(t)
	for range 3 {
		chain.pay(r.bob.Address(), 1)
	}
	r.final()
	r.Pass(30 * time.Minute)
	chain.pay(r.bob.Address(), 2)
	nothing := chain.pay(r.bob.Address(), 0) // a transfer of nothing
	a := chain.paid[nothing]
	a.Net, a.Movements = nil, []wallet.Movement{{How: wallet.MovedByTransfer, In: true, With: wallet.Address{77}}}
	chain.paid[nothing] = a
	r.final()
	r.counts()
	r.Pass(29 * time.Minute)
	r.drain()
	r.counts()
	r.Pass(time.Minute)
	r.drain()
	r.counts(5)
	chain.pay(r.bob.Address(), 1)
	chain.pay(r.bob.Address(), sol)
	r.final()
	r.Pass(59 * time.Minute)
	r.look()
	r.counts(5)
	r.Pass(time.Minute)
	r.look()
	r.counts(5, 1)
	r.Pass(3 * time.Hour)
	r.look()
	r.counts(5, 1)
	r.expect("1 SOL to bob")
	if n := r.folded(r.bob.Address()); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// TestWhatIsNoPaymentIsNotCounted: failed ones, what the owner did, what only left, and an event or an account without money.
func TestWhatIsNoPaymentIsNotCounted(t *testing.T) {
	r, chain := onLedger(t)
	for _, change := range []func(*wallet.Activity){
		func(a *wallet.Activity) { a.Failure = "InsufficientFunds" },
		func(a *wallet.Activity) { a.Signed, a.Kind = true, wallet.ActivitySwapped },
		func(a *wallet.Activity) { a.Net[0].Lost = true },
		func(a *wallet.Activity) { a.Net = nil },
		func(a *wallet.Activity) { a.Net, a.Movements = nil, []wallet.Movement{{How: wallet.MovedByTransfer}} },
	} {
		a := chain.paid[chain.pay(r.bob.Address(), 1)]
		change(&a)
		chain.paid[a.Signature] = a
	}
	r.final()
	r.Pass(2 * time.Hour)
	r.look()
	r.counts()
}

// TestOneSummaryForAllWallets: whatever came to which wallet of a person. A wallet without an owner has none.
func TestOneSummaryForAllWallets(t *testing.T) {
	r, chain := onLedger(t)
	second, keys := wallet.Address{120}, wallet.Address{121}
	r.Must(r.Update(func(tx store.Tx) error {
		if err := tx.PutWallet(wallet.Wallet{Address: second, Owner: r.bob.User.ID, ConnectedAt: r.Now()}); err != nil {
			return err
		}
		return tx.PutWallet(wallet.Wallet{Address: keys, KeyLineage: "key_1", ConnectedAt: r.Now()})
	}))
	r.final()
	for range 4 {
		chain.pay(r.bob.Address(), 1)
		chain.pay(second, 1)
		chain.pay(keys, 1)
	}
	r.final()
	r.Pass(time.Hour)
	r.look()
	r.counts(8)
	chain.pay(second, 1)
	r.final()
	r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(second) }))
	r.Pass(time.Hour)
	r.look()
	r.counts(8) // it went with its wallet
	if n := r.folded(keys); n != 0 {
		t.Errorf("%d were counted for nobody", n)
	}
}

// TestNothingOfAFloodIsKept: spam tokens leave no receipt, no event but the summaries, and no job when it is over. A person
// who is erased takes the count and the summary along.
func TestNothingOfAFloodIsKept(t *testing.T) {
	r, chain := onLedger(t)
	pending := func() (n int) {
		r.View(func(tx store.Tx) error {
			events, err := tx.PendingEvents(1000)
			n = len(events)
			return err
		})
		return n
	}
	others := pending()
	spam := func(n int) {
		for range n {
			a := chain.paid[chain.pay(r.bob.Address(), 1)]
			a.Net[0].Token = wallet.Token{Mint: wallet.Address{byte(chain.n), byte(chain.n >> 8), 9}, Decimals: 9}
			chain.paid[a.Signature] = a
		}
	}
	spam(300)
	r.final()
	r.final()
	r.Pass(time.Hour)
	r.look()
	r.counts(300)
	r.expect()
	var left []string
	r.View(func(tx store.Tx) error {
		rows, err := tx.TransactionsAt(r.bob.Address(), store.Page{Limit: 100})
		jobs, err2 := r.waiting(tx)
		if len(rows) != 0 || jobs != 0 {
			left = append(left, fmt.Sprint(len(rows), jobs))
		}
		return errors.Join(err, err2)
	})
	if n := pending() - others; n != 1 || len(left) > 0 {
		t.Errorf("%d events; rows and jobs: %q", n, left)
	}
	spam(5)
	r.final()
	r.Must(r.Update(func(tx store.Tx) error { return tx.EraseUser(r.bob.User.ID) }))
	r.View(func(tx store.Tx) error {
		n, err := r.waiting(tx)
		if n != 0 {
			t.Error("the summary of somebody erased waits")
		}
		return err
	})
}
