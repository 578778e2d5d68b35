package records

import (
	"bytes"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// passSize is the length of a key of passes, in bytes: a whole keyed hash.
const passSize = 32

// passPayload is the sealed part of a pass.
type passPayload struct {
	Lineage string `json:"lineage"`
}

// passKey is the key of a pass: the keyed hash of its kind and secret. The secret itself is not stored.
func (t *tx) passKey(kind store.PassKind, secret string) []byte {
	hash := t.store.lookup.Text(store.ByPass, string(kind), secret)
	return hash[:]
}

// passesOfPrefix begins the index entries of a person's passes of a kind. What follows is when each ends, and its key:
// the first entry ends first.
func passesOfPrefix(owner wallet.UserID, kind store.PassKind) []byte {
	return join(userPrefix(owner), []byte(kind), []byte{0})
}

// passIndex is the entry of a pass in passesOf.
func passIndex(p store.Pass, key []byte) []byte {
	return join(passesOfPrefix(p.Owner, p.Kind), timeKey(p.EndsAt), key)
}

// lineageHash stands for a lineage in the index, so that the passes of one can be counted without opening any.
func (t *tx) lineageHash(lineage string) []byte {
	hash := t.store.lookup.Text(store.ByPass, "lineage", lineage)
	return hash[:]
}

func (t *tx) Pass(kind store.PassKind, secret string) (store.Pass, error) {
	p, sealed, err := readWithPayload[store.Pass, passPayload](t, passes, t.passKey(kind, secret))
	p.Lineage = sealed.Lineage
	return p, err
}

// PutPass replaces a pass of the same secret, then makes room, then writes: a full list never refuses a new pass.
func (t *tx) PutPass(p store.Pass, secret string, most int) error {
	if err := checkID(string(p.Kind)); err != nil {
		return err
	}
	if p.Owner != "" { // else an operator's
		if err := checkID(string(p.Owner)); err != nil {
			return err
		}
	}
	if t.isErased(p.Owner) {
		return store.ErrNotFound
	}
	key, of := t.passKey(p.Kind, secret), t.lineageHash(p.Lineage)
	if err := t.removePass(key); err != nil {
		return err
	}
	if err := t.makeRoomForPass(p, of, most); err != nil {
		return err
	}
	plain := p
	plain.Lineage = ""
	if err := t.putWithPayload(passes, key, p.Owner, plain, passPayload{p.Lineage}); err != nil {
		return err
	}
	return errors.Join(t.put(passesOf, passIndex(p, key), of), t.expire(portalPassOver, p.EndsAt, key))
}

// makeRoomForPass removes passes from the one that ends first on, until one more fits within both bounds: most for its
// lineage, store.PassesKept for its owner.
func (t *tx) makeRoomForPass(p store.Pass, of []byte, most int) error {
	prefix := passesOfPrefix(p.Owner, p.Kind)
	all := t.prefixed(passesOf, prefix)
	mine := 0
	for _, e := range all {
		if bytes.Equal(e.value, of) {
			mine++
		}
	}
	left := len(all)
	for _, e := range all {
		same := bytes.Equal(e.value, of)
		if left < store.PassesKept && (!same || mine < most) {
			continue
		}
		if err := t.dropPass(prefix, e.key); err != nil {
			return err
		}
		if left--; same {
			mine--
		}
	}
	return nil
}

// dropPass removes the pass that an index entry leads to, even if its row is damaged.
func (t *tx) dropPass(prefix, index []byte) error {
	rest := index[len(prefix):]
	at, err := keyTime(rest)
	if err != nil || len(rest) != timeSize+passSize { // it leads to nothing
		return t.delete(passesOf, index)
	}
	key := rest[timeSize:]
	return errors.Join(t.delete(passesOf, index), t.unexpire(portalPassOver, at, key), t.delete(passes, key))
}

func (t *tx) DeletePass(kind store.PassKind, secret string) error {
	key := t.passKey(kind, secret)
	if t.get(passes, key) == nil {
		return store.ErrNotFound
	}
	return t.removePass(key)
}

// removePass removes a pass and what leads to it; without one it does nothing.
func (t *tx) removePass(key []byte) error {
	raw := t.get(passes, key)
	if raw == nil {
		return nil
	}
	p, _, err := plainOf[store.Pass](t, passes, key, raw)
	if err != nil {
		return fmt.Errorf("remove a pass: %w", err)
	}
	return errors.Join(t.delete(passesOf, passIndex(p, key)), t.unexpire(portalPassOver, p.EndsAt, key), t.delete(passes, key))
}

// erasePasses removes a person's passes of every kind.
func (t *tx) erasePasses(id wallet.UserID) error {
	for _, kind := range []store.PassKind{store.PortalLink, store.PortalSession} {
		prefix := passesOfPrefix(id, kind)
		for _, e := range t.prefixed(passesOf, prefix) {
			if err := t.dropPass(prefix, e.key); err != nil {
				return err
			}
		}
	}
	return nil
}
