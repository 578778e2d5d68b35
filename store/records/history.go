package records

import (
	"bytes"
	"errors"
	"fmt"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// Pages of transactions, newest first.

// pageMade is for how many transactions room is made before a page is read. They are large: growing costs as much as reading.
const pageMade = 32

func (t *tx) TransactionsOf(owner wallet.UserID, p store.Page) ([]wallet.Transaction, error) {
	return t.page(byOwner, userPrefix(owner), p)
}

func (t *tx) TransactionsAt(at wallet.Address, p store.Page) ([]wallet.Transaction, error) {
	return t.page(byWallet, historyPrefix(at), p)
}

// page walks an index of created-at keys under a prefix, newest first. It begins below Until or behind After, whichever
// is older.
func (t *tx) page(b table, prefix []byte, p store.Page) ([]wallet.Transaction, error) {
	r := engine.Prefix(prefix)
	r.Backward = true
	if !p.Until.IsZero() {
		r.Before = join(prefix, timeKey(p.Until))
	}
	// After must be in this very list: otherwise somebody could learn when another person's transaction was made.
	if p.After != "" {
		x, found, err := t.transactionIndex([]byte(p.After))
		if err != nil {
			return nil, err
		}
		after := join(prefix, timeKey(x.CreatedAt), []byte(p.After))
		if at, _ := t.first(b, engine.Range{From: after}); !found || !bytes.Equal(at, after) {
			return nil, store.ErrNotFound
		}
		if p.Until.IsZero() || bytes.Compare(after, r.Before) < 0 {
			r.Before = after
		}
	}
	var out []wallet.Transaction
	for key := range t.scan(b, r) {
		if len(out) >= p.Limit {
			break
		}
		if out == nil {
			out = make([]wallet.Transaction, 0, min(p.Limit, pageMade))
		}
		switch err := t.appendTransaction(&out, key[len(prefix):]); {
		case errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrUnsealed): // it hides no other
			t.skipDamaged(transactions, key[len(prefix)+timeSize:], err)
		case err != nil:
			return nil, err
		}
	}
	return out, nil
}

// Recipients reads only index entries: the address is in the key.
func (t *tx) Recipients(owner wallet.UserID, limit int) ([]wallet.Address, error) {
	prefix := userPrefix(owner)
	r := engine.Prefix(prefix)
	r.Backward = true
	var out []wallet.Address
	met := map[wallet.Address]bool{}
	for key := range t.scan(paidBy, r) {
		if limit--; limit < 0 {
			break
		}
		rest := key[len(prefix):]
		if len(rest) <= timeSize+len(wallet.Address{}) {
			return nil, fmt.Errorf("%w: an index of recipients", store.ErrDamaged)
		}
		if to := wallet.Address(rest[timeSize : timeSize+len(wallet.Address{})]); !met[to] {
			met[to] = true
			out = append(out, to)
		}
	}
	return out, nil
}
