package chat

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// draft is what was found out about the payment for the effect that runs now.
func (s *replyTx) draft() evaluatedDraft {
	w, _ := s.found.(evaluatedDraft)
	return w
}

// showReview stores the proposal and shows its card.
func (s *replyTx) showReview() error {
	t := s.draft().proposal.Transaction
	if err := s.Transfers.Commit(s.tx, s.draft().proposal); err != nil {
		return err
	}
	s.renew(&payment{Transaction: t.ID})
	s.conv.ExpiresAt = t.Deadline
	return s.card(t)
}

func (s *replyTx) sayRefused() error   { return s.refused(s.refusal) }
func (s *replyTx) sayCancelled() error { return s.reply("cancel.done", nil) }
func (s *replyTx) saySilent() error    { return s.reply("cancel.silent", nil) }

// rejectTransaction ends the transaction of this conversation, if it still can be.
func (s *replyTx) rejectTransaction() error { return s.reject("cancel.rejected") }

// dropTransaction is rejectTransaction when something else was begun.
func (s *replyTx) dropTransaction() error { return s.reject("cancel.replaced") }

func (s *replyTx) reject(key string) error {
	id := dataOf[payment](s).Transaction
	t, err := s.Transfers.Reject(s.tx, s.caller(), id)
	if err != nil {
		return s.refuse(err) // it is on its way, or has ended: the sentence says which
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

// cancelUnsigned answers /cancel when nothing is being asked: payments that wait are shown once more, each with its
// buttons, and one that is on its way is said to be.
func (s *replyTx) cancelUnsigned() (bool, error) {
	last, err := s.tx.TransactionsOf(s.user.ID, store.Page{Limit: 1})
	if err != nil {
		return false, err
	}
	waiting, err := s.waitingPayments()
	switch {
	case err != nil:
		return false, err
	case len(waiting) > 0:
		if err := s.reply("cancel.waiting", vars{"One": len(waiting) == 1}); err != nil {
			return false, err
		}
		s.anew = true // wherever their messages are by now
		for _, t := range waiting[:min(len(waiting), mostShown)] {
			if err := s.card(t); err != nil {
				return false, err
			}
		}
		return true, nil
	case len(last) == 1 && (last[0].Status == wallet.Signed || last[0].Status == wallet.Pending):
		return true, s.reply("cancel.on_its_way", nil)
	}
	return false, nil
}

// mostShown bounds how many waiting transfers are shown again at once.
const mostShown = 5

// waitingPayments lists the person's transfers that wait for their Confirm or signature.
func (s *replyTx) waitingPayments() ([]wallet.Transaction, error) {
	open, err := handlers.OpenTransactions(s.tx, s.user.ID)
	return slices.DeleteFunc(open, func(t wallet.Transaction) bool {
		unsigned := t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature
		return !unsigned || !s.now.Before(t.Deadline)
	}), err
}

// usedCardButton answers the tap of a card's button that was used: by the present state of its transaction. Telegram
// sends an unanswered tap again, so the card is drawn again too: it may be what was lost.
func (s *replyTx) usedCardButton() (bool, error) {
	t, err := s.tx.Transaction(wallet.TransactionID(s.inbound.button.Subject))
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Owner != s.user.ID {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	state, err := s.words.reason(t.Status.Reason())
	if err != nil {
		return false, err
	}
	if err := s.toast("toast.state", vars{"State": state}); err != nil {
		return false, err
	}
	return true, s.card(t)
}

// tapConfirm is the owner's word, after one more look at the chain.
func (c *Chat) tapConfirm(ctx context.Context, h Inbound, _ string) (Action, error) {
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	id := wallet.TransactionID(h.button.Subject)
	confirmation, err := c.Transfers.PrepareConfirm(ctx, h.caller(), id, "")
	switch {
	case wallet.CodeOf(err) == wallet.Conflict:
		return (*replyTx).tooLate, nil
	case err != nil:
		return refuse(err)
	}
	return func(s *replyTx) error {
		t, err := s.Transfers.CommitConfirm(s.tx, confirmation)
		if wallet.CodeOf(err) == wallet.Conflict {
			return s.tooLate()
		}
		if ok, err := s.did(err, "toast.confirmed"); !ok {
			return err
		}
		return s.drawn(t)
	}, nil
}

// tapReject is the owner's no.
func (c *Chat) tapReject(_ context.Context, h Inbound, _ string) (Action, error) {
	return func(s *replyTx) error {
		t, err := s.Transfers.Reject(s.tx, s.caller(), wallet.TransactionID(h.button.Subject))
		if wallet.CodeOf(err) == wallet.Conflict {
			return s.tooLate()
		}
		if ok, err := s.did(err, "toast.rejected"); !ok {
			return err
		}
		return s.drawn(t)
	}, nil
}

// tapAmount is an amount said by a button.
func (c *Chat) tapAmount(ctx context.Context, h Inbound, text string) (Action, error) {
	return c.tapAnswer(ctx, h, asksAmount, parts{Amount: plainAmount(text)})
}

// tapAddress is an address said by a button.
func (c *Chat) tapAddress(ctx context.Context, h Inbound, text string) (Action, error) {
	return c.tapAnswer(ctx, h, asksAddress, parts{To: book{}.recipient(text)})
}

// tapAnswer takes a button for an answer; only the newest question's buttons count.
func (c *Chat) tapAnswer(ctx context.Context, h Inbound, at State, said parts) (Action, error) {
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
		return next(s)
	}, nil
}

// tapAgain proposes a transaction that can never land anew.
func (c *Chat) tapAgain(ctx context.Context, h Inbound, _ string) (Action, error) {
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	proposal, err := c.Transfers.PrepareRetry(ctx, h.caller(), wallet.TransactionID(h.button.Subject))
	switch {
	case wallet.CodeOf(err) == wallet.Conflict:
		return (*replyTx).tooLate, nil
	case err != nil:
		return refuse(err)
	}
	return c.begin(func(s *replyTx) error {
		s.found = evaluatedDraft{trigger: possible, proposal: proposal}
		if err := s.use(); err != nil {
			return err
		}
		if err := s.transition(sendFlow, possible); wallet.CodeOf(err) == wallet.Conflict {
			return s.tooLate()
		} else if err != nil {
			return err
		}
		first, err := s.tx.Transaction(proposal.Transaction.RetryOf)
		if err != nil {
			return err
		}
		return s.card(first) // without its button
	}, nil)
}

// tapCheck has a held transaction looked for.
func (c *Chat) tapCheck(context.Context, Inbound, string) (Action, error) {
	return func(s *replyTx) error {
		err := s.Transfers.Recheck(s.tx, s.caller(), wallet.TransactionID(s.inbound.button.Subject))
		switch {
		case wallet.CodeOf(err) == wallet.Conflict:
			return s.tooLate()
		case err != nil:
			return s.refuse(err)
		}
		return s.toast("toast.looking", nil)
	}, nil
}

// paid reads a payment of the person's whose card was tapped.
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

// tapSendAgain proposes the same payment anew, as often as it is tapped: each waits for its own Confirm.
func (c *Chat) tapSendAgain(ctx context.Context, h Inbound, _ string) (Action, error) {
	t, err := c.paid(ctx, h)
	if err != nil {
		return nil, err
	}
	p := parts{Amount: exactly(t.Money().Decimal()), Token: t.Token.Ref(), To: address(t.To), Memo: t.Memo}
	return c.begin(c.transfer(ctx, h, idle, p, nil))
}

// sendForApp is /send for apps: a proposal that the person is asked to confirm. Nothing is asked for,
// so all of it must be there; and names of the person's contacts are no app's business.
func (c *Chat) sendForApp(ctx context.Context, h Inbound) (Action, error) {
	p, err := readParts(h.line.args, book{})
	if err == nil && (!p.Amount.given() || !p.To.given()) {
		err = wallet.Refuse(wallet.InvalidRequest, "app_command.incomplete")
	}
	if err != nil {
		return nil, err
	}
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(p.To.refusal(), p.Amount.refusal()); err != nil {
		return nil, err
	}
	proposal, err := c.Transfers.Prepare(ctx, handlers.Caller{User: h.user.ID, KeyID: h.app.By.KeyID, KeyLineage: h.app.By.KeyLineage},
		handlers.SendRequest{From: from.Address, To: p.To.Address, Amount: p.Amount.Quantity, Token: p.Token, Ask: true,
			Memo: p.Memo, Label: p.Label, References: p.References})
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		t, err := s.Transfers.CommitByProgram(s.tx, proposal)
		if err != nil {
			return err
		}
		// The question itself comes by its event, silent or not.
		token, err := s.sumName(t.Token)
		if err != nil {
			return err
		}
		return s.reply("app.proposed", vars{"Sum": t.Money().String(), "Token": token, "To": code(t.To.String()), "ID": code(string(t.ID))})
	}, nil
}
