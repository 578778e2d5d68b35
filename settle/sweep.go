package settle

import (
	"context"
	"errors"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

const (
	// sweepCall is how many accounts one call reads.
	sweepCall = 100
	// readsAtOnce is how many wallets are listed, or read, in one store transaction.
	readsAtOnce = 500
	// coolingParts makes a wallet wait for a twentieth of the time since it last moved.
	coolingParts = 20
	// maxSweepWait is the longest wait after sweeps that failed.
	maxSweepWait = time.Minute
)

// lookout is what the leader remembers of the wallets between two passes. Losing it costs one sweep of all wallets.
type lookout struct {
	wallets  map[wallet.Address]*rhythm
	listed   int // wallets
	accounts int // of those that were swept, at the beginning of the pass; 0 in the first one
	failures int // passes in a row that a node kept from being complete
	behind   int // calls of this pass for which every node was behind
	arriving calls
	asked    int // accounts for which hints were asked before they moved
	news     hinted
}

// maxBehind is how many such calls a pass makes before it ends: the nodes lag, and asking more does not help.
const maxBehind = 200

// behindLook is for how long all nodes have been behind what is known of a wallet before a look is ordered, which tries on
// alone and heals a row with a slot that does not exist.
const behindLook = 5 * time.Minute

// rhythm is when a wallet is swept.
type rhythm struct {
	next     time.Time
	sweptAt  time.Time
	movedAt  time.Time // or was said to move by a hint
	behind   time.Time // since when every node has been behind what is known of it; zero: they are not
	accounts int
	ordered  bool   // its last sweep found it moved
	gained   []gain // what was searched for arriving payments last
}

// lead sweeps until ctx ends. It writes orders and nothing else, so two leaders for a moment cost calls and no more.
func (w *Watcher) lead(ctx context.Context) error {
	var out lookout
	if w.Hints != nil {
		var listening sync.WaitGroup
		ctx, stop := context.WithCancel(ctx)
		defer func() { stop(); listening.Wait() }()
		listening.Go(func() { out.news.listen(ctx, w.Hints.AccountHints()) })
	}
	after := w.After
	if after == nil {
		after = time.After
	}
	for {
		err := w.pass(ctx, &out)
		wait := w.Pace.Tick
		switch {
		case store.IsFatal(err):
			return err
		case err != nil && ctx.Err() == nil:
			w.Log.Warn("watch: balances could not be swept; it is tried again", "error", err)
			wait = min(w.Pace.Tick<<min(out.failures, 8), maxSweepWait)
			out.failures++
		default:
			out.failures = 0
		}
		select {
		case <-ctx.Done():
			return nil
		case <-after(wait):
		}
	}
}

// Sweep is one pass over all wallets, as after a start.
func (w *Watcher) Sweep(ctx context.Context) error { return w.Passes()(ctx) }

// Passes returns the leader's pass, which it makes every Pace.Tick. The first one sweeps all wallets.
func (w *Watcher) Passes() func(context.Context) error {
	out := &lookout{}
	return func(ctx context.Context) error { return w.pass(ctx, out) }
}

// target is a wallet that is due, with what is known of it.
type target struct {
	of  wallet.Wallet
	row wallet.Watch
}

// pass orders a look at each wallet that is new, due for a full one, or due for a sweep that finds it moved.
func (w *Watcher) pass(ctx context.Context, out *lookout) error {
	if w.Hints != nil {
		w.heed(out, out.news.take(w.Hints.AccountHints()))
	}
	due, err := w.due(ctx, out)
	if err != nil {
		return err
	}
	out.behind = 0
	for len(due) > 0 {
		part := due[:min(readsAtOnce, len(due))]
		due = due[len(part):]
		targets, err := w.read(ctx, out, part)
		if err != nil {
			return err
		}
		if err := w.sweep(w.background(ctx), out, targets); err != nil {
			return err
		}
		if err := w.arrive(w.background(ctx), out, targets); err != nil {
			return err
		}
	}
	return nil
}

// due lists the wallets whose time has come, and forgets those that are gone.
func (w *Watcher) due(ctx context.Context, out *lookout) (due []wallet.Address, err error) {
	if out.wallets == nil {
		out.wallets = map[wallet.Address]*rhythm{}
	}
	now := w.Now()
	listed := make(map[wallet.Address]bool, len(out.wallets))
	for last := (wallet.Address{}); ; {
		var page []wallet.Address
		err := w.Store.View(ctx, func(tx store.Tx) (err error) {
			page, err = tx.ConnectedWallets(last, readsAtOnce)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, at := range page {
			listed[at] = true
			if r := out.wallets[at]; r == nil || !now.Before(r.next) {
				due = append(due, at)
			}
		}
		if len(page) < readsAtOnce {
			break
		}
		last = page[len(page)-1]
	}
	out.listed, out.accounts = len(listed), 0
	for at, r := range out.wallets {
		if !listed[at] {
			delete(out.wallets, at)
			continue
		}
		out.accounts += r.accounts
	}
	return due, nil
}

// read reads what is known of wallets. For those that need a look in any case it puts the job at once. Those with a job
// are left to it.
func (w *Watcher) read(ctx context.Context, out *lookout, due []wallet.Address) (targets []target, err error) {
	now := w.Now().UTC()
	type urgent struct {
		of       wallet.Wallet
		priority store.Priority
	}
	var looks []urgent
	var busy []wallet.Address
	err = w.Store.View(ctx, func(tx store.Tx) error {
		targets, looks, busy = nil, nil, nil
		for _, at := range due {
			of, err := tx.Wallet(at)
			if err != nil { // gone since it was listed, or damaged: the store's log names it
				busy = append(busy, at)
				continue
			}
			row, err := watchOf(tx, of)
			switch {
			case err != nil || row.Version == 0:
				looks = append(looks, urgent{of, store.JobNormal})
			case hasLook(tx, at):
				busy = append(busy, at)
			default:
				if w.fullDue(row, now) {
					looks = append(looks, urgent{of, store.JobBackground})
				}
				targets = append(targets, target{of, row})
			}
		}
		return nil
	})
	if err != nil || len(looks) == 0 {
		w.later(out, busy)
		return targets, err
	}
	err = w.Store.Update(ctx, func(tx store.Tx) error {
		for _, l := range looks {
			if err := store.OrderWatch(tx, l.of, store.WatchOrder{}, l.priority, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		w.later(out, busy)
	}
	return targets, err
}

// hasLook tells whether a look at a wallet that is as urgent as a moved balance is ordered already.
func hasLook(tx store.Tx, at wallet.Address) bool {
	job, err := tx.Job(store.WalletScans, store.JobID(at.String()))
	return err == nil && job.Priority <= store.JobSoon
}

// fullDue tells whether all of a wallet's histories are due, or a transaction that could not be read.
func (w *Watcher) fullDue(row wallet.Watch, now time.Time) bool {
	if pastDue(row.FullAt, w.Pace.Full, now) {
		return true
	}
	for _, u := range row.Unread {
		if isDue(u, now) {
			return true
		}
	}
	return false
}

// pastDue tells whether what was done at a time is due again. A time that is still to come was written by a clock that was ahead.
func pastDue(last time.Time, every time.Duration, now time.Time) bool {
	return !now.Before(last.Add(every)) || now.Before(last)
}

// isDue tells whether a transaction that could not be read is due to be tried again.
func isDue(u wallet.UnreadTransaction, now time.Time) bool {
	return pastDue(u.Next.Add(-unreadEvery), unreadEvery, now)
}

// later looks at wallets again soon that were not swept.
func (w *Watcher) later(out *lookout, busy []wallet.Address) {
	for _, at := range busy {
		r := out.of(at)
		r.next = w.Now().Add(w.Pace.Soon)
	}
}

// of returns the rhythm of a wallet.
func (out *lookout) of(at wallet.Address) *rhythm {
	r := out.wallets[at]
	if r == nil {
		r = &rhythm{}
		out.wallets[at] = r
	}
	return r
}

// sweep reads the balances of wallets, as many wallets with each call as fit, and orders looks at those that moved. What
// an earlier call found is ordered even if a later one fails. If all nodes are behind what is known of one of the wallets,
// such as after a node named a slot that does not exist, the others of its call are asked for one by one.
func (w *Watcher) sweep(ctx context.Context, out *lookout, targets []target) error {
	for len(targets) > 0 {
		n, accounts, slot := batch(targets)
		balances, err := w.Chain.Sweep(ctx, accounts, slot)
		if errors.Is(err, wallet.ErrNodeBehind) && out.behind < maxBehind {
			out.behind++
			if err := w.apart(ctx, out, targets[:n], err); err != nil {
				return err
			}
			targets = targets[n:]
			continue
		}
		if err != nil {
			return err
		}
		if err := w.order(ctx, out, targets[:n], balances); err != nil {
			return err
		}
		targets = targets[n:]
	}
	return nil
}

// apart sweeps wallets one by one whose common call found all nodes behind, and passes over the one that is to blame.
func (w *Watcher) apart(ctx context.Context, out *lookout, targets []target, cause error) error {
	if len(targets) == 1 {
		return w.ahead(ctx, out, targets[0].of, cause)
	}
	for i := range targets {
		if err := w.sweep(ctx, out, targets[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// ahead sweeps a wallet later for which all nodes are behind. If that lasts, it is left to a look.
func (w *Watcher) ahead(ctx context.Context, out *lookout, of wallet.Wallet, cause error) error {
	w.Log.Warn("watch: every node is behind what is known of a wallet; it is looked at again", "wallet", of.Address, "error", cause)
	now := w.Now().UTC()
	r := out.of(of.Address)
	if r.behind.IsZero() {
		r.behind = now
	}
	lasts := now.Sub(r.behind)
	r.next = now.Add(max(w.Pace.Soon, lasts/coolingParts))
	if lasts < behindLook {
		return nil
	}
	return w.Store.Update(ctx, func(tx store.Tx) error { return store.OrderWatch(tx, of, store.WatchOrder{}, store.JobSoon, now) })
}

// batch is the accounts of the first wallets that fit into a call, at least of one wallet, and the slot that the node must
// have come to.
func batch(targets []target) (n int, accounts []wallet.Address, slot uint64) {
	for n < len(targets) && (n == 0 || len(accounts)+len(targets[n].row.Accounts) <= sweepCall) {
		for _, a := range targets[n].row.Accounts {
			accounts, slot = append(accounts, a.Address), max(slot, a.Slot)
		}
		n++
	}
	return n, accounts, slot
}

// order puts jobs for the wallets that moved, in one Update, and sets when each is swept again. balances are those of
// their accounts, in order.
func (w *Watcher) order(ctx context.Context, out *lookout, targets []target, balances []wallet.AccountBalance) error {
	now := w.Now().UTC()
	found := make([]store.WatchOrder, len(targets))
	some := false
	for i, t := range targets {
		for at, a := range t.row.Accounts {
			if b := watched(t.of.Address, balances[at]); moved(a, b) {
				found[i].Found = append(found[i].Found, b)
				some = true
			}
		}
		balances = balances[len(t.row.Accounts):]
	}
	if some {
		err := w.Store.Update(ctx, func(tx store.Tx) error {
			for i, t := range targets {
				if len(found[i].Found) == 0 {
					continue
				}
				if err := store.OrderWatch(tx, t.of, found[i], store.JobSoon, now); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for i, t := range targets {
		r := out.of(t.of.Address)
		w.askHints(out, t, r, len(found[i].Found) > 0)
		r.sweptAt, r.accounts, r.behind, r.ordered = now, len(t.row.Accounts), time.Time{}, len(found[i].Found) > 0
		if len(found[i].Found) > 0 {
			r.movedAt = now
		}
		all := out.accounts
		if all == 0 { // nobody knows yet: as if each had as many
			all = out.listed * r.accounts
		}
		r.next = now.Add(w.interval(now.Sub(r.movedAt), all))
	}
	return nil
}

// interval is how long a wallet waits for its next sweep: a twentieth of the time since it last moved, at least Soon, and
// at most as long as all accounts take with Calls a minute.
func (w *Watcher) interval(quiet time.Duration, accounts int) time.Duration {
	calls := (accounts + sweepCall - 1) / sweepCall
	most := time.Duration(calls) * time.Minute / time.Duration(max(w.Pace.Calls, 1))
	return max(min(quiet/coolingParts, most), w.Pace.Soon)
}
