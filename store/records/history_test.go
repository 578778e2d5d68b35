package records

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"purser/store"
	"purser/wallet"
)

// TestListsOfBothPlacesAreOne: every page of every size, from every transaction on and until every time, in the order of creation,
// however many were created in the same millisecond or nanosecond.
func TestListsOfBothPlacesAreOne(t *testing.T) {
	for seed := range uint64(3) {
		r, s := rand.New(rand.NewPCG(seed, 19)), fresh(t)
		people(t, s, 3)
		var all []wallet.Transaction
		for n := range 40 {
			row := sent(fmt.Sprintf("tx_%02d_%x", n, r.Uint32()), 1+r.IntN(2))
			row.CreatedAt = noon().Add(time.Duration(r.IntN(4))*time.Millisecond + time.Duration(r.IntN(2)))
			if r.IntN(8) == 0 {
				row.CreatedAt = []time.Time{{}, time.Unix(-1, 5).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 7, time.UTC)}[r.IntN(3)]
			}
			row.From, row.To = wallet.Address{byte(7 + r.IntN(2))}, wallet.Address{byte(100 + n)}
			switch r.IntN(4) {
			case 0:
				asBefore(t, s, row)
			case 1:
				row.Closed, row.Status = false, wallet.Pending
				mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
			case 2:
				row.Kind, row.Status, row.To = wallet.Receive, wallet.Received, wallet.Address{7}
				fallthrough
			default:
				mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
			}
			all = append(all, row)
		}
		slices.SortFunc(all, func(a, b wallet.Transaction) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
		})
		if err := s.View(t.Context(), func(tx store.Tx) error { return errors.Join(checkLists(tx, all), checkPaid(tx, all)) }); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// checkLists compares every page with all transactions, which are sorted.
func checkLists(tx store.Tx, all []wallet.Transaction) error {
	lists := map[string]struct {
		read func(store.Page) ([]wallet.Transaction, error)
		is   func(wallet.Transaction) bool
	}{
		"owner": {func(p store.Page) ([]wallet.Transaction, error) { return tx.TransactionsOf("usr_1", p) }, func(n wallet.Transaction) bool { return n.Owner == "usr_1" }},
		"wallet": {func(p store.Page) ([]wallet.Transaction, error) { return tx.TransactionsAt(wallet.Address{7}, p) }, func(n wallet.Transaction) bool {
			return n.Kind == wallet.Send && n.From == wallet.Address{7} || n.Kind == wallet.Receive && n.To == wallet.Address{7}
		}},
	}
	ids := func(rows []wallet.Transaction) (out []string) {
		for _, n := range rows {
			out = append(out, string(n.ID))
		}
		return out
	}
	for what, list := range lists {
		for after := range append([]wallet.Transaction{{}}, all...) {
			for _, until := range []time.Time{{}, noon().Add(time.Millisecond), noon().Add(time.Millisecond + 1), noon().Add(-time.Hour), all[len(all)/3].CreatedAt} {
				p := store.Page{Until: until, Limit: 1 + after%5}
				var want []wallet.Transaction
				for i, n := range all {
					if list.is(n) && i >= after && (until.IsZero() || n.CreatedAt.Before(until)) && len(want) < p.Limit {
						want = append(want, n)
					}
				}
				if after > 0 {
					p.After = all[after-1].ID
				}
				got, err := list.read(p)
				if after > 0 && !list.is(all[after-1]) {
					if !errors.Is(err, store.ErrNotFound) {
						return fmt.Errorf("%s behind another's: %v, %w", what, ids(got), err)
					}
					continue
				}
				if err != nil || !slices.Equal(ids(got), ids(want)) {
					return fmt.Errorf("%s %+v: %v, not %v (%w)", what, p, ids(got), ids(want), err)
				}
			}
		}
		if none, err := list.read(store.Page{}); len(none) > 0 || err != nil {
			return fmt.Errorf("an empty page of %s holds %v (%w)", what, ids(none), err)
		}
	}
	return nil
}

// checkPaid compares what was paid with all transactions, which are sorted.
func checkPaid(tx store.Tx, all []wallet.Transaction) error {
	var outgoing []wallet.TransactionID
	paid := map[wallet.Address]time.Time{}
	since := noon().Add(2*time.Millisecond + 1)
	for _, late := range []bool{false, true} {
		for _, n := range all {
			if n.Kind == wallet.Send && n.From == (wallet.Address{7}) && n.CreatedAt.Before(since) == late && (!late || !n.Closed) {
				outgoing = append(outgoing, n.ID)
			}
			if n.Kind == wallet.Send && n.Owner == "usr_2" && n.Closed {
				paid[n.To] = n.CreatedAt
			}
		}
	}
	rows, err := tx.OutgoingFrom(wallet.Address{7}, since)
	if err != nil {
		return err
	}
	for i, n := range rows {
		if i >= len(outgoing) || n.ID != outgoing[i] {
			return fmt.Errorf("outgoing as number %d is %s of %v", i, n.ID, outgoing)
		}
	}
	to, err := tx.Recipients("usr_2", 1000)
	if err != nil || len(to) != len(paid) || len(rows) != len(outgoing) {
		return fmt.Errorf("%d of %d recipients, %d of %d outgoing, %w", len(to), len(paid), len(rows), len(outgoing), err)
	}
	for i := range to {
		at, was := paid[to[i]]
		if !was || i > 0 && millisOf(at) > millisOf(paid[to[i-1]]) {
			return fmt.Errorf("recipient %d is out of its order", i)
		}
	}
	few, err := tx.Recipients("usr_2", 3)
	if len(few) != 3 {
		return fmt.Errorf("of 3 payments: %v, %w", few, err)
	}
	return err
}
