package chat

import (
	"context"
	"errors"
)

// deleteMeCommand is /delete_me: it asks once more, and forgets the person.
func deleteMeCommand() conversation {
	return conversation{
		name: "delete_me",
		commands: []command{{name: "delete_me", menu: "menu.delete_me", usage: "usage.delete_me", looks: true, run: (*Chat).deleteMe,
			aliases: map[string]string{"delete": "", "deleteme": "", "forget": "", "forgetme": ""}}},
		callbacks: map[string]Callback{"erase": (*Chat).tapErase},
	}
}

// deleteMe asks once more before everything about the person is forgotten.
func (c *Chat) deleteMe(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error {
		yes, err := s.ours("button.erase", "erase", "", s.now.Add(Silence))
		if err != nil {
			return err
		}
		no, err := s.keep("")
		if err != nil {
			return err
		}
		return s.reply("erase.ask", nil, []Button{no, yes})
	}, nil
}

// tapErase forgets the person. What is said of it goes to a chat of which nothing is known any more.
func (c *Chat) tapErase(context.Context, Inbound, string) (Action, error) {
	return func(s *replyTx) error {
		if err := s.Users.Erase(s.tx, s.user.ID); err != nil {
			return s.refuse(err)
		}
		s.moved = false // the conversation went with the rest
		if err := errors.Join(s.toast("toast.erased", nil), s.strip()); err != nil {
			return err
		}
		return s.reply("erase.done", nil)
	}, nil
}
