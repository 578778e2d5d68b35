package records

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"purser/store"
	"purser/wallet"
)

// transactionIndex is what the index entries of a transaction are made of, read from the same JSON as transactionRow.
// No data key is needed for it.
type transactionIndex struct {
	ID        wallet.TransactionID `json:"id"`
	Kind      wallet.Kind          `json:"type"`
	Owner     wallet.UserID        `json:"owner"`
	From      wallet.Address       `json:"from"`
	CreatedAt time.Time            `json:"created_at"`
	Signature wallet.Signature     `json:"signature"`
	Closed    bool                 `json:"closed"`
	Changes   uint64               `json:"changes"`
	Version   uint64               `json:"version"` // see store.Transactions.PutTransaction
	Sign      []byte               `json:"sign"`

	To          wallet.Address `json:"to"`
	Status      wallet.Status  `json:"status"`
	ConfirmedAt time.Time      `json:"confirmed_at"`
	EndedAt     time.Time      `json:"ended_at"`

	rules  wallet.Rules // of its kind; zero if this binary does not know the kind
	number uint64       // of its row in finals; 0: its row lies in transactions
	tag    []byte       // of a row that is about to be written; nil for one that was read
}

// index is the transactionIndex of a row that is about to be written.
func (r transactionRow) index(rules wallet.Rules) transactionIndex {
	return transactionIndex{r.ID, r.Kind, r.Owner, r.From, r.CreatedAt, r.Signature, r.Closed, r.Changes, r.Version, r.Sign,
		r.To, r.Status, r.ConfirmedAt, r.EndedAt, rules, 0, nil}
}

// reached is wallet.Rules.Reached for the fields that the index knows.
func (x transactionIndex) reached() bool {
	return x.rules.Reached(wallet.Transaction{Status: x.Status, ConfirmedAt: x.ConfirmedAt, EndedAt: x.EndedAt})
}

// paid is the entry in paidBy of a transfer that reached its recipient.
func (x transactionIndex) paid() indexEntry {
	return indexEntry{in: paidBy, key: join(userPrefix(x.Owner), timeKey(x.CreatedAt), x.To[:], []byte(x.ID))}
}

// indexEntry is one key of an index, with its value. Only one transaction may have what a unique one is about.
type indexEntry struct {
	in     table
	key    []byte
	value  []byte
	unique unique
}

// unique is what only one transaction may have.
type unique int

const (
	notUnique unique = iota
	uniqueLink
	uniqueSignature
)

// historyKey is the entry in byWallet for the wallet that the transaction concerns: for a receipt the one that
// received.
func (x transactionIndex) historyKey() indexEntry {
	return indexEntry{in: byWallet, key: join(historyPrefix(x.wallet()), timeKey(x.CreatedAt), []byte(x.ID))}
}

// unsettledKey is the entry in byWallet of a transaction that is not settled. It lies near its historyKey, so that both
// are often on one page of the file. Its value is the tag of the row. It is empty in older files until the row is
// next written.
func (x transactionIndex) unsettledKey() indexEntry {
	return indexEntry{in: byWallet, key: join(unsettledPrefix(x.From), timeKey(x.CreatedAt), []byte(x.ID)), value: x.tag}
}

// historyPrefix begins the history of a wallet in byWallet.
func historyPrefix(a wallet.Address) []byte { return append(a[:], 'h') }

// unsettledPrefix begins the unsettled transactions from a wallet in byWallet.
func unsettledPrefix(a wallet.Address) []byte { return append(a[:], 'u') }

// wallet is the wallet that the transaction concerns: for a receipt the one that received.
func (x transactionIndex) wallet() wallet.Address {
	return x.rules.WalletOf(wallet.Transaction{From: x.From, To: x.To})
}

// entries lists all index entries of a transaction in its present state. reindex compares the lists before and after
// a change.
func (t *tx) entries(x transactionIndex) []indexEntry {
	if x.number > 0 {
		return t.finalEntries(x)
	}
	// Always: the lists of the owner and of the wallet.
	created := append(timeKey(x.CreatedAt), x.ID...)
	out := make([]indexEntry, 0, 7)
	out = append(out, indexEntry{in: byOwner, key: join(userPrefix(x.Owner), created)}, x.historyKey())
	// Until it is closed: the lists of workers and of reservations.
	if !x.Closed {
		out = append(out, indexEntry{in: unsettled, key: created}, x.unsettledKey())
	}
	// Once the recipient was paid, for the check of look-alike addresses.
	if x.reached() {
		out = append(out, x.paid())
	}
	// By its signing link, and by its signature once there is one.
	if len(x.Sign) > 0 {
		out = append(out, indexEntry{bySignID, x.Sign, []byte(x.ID), uniqueLink})
	}
	if !x.Signature.IsZero() {
		out = append(out, indexEntry{bySignature, x.Signature[:], []byte(x.ID), uniqueSignature})
	}
	return out
}

// reindex replaces the index entries of a row. It checks all unique entries before it writes any, so ErrConflict has
// written nothing.
func (t *tx) reindex(n wallet.Transaction, old *transactionIndex, now transactionIndex) error {
	var before []indexEntry
	if old != nil {
		before = t.entries(*old)
	}
	after := t.entries(now)
	// First find out what may be added, and who gives way.
	var adds, taken []indexEntry
	for _, e := range after {
		if holds(before, e) {
			continue
		}
		if e.unique != notUnique {
			free, from, err := t.free(e.unique, n, now.rules)
			if err != nil {
				return err
			}
			if !free {
				continue
			}
			taken = append(taken, from...)
		}
		adds = append(adds, e)
	}
	// Then remove what no longer holds.
	if err := t.removeEntries(before, after); err != nil {
		return err
	}
	for _, e := range taken {
		if err := t.delete(e.in, e.key); err != nil {
			return err
		}
	}
	// Then add.
	for _, e := range adds {
		if err := t.put(e.in, e.key, e.value); err != nil {
			return err
		}
	}
	return nil
}

// removeEntries removes the entries of a row, but for those that are to stay.
func (t *tx) removeEntries(all, stay []indexEntry) error {
	for _, e := range all {
		// What leads to an id may be another's: a receipt gives way to its sender. An entry with a new value is written over.
		if hasKey(stay, e) || e.unique != notUnique && e.in != finalHashes && !bytes.Equal(t.get(e.in, e.key), e.value) {
			continue
		}
		if err := t.delete(e.in, e.key); err != nil {
			return err
		}
	}
	return nil
}

// holds tells whether a list has an entry.
func holds(entries []indexEntry, e indexEntry) bool {
	return slices.ContainsFunc(entries, func(o indexEntry) bool {
		return o.in == e.in && bytes.Equal(o.key, e.key) && bytes.Equal(o.value, e.value)
	})
}

// hasKey tells whether a list has an entry under the same key.
func hasKey(entries []indexEntry, e indexEntry) bool {
	return slices.ContainsFunc(entries, func(o indexEntry) bool { return o.in == e.in && bytes.Equal(o.key, e.key) })
}

// free tells whether a transaction may take a unique entry that it does not have. ErrConflict: another one has
// it. A receipt and a payment may share a signature. The signature then leads to the payment, and the receipt is
// found by its id. So a receipt never takes an entry that exists (false), and a payment takes it from a receipt
// (true, and the entry of the receipt, which has to go).
func (t *tx) free(of unique, n wallet.Transaction, rules wallet.Rules) (free bool, taken []indexEntry, err error) {
	other, held, err := t.holder(of, n)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return true, nil, nil
	case err != nil:
		return false, nil, err
	case of == uniqueSignature && rules.Life == wallet.Incoming:
		return false, nil, nil
	case of == uniqueSignature && other.rules.Life == wallet.Incoming:
		return true, []indexEntry{held}, nil
	}
	return false, nil, store.ErrConflict
}

// holder returns the transaction that has what a unique entry of n would be about, and its entry. ErrNotFound: no other has it.
func (t *tx) holder(of unique, n wallet.Transaction) (x transactionIndex, held indexEntry, err error) {
	var hash store.Hash
	if of == uniqueSignature {
		hash, held = t.signatureHash(n.Signature), indexEntry{in: bySignature, key: n.Signature[:]}
	} else {
		hash = t.store.lookup.Text(store.BySignID, n.SignID)
		held = indexEntry{in: bySignID, key: hash[:]}
	}
	if id := t.get(held.in, held.key); id != nil && string(id) != string(n.ID) {
		x, err = t.transactionIndex(id)
		return x, held, err
	}
	for stored, err := range t.finalsUnder(finalHashes, hash[:finalHashSize]) {
		if err == nil {
			x, err = t.indexOf(stored)
		}
		if err == nil && x.ID != n.ID {
			var same bool
			if same, err = t.sharesUnique(of, n, stored, x); same {
				return x, indexEntry{in: finalHashes, key: finalHashKey(hash[:], x.number)}, nil
			}
		}
		if err != nil && !erased(err) {
			return x, held, err
		}
	}
	return x, held, store.ErrNotFound
}

// sharesUnique tells whether a final row has the signature of n, or its signing link. That is sealed, so an erased person's row
// has none (ErrNotFound).
func (t *tx) sharesUnique(of unique, n wallet.Transaction, stored storedTransaction, x transactionIndex) (bool, error) {
	if of == uniqueSignature {
		return x.Signature == n.Signature, nil
	}
	other, err := t.opened(stored)
	return err == nil && other.SignID == n.SignID, err
}

// transactionIndex reads what the index entries of a stored row are made of. ErrNotFound: there is no row.
func (t *tx) transactionIndex(id []byte) (transactionIndex, error) {
	stored, err := t.stored(id)
	if err != nil {
		return transactionIndex{}, err
	}
	return t.indexOf(stored)
}

// indexOf is transactionIndex for a row that was read.
func (t *tx) indexOf(stored storedTransaction) (x transactionIndex, err error) {
	if err := stored.into(&x); err != nil {
		return x, err
	}
	x.rules, _ = t.store.kinds.Of(x.Kind)
	x.number = stored.number
	return x, nil
}
