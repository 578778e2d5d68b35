package handlers

import (
	"context"
	"errors"
	"strings"

	"purser/store"
	"purser/wallet"
)

// Contacts are a person's own names for addresses, and whether they may be found by others.
type Contacts struct {
	Store  store.Store
	Tokens Tokens
	Now    Clock
}

// Of lists a person's contacts by name.
func (c *Contacts) Of(ctx context.Context, who wallet.UserID) ([]wallet.Contact, error) {
	return read(ctx, c.Store, func(tx store.Tx) ([]wallet.Contact, error) { return tx.ContactsOf(who) })
}

// Add gives an address a name. Errors: INVALID_REQUEST; CONFLICT for a name or address that is a
// contact already (money must not follow a name to another address unnoticed), and for a full book;
// POLICY_VIOLATION for a look-alike of an address that the person knows: a contact is trusted, so
// that it must not come in this way.
func (c *Contacts) Add(tx store.Tx, who wallet.UserID, name string, to wallet.Address) (wallet.Contact, error) {
	none := wallet.Contact{}
	name, err := c.name(name)
	if err != nil {
		return none, err
	}
	if err := to.Payable(); err != nil {
		return none, err
	}
	if err := c.addable(tx, who, name, to); err != nil {
		return none, err
	}
	added := wallet.Contact{Owner: who, Name: name, Address: to, AddedAt: c.Now().UTC()}
	return added, tx.PutContact(added)
}

// addable judges a new contact by what the person has already.
func (c *Contacts) addable(tx store.Tx, who wallet.UserID, name string, to wallet.Address) error {
	own, err := tx.WalletsOf(who)
	if err != nil {
		return err
	}
	for _, w := range own {
		if w.Address == to {
			return wallet.Refuse(wallet.InvalidRequest, "contact.own_wallet")
		}
	}
	book, err := tx.ContactsOf(who)
	if err != nil {
		return err
	}
	if len(book) >= wallet.MaxContacts {
		return wallet.Refuse(wallet.Conflict, "contact.full", wallet.NumberArg("Most", wallet.MaxContacts))
	}
	for _, other := range book {
		switch {
		case wallet.ContactKey(other.Name) == wallet.ContactKey(name):
			return wallet.Refuse(wallet.Conflict, "contact.name_taken", wallet.TextArg("Name", other.Name))
		case other.Address == to:
			return wallet.Refuse(wallet.Conflict, "contact.address_taken", wallet.TextArg("Name", other.Name))
		}
	}
	known, err := knownTo(tx, who)
	if err != nil {
		return err
	}
	if seems, ok := wallet.PoisoningSuspect(to, known); ok && wallet.Mistyped(to, seems) {
		return wallet.Refuse(wallet.PolicyViolation, "contact.almost", wallet.AddressArg("Known", seems))
	} else if ok {
		return wallet.Refuse(wallet.PolicyViolation, "contact.poisoned", wallet.AddressArg("Known", seems))
	}
	return nil
}

// Rename gives a contact another name. Errors: NOT_FOUND without one of the old name; INVALID_REQUEST and CONFLICT for
// the new name, as Add has them. Its address stays what it was.
func (c *Contacts) Rename(tx store.Tx, who wallet.UserID, old, name string) (wallet.Contact, error) {
	none := wallet.Contact{}
	name, err := c.name(name)
	if err != nil {
		return none, err
	}
	book, err := tx.ContactsOf(who)
	if err != nil {
		return none, err
	}
	for _, contact := range book {
		if wallet.ContactKey(contact.Name) == wallet.ContactKey(name) && wallet.ContactKey(name) != wallet.ContactKey(old) {
			return none, wallet.Refuse(wallet.Conflict, "contact.rename_taken", wallet.TextArg("Name", contact.Name))
		}
	}
	for _, contact := range book {
		if wallet.ContactKey(contact.Name) == wallet.ContactKey(old) {
			if err := tx.DeleteContact(who, contact.Name); err != nil {
				return none, err
			}
			contact.Name = name
			return contact, tx.PutContact(contact)
		}
	}
	return none, wallet.Refuse(wallet.NotFound, "contact.none")
}

// name reads a contact's name, which must not begin like a token.
func (c *Contacts) name(text string) (string, error) {
	name, err := wallet.ParseContactName(text)
	if err != nil {
		return "", err
	}
	first := wallet.FirstWord(name)
	if _, listed := c.Tokens.BySymbol(first); listed || strings.EqualFold(first, wallet.SOL.Symbol) {
		return "", wallet.Refuse(wallet.InvalidRequest, "contact_name.token", wallet.TextArg("Token", strings.ToUpper(first)))
	}
	return name, nil
}

// Remove takes a contact out; NOT_FOUND without one of that name.
func (c *Contacts) Remove(tx store.Tx, who wallet.UserID, name string) error {
	return found(tx.DeleteContact(who, name), wallet.NotFound, "contact.none")
}

// LetFind decides whether whoever picks the person in Telegram may pay them, and so see the address
// of their default wallet.
func (c *Contacts) LetFind(tx store.Tx, who wallet.UserID, yes bool) error {
	user, err := tx.User(who)
	if err != nil {
		return found(err, wallet.UserNotFound, "person.gone")
	}
	if user.PayableByID == yes {
		return nil
	}
	user.PayableByID = yes
	return tx.PutUser(user)
}

// Pick is where a person is paid who was picked in Telegram. That they do not use purser, have no
// wallet or do not allow it are one and the same answer: nobody may find out who is here. What is
// refused is wallet.FieldTo. It tells what the person is called, too.
func (c *Contacts) Pick(ctx context.Context, telegramID int64) (wallet.Address, string, error) {
	user, err := read(ctx, c.Store, func(tx store.Tx) (wallet.User, error) { return tx.UserByTelegram(telegramID) })
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return wallet.Address{}, "", err
	}
	if err != nil || !user.PayableByID || user.DefaultWallet.IsZero() {
		return wallet.Address{}, "", wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest,
			"recipient.not_findable"))
	}
	return user.DefaultWallet, user.Name(), nil
}

// NameOf is a person's own name for the first of some addresses that is one of their contacts; "" without one.
func NameOf(tx store.Tx, person wallet.UserID, addresses ...wallet.Address) (string, error) {
	contacts, err := tx.ContactsOf(person)
	if err != nil {
		return "", err
	}
	for _, address := range addresses {
		for _, c := range contacts {
			if c.Address == address && !address.IsZero() {
				return c.Name, nil
			}
		}
	}
	return "", nil
}

// ContactName is the owner's own name for the recipient of t: for the wallet that is paid, else for the token account
// that they gave in its place; "" without one.
func ContactName(tx store.Tx, t wallet.Transaction) (string, error) {
	return NameOf(tx, t.Owner, t.To, t.RequestedDestination)
}
