package handlers

import (
	"context"
	"time"

	"purser/store"
	"purser/wallet"
)

// Filter chooses transactions of a list. Zero fields choose all.
type Filter struct {
	Address      wallet.Address // of the wallet that they concern; an operator's key must name one
	Token        wallet.TokenRef
	Type         wallet.Kind // as programs see it (wallet.Rules.Type)
	Status       wallet.Status
	Since, Until time.Time // by creation; until itself is left out
	Cursor       wallet.TransactionID
	Limit        int
}

// maxLooked bounds how many transactions one page looks at: a filter that little fits gets short pages,
// even empty ones, with a cursor to go on from.
const maxLooked = 1000

// List is a page of transactions, newest first, and where the next one begins ("" at the end): the
// caller's own, or those of one wallet that they may read. INVALID_REQUEST, WALLET_NOT_FOUND.
func (s *Transfers) List(ctx context.Context, who Caller, f Filter) ([]wallet.Transaction, wallet.TransactionID, error) {
	mint := f.Token.Mint // no node is asked whether it exists
	if mint.IsZero() {
		token, _, err := s.listed(f.Token)
		if err != nil {
			return nil, "", err
		}
		mint = token.Mint
	}
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

// page reads the page, as far as maxLooked goes.
func (f Filter) page(tx store.Tx, who Caller, mint wallet.Address) (out []wallet.Transaction, next wallet.TransactionID, _ error) {
	owner := who.User
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
			if !f.Since.IsZero() && t.CreatedAt.Before(f.Since) {
				return out, "", nil
			}
			next = t.ID
			if t.Owner != owner && !who.operator() {
				continue // of whoever held the wallet before
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

func listed(tx store.Tx, who Caller, address wallet.Address, p store.Page) ([]wallet.Transaction, error) {
	if address.IsZero() {
		return tx.TransactionsOf(who.User, p)
	}
	return tx.TransactionsAt(address, p)
}

func (f Filter) fits(t wallet.Transaction, typ wallet.Kind, mint wallet.Address) bool {
	return (f.Type == "" || f.Type == typ) && (f.Status == "" || f.Status == t.Status) &&
		(f.Token.IsZero() || mint == t.Token.Mint)
}
