package settle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// WatchedChain is what the Watcher needs of Solana. An error means that the state on chain is unknown, never that nothing
// happened. package wallet describes the errors of Walk (ErrHistoryPruned and so on).
type WatchedChain interface {
	// Sweep reads finalized balances, 100 with each call, from nodes that have come to minSlot.
	Sweep(ctx context.Context, accounts []wallet.Address, minSlot uint64) ([]wallet.AccountBalance, error)
	// Walk lists what is new in the history of an account.
	Walk(ctx context.Context, query wallet.HistoryQuery) (wallet.HistoryWalk, error)
	// History lists the newest transactions of an account, confirmed ones too.
	History(ctx context.Context, account wallet.Address, before wallet.Signature, limit int) ([]wallet.SignatureEntry, bool, error)
	// Activities reads what one confirmed transaction did for each of some owners.
	Activities(ctx context.Context, signature wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error)
	// TokenAccounts lists the token accounts of an owner, confirmed ones too.
	TokenAccounts(ctx context.Context, owner wallet.Address) ([]wallet.TokenAccount, error)
}

// AccountHints tells which accounts may have changed. A hint makes a wallet due for its next sweep, and nothing else follows from
// it: it may be wrong, late, repeated or missing.
type AccountHints interface {
	// WatchAccount asks for hints about an account. It never blocks. The one that was asked for first may give way.
	WatchAccount(wallet.AccountHint)
	AccountHints() <-chan wallet.AccountHint
}

// WatchPace sets how often wallets are looked at.
type WatchPace struct {
	Tick time.Duration // between two passes of the sweep over what is due
	Soon time.Duration // between sweeps of a wallet that moved lately
	Full time.Duration // between readings of a wallet's whole new history, whether a balance moved or not
	// Calls is how many sweeping calls a minute the wallets that are quiet may cost together. It sets how long they wait.
	Calls int
	Retry time.Duration // first wait after a node failed; it doubles up to MaxRetry
	// MaxRetry is the longest such wait.
	MaxRetry time.Duration
	// Stakes is the longest time between two looks at a wallet's stakes. Most looks come when an epoch should have ended.
	Stakes time.Duration
}

// DefaultWatchPace suits the rate limits of a public node. calls is watch.calls_per_minute.
func DefaultWatchPace(calls int) WatchPace {
	return WatchPace{Tick: 5 * time.Second, Soon: 15 * time.Second, Full: 24 * time.Hour, Calls: calls, Retry: 2 * time.Second, MaxRetry: time.Minute, Stakes: time.Hour}
}

const (
	// watchLead is the name of the role of the node that sweeps, and watchLease how long the others wait for it.
	watchLead  = "watch"
	watchLease = 30 * time.Second
)

// Watcher announces what comes into connected wallets (docs/decisions/0038). Any number of nodes may run one on the same
// store. One of them, the leader, sweeps the balances and orders a look at each wallet that moved (sweep.go). The looks
// are jobs: whichever node claims one reads the wallet's new transactions (look_wallet.go) and writes what follows from them in
// the Update that ends the job (incoming.go). Set all exported fields before Run.
type Watcher struct {
	Store store.Store
	Chain WatchedChain
	// Arriving shows payments in chat before they are final (arriving.go); nil: they are not shown.
	Arriving ArrivingChain
	// Stakes is where stakes are read; nil: they are not watched.
	Stakes StakesChain
	// Hints has wallets swept early whose accounts may have changed; nil: each is swept in its time.
	Hints AccountHints
	// Subscriptions is for how many accounts hints are asked before they move.
	Subscriptions int
	// Listed finds a token of the list by its mint.
	Listed func(mint wallet.Address) (wallet.Token, bool)
	// Expected are tokens that a wallet is watched for before it has an account for them: the payment that opens it need
	// not touch the wallet's own balance.
	Expected []wallet.Token
	// Background marks calls for which nobody waits; nil: they are not marked.
	Background func(context.Context) context.Context
	Now        func() time.Time
	After      func(time.Duration) <-chan time.Time // nil: time.After
	Log        *slog.Logger
	Pace       WatchPace
	Node       string // name of this process in its job leases

	Random io.Reader // jitter of the waits after failures; see work.Schedule

	epoch sharedEpoch
}

// Run works until ctx ends, then returns nil. It returns an error only when a commit has an unknown outcome or the store
// is closed. The process must then stop.
func (w *Watcher) Run(ctx context.Context) error {
	if w.Pace.Calls == 0 {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, pool := range w.Pools() {
		group.Go(func() error { return pool.Run(ctx) })
	}
	leader := &work.Leader{Store: w.Store, Name: watchLead, Node: w.Node, Lease: watchLease, Now: w.Now, Log: w.Log}
	group.Go(func() error { return leader.Run(ctx, w.lead) })
	return group.Wait()
}

// watcherQueue is a queue that the Watcher empties. Each has a pool of its own, so that no kind of work waits for another.
type watcherQueue struct {
	queue    store.Queue
	width    int // jobs that one node does together
	perOwner int // jobs of one owner on all nodes together
	handle   work.Handle
}

func (w *Watcher) queues() []watcherQueue {
	return []watcherQueue{
		{store.WalletScans, 16, 4, w.scan},
		{store.ArrivalSearches, 4, 2, w.search},
		{store.ArrivingPayments, 4, 2, w.follow},
		{store.StakeChecks, 4, 2, w.stakes},
		{store.FoldedSummaries, 2, 1, w.sumUp},
	}
}

// Pools returns the worker pools that Run starts: one for each queue. None of them gives up: it is people's money.
func (w *Watcher) Pools() (out []*work.Pool) {
	for _, q := range w.queues() {
		out = append(out, &work.Pool{Store: w.Store, Queue: q.queue, Node: w.Node, Width: q.width, Window: min(window, q.width), PerOwner: q.perOwner, Lease: lease,
			Schedule: work.Schedule{First: w.Pace.Retry, Most: w.Pace.MaxRetry, Random: w.Random}, Handle: w.Handle, Now: w.Now, Log: w.Log})
	}
	return out
}

// Handle does a job of one of the Watcher's queues.
func (w *Watcher) Handle(ctx context.Context, job store.Job) (work.Result, error) {
	for _, q := range w.queues() {
		if q.queue == job.Queue {
			return q.handle(ctx, job)
		}
	}
	return work.Result{}, work.Permanent(fmt.Errorf("the watcher has no queue %q", job.Queue))
}

// background marks the calls of ctx.
func (w *Watcher) background(ctx context.Context) context.Context {
	if w.Background == nil {
		return ctx
	}
	return w.Background(ctx)
}

// scan reads what is new in the wallet that a job names. A wallet that is connected no longer needs no scan.
func (w *Watcher) scan(ctx context.Context, job store.Job) (work.Result, error) {
	order, at, err := store.WatchOrderOf(job)
	if err != nil {
		return work.Result{}, work.Permanent(err)
	}
	var of wallet.Wallet
	var row wallet.Watch
	err = w.Store.View(ctx, func(tx store.Tx) (err error) {
		if of, err = tx.Wallet(at); err != nil {
			return err
		}
		row, err = watchOf(tx, of)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return work.Result{}, nil
	case errors.Is(err, store.ErrDamaged):
		return w.startOver(of, err)
	case err != nil:
		return work.Result{}, fmt.Errorf("watch %s: %w", at, err)
	}
	ctx = w.background(ctx)
	if row.Version == 0 {
		return w.begin(ctx, of)
	}
	l := &look{Watcher: w, of: of, row: row, job: job, activities: map[wallet.Signature]wallet.Activity{}}
	// An attempt after another one begins with balances of its own: those of the order may be outdated.
	if job.Attempt > 1 {
		order = store.WatchOrder{}
	}
	return l.run(ctx, order)
}

// watchOf reads a wallet's row. The row of Version 0 says that the wallet is to be watched from now on.
func watchOf(tx store.Tx, of wallet.Wallet) (wallet.Watch, error) {
	row, err := tx.Watch(of.Address)
	if errors.Is(err, store.ErrNotFound) {
		return wallet.Watch{}, nil
	}
	return row, err
}

// startOver drops a row that cannot be read: nobody knows how far the wallet was read, and it must not stay unwatched. The next
// look begins.
func (w *Watcher) startOver(of wallet.Wallet, cause error) (work.Result, error) {
	if of.Address.IsZero() { // it is the wallet's own row that is damaged
		return work.Result{}, cause
	}
	w.Log.Error("how far a wallet was read cannot be read itself: it is watched from now on, and payments since its last look are not announced",
		"wallet", of.Address, "error", cause)
	return work.Result{Commit: func(tx store.Tx) error { return tx.DropWatch(of.Address) }, Again: w.Now()}, nil
}

const (
	// firstLookMost is how long after the connection the first look still finds what came since then.
	firstLookMost = 24 * time.Hour
	// blockClocks is how far the clock of blocks and ours may be apart.
	blockClocks = 3 * time.Second
	// firstPage is how many transactions of an account are searched for those since the connection.
	firstPage = 1000
)

// begin is the first look at a wallet: what it holds. What came since the connection, and is final already, is found by the time
// of its block, and the next look reads it. How long a block takes to become final is not ours to assume: it may be less than
// a second.
func (w *Watcher) begin(ctx context.Context, of wallet.Wallet) (work.Result, error) {
	row := wallet.Watch{Address: of.Address, FullAt: w.Now().UTC()}
	accounts, _, err := w.accountsOf(ctx, of.Address)
	if err != nil {
		return work.Result{}, err
	}
	balances, err := w.Chain.Sweep(ctx, accounts, 0)
	if err != nil {
		return work.Result{}, fmt.Errorf("begin to watch %s: %w", of.Address, err)
	}
	late := row.FullAt.Sub(of.ConnectedAt)
	if late > firstLookMost {
		w.Log.Warn("watch: a wallet that was connected long ago is watched from now on", "wallet", of.Address, "connected_at", of.ConnectedAt)
	}
	var result work.Result
	for _, b := range balances {
		a := watched(of.Address, b)
		a.Mark = wallet.Watermark{Slot: b.Slot + 1} // all up to the balance's slot is history
		if a.Exists && late > 0 && late <= firstLookMost {
			if a, err = w.sinceConnected(ctx, of, a); err != nil {
				return work.Result{}, fmt.Errorf("begin to watch %s: %w", of.Address, err)
			}
		}
		if a.Mark.Slot <= b.Slot {
			row.FullAt, result.Again = time.Time{}, w.Now()
		}
		row.Accounts = append(row.Accounts, a)
		if row.Since == 0 || a.Mark.Slot < row.Since {
			row.Since = a.Mark.Slot
		}
	}
	row.FullSlot = row.Since - 1
	result.Commit = func(tx store.Tx) error {
		if err := unchanged(tx, of); err != nil {
			return store.IgnoreNotFound(err) // the wallet was disconnected
		}
		if err := tx.PutWatch(row); err != nil || w.Stakes == nil {
			return err
		}
		return store.OrderStakeCheck(tx, of, w.Now().UTC()) // it may have stakes from before
	}
	return result, nil
}

// sinceConnected sets the watermark of an account before the first transaction since its wallet was connected.
func (w *Watcher) sinceConnected(ctx context.Context, of wallet.Wallet, a wallet.WatchedAccount) (wallet.WatchedAccount, error) {
	page, more, err := w.Chain.History(ctx, a.Address, wallet.Signature{}, firstPage)
	if err != nil {
		return a, err
	}
	balance := a.Slot
	for _, entry := range page { // newest first
		if entry.At.IsZero() {
			continue // the node does not know the time of its block. It is in if an older one is
		}
		if entry.At.Before(of.ConnectedAt.Add(-blockClocks)) {
			return a, nil
		}
		if entry.Slot <= balance {
			a.Mark.Slot, a.Slot = entry.Slot, max(entry.Slot, 2)-2 // nobody knows the balance before it
		}
	}
	if more {
		w.Log.Error("watch: more came into a wallet between its connection and the first look than can be searched: a part is not announced",
			"wallet", of.Address, "account", a.Address)
	}
	return a, nil
}

// maxAccounts bounds the accounts of a wallet that are watched. Anybody can open token accounts for a wallet.
const maxAccounts = 256

// accountsOf lists what is watched of a wallet: itself, the accounts that it is expected to be paid to, and those that it
// has. Those of SOL and of listed tokens come first, and are the first few of them: strangers can open any number of accounts of worthless ones.
func (w *Watcher) accountsOf(ctx context.Context, owner wallet.Address) (out []wallet.Address, few int, err error) {
	out = []wallet.Address{owner}
	known := map[wallet.Address]bool{owner: true}
	add := func(at wallet.Address) {
		if !known[at] && len(out) < maxAccounts {
			known[at] = true
			out = append(out, at)
		}
	}
	for _, token := range w.Expected {
		add(wallet.AssociatedAccount(owner, token.Mint, token.Program))
	}
	held, err := w.Chain.TokenAccounts(ctx, owner)
	if err != nil {
		return nil, 0, fmt.Errorf("list the token accounts of %s: %w", owner, err)
	}
	for _, listed := range []bool{true, false} {
		for _, account := range held {
			if _, ok := w.Listed(account.Mint); ok == listed {
				add(account.Address)
			}
		}
		if listed {
			few = len(out)
		}
	}
	return out, few, nil
}

// watched is a balance of a wallet or of its token account. A token account that is not the wallet's any more holds
// nothing of it.
func watched(owner wallet.Address, b wallet.AccountBalance) wallet.WatchedAccount {
	a := wallet.WatchedAccount{Address: b.Address, Slot: b.Slot}
	switch {
	case b.Address == owner:
		a.Exists, a.Units = b.Exists, b.Lamports
	case b.Token != nil && b.Token.Owner == owner:
		a.Exists, a.Units, a.Mint = true, b.Token.Units, b.Token.Mint
	}
	return a
}

// moved tells whether a balance differs from what was known at an earlier slot.
func moved(from, to wallet.WatchedAccount) bool {
	return to.Slot > from.Slot && (to.Exists != from.Exists || to.Units != from.Units)
}

// unchanged fails with ErrConflict if a wallet was connected again since it was read, and with ErrNotFound if it is gone.
func unchanged(tx store.Tx, of wallet.Wallet) error {
	now, err := tx.Wallet(of.Address)
	if err != nil {
		return err
	}
	if now.Owner != of.Owner || !now.ConnectedAt.Equal(of.ConnectedAt) {
		return store.ErrConflict
	}
	return nil
}
