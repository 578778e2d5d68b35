package settle_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// aDay is how many slots a day has, about, and kept how many of them nodes without an archive have.
const aDay, kept = 216_000, 2 * 216_000

// archiveless is a chain whose nodes keep the blocks of two days. It lists token accounts.
type archiveless struct{ *moneyLedger }

func (c archiveless) Walk(ctx context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	walk, err := c.moneyLedger.Walk(ctx, q)
	first := c.slot - min(c.slot, kept)
	older := func(e wallet.SignatureEntry) bool { return e.Slot < first }
	met := slices.ContainsFunc(c.history[q.Address], func(e wallet.SignatureEntry) bool {
		return !older(e) && (e.Slot < q.From.Slot || slices.Contains(q.From.Seen, e.Signature))
	})
	walk.Entries = slices.DeleteFunc(walk.Entries, older)
	if err == nil && !met && first > q.From.Slot {
		walk.Since, err = first, wallet.ErrHistoryPruned
	}
	return walk, err
}

func (c archiveless) TokenAccounts(_ context.Context, owner wallet.Address) (out []wallet.TokenAccount, _ error) {
	for _, account := range c.tokens {
		if account.Owner == owner {
			out = append(out, *account)
		}
	}
	return out, nil
}

// withoutArchive is a harness whose nodes keep the blocks of two days, and whose wallets have been watched for days.
func withoutArchive(t *testing.T, days int) (*watching, *moneyLedger) {
	t.Helper()
	r, chain := onLedger(t)
	chain.tokens = map[wallet.Address]*wallet.TokenAccount{}
	r.Must(r.Update(func(tx store.Tx) error { return tx.DropWatch(r.bob.Address()) }))
	r.Watcher.Chain = archiveless{chain}
	r.Watcher.Expected = []wallet.Token{usdcOf(r)}
	r.look()
	r.days(chain, days)
	return r, chain
}

func usdcOf(r *watching) wallet.Token { token, _ := r.Tokens.BySymbol("USDC"); return token }

// days lets days pass, each with its daily look.
func (r *watching) days(chain *moneyLedger, n int) {
	for range n {
		chain.slot += aDay
		r.Pass(24*time.Hour + time.Minute)
		r.look()
	}
}

// quiet fails if anything was logged.
func (r *watching) quiet() {
	r.Helper()
	if log := r.log.String(); log != "" {
		r.Error(log)
	}
}

// holds lets an account of Bob's have units.
func (r *watching) holds(chain *moneyLedger, at wallet.Address, units uint64) {
	chain.tokens[at] = &wallet.TokenAccount{Address: at, Owner: r.bob.Address(), Units: units}
}

// TestAFirstPaymentNeedsNoArchive: the account of a listed token is known to have been absent up to the last daily look, so
// nodes that keep the blocks since then show everything.
func TestAFirstPaymentNeedsNoArchive(t *testing.T) {
	r, chain := withoutArchive(t, 5)
	account := wallet.AssociatedAccount(r.bob.Address(), usdcOf(r).Mint, usdcOf(r).Program)
	if a := r.watched().Accounts[1]; a.Slot != chain.slot || a.Mark.Slot != a.Slot+1 {
		t.Errorf("it is known to be absent up to %+v", a)
	}
	chain.pay(account, sol)
	r.holds(chain, account, sol)
	r.Pass(time.Hour)
	r.look()
	r.expect("1 SOL to bob")
	r.quiet()
}

// TestAnAccountThatIsListedNeedsNoArchive: a token account of the wallet that none of its transactions shows.
func TestAnAccountThatIsListedNeedsNoArchive(t *testing.T) {
	r, chain := withoutArchive(t, 5)
	account := wallet.Address{50}
	chain.slot += aDay / 2
	chain.pay(account, sol)
	r.holds(chain, account, sol)
	r.days(chain, 1)
	r.look()
	r.expect("1 SOL to bob")
	r.quiet()
}

// opens lets a transaction of the wallet open one of its token accounts.
func (c *moneyLedger) opens(of, account wallet.Address) {
	sig := c.pay(of, sol)
	a := c.paid[sig]
	a.Opened, a.Accounts = []wallet.Address{account}, []wallet.Address{account}
	c.paid[sig] = a
	c.history[account] = append(c.history[account], wallet.SignatureEntry{Signature: sig, Slot: a.Slot, Finalized: true})
}

// TestAnAccountBeginsWithTheTransactionThatOpensIt: what is older is not asked for, and what came before the account was
// swept is announced, whether it is still there or not.
func TestAnAccountBeginsWithTheTransactionThatOpensIt(t *testing.T) {
	for name, gone := range map[string]bool{"there": false, "gone by the next sweep": true} {
		t.Run(name, func(t *testing.T) {
			r, chain := withoutArchive(t, 5)
			account := wallet.Address{50}
			chain.opens(r.bob.Address(), account)
			chain.pay(account, 2*sol)
			r.Pass(time.Hour)
			r.look()
			r.expect("1 SOL to bob")
			if r.holds(chain, account, 2*sol); gone {
				r.closes(chain, account)
			}
			chain.slot++
			r.Pass(time.Hour)
			r.look()
			r.expect("1 SOL to bob", "2 SOL to bob")
			r.quiet()
		})
	}
}

// TestABlockThatIsGoneHidesNothingThatIsThere: a second node that is down does not keep what the first one has from being
// announced, once waiting did not help.
func TestABlockThatIsGoneHidesNothingThatIsThere(t *testing.T) {
	r := newWatching(t)
	m := r.moody()
	r.Fund(r.bob.Address(), sol)
	m.walk = func(_ wallet.HistoryQuery, found wallet.HistoryWalk, _ error) (wallet.HistoryWalk, error) {
		found.Since = 1 << 30
		return found, joined{network(wallet.ErrHistoryPruned), network(context.DeadlineExceeded)}
	}
	r.final()
	r.expect()
	r.Pass(61 * time.Minute)
	r.drain()
	r.expect("1 SOL to bob")
}

// joined is an error about two nodes.
type joined [2]error

func (j joined) Error() string   { return j[0].Error() + "; " + j[1].Error() }
func (j joined) Unwrap() []error { return j[:] }
