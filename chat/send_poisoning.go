package chat

import (
	"context"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// receiveTyped takes a typed text as the Confirm of a transaction that a fraud rule warns of: the middle of the recipient's address, or
// the amount (wallet.Transaction.Typing). The middle works in any state of the conversation, since a proposal of an app has no
// conversation. An amount works only while no other question is open, which it could answer. It returns nil for all other text.
func (c *Chat) receiveTyped(ctx context.Context, h Inbound) (Action, error) {
	const longest = 40 // characters of the longest amount with its symbol
	typed := strings.Join(h.line.args, "")
	if typed == "" || len(typed) > longest {
		return nil, nil
	}
	noQuestion := h.timedOut || h.conv.Flow == "" || h.conv.State == "" || h.at(sendFlow) == inReview || h.conv.State == string(idle)
	id, asked, err := c.Transfers.FindTypedConfirmation(ctx, h.caller(), typed, noQuestion)
	if err != nil {
		return refuse(err)
	}
	if !asked {
		return nil, nil
	}
	confirmation, err := c.Transfers.PrepareConfirm(ctx, h.caller(), id, typed)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		t, err := s.Transfers.CommitConfirm(s.tx, confirmation)
		if handlers.IsJudgedAgain(err) {
			return s.showJudgedAgain(t, err)
		}
		if err != nil {
			return s.refuse(err)
		}
		if err := s.tx.UseButtons(s.conv.Chat, s.conv.User, string(t.ID), s.now); err != nil {
			return err
		}
		if err := s.redrawCard(t); err != nil {
			return err
		}
		if t.Typing() == wallet.TypesAmount {
			return s.reply("lookalike.confirmed_amount", nil)
		}
		return s.reply("lookalike.confirmed", nil)
	}, nil
}

// receiveInReview answers text while a card waits for its buttons, or for the typed characters.
func (c *Chat) receiveInReview(ctx context.Context, h Inbound) (Action, error) {
	t, err := c.Transfers.Of(ctx, h.caller(), copyOf[payment](h.data).Transaction)
	if err == nil && t.Status == wallet.AwaitingConfirmation {
		switch t.Typing() {
		case wallet.TypesAddress:
			before, _ := t.To.Middle()
			return reply("lookalike.wrong", vars{"Before": grouped(before)}), nil
		case wallet.TypesAmount:
			return reply("lookalike.wrong_amount", vars{"Amount": typedAmount(t)}), nil
		}
	}
	if err != nil && !labelled(err) {
		return nil, err
	}
	return reply("send.use_buttons", nil), nil
}
