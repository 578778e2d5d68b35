package chat

import (
	"context"
	"errors"
	"slices"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// transactionCards are the cards of transactions of every kind: the events that redraw them, and their buttons. They belong
// to no conversation: a conversation that is about a transaction follows it (conversation.follow).
func transactionCards() conversation {
	return conversation{
		name: "cards",
		callbacks: map[string]Callback{
			"confirm": (*Chat).tapConfirm,
			"reject":  (*Chat).tapReject,
			"again":   (*Chat).tapAgain,
			"check":   (*Chat).tapCheck,
		},
		events:     cardEvents(),
		cancelIdle: (*replyTx).cancelUnsigned,
		usedButton: (*replyTx).usedCardButton,
	}
}

// cardEvents are the notices of the transaction lifecycle, which redraw the card, and of incoming payments.
func cardEvents() map[wallet.EventName]notice {
	out := map[wallet.EventName]notice{
		wallet.TransactionReceived: {priority: alerts, waits: true, urgent: urgentReceipt, notify: withTransaction((*replyTx).notifyReceived)},
		wallet.PaymentArriving:     {priority: alerts, notify: withData((*replyTx).notifyArriving)},
		wallet.PaymentsFolded:      {priority: alerts, category: wallet.CategoryReceived, waits: true, notify: withData((*replyTx).notifyFolded)},
	}
	for _, name := range []wallet.EventName{wallet.TransactionProposed, wallet.TransactionApproved, wallet.TransactionDelayed, wallet.TransactionDelayEnded,
		wallet.TransactionSigned, wallet.TransactionPending,
		wallet.TransactionConfirmed, wallet.TransactionFailed, wallet.TransactionHeld, wallet.TransactionRolledBack, wallet.TransactionClosed} {
		out[name] = notice{priority: confirmations, notify: withTransaction((*replyTx).showTransaction)}
	}
	return out
}

// cancelUnsigned answers /cancel when no question is open. It shows the payments that still wait for Confirm, the end of a delay or a
// signature again, each with its buttons. If there is none and the last payment is on its way, it says so: that one cannot be
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
		if err := s.reply("cancel.waiting", vars{"Count": len(waiting)}); err != nil {
			return false, err
		}
		s.asNew = true // as new messages: the old ones may be far up in the chat
		for _, t := range waiting[:min(len(waiting), maxShown)] {
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

// maxShown is the maximum number of waiting payments shown again at once.
const maxShown = 5

// waitingPayments returns the person's payments that wait for Confirm, for the end of a delay or for a signature, and have not reached their
// deadline.
func (s *replyTx) waitingPayments() ([]wallet.Transaction, error) {
	open, err := handlers.OpenTransactions(s.tx, s.user.ID)
	return slices.DeleteFunc(open, func(t wallet.Transaction) bool {
		return !t.Waits(s.now)
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
		if handlers.IsJudgedAgain(err) {
			return s.showJudgedAgain(t, err)
		}
		said := "toast.confirmed"
		if t.Status == wallet.Delayed {
			said = "toast.delayed"
		}
		if ok, err := s.answerTap(err, said); !ok {
			return err
		}
		return s.redrawCard(t)
	}, nil
}

// showJudgedAgain shows a transaction as a new message: at Confirm, a fraud rule found something that its owner was not shown.
func (s *replyTx) showJudgedAgain(t wallet.Transaction, why error) error {
	if err := s.refuse(why); err != nil {
		return err
	}
	if err := s.tx.UseButtons(s.conv.Chat, s.conv.User, string(t.ID), s.now); err != nil {
		return err
	}
	if err := s.moveCard(TransactionCard(t.ID)); err != nil {
		return err
	}
	return s.redrawCard(t)
}

// tapReject is the owner's refusal.
func (c *Chat) tapReject(_ context.Context, h Inbound, _ string) (Action, error) {
	return func(s *replyTx) error {
		t, err := s.Transfers.Reject(s.tx, s.caller(), wallet.TransactionID(h.button.Subject))
		if wallet.CodeOf(err) == wallet.Conflict {
			return s.tooLate()
		}
		if ok, err := s.answerTap(err, "toast.rejected"); !ok {
			return err
		}
		return s.redrawCard(t)
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
		if err := s.use(); err != nil {
			return err
		}
		if err := s.review(proposal); wallet.CodeOf(err) == wallet.Conflict {
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

// review stores a proposal that takes the place of another one, and shows its card: in the conversation that reviews the
// transactions of this kind, or by itself.
func (s *replyTx) review(proposal handlers.Proposal) error {
	for _, conv := range s.registry.all {
		if take := conv.review[proposal.Transaction.Kind]; take != nil {
			return take(s, proposal)
		}
	}
	if err := s.Transfers.Commit(s.tx, proposal); err != nil {
		return err
	}
	return s.card(proposal.Transaction)
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
