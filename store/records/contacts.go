package records

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"purser/store"
	"purser/wallet"
)

// contactKey is the key of a contact: its owner, then a keyed hash of owner and name. With the owner in the hash, the
// same name has different hashes for two people, so the file does not show who knows the same person.
// wallet.ContactKey folds spellings of one name.
func (t *tx) contactKey(owner wallet.UserID, name string) []byte {
	hash := t.store.lookup.Text(store.ByContact, string(owner), wallet.ContactKey(name))
	return join(userPrefix(owner), hash[:])
}

// ContactsOf decrypts all contacts of a person and sorts them by name. The order of their keys is that of hashes. A
// damaged contact is an error: a payment to a name must not go on as if the name were unknown.
func (t *tx) ContactsOf(owner wallet.UserID) ([]wallet.Contact, error) {
	var out []wallet.Contact
	// The name is in the sealed part: the key has only its hash.
	for _, e := range t.prefixed(contacts, userPrefix(owner)) {
		var plain struct{}
		sealed, err := t.unseal(contacts, e.key, e.value, &plain, "contact")
		if erased(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var c wallet.Contact
		if err := json.Unmarshal(sealed[0], &c); err != nil {
			return nil, fmt.Errorf("%w: %v", store.ErrDamaged, err)
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b wallet.Contact) int {
		return cmp.Compare(wallet.ContactKey(a.Name), wallet.ContactKey(b.Name))
	})
	return out, nil
}

// PutContact seals the whole contact, name and address. The plain part is empty. ErrNotFound: the owner was erased.
func (t *tx) PutContact(c wallet.Contact) error {
	if err := checkID(string(c.Owner)); err != nil {
		return err
	}
	sealed, err := json.Marshal(c)
	if err != nil {
		return err
	}
	key := t.contactKey(c.Owner, c.Name)
	raw, err := t.seal(contacts, key, c.Owner, struct{}{}, field{"contact", sealed})
	if err != nil {
		return err
	}
	return t.putRow(contacts, key, raw)
}

// DeleteContact does not decrypt the contact, so a damaged one can be deleted.
func (t *tx) DeleteContact(owner wallet.UserID, name string) error {
	key := t.contactKey(owner, name)
	if t.get(contacts, key) == nil {
		return store.ErrNotFound
	}
	return t.delete(contacts, key)
}
