package settle_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/wallet"
)

// leaky is a chain of two nodes, of which each leaves some transactions out of what it shows.
type leaky struct {
	*moneyLedger
	leaves [2]map[wallet.Signature]bool
	only   int // nodes that there are; 0: both
	walks  []wallet.HistoryQuery
}

func (c *leaky) Walk(ctx context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	c.walks = append(c.walks, q)
	if q.Skip >= len(c.leaves) || c.only > 0 && q.Skip >= c.only {
		return wallet.HistoryWalk{Next: q.From}, network(wallet.ErrHistoryGap)
	}
	walk, err := c.moneyLedger.Walk(ctx, q)
	walk.Entries = slices.DeleteFunc(slices.Clone(walk.Entries), func(e wallet.SignatureEntry) bool { return c.leaves[q.Skip][e.Signature] })
	walk.Node = q.Skip
	return walk, err
}

// TestATransactionThatIsLeftOutIsMissed: a node leaves one of three out of a page, and the balances before and after the
// others show it. The next node is asked, and if it does no better, the history waits for an hour.
func TestATransactionThatIsLeftOutIsMissed(t *testing.T) {
	for name, at := range map[string]int{"the oldest": 0, "in the middle": 1, "the newest": 2} {
		t.Run(name, func(t *testing.T) {
			for _, nodes := range []int{2, 1} {
				r, chain := onLedger(t)
				c := &leaky{moneyLedger: chain, only: nodes}
				r.Watcher.Chain = c
				r.Pass(time.Minute)
				var all []wallet.Signature
				for range 3 {
					all = append(all, chain.pay(r.bob.Address(), sol))
				}
				c.leaves[0] = map[wallet.Signature]bool{all[at]: true}
				r.look()
				if n := len(r.told()); n != nodes+1 {
					t.Errorf("%d nodes: announced are %d", nodes, n)
				}
				if nodes == 1 {
					if row := r.watched().Accounts[0]; row.Units != 0 || len(row.Mark.Seen) > 0 || row.DeniedSince.IsZero() {
						t.Errorf("it is believed: %+v", row)
					}
					r.Pass(10 * time.Minute)
					c.leaves[0] = nil
					r.drain()
				}
				r.expect("1 SOL to bob", "1 SOL to bob", "1 SOL to bob")
				if row := r.watched().Accounts[0]; row.Units != 3*sol || !row.DeniedSince.IsZero() {
					t.Errorf("%+v", row)
				}
				if strings.Contains(r.log.String(), "level=ERROR") {
					t.Error(r.log)
				}
			}
		})
	}
}

// TestFoldedPaymentsAreCountedOnce: while a node leaves a transaction out, each look reads the others again. Folded ones have no
// event by whose ID a repetition would be noticed.
func TestFoldedPaymentsAreCountedOnce(t *testing.T) {
	r, chain := onLedger(t)
	c := &leaky{moneyLedger: chain, only: 1}
	r.Watcher.Chain = c
	r.Pass(time.Minute)
	for range 5 {
		chain.pay(r.bob.Address(), 1)
	}
	c.leaves[0] = map[wallet.Signature]bool{chain.pay(r.bob.Address(), 1): true}
	chain.pay(r.bob.Address(), 1)
	r.look()
	for range 5 {
		r.Pass(time.Minute)
		r.drain()
	}
	if row, n := r.watched(), r.folded(r.bob.Address()); n != 0 || row.Accounts[0].DeniedSince.IsZero() {
		t.Errorf("%d are counted of a history that is read again: %+v", n, row.Accounts[0])
	}
	r.Pass(5 * time.Minute)
	c.leaves[0] = nil
	r.drain()
	if n := r.folded(r.bob.Address()); n != 7 {
		t.Errorf("%d of 7 are counted", n)
	}
}

// TestWhatNoNodeShowsIsGivenUpAfterAnHour: the wallet is watched on, and the operator is told.
func TestWhatNoNodeShowsIsGivenUpAfterAnHour(t *testing.T) {
	r, chain := onLedger(t)
	c := &leaky{moneyLedger: chain}
	r.Watcher.Chain = c
	r.Pass(time.Minute)
	gone := chain.pay(r.bob.Address(), sol)
	chain.pay(r.bob.Address(), 2*sol)
	other := chain.pay(r.bob.Address(), 3*sol)
	c.leaves = [2]map[wallet.Signature]bool{{gone: true}, {gone: true, other: true}}
	r.look()
	for range 55 {
		r.Pass(time.Minute)
		r.drain()
	}
	r.expect("2 SOL to bob", "3 SOL to bob") // what is shown is announced at once
	if row := r.watched(); row.Accounts[0].Units != 0 || strings.Contains(r.log.String(), "level=ERROR") {
		t.Errorf("%+v %s", row, r.log)
	}
	for range 10 {
		r.Pass(time.Minute)
		r.drain()
	}
	if row := r.watched(); row.Accounts[0].Units != 6*sol || row.Failures != 0 || !slices.Equal(row.Accounts[0].Mark.Seen, []wallet.Signature{other}) {
		t.Errorf("%+v", row)
	}
	if n := strings.Count(r.log.String(), "no node shows all transactions"); n != 1 {
		t.Errorf("the operator is told %d times", n)
	}
	chain.pay(r.bob.Address(), 4*sol)
	r.Pass(time.Hour)
	r.look()
	r.expect("2 SOL to bob", "3 SOL to bob", "4 SOL to bob")
}

// TestAFailedTransactionHidesNothing: anybody can name a wallet in a transaction that fails. It brought nothing, so a balance
// that rose around it is a gap.
func TestAFailedTransactionHidesNothing(t *testing.T) {
	for name, after := range map[string]int{"at the end": 0, "before another payment": 1} {
		t.Run(name, func(t *testing.T) {
			r, chain := onLedger(t)
			c := &leaky{moneyLedger: chain}
			r.Watcher.Chain = c
			r.Pass(time.Minute)
			bob := r.bob.Address()
			c.leaves[0] = map[wallet.Signature]bool{chain.pay(bob, sol): true}
			chain.pay(bob, 0)
			chain.history[bob][1].Failed = true
			want := []string{"1 SOL to bob"}
			for range after {
				chain.pay(bob, 2*sol)
				want = append(want, "2 SOL to bob")
			}
			r.look()
			r.expect(want...)
			if row := r.watched().Accounts[0]; row.Units != chain.balances[bob] || !row.DeniedSince.IsZero() {
				t.Errorf("%+v", row)
			}
		})
	}
}

// TestWhatMovesABalanceUnseenIsNoGap: fees of failed transactions that the wallet paid, transactions that cannot be read, and
// those of a walk that was cut.
func TestWhatMovesABalanceUnseenIsNoGap(t *testing.T) {
	r, chain := onLedger(t)
	h := &hiding{moneyLedger: chain}
	c := &leaky{moneyLedger: chain}
	r.Watcher.Chain = struct {
		*leaky
		activities
	}{c, h}
	r.Pass(time.Minute)
	bob := r.bob.Address()
	chain.pay(bob, sol)
	failed := chain.pay(bob, 0) // it costs a fee
	chain.history[bob][1].Failed = true
	chain.balances[bob] -= 5000
	chain.pay(bob, 2*sol)
	hidden := chain.pay(bob, 3*sol)
	h.hides = func(sig wallet.Signature) error {
		if sig == hidden {
			return &wallet.UnreadableTransaction{Signature: sig, Why: "garbage"}
		}
		if sig == failed {
			t.Error("a transaction that failed is read")
		}
		return nil
	}
	for range 150 {
		chain.pay(bob, 4*sol)
	}
	r.look()
	if n := len(r.told()); n != 152 {
		t.Errorf("%d are announced", n)
	}
	if row := r.watched(); row.Failures != 0 || row.Accounts[0].Units != chain.balances[bob] || !row.Accounts[0].DeniedSince.IsZero() {
		t.Errorf("%+v", row)
	}
	for _, q := range c.walks {
		if q.Skip > 0 {
			t.Error("another node was asked")
		}
	}
	// A failed transaction moves no tokens: of an account for them, what it leaves out shows.
	account := wallet.Address{50}
	chain.tokens = map[wallet.Address]*wallet.TokenAccount{}
	r.holds(chain, account, 0)
	r.watchesAll(chain, account)
	left := chain.pay(account, sol)
	chain.pay(account, 0)
	chain.history[account][1].Failed = true
	chain.pay(account, 0)
	c.leaves[0] = map[wallet.Signature]bool{left: true}
	h.hides = nil
	r.Pass(time.Minute)
	r.look()
	if n := len(r.told()); n != 154 { // with the one that can be read now
		t.Errorf("%d are announced", n)
	}
}

// activities is the part of a chain that reads transactions.
type activities interface {
	Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error)
}

// TestALossThatNothingCostIsAGap: a failed transaction costs the wallet its fee at most, up to the next that is read, and a token
// account nothing.
func TestALossThatNothingCostIsAGap(t *testing.T) {
	account := wallet.Address{50}
	for name, c := range map[string]struct {
		at      func(*watching) wallet.Address
		behind  int // payments between the failed one and the loss
		believe bool
	}{
		"a fee":                      {func(r *watching) wallet.Address { return r.bob.Address() }, 0, true},
		"a loss behind a payment":    {func(r *watching) wallet.Address { return r.bob.Address() }, 1, false},
		"a loss in a token account":  {func(*watching) wallet.Address { return account }, 0, false},
		"a loss behind one of these": {func(*watching) wallet.Address { return account }, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, chain := onLedger(t)
			chain.pay(account, 10*sol)
			r.watchesToo(chain, account)
			r.Pass(time.Minute)
			at := c.at(r)
			chain.pay(at, sol)
			chain.pay(at, 0)
			chain.history[at][len(chain.history[at])-1].Failed = true
			for range c.behind {
				chain.pay(at, 2*sol)
			}
			chain.balances[at] -= 5000
			r.look()
			row := r.watched()
			i := slices.IndexFunc(row.Accounts, func(a wallet.WatchedAccount) bool { return a.Address == at })
			if believed := row.Accounts[i].Units == chain.balances[at]; believed != c.believe {
				t.Errorf("believed %v: %+v", believed, row.Accounts[i])
			}
		})
	}
}
