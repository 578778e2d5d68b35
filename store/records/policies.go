package records

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"purser/store"
	"purser/wallet"
)

// policyRow is the plain part of a policy: what names it. The rest is sealed.
type policyRow struct {
	Owner   wallet.UserID  `json:"owner"`
	Address wallet.Address `json:"address"`
}

// policyKey is the key of a policy. It begins with its owner, so that all of a person's can be listed and erased.
func policyKey(owner wallet.UserID, address wallet.Address) []byte {
	return join(userPrefix(owner), address[:])
}

// Policy reads one row.
func (t *tx) Policy(owner wallet.UserID, address wallet.Address) (wallet.WalletPolicy, error) {
	return t.policyAt(policyKey(owner, address))
}

func (t *tx) policyAt(key []byte) (wallet.WalletPolicy, error) {
	_, p, err := readWithPayload[policyRow, wallet.WalletPolicy](t, policies, key)
	return p, err
}

// PoliciesOf walks a person's rows.
func (t *tx) PoliciesOf(owner wallet.UserID) ([]wallet.WalletPolicy, error) {
	var out []wallet.WalletPolicy
	for _, e := range t.prefixed(policies, userPrefix(owner)) {
		p, err := t.policyAt(e.key)
		if err != nil {
			return nil, fmt.Errorf("list policies: %w", err)
		}
		out = append(out, p)
	}
	return out, nil
}

// PutPolicy seals all of it.
func (t *tx) PutPolicy(p wallet.WalletPolicy) error {
	if err := checkID(string(p.Owner)); err != nil {
		return err
	}
	if t.isErased(p.Owner) {
		return store.ErrNotFound
	}
	return t.putWithPayload(policies, policyKey(p.Owner, p.Address), p.Owner, policyRow{p.Owner, p.Address}, p)
}

// policyLinkRow is the plain part of a link: when it can be used. The rest is sealed.
type policyLinkRow struct {
	User      wallet.UserID `json:"user"`
	ExpiresAt time.Time     `json:"expires_at"`
}

// PolicyLink reads the row by the hash of its token.
func (t *tx) PolicyLink(tokenHash [32]byte) (wallet.PolicyLink, error) {
	_, l, err := readWithPayload[policyLinkRow, wallet.PolicyLink](t, policyLinks, tokenHash[:])
	return l, err
}

// PutPolicyLink checks whose the token is before it writes, then removes the person's older link.
func (t *tx) PutPolicyLink(l wallet.PolicyLink) error {
	if err := checkID(string(l.User)); err != nil {
		return err
	}
	if t.isErased(l.User) {
		return store.ErrNotFound
	}
	key := l.TokenHash[:]
	if t.get(policyLinks, key) != nil && !bytes.Equal(t.get(policyLinksOf, []byte(l.User)), key) {
		return store.ErrConflict
	}
	if err := t.DeletePolicyLink(l.User); err != nil {
		return err
	}
	if err := t.putWithPayload(policyLinks, key, l.User, policyLinkRow{l.User, l.ExpiresAt}, l); err != nil {
		return err
	}
	return t.put(policyLinksOf, []byte(l.User), key)
}

// DeletePolicyLink follows the index, so a damaged row goes too.
func (t *tx) DeletePolicyLink(user wallet.UserID) error {
	key := bytes.Clone(t.get(policyLinksOf, []byte(user)))
	if key == nil {
		return nil
	}
	return errors.Join(t.delete(policyLinks, key), t.delete(policyLinksOf, []byte(user)))
}
