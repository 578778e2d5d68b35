package settle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
	"purser/work"
)

const (
	// readsALook is how many transactions of one wallet are read in their turn before other wallets have theirs, and how many
	// are read out of turn.
	readsALook = 100
	// newestFirst is how many of the newest are read out of turn when there are more, so that a payment that just came does
	// not wait behind a flood. newestPage is how many are listed for that: the very newest are not final yet.
	newestFirst, newestPage = 10, 200
	// patience is how long all nodes may deny what must be there, before the wallet is watched on without it.
	patience = time.Hour
	// behindTries is how many attempts of a job have failed at least before all nodes count as behind for as long as patience.
	behindTries = 30
)

// look is one look at a wallet. It asks the chain and changes its own copy of the row. Nothing of it is true before commit.
type look struct {
	*Watcher
	of  wallet.Wallet
	row wallet.Watch
	job store.Job // that asks for the look

	full       bool                    // read every history
	finds      bool                    // stakes that were made elsewhere, after that
	reads      int                     // transactions that were asked for
	closed     map[wallet.Address]bool // accounts that are watched no longer
	without    []wallet.WatchedAccount // accounts for which there was no room
	more       bool                    // there is more to do at once
	trouble    error
	activities map[wallet.Signature]wallet.Activity // that were read
	before     []wallet.WatchedAccount              // the row's accounts as they were read
	skipped    map[wallet.Signature]bool            // that need not be read, or cannot be
	early      map[wallet.Signature]bool            // of activities: those that will be read again: not counted as folded yet
}

// run looks. What was found before an error is true all the same and is written.
func (l *look) run(ctx context.Context, order store.WatchOrder) (work.Result, error) {
	l.skipped, l.early, l.closed = map[wallet.Signature]bool{}, map[wallet.Signature]bool{}, map[wallet.Address]bool{}
	l.before = slices.Clone(l.row.Accounts)
	now := l.Now().UTC()
	l.full = l.row.FullTo > 0 || pastDue(l.row.FullAt, l.Pace.Full, now)
	found := order.Found
	if l.full {
		l.addAccounts(ctx)
	}
	if len(found) == 0 || l.full {
		var err error
		if found, err = l.sweep(ctx); err != nil {
			return work.Result{}, err // nothing is known: the job waits and tries again
		}
	}
	if l.full && l.row.FullTo == 0 {
		l.row.FullTo = lowestSlot(found)
	}
	l.tryUnread(ctx, now)
	// Each look begins at another account, so that one that takes all reads keeps no other waiting.
	for i := range found {
		if ctx.Err() != nil {
			return work.Result{}, ctx.Err()
		}
		l.account(ctx, found[(uint64(i)+l.row.Version)%uint64(len(found))])
	}
	l.makeRoom()
	switch {
	case l.trouble != nil:
		l.row.Failures++
		l.Log.Warn("watch: a look at a wallet was not complete", "wallet", l.of.Address, "error", l.trouble, "in_a_row", l.row.Failures)
	default:
		l.row.Failures = 0
	}
	if l.full && l.trouble == nil && !l.more {
		l.row.FullAt, l.row.FullSlot, l.row.FullTo = now, l.row.FullTo, 0
		l.finds = l.Stakes != nil
	}
	return work.Result{Commit: l.commit, Again: l.again(now)}, nil
}

// again is when the job goes on; the zero time ends it.
func (l *look) again(now time.Time) time.Time {
	switch {
	case l.trouble != nil:
		return now.Add(min(l.Pace.Retry<<min(l.row.Failures-1, 16), l.Pace.MaxRetry))
	case l.more:
		return now.Add(time.Millisecond) // behind the other wallets that are due
	}
	return time.Time{}
}

// sweep reads the balances of all accounts that are watched, from nodes that have come as far as the row.
func (l *look) sweep(ctx context.Context) ([]wallet.WatchedAccount, error) {
	var slot uint64
	for _, a := range l.row.Accounts {
		slot = max(slot, a.Slot)
	}
	found, err := l.balances(ctx, slot)
	if errors.Is(err, wallet.ErrNodeBehind) && l.job.Failures >= behindTries && l.Now().Sub(l.job.At) >= patience {
		return l.rebase(ctx, slot)
	}
	return found, err
}

// balances reads the balances of all accounts that are watched, from nodes that have come to minSlot.
func (l *look) balances(ctx context.Context, minSlot uint64) ([]wallet.WatchedAccount, error) {
	accounts := make([]wallet.Address, len(l.row.Accounts))
	for i, a := range l.row.Accounts {
		accounts[i] = a.Address
	}
	balances, err := l.Chain.Sweep(ctx, accounts, minSlot)
	if err != nil {
		return nil, fmt.Errorf("sweep %s: %w", l.of.Address, err)
	}
	out := make([]wallet.WatchedAccount, len(balances))
	for i, b := range balances {
		out[i] = watched(l.of.Address, b)
	}
	return out, nil
}

// account reads the history of one account up to a balance, if that moved or all histories are due.
func (l *look) account(ctx context.Context, to wallet.WatchedAccount) {
	i := slices.IndexFunc(l.row.Accounts, func(a wallet.WatchedAccount) bool { return a.Address == to.Address })
	if i < 0 {
		return
	}
	a := l.row.Accounts[i]
	changed := moved(a, to)
	switch {
	case changed:
	case !l.full || a.Slot >= l.row.FullTo || to.Slot <= a.Slot: // this full reading has been there
		return
	case i > 0 && absent(a, to):
		l.closed[a.Address] = a.Slot >= l.row.FullSlot
		l.row.Accounts[i].Slot, l.row.Accounts[i].Mark, l.row.Accounts[i].AtMark = to.Slot, wallet.Watermark{Slot: to.Slot + 1}, nil
		return
	case l.reads >= readsALook: // its turn comes
		l.more = true
		return
	}
	if l.reads >= 2*readsALook {
		l.more = true
		return
	}
	read := maps.Clone(l.activities)
	p, ok := l.history(ctx, i, to, changed)
	if !ok { // what was found is true, and the next look reads it again
		for signature := range l.activities {
			if _, before := read[signature]; !before {
				l.early[signature] = true
			}
		}
		return
	}
	a, had := l.row.Accounts[i], a.Exists
	a.Mark, a.AtMark, a.Cursor, a.DeniedSince = a.Mark.Past(p.entries[:p.taken]), p.after, nil, time.Time{}
	switch {
	case p.taken < len(p.entries): // a failure, or too many for one look
		a.Cursor = cursorBehind(p.walk, p.taken)
	case p.walk.More:
		l.more, a.Cursor = true, p.walk.Cursor
	default:
		a.Slot, a.Exists, a.Units, a.Mint, a.AtMark = to.Slot, to.Exists, to.Units, to.Mint, nil
		l.closed[a.Address] = l.full && i > 0 && !had && !to.Exists && a.Mark.Slot < l.row.FullSlot
	}
	l.row.Accounts[i] = a
	if (p.err == nil || errors.Is(p.err, errManyUnread)) && !p.complete() {
		l.newest(ctx, a)
	}
}

// newest reads the newest finalized transactions of an account out of turn, as far as they lie behind its watermark. The
// watermark does not move by them: in their turn they are read again. An error is no trouble for the same reason.
func (l *look) newest(ctx context.Context, a wallet.WatchedAccount) {
	page, _, err := l.Chain.History(ctx, a.Address, wallet.Signature{}, newestPage)
	if err != nil {
		return
	}
	page = slices.DeleteFunc(page, func(e wallet.SignatureEntry) bool {
		return !e.Finalized || e.Slot < a.Mark.Slot || slices.Contains(a.Mark.Seen, e.Signature)
	})
	for _, entry := range page[:min(newestFirst, len(page))] {
		if l.reads >= 2*readsALook {
			return
		}
		_, before := l.activities[entry.Signature]
		if err := l.one(ctx, entry); err != nil && !errors.Is(err, errManyUnread) {
			return
		}
		l.early[entry.Signature] = !before
	}
}

// cursorBehind is the cursor of a walk of which n entries were read: from its deepest place on, the next walk lists little
// more than what one look reads.
func cursorBehind(walk wallet.HistoryWalk, n int) wallet.HistoryCursor {
	const every = 900 // less than a page, so that one call shows what was read, too
	out := slices.Clone(walk.Cursor)
	for i := len(walk.Entries) - 1; i >= n+every/2; i -= every {
		out = append(out, walk.Entries[i].Signature)
	}
	return out
}

// read reads the transactions of entries, oldest first, and returns how many of them are done with. An error is the trouble
// that keeps it from the next one.
func (l *look) read(ctx context.Context, entries []wallet.SignatureEntry) (int, error) {
	for i, entry := range entries {
		if l.reads >= readsALook {
			l.more = true
			return i, nil
		}
		if err := l.one(ctx, entry); err != nil {
			l.trouble = errors.Join(l.trouble, fmt.Errorf("read transaction %s: %w", entry.Signature, err))
			return i, err
		}
	}
	return len(entries), nil
}

// one reads one transaction, unless it was read or failed. One that no node shows in a way that can be read is kept for
// later, and so is one that could not be asked for in an hour of looks. errManyUnread: there is no room for it.
func (l *look) one(ctx context.Context, entry wallet.SignatureEntry) error {
	if _, known := l.activities[entry.Signature]; known || entry.Failed || l.skipped[entry.Signature] || l.isUnread(entry.Signature) {
		return nil
	}
	l.reads++
	activity, err := l.activity(ctx, entry.Signature, entry.Slot)
	switch {
	case err != nil && (unreadableNow(err) || l.row.Failures >= failuresBefore):
		if errors.Is(err, errAnotherSlot) { // what shows the same slot once more is believed
			entry.Slot = activity.Slot
		}
		return l.keepUnread(entry, err)
	case err != nil:
		return err
	}
	l.tell(activity)
	return nil
}

// errAnotherSlot says that a node shows a finalized transaction in another block than its history did.
var errAnotherSlot = errors.New("the transaction is in another block than the history said")

// errNotNamed means that a node shows another transaction than the one in the history.
var errNotNamed = errors.New("it names no account of the wallet in whose history it is")

// activity reads what a transaction did for the wallet. With errAnotherSlot comes what the node showed.
func (l *look) activity(ctx context.Context, signature wallet.Signature, slot uint64) (wallet.Activity, error) {
	read, err := l.Chain.Activities(ctx, signature, l.of.Address)
	if err != nil {
		return wallet.Activity{}, err
	}
	switch a := read[0]; {
	case l.unrelated(a):
		return a, &wallet.UnreadableTransaction{Signature: signature, Why: errNotNamed.Error()}
	case a.Slot != slot:
		return a, errAnotherSlot
	default:
		return a, nil
	}
}

// unrelated tells of a transaction that is in the history of one of the wallet's accounts that it names none of them, nor moves
// anything of the wallet: a node that resolves lookup tables to other accounts would hide a payment so.
func (l *look) unrelated(a wallet.Activity) bool {
	return len(a.Mentions) > 0 && len(a.Changes) == 0 && len(a.Movements) == 0 && !slices.ContainsFunc(a.Mentions, l.row.Lists)
}

// tell takes in an activity, and watches the token accounts that it shows.
func (l *look) tell(a wallet.Activity) {
	l.activities[a.Signature] = a
	l.accountsIn(a)
}

// commit writes what the look found: announcements, oldest first, and how far the wallet was read.
func (l *look) commit(tx store.Tx) error {
	if err := unchanged(tx, l.of); err != nil {
		return store.IgnoreNotFound(err)
	}
	all := make([]wallet.Activity, 0, len(l.activities))
	for _, a := range l.activities {
		// Nothing of before the wallet was connected is announced, whatever led to it. The slots of nodes that fell behind can
		// lower Since, so the time of the block counts too.
		old := !a.At.IsZero() && a.At.Before(l.of.ConnectedAt.Add(-blockClocks))
		if a.Slot >= l.row.Since && !old {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b wallet.Activity) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), slices.Compare(a.Signature[:], b.Signature[:]))
	})
	in := incomingOf(tx, l.of, l.Listed, l.Now().UTC(), l.Log)
	row := l.row // a copy: a commit may run again
	var folded uint64
	for _, a := range all {
		isFolded, err := in.announce(a)
		if err != nil {
			return fmt.Errorf("announce %s to %s: %w", a.Signature, l.of.Address, err)
		}
		if isFolded && !l.early[a.Signature] && l.of.Owner != "" {
			folded++
		}
	}
	if folded > 0 {
		if err := l.addFolded(tx, l.of, folded); err != nil {
			return err
		}
	}
	if err := l.reportBalances(tx, &row, in.news); err != nil {
		return err
	}
	if err := tx.PutWatch(row); err != nil || !l.finds {
		return err
	}
	return l.findStakes(tx)
}

// findStakes orders a check of the wallet's stakes, in case some were made elsewhere, unless they are checked from time to time
// anyway. The check ends the job if there are none.
func (l *look) findStakes(tx store.Tx) error {
	if checked, err := store.HasStakeCheck(tx, l.of.Address); err != nil || checked {
		return err
	}
	return store.OrderStakeCheck(tx, l.of, l.Now().UTC())
}
