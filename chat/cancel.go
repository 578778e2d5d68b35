package chat

import "context"

// cancelCommand is /cancel. It ends the open question of any conversation, and all questions beside it.
func cancelCommand() conversation {
	return conversation{
		name:     "cancel",
		commands: []command{{name: "cancel", menu: "menu.cancel", usage: "usage.cancel", bare: true, looks: true, run: (*Chat).cancel, whileFrozen: always, aliases: map[string]string{"stop": "", "abort": ""}}},
	}
}

// cancel answers /cancel. It first closes the asides, then cancels the open question, and only if there was neither asks each
// conversation for something else to cancel. The order of conversations in all.go decides which is asked first.
func (c *Chat) cancel(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error {
		// What is closed now shows "cancelled" below its text, as after a tap of Cancel.
		if err := s.choseText("question.cancelled"); err != nil {
			return err
		}
		closed, err := s.cancelAsides()
		if err != nil {
			return err
		}
		if s.conv.State != "" {
			return s.transition(s.conv.Flow, cancelled)
		}
		if closed {
			return nil
		}
		// With no question open, the person may mean something that still waits, such as a payment to confirm.
		for _, conv := range s.registry.all {
			if conv.cancelIdle == nil {
				continue
			}
			if answered, err := conv.cancelIdle(s); answered || err != nil {
				return err
			}
		}
		return s.reply("cancel.nothing", nil)
	}, nil
}
