package records

import (
	"fmt"
	"sync"

	"purser/store"
	"purser/store/engine"
	"purser/wallet"
)

// reservations caches how much each transaction under way reserves, by the transaction's id. Each payment adds these up for its
// wallet, and reading every row again was the largest cost of a payment. What is cached counts only for the row that it was made of:
// the wallet's entry for an unsettled transaction (byWallet, 'u') has the tag of the row. Row and entry are written together, so nothing
// here is ever out of date, whichever node wrote it. (Versions before this one leave the entry as it is: they must not run beside it.) Any
// goroutine may use it.
type reservations struct {
	mu sync.Mutex
	// What is full becomes the older half, and the older half is forgotten: what is read often is copied to the newer half in time.
	newer, older map[string]reservation // by transaction
}

// reservation is what a row holds back; holds is false if that is nothing.
type reservation struct {
	wallet.Reservation
	holds bool
	owner wallet.UserID // whose data key sealed the row
	tag   [tagSize]byte // of the row
}

// maxReservations is how many entries each half holds at most. An entry takes about 300 bytes.
const maxReservations = 1 << 15

func newReservations() *reservations { return &reservations{} }

// get returns what is cached for a transaction, if it was made of the row with this tag.
func (r *reservations) get(id, tag []byte) (reservation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.newer[string(id)] // a conversion in a map index allocates nothing
	if !ok {
		if known, ok = r.older[string(id)]; ok {
			r.keep(string(id), known)
		}
	}
	return known, ok && string(known.tag[:]) == string(tag)
}

// put remembers what a row holds back.
func (r *reservations) put(id string, known reservation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(id, known)
}

// keep puts an entry into the newer half. r.mu is held.
func (r *reservations) keep(id string, known reservation) {
	if r.newer == nil || len(r.newer) >= maxReservations {
		r.newer, r.older = map[string]reservation{}, r.newer
	}
	r.newer[id] = known
}

// ReservationsFrom passes over rows of erased users and nothing else.
func (t *tx) ReservationsFrom(from wallet.Address) ([]wallet.Reservation, error) {
	var out []wallet.Reservation
	prefix := unsettledPrefix(from)
	for key, tag := range t.scan(byWallet, engine.Prefix(prefix)) {
		id, err := idCreated(key[len(prefix):])
		if err != nil {
			return nil, err
		}
		switch held, err := t.reservation(id, tag); {
		case erased(err):
		case err != nil:
			return nil, err
		case held.holds:
			out = append(out, held.Reservation)
		}
	}
	return out, nil
}

// reservation returns what a transaction reserves. tag is its row's tag as the index has it. The row is read only if nothing is cached under
// that tag. ErrNotFound: its owner was erased. ErrDamaged: there is no row, and a sum without it would be too low.
func (t *tx) reservation(id, tag []byte) (reservation, error) {
	if known, ok := t.store.reservations.get(id, tag); ok {
		_, err := t.dataKey(known.owner)
		return known, err
	}
	raw := t.get(transactions, id)
	if raw == nil {
		return reservation{}, fmt.Errorf("%w: an index leads to no transaction", store.ErrDamaged)
	}
	n, err := t.Transaction(wallet.TransactionID(id))
	if err != nil {
		return reservation{}, err
	}
	rules, err := t.store.kinds.Of(n.Kind)
	if err != nil {
		return reservation{}, err
	}
	return t.store.remember(n, rules, raw)
}

// remember keeps what a row with its tag holds back. It must be the row of n.
func (s *Store) remember(n wallet.Transaction, rules wallet.Rules, raw []byte) (reservation, error) {
	end := len(raw) - tagSize
	written, err := decodeRow(raw[:end])
	if err != nil {
		return reservation{}, err
	}
	known := reservation{owner: written.owner, tag: [tagSize]byte(raw[end:])}
	known.Reservation, known.holds = rules.Reservation(n)
	s.reservations.put(string(n.ID), known)
	return known, nil
}
