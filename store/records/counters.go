package records

import (
	"encoding/hex"

	"purser/store"
)

// Counter reads a counter. Its row has no sealed field: names hold a hash instead of anything personal (CounterName).
func (t *tx) Counter(name string) (store.Counter, error) {
	key := []byte(name)
	raw := t.get(counters, key)
	if raw == nil {
		return store.Counter{}, store.ErrNotFound
	}
	c, _, err := plainOf[store.Counter](t, counters, key, raw)
	return c, err
}

// PutCounters replaces counters, and their notes for Sweep.
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

// putCounter puts one counter. Its note changes only if its time does: most counters are put often within one time.
func (t *tx) putCounter(key []byte, c store.Counter) error {
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

// CounterName puts 16 bytes of a keyed hash, in hexadecimal, in place of about.
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
