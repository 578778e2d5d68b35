package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"purser/wallet"
)

const (
	// maxUnread bounds the transactions of a wallet that are kept to be tried again, and unreadFor for how long.
	maxUnread = 64
	unreadFor = 7 * 24 * time.Hour
	// firstUnread and unreadEvery are the waits before another try: the first one, and the longest.
	firstUnread, unreadEvery = time.Minute, 6 * time.Hour
	// garbageFor is how long a transaction is kept that nodes show in a way that can't be read, when there is no room for others. Anybody can
	// make such transactions, so that they must not hold up the history for long.
	garbageFor = 10 * time.Minute
	// failuresBefore is how many looks in a row failed, about an hour of them, before a transaction that could not be asked
	// for is kept for later as one that cannot be read: one node may be down for good while the others do not have it.
	failuresBefore = 60
)

// errManyUnread says that no more transactions can be kept to be tried again.
var errManyUnread = errors.New("too many transactions cannot be read")

// unreadableNow tells whether an error is about one transaction alone.
func unreadableNow(err error) bool {
	var unreadable *wallet.UnreadableTransaction
	return errors.As(err, &unreadable) || errors.Is(err, wallet.ErrTransactionUnknown) || errors.Is(err, errAnotherSlot)
}

// isGarbage tells whether nodes show a transaction, and in a way that can't be read.
func isGarbage(err error) bool {
	var unreadable *wallet.UnreadableTransaction
	return errors.As(err, &unreadable)
}

func (l *look) isUnread(signature wallet.Signature) bool {
	return slices.ContainsFunc(l.row.Unread, func(u wallet.UnreadTransaction) bool { return u.Signature == signature })
}

// keepUnread notes a transaction that is tried again later. If there are too many, one that nodes do show, and that stays unreadable, gives way.
// Without one the history is not read beyond this until one of them was read or given up: a node that shows nothing for a while must not
// make it all lost.
func (l *look) keepUnread(entry wallet.SignatureEntry, cause error) error {
	now := l.Now().UTC()
	if len(l.row.Unread) >= maxUnread {
		at := slices.IndexFunc(l.row.Unread, func(u wallet.UnreadTransaction) bool { return u.Shown && pastDue(u.Since, garbageFor, now) })
		if at < 0 && now.Sub(l.row.Unread[0].Since) <= unreadFor {
			return fmt.Errorf("%w: %w", errManyUnread, cause)
		}
		at = max(at, 0)
		l.giveUp(l.row.Unread[at])
		l.skipped[l.row.Unread[at].Signature] = true
		l.row.Unread = slices.Delete(slices.Clone(l.row.Unread), at, at+1)
	}
	l.skipped[entry.Signature] = true
	l.Log.Warn("watch: a transaction cannot be read; it is tried again", "wallet", l.of.Address, "transaction", entry.Signature, "error", cause)
	l.row.Unread = append(l.row.Unread, wallet.UnreadTransaction{Signature: entry.Signature, Slot: entry.Slot, Since: now, Next: now.Add(firstUnread), Shown: isGarbage(cause)})
	return nil
}

// giveUp tells the operator of a transaction that nobody could read. Whatever it did to the balance is reported.
func (l *look) giveUp(u wallet.UnreadTransaction) {
	l.row.News = true
	l.Log.Error("a transaction of a wallet was never shown in a way that can be read: if it was a payment, it is not announced",
		"wallet", l.of.Address, "transaction", u.Signature)
}

// tryUnread tries those again that are due. The wait grows with the time since the first try.
func (l *look) tryUnread(ctx context.Context, now time.Time) {
	l.row.Unread = slices.Clone(l.row.Unread)
	shown := map[wallet.Signature]uint64{} // slots that nodes show instead of the noted ones
	garbage := map[wallet.Signature]bool{}
	l.row.Unread = slices.DeleteFunc(l.row.Unread, func(u wallet.UnreadTransaction) bool {
		if !isDue(u, now) || l.trouble != nil {
			return false
		}
		l.reads++
		activity, err := l.activity(ctx, u.Signature, u.Slot)
		switch {
		case err == nil:
			l.tell(activity)
			return true
		case !unreadableNow(err):
			l.trouble = errors.Join(l.trouble, fmt.Errorf("read transaction %s: %w", u.Signature, err))
			return false
		case errors.Is(err, errAnotherSlot):
			shown[u.Signature] = activity.Slot
		}
		garbage[u.Signature] = isGarbage(err)
		if now.Sub(u.Since) > unreadFor {
			l.giveUp(u)
			l.skipped[u.Signature] = true
			return true
		}
		return false
	})
	for i, u := range l.row.Unread {
		if slot, ok := shown[u.Signature]; ok {
			l.row.Unread[i].Slot = slot
		}
		if again, tried := garbage[u.Signature]; tried {
			l.row.Unread[i].Shown = again
		}
		if isDue(u, now) {
			l.row.Unread[i].Next = now.Add(min(max(now.Sub(u.Since), firstUnread), unreadEvery))
		}
	}
}
