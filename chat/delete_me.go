package chat

import (
	"context"
	"errors"
)

// deleteMeCommand is /delete_me: it asks for confirmation, then deletes the person's data.
func deleteMeCommand() conversation {
	return conversation{
		name: "delete_me",
		commands: []command{{name: "delete_me", menu: "menu.delete_me", usage: "usage.delete_me", bare: true, looks: true, run: (*Chat).deleteMe,
			aliases: map[string]string{"delete": "", "deleteme": "", "forget": "", "forgetme": ""}}},
		callbacks: map[string]Callback{"erase": (*Chat).tapErase},
	}
}

// deleteMe asks for confirmation.
func (c *Chat) deleteMe(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error {
		nonce, err := s.nonce()
		if err != nil {
			return err
		}
		card := "erase:" + nonce
		yes, err := s.catalogueButton("button.erase", "erase", card, s.now.Add(AnswerTimeout))
		if err != nil {
			return err
		}
		no, err := s.keep(card)
		if err != nil {
			return err
		}
		closed, err := s.words.text("erase.cancelled", nil)
		if err != nil {
			return err
		}
		return s.askAside(card, "erase.ask", nil, closed, []Button{no, yes})
	}, nil
}

// tapErase deletes the person's data. The reply goes to a chat that purser knows nothing about any more.
func (c *Chat) tapErase(context.Context, Inbound, string) (Action, error) {
	return func(s *replyTx) error {
		if err := s.Users.Erase(s.tx, s.user.ID); err != nil {
			return s.refuse(err)
		}
		s.moved = false // the conversation is deleted too: end must not write it again
		if err := errors.Join(s.toast("toast.erased", nil), s.strip()); err != nil {
			return err
		}
		return s.reply("erase.done", nil)
	}, nil
}
