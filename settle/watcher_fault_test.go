package settle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"purser/sandbox/solana"
	"purser/settle"
	"purser/store"
	"purser/wallet"
)

// moody is a chain whose nodes fail as a test wants.
type moody struct {
	settle.WatchedChain
	walk     func(wallet.HistoryQuery, wallet.HistoryWalk, error) (wallet.HistoryWalk, error)
	activity func(wallet.Signature, []wallet.Activity, error) ([]wallet.Activity, error)
	sweep    func() error
	walks    []wallet.HistoryQuery
	reads    int
}

func (m *moody) Sweep(ctx context.Context, as []wallet.Address, min uint64) ([]wallet.AccountBalance, error) {
	if m.sweep != nil {
		if err := m.sweep(); err != nil {
			return nil, err
		}
	}
	return m.WatchedChain.Sweep(ctx, as, min)
}

func (m *moody) Walk(ctx context.Context, q wallet.HistoryQuery) (wallet.HistoryWalk, error) {
	m.walks = append(m.walks, q)
	out, err := m.WatchedChain.Walk(ctx, q)
	if m.walk != nil {
		return m.walk(q, out, err)
	}
	return out, err
}

func (m *moody) Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error) {
	m.reads++
	out, err := m.WatchedChain.Activities(ctx, sig, owners...)
	if m.activity != nil {
		return m.activity(sig, out, err)
	}
	return out, err
}

// moody puts a chain that may fail between the watcher and the cluster.
func (r *watching) moody() *moody {
	m := &moody{WatchedChain: r.Watcher.Chain}
	r.Watcher.Chain = m
	return m
}

func network(err error) error { return fmt.Errorf("a node: %w", err) }

func TestNoFailureOfANodeIsNoNews(t *testing.T) {
	for _, cause := range []error{wallet.ErrNothingNew, wallet.ErrNodeBehind, wallet.ErrHistoryPruned, wallet.ErrHistoryUnknown, errors.New("no answer")} {
		t.Run(cause.Error(), func(t *testing.T) {
			r := newWatching(t)
			m := r.moody()
			r.Fund(r.bob.Address(), sol)
			m.walk = func(q wallet.HistoryQuery, _ wallet.HistoryWalk, _ error) (wallet.HistoryWalk, error) {
				return wallet.HistoryWalk{Next: q.From, Since: 1 << 30}, network(cause)
			}
			r.final()
			r.expect()
			for range 4 { // patience
				r.Pass(14 * time.Minute)
				r.drain()
			}
			r.expect()
			m.walk = nil
			r.Pass(time.Minute)
			r.drain()
			r.expect("1 SOL to bob")
			if !m.walks[len(m.walks)-1].Changed || !m.walks[0].Finalized || m.walks[0].MinSlot == 0 {
				t.Errorf("asked %+v", m.walks)
			}
			r.final()
			r.expect("1 SOL to bob")
		})
	}
}

// TestAWalletIsWatchedOnAfterWhatIsLost: when nodes have thrown blocks away, what is left is announced, and the rest is
// logged.
func TestAWalletIsWatchedOnAfterWhatIsLost(t *testing.T) {
	for _, cause := range []error{wallet.ErrHistoryPruned, wallet.ErrHistoryUnknown} {
		for _, left := range []int{0, 1} {
			t.Run(fmt.Sprint(cause, left), func(t *testing.T) {
				r := newWatching(t)
				m := r.moody()
				r.Fund(r.bob.Address(), 2*sol)
				r.Fund(r.bob.Address(), sol)
				m.walk = func(q wallet.HistoryQuery, found wallet.HistoryWalk, err error) (wallet.HistoryWalk, error) {
					found.Entries = found.Entries[len(found.Entries)-left:]
					found.Since = 1 << 30
					return found, network(cause)
				}
				r.final()
				r.expect()
				r.Pass(time.Hour)
				r.drain()
				want := []string{"1 SOL to bob"}[:left]
				r.expect(want...)
				if !strings.Contains(r.log.String(), "a part of a wallet's history is lost") {
					t.Error(r.log)
				}
				m.walk = nil
				r.final()
				r.expect(want...)
				r.Fund(r.bob.Address(), 5*sol)
				r.final()
				r.expect(append(want, "5 SOL to bob")...)
			})
		}
	}
}

// TestBlocksBeforeTheLastLookAreNotMissed: a quiet wallet's last transaction is older than what nodes keep. That is no gap.
func TestBlocksBeforeTheLastLookAreNotMissed(t *testing.T) {
	r := newWatching(t)
	r.Fund(r.bob.Address(), sol)
	r.final()
	r.expect("1 SOL to bob")
	r.Pass(25 * time.Hour)
	r.final() // all is read up to here
	m := r.moody()
	m.walk = func(q wallet.HistoryQuery, found wallet.HistoryWalk, err error) (wallet.HistoryWalk, error) {
		if len(q.From.Seen) == 0 {
			return found, err
		}
		found.Since = q.From.Slot + 1 // its own block is gone, and nothing else
		return found, network(wallet.ErrHistoryPruned)
	}
	r.Fund(r.bob.Address(), 2*sol)
	r.final()
	r.expect("1 SOL to bob", "2 SOL to bob")
	m.walk = func(q wallet.HistoryQuery, found wallet.HistoryWalk, err error) (wallet.HistoryWalk, error) {
		if len(q.From.Seen) == 0 {
			return found, err
		}
		return wallet.HistoryWalk{Next: q.From, Since: q.From.Slot + 1}, network(wallet.ErrHistoryPruned)
	}
	r.Pass(25 * time.Hour)
	r.final()
	if strings.Contains(r.log.String(), "level=") {
		t.Error(r.log)
	}
	m.walk = nil
	r.Fund(r.bob.Address(), 3*sol)
	r.final()
	r.expect("1 SOL to bob", "2 SOL to bob", "3 SOL to bob")
}

// TestABalanceThatMovesByItselfDoesNotStayOpen: a validator's fees come without a transaction. A wallet's balance moves, no
// node ever shows why, and the wallet is watched on.
func TestABalanceThatMovesByItselfDoesNotStayOpen(t *testing.T) {
	r := newWatching(t)
	m := r.moody()
	m.walk = func(q wallet.HistoryQuery, found wallet.HistoryWalk, err error) (wallet.HistoryWalk, error) {
		if q.Address != r.bob.Address() {
			return found, err
		}
		if q.Changed {
			return wallet.HistoryWalk{Next: q.From}, network(wallet.ErrNothingNew)
		}
		return wallet.HistoryWalk{Next: q.From}, nil
	}
	r.Fund(r.bob.Address(), sol)
	r.final()
	for range 5 {
		r.Pass(12 * time.Minute)
		r.drain()
	}
	calls := len(m.walks)
	r.final()
	r.final()
	if calls != 6 || len(m.walks) != calls {
		t.Errorf("%d walks, then %d", calls, len(m.walks))
	}
	r.View(func(tx store.Tx) error {
		row, err := tx.Watch(r.bob.Address())
		if a := row.Accounts[0]; a.Units != r.Cluster.Balance(r.bob.Address().String()) || !a.DeniedSince.IsZero() || row.Failures != 0 {
			t.Errorf("%+v", row)
		}
		return err
	})
	m.walk = nil // and the daily look finds what was hidden
	r.Pass(25 * time.Hour)
	r.final()
	r.expect("1 SOL to bob")
}

// TestOneThatCannotBeReadHidesNoOther: it is tried again, and announced when a node shows it.
func TestOneThatCannotBeReadHidesNoOther(t *testing.T) {
	for name, cause := range map[string]error{"garbage": &wallet.UnreadableTransaction{Why: "garbage"}, "unknown": network(wallet.ErrTransactionUnknown)} {
		t.Run(name, func(t *testing.T) {
			r := newWatching(t)
			m := r.moody()
			var first wallet.Signature
			r.Fund(r.bob.Address(), 2*sol)
			r.Fund(r.bob.Address(), sol)
			m.activity = func(sig wallet.Signature, out []wallet.Activity, err error) ([]wallet.Activity, error) {
				if first.IsZero() {
					first = sig
				}
				if sig == first {
					return nil, cause
				}
				return out, err
			}
			r.final()
			r.expect("1 SOL to bob")
			reads := m.reads
			r.final()
			if m.reads != reads {
				t.Error("it is tried again at once")
			}
			r.Pass(2 * time.Minute)
			r.final()
			if m.reads != reads+1 {
				t.Errorf("%d tries after two minutes", m.reads-reads)
			}
			m.activity = nil
			r.Pass(12 * time.Hour)
			r.final()
			r.expect("1 SOL to bob", "2 SOL to bob")
			r.Pass(12 * time.Hour)
			r.final()
			r.expect("1 SOL to bob", "2 SOL to bob")
		})
	}
	t.Run("for ever", func(t *testing.T) {
		r := newWatching(t)
		m := r.moody()
		r.Fund(r.bob.Address(), sol)
		tries := uint64(0)
		m.activity = func(sig wallet.Signature, out []wallet.Activity, err error) ([]wallet.Activity, error) {
			tries++
			out[0].Slot += tries // another block than the history says, and than it said before
			return out, err
		}
		r.final()
		for range 40 {
			r.Pass(6 * time.Hour)
			r.look()
		}
		r.expect()
		if strings.Count(r.log.String(), "was never shown") != 1 {
			t.Error(r.log)
		}
		m.activity = nil
		reads := m.reads
		r.final()
		r.Pass(12 * time.Hour)
		r.final()
		if m.reads != reads {
			t.Error("it is tried after it was given up")
		}
	})
}

// TestAFailureInTheMiddleLosesNothing: what was read before it is announced, and the rest afterwards.
func TestAFailureInTheMiddleLosesNothing(t *testing.T) {
	r := newWatching(t)
	m := r.moody()
	for i := range uint64(4) {
		r.Fund(r.bob.Address(), (i+1)*sol)
	}
	m.activity = func(_ wallet.Signature, out []wallet.Activity, err error) ([]wallet.Activity, error) {
		if m.reads > 2 {
			return nil, network(errors.New("no answer"))
		}
		return out, err
	}
	r.final()
	r.expect("1 SOL to bob", "2 SOL to bob")
	m.activity = nil
	r.Fund(r.bob.Address(), 5*sol)
	r.Blocks(40)
	r.Pass(time.Minute)
	r.drain() // with balances of its own, not those of the order
	r.expect("1 SOL to bob", "2 SOL to bob", "3 SOL to bob", "4 SOL to bob", "5 SOL to bob")
	if m.reads != 6 {
		t.Errorf("%d reads", m.reads)
	}
}

// TestADamagedWatchBeginsAnew: nobody knows how far the wallet was read. It is watched from now on, and the operator is told.
func TestADamagedWatchBeginsAnew(t *testing.T) {
	r := newWatching(t)
	r.Pass(48 * time.Hour)
	r.look()
	bob := r.bob.Address()
	r.Damage(bob[:], `"full_at"`)
	if err := r.Store.View(r.Context(), func(tx store.Tx) error { _, err := tx.Watch(bob); return err }); !errors.Is(err, store.ErrDamaged) {
		t.Fatalf("the row is not damaged: %v", err)
	}
	r.Fund(bob, sol)
	r.final()
	r.expect()
	if n := strings.Count(r.log.String(), "it is watched from now on, and payments since its last look are not announced"); n != 1 {
		t.Errorf("the operator is told %d times: %s", n, r.log)
	}
	r.Fund(bob, 2*sol)
	r.final()
	r.expect("2 SOL to bob")
}

// TestEveryTransferIsAnnouncedOnce lets random payments of SOL and tokens come while nodes fail, blocks are abandoned, and
// the watcher is killed and started again.
func TestEveryTransferIsAnnouncedOnce(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { announcedOnce(t, rand.New(rand.NewPCG(seed, 14))) })
	}
}

func announcedOnce(t *testing.T, dice *rand.Rand) {
	r := newWatching(t)
	all := []wallet.Address{r.alice.Address(), r.bob.Address()}
	for i := range 6 { // of people, and of an operator's key
		w := wallet.Wallet{Address: r.Stranger(), KeyLineage: "key_1", ConnectedAt: r.Now()}
		if i%2 == 0 {
			w.Owner, w.KeyLineage = r.bob.User.ID, ""
		}
		r.Must(r.Update(func(tx store.Tx) error { return tx.PutWallet(w) }))
		all = append(all, w.Address)
	}
	r.final()
	held := map[string]uint64{}
	kinds := []string{"", solana.USDC, solana.FEE}
	holds := func(at wallet.Address, token string) uint64 {
		if token == "" {
			return r.Cluster.Balance(at.String())
		}
		return r.Cluster.TokenBalance(at.String(), token)
	}
	for _, at := range all {
		for _, token := range kinds {
			held[at.String()+token] = holds(at, token)
		}
	}
	m := r.moody()
	inner := m.WatchedChain
	fault := func() error {
		causes := []error{wallet.ErrNodeBehind, wallet.ErrNothingNew, wallet.ErrHistoryPruned, wallet.ErrHistoryUnknown, errors.New("no answer")}
		if dice.IntN(4) > 0 {
			return nil
		}
		return network(causes[dice.IntN(len(causes))])
	}
	moods := func() {
		m.sweep = func() error {
			if dice.IntN(5) == 0 {
				return network(errors.New("no answer"))
			}
			return nil
		}
		m.walk = func(q wallet.HistoryQuery, out wallet.HistoryWalk, err error) (wallet.HistoryWalk, error) {
			if f := fault(); f != nil && err == nil {
				return wallet.HistoryWalk{Next: q.From, Since: 1 << 40}, f
			}
			return out, err
		}
		m.activity = func(sig wallet.Signature, out []wallet.Activity, err error) ([]wallet.Activity, error) {
			switch dice.IntN(6) {
			case 0:
				return nil, network(errors.New("cut off"))
			case 1:
				return nil, &wallet.UnreadableTransaction{Signature: sig, Why: "garbage"}
			}
			return out, err
		}
	}
	moods()
	for range 60 {
		for range dice.IntN(4) {
			to, units := all[dice.IntN(len(all))].String(), uint64(1_000_000+dice.IntN(1_000_000_000))
			var err error
			if token := kinds[dice.IntN(len(kinds))]; token == "" {
				_, err = r.Cluster.Airdrop(context.Background(), to, units)
			} else {
				_, err = r.Cluster.AirdropToken(context.Background(), to, token, units)
			}
			r.Must(err)
		}
		r.Blocks(1 + dice.IntN(12))
		if dice.IntN(8) == 0 {
			r.Must(r.Cluster.Fork(1 + dice.IntN(20)))
		}
		r.Pass(time.Duration(dice.IntN(40)) * time.Second)
		if dice.IntN(4) == 0 {
			r.restart()
			r.Watcher.Chain = m
		}
		_ = r.Watcher.Sweep(context.Background())
		r.killed(dice)
	}
	m.sweep, m.walk, m.activity = nil, nil, nil
	r.Watcher.Chain = inner
	r.Blocks(40)
	for range 3 {
		r.Pass(25 * time.Hour)
		r.look()
	}
	r.balanced(all, kinds, held, holds)
}

// killed handles what is due, and ends now and then before, or instead of, the commit.
func (r *watching) killed(dice *rand.Rand) {
	for range 3 {
		due := r.Due(r.Watcher, 10)
		for _, job := range due {
			switch dice.IntN(5) {
			case 0: // killed with the job in hand: the next start releases it
				r.Must(r.Update(func(tx store.Tx) error { return tx.ReleaseNode("main") }))
				return
			case 1: // the commit fails, and the job is handled again later
				_, _ = r.Watcher.Handle(context.Background(), job)
				r.Must(r.Update(func(tx store.Tx) error { return tx.RetryJobs(r.Now().Add(time.Second), job.Ref()) }))
			default:
				r.handle(job)
			}
		}
	}
}

// balanced checks that receipts add up to what every wallet gained, one for each transaction that landed and token.
func (r *watching) balanced(all []wallet.Address, kinds []string, held map[string]uint64, holds func(wallet.Address, string) uint64) {
	r.Helper()
	gained, count := map[string]uint64{}, 0
	events := map[wallet.TransactionID]int{}
	r.View(func(tx store.Tx) error {
		for _, at := range all {
			rows, err := tx.TransactionsAt(at, store.Page{Limit: 10_000})
			r.Must(err)
			for _, t := range rows {
				symbol := t.Token.Symbol
				if t.Token.Native() {
					symbol = ""
				}
				gained[at.String()+symbol] += t.Amount
				count++
				if t.Status != wallet.Received {
					r.Errorf("%s is %s", t.ID, t.Status)
				}
			}
		}
		pending, err := tx.PendingEvents(100_000)
		for _, e := range pending {
			if e.Name == wallet.TransactionReceived {
				events[e.Transaction]++
			}
		}
		return err
	})
	for _, at := range all {
		for _, token := range kinds {
			key := at.String() + token
			if want := holds(at, token) - held[key]; gained[key] != want {
				r.Errorf("%s of %q gained %d, announced %d", at, token, want, gained[key])
			}
		}
	}
	for id, n := range events {
		if n != 1 {
			r.Errorf("%s was announced %d times", id, n)
		}
	}
	if count < 20 {
		r.Errorf("only %d transfers", count)
	}
}
