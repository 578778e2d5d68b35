package settle_test

import (
	"context"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// crowded is a ledger whose node lists token accounts that a test gives a wallet.
type crowded struct {
	*moneyLedger
	list []wallet.TokenAccount
}

func (c *crowded) TokenAccounts(context.Context, wallet.Address) ([]wallet.TokenAccount, error) {
	return c.list, nil
}

// opens gives Bob an account of a token.
func (c *crowded) opens(at, owner, mint wallet.Address) {
	account := wallet.TokenAccount{Address: at, Owner: owner, Mint: mint}
	c.tokens[at] = &account
	c.list = append(c.list, account)
}

// pays pays base units of a listed token into an account.
func (c *crowded) pays(at wallet.Address, token wallet.Token, units uint64) {
	c.slot += 10
	sig := c.pay(at, units)
	a := c.paid[sig]
	a.Net = []wallet.NetChange{{Token: token, Units: units, Explained: true}}
	a.Accounts, a.Mentions = []wallet.Address{at}, []wallet.Address{at}
	c.paid[sig] = a
}

func onCrowd(t *testing.T) (*watching, *crowded, wallet.Token, wallet.Address) {
	t.Helper()
	r, ledger := onLedger(t)
	c := &crowded{moneyLedger: ledger}
	c.tokens = map[wallet.Address]*wallet.TokenAccount{}
	r.Watcher.Chain, r.Watcher.Expected = c, nil
	token, ok := r.Tokens.BySymbol("FEE")
	if !ok {
		t.Fatal("FEE is not listed")
	}
	return r, c, token, wallet.AssociatedAccount(r.bob.Address(), token.Mint, token.Program)
}

// TestAClockThatWasAheadDelaysNothing: a machine that looks once while its clock is a year ahead goes on with its daily readings when
// the clock is right again.
func TestAClockThatWasAheadDelaysNothing(t *testing.T) {
	r, c, token, at := onCrowd(t)
	const year = 365 * 24 * time.Hour
	r.Pass(year)
	c.slot += 10
	r.look() // a daily reading, in next year
	r.Pass(-year)
	c.opens(at, r.bob.Address(), token.Mint)
	c.pays(at, token, 5_000_000)
	r.restart()
	r.Watcher.Chain, r.Watcher.Expected = c, nil
	for range 2 {
		r.Pass(25 * time.Hour)
		c.slot += 10
		r.look()
	}
	if told := r.told(); len(told) != 1 {
		t.Errorf("announced after two days: %q", told)
	}
}

// TestListedTokensHaveRoom: a stranger who opens hundreds of accounts of worthless tokens for a wallet keeps no listed token from being watched.
func TestListedTokensHaveRoom(t *testing.T) {
	r, c, token, at := onCrowd(t)
	for i := range 300 {
		c.opens(wallet.Address{60, byte(i), byte(i >> 8), 1}, r.bob.Address(), wallet.Address{201, byte(i), byte(i >> 8)})
	}
	r.Pass(25 * time.Hour)
	c.slot += 10
	r.look()
	if n := len(r.watched().Accounts); n != 256 {
		t.Fatalf("%d accounts are watched", n)
	}
	c.opens(at, r.bob.Address(), token.Mint)
	for range 3 {
		c.pays(at, token, 5_000_000_000)
		for range 3 {
			r.Pass(25 * time.Hour)
			c.slot += 10
			r.look()
		}
	}
	if told := r.told(); len(told) != 3 {
		t.Errorf("announced: %q", told)
	}
	if n := len(r.watched().Accounts); n > 256 {
		t.Errorf("%d accounts are watched", n)
	}
}

// timed is a ledger whose node tells the time of each block but some.
type timed struct {
	*moneyLedger
	at map[wallet.Signature]time.Time
}

func (c *timed) History(ctx context.Context, at wallet.Address, before wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error) {
	page, more, err := c.moneyLedger.History(ctx, at, before, limit)
	for i := range page {
		page[i].At = c.at[page[i].Signature]
	}
	return page, more, err
}

// TestABlockWithoutATimeHidesNothing: blockTime may be null. What is older than such a block and newer than the connection is announced all the same.
func TestABlockWithoutATimeHidesNothing(t *testing.T) {
	for _, known := range []bool{true, false} {
		r, ledger := onLedger(t)
		c := &timed{ledger, map[wallet.Signature]time.Time{}}
		r.Watcher.Chain = c
		pay := func(lamports uint64, known bool) {
			r.Pass(30 * time.Second)
			if sig := c.pay(r.bob.Address(), lamports); known {
				c.at[sig] = r.Now()
			}
		}
		pay(7*sol, true)
		r.look()
		r.Must(r.Update(func(tx store.Tx) error { return tx.DeleteWallet(r.bob.Address()) }))
		r.Pass(time.Minute)
		r.Connect(r.bob)
		before := len(r.told())
		pay(2*sol, true)
		pay(3*sol, true)
		pay(1, known)
		for _, later := range []time.Duration{5 * time.Minute, time.Minute, 25 * time.Hour} {
			r.Pass(later)
			c.slot += 5
			r.look()
		}
		if told := r.told()[before:]; len(told) != 2 {
			t.Errorf("with the time of the newest block known %v, announced: %q", known, told)
		}
	}
}
