package records

import (
	"errors"
	"time"

	"purser/store"
	"purser/wallet"
)

// plantedKey is the key of a planted sender. It begins with whom they sent to, so that all of a person's can be erased. Everybody sees on
// the chain who sent what to whom, so the address needs no hash.
func plantedKey(owner wallet.UserID, from wallet.Address) []byte {
	return join(userPrefix(owner), from[:])
}

// IsPlantedSender reads a time. It is not a row (row.go): it has no tag and no sealed field.
func (t *tx) IsPlantedSender(owner wallet.UserID, from wallet.Address, now time.Time) (bool, error) {
	raw := t.get(plantedSenders, plantedKey(owner, from))
	if raw == nil {
		return false, nil
	}
	until, err := keyTime(raw)
	return err == nil && now.Before(until), err
}

// PutPlantedSender replaces a time together with its note for Sweep.
func (t *tx) PutPlantedSender(owner wallet.UserID, from wallet.Address, until time.Time) error {
	if err := checkID(string(owner)); err != nil {
		return err
	}
	if t.isErased(owner) {
		return store.ErrNotFound
	}
	key := plantedKey(owner, from)
	if err := t.removePlanted(key); err != nil {
		return err
	}
	return errors.Join(t.expire(plantedOver, until, key), t.put(plantedSenders, key, timeKey(until)))
}

// removePlanted removes a planted sender and its note; without one it does nothing. A damaged one goes too, so that another can take its
// place. Its note then leads to nothing.
func (t *tx) removePlanted(key []byte) error {
	if until, err := keyTime(t.get(plantedSenders, key)); err == nil {
		if err := t.unexpire(plantedOver, until, key); err != nil {
			return err
		}
	}
	return t.delete(plantedSenders, key)
}

// erasePlanted removes a person's planted senders.
func (t *tx) erasePlanted(id wallet.UserID) error {
	for _, e := range t.prefixed(plantedSenders, userPrefix(id)) {
		if err := t.removePlanted(e.key); err != nil {
			return err
		}
	}
	return nil
}
