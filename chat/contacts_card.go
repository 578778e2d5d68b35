package chat

import (
	"context"
	"errors"

	"purser/store"
	"purser/wallet"
)

// contactCard is the card of the newest message about one contact, and the subject of its buttons. It is named by address,
// because names change. The buttons name their contact by address for the same reason: a button of an old message must not
// act on another contact that has the name by now.
func contactCard(address wallet.Address) string { return "contact:" + address.String() }

// contactAt returns the person's contact with this address, which a button gave; NOT_FOUND if it was removed.
func (s *replyTx) contactAt(address string) (wallet.Contact, error) {
	all, err := s.tx.ContactsOf(s.user.ID)
	if err != nil {
		return wallet.Contact{}, err
	}
	for _, contact := range all {
		if contact.Address.String() == address {
			return contact, nil
		}
	}
	return wallet.Contact{}, wallet.Refuse(wallet.NotFound, "contact.removed")
}

// showContact shows one contact with the actions for it, in a new message.
func showContact(address wallet.Address) Action { return showContactAt(address.String()) }

func showContactAt(address string) Action {
	return func(s *replyTx) error {
		contact, err := s.contactAt(address)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.moveCard(contactCard(contact.Address)); err != nil {
			return err
		}
		return s.drawContact(contact)
	}
}

// drawContact draws the message about one contact: pay, rename, remove. Buttons that were drawn before end here.
func (s *replyTx) drawContact(contact wallet.Contact) error {
	card := contactCard(contact.Address)
	if err := errors.Join(s.tx.UseButtons(s.conv.Chat, s.conv.User, card, s.now), s.endAside(card)); err != nil {
		return err
	}
	var rows [][]Button
	for _, row := range [][][2]string{{{"button.pay_contact", "contactpay:"}}, {{"button.rename", "contactname:"}, {"button.remove", "contactremove:"}}} {
		var buttons []Button
		for _, what := range row {
			label, err := s.words.text(what[0], vars{"Name": contact.Name})
			if err != nil {
				return err
			}
			b, err := s.button(label, what[1]+contact.Address.String(), card, s.now.Add(menuLife))
			if err != nil {
				return err
			}
			buttons = append(buttons, b)
		}
		rows = append(rows, buttons)
	}
	text, err := s.words.text("contacts.shown", vars{"Name": contact.Name, "Address": code(contact.Address.String())})
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, NewMessage: s.asNew}, card)
}

// tapContact shows the contact that was tapped in the list.
func (c *Chat) tapContact(_ context.Context, _ Inbound, address string) (Action, error) {
	return showContactAt(address), nil
}

// tapPayContact begins a payment to a contact.
func (c *Chat) tapPayContact(ctx context.Context, h Inbound, at string) (Action, error) {
	contact, err := c.contactOf(ctx, h, at)
	if err != nil {
		return refuse(err)
	}
	return c.transfer(ctx, h, idle, parts{To: address(contact.Address)}, nil)
}

// tapRemove asks for confirmation before a contact is removed.
func (c *Chat) tapRemove(_ context.Context, _ Inbound, address string) (Action, error) {
	return func(s *replyTx) error {
		contact, err := s.contactAt(address)
		if err != nil {
			return s.refuse(err)
		}
		card := contactCard(contact.Address)
		no, err := s.catalogueButton("button.keep", "contactkeep:"+address, card, s.now.Add(AnswerTimeout))
		if err != nil {
			return err
		}
		yes, err := s.catalogueButton("button.remove", "contactgone:"+address, card, s.now.Add(AnswerTimeout))
		if err != nil {
			return err
		}
		closed, err := s.words.text("contacts.kept", vars{"Name": contact.Name})
		if err != nil {
			return err
		}
		return s.askAside(card, "contacts.remove_ask", vars{"Name": contact.Name, "Address": code(address)}, closed, []Button{no, yes})
	}, nil
}

// tapKeepContact answers no and shows the contact again.
func (c *Chat) tapKeepContact(_ context.Context, _ Inbound, address string) (Action, error) {
	return func(s *replyTx) error {
		contact, err := s.contactAt(address)
		if ok, err := s.answerTap(err, "toast.kept"); !ok {
			return err
		}
		return s.drawContact(contact)
	}, nil
}

// tapRemoveYes removes a contact.
func (c *Chat) tapRemoveYes(_ context.Context, h Inbound, address string) (Action, error) {
	return func(s *replyTx) error {
		contact, err := s.contactAt(address)
		if err == nil {
			_, err = s.Contacts.Remove(s.tx, s.user.ID, contact.Name)
		}
		if ok, err := s.answerTap(err, "toast.contact_removed"); !ok {
			return err
		}
		return s.show(h.button.Subject, "contacts.removed", vars{"Name": contact.Name})
	}, nil
}

// contactOf reads the person's contact with this address, which a button gave, before the transaction of the answer.
// NOT_FOUND if it was removed.
func (c *Chat) contactOf(ctx context.Context, h Inbound, address string) (contact wallet.Contact, err error) {
	err = c.Store.View(ctx, func(tx store.Tx) error {
		contact, err = (&replyTx{tx: tx, user: h.user}).contactAt(address)
		return err
	})
	return contact, err
}

// endContactCard ends the message about a contact that was renamed or removed by a command: its buttons no longer work, and it
// shows the text of the given key instead. Without such a message in the chat it does nothing.
func (s *replyTx) endContactCard(contact wallet.Contact, key string) error {
	card := contactCard(contact.Address)
	switch _, err := s.tx.Card(s.conv.Chat, card); {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return errors.Join(s.tx.UseButtons(s.conv.Chat, s.conv.User, card, s.now), s.endAside(card), s.show(card, key, vars{"Name": contact.Name}))
}
