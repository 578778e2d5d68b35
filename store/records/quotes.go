package records

import (
	"bytes"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// quotePayload is the sealed part of a quote: who may use it, and what it offers.
type quotePayload struct {
	Lineage string             `json:"lineage"`
	Draft   wallet.Transaction `json:"draft"`
}

// quoteKey is the key of a quote. It begins with its owner, so that all of a person's can be erased.
func quoteKey(owner wallet.UserID, id string) []byte { return join(userPrefix(owner), []byte(id)) }

// SwapQuote reads one row.
func (t *tx) SwapQuote(owner wallet.UserID, id string) (store.SwapQuote, error) {
	q, sealed, err := readWithPayload[store.SwapQuote, quotePayload](t, swapQuotes, quoteKey(owner, id))
	q.Lineage, q.Draft = sealed.Lineage, sealed.Draft
	return q, err
}

// PutSwapQuote writes a row and its note for Sweep.
func (t *tx) PutSwapQuote(q store.SwapQuote) error {
	if err := checkID(q.ID); err != nil {
		return err
	}
	if q.Owner != "" { // "" is the operator
		if err := checkID(string(q.Owner)); err != nil {
			return err
		}
	}
	key := quoteKey(q.Owner, q.ID)
	switch {
	case t.isErased(q.Owner):
		return store.ErrNotFound
	case t.get(swapQuotes, key) != nil:
		return store.ErrConflict
	}
	plain := q
	plain.Lineage, plain.Draft = "", wallet.Transaction{}
	return errors.Join(t.putWithPayload(swapQuotes, key, q.Owner, plain, quotePayload{q.Lineage, q.Draft}), t.expire(quoteOver, q.EndsAt, key))
}

// DeleteSwapQuote removes a row and its note.
func (t *tx) DeleteSwapQuote(owner wallet.UserID, id string) error {
	key := quoteKey(owner, id)
	if t.get(swapQuotes, key) == nil {
		return store.ErrNotFound
	}
	return t.removeQuote(key)
}

// removeQuote removes a quote and its note for Sweep; without one it does nothing.
func (t *tx) removeQuote(key []byte) error {
	raw := t.get(swapQuotes, key)
	if raw == nil {
		return nil
	}
	q, _, err := plainOf[store.SwapQuote](t, swapQuotes, key, raw)
	if err != nil {
		return fmt.Errorf("remove a quote: %w", err)
	}
	return errors.Join(t.unexpire(quoteOver, q.EndsAt, key), t.delete(swapQuotes, key))
}

// eraseQuotes removes a person's quotes. A damaged one goes too; its note then leads to nothing.
func (t *tx) eraseQuotes(id wallet.UserID) error {
	for _, e := range t.prefixed(swapQuotes, userPrefix(id)) {
		key := bytes.Clone(e.key)
		if err := t.removeQuote(key); err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		if err := t.delete(swapQuotes, key); err != nil {
			return err
		}
	}
	return nil
}
