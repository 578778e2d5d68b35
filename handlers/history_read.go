package handlers

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"purser/store"
	"purser/wallet"
)

// activityResult is what a node said of one transaction.
type activityResult struct {
	activity *wallet.Activity // nil: it cannot be read, or failed
	failed   bool             // no node could be asked; another time it may be known
}

// activities reads the transactions of a page that purser did not record, and fills in their results.
func (h *History) activities(ctx context.Context, m merged) {
	var group errgroup.Group
	group.SetLimit(signaturesAtOnce)
	for _, it := range m.items {
		if it.own != nil {
			continue
		}
		group.Go(func() error {
			*it.result = h.activity(ctx, m.lists[it.list].wallet.Address, it.entry.SignatureEntry)
			return nil
		})
	}
	_ = group.Wait() // failures are in the results
}

// activity reads one transaction. One that nodes list but do not have, or show in a way that contradicts itself, cannot
// be read: that must not hide the others.
func (h *History) activity(ctx context.Context, of wallet.Address, entry wallet.SignatureEntry) activityResult {
	key := activityKey{entry.Signature, of}
	if a, ok := h.read.get(key); ok {
		return activityResult{activity: &a}
	}
	all, err := h.Chain.Activities(ctx, entry.Signature, of)
	var unreadable *wallet.UnreadableTransaction
	switch {
	case errors.As(err, &unreadable), errors.Is(err, wallet.ErrTransactionUnknown):
		return activityResult{}
	case err != nil:
		return activityResult{failed: true}
	}
	// Before that a fork can still take it back, so it is read again.
	if entry.Finalized {
		h.read.put(key, all[0])
	}
	return activityResult{activity: &all[0]}
}

// activityKey names what a transaction did for one wallet.
type activityKey struct {
	signature wallet.Signature
	wallet    wallet.Address
}

// maxCachedActivities bounds an activityCache. One takes about a kilobyte.
const maxCachedActivities = 4096

// activityCache remembers finalized transactions, which never change, so that paging back and forth asks no node again.
// The zero value is empty. It is safe for concurrent use, and what it holds is not changed by anybody.
type activityCache struct {
	mu  sync.Mutex
	all map[activityKey]wallet.Activity
}

func (c *activityCache) get(key activityKey) (wallet.Activity, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.all[key]
	return a, ok
}

// put remembers an activity in place of any other, if there are too many.
func (c *activityCache) put(key activityKey, a wallet.Activity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[activityKey]wallet.Activity{}
	}
	// Go's maps are walked in no order, so what is forgotten is as good as random: no access has to be noted.
	for other := range c.all {
		if len(c.all) < maxCachedActivities {
			break
		}
		delete(c.all, other)
	}
	c.all[key] = a
}

// entry tells what a transaction on chain did for a wallet, but for what receipts tell already. ok is false if they tell
// all of it.
func (h *History) entry(tx store.Tx, who Caller, w wallet.Wallet, it item) (_ HistoryEntry, ok bool, _ error) {
	e := HistoryEntry{Wallet: w.Address, Signature: it.entry.Signature, At: it.entry.at, Type: wallet.ActivityOther}
	if it.result.activity == nil {
		e.Status = statusOf(it.entry.SignatureEntry, it.entry.Failed, false)
		return e, true, nil
	}
	a := *it.result.activity
	a.Net = nil
	received := false
	// A receipt is one of purser's own transactions and has an entry of its own. What it says is left out here, or the same
	// money would be listed twice.
	for _, change := range it.result.activity.Net {
		if !change.Lost {
			t, err := tx.Transaction(wallet.ReceivedID(a.Signature, w.Address, change.Token.Mint))
			if err != nil && !errors.Is(err, store.ErrNotFound) && !store.IsDamaged(err) { // of a damaged one, the chain's word is shown
				return e, false, err
			}
			if err == nil && seenBy(t, who, w.Owner) {
				received = true
				continue
			}
		}
		change.Token = h.known(change.Token)
		a.Net = append(a.Net, change)
	}
	if received && len(a.Net) == 0 {
		return e, false, nil
	}
	e.Activity, e.Type = &a, a.Kind
	e.Status = statusOf(it.entry.SignatureEntry, a.Failure != "", a.Kind == wallet.ActivityReceived)
	e.party()
	return e, true, nil
}

// known is a token with its symbol, if it is on the list with the same program and decimals.
func (h *History) known(t wallet.Token) wallet.Token {
	if t.Native() {
		return wallet.SOL
	}
	if listed, ok := h.Transfers.Tokens.ByMint(t.Mint); ok && listed.Program == t.Program && listed.Decimals == t.Decimals {
		return listed
	}
	return t
}

// statusOf is the status of a transaction that purser read on chain.
func statusOf(entry wallet.SignatureEntry, failed, received bool) wallet.Status {
	switch {
	case failed:
		return wallet.Failed
	case !entry.Finalized:
		return wallet.Pending
	case received:
		return wallet.Received
	}
	return wallet.Confirmed
}

// party fills in what was sent or received, and the other side of it. A token comes before SOL: who sends tokens also
// pays lamports for accounts.
func (e *HistoryEntry) party() {
	in := e.Activity.Kind == wallet.ActivityReceived
	if !in && e.Activity.Kind != wallet.ActivitySent {
		return
	}
	for _, change := range e.Activity.Net {
		if change.Lost != in && (e.Main.Units == 0 || e.Main.Token.Native()) {
			e.Main = change
		}
	}
	// The instructions do not explain the result, so nobody is named as the other side.
	if e.Main.Units > 0 && !e.Main.Explained {
		return
	}
	some := false
	for _, movement := range e.Activity.Movements {
		counts := movement.In == in && movement.How != wallet.MovedAsRent &&
			(e.Main.Units == 0 || movement.Token.Mint == e.Main.Token.Mint)
		switch {
		case !counts:
		case some && movement.With != e.With: // several, of whom one may be nobody knows who
			e.With, e.withSigned = wallet.Address{}, false
			return
		default:
			e.With, e.withSigned = movement.With, movement.Signed && (!some || e.withSigned)
			some = true
		}
	}
}

// acquaintances are the addresses that an owner knows. They are read once, when they are first needed.
type acquaintances struct {
	tx        store.Tx
	who       Caller
	anonymous bool // nobody may learn them
	read      bool
	known     []wallet.Address
	contacts  []wallet.Contact
}

// of reads whom an owner knows, if the owner is the one who asks. Others must not learn it.
func (p *acquaintances) of(owner wallet.UserID) (own bool, err error) {
	if owner == "" || p.anonymous || p.who.User != owner {
		return false, nil
	}
	if p.read {
		return true, nil
	}
	if p.known, err = store.KnownTo(p.tx, owner); err == nil {
		p.contacts, err = p.tx.ContactsOf(owner)
	}
	p.read = err == nil
	return true, err
}

// name is the owner's contact with one of these addresses; "" for none.
func (p *acquaintances) name(addresses ...wallet.Address) string {
	for _, address := range addresses {
		for _, contact := range p.contacts {
			if contact.Address == address && !address.IsZero() {
				return contact.Name
			}
		}
	}
	return ""
}

// ownEntry is the entry of one of purser's own transactions.
func ownEntry(tx store.Tx, people *acquaintances, t *wallet.Transaction) (HistoryEntry, error) {
	e := HistoryEntry{Transaction: t}
	rules, err := tx.Kinds().Of(t.Kind)
	if err != nil {
		return e, err
	}
	if e.Wallet, e.With = rules.WalletOf(*t), t.To; e.Wallet == t.To {
		e.With = t.From
	}
	own, err := people.of(t.Owner)
	if own {
		// The request may have named a token account, and the contact may have that address.
		e.Name = people.name(e.With, t.RequestedDestination)
	}
	return e, err
}

// judge fills in the contact's name and the suspicion of an entry from the chain. whole is all that its transaction did, also
// what receipts tell already; nil if nobody could read it. Others than the owner learn only what amount and token say.
//
// Of what came in, a contact is named only if they signed: a scammer can have a token of their own move out of anybody's
// account.
func (p *acquaintances) judge(e *HistoryEntry, whole *wallet.Activity, owner wallet.UserID, listed func(wallet.Address) (wallet.Token, bool)) error {
	if e.Activity == nil {
		return nil
	}
	own, err := p.of(owner)
	if err != nil {
		return err
	}
	var known []wallet.Address
	if own {
		known = p.known
	}
	if own && (e.withSigned || e.Activity.Kind != wallet.ActivityReceived) {
		e.Name = p.name(e.With)
	}
	e.Suspect = whole.Suspicion(known, listed)
	return nil
}
