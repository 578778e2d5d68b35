// Package settle follows what happens on chain: a Settler carries signed transactions to their end, and a Watcher finds
// what else changes connected wallets: payments, balances, stakes and validators. It does not know who requested a
// transaction, how people are notified (it writes events), or how an RPC node is called (see Chain and WatchedChain).
//
// The Settler broadcasts the bytes, proves whether they landed, expires what nobody confirmed, and watches for payments of
// payment requests.
//
// One rule governs all of it (docs/architecture.md, The rule against paying twice): a transaction is never called failed
// while it could still land, and this package never creates a replacement for one.
//
// A transaction that can still change has one job in the store (store.Step), due when it must be looked at next.
// Settler.Handle runs that job: it queries the chain and returns changes, which the pool commits in the same store
// transaction as the end of the job. Between two looks a Settler keeps only caches in memory (memory, statuses). Losing
// them costs extra RPC calls and nothing else, so a restart or another node can continue at any time. A job that is lost
// or damaged is recreated from its transaction (Settler.Restore).
//
// The files of the Settler follow one look: look.go decides what to query, broadcast.go sends bytes, verdict.go interprets what the
// chain reports, collect.go handles payment requests, and step.go writes the result.
//
// The Watcher announces what comes into connected wallets from anywhere else. It has five queues of its own
// (Watcher.queues), each with its own pool, so that no kind of work waits for another. One node, the leader, sweeps
// balances. It shares nothing with a Settler but the ids of receipts.
//
// The files of the Watcher, after watcher.go: sweep.go finds the wallets that moved, and hints.go those that may have. look_wallet.go looks at one
// of them: it reads its history (look_history.go) and finds its accounts (look_accounts.go). A transaction that cannot be
// read now is tried again later (look_unread.go). incoming.go decides what follows, receipts.go writes it,
// balances.go reports balances, and summary.go sums up payments that are too many to announce. arriving.go shows
// payments before they are final. stakes.go and validators.go look at stakes.
package settle

import (
	"context"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

// Chain is what settle needs of Solana. A *wallet.PreflightError from Broadcast means that the node refused the
// transaction, which does not prove that it can never land: another node may have accepted it. Any other error, of any
// method, means that the state on chain is unknown.
type Chain interface {
	// Broadcast hands signed wire bytes to a node (sendTransaction). It returns nil when the node accepts them, also when
	// it already had them.
	Broadcast(ctx context.Context, signed []byte) error
	// Statuses is the cheap poll (getSignatureStatuses). It covers recent transactions only. Results are in the order of
	// signatures, nil where one is unknown or not yet confirmed. A landing may lack its fee and block height.
	Statuses(ctx context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error)
	// Details fills in what Statuses left out, as far as the node knows it.
	Details(ctx context.Context, landing *wallet.Landing)
	// Find searches the full history by signature and by reference. It returns nil when the transaction is not there.
	Find(ctx context.Context, query wallet.TransactionQuery) (*wallet.Landing, error)
	// FindEverywhere is Find on every configured node. certain is true only when all nodes answered and agree.
	FindEverywhere(ctx context.Context, query wallet.TransactionQuery) (landing *wallet.Landing, certain bool, err error)
	// FinalizedBlockHeight returns a height of the finalized chain: that of its newest block, or of one shortly before
	// it.
	FinalizedBlockHeight(ctx context.Context) (uint64, error)
	// CanSeeBackTo reports whether the nodes' history reaches back to slot. Without that, "not found" proves nothing.
	CanSeeBackTo(ctx context.Context, slot uint64) (bool, error)
	// Payments lists what finalized transactions did for an address that brought it units of a mint by a transfer that names
	// a reference, oldest first. judged holds the signatures that were
	// already examined: those set to true are skipped, and the method adds those that turn out to pay nothing. When
	// it returns an error, the payments found so far come with it. wallet.ErrSomeUnread means that only single
	// transactions could not be read.
	Payments(ctx context.Context, to, reference, mint wallet.Address, judged map[wallet.Signature]bool) ([]wallet.Activity, error)
	// Watch subscribes to a signature. When it lands, the signature arrives on Hints. Hints are best effort, so polling
	// must never depend on them.
	Watch(signature wallet.Signature)
	Hints() <-chan wallet.Signature
}

// Pace sets how often settle polls, broadcasts and retries.
type Pace struct {
	Poll        time.Duration // between status polls of a transaction that was broadcast
	Rebroadcast time.Duration // between broadcasts of the same bytes
	Search      time.Duration // between searches through history
	Idle        time.Duration // longest wait after an error
	QuietTime   time.Duration // how long Statuses may not know a transaction before history is searched
	Collect     time.Duration // between searches for payments of a new request; see collectAgain for older ones
	Details     time.Duration // how long a landing may wait for its block height before it is recorded without one

	// Hold is how long a worker may keep a job between polls, so that a poll without news writes nothing to the store. 0
	// returns the job after each look.
	Hold time.Duration
	// Gather is how long the first status request waits for others that can share its RPC call.
	Gather time.Duration
}

// DefaultPace suits the rate limits of a public RPC node.
func DefaultPace() Pace {
	return Pace{Poll: 500 * time.Millisecond, Rebroadcast: 2 * time.Second, Search: 10 * time.Second,
		Idle: 10 * time.Second, QuietTime: 20 * time.Second, Collect: 5 * time.Second, Details: 3 * time.Second,
		Hold: 20 * time.Second, Gather: 25 * time.Millisecond}
}

const (
	// settleWidth is how many settlement jobs one node works on at once. Most of them only wait for their next poll.
	settleWidth = 512
	// mayHold is how many of those may be kept between polls. The other half stays free for new jobs.
	mayHold = settleWidth / 2
	// collectWidth is how many payment requests one node works on at once.
	collectWidth = 8
	// window is how many jobs are claimed ahead. Claimed jobs run in the order of their claims, so a larger window would
	// delay a payment that is signed now.
	window = 4
	// lease is how long the jobs of a node that died stay locked before another node can claim them.
	lease = 30 * time.Second
)

// Settler is the worker. Any number of nodes may run one on the same store. Set all exported fields before Run and do not
// change them afterwards. The unexported fields need no initialization.
type Settler struct {
	Store store.Store
	Chain Chain
	Now   func() time.Time
	Log   *slog.Logger
	Pace  Pace
	Node  string // name of this process in its job leases

	// Release checks a transaction again when its delay has ended (handlers.Transactions.Release). It returns the step to take in
	// the store transaction that ends the look, for the row as it is there; a zero step is none. An error means that nobody can
	// say yet. Required for kinds that can wait.
	Release func(context.Context, wallet.Transaction) (func(store.Tx, wallet.Transaction) (wallet.Transaction, wallet.TransitionInput, error), error)

	Random io.Reader // jitter of the waits after failures; see work.Schedule

	memory   memory   // what earlier looks found, by transaction
	statuses statuses // shares one RPC call between many status requests
	holding  counter  // jobs kept between polls, at most mayHold
}

// Run works until ctx ends, then returns nil. It returns an error only when a commit has an unknown outcome or the store
// is closed. The process must then stop.
func (s *Settler) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, pool := range s.Pools() {
		group.Go(func() error { return pool.Run(ctx) })
	}
	group.Go(func() error {
		s.listen(ctx)
		return nil
	})
	group.Go(func() error { return s.restore(ctx) })
	return group.Wait()
}

// Pools returns the worker pools that Run starts: one for each queue.
func (s *Settler) Pools() []*work.Pool {
	pool := func(queue store.Queue, width int) *work.Pool {
		return &work.Pool{Store: s.Store, Queue: queue, Node: s.Node, Width: width, Window: window, Lease: lease,
			Schedule: work.Schedule{First: s.Pace.Poll, Most: s.Pace.Idle, Random: s.Random}, // never given up: it is people's money
			Handle:   s.Handle, Now: s.Now, Log: s.Log}
	}
	return []*work.Pool{pool(store.Settlement, settleWidth), pool(store.Collecting, collectWidth)}
}

// listen wakes held jobs early when the chain reports a landing. A hint is never evidence: the woken job polls the status
// itself.
func (s *Settler) listen(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case signature := <-s.Chain.Hints():
			s.memory.wake(signature)
		}
	}
}
