package settle_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// watchesAll has the watcher of Bob's wallet know accounts up to now.
func (r *watching) watchesAll(chain *moneyLedger, accounts ...wallet.Address) {
	r.Helper()
	r.Must(r.Update(func(tx store.Tx) error {
		row, err := tx.Watch(r.bob.Address())
		r.Must(err)
		for _, at := range accounts {
			a := wallet.WatchedAccount{Address: at, Slot: chain.slot, Mark: wallet.Watermark{Slot: chain.slot + 1}}
			if held := chain.tokens[at]; held != nil {
				a.Exists, a.Units = true, held.Units
				if units, paid := chain.balances[at]; paid {
					a.Units = units
				}
			}
			row.Accounts = append(row.Accounts, a)
		}
		return tx.PutWatch(row)
	}))
}

// watched is what is known of Bob's wallet.
func (r *watching) watched() (row wallet.Watch) {
	r.Helper()
	r.View(func(tx store.Tx) (err error) {
		row, err = tx.Watch(r.bob.Address())
		r.Must(err)
		return nil
	})
	return row
}

// TestClosedAccountsMakeRoom: a wallet had as many accounts as are watched. The daily look lets those go that are closed, and
// watches new ones.
func TestClosedAccountsMakeRoom(t *testing.T) {
	r, chain := withoutArchive(t, 0)
	expected := wallet.AssociatedAccount(r.bob.Address(), usdcOf(r).Mint, usdcOf(r).Program)
	var closed []wallet.Address
	for i := range 254 {
		closed = append(closed, wallet.Address{51, byte(i)})
	}
	r.watchesAll(chain, closed...)
	account := wallet.Address{50}
	chain.slot += aDay / 2
	chain.pay(account, sol)
	r.holds(chain, account, sol)
	chain.slot++
	r.Pass(25 * time.Hour)
	r.look()
	r.look()
	r.expect("1 SOL to bob")
	chain.pay(account, 2*sol)
	r.holds(chain, account, 3*sol)
	chain.pay(expected, 3*sol)
	r.holds(chain, expected, 3*sol)
	r.Pass(time.Hour)
	r.look()
	r.expect("1 SOL to bob", "2 SOL to bob", "3 SOL to bob")
	if n := len(r.watched().Accounts); n != 3 {
		t.Errorf("%d accounts are watched", n)
	}
	r.quiet()
}

// TestAnAccountThatClosedIsLetGoADayLater: it is read once more, and one that is opened again is watched again.
func TestAnAccountThatClosedIsLetGoADayLater(t *testing.T) {
	r, chain := withoutArchive(t, 0)
	account := wallet.Address{50}
	r.watchesAll(chain, account)
	chain.pay(account, sol)
	r.holds(chain, account, sol)
	r.Pass(time.Hour)
	r.look()
	r.closes(chain, account)
	r.Pass(time.Hour)
	r.look()
	for day, want := range []int{3, 2, 2} {
		chain.slot += 10
		r.Pass(25 * time.Hour)
		r.look()
		if n := len(r.watched().Accounts); n != want {
			t.Errorf("after %d days %d accounts are watched", day+1, n)
		}
	}
	chain.opens(r.bob.Address(), account)
	chain.pay(account, 2*sol)
	r.holds(chain, account, 2*sol)
	for range 2 {
		r.Pass(time.Hour)
		chain.slot++
		r.look()
	}
	r.expect("1 SOL to bob", "1 SOL to bob", "2 SOL to bob")
	r.quiet()
}

// closes lets an own transaction close an account.
func (r *watching) closes(chain *moneyLedger, account wallet.Address) {
	sig := chain.pay(account, 0)
	chain.paid[sig] = wallet.Activity{Signature: sig, Slot: chain.slot, Signed: true, Kind: wallet.ActivitySent,
		Changes: []wallet.BalanceChange{{Account: account, Pre: chain.balances[account]}}}
	delete(chain.tokens, account)
	delete(chain.balances, account)
}

// TestTheBoundOfAccountsIsLoggedOnce: and what came before is watched on.
func TestTheBoundOfAccountsIsLoggedOnce(t *testing.T) {
	r, chain := withoutArchive(t, 0)
	for i := range 300 {
		r.holds(chain, wallet.Address{51, byte(i), byte(i >> 8)}, 1)
	}
	for range 3 {
		chain.slot += 10
		r.Pass(25 * time.Hour)
		r.look()
	}
	if n := len(r.watched().Accounts); n != 256 {
		t.Errorf("%d accounts are watched", n)
	}
	if log := r.log.String(); strings.Count(log, "as many token accounts as are watched") != 1 {
		t.Error(log)
	}
	chain.pay(r.bob.Address(), sol)
	r.Pass(time.Hour)
	r.look()
	r.expect("1 SOL to bob")
}

// restless is a chain whose slot moves with each sweep.
type restless struct{ *moneyLedger }

func (c restless) Sweep(ctx context.Context, as []wallet.Address, min uint64) ([]wallet.AccountBalance, error) {
	c.mu.Lock()
	c.slot++
	c.mu.Unlock()
	return c.moneyLedger.Sweep(ctx, as, min)
}

// TestAFloodDuringADailyLookCostsLittleMore: 200 token accounts with 20 payments of dust each, and 2,000 to the wallet. Each
// is read about once, and each account is walked about once.
func TestAFloodDuringADailyLookCostsLittleMore(t *testing.T) {
	for name, swept := range map[string]bool{"unnoticed": false, "every balance moved": true} {
		t.Run(name, func(t *testing.T) {
			r, chain := onLedger(t)
			chain.tokens = map[wallet.Address]*wallet.TokenAccount{}
			var accounts []wallet.Address
			for i := range 200 {
				accounts = append(accounts, wallet.Address{51, byte(i)})
				r.holds(chain, accounts[i], 0)
			}
			r.watchesAll(chain, accounts...)
			for _, at := range accounts {
				for range 20 {
					chain.pay(at, map[bool]uint64{true: 1}[swept]) // or nothing, so that no balance moves
				}
			}
			for range 2000 {
				chain.pay(r.bob.Address(), 1)
			}
			r.Pass(25 * time.Hour)
			before := chain.total()
			chain.calls = map[string]int{}
			r.Watcher.Chain = restless{chain}
			r.look()
			most := map[bool]int{false: 8000, true: 12_500}[swept]
			if calls := chain.total(); calls > most || chain.calls["read"] < 6000 {
				t.Errorf("%d calls (%v) after %d", calls, chain.calls, before)
			}
			t.Log(chain.calls)
			if row := r.watched(); row.FullTo != 0 || row.FullSlot <= 1001 || row.Accounts[7].Slot < row.FullSlot {
				t.Errorf("the look was not complete: %d, %d", row.FullTo, row.FullSlot)
			}
		})
	}
}

// TestAHugeFloodIsListedOnce: what is listed is remembered in places to go on from, or each look would list the whole rest.
func TestAHugeFloodIsListedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 20,000 transactions")
	}
	r, chain := onLedger(t)
	for range 20_000 {
		chain.pay(r.bob.Address(), 1)
	}
	r.Pass(time.Minute)
	r.look()
	if pages := chain.calls["walk"]; pages > 3*200 {
		t.Errorf("%d pages of 1,000 were listed", pages)
	}
	if row := r.watched(); row.Accounts[0].Units != 20_000 || len(row.Accounts[0].Cursor) > 0 {
		t.Errorf("%+v", row.Accounts[0])
	}
}

// TestNoAccountWaitsForTheFloodOfOthers: eleven token accounts are flooded, and a payment comes into a twelfth.
func TestNoAccountWaitsForTheFloodOfOthers(t *testing.T) {
	r, chain := onLedger(t)
	chain.tokens = map[wallet.Address]*wallet.TokenAccount{}
	var accounts []wallet.Address
	for i := range 12 {
		accounts = append(accounts, wallet.Address{51, byte(i)})
		r.holds(chain, accounts[i], 0)
	}
	r.watchesAll(chain, accounts...)
	for i, at := range accounts[:11] {
		for range 300 {
			chain.pay(at, 1)
		}
		r.holds(chain, accounts[i], 300)
	}
	chain.pay(accounts[11], sol)
	r.holds(chain, accounts[11], sol)
	r.Pass(time.Minute)
	r.Must(r.Watcher.Sweep(t.Context()))
	for looks := 0; len(r.told()) == 0; looks++ {
		if looks == 12 {
			t.Fatalf("it waits behind the flood")
		}
		due := r.Due(r.Watcher, 1)
		before := chain.calls["read"]
		r.handle(due[0])
		if reads := chain.calls["read"] - before; reads > 210 {
			t.Errorf("one look read %d", reads)
		}
	}
	r.drain()
	r.expect("1 SOL to bob")
}
