package settle

import (
	"context"
	"errors"
	"slices"
	"time"

	"purser/wallet"
)

// lagSlots is how many slots, about an hour, the node that lists token accounts may be behind the one that reads balances.
const lagSlots = 9000

// addAccounts adds token accounts that the wallet has, or is expected to have, and that no transaction showed. One that
// was not listed the last time was none of the wallet's then.
func (l *look) addAccounts(ctx context.Context) {
	all, few, err := l.accountsOf(ctx, l.of.Address)
	if err != nil {
		l.trouble = errors.Join(l.trouble, err)
		return
	}
	from := max(l.row.Since, l.row.FullSlot-min(l.row.FullSlot, lagSlots))
	for i, at := range all {
		if i < few && len(l.row.Accounts) >= maxAccounts && !l.row.Lists(at) {
			l.giveWay()
		}
		// What it held before nobody knows: see missing.
		l.add(wallet.WatchedAccount{Address: at, Slot: from - min(from, 2), Mark: wallet.Watermark{Slot: from}})
	}
}

// add begins to watch an account, unless it is watched.
func (l *look) add(a wallet.WatchedAccount) {
	switch {
	case l.row.Lists(a.Address):
	case len(l.row.Accounts) >= maxAccounts:
		if len(l.without) < maxAccounts {
			l.without = append(l.without, a)
		}
	default:
		l.row.Accounts = append(l.row.Accounts, a)
		if len(l.row.Accounts) == maxAccounts {
			l.Log.Warn("watch: a wallet has as many token accounts as are watched: payments into others are not announced", "wallet", l.of.Address, "accounts", maxAccounts)
		}
	}
}

// giveWay ends the watch of one empty account of an unlisted token, for one of a listed token.
func (l *look) giveWay() {
	at := slices.IndexFunc(l.row.Accounts, func(a wallet.WatchedAccount) bool {
		_, listed := l.Listed(a.Mint)
		return !listed && a.Exists && a.Units == 0 && a.Address != l.of.Address
	})
	if at >= 0 {
		l.row.Accounts = slices.Delete(slices.Clone(l.row.Accounts), at, at+1)
	}
}

// makeRoom ends the watch of accounts that a full look found closed, as the one before it did, except those that the wallet
// is expected to be paid to. One that is opened again is added again.
func (l *look) makeRoom() {
	for _, token := range l.Expected {
		delete(l.closed, wallet.AssociatedAccount(l.of.Address, token.Mint, token.Program))
	}
	l.row.Accounts = slices.DeleteFunc(l.row.Accounts, func(a wallet.WatchedAccount) bool { return l.closed[a.Address] })
	for _, a := range l.without {
		l.add(a)
	}
	l.without = nil
}

// accountsIn begins to watch the token accounts that a transaction shows. The history of one that it opened begins with it.
func (l *look) accountsIn(a wallet.Activity) {
	for _, at := range a.Accounts {
		if slices.Contains(a.Opened, at) && a.Slot > l.row.Since {
			// It counts as there: if it is gone by the next sweep, that is a change, and its history is read.
			l.add(wallet.WatchedAccount{Address: at, Slot: a.Slot - 1, Exists: true, Mark: wallet.Watermark{Slot: a.Slot}})
			continue
		}
		l.add(wallet.WatchedAccount{Address: at, Mark: wallet.Watermark{Slot: l.row.Since}})
	}
}

// absent tells of an account that was not there, and of which nothing was read, that it is not there now.
func absent(a, to wallet.WatchedAccount) bool {
	return !a.Exists && !to.Exists && len(a.Mark.Seen) == 0 && len(a.Cursor) == 0
}

// lowestSlot is the lowest slot of balances.
func lowestSlot(found []wallet.WatchedAccount) uint64 {
	out := found[0].Slot
	for _, a := range found {
		out = min(out, a.Slot)
	}
	return out
}

// rebase takes the slots back that no node has come to for as long as patience: one that a node once named and that never
// was, or those of a chain that was reset. Where an account's watermark lies within what the nodes have now, its history is
// read again from there, and nothing is lost.
func (l *look) rebase(ctx context.Context, known uint64) ([]wallet.WatchedAccount, error) {
	found, err := l.balances(ctx, 0)
	if err != nil {
		return nil, err
	}
	lowest := lowestSlot(found)
	for i, to := range found {
		a := &l.row.Accounts[i]
		switch {
		case a.Mark.Slot > to.Slot+1: // nobody knows how far it was read
			*a = to
			a.Mark, a.AtMark = wallet.Watermark{Slot: to.Slot + 1}, nil
		case a.Slot > to.Slot:
			a.Slot, a.Cursor, a.DeniedSince = max(a.Mark.Slot, 2)-2, nil, time.Time{} // nobody knows the balance there
		}
	}
	l.row.Since = min(l.row.Since, lowest+1)
	l.row.FullSlot = min(l.row.FullSlot, lowest)
	l.full, l.row.FullAt, l.row.FullTo, l.row.News = true, time.Time{}, 0, true
	l.Log.Error("every node has been behind what is known of a wallet: it is watched on from what they show now, and payments since its last look may be missing",
		"wallet", l.of.Address, "known_slot", known, "slot", lowest)
	return found, nil
}
