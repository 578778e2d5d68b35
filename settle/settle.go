// Package settle carries a signed transaction to its end: broadcast, prove, expire, reconcile. It
// refuses to know who asked for it, how anybody is told (it leaves events), and how a node is
// spoken to.
//
// The one rule that all of it serves (docs/architecture.md, The rule against paying twice): a transaction is never
// called failed while it could still land, and no second one is ever made in its place here.
//
// A transaction that can still change has one job in the store (store.Step), due when it is to be looked at next.
// Settler.Handle takes one look: it asks the chain what there is to ask, and returns what becomes true of it, which the
// pool writes in the same store transaction as the end of the job. What it remembers between two looks (memory) only
// saves questions; a restart, or another node, begins without it. A job that is lost or damaged is put back from its
// transaction (Settler.Restore).
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

// Chain is what settling needs of Solana. A *wallet.PreflightError from Broadcast is a refusal; any
// other error of any method means that nobody knows.
type Chain interface {
	// Broadcast hands the bytes to a node; nil when it took them, now or before.
	Broadcast(ctx context.Context, signed []byte) error
	// Statuses is the cheap poll: recent transactions only, nil where unknown or not yet confirmed. Of a landing it may
	// leave out fee and block height.
	Statuses(ctx context.Context, signatures []wallet.Signature) ([]*wallet.Landing, error)
	// Details adds what Statuses left out, as far as the node tells.
	Details(ctx context.Context, landing *wallet.Landing)
	// Find looks through history, by signature and by reference; nil when it is not there.
	Find(ctx context.Context, query wallet.TransactionQuery) (*wallet.Landing, error)
	// FindEverywhere is Find on every configured node; certain only when all answered alike.
	FindEverywhere(ctx context.Context, query wallet.TransactionQuery) (landing *wallet.Landing, certain bool, err error)
	// FinalizedBlockHeight is the height of the newest block that cannot be rolled back, or of one shortly before it.
	FinalizedBlockHeight(ctx context.Context) (uint64, error)
	// CanSeeBackTo tells whether the nodes' history reaches back to slot.
	CanSeeBackTo(ctx context.Context, slot uint64) (bool, error)
	// Payments lists finalized transfers of a token to an address that name a reference. judged are
	// mentions of it that were looked at: those that are true need no other look, and what is found to pay
	// nothing is added. With an error come the payments that were found nevertheless; wallet.ErrSomeUnread
	// tells that only single transactions could not be read.
	Payments(ctx context.Context, to, reference wallet.Address, token wallet.Token, judged map[wallet.Signature]bool) ([]wallet.Payment, error)
	// Watch asks for a hint on Hints when a signature lands; a hint may never come.
	Watch(signature wallet.Signature)
	Hints() <-chan wallet.Signature
}

// Pace is how often settle looks and speaks.
type Pace struct {
	Poll      time.Duration // between looks at what is with the network
	Rebroad   time.Duration // between broadcasts of the same bytes
	Search    time.Duration // between looks through history
	Idle      time.Duration // between tries after trouble, at most
	QuietTime time.Duration // how long the cheap poll may not know a transaction before history is searched
	Collect   time.Duration // between looks for what pays a new request; older ones are looked for less often
	Details   time.Duration // how long a landing may wait for its block's height

	// Hold is how long a job stays in hand between its polls, so that a poll that finds nothing new writes nothing. 0
	// puts it back after each look.
	Hold time.Duration
	// Gather is how long the first question for a status waits for others to be asked with it.
	Gather time.Duration
}

// DefaultPace suits a public RPC node.
func DefaultPace() Pace {
	return Pace{Poll: 500 * time.Millisecond, Rebroad: 2 * time.Second, Search: 10 * time.Second,
		Idle: 10 * time.Second, QuietTime: 20 * time.Second, Collect: 5 * time.Second, Details: 3 * time.Second,
		Hold: 20 * time.Second, Gather: 25 * time.Millisecond}
}

const (
	// settleWidth is how many transactions one node looks at at once. Most of them wait for their next poll.
	settleWidth = 512
	// mayHold is how many of them may stay in hand between polls: beyond that others want their turn.
	mayHold = settleWidth / 2
	// collectWidth is how many requests one node looks at at once.
	collectWidth = 8
	// window is how many are claimed ahead. They wait in memory in the order in which they were claimed, so that more
	// of them would be before a payment that is signed now.
	window = 4
	// lease is how long a node that has died keeps the jobs that it held.
	lease = 30 * time.Second
)

// Settler is the worker. Any number of nodes may run one for the same store. Its zero value works once the fields are set.
type Settler struct {
	Store store.Store
	Chain Chain
	Now   func() time.Time
	Log   *slog.Logger
	Pace  Pace
	Node  string // of this process, for its leases

	Random io.Reader // of the waits after failures; see work.Schedule

	memory   memory
	statuses statuses
	holding  counter
}

// Run works until ctx ends. It stops with an error only when the store's outcome is unknown.
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

// Pools are the workers of Run: one for each queue.
func (s *Settler) Pools() []*work.Pool {
	pool := func(queue store.Queue, width int) *work.Pool {
		return &work.Pool{Store: s.Store, Queue: queue, Node: s.Node, Width: width, Window: window, Lease: lease,
			Schedule: work.Schedule{First: s.Pace.Poll, Most: s.Pace.Idle, Random: s.Random}, // never given up: it is people's money
			Handle:   s.Handle, Now: s.Now, Log: s.Log}
	}
	return []*work.Pool{pool(store.Settlement, settleWidth), pool(store.Collecting, collectWidth)}
}

// listen wakes what is held when the chain hints at news of it.
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
