package chat

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"purser/wallet"
)

// contactFlow is the name of the conversation that asks for a contact's name.
const contactFlow = "contacts"

// States and triggers of /contacts.
const (
	naming State = "name"

	nameWanted Trigger = "name missing or wrong"
	named      Trigger = "name given"
)

// contactsConversation is /contacts, which manages the person's names for addresses.
func contactsConversation() conversation {
	return conversation{
		name: contactFlow,
		commands: []command{{name: "contacts", menu: "menu.contacts", usage: "usage.contacts", looks: true, run: (*Chat).contacts,
			aliases: map[string]string{"contact": "", "friends": "", "addressbook": ""}}},
		flow: Flow{
			idle: {nameWanted: {naming, (*replyTx).askName}},
			naming: {
				nameWanted: {naming, (*replyTx).askName},
				named:      {idle, nil},
				cancelled:  {idle, (*replyTx).sayNotNamed},
				movedOn:    {idle, nil},
				timedOut:   {idle, nil},
			},
		},
		version: 1, data: func() any { return new(namedContact) },
		texts: map[State]Handler{naming: (*Chat).receiveName},
		callbacks: map[string]Callback{
			"contact":       (*Chat).tapContact,
			"contactpay":    (*Chat).tapPayContact,
			"contactname":   (*Chat).tapRename,
			"contactremove": (*Chat).tapRemove,
			"contactkeep":   (*Chat).tapKeepContact,
			"contactgone":   (*Chat).tapRemoveYes,
			"savecontact":   (*Chat).tapSaveContact,
		},
	}
}

// book is a person's contacts, for parsing the words of a command. Commands run by apps get the zero book: it has no contacts
// and parses amounts and addresses exactly as the API does.
type book struct {
	byKey  map[string]wallet.Contact // by wallet.ContactKey; nil for a command run by an app
	listed func(symbol string) bool  // reports whether a symbol is on the token list; nil: none is
	known  []wallet.Address          // addresses that a mistyped or cut one may mean: contacts, own wallets, paid before
}

// book reads the person's contacts and the addresses that they know. A person who is not stored yet gets an empty book. An
// error means that the store could not be read: the caller must not parse with a partial book, which could mistake a name.
func (c *Chat) book(ctx context.Context, h Inbound) (book, error) {
	b := book{byKey: map[string]wallet.Contact{}, listed: c.Transfers.Lists}
	if h.user.ID == "" {
		return b, nil
	}
	all, err := c.Contacts.Of(ctx, h.user.ID)
	for _, contact := range all {
		b.byKey[wallet.ContactKey(contact.Name)] = contact
	}
	if err != nil {
		return b, err
	}
	b.known, err = c.Transfers.Known(ctx, h.user.ID)
	return b, err
}

// at returns the contact whose name the words begin with, and the number of words in its name; 0 if there is none. The
// longest name wins: "mum's flat" is not "mum's".
func (b book) at(words []string) (wallet.Contact, int) {
	for n := min(len(words), wallet.MaxContactName/2); n > 0; n-- {
		if contact, ok := b.byKey[wallet.ContactKey(strings.Join(words[:n], " "))]; ok {
			return contact, n
		}
	}
	return wallet.Contact{}, 0
}

// means reports whether a word is the symbol of a listed token, which takes precedence over a contact's name: a payment must
// not change its meaning when a contact is added.
func (b book) means(word string) bool { return b.listed != nil && b.listed(word) }

// near returns the names of contacts that a mistyped word may mean, closest first.
func (b book) near(word string) []string {
	var keys, names []string
	for key := range b.byKey {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range near(wallet.ContactKey(word), keys) {
		names = append(names, b.byKey[key].Name)
	}
	return names
}

// amount parses a word as an amount, with explanations of common mistakes for people.
func (b book) amount(text string) saidAmount {
	if b.byKey == nil {
		return plainAmount(text)
	}
	return readAmount(text)
}

// recipient parses a word as an address. A word that is none gets the reason, for example that no contact has this name.
func (b book) recipient(text string) saidRecipient {
	// People get the most helpful reason that fits, in this order: a typing mistake, a shortened address, an unknown name.
	if b.byKey != nil {
		if err := checkAddress(text); err != nil {
			return saidRecipient{Wrong: wallet.ReasonOf(err)}
		}
		if wrong := b.incomplete(text); !wrong.IsZero() {
			return saidRecipient{Wrong: wrong}
		}
		if _, err := wallet.ParseContactName(text); err == nil { // no address is a valid name of a contact
			return saidRecipient{Wrong: b.noAddress(text)}
		}
	}
	to, err := wallet.ParseAddress(text)
	if err != nil {
		return saidRecipient{Wrong: wallet.ReasonOf(err)}
	}
	return address(to)
}

// noAddress explains that no contact has this name, and suggests the closest name.
func (b book) noAddress(word string) wallet.Reason {
	if meant := b.near(word); len(meant) > 0 {
		return wallet.Because("input.contact_meant", wallet.TextArg("Word", echo(word)), wallet.TextArg("Name", meant[0]))
	}
	return wallet.Because("input.no_recipient", wallet.TextArg("Word", echo(word)))
}

// contacts answers /contacts and its actions.
func (c *Chat) contacts(ctx context.Context, h Inbound) (Action, error) {
	args := h.line.args
	action := ""
	if len(args) > 0 {
		action = strings.ToLower(args[0])
	}
	// The exact forms come first. Words that match none of them may be the name of a contact.
	switch {
	case action == "":
		return (*replyTx).listContacts, nil
	case action == "list" && len(args) == 1:
		return (*replyTx).listContacts, nil
	case action == "add" && len(args) == 2:
		return refuse(wallet.Refuse(wallet.InvalidRequest, "input.contact_address", wallet.TextArg("Name", cut(echo(args[1]), wallet.MaxContactName))))
	case (action == "add" || action == "remove" || action == "delete") && len(args) == 1:
		return refuse(wallet.Refuse(wallet.InvalidRequest, "input.contact_name"))
	case action == "add" && len(args) > 2:
		return c.addContact(ctx, h, strings.Join(args[1:len(args)-1], " "), args[len(args)-1])
	case (action == "remove" || action == "delete") && len(args) > 1:
		return removeContact(strings.Join(args[1:], " ")), nil
	case action == "rename" && len(args) > 1:
		return c.renameContact(ctx, h, args[1:])
	case action == "findable" && len(args) == 2 && (strings.EqualFold(args[1], "on") || strings.EqualFold(args[1], "off")):
		return letFind(strings.EqualFold(args[1], "on")), nil
	}
	// "/contacts anna" shows one contact.
	b, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	if contact, n := b.at(args); n == len(args) {
		return showContact(contact.Address), nil
	}
	if action == "findable" || action == "rename" { // incomplete, and no contact's name
		return func(s *replyTx) error {
			s.failed = true
			return s.replyUsage("contacts")
		}, nil
	}
	return noContact(strings.Join(args, " "), b.near(strings.Join(args, " "))), nil
}

// noContact answers /contacts with words that name no contact: it lists the contacts that may be meant, or says how to add
// one of that name.
func noContact(words string, meant []string) Action {
	return func(s *replyTx) error {
		s.failed = true
		labels := []string{"button.contacts", "/contacts"}
		if len(meant) > 0 {
			all, err := s.tx.ContactsOf(s.user.ID)
			if err != nil {
				return err
			}
			rows, err := s.contactButtons(slices.DeleteFunc(all, func(c wallet.Contact) bool { return !slices.Contains(meant, c.Name) }))
			if err != nil {
				return err
			}
			list, err := s.menu(labels...)
			if err != nil {
				return err
			}
			return s.reply("contacts.unknown", vars{"Word": echo(words), "Meant": true, "Name": ""}, append(rows, list...)...)
		}
		// A word that can be a name can be added. Others, such as /contacts "5!", get the list alone.
		name, err := s.Contacts.Name(words)
		if err != nil {
			name = ""
		}
		rows, err := s.menu(labels...)
		if err != nil {
			return err
		}
		return s.reply("contacts.unknown", vars{"Word": echo(words), "Meant": false, "Name": name}, rows...)
	}
}

// maxListed is how many contacts fit into one message even if all names have the maximum length.
const maxListed = 30

// listContacts shows the person's contacts with their addresses, and a button for each.
func (s *replyTx) listContacts() error {
	all, err := s.tx.ContactsOf(s.user.ID)
	if err != nil {
		return err
	}
	var lines []string
	for _, contact := range all[:min(len(all), maxListed)] {
		lines = append(lines, "<b>"+escape(contact.Name)+"</b>\n"+string(code(contact.Address.String())))
	}
	rows, err := s.contactButtons(all[:min(len(all), maxListed)])
	if err != nil {
		return err
	}
	return s.reply("contacts.list", vars{"Contacts": html(strings.Join(lines, "\n")), "More": max(len(all)-maxListed, 0),
		"Any": len(all) > 0, "All": len(all) <= maxListed, "Findable": s.user.PayableByID}, rows...)
}

// contactButtons returns a button for each contact, two in a row.
func (s *replyTx) contactButtons(all []wallet.Contact) ([][]Button, error) {
	var rows [][]Button
	for i, contact := range all {
		b, err := s.button(html(escape(contact.Name)), "contact:"+contact.Address.String(), "contacts", s.now.Add(menuLife))
		if err != nil {
			return nil, err
		}
		if i%2 == 0 {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], b)
	}
	return rows, nil
}

// addContact adds a contact. Names and addresses are unique among a person's contacts: CONFLICT otherwise.
func (c *Chat) addContact(ctx context.Context, h Inbound, name, text string) (Action, error) {
	to, err := wallet.ParseAddress(text)
	if err != nil {
		b, readErr := c.book(ctx, h)
		if readErr != nil {
			return nil, readErr
		}
		// Only an address can stand here. The reason is more exact if it is a piece of one.
		if wrong := b.incomplete(text); !wrong.IsZero() {
			err = wallet.RefuseFor(wallet.InvalidRequest, wrong)
		}
		return refuse(err)
	}
	return func(s *replyTx) error {
		added, err := s.putName(namedContact{Address: to}, name)
		if wallet.CodeOf(err) == wallet.Conflict {
			return s.refuseTaken(err, name, to)
		}
		if err != nil {
			return s.refuse(err)
		}
		return s.reply("contacts.added", vars{"Name": added.Name, "Address": code(added.Address.String())})
	}, nil
}

// refuseTaken explains that another contact has this name or address, with a button for that contact.
func (s *replyTx) refuseTaken(err error, name string, to wallet.Address) error {
	all, readErr := s.tx.ContactsOf(s.user.ID)
	if readErr != nil {
		return readErr
	}
	rows, buttonErr := s.contactButtons(slices.DeleteFunc(all, func(other wallet.Contact) bool {
		return wallet.ContactKey(other.Name) != wallet.ContactKey(name) && other.Address != to
	}))
	if buttonErr != nil {
		return buttonErr
	}
	return s.refused(err, rows...)
}

// removeContact answers /contacts remove. The typed command is explicit enough, so no confirmation is asked for.
func removeContact(name string) Action {
	return func(s *replyTx) error {
		contact, err := s.Contacts.Remove(s.tx, s.user.ID, name)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.endContactCard(contact, "contacts.removed"); err != nil {
			return err
		}
		return s.reply("contacts.removed", vars{"Name": cut(echo(name), wallet.MaxContactName)})
	}
}

// letFind allows or forbids others to pay this person by picking them from Telegram's list of people.
func letFind(yes bool) Action {
	return func(s *replyTx) error {
		if err := s.Contacts.LetFind(s.tx, s.user.ID, yes); err != nil {
			return err
		}
		return s.reply("contacts.findable", vars{"On": yes, "Wallet": !s.user.DefaultWallet.IsZero()})
	}
}

// recipient is a likely recipient, offered as a button.
type recipient struct {
	name    string // "" for an address that was paid before and is no contact
	address wallet.Address
}

// recipients returns likely recipients: up to three that were paid recently, then the newest contacts. Senders of incoming
// payments are not offered: address poisoning plants similar addresses that way.
func (s *replyTx) recipients() ([]recipient, error) {
	const look, lately, most = 20, 3, 8
	paid, err := s.tx.Recipients(s.user.ID, look)
	if err != nil {
		return nil, err
	}
	all, err := s.tx.ContactsOf(s.user.ID)
	if err != nil {
		return nil, err
	}
	names := map[wallet.Address]string{}
	for _, contact := range all {
		names[contact.Address] = contact.Name
	}
	var out []recipient
	for _, address := range paid[:min(len(paid), lately)] {
		out = append(out, recipient{names[address], address})
	}
	slices.SortStableFunc(all, func(a, b wallet.Contact) int { return cmp.Compare(b.AddedAt.UnixNano(), a.AddedAt.UnixNano()) })
	for _, contact := range all {
		offered := slices.ContainsFunc(out, func(r recipient) bool { return r.address == contact.Address })
		if len(out) < most && !offered {
			out = append(out, recipient{contact.Name, contact.Address})
		}
	}
	return out, nil
}

// label returns the text of the button: the name and the last characters of the address.
func (r recipient) label() html {
	return html(strings.TrimSpace(escape(r.name) + " …" + r.address.Tail()))
}
