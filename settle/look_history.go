package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"purser/wallet"
)

// part is what a look reads of an account's history.
type part struct {
	walk    wallet.HistoryWalk
	entries []wallet.SignatureEntry // of the walk, up to the slot of the balance, oldest first
	taken   int                     // how many of them are done with
	after   *uint64                 // what the account held after the last of these; nil: nobody knows
	err     error                   // that keeps it from the next one
}

// complete tells whether all up to the balance is done with.
func (p part) complete() bool { return p.taken == len(p.entries) && !p.walk.More }

// history walks and reads the history of the account at index i up to a balance. A node whose transactions do not lead from
// what the account held to what it holds leaves one out: the next one is asked. false: no node can be believed yet.
func (l *look) history(ctx context.Context, i int, to wallet.WatchedAccount, changed bool) (p part, ok bool) {
	a := l.row.Accounts[i]
	hopeless := !a.DeniedSince.IsZero() && pastDue(a.DeniedSince, patience, l.Now())
	query := wallet.HistoryQuery{Address: a.Address, From: a.Mark, Cursor: a.Cursor, Finalized: true, MinSlot: to.Slot, Changed: changed && !hopeless}
	for {
		walk, err := l.Chain.Walk(ctx, query)
		if err == nil && walk.Node < query.Skip { // it is the same node again
			err = wallet.ErrHistoryGap
		}
		if hopeless && errors.Is(err, wallet.ErrHistoryGap) {
			l.unexplained(a, to)
			return p, true
		}
		lost := lostIn(err, a, to)
		// Everything up to a.Slot was read. A node that has the blocks from there on need not show what is older.
		enough := errors.Is(err, wallet.ErrHistoryPruned) && walk.Since <= a.Slot && (len(walk.Entries) > 0 || !changed)
		if err != nil && !enough && !(lost && hopeless) {
			if (lost || errors.Is(err, wallet.ErrNothingNew)) && a.DeniedSince.IsZero() {
				l.row.Accounts[i].DeniedSince = l.Now().UTC()
			}
			l.trouble = errors.Join(l.trouble, fmt.Errorf("walk the history of %s: %w", a.Address, err))
			return p, false
		}
		if lost && !enough { // no node has it, and waiting did not help
			l.row.News = true
			l.Log.Error("a part of a wallet's history is lost: payments in it are not announced", "wallet", l.of.Address, "account", a.Address,
				"from_slot", a.Mark.Slot, "to_slot", walk.Since, "error", err)
		}
		if lost && len(walk.Entries) == 0 { // what was seen last is not shown any more
			l.row.Accounts[i].Mark, l.row.Accounts[i].AtMark = wallet.Watermark{Slot: to.Slot + 1}, nil
		}
		one := part{walk: walk, entries: walk.Entries}
		// What is newer than the balance belongs to the next one: a balance that moves then must have a reason behind the mark.
		if newer := slices.IndexFunc(one.entries, func(e wallet.SignatureEntry) bool { return e.Slot > to.Slot }); newer >= 0 {
			one.entries, one.walk.More = one.entries[:newer], false
		}
		one.taken, one.err = l.read(ctx, one.entries)
		missing, after := l.missing(a, to, one)
		if one.after = after; lost && !enough || !missing {
			return one, true
		}
		if hopeless && len(one.entries) == 0 { // all nodes were asked for an hour
			l.unexplained(a, to)
			return one, true
		}
		if query.Skip == 0 { // the first node is as good as any, if all leave something out
			p = one
		}
		query.Skip = walk.Node + 1
	}
}

// unexplained tells the operator of a balance that moved by what no node shows, such as the fees of a validator.
func (l *look) unexplained(a, to wallet.WatchedAccount) {
	l.row.News = true
	l.Log.Error("no node shows all transactions that moved a balance: if one was a payment, it is not announced",
		"wallet", l.of.Address, "account", a.Address, "from_slot", a.Mark.Slot, "to_slot", to.Slot)
}

// lostIn tells whether an error of a walk says that all nodes that were asked deny a part of a history. A watermark beyond the
// balance that all nodes are behind is where no block is.
func lostIn(err error, a, to wallet.WatchedAccount) bool {
	return errors.Is(err, wallet.ErrHistoryPruned) || errors.Is(err, wallet.ErrHistoryUnknown) || errors.Is(err, wallet.ErrHistoryGap) ||
		errors.Is(err, wallet.ErrNodeBehind) && a.Mark.Slot > to.Slot+1
}

// missing reports whether the balances before and after the transactions of an account show that one between them is left out, and
// returns what the account held after them; nil if nobody knows. Around one that could not be read, nobody knows. A failed one may have
// cost the wallet a fee, and brought it nothing.
func (l *look) missing(a, to wallet.WatchedAccount, p part) (missing bool, after *uint64) {
	// The balance is known where the watermark stands, unless an earlier look ended behind a transaction that could not be read.
	// have is exact unless a failed transaction came in between. Then it is the most that the account can hold, because the fee is
	// unknown.
	have, known := a.Units, a.Mark.Slot <= a.Slot || a.Mark.Slot == a.Slot+1 && len(a.Mark.Seen) == 0
	if !known && a.AtMark != nil {
		have, known = *a.AtMark, true
	}
	fee := false
	contradicts := func(units uint64) bool { return known && (units > have || units < have && !fee) }
	for _, entry := range p.entries[:p.taken] {
		activity, read := l.activities[entry.Signature]
		switch {
		case entry.Slot <= a.Slot:
			continue
		case entry.Failed:
			fee = fee || a.Address == l.of.Address
			continue
		case !read:
			known = false
			continue
		}
		for _, change := range activity.Changes {
			if change.Account != a.Address {
				continue
			}
			if contradicts(change.Pre) {
				return true, nil
			}
			have, known, fee = change.Post, true, false
		}
	}
	if known && !fee {
		after = &have
	}
	return p.complete() && contradicts(to.Units), after
}
