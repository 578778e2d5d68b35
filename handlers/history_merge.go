package handlers

import (
	"context"
	"errors"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
)

// What one page costs at most. A page that reaches a bound is short, with a cursor to continue from.
const (
	maxLooked         = 1000            // purser's own transactions that are read
	maxActivities     = 25              // transactions that are read from a node
	maxSignaturePages = 5               // pages of signatures for each wallet
	signaturesAtOnce  = 4               // wallets, or transactions, that are read from a node at the same time
	maxOwnCursor      = 64              // characters of a transaction's id
	minSignatures     = 50              // of a page
	maxSignatures     = 1000            // of a page that looks for the time Until
	pagesAtOnce       = 4               // in the whole process that ask nodes; the others wait in line
	historyPatience   = 8 * time.Second // for the line and all calls; what is not read by then is missing
)

// MaxWalletsListed is how many wallets a list has of somebody who does not name one; the others are missing.
const MaxWalletsListed = 16

// historyCursor is where a page ended, in each of the lists that it merges.
type historyCursor struct {
	own      wallet.TransactionID // the last one listed; "" at the beginning
	ownEnded bool
	wallets  map[wallet.Address]chainPosition
}

// chainPosition is a place in the list of one wallet. The zero value is the beginning.
type chainPosition struct {
	after wallet.Signature
	ended bool
}

// Parts of a cursor as text: "tx_1~ADDRESS!SIGNATURE~ADDRESS!". The first part is of purser's own list. A list that has
// ended has no signature, and purser's own is "!".
const cursorParts, cursorPair = "~", "!"

// parseHistoryCursor reads a cursor. INVALID_REQUEST if it is not one that a page returned.
func parseHistoryCursor(text string) (historyCursor, error) {
	c := historyCursor{wallets: map[wallet.Address]chainPosition{}}
	parts := strings.Split(text, cursorParts)
	if c.ownEnded = parts[0] == cursorPair; !c.ownEnded {
		c.own = wallet.TransactionID(parts[0])
	}
	bad := wallet.About("cursor", wallet.Refuse(wallet.InvalidRequest, "page.bad_cursor"))
	if len(parts[0]) > maxOwnCursor || len(parts)-1 > MaxWalletsListed {
		return historyCursor{}, bad
	}
	for _, part := range parts[1:] {
		name, place, ok := strings.Cut(part, cursorPair)
		at, err := wallet.ParseAddress(name)
		if !ok || err != nil {
			return historyCursor{}, bad
		}
		position := chainPosition{ended: place == ""}
		if !position.ended {
			if position.after, err = wallet.ParseSignature(place); err != nil {
				return historyCursor{}, bad
			}
		}
		c.wallets[at] = position
	}
	return c, nil
}

// ownRow is one of purser's own transactions in a list. folded is how many before it were Counted.
type ownRow struct {
	transaction *wallet.Transaction
	folded      int
}

// ownList is a part of purser's own list.
type ownList struct {
	rows   []ownRow
	next   wallet.TransactionID // where the part ends
	ended  bool                 // there is nothing behind it
	folded int                  // how many behind the last row were Counted
}

// chainList is a part of a wallet's transactions on chain, newest first.
type chainList struct {
	wallet  wallet.Wallet
	from    wallet.Signature // the part begins behind this one; zero: at the newest
	entries []chainEntry
	ended   bool // there is nothing behind the part
	failed  bool // no node could be asked
}

// chainEntry is an entry with a time: that of the newer neighbour where the node knows none.
type chainEntry struct {
	wallet.SignatureEntry
	at time.Time
}

// signatures reads the next part of every wallet's list.
func (h *History) signatures(ctx context.Context, wallets []wallet.Wallet, from historyCursor, f Filter) []chainList {
	lists := make([]chainList, len(wallets))
	var group errgroup.Group
	group.SetLimit(signaturesAtOnce)
	for i, w := range wallets {
		group.Go(func() error {
			lists[i] = h.signaturesOf(ctx, w, from.wallets[w.Address], f)
			return nil
		})
	}
	_ = group.Wait() // failures are in the lists
	return lists
}

// signaturesOf reads the next part of one wallet's list that lies between Since and Until.
func (h *History) signaturesOf(ctx context.Context, w wallet.Wallet, from chainPosition, f Filter) chainList {
	l := chainList{wallet: w, from: from.after, ended: from.ended}
	last := h.Transfers.Now()
	for limit, calls := max(minSignatures, 2*f.Limit), 0; !l.ended && len(l.entries) == 0 && calls < maxSignaturePages; calls++ {
		page, more, err := h.Chain.History(ctx, w.Address, l.from, limit)
		if err != nil {
			l.failed = true
			return l
		}
		for _, entry := range page {
			if !entry.At.IsZero() {
				last = entry.At
			}
			if !f.Since.IsZero() && last.Before(f.Since) {
				l.ended = true
				return l
			}
			if !f.Until.IsZero() && !last.Before(f.Until) && len(l.entries) == 0 {
				l.from = entry.Signature
				continue
			}
			l.entries = append(l.entries, chainEntry{entry, last})
		}
		l.ended, limit = !more, maxSignatures
	}
	return l
}

// item is one line of the merged list: one of purser's own, or an entry of a wallet's list.
type item struct {
	own    *wallet.Transaction
	folded int // before it, with own

	list   int              // position in merged.lists
	before wallet.Signature // the place in its list before it
	entry  chainEntry
	result *activityResult
}

// merged is a page before its transactions are read from a node.
type merged struct {
	items  []item
	lists  []chainList
	folded int // how many behind the last of purser's own were Counted

	own      wallet.TransactionID // where the page ends in purser's own list
	ownEnded bool
	ends     []listEnd // where it ends in each of lists
}

// listEnd is where a page ends in a wallet's list.
type listEnd struct {
	position wallet.Signature
	ended    bool
	stopped  bool // a transaction could not be read
}

// merge puts purser's own list and those of the wallets together, newest first. It ends before the first place at which
// the next entry of some list is not known.
func (f Filter) merge(tx store.Tx, who Caller, mint wallet.Address, from historyCursor, lists []chainList) (merged, error) {
	m := merged{lists: lists, own: from.own, ownEnded: from.ownEnded, ends: make([]listEnd, len(lists))}
	var own ownList
	if own.ended = from.ownEnded; !own.ended {
		var err error
		if own, err = f.ownPage(tx, who, mint, from.own); err != nil {
			return m, err
		}
	}
	places := make([]int, len(lists)) // how many entries of each list are in the page
	for i, l := range lists {
		m.ends[i].position = l.from
	}
	row, activities := 0, 0
	for len(m.items) < f.Limit {
		// The newest of all heads. A list that is used up but not at its end could have a newer one.
		newest, known := -1, row < len(own.rows) || own.ended
		for i, l := range lists {
			switch {
			case l.failed:
			case places[i] < len(l.entries):
				if newest < 0 || l.entries[places[i]].at.After(lists[newest].entries[places[newest]].at) {
					newest = i
				}
			case !l.ended:
				known = false
			}
		}
		if !known || newest < 0 && row == len(own.rows) {
			break
		}
		if newest < 0 || row < len(own.rows) && !own.rows[row].transaction.CreatedAt.Before(lists[newest].entries[places[newest]].at) {
			m.items = append(m.items, item{own: own.rows[row].transaction, folded: own.rows[row].folded})
			m.own = own.rows[row].transaction.ID
			row++
			continue
		}
		entry := lists[newest].entries[places[newest]]
		sent, err := sentByOurs(tx, who, lists[newest].wallet, entry.Signature)
		if err != nil {
			return m, err
		}
		if !sent {
			if activities++; activities > maxActivities {
				break
			}
			m.items = append(m.items, item{list: newest, before: m.ends[newest].position, entry: entry, result: &activityResult{}})
		}
		m.ends[newest].position = entry.Signature
		places[newest]++
	}
	if row == len(own.rows) && !from.ownEnded {
		m.own, m.ownEnded, m.folded = own.next, own.ended, own.folded
	}
	for i, l := range lists {
		m.ends[i].ended = !l.failed && l.ended && places[i] == len(l.entries)
		m.ends[i].stopped = l.failed
	}
	return m, nil
}

// next is the cursor behind the page, "" at the end. Lists of which nothing can be read just now do not lead on, so that
// a program that follows cursors arrives at an end.
func (m *merged) next() string {
	over := m.ownEnded
	out := strings.Builder{}
	if out.WriteString(string(m.own)); m.ownEnded {
		out.Reset()
		out.WriteString(cursorPair)
	}
	for i, end := range m.ends {
		if end.position.IsZero() && !end.ended {
			over = over && end.stopped
			continue // at its beginning
		}
		over = over && (end.ended || end.stopped)
		out.WriteString(cursorParts + m.lists[i].wallet.Address.String() + cursorPair)
		if !end.ended {
			out.WriteString(end.position.String())
		}
	}
	if over {
		return ""
	}
	return out.String()
}

// sentByOurs reports whether a signature is that of a transaction that purser carried through for this wallet, and that
// the caller sees in purser's own list.
func sentByOurs(tx store.Tx, who Caller, w wallet.Wallet, sig wallet.Signature) (bool, error) {
	t, err := tx.TransactionBySignature(sig)
	// The list passes over a damaged one, so the chain's word is shown.
	if errors.Is(err, store.ErrNotFound) || store.IsDamaged(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	rules, err := tx.Kinds().Of(t.Kind)
	return err == nil && rules.Life == wallet.Outgoing && rules.WalletOf(t) == w.Address && seenBy(t, who, w.Owner), err
}

// seenBy reports whether a transaction is in the list of a wallet with this owner. Those from before the wallet changed
// hands are not.
func seenBy(t wallet.Transaction, who Caller, owner wallet.UserID) bool {
	return t.Owner == owner || who.operator()
}

// ownPage reads a page of purser's own list inside a store transaction, in batches of Limit rows.
func (f Filter) ownPage(tx store.Tx, who Caller, mint wallet.Address, after wallet.TransactionID) (out ownList, _ error) {
	owner := who.User
	// With an address the history is that of the wallet, and only the transactions of its present owner are listed.
	if !f.Address.IsZero() {
		w, err := authorizeRead(tx, who, f.Address)
		if err != nil {
			return out, err
		}
		owner = w.Owner
	}
	page := store.Page{After: after, Until: f.Until, Limit: f.Limit}
	for looked := 0; ; looked += page.Limit {
		batch, err := listed(tx, who, f.Address, page)
		if err != nil {
			return out, wallet.About("cursor", found(err, wallet.InvalidRequest, "page.old_cursor"))
		}
		for i := range batch {
			t := &batch[i]
			// The history is sorted by time, so nothing behind this one can match.
			if !f.Since.IsZero() && t.CreatedAt.Before(f.Since) {
				out.ended = true
				return out, nil
			}
			out.next = t.ID
			if !seenBy(*t, who, owner) {
				continue
			}
			rules, err := tx.Kinds().Of(t.Kind)
			if err != nil {
				return ownList{}, err
			}
			if !f.fits(*t, rules.Type, mint) {
				continue
			}
			switch f.folding(*t) {
			case Counted:
				out.folded++
			case Shown:
				out.rows = append(out.rows, ownRow{t, out.folded})
				if out.folded = 0; len(out.rows) == f.Limit {
					return out, nil
				}
			}
		}
		if len(batch) < page.Limit {
			out.ended = true
			return out, nil
		}
		if looked >= maxLooked {
			return out, nil
		}
		page.After = out.next
	}
}

// folding is Fold of a transaction.
func (f Filter) folding(t wallet.Transaction) Folding {
	if f.Fold == nil {
		return Shown
	}
	return f.Fold(t)
}

// listed reads a batch of the caller's history, or of one address.
func listed(tx store.Tx, who Caller, address wallet.Address, p store.Page) ([]wallet.Transaction, error) {
	if address.IsZero() {
		return tx.TransactionsOf(who.User, p)
	}
	return tx.TransactionsAt(address, p)
}

// fits reports whether t matches the filter's type, status and token. typ is its kind as programs see it.
func (f Filter) fits(t wallet.Transaction, typ wallet.EntryType, mint wallet.Address) bool {
	return (f.Type == "" || f.Type == typ) && (f.Status == "" || f.Status == t.Status) &&
		(f.Token.IsZero() || mint == t.Token.Mint)
}
