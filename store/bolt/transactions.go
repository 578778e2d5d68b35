package bolt

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/wallet"
)

// transactionRow is the plain part of a transaction; chat and sign id are sealed.
type transactionRow struct {
	wallet.Transaction
	Sign []byte `json:"sign,omitempty"` // H(sign id), the key in bySignID
}

// transactionIndex is what the indexes of a transaction are made of, read from the same JSON.
type transactionIndex struct {
	ID        wallet.TransactionID `json:"id"`
	Kind      wallet.Kind          `json:"type"`
	Owner     wallet.UserID        `json:"owner"`
	From      wallet.Address       `json:"from"`
	CreatedAt time.Time            `json:"created_at"`
	Signature wallet.Signature     `json:"signature"`
	Final     bool                 `json:"final"`
	Changes   uint64               `json:"changes"`
	Version   uint64               `json:"version"`
	Sign      []byte               `json:"sign"`
}

func (r transactionRow) index() transactionIndex {
	return transactionIndex{r.ID, r.Kind, r.Owner, r.From, r.CreatedAt, r.Signature, r.Final, r.Changes, r.Version, r.Sign}
}

// indexEntry is one key of an index. A unique one maps to the transaction's id, and only one
// transaction may hold it.
type indexEntry struct {
	in     bucket
	key    []byte
	unique bool
}

func (x transactionIndex) entries() []indexEntry {
	created := append(timeKey(x.CreatedAt), x.ID...)
	out := make([]indexEntry, 0, 5)
	out = append(out, indexEntry{byOwner, join(userPrefix(x.Owner), created), false})
	if !x.Final {
		out = append(out,
			indexEntry{unsettled, created, false},
			indexEntry{unsettledFrom, join(x.From[:], created), false})
	}
	if len(x.Sign) > 0 {
		out = append(out, indexEntry{bySignID, x.Sign, true})
	}
	if !x.Signature.IsZero() {
		out = append(out, indexEntry{bySignature, x.Signature[:], true})
	}
	return out
}

func (t *tx) Transaction(id wallet.TransactionID) (wallet.Transaction, error) {
	key := []byte(id)
	raw := t.get(transactions, key)
	if raw == nil {
		return wallet.Transaction{}, store.ErrNotFound
	}
	var r transactionRow
	sealed, err := t.unseal(transactions, key, raw, &r, "whose")
	if err != nil {
		return wallet.Transaction{}, err
	}
	who, err := parseWhose(sealed[0])
	if err != nil {
		return wallet.Transaction{}, err
	}
	r.Chat, r.SignID = who.Chat, who.SignID
	return r.Transaction, nil
}

func (t *tx) TransactionBySignID(signID string) (wallet.Transaction, error) {
	hash := t.store.lookup.Text(store.BySignID, signID)
	return t.Transaction(wallet.TransactionID(t.get(bySignID, hash[:])))
}

func (t *tx) TransactionBySignature(signature wallet.Signature) (wallet.Transaction, error) {
	return t.Transaction(wallet.TransactionID(t.get(bySignature, signature[:])))
}

func (t *tx) CreateTransaction(n wallet.Transaction) error {
	if err := checkID(string(n.ID)); err != nil {
		return err
	}
	if n.Owner != "" {
		if err := checkID(string(n.Owner)); err != nil {
			return err
		}
	}
	if t.get(transactions, []byte(n.ID)) != nil {
		return store.ErrConflict
	}
	n.Version = 1
	return t.writeTransaction(n, nil)
}

func (t *tx) PutTransaction(n wallet.Transaction) error {
	old, found, err := t.transactionIndex([]byte(n.ID))
	if err != nil {
		return err
	}
	if !found {
		return store.ErrNotFound
	}
	if old.Version != n.Version || old.Owner != n.Owner {
		return store.ErrConflict
	}
	n.Version++
	return t.writeTransaction(n, &old)
}

// writeTransaction writes the row and whichever index entries differ from the old row's.
func (t *tx) writeTransaction(n wallet.Transaction, old *transactionIndex) error {
	r := transactionRow{Transaction: n}
	if n.SignID != "" {
		hash := t.store.lookup.Text(store.BySignID, n.SignID)
		r.Sign = hash[:]
	}
	r.Chat, r.SignID = 0, ""
	who, err := whose{Chat: n.Chat, SignID: n.SignID}.field()
	if err != nil {
		return err
	}
	key := []byte(n.ID)
	raw, err := t.seal(transactions, key, n.Owner, r, who)
	if err != nil {
		return err
	}
	var before []indexEntry
	if old != nil {
		before = old.entries()
	}
	after := r.index().entries()
	for _, e := range before {
		if !holds(after, e) {
			if err := t.unindex(e, key); err != nil {
				return err
			}
		}
	}
	for _, e := range after {
		if !holds(before, e) {
			if err := t.index(e, key, n.Kind); err != nil {
				return err
			}
		}
	}
	if !n.Final && (old == nil || old.Changes != n.Changes) {
		t.news[store.Unsettled] = true // a step of the lifecycle; a mere refresh wakes nobody
	}
	return t.put(transactions, key, raw)
}

func holds(entries []indexEntry, e indexEntry) bool {
	return slices.ContainsFunc(entries, func(o indexEntry) bool { return o.in == e.in && bytes.Equal(o.key, e.key) })
}

func (t *tx) index(e indexEntry, id []byte, kind wallet.Kind) error {
	if !e.unique {
		return t.put(e.in, e.key, nil)
	}
	if holder := t.get(e.in, e.key); holder != nil {
		other, found, err := t.transactionIndex(holder)
		switch {
		case err != nil:
			return err
		case e.in == bySignature && kind == wallet.Receive:
			return nil // a receipt shares its sender's signature, and is found by its id
		case found && (e.in != bySignature || other.Kind != wallet.Receive):
			return store.ErrConflict
		}
	}
	return t.put(e.in, e.key, id)
}

func (t *tx) unindex(e indexEntry, id []byte) error {
	if e.unique && !bytes.Equal(t.get(e.in, e.key), id) {
		return nil
	}
	return t.delete(e.in, e.key)
}

// transactionIndex reads what the indexes know of a row.
func (t *tx) transactionIndex(id []byte) (x transactionIndex, found bool, err error) {
	raw := t.get(transactions, id)
	if raw == nil {
		return x, false, nil
	}
	x, _, err = plainOf[transactionIndex](raw)
	return x, true, err
}

func (t *tx) UnsettledTransactions(limit int) ([]wallet.Transaction, error) {
	return t.transactionsAt(unsettled, nil, limit)
}

func (t *tx) UnsettledFrom(from wallet.Address) ([]wallet.Transaction, error) {
	return t.transactionsAt(unsettledFrom, from[:], -1)
}

// transactionsAt lists what an index holds under a prefix, oldest first; limit < 0 is none.
func (t *tx) transactionsAt(b bucket, prefix []byte, limit int) ([]wallet.Transaction, error) {
	var out []wallet.Transaction
	cursor := t.bucket(b).Cursor()
	for key, _ := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix) && len(out) != limit; key, _ = cursor.Next() {
		if err := t.appendTransaction(&out, key[len(prefix):]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendTransaction adds the row of a created-at key, passing over those of erased users.
func (t *tx) appendTransaction(out *[]wallet.Transaction, created []byte) error {
	if len(created) <= timeSize {
		return fmt.Errorf("%w: an index of transactions", ErrDamaged)
	}
	row, err := t.Transaction(wallet.TransactionID(created[timeSize:]))
	switch {
	case erased(err):
		return nil
	case err != nil:
		return err
	}
	*out = append(*out, row)
	return nil
}

func (t *tx) TransactionsOf(owner wallet.UserID, after wallet.TransactionID, limit int) ([]wallet.Transaction, error) {
	prefix := userPrefix(owner)
	cursor := t.bucket(byOwner).Cursor()
	var key []byte
	if after == "" {
		key, _ = lastOf(cursor, prefix)
	} else {
		x, found, err := t.transactionIndex([]byte(after))
		if err != nil {
			return nil, err
		}
		if !found || x.Owner != owner {
			return nil, store.ErrNotFound
		}
		cursor.Seek(join(prefix, timeKey(x.CreatedAt), []byte(after)))
		key, _ = cursor.Prev()
	}
	var out []wallet.Transaction
	for ; bytes.HasPrefix(key, prefix) && len(out) < limit; key, _ = cursor.Prev() {
		if err := t.appendTransaction(&out, key[len(prefix):]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// lastOf finds the last key under a prefix, which must end in a zero byte; nil without one.
func lastOf(cursor *bbolt.Cursor, prefix []byte) (key, value []byte) {
	end := bytes.Clone(prefix)
	end[len(end)-1]++
	if key, _ := cursor.Seek(end); key == nil {
		key, value = cursor.Last()
		return under(prefix, key, value)
	}
	key, value = cursor.Prev()
	return under(prefix, key, value)
}

func under(prefix, key, value []byte) ([]byte, []byte) {
	if !bytes.HasPrefix(key, prefix) {
		return nil, nil
	}
	return key, value
}
