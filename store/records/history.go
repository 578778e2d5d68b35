package records

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// Pages of transactions, newest first. Those of finals have a list of their own beside that of the others, and these are read
// as one.

// pageMade is for how many transactions room is made before a page is read. They are large: growing costs as much as reading.
const pageMade = 32

// lead is an entry of a list of transactions, as it was read: it leads to a row of transactions or of finals.
type lead struct {
	in     table
	millis uint64 // about when it was created
	id     []byte // in transactions; nil: it lies in finals
	number uint64 // in finals
	to     []byte // the recipient, in a list of payments
	key    []byte // of the entry
	err    error  // ErrDamaged: the entry makes no sense
}

// leadList is a part of an index in which the transactions of an owner or a wallet lie in the order of time.
type leadList struct {
	in     table
	prefix []byte
}

// bounds is the range of those that were created in a time, whole milliseconds both included.
func (l leadList) bounds(oldest, newest uint64) engine.Range {
	at := func(millis uint64) []byte {
		if l.in == finalsOf || l.in == finalsAt {
			return appendMillis(bytes.Clone(l.prefix), millis)
		}
		return join(l.prefix, timeKey(time.UnixMilli(int64(millis))))
	}
	r := engine.Prefix(l.prefix)
	r.Backward = true
	// The first and the last millisecond stand for all times before and behind them.
	if oldest > 0 {
		r.From = at(oldest)
	}
	if newest < lastMillis {
		r.Before = at(newest + 1)
	}
	return r
}

// lead reads an entry of the list.
func (l leadList) lead(key, value []byte) lead {
	rest := key[len(l.prefix):]
	if l.in == finalsOf || l.in == finalsAt {
		if len(rest) > millisSize {
			if number, err := suffixNumber(rest[millisSize:]); err == nil {
				return lead{in: l.in, millis: keyMillis(rest), number: number, to: value, key: key}
			}
		}
	} else {
		recipient := 0
		if l.in == paidBy {
			recipient = len(wallet.Address{})
		}
		if len(rest) > timeSize+recipient {
			if at, err := keyTime(rest); err == nil {
				return lead{in: l.in, millis: millisOf(at), id: rest[timeSize+recipient:], to: rest[timeSize : timeSize+recipient], key: key}
			}
		}
	}
	// It comes at once, so that it holds up no other.
	return lead{in: l.in, millis: lastMillis, key: key, err: fmt.Errorf("%w: an index of transactions", store.ErrDamaged)}
}

// newest walks lists as one, the newest first. Those that were created in the same millisecond come in any order.
func (t *tx) newest(oldest, newest uint64, lists ...leadList) iter.Seq[lead] {
	walk := func(l leadList) iter.Seq[lead] {
		return func(yield func(lead) bool) {
			for key, value := range t.scan(l.in, l.bounds(oldest, newest)) {
				if !yield(l.lead(key, value)) {
					return
				}
			}
		}
	}
	lists = slices.DeleteFunc(lists, func(l leadList) bool {
		key, _ := t.first(l.in, l.bounds(oldest, newest))
		return key == nil
	})
	if len(lists) == 1 {
		return walk(lists[0])
	}
	return func(yield func(lead) bool) {
		var heads []lead
		var next []func() (lead, bool)
		for _, l := range lists {
			pull, stop := iter.Pull(walk(l))
			defer stop()
			if head, ok := pull(); ok {
				heads, next = append(heads, head), append(next, pull)
			}
		}
		for len(heads) > 0 {
			at := 0
			for i := range heads {
				if heads[i].millis > heads[at].millis {
					at = i
				}
			}
			if !yield(heads[at]) {
				return
			}
			ok := false
			if heads[at], ok = next[at](); !ok {
				heads, next = slices.Delete(heads, at, at+1), slices.Delete(next, at, at+1)
			}
		}
	}
}

// follow reads the row that an entry leads to. ErrNotFound: there is none.
func (t *tx) follow(l lead) (storedTransaction, error) {
	switch {
	case l.err != nil:
		return storedTransaction{}, l.err
	case l.id == nil:
		return t.final(l.number)
	}
	return t.stored(l.id)
}

// skipLead reports the row of an entry that cannot be read, or the entry itself.
func (t *tx) skipLead(l lead, err error) {
	switch {
	case l.err != nil:
		t.skipDamaged(l.in, l.key, err)
	case l.id != nil:
		t.skipDamaged(transactions, l.id, err)
	default:
		t.skipDamaged(finals, numberKey(l.number), err)
	}
}

// ofOwner are the lists of an owner's transactions, and paidOf those of the payments among them that reached their recipients.
func (t *tx) ofOwner(owner wallet.UserID) []leadList {
	prefix := t.finalOwner(owner)
	return []leadList{{byOwner, userPrefix(owner)}, {finalsOf, join(prefix, []byte{finalPaid})}, {finalsOf, join(prefix, []byte{finalOther})}}
}

func (t *tx) paidOf(owner wallet.UserID) []leadList {
	return []leadList{{paidBy, userPrefix(owner)}, {finalsOf, join(t.finalOwner(owner), []byte{finalPaid})}}
}

// atWallet are the lists of the transactions that concern a wallet.
func (t *tx) atWallet(at wallet.Address) []leadList {
	return []leadList{{byWallet, historyPrefix(at)}, {finalsAt, t.finalWallet(at)}}
}

func (t *tx) TransactionsOf(owner wallet.UserID, p store.Page) ([]wallet.Transaction, error) {
	return t.page(p, func(x transactionIndex) bool { return x.Owner == owner }, t.ofOwner(owner))
}

func (t *tx) TransactionsAt(at wallet.Address, p store.Page) ([]wallet.Transaction, error) {
	return t.page(p, func(x transactionIndex) bool { return x.wallet() == at }, t.atWallet(at))
}

// page walks lists of transactions, newest first. It begins below Until or behind After, whichever is older. belongs tells
// whether a row is meant: entries of finals may lead to others' rows.
func (t *tx) page(p store.Page, belongs func(transactionIndex) bool, lists []leadList) ([]wallet.Transaction, error) {
	newest := uint64(lastMillis)
	var after transactionIndex
	if p.After != "" {
		// After must be in this very list: otherwise somebody could learn when another person's transaction was made.
		var err error
		if after, err = t.transactionIndex([]byte(p.After)); err != nil {
			return nil, err
		}
		if !belongs(after) {
			return nil, store.ErrNotFound
		}
		newest = millisOf(after.CreatedAt)
	}
	if !p.Until.IsZero() {
		newest = min(newest, millisOf(p.Until))
	}
	meant := func(x transactionIndex) bool {
		return belongs(x) && (p.Until.IsZero() || x.CreatedAt.Before(p.Until)) &&
			(p.After == "" || cmp.Or(x.CreatedAt.Compare(after.CreatedAt), cmp.Compare(x.ID, after.ID)) < 0)
	}
	var out []wallet.Transaction
	begun, millis := 0, uint64(0) // where those of the latest millisecond begin in out, and that millisecond
	for l := range t.newest(0, newest, lists...) {
		if l.millis != millis {
			if begun, millis = sortNewest(out, begun), l.millis; begun >= p.Limit {
				break
			}
		}
		if out == nil {
			out = make([]wallet.Transaction, 0, max(0, min(p.Limit, pageMade)))
		}
		switch row, err := t.meant(l, meant); {
		case err == nil:
			out = append(out, row)
		case store.IsDamaged(err): // it hides no other
			t.skipLead(l, err)
		case !erased(err):
			return nil, err
		}
	}
	sortNewest(out, begun)
	return out[:max(0, min(len(out), p.Limit))], nil
}

// sortNewest puts the transactions from an index on in the order of a page, and returns how many there are in all: the key of a list
// knows the millisecond only.
func sortNewest(list []wallet.Transaction, from int) int {
	if len(list) > from+1 {
		slices.SortFunc(list[from:], func(a, b wallet.Transaction) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
		})
	}
	return len(list)
}

// meant reads the row of an entry. ErrNotFound: there is none, its owner was erased, or it is not meant.
func (t *tx) meant(l lead, meant func(transactionIndex) bool) (wallet.Transaction, error) {
	stored, err := t.follow(l)
	if err != nil {
		return wallet.Transaction{}, err
	}
	row, err := t.opened(stored)
	if err != nil {
		return wallet.Transaction{}, err
	}
	rules, err := t.store.kinds.Of(row.Kind)
	if err == nil && !meant(transactionRow{Transaction: row}.index(rules)) {
		err = store.ErrNotFound
	}
	return row, err
}

// Recipients reads only index entries: the address is in the key, or the value. Those that were paid within the same millisecond may come
// in any order.
func (t *tx) Recipients(owner wallet.UserID, limit int) ([]wallet.Address, error) {
	var out []wallet.Address
	met := map[wallet.Address]bool{}
	for l := range t.newest(0, lastMillis, t.paidOf(owner)...) {
		if limit--; limit < 0 {
			break
		}
		to, err := l.recipient()
		if err != nil {
			return nil, err
		}
		if !met[to] {
			met[to] = true
			out = append(out, to)
		}
	}
	return out, nil
}

// recipient is the address in an entry of a list of payments.
func (l lead) recipient() (to wallet.Address, err error) {
	if l.err != nil || len(l.to) != len(to) {
		return to, cmp.Or(l.err, fmt.Errorf("%w: an index of recipients", store.ErrDamaged))
	}
	return wallet.Address(l.to), nil
}

// OutgoingFrom reads the plain parts only, which say what was paid: first the history back to since, then what is unsettled and older.
func (t *tx) OutgoingFrom(from wallet.Address, since time.Time) ([]wallet.Transaction, error) {
	var out []wallet.Transaction
	for l := range t.newest(millisOf(since), lastMillis, t.atWallet(from)...) {
		if err := t.appendPlain(&out, from, l, since); err != nil {
			return nil, err
		}
	}
	sortNewest(out, 0)
	older := engine.Prefix(unsettledPrefix(from))
	older.Before, older.Backward = join(unsettledPrefix(from), timeKey(since)), true
	for key, value := range t.scan(byWallet, older) {
		if err := t.appendPlain(&out, from, leadList{byWallet, unsettledPrefix(from)}.lead(key, value), time.Time{}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// appendPlain adds the plain part of a transaction if it is outgoing from a wallet and was created at since or later, unless its
// user was erased.
func (t *tx) appendPlain(out *[]wallet.Transaction, from wallet.Address, l lead, since time.Time) error {
	stored, err := t.follow(l)
	if errors.Is(err, store.ErrNotFound) { // a sum without it would be too low
		return fmt.Errorf("%w: an index leads to no transaction", store.ErrDamaged)
	}
	if err != nil {
		return err
	}
	var r transactionRow
	if err := stored.into(&r); err != nil {
		return err
	}
	rules, err := t.store.kinds.Of(r.Kind)
	if err != nil {
		return err
	}
	if rules.Life == wallet.Outgoing && r.From == from && !t.isErased(r.Owner) && !r.CreatedAt.Before(since) {
		*out = append(*out, r.Transaction)
	}
	return nil
}

// HasPaid reads the lists of payments that reached their recipients, and of those to the address their sender.
func (t *tx) HasPaid(owner wallet.UserID, from, to wallet.Address, limit int) (bool, error) {
	for l := range t.newest(0, lastMillis, t.paidOf(owner)...) {
		if limit--; limit < 0 {
			break
		}
		paid, err := l.recipient()
		if err != nil {
			return false, err
		}
		if paid != to {
			continue
		}
		stored, err := t.follow(l)
		var x transactionIndex
		if err == nil {
			x, err = t.indexOf(stored)
		}
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return false, err
		case x.From == from && x.To == to && x.Owner == owner && x.reached():
			return true, nil
		}
	}
	return false, nil
}
