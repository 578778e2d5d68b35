package records

import (
	"bytes"
	"errors"
	"fmt"
	"time"

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

// OutgoingFrom reads the plain parts only, which say what was paid: first the history back to since, then what is unsettled and older.
func (t *tx) OutgoingFrom(from wallet.Address, since time.Time) ([]wallet.Transaction, error) {
	history, unsettled := engine.Prefix(historyPrefix(from)), engine.Prefix(unsettledPrefix(from))
	history.From, unsettled.Before = join(historyPrefix(from), timeKey(since)), join(unsettledPrefix(from), timeKey(since))
	var out []wallet.Transaction
	for _, r := range []engine.Range{history, unsettled} {
		r.Backward = true
		for key := range t.scan(byWallet, r) {
			created := key[len(from)+1:]
			if len(created) <= timeSize {
				return nil, fmt.Errorf("%w: an index of transactions", store.ErrDamaged)
			}
			if err := t.appendPlain(&out, from, created[timeSize:]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// appendPlain adds the plain part of a transaction if it is outgoing from a wallet, unless its user was erased.
func (t *tx) appendPlain(out *[]wallet.Transaction, from wallet.Address, id []byte) error {
	r, _, err := plainOf[transactionRow](t, transactions, id, t.get(transactions, id))
	if err != nil {
		return err
	}
	rules, err := t.store.kinds.Of(r.Kind)
	if err != nil {
		return err
	}
	if rules.Life == wallet.Outgoing && r.From == from && !t.isErased(r.Owner) {
		*out = append(*out, r.Transaction)
	}
	return nil
}

// HasPaid reads the index of payments that reached their recipients, and of those to the address their sender.
func (t *tx) HasPaid(owner wallet.UserID, from, to wallet.Address, limit int) (bool, error) {
	prefix := userPrefix(owner)
	r := engine.Prefix(prefix)
	r.Backward = true
	for key := range t.scan(paidBy, r) {
		if limit--; limit < 0 {
			break
		}
		rest := key[len(prefix):]
		if len(rest) <= timeSize+len(to) {
			return false, fmt.Errorf("%w: an index of recipients", store.ErrDamaged)
		}
		if !bytes.Equal(rest[timeSize:timeSize+len(to)], to[:]) {
			continue
		}
		switch x, found, err := t.transactionIndex(rest[timeSize+len(to):]); {
		case err != nil:
			return false, err
		case found && x.From == from && x.To == to && x.Owner == owner && x.reached():
			return true, nil
		}
	}
	return false, nil
}
