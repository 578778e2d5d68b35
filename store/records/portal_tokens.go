package records

import (
	"bytes"
	"errors"
	"fmt"

	"purser/store"
	"purser/wallet"
)

// portalTokenKeySize is the length of a key of portal tokens, in bytes: a whole keyed hash.
const portalTokenKeySize = 32

// portalTokenPayload is the sealed part of a portal token: the lineage of the API key that it acts for.
type portalTokenPayload struct {
	Lineage string `json:"lineage"`
}

// portalTokenKey is the key of a portal token: the keyed hash of its kind and secret. The secret itself is not stored.
func (t *tx) portalTokenKey(kind store.PortalTokenKind, secret string) []byte {
	hash := t.store.lookup.Text(store.ByPortalToken, string(kind), secret)
	return hash[:]
}

// portalTokensOfPrefix begins the index entries of a person's portal tokens of one kind. Behind it stand the time
// when the token ends and its key, so the first entry is the one that ends first.
func portalTokensOfPrefix(owner wallet.UserID, kind store.PortalTokenKind) []byte {
	return join(userPrefix(owner), []byte(kind), []byte{0})
}

// portalTokenIndex is the entry of a portal token in portalTokensOf.
func portalTokenIndex(p store.PortalToken, key []byte) []byte {
	return join(portalTokensOfPrefix(p.Owner, p.Kind), timeKey(p.EndsAt), key)
}

// lineageHash stands for a lineage in the index. With it the tokens of a lineage are counted without decrypting any.
func (t *tx) lineageHash(lineage string) []byte {
	hash := t.store.lookup.Text(store.ByPortalToken, "lineage", lineage)
	return hash[:]
}

// PortalToken finds a token by its secret, also one whose time is over: its caller checks. ErrNotFound: no token has
// that secret.
func (t *tx) PortalToken(kind store.PortalTokenKind, secret string) (store.PortalToken, error) {
	p, sealed, err := readWithPayload[store.PortalToken, portalTokenPayload](t, portalTokens, t.portalTokenKey(kind, secret))
	p.Lineage = sealed.Lineage
	return p, err
}

// PutPortalToken replaces a token of the same secret. If there are too many, those that end first make room: a full list
// never refuses a new token. ErrNotFound: the owner was erased.
func (t *tx) PutPortalToken(p store.PortalToken, secret string, most int) error {
	if err := checkID(string(p.Kind)); err != nil {
		return err
	}
	if p.Owner != "" { // "" is the operator
		if err := checkID(string(p.Owner)); err != nil {
			return err
		}
	}
	if t.isErased(p.Owner) {
		return store.ErrNotFound
	}
	key, of := t.portalTokenKey(p.Kind, secret), t.lineageHash(p.Lineage)
	if err := t.removePortalToken(key); err != nil {
		return err
	}
	if err := t.makeRoomForPortalToken(p, of, most); err != nil {
		return err
	}
	plain := p
	plain.Lineage = ""
	if err := t.putWithPayload(portalTokens, key, p.Owner, plain, portalTokenPayload{p.Lineage}); err != nil {
		return err
	}
	return errors.Join(t.put(portalTokensOf, portalTokenIndex(p, key), of), t.expire(portalTokenOver, p.EndsAt, key))
}

// makeRoomForPortalToken removes tokens, beginning with the one that ends first, until one more fits within both
// bounds: most for its lineage, store.MaxPortalTokens for its owner.
func (t *tx) makeRoomForPortalToken(p store.PortalToken, of []byte, most int) error {
	prefix := portalTokensOfPrefix(p.Owner, p.Kind)
	all := t.prefixed(portalTokensOf, prefix)
	// First count those of the same lineage.
	mine := 0
	for _, e := range all {
		if bytes.Equal(e.value, of) {
			mine++
		}
	}
	// A token of another lineage only goes if the owner has too many.
	left := len(all)
	for _, e := range all {
		same := bytes.Equal(e.value, of)
		if left < store.MaxPortalTokens && (!same || mine < most) {
			continue
		}
		if err := t.dropPortalToken(prefix, e.key); err != nil {
			return err
		}
		if left--; same {
			mine--
		}
	}
	return nil
}

// dropPortalToken removes the token that an index entry leads to. It reads the index alone, so a damaged row goes
// too.
func (t *tx) dropPortalToken(prefix, index []byte) error {
	rest := index[len(prefix):]
	at, err := keyTime(rest)
	if err != nil || len(rest) != timeSize+portalTokenKeySize { // a damaged entry leads to no row
		return t.delete(portalTokensOf, index)
	}
	key := rest[timeSize:]
	return errors.Join(t.delete(portalTokensOf, index), t.unexpire(portalTokenOver, at, key), t.delete(portalTokens, key))
}

// DeletePortalToken ends a session, or makes a link useless. ErrNotFound: no token has that secret.
func (t *tx) DeletePortalToken(kind store.PortalTokenKind, secret string) error {
	key := t.portalTokenKey(kind, secret)
	if t.get(portalTokens, key) == nil {
		return store.ErrNotFound
	}
	return t.removePortalToken(key)
}

// removePortalToken removes a token, its index entry and its note for Sweep; without one it does nothing.
func (t *tx) removePortalToken(key []byte) error {
	raw := t.get(portalTokens, key)
	if raw == nil {
		return nil
	}
	p, _, err := plainOf[store.PortalToken](t, portalTokens, key, raw)
	if err != nil {
		return fmt.Errorf("remove a portal token: %w", err)
	}
	return errors.Join(t.delete(portalTokensOf, portalTokenIndex(p, key)), t.unexpire(portalTokenOver, p.EndsAt, key), t.delete(portalTokens, key))
}

// DeletePortalTokensOf removes tokens of both kinds: links and sessions.
func (t *tx) DeletePortalTokensOf(id wallet.UserID, lineage string) error {
	of := t.lineageHash(lineage)
	for _, kind := range []store.PortalTokenKind{store.PortalLink, store.PortalSession} {
		prefix := portalTokensOfPrefix(id, kind)
		for _, e := range t.prefixed(portalTokensOf, prefix) {
			if lineage != "" && !bytes.Equal(e.value, of) {
				continue
			}
			if err := t.dropPortalToken(prefix, e.key); err != nil {
				return err
			}
		}
	}
	return nil
}
