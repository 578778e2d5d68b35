package settle_test

import (
	"slices"
	"testing"
	"time"

	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// whispers are hints that a test gives, and the accounts that were asked for.
type whispers struct {
	out   chan wallet.AccountHint
	asked []wallet.AccountHint
}

func (w *whispers) WatchAccount(h wallet.AccountHint)       { w.asked = append(w.asked, h) }
func (w *whispers) AccountHints() <-chan wallet.AccountHint { return w.out }
func (w *whispers) about(account, owner wallet.Address, times int) {
	for range times {
		w.out <- wallet.AccountHint{Account: account, Owner: owner}
	}
}

// whispered watches Bob's and Carol's wallets, each swept once a minute, with hints for some accounts.
func whispered(t *testing.T, subscriptions int) (*watching, *moneyLedger, *whispers) {
	r, chain := onLedger(t)
	hints := &whispers{out: make(chan wallet.AccountHint, 1000)}
	r.Watcher.Hints, r.Watcher.Subscriptions = hints, subscriptions
	r.Watcher.Pace = settle.DefaultWatchPace(1)
	return r, chain, hints
}

// TestAHintHasAWalletSweptEarly: within the next pass, but never more often than one that moves, whoever hints and how often.
func TestAHintHasAWalletSweptEarly(t *testing.T) {
	r, chain, hints := whispered(t, 500)
	pass := r.Watcher.Passes()
	sweeps := func(after time.Duration) int {
		t.Helper()
		r.Pass(after)
		before := chain.calls["sweep"]
		r.Must(pass(t.Context()))
		return chain.calls["sweep"] - before
	}
	bob := r.bob.Address()
	if n := sweeps(0); n != 1 {
		t.Fatalf("the first pass sweeps %d times", n)
	}
	if n := sweeps(20 * time.Second); n != 0 {
		t.Fatalf("a quiet wallet is swept %d times after 20 s", n)
	}
	chain.pay(bob, sol)
	hints.about(wallet.Address{9}, bob, 1) // one of his token accounts
	if n := sweeps(time.Second); n != 1 {
		t.Fatalf("after a hint it is swept %d times", n)
	}
	r.drain()
	r.expect("1 SOL to bob")
	// A flood of hints of one who lies, also about wallets that nobody has.
	total := 0
	for range 60 {
		hints.about(bob, bob, 5)
		hints.about(wallet.Address{7}, wallet.Address{7}, 5)
		total += sweeps(time.Second)
		r.drain()
	}
	if total != 5 { // four times 15 s, and once in its turn Alice's wallet, of which nobody hints
		t.Errorf("in a minute of hints there are %d sweeps", total)
	}
	r.expect("1 SOL to bob")
}

// TestAHintBeforeTheBalanceIsThere: the node that is asked may be behind the one that hints. The wallet is swept as if it had
// moved.
func TestAHintBeforeTheBalanceIsThere(t *testing.T) {
	r, chain, hints := whispered(t, 500)
	pass := r.Watcher.Passes()
	r.Must(pass(t.Context()))
	bob := r.bob.Address()
	r.Pass(20 * time.Second)
	hints.about(bob, bob, 1)
	r.Must(pass(t.Context()))
	r.drain()
	r.expect()
	chain.pay(bob, sol)
	r.Pass(15 * time.Second)
	r.Must(pass(t.Context()))
	r.drain()
	r.expect("1 SOL to bob")
}

// TestHintsAreAskedForTheFirstWalletsAndForThoseThatMove, and not again at each sweep.
func TestHintsAreAskedForTheFirstWalletsAndForThoseThatMove(t *testing.T) {
	r, chain, hints := whispered(t, 0)
	pass := r.Watcher.Passes()
	r.Must(pass(t.Context()))
	if len(hints.asked) != 0 {
		t.Errorf("asked without a subscription to give: %v", hints.asked)
	}
	bob := r.bob.Address()
	chain.pay(bob, sol)
	r.Pass(time.Minute)
	r.Must(pass(t.Context()))
	r.drain()
	if !slices.Contains(hints.asked, wallet.AccountHint{Account: bob, Owner: bob}) || len(hints.asked) > 8 {
		t.Errorf("of one that moved: %v", hints.asked)
	}
	for _, h := range hints.asked {
		if h.Owner != bob {
			t.Errorf("of one that did not move: %v", h)
		}
	}

	r, _, hints = whispered(t, 500)
	pass = r.Watcher.Passes()
	token := wallet.Address{9}
	r.Must(r.Update(func(tx store.Tx) error {
		row, err := tx.Watch(r.bob.Address())
		r.Must(err)
		row.Accounts = append(row.Accounts, wallet.WatchedAccount{Address: token, Slot: row.Accounts[0].Slot, Mark: row.Accounts[0].Mark})
		return tx.PutWatch(row)
	}))
	for range 3 {
		r.Must(pass(t.Context()))
		r.Pass(time.Minute)
	}
	seen := map[wallet.AccountHint]bool{}
	for _, h := range hints.asked {
		if seen[h] {
			t.Errorf("asked again: %v", h)
		}
		seen[h] = true
	}
	if bob := r.bob.Address(); !seen[wallet.AccountHint{Account: bob, Owner: bob}] || !seen[wallet.AccountHint{Account: token, Owner: bob}] {
		t.Errorf("not asked: %v", hints.asked)
	}
}
