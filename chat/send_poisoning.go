package chat

import (
	"context"
	"strings"

	"purser/wallet"
)

// receiveTyped takes eight typed characters as the Confirm of a transaction that is suspected of address poisoning: they are the
// middle of the recipient's address. It works in any state of the conversation, since a proposal of an app has no
// conversation. It returns nil for all other text.
func (c *Chat) receiveTyped(ctx context.Context, h Inbound) (Action, error) {
	typed := strings.Join(h.line.args, "")
	if _, middle := (wallet.Address{}).Middle(); len(typed) != len(middle) {
		return nil, nil
	}
	id, asked, err := c.Transfers.FindTypedConfirmation(ctx, h.caller(), typed)
	if err != nil || !asked {
		return nil, err
	}
	confirmation, err := c.Transfers.PrepareConfirm(ctx, h.caller(), id, typed)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		t, err := s.Transfers.CommitConfirm(s.tx, confirmation)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.tx.UseButtons(s.conv.Chat, s.conv.User, string(t.ID), s.now); err != nil {
			return err
		}
		if err := s.redrawCard(t); err != nil {
			return err
		}
		return s.reply("lookalike.confirmed", nil)
	}, nil
}

// receiveInReview answers text while a card waits for its buttons, or for the typed characters.
func (c *Chat) receiveInReview(ctx context.Context, h Inbound) (Action, error) {
	t, err := c.Transfers.Of(ctx, h.caller(), copyOf[payment](h.data).Transaction)
	if err == nil && !t.PoisoningSuspect.IsZero() && t.Status == wallet.AwaitingConfirmation {
		before, _ := t.To.Middle()
		return reply("lookalike.wrong", vars{"Before": grouped(before)}), nil
	}
	if err != nil && !labelled(err) {
		return nil, err
	}
	return reply("send.use_buttons", nil), nil
}
