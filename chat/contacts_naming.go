package chat

import (
	"context"
	"errors"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// namedContact is the data of the conversation that asks for a contact's name: a new contact, or one to rename.
type namedContact struct {
	Address     wallet.Address       `json:"address,omitzero"`
	Old         string               `json:"old,omitempty"`         // its current name; "" for a new contact
	Transaction wallet.TransactionID `json:"transaction,omitempty"` // the payment whose card offered to save its recipient; "" for none
}

// askName asks for the name.
func (s *replyTx) askName() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	of := dataOf[namedContact](s)
	return s.ask("contacts.ask_name", vars{"Old": of.Old, "Address": code(of.Address.String())}, nil)
}

// sayNotNamed confirms /cancel: nothing was saved.
func (s *replyTx) sayNotNamed() error { return s.reply("contacts.not_named", nil) }

// name begins the conversation that asks for a name. The address comes from a stored row or a checked command, never from a
// client, so the answer has to bring the name only.
func (c *Chat) name(of namedContact) (Action, error) {
	return c.begin(func(s *replyTx) error {
		s.resetData(&of)
		return s.transition(contactFlow, nameWanted)
	}, nil)
}

// receiveName takes the typed name.
func (c *Chat) receiveName(_ context.Context, h Inbound) (Action, error) {
	of, name := copyOf[namedContact](h.data), strings.Join(h.line.args, " ")
	return func(s *replyTx) error {
		// A refused name asks again, with the reason above the question.
		added, err := s.putName(of, name)
		if labelled(err) {
			s.refusal = err
			return s.transition(contactFlow, nameWanted)
		}
		if err != nil {
			return err
		}
		if err := s.transition(contactFlow, named); err != nil {
			return err
		}
		if of.Old != "" {
			if err := s.drawContact(added); err != nil {
				return err
			}
			return s.reply("contacts.renamed", vars{"Old": of.Old, "Name": added.Name})
		}
		if of.Transaction != "" { // redraw the card without the button that saves its recipient
			t, err := s.tx.Transaction(of.Transaction)
			if err != nil {
				return err
			}
			if err := s.card(t); err != nil {
				return err
			}
		}
		return s.reply("contacts.added", vars{"Name": added.Name, "Address": code(added.Address.String())})
	}, nil
}

// putName adds a contact or renames one. A name that is also a command is refused.
func (s *replyTx) putName(of namedContact, name string) (wallet.Contact, error) {
	if s.registry.knows(wallet.ContactKey(name)) {
		return wallet.Contact{}, wallet.Refuse(wallet.InvalidRequest, "contact_name.command", wallet.TextArg("Command", wallet.ContactKey(name)))
	}
	if of.Old != "" {
		return s.Contacts.Rename(s.tx, s.user.ID, of.Old, name)
	}
	return s.Contacts.Add(s.tx, s.user.ID, name, of.Address)
}

// renameContact answers /contacts rename. The words are a contact's name, and the new name if it is given.
func (c *Chat) renameContact(ctx context.Context, h Inbound, words []string) (Action, error) {
	b, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	contact, n := b.at(words)
	switch {
	case n == 0:
		return refuse(handlers.NoSuchContact())
	case n == len(words):
		return c.name(namedContact{Address: contact.Address, Old: contact.Name})
	}
	return func(s *replyTx) error {
		renamed, err := s.putName(namedContact{Address: contact.Address, Old: contact.Name}, strings.Join(words[n:], " "))
		if err != nil {
			return s.refuse(err)
		}
		switch _, err := s.tx.Card(s.conv.Chat, contactCard(renamed.Address)); {
		case err == nil: // the message about it shows the new name
			if err := s.drawContact(renamed); err != nil {
				return err
			}
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		return s.reply("contacts.renamed", vars{"Old": contact.Name, "Name": renamed.Name})
	}, nil
}

// tapRename asks for a contact's new name.
func (c *Chat) tapRename(ctx context.Context, h Inbound, at string) (Action, error) {
	contact, err := c.contactOf(ctx, h, at)
	if err != nil {
		return refuse(err)
	}
	return c.name(namedContact{Address: contact.Address, Old: contact.Name})
}

// tapSaveContact asks for a name for the recipient of a payment. A recipient that has a name by now is not asked for: the
// button belongs to an old message, which loses it.
func (c *Chat) tapSaveContact(ctx context.Context, h Inbound, _ string) (Action, error) {
	t, err := c.paid(ctx, h)
	if err != nil {
		return nil, err
	}
	contact, err := c.contactOf(ctx, h, t.To.String())
	if err == nil {
		return func(s *replyTx) error {
			if err := s.toast("toast.contact_saved", vars{"Name": contact.Name}); err != nil {
				return err
			}
			return s.card(t)
		}, nil
	}
	if !labelled(err) {
		return nil, err
	}
	return c.name(namedContact{Address: t.To, Transaction: t.ID})
}
