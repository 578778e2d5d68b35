package handlers

import (
	"context"
	"slices"
	"sync"
	"time"

	"purser/store"
	"purser/wallet"
)

// HistoryChain is what History needs of the chain. Errors are NETWORK_ERROR unless stated otherwise.
type HistoryChain interface {
	// History returns a page of an address's confirmed transactions behind one of them, newest first; zero: from the
	// newest. more is false if the chain has no older ones.
	History(ctx context.Context, a wallet.Address, before wallet.Signature, limit int) (page []wallet.SignatureEntry, more bool, err error)
	// Activities reads what a transaction did for each owner. *wallet.UnreadableTransaction if it is shown in a way that
	// contradicts itself. wallet.ErrTransactionUnknown is inside the error if no node has the transaction any more.
	Activities(ctx context.Context, sig wallet.Signature, owners ...wallet.Address) ([]wallet.Activity, error)
}

// History lists what happened to wallets: what the chain says of them, merged with purser's own transactions. A
// transaction on chain that purser knows is listed once, as purser's own.
type History struct {
	Transfers *Transfers
	Chain     HistoryChain

	read activityCache
	once sync.Once
	room chan struct{} // a place for each page that asks nodes at the moment; made once
}

// Filter selects transactions of a list. A zero field selects all.
type Filter struct {
	Address      wallet.Address // of a wallet; required for an operator's key
	Token        wallet.TokenRef
	Type         wallet.EntryType // as programs see it (wallet.Rules.Type)
	Status       wallet.Status
	Since, Until time.Time // by creation or block time; Since is included, Until is not
	Cursor       string    // HistoryPage.Next of the page before; "" for the first page
	Limit        int       // entries per page, at least 1
	OwnOnly      bool      // only what purser itself recorded. No node is asked
	// Anonymous leaves out what only the owner may know: names of contacts, and which addresses resemble theirs. It is for
	// apps that act in the owner's name.
	Anonymous bool
	// Fold leaves out some of purser's own transactions. nil: all are shown.
	Fold func(wallet.Transaction) Folding
}

// Folding says what a list does with a transaction.
type Folding int

// The values of Folding.
const (
	Shown   Folding = iota
	Counted         // left out, and counted in HistoryPage.Folded
	Omitted         // left out
)

// HistoryPage is a part of the list, newest first. It may have fewer entries than the limit, even none, and still not be
// the last.
type HistoryPage struct {
	Entries []HistoryEntry
	Next    string // "" at the end
	Folded  int    // how many transactions between these were Counted
	// Incomplete: transactions that purser did not record are missing here, because a node did not answer, or because the
	// caller has more than MaxWalletsListed wallets. After a node's failure the same cursor gives them another time. So does
	// Next as far as it leads on, then among older ones.
	Incomplete bool
}

// HistoryEntry is one transaction of the list.
type HistoryEntry struct {
	// Transaction is purser's own record; nil if purser read the transaction on chain. Then the fields from Signature on
	// say what it did for Wallet.
	Transaction *wallet.Transaction

	Wallet wallet.Address
	// With is the only other party of what was sent or received; zero if there are several, or nobody knows.
	With wallet.Address
	Name string // the owner's contact with that address, for the owner alone; "" for none

	Signature wallet.Signature
	At        time.Time // of the block
	Type      wallet.EntryType
	Status    wallet.Status    // Pending until it is finalized; then Failed, Received or Confirmed
	Activity  *wallet.Activity // nil if no node shows the transaction in a way that can be read
	Main      wallet.NetChange // what was sent or received; the zero value for other types
	Suspect   wallet.Suspicion // of what came in. That an address resembles another is for the owner alone

	withSigned bool // With signed what came in
}

// List returns a page of the caller's transactions, or of those of one wallet that the caller may read. A node that fails
// makes the page incomplete, and is no error. Errors: INVALID_REQUEST, TOKEN_NOT_FOUND, WALLET_NOT_FOUND.
func (h *History) List(ctx context.Context, who Caller, f Filter) (HistoryPage, error) {
	mint := f.Token.Mint // used as it is: no RPC call is needed for it
	if mint.IsZero() {
		token, _, err := h.Transfers.listed(f.Token)
		if err != nil {
			return HistoryPage{}, err
		}
		mint = token.Mint
	}
	// An operator's key has no history of its own: it reads that of one wallet.
	if who.operator() && f.Address.IsZero() {
		return HistoryPage{}, wallet.About("address", wallet.Refuse(wallet.InvalidRequest, "page.address_needed"))
	}
	from, err := parseHistoryCursor(f.Cursor)
	if err != nil {
		return HistoryPage{}, err
	}
	// All calls to nodes share one deadline. It doesn't bind the store: a slow node must not make the whole list fail.
	asking, done := ctx, func() {}
	defer func() { done() }()
	// The chain first, outside any store transaction: what purser records meanwhile is then found in the store.
	var lists []chainList
	missing := false
	if !f.OwnOnly || !f.Address.IsZero() { // a cursor at the end of purser's own list must not skip the check of the address
		wallets, err := read(ctx, h.Transfers.Store, func(tx store.Tx) ([]wallet.Wallet, error) { return f.wallets(tx, who) })
		if err != nil {
			return HistoryPage{}, err
		}
		if !f.OwnOnly {
			asking, done = h.asking(ctx)
			lists = h.signatures(asking, wallets[:min(len(wallets), MaxWalletsListed)], from, f)
			missing = len(wallets) > MaxWalletsListed
		}
	}
	m, err := read(ctx, h.Transfers.Store, func(tx store.Tx) (merged, error) { return f.merge(tx, who, mint, from, lists) })
	if err != nil {
		return HistoryPage{}, err
	}
	h.activities(asking, m)
	done() // the place is free for the next page
	page, err := read(ctx, h.Transfers.Store, func(tx store.Tx) (HistoryPage, error) { return h.page(tx, who, f, mint, m) })
	page.Incomplete = page.Incomplete || missing
	return page, err
}

// asking waits for a place and returns the context for all calls of one page to nodes, which ends after historyPatience. If no
// place becomes free in that time, the context has ended: all calls fail, and the page is incomplete. Call done when no call
// follows; a second call does nothing.
func (h *History) asking(ctx context.Context) (_ context.Context, done func()) {
	h.once.Do(func() { h.room = make(chan struct{}, pagesAtOnce) })
	ctx, cancel := context.WithTimeout(ctx, historyPatience)
	select {
	case h.room <- struct{}{}:
		return ctx, sync.OnceFunc(func() { cancel(); <-h.room })
	case <-ctx.Done():
		return ctx, cancel
	}
}

// wallets lists the wallets of the list: the one that is asked for, or all of the caller.
func (f Filter) wallets(tx store.Tx, who Caller) ([]wallet.Wallet, error) {
	if f.Address.IsZero() {
		return tx.WalletsOf(who.User)
	}
	w, err := authorizeRead(tx, who, f.Address)
	return []wallet.Wallet{w}, err
}

// page tells what the merged items are, inside a store transaction.
func (h *History) page(tx store.Tx, who Caller, f Filter, mint wallet.Address, m merged) (HistoryPage, error) {
	page := HistoryPage{Entries: make([]HistoryEntry, 0, len(m.items)), Folded: m.folded}
	m.ends = slices.Clone(m.ends) // the store may run this twice
	people := acquaintances{tx: tx, who: who, anonymous: f.Anonymous}
	for i := range m.lists {
		page.Incomplete = page.Incomplete || m.lists[i].failed
	}
	for _, it := range m.items {
		if it.own != nil {
			entry, err := ownEntry(tx, &people, it.own)
			if err != nil {
				return HistoryPage{}, err
			}
			page.Entries = append(page.Entries, entry)
			page.Folded += it.folded
			continue
		}
		list := &m.ends[it.list]
		if list.stopped {
			continue
		}
		if it.result.failed {
			list.stopped, list.ended, list.position, page.Incomplete = true, false, it.before, true
			continue
		}
		entry, ok, err := h.entry(tx, who, m.lists[it.list].wallet, it)
		if err != nil {
			return HistoryPage{}, err
		}
		if !ok || !f.fitsEntry(entry, mint) {
			continue
		}
		if err := people.judge(&entry, it.result.activity, m.lists[it.list].wallet.Owner, h.Transfers.Tokens.ByMint); err != nil {
			return HistoryPage{}, err
		}
		page.Entries = append(page.Entries, entry)
	}
	page.Next = m.next()
	return page, nil
}

// fitsEntry reports whether an entry from the chain matches the filter's type, status and token.
func (f Filter) fitsEntry(e HistoryEntry, mint wallet.Address) bool {
	if f.Type != "" && f.Type != e.Type || f.Status != "" && f.Status != e.Status {
		return false
	}
	if f.Token.IsZero() {
		return true
	}
	if e.Activity != nil {
		for _, change := range e.Activity.Net {
			if change.Token.Mint == mint {
				return true
			}
		}
	}
	return false
}
