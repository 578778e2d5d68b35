package chat

import (
	"cmp"
	"context"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// SendCard shows an outgoing transfer.
func SendCard() Card {
	return Card{Kind: wallet.Send, With: func(t wallet.Transaction) wallet.Address { return t.To },
		Texts: map[Stage]string{
			StageReview: "card.review", StageDelayed: "card.delayed", StageSign: "card.sign", StageSignProgram: "card.sign_program", StageSigned: "card.signed",
			StagePending: "card.pending", StageHeld: "card.held", StageConfirmed: "card.confirmed", StageFailed: "card.failed",
			StageRejected: "card.rejected", StageNotConfirmed: "card.not_confirmed", StageNotSigned: "card.not_signed", StageLandedLate: "card.landed_late",
		},
		Lines: map[Stage]string{
			StageReview: "history.open", StageDelayed: "history.open", StageSign: "history.open", StageSignProgram: "history.open", StageSigned: "history.open",
			StagePending: "history.open", StageHeld: "history.held", StageConfirmed: "history.sent", StageFailed: "history.not_sent",
			StageRejected: "history.turned_down", StageReplaced: "history.replaced", StageNotConfirmed: "history.ran_out", StageNotSigned: "history.ran_out",
		}}
}

// draft returns the evaluated transfer that the handler found for the effect that runs now.
func (s *replyTx) draft() evaluatedDraft {
	w, _ := s.found.(evaluatedDraft)
	return w
}

// showReview stores the proposed transaction and shows its card. From here on the conversation follows the transaction, and
// lives as long as it waits for Confirm. Nothing is reserved yet: Confirm checks the funds again.
func (s *replyTx) showReview() error {
	t := s.draft().proposal.Transaction
	if err := s.Transfers.Commit(s.tx, s.draft().proposal); err != nil {
		return err
	}
	s.resetData(&payment{Transaction: t.ID})
	s.conv.ExpiresAt = t.Deadline
	return s.card(t)
}

// followPayment moves /send after a step of the transaction that it is about. It leaves the conversation where it is for any
// other transaction.
func (s *replyTx) followPayment(t wallet.Transaction) error {
	by, ok := s.stepOf(t)
	if !ok {
		return nil
	}
	if err := s.transition(sendFlow, by); err != nil {
		return err
	}
	if s.state() == signing {
		s.conv.ExpiresAt = t.Deadline
	}
	return nil
}

// stepOf returns the trigger that a transaction's state is for the open /send. ok is false if the conversation is about
// something else, or stays where it is.
func (s *replyTx) stepOf(t wallet.Transaction) (Trigger, bool) {
	if dataOf[payment](s).Transaction != t.ID || s.state() != inReview && s.state() != signing {
		return "", false
	}
	switch t.Status {
	case wallet.AwaitingConfirmation:
		return "", false
	case wallet.Delayed:
		return delayed, s.state() == inReview
	case wallet.AwaitingSignature:
		return confirmed, s.state() == inReview
	case wallet.Signed, wallet.Pending:
		if s.state() == signing {
			return signed, true
		}
	}
	return ended, true
}

// reviewPayment takes a proposal that was made for a payment that can never land. It takes the place of what was asked.
func (s *replyTx) reviewPayment(proposal handlers.Proposal) error {
	if err := s.leaveFor(true); err != nil {
		return err
	}
	s.found = evaluatedDraft{trigger: possible, proposal: proposal}
	return s.transition(sendFlow, possible)
}

// sayRefused, sayCancelled and sayTimedOut end the conversation without a payment.
func (s *replyTx) sayRefused() error   { return s.refused(s.refusal) }
func (s *replyTx) sayCancelled() error { return s.reply("cancel.done", nil) }
func (s *replyTx) sayTimedOut() error  { return s.reply("cancel.silent", nil) }

// sayDropped is sayCancelled for a person who began something else. If that is a payment, it needs no words.
func (s *replyTx) sayDropped() error {
	if s.replacing {
		return nil
	}
	return s.sayCancelled()
}

// rejectTransaction rejects the conversation's transaction and confirms that.
func (s *replyTx) rejectTransaction() error { return s.reject("cancel.rejected") }

// dropTransaction is rejectTransaction for a person who began something else. Only unconfirmed transactions get here. If
// another payment takes its place, as after a correction, its card says so and there is no message.
func (s *replyTx) dropTransaction() error {
	if !s.replacing {
		return s.reject("cancel.dropped")
	}
	t, err := s.Transfers.Replace(s.tx, s.caller(), dataOf[payment](s).Transaction)
	if err != nil {
		return s.refuse(err)
	}
	return s.card(t)
}

// reject rejects the conversation's transaction and confirms it with the text of the given key.
func (s *replyTx) reject(key string) error {
	id := dataOf[payment](s).Transaction
	t, err := s.Transfers.Reject(s.tx, s.caller(), id)
	if err != nil {
		return s.refuse(err) // already signed, or ended: the refusal says which
	}
	if err := s.card(t); err != nil {
		return err
	}
	token, err := s.sumName(t.Token)
	if err != nil {
		return err
	}
	return s.reply(key, vars{"Sum": t.Money().String(), "Token": token})
}

// tapAmount answers the question for an amount by a button.
func (c *Chat) tapAmount(ctx context.Context, h Inbound, text string) (Action, error) {
	return c.tapAnswer(ctx, h, asksAmount, parts{Amount: plainAmount(text)}, html(escape(text)))
}

// tapAddress answers the question for a recipient by a button.
func (c *Chat) tapAddress(ctx context.Context, h Inbound, text string) (Action, error) {
	return c.tapAnswer(ctx, h, asksAddress, parts{To: book{}.recipient(text)}, code(text))
}

// tapToken answers the question for a token by a button.
func (c *Chat) tapToken(ctx context.Context, h Inbound, mint string) (Action, error) {
	token, err := wallet.ParseTokenRef(mint)
	if err != nil { // made by another version of purser
		return toast("toast.old"), nil
	}
	return c.tapAnswer(ctx, h, asksToken, parts{Token: token}, code(mint))
}

// tapAnswer takes a button as the answer to the question in this state. answer is shown below the question when it closes.
// Buttons of older questions get a toast. The transfer is evaluated before the transaction; the action then marks the button
// as used, so that of two quick taps only one is an answer.
func (c *Chat) tapAnswer(ctx context.Context, h Inbound, at State, said parts, answer html) (Action, error) {
	if !h.newest(sendFlow, at) {
		return toast("toast.old"), nil
	}
	next, err := c.transfer(ctx, h, at, copyOf[payment](h.data).parts.with(said), nil)
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		if err := s.use(); err != nil {
			return err
		}
		s.chosen = answer
		return next(s)
	}, nil
}

// paid returns the person's own payment whose card was tapped. The id comes from the stored button. For another person's
// payment paid returns store.ErrNotFound, as if it did not exist.
func (c *Chat) paid(ctx context.Context, h Inbound) (t wallet.Transaction, err error) {
	err = c.Store.View(ctx, func(tx store.Tx) error {
		t, err = tx.Transaction(wallet.TransactionID(h.button.Subject))
		if err == nil && t.Owner != h.user.ID {
			err = store.ErrNotFound
		}
		return err
	})
	return t, err
}

// tapSendAgain proposes the same payment again: amount, token, recipient and note. The references of a payment link are left
// out: they belong to the first payment. Each tap makes a new proposal, and each proposal needs its own Confirm.
func (c *Chat) tapSendAgain(ctx context.Context, h Inbound, _ string) (Action, error) {
	t, err := c.paid(ctx, h)
	if err != nil {
		return nil, err
	}
	p := parts{Amount: exactly(t.Money().Decimal()), Token: t.Token.Ref(), To: address(t.To), Memo: t.Memo}
	return c.transfer(ctx, h, idle, p, nil)
}

// sendForApp is /send run by an app: it makes a proposal that the person is asked to confirm. No question can be asked, so
// the command must be complete. Contact names are not resolved, since apps must not learn them.
func (c *Chat) sendForApp(ctx context.Context, h Inbound) (Action, error) {
	p, err := readParts(h.line.args, book{})
	if err == nil && (!p.Amount.given() || !p.To.given()) {
		err = wallet.Refuse(wallet.InvalidRequest, "app_command.incomplete")
	}
	if err != nil {
		return nil, err
	}
	// Refusals are returned as errors here: the API answers with them, not the chat.
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(p.To.refusal(), p.Amount.refusal()); err != nil {
		return nil, err
	}
	proposal, err := c.Transfers.Prepare(ctx, handlers.Caller{User: h.user.ID, KeyID: h.app.By.KeyID, KeyLineage: h.app.By.KeyLineage},
		handlers.SendRequest{From: from.Address, To: p.To.Address, Amount: p.Amount.Quantity, Token: p.Token, Ask: true,
			Memo: p.Memo, Label: p.Label, Purpose: p.Purpose, References: p.References})
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		t, err := s.Transfers.CommitByProgram(s.tx, proposal)
		if err != nil {
			return err
		}
		// The card with Confirm comes by the event of the proposal, even for a silent command.
		token, err := s.sumName(t.Token)
		if err != nil {
			return err
		}
		return s.reply("app.proposed", vars{"Sum": t.Money().String(), "Token": token, "To": code(t.To.String()), "ID": code(string(t.ID))})
	}, nil
}
