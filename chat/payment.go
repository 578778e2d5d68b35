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

// draft returns the evaluated transfer that the handler found for the effect that runs now.
func (s *replyTx) draft() evaluatedDraft {
	w, _ := s.found.(evaluatedDraft)
	return w
}

// showReview stores the proposed transaction and shows its card. From here on the conversation follows the transaction.
func (s *replyTx) showReview() error {
	t := s.draft().proposal.Transaction
	if err := s.Transfers.Commit(s.tx, s.draft().proposal); err != nil {
		return err
	}
	s.renew(&payment{Transaction: t.ID})
	s.conv.ExpiresAt = t.Deadline
	return s.card(t)
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

// cancelUnsigned answers /cancel when no question is open. It shows the payments that still wait for Confirm or a signature
// again, each with its buttons. If there is none and the last payment is on its way, it says so: that one cannot be
// cancelled.
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
		s.asNew = true // as new messages: the old ones may be far up in the chat
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

// mostShown is the maximum number of waiting payments shown again at once.
const mostShown = 5

// waitingPayments returns the person's payments that wait for Confirm or a signature and have not reached their deadline.
func (s *replyTx) waitingPayments() ([]wallet.Transaction, error) {
	open, err := handlers.OpenTransactions(s.tx, s.user.ID)
	return slices.DeleteFunc(open, func(t wallet.Transaction) bool {
		unsigned := t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature
		return !unsigned || !s.now.Before(t.Deadline)
	}), err
}

// usedCardButton answers a tap of a card's button that was used before, with the transaction's current state. Telegram
// repeats a tap that it got no answer to. The card is drawn again, because the earlier answer may have been lost.
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

// tapConfirm is the owner's approval. Funds and recipient are checked on chain once more before it. CONFLICT means that the
// transaction has left review.
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

// tapReject is the owner's refusal.
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

// tapAmount answers the question for an amount by a button.
func (c *Chat) tapAmount(ctx context.Context, h Inbound, text string) (Action, error) {
	return c.tapAnswer(ctx, h, asksAmount, parts{Amount: plainAmount(text)}, html(escape(text)))
}

// tapAddress answers the question for a recipient by a button.
func (c *Chat) tapAddress(ctx context.Context, h Inbound, text string) (Action, error) {
	return c.tapAnswer(ctx, h, asksAddress, parts{To: book{}.recipient(text)}, code(text))
}

// tapAnswer takes a button as the answer to the question in this state; answer is shown below the question when it closes. Buttons of older questions get a toast.
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

// tapAgain proposes a transaction that can never land once more, as a new transaction with its own Confirm. CONFLICT means
// that the first one may still land or was retried already.
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
	// The button is used and the retry recorded in one transaction, so two taps cannot make two payments.
	return func(s *replyTx) error {
		if err := s.leaveFor(true); err != nil {
			return err
		}
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
		return s.card(first) // redrawn without its button
	}, nil
}

// tapCheck asks settle to look for a transaction with an unknown outcome now instead of at its next scheduled time.
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

// paid returns the person's own payment whose card was tapped; store.ErrNotFound for another person's.
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

// tapSendAgain proposes the same payment again. Each tap makes a new proposal, and each proposal needs its own Confirm.
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
