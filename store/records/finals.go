package records

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// Final transactions: those that are closed and kept for good. They are nearly all that a store of some age holds, so they lie
// where they take the least room (decisions/0058). Their rows are numbered in the order in which they became final, in a table
// of their own, which fills its pages to the end. What leads to them holds that number instead of an id, and the first bytes of
// a keyed hash instead of an owner, an address, a signature or a link. Two rows may have the same bytes, so anybody who follows an
// entry compares the row.
//
// Rows that were final in schema 1 stay in transactions, with the entries of that schema.

// How many bytes of a keyed hash lead to final rows. By finalHashSize one row is looked up, and an entry that leads to another
// one costs no more than its reading. Under finalListSize lie the lists of owners and wallets. Recipients reads a list without its rows: a
// collision of two owners is not expected below 2^40 of them.
const (
	finalHashSize = 6
	finalListSize = 10
)

// Letters in finalsOf, behind the hash of the owner.
const (
	finalOther = 'o'
	finalPaid  = 'p' // it reached its recipient, who is the value
)

// isFinal tells whether a transaction belongs into finals. One that came to nothing does not: Sweep removes it.
func isFinal(n wallet.Transaction) bool { return n.Closed && !n.NothingSigned() }

// placeOf returns the number under which a transaction lies in finals, a new one if it becomes final, and 0 if it belongs into
// transactions. A row that was final there before schema 2 stays.
func (t *tx) placeOf(n wallet.Transaction, old *transactionIndex) (number uint64, err error) {
	switch {
	case old != nil && old.number > 0 && n.Closed:
		return old.number, nil
	case isFinal(n) && (old == nil || !old.Closed):
		return t.next(finals)
	}
	return 0, nil
}

// rowPlace is where the row of a transaction lies that has a number in finals, or none (0).
func rowPlace(id wallet.TransactionID, number uint64) (in table, key []byte) {
	if number > 0 {
		return finals, numberKey(number)
	}
	return transactions, []byte(id)
}

// storedTransaction is the row of a transaction as it was read, with its tag checked and its plain part unpacked.
type storedTransaction struct {
	row
	in     table // transactions or finals
	key    []byte
	number uint64 // in finals; 0: it lies in transactions
}

// stored reads the row of a transaction. ErrNotFound: there is none.
func (t *tx) stored(id []byte) (storedTransaction, error) {
	if raw := t.get(transactions, id); raw != nil {
		return t.checked(transactions, id, raw, 0)
	}
	in, key := t.finalID(string(id))
	failure := store.ErrNotFound
	for stored, err := range t.finalsUnder(in, key) {
		if err == nil {
			var is bool
			if is, err = stored.is(id); is {
				return stored, nil
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			failure = err
		}
	}
	return storedTransaction{}, failure
}

// final reads the final row with a number. ErrNotFound: there is none.
func (t *tx) final(number uint64) (storedTransaction, error) {
	key := numberKey(number)
	raw := t.get(finals, key)
	if raw == nil {
		return storedTransaction{}, store.ErrNotFound
	}
	return t.checked(finals, key, raw, number)
}

// checked checks the tag of a row and unpacks its plain part.
func (t *tx) checked(in table, key, raw []byte, number uint64) (storedTransaction, error) {
	r, err := t.row(in, key, raw)
	if err == nil {
		r.plain, err = unpacked(r.plain, r.owner)
	}
	if err != nil {
		return storedTransaction{}, fmt.Errorf("%s: %w", in, err)
	}
	return storedTransaction{r, in, key, number}, nil
}

// is tells whether this is the row of a transaction. The id stands first in its JSON.
func (s storedTransaction) is(id []byte) (bool, error) {
	quoted, err := json.Marshal(string(id))
	if err != nil {
		return false, err
	}
	if rest, ok := bytes.CutPrefix(s.plain, []byte(`{"id":`)); ok && bytes.HasPrefix(rest, quoted) {
		return true, nil
	}
	var named struct {
		ID string `json:"id"`
	}
	err = s.into(&named)
	return err == nil && named.ID == string(id), err
}

// numberSuffix is the number of a final row as it stands at the end of a key: without the zero bytes at its front.
func numberSuffix(number uint64) []byte { return bytes.TrimLeft(numberKey(number), "\x00") }

// suffixNumber reads what numberSuffix wrote.
func suffixNumber(suffix []byte) (uint64, error) {
	if len(suffix) == 0 || len(suffix) > 8 || suffix[0] == 0 {
		return 0, fmt.Errorf("%w: an index of final transactions", store.ErrDamaged)
	}
	var key [8]byte
	copy(key[8-len(suffix):], suffix)
	return binary.BigEndian.Uint64(key[:]), nil
}

// finalHashKey is the key in finalHashes, and in finalIDs, that leads from a beginning to a number.
func finalHashKey(hash []byte, number uint64) []byte {
	return append(bytes.Clone(hash[:finalHashSize]), numberSuffix(number)...)
}

// finalsUnder reads the final rows to which entries with a prefix lead. An entry that leads to no row, or to a damaged one,
// comes with that error.
func (t *tx) finalsUnder(in table, prefix []byte) iter.Seq2[storedTransaction, error] {
	return func(yield func(storedTransaction, error) bool) {
		if key, _ := t.firstUnder(in, prefix); key == nil { // most often, and without a cursor
			return
		}
		for key := range t.scan(in, engine.Prefix(prefix)) {
			number, err := suffixNumber(key[len(prefix):])
			var stored storedTransaction
			if err == nil {
				stored, err = t.final(number)
			}
			if !yield(stored, err) {
				return
			}
		}
	}
}

// idStart is how many bytes of an id lead to a final row: the time, and 13 random bits.
const idStart = 8

// finalID returns where the id of a final transaction leads to its row. Ids with a time follow each other in finalIDs, others have a random place.
func (t *tx) finalID(id string) (in table, key []byte) {
	if digits, ok := strings.CutPrefix(id, "tx_"); ok {
		if _, timed := wallet.IDTime(id); timed {
			if raw, ok := idBytes(digits); ok {
				return finalIDs, raw[:idStart]
			}
		}
	}
	hash := t.store.lookup.Text(store.ByTransaction, id)
	return finalHashes, hash[:finalHashSize]
}

// signatureHash is the keyed hash by which a final transaction is found by its signature.
func (t *tx) signatureHash(of wallet.Signature) store.Hash {
	return t.store.lookup.Bytes(store.BySignature, of[:])
}

// finalOwner begins an owner's list of final transactions.
func (t *tx) finalOwner(owner wallet.UserID) []byte {
	hash := t.store.lookup.Text(store.ByOwner, string(owner))
	return hash[:finalListSize]
}

// finalWallet begins a wallet's list of final transactions.
func (t *tx) finalWallet(at wallet.Address) []byte {
	hash := t.store.lookup.Bytes(store.ByWallet, at[:])
	return hash[:finalListSize]
}

// finalEntries lists the index entries of a final transaction.
func (t *tx) finalEntries(x transactionIndex) []indexEntry {
	created, suffix := appendMillis(nil, millisOf(x.CreatedAt)), numberSuffix(x.number)
	in, id := t.finalID(string(x.ID))
	of := indexEntry{in: finalsOf, key: join(t.finalOwner(x.Owner), []byte{finalOther}, created, suffix)}
	if x.reached() {
		of.key[finalListSize], of.value = finalPaid, x.To[:]
	}
	out := append(make([]indexEntry, 0, 5), of,
		indexEntry{in: finalsAt, key: join(t.finalWallet(x.wallet()), created, suffix)},
		indexEntry{in: in, key: join(id, suffix)})
	if len(x.Sign) >= finalHashSize {
		out = append(out, indexEntry{finalHashes, finalHashKey(x.Sign, x.number), nil, uniqueLink})
	}
	if !x.Signature.IsZero() {
		hash := t.signatureHash(x.Signature)
		out = append(out, indexEntry{finalHashes, finalHashKey(hash[:], x.number), nil, uniqueSignature})
	}
	return out
}

// millisSize is the length of a time in the lists of final transactions, in bytes.
const millisSize = 6

// lastMillis is the last time that such a list tells apart.
const lastMillis = 1<<(8*millisSize) - 1

// millisOf is a time in whole milliseconds since 1970: 0 for those before, lastMillis for those behind. So the order of any two
// times stays, or they become equal.
func millisOf(t time.Time) uint64 {
	switch seconds := t.Unix(); {
	case seconds < 0:
		return 0
	case seconds > lastMillis/1000:
		return lastMillis
	}
	return min(uint64(t.UnixMilli()), lastMillis)
}

// appendMillis appends such a time to a key.
func appendMillis(key []byte, millis uint64) []byte {
	return append(key, numberKey(millis)[8-millisSize:]...)
}

// keyMillis reads the time at the front of a key.
func keyMillis(key []byte) uint64 {
	var number [8]byte
	copy(number[8-millisSize:], key[:millisSize])
	return binary.BigEndian.Uint64(number[:])
}

// eraseFinals removes what leads from a person to the final transactions' signing links and recipients. The rows stay, and their
// places in the lists of the owner and of the wallet: reads skip rows of an erased user.
func (t *tx) eraseFinals(id wallet.UserID) error {
	prefix := t.finalOwner(id)
	for _, e := range t.prefixed(finalsOf, prefix) {
		number, err := suffixNumber(e.key[min(len(e.key), len(prefix)+1+millisSize):])
		if err != nil {
			t.skipDamaged(finalsOf, e.key, err)
			continue
		}
		x, err := t.finalIndex(number)
		switch {
		case errors.Is(err, store.ErrDamaged): // its link leads to a row that nobody can read
			t.skipDamaged(finals, numberKey(number), err)
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return err
		case err == nil && x.Owner != id:
			continue
		}
		if len(x.Sign) >= finalHashSize {
			if err := t.delete(finalHashes, finalHashKey(x.Sign, number)); err != nil {
				return err
			}
		}
		if e.key[len(prefix)] != finalPaid {
			continue
		}
		other := bytes.Clone(e.key)
		other[len(prefix)] = finalOther
		if err := errors.Join(t.delete(finalsOf, e.key), t.put(finalsOf, other, nil)); err != nil {
			return err
		}
	}
	return nil
}

// finalIndex reads what the index entries of a final row are made of. ErrNotFound: there is no such row.
func (t *tx) finalIndex(number uint64) (transactionIndex, error) {
	stored, err := t.final(number)
	if err != nil {
		return transactionIndex{}, err
	}
	return t.indexOf(stored)
}
