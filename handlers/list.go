package handlers

import (
	"context"
	"time"

	"purser/store"
	"purser/wallet"
)

// Filter selects transactions of a list. A zero field selects all.
type Filter struct {
	Address      wallet.Address // of a wallet; required for an operator's key
	Token        wallet.TokenRef
	Type         wallet.Kind // as programs see it (wallet.Rules.Type)
	Status       wallet.Status
	Since, Until time.Time            // by creation time; Since is included, Until is not
	Cursor       wallet.TransactionID // where the previous page ended; "" for the first page
	Limit        int                  // entries per page, at least 1
}

// maxLooked bounds how many transactions are read for one page. A filter that few match gets short pages, even empty
// ones, with a cursor to continue from.
const maxLooked = 1000

// List returns a page of transactions, newest first, and the cursor of the next page ("" at the end). It lists the
// caller's own, or those of one wallet that the caller may read. Errors: INVALID_REQUEST, WALLET_NOT_FOUND.
func (s *Transfers) List(ctx context.Context, who Caller, f Filter) ([]wallet.Transaction, wallet.TransactionID, error) {
	mint := f.Token.Mint // used as it is: listing makes no RPC call
	if mint.IsZero() {
		token, _, err := s.listed(f.Token)
		if err != nil {
			return nil, "", err
		}
		mint = token.Mint
	}
	// An operator's key has no history of its own: it reads that of one wallet.
	if who.operator() && f.Address.IsZero() {
		return nil, "", wallet.About("address", wallet.Refuse(wallet.InvalidRequest, "page.address_needed"))
	}
	var out []wallet.Transaction
	var next wallet.TransactionID
	err := s.Store.View(ctx, func(tx store.Tx) (err error) {
		out, next, err = f.page(tx, who, mint)
		return err
	})
	return out, next, err
}

// page reads one page inside a store transaction, in batches of Limit rows.
func (f Filter) page(tx store.Tx, who Caller, mint wallet.Address) (out []wallet.Transaction, next wallet.TransactionID, _ error) {
	owner := who.User
	// With an address the history is that of the wallet, and only the transactions of its present owner are listed.
	if !f.Address.IsZero() {
		w, err := authorizeRead(tx, who, f.Address)
		if err != nil {
			return nil, "", err
		}
		owner = w.Owner
	}
	page := store.Page{After: f.Cursor, Until: f.Until, Limit: f.Limit}
	for looked := 0; ; looked += page.Limit {
		batch, err := listed(tx, who, f.Address, page)
		if err != nil {
			return out, next, wallet.About("cursor", found(err, wallet.InvalidRequest, "page.old_cursor"))
		}
		for _, t := range batch {
			// The history is sorted by time, so nothing behind this one can match.
			if !f.Since.IsZero() && t.CreatedAt.Before(f.Since) {
				return out, "", nil
			}
			next = t.ID
			if t.Owner != owner && !who.operator() {
				continue // from before the wallet changed hands
			}
			rules, err := tx.Kinds().Of(t.Kind)
			if err != nil {
				return nil, "", err
			}
			if f.fits(t, rules.Type, mint) {
				if out = append(out, t); len(out) == f.Limit {
					return out, next, nil
				}
			}
		}
		if len(batch) < page.Limit {
			return out, "", nil
		}
		if looked >= maxLooked {
			return out, next, nil
		}
		page.After = next
	}
}

// listed reads a batch of the caller's history, or of one address.
func listed(tx store.Tx, who Caller, address wallet.Address, p store.Page) ([]wallet.Transaction, error) {
	if address.IsZero() {
		return tx.TransactionsOf(who.User, p)
	}
	return tx.TransactionsAt(address, p)
}

// fits reports whether t matches the filter's type, status and token. typ is its kind as programs see it.
func (f Filter) fits(t wallet.Transaction, typ wallet.Kind, mint wallet.Address) bool {
	return (f.Type == "" || f.Type == typ) && (f.Status == "" || f.Status == t.Status) &&
		(f.Token.IsZero() || mint == t.Token.Mint)
}
