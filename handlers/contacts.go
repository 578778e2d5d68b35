package handlers

import (
	"context"
	"errors"
	"slices"
	"strings"

	"purser/store"
	"purser/wallet"
)

// Contacts manages people's own names for addresses, and whether others may pay a person by picking them in Telegram.
type Contacts struct {
	Store  store.Store
	Tokens Tokens
	Now    Clock
}

// Of lists a person's contacts, sorted by name.
func (c *Contacts) Of(ctx context.Context, who wallet.UserID) ([]wallet.Contact, error) {
	return read(ctx, c.Store, func(tx store.Tx) ([]wallet.Contact, error) { return tx.ContactsOf(who) })
}

// Add stores a name for an address. Errors: INVALID_REQUEST. CONFLICT for a name or an address that is already a contact,
// since money must not silently follow a name to another address, and for a full address book. POLICY_VIOLATION for an
// address that resembles one the person knows: contacts are trusted, so a poisoned address must not become one.
func (c *Contacts) Add(tx store.Tx, who wallet.UserID, name string, to wallet.Address) (wallet.Contact, error) {
	none := wallet.Contact{}
	name, err := c.Name(name)
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

// addable checks a new contact against the person's wallets, contacts and known addresses.
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
	known, err := store.KnownTo(tx, who)
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

// Rename changes a contact's name and keeps its address. Errors: NOT_FOUND for the old name; INVALID_REQUEST and CONFLICT
// for the new one, as in Add.
func (c *Contacts) Rename(tx store.Tx, who wallet.UserID, old, name string) (wallet.Contact, error) {
	none := wallet.Contact{}
	name, err := c.Name(name)
	if err != nil {
		return none, err
	}
	book, err := tx.ContactsOf(who)
	if err != nil {
		return none, err
	}
	if taken, ok := contactIn(book, name); ok && wallet.ContactKey(name) != wallet.ContactKey(old) {
		return none, wallet.Refuse(wallet.Conflict, "contact.rename_taken", wallet.TextArg("Name", taken.Name))
	}
	contact, ok := contactIn(book, old)
	if !ok {
		return none, NoSuchContact()
	}
	if err := tx.DeleteContact(who, contact.Name); err != nil {
		return none, err
	}
	contact.Name = name
	return contact, tx.PutContact(contact)
}

// contactIn finds the contact of this name in a person's contacts. Names with the same wallet.ContactKey are the same name.
func contactIn(book []wallet.Contact, name string) (wallet.Contact, bool) {
	at := slices.IndexFunc(book, func(c wallet.Contact) bool { return wallet.ContactKey(c.Name) == wallet.ContactKey(name) })
	if at < 0 {
		return wallet.Contact{}, false
	}
	return book[at], true
}

// NoSuchContact refuses a name that no contact of the person has (NOT_FOUND).
func NoSuchContact() error { return wallet.Refuse(wallet.NotFound, "contact.none") }

// Name parses a contact's name. It must not begin with a token's symbol, or "/send 5 USDC ..." would be ambiguous.
func (c *Contacts) Name(text string) (string, error) {
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

// Remove deletes the contact of this name and returns it. NOT_FOUND if there is none.
func (c *Contacts) Remove(tx store.Tx, who wallet.UserID, name string) (wallet.Contact, error) {
	book, err := tx.ContactsOf(who)
	if err != nil {
		return wallet.Contact{}, err
	}
	contact, ok := contactIn(book, name)
	if !ok {
		return wallet.Contact{}, NoSuchContact()
	}
	return contact, tx.DeleteContact(who, contact.Name)
}

// LetFind sets whether anyone who picks this person in Telegram may pay them. Anyone who may, sees the address of their
// default wallet.
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

// Pick returns the wallet that payers are given (Wallets.Receiving), and the name, of a person who was picked in Telegram. One refusal, about wallet.FieldTo,
// covers people who do not use purser, have no wallet, or do not allow it. Different answers would reveal who uses
// purser.
func (c *Contacts) Pick(ctx context.Context, telegramID int64) (wallet.Address, string, error) {
	var user wallet.User
	to, err := read(ctx, c.Store, func(tx store.Tx) (to wallet.Wallet, err error) {
		if user, err = tx.UserByTelegram(telegramID); err == nil && user.PayableByID {
			to, err = receiving(tx, user, c.Now())
		}
		return to, err
	})
	switch code := wallet.CodeOf(err); {
	case errors.Is(err, store.ErrNotFound), err == nil && !user.PayableByID, code == wallet.WalletNotFound, code == wallet.PolicyViolation:
		return wallet.Address{}, "", wallet.About(wallet.FieldTo, wallet.Refuse(wallet.InvalidRequest,
			"recipient.not_findable"))
	case err != nil:
		return wallet.Address{}, "", err
	}
	return to.Address, user.Name(), nil
}

// NameOf returns a person's own name for the first of these addresses that is a contact; "" if none is.
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

// ContactName returns the owner's own name for the recipient of t: for the wallet that is paid, or else for the token
// account in the request. "" if neither is a contact.
func ContactName(tx store.Tx, t wallet.Transaction) (string, error) {
	return NameOf(tx, t.Owner, t.To, t.RequestedDestination)
}
