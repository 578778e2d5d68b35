package records

import (
	"encoding/hex"

	"purser/store"
)

// Counter reads a counter. Its row has no sealed field: a name contains a hash instead of anything personal
// (CounterName). An expired counter is returned until Sweep removes it.
func (t *tx) Counter(name string) (store.Counter, error) {
	key := []byte(name)
	raw := t.get(counters, key)
	if raw == nil {
		return store.Counter{}, store.ErrNotFound
	}
	c, _, err := plainOf[store.Counter](t, counters, key, raw)
	return c, err
}

// PutCounters replaces counters, and their notes for Sweep where ExpiresAt changed.
func (t *tx) PutCounters(all []store.Counter) error {
	for _, c := range all {
		if err := checkID(c.Name); err != nil {
			return err
		}
		if err := t.putCounter([]byte(c.Name), c); err != nil {
			return err
		}
	}
	return nil
}

// putCounter puts one counter. It rewrites the note only if ExpiresAt changed: most counters are put many times with
// the same one, and each note costs an entry in another table.
func (t *tx) putCounter(key []byte, c store.Counter) error {
	// Compare with the old row: its note is in the table under the old time.
	noted := false
	if old := t.get(counters, key); old != nil {
		was, _, err := plainOf[store.Counter](t, counters, key, old)
		if err != nil {
			return err
		}
		if noted = was.ExpiresAt.Equal(c.ExpiresAt); !noted {
			if err := t.unexpire(counterOver, was.ExpiresAt, key); err != nil {
				return err
			}
		}
	}
	if !noted {
		if err := t.expire(counterOver, c.ExpiresAt, key); err != nil {
			return err
		}
	}
	raw, err := t.seal(counters, key, "", c)
	if err != nil {
		return err
	}
	return t.putRow(counters, key, raw)
}

// CounterName returns "<kind>/<hash>", with the first 16 bytes of a keyed hash of kind and about, in hexadecimal.
func (t *tx) CounterName(kind, about string) string {
	hash := t.store.lookup.Text(store.ByCounter, kind, about)
	return kind + "/" + hex.EncodeToString(hash[:16])
}

// removeCounter removes a counter and its note; without one it does nothing.
func (t *tx) removeCounter(key []byte) error {
	raw := t.get(counters, key)
	if raw == nil {
		return nil
	}
	c, _, err := plainOf[store.Counter](t, counters, key, raw)
	if err != nil {
		return err
	}
	if err := t.unexpire(counterOver, c.ExpiresAt, key); err != nil {
		return err
	}
	return t.delete(counters, key)
}
