package records

import (
	"sync"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// reservations are what the rows of transactions hold back, by the tags of these rows: a proposal of a payment sums up all that
// is under way from its wallet, and decoding those rows again each time was the largest cost of a payment. A row that is written
// has another tag, so that nothing here is ever out of date. Any goroutine may use it.
type reservations struct {
	mu  sync.Mutex
	all map[rowTag]reservation
}

// rowTag is the tag at the end of a row (see row).
type rowTag [tagSize]byte

// reservation is what a row holds back; holds is false if that is nothing.
type reservation struct {
	wallet.Reservation
	holds bool
}

// mostReservations bounds them to a few megabytes. All are forgotten when there are more.
const mostReservations = 1 << 15

func (r *reservations) get(tag rowTag) (reservation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.all[tag]
	return known, ok
}

func (r *reservations) put(tag rowTag, known reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil || len(r.all) >= mostReservations {
		r.all = map[rowTag]reservation{}
	}
	r.all[tag] = known
}

// ReservationsFrom passes over rows of erased users and nothing else, as UnsettledFrom does.
func (t *tx) ReservationsFrom(from wallet.Address) ([]wallet.Reservation, error) {
	var out []wallet.Reservation
	prefix := unsettledPrefix(from)
	for key := range t.scan(byWallet, engine.Prefix(prefix)) {
		id, err := createdTransaction(key[len(prefix):])
		if err != nil {
			return nil, err
		}
		switch held, err := t.reservation(id); {
		case erased(err):
		case err != nil:
			return nil, err
		case held.holds:
			out = append(out, held.Reservation)
		}
	}
	return out, nil
}

// reservation returns what a transaction holds back. The tag of its row is checked each time, and its owner must not be erased.
func (t *tx) reservation(id wallet.TransactionID) (reservation, error) {
	key := []byte(id)
	raw := t.get(transactions, key)
	if raw == nil {
		return reservation{}, store.ErrNotFound
	}
	checked, err := t.row(transactions, key, raw)
	if err != nil {
		return reservation{}, err
	}
	if _, err := t.dataKey(checked.owner); err != nil {
		return reservation{}, err
	}
	tag := rowTag(raw[len(raw)-tagSize:])
	if known, ok := t.store.reservations.get(tag); ok {
		return known, nil
	}
	n, err := t.Transaction(id)
	if err != nil {
		return reservation{}, err
	}
	rules, err := t.store.kinds.Of(n.Kind)
	if err != nil {
		return reservation{}, err
	}
	var known reservation
	known.Reservation, known.holds = rules.Reservation(n)
	t.store.reservations.put(tag, known)
	return known, nil
}
