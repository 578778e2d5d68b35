package chat

import (
	"context"
	"errors"
	"strings"

	"purser/store"
	"purser/wallet"
)

// callback is what a button of ours means when its owner taps it in time; object is what follows the
// verb in store.Button.Action.
type callback func(c *Chat, ctx context.Context, h inbound, object string) (Action, error)

func callbacks() map[string]callback {
	return map[string]callback{
		"confirm":    (*Chat).tapConfirm,
		"reject":     (*Chat).tapReject,
		"amount":     (*Chat).tapAmount,
		"to":         (*Chat).tapAddress,
		"people":     (*Chat).tapPeople,
		"stop":       (*Chat).tapStop,
		"choose":     (*Chat).tapChoose,
		"none":       (*Chat).tapNone,
		"run":        (*Chat).tapRun,
		"again":      (*Chat).tapAgain,
		"check":      (*Chat).tapCheck,
		"takeover":   (*Chat).tapTakeOver,
		"stopclaim":  (*Chat).tapStopClaim,
		"disconnect": (*Chat).tapDisconnect,
		"erase":      (*Chat).tapErase,
		"keep":       (*Chat).tapKeep,
		"accept":     (*Chat).tapAccept,
		"app":        (*Chat).tapApp,
		"draft":      (*Chat).tapDraft,
		"newpurpose": (*Chat).tapNewPurpose,
		"newcode":    (*Chat).tapNewCode,
		"newmail":    (*Chat).tapNewMail,
		"goon":       (*Chat).tapGoOn,
		"turn":       (*Chat).tapTurn,
		"ask":        (*Chat).tapAsk,
		"make":       (*Chat).tapMake,
		"saved":      (*Chat).tapSaved,
		"newkey":     (*Chat).tapNewKey,
		"key":        (*Chat).tapKey,
		"keepkey":    (*Chat).tapKeepKey,
		"rotate":     (*Chat).tapRotate,
		"rotateyes":  (*Chat).tapRotateYes,
		"revoke":     (*Chat).tapRevoke,
		"revokeyes":  (*Chat).tapRevokeYes,
		"portal":     (*Chat).tapPortal,
		"decide":     (*Chat).tapDecide,
		"withdraw":   (*Chat).tapWithdraw,
		"allow":      (*Chat).tapAllow,
		"refuse":     (*Chat).tapRefuse,
		"takeback":   (*Chat).tapTakeBack,

		"changeaccess": (*Chat).tapChangeAccess,
		"sendagain":    (*Chat).tapSendAgain,
		"savecontact":  (*Chat).tapSaveContact,

		"contact":       (*Chat).tapContact,
		"contactpay":    (*Chat).tapPayContact,
		"contactname":   (*Chat).tapRename,
		"contactremove": (*Chat).tapRemove,
		"contactkeep":   (*Chat).tapKeepContact,
		"contactgone":   (*Chat).tapRemoveYes,
		"switch":        (*Chat).tapSwitch,
	}
}

// tapped judges a tap by what the store knows of its nonce, and by nothing that the client says.
// Every tap gets exactly one toast.
func (c *Chat) tapped(ctx context.Context, h inbound) (Action, error) {
	b := h.button
	switch {
	case b.Nonce == "", !c.Now().Before(b.ExpiresAt):
		return toast("toast.old"), nil
	case b.Chat != h.Chat || b.User != h.From.TelegramID:
		return toast("toast.not_yours"), nil
	case !b.UsedAt.IsZero():
		return (*replyTx).tooLate, nil
	}
	verb, object, _ := strings.Cut(b.Action, ":")
	tap, ok := callbacks()[verb]
	if !ok { // a button of another version of purser
		return toast("toast.old"), nil
	}
	return tap(c, ctx, h, object)
}

func toast(key string) Action { return func(s *replyTx) error { return s.toast(key, nil) } }

// newest tells whether the tapped button is below the newest question of a flow that stands at a state.
func (h inbound) newest(flow string, at State) bool {
	return h.at(flow) == at && h.topic.Ask == h.button.Subject
}

// tooLate answers a tap whose time is over: by the present state where a transaction is meant.
// Telegram sends an unanswered tap again, so the card is drawn again too: it may be what was lost.
func (s *replyTx) tooLate() error {
	t, err := s.tx.Transaction(wallet.TransactionID(s.inbound.button.Subject))
	if errors.Is(err, store.ErrNotFound) || err == nil && t.Owner != s.user.ID {
		return s.toast("toast.used", nil)
	}
	if err != nil {
		return err
	}
	state, err := s.words.reason(t.Status.Reason())
	if err != nil {
		return err
	}
	if err := s.toast("toast.state", vars{"State": state}); err != nil {
		return err
	}
	return s.card(t)
}

// tapConfirm is the owner's word, after one more look at the chain.
func (c *Chat) tapConfirm(ctx context.Context, h inbound, _ string) (Action, error) {
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
func (c *Chat) tapReject(_ context.Context, h inbound, _ string) (Action, error) {
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
func (c *Chat) tapAmount(ctx context.Context, h inbound, amount string) (Action, error) {
	return tapAnswer(ctx, h, asksAmount, amount, c.hearAmount)
}

// tapAddress is an address said by a button.
func (c *Chat) tapAddress(ctx context.Context, h inbound, address string) (Action, error) {
	return tapAnswer(ctx, h, asksAddress, address, c.hearAddress)
}

// tapAnswer takes a button for the same words typed; only the newest question's buttons count.
func tapAnswer(ctx context.Context, h inbound, at State, words string,
	hear func(context.Context, inbound, []string) (Action, error)) (Action, error) {
	if !h.newest(sendFlow, at) {
		return toast("toast.old"), nil
	}
	next, err := hear(ctx, h, []string{words})
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

// tapStop is /cancel below a question.
func (c *Chat) tapStop(_ context.Context, h inbound, _ string) (Action, error) {
	if h.at(h.conv.Flow) == idle || h.topic.Ask != h.button.Subject {
		return toast("toast.old"), nil
	}
	return func(s *replyTx) error {
		if err := s.use(); err != nil {
			return err
		}
		return s.transition(h.conv.Flow, cancelled)
	}, nil
}

// tapChoose says which address the device shows.
func (c *Chat) tapChoose(_ context.Context, _ inbound, address string) (Action, error) {
	choice, err := wallet.ParseAddress(address)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error { return s.choose(choice) }, nil
}

// tapNone says that it is none of these.
func (c *Chat) tapNone(context.Context, inbound, string) (Action, error) {
	return func(s *replyTx) error { return s.choose(wallet.Address{}) }, nil
}

// tapRun runs a command by its button, as often as it is tapped.
func (c *Chat) tapRun(ctx context.Context, h inbound, text string) (Action, error) {
	h.line = read(text)
	return c.command(ctx, h)
}

// tapDisconnect forgets a wallet.
func (c *Chat) tapDisconnect(_ context.Context, _ inbound, address string) (Action, error) {
	return func(s *replyTx) error {
		gone, now, err := s.Wallets.Disconnect(s.tx, s.user.ID, address)
		if ok, err := s.did(err, "toast.disconnected"); !ok {
			return err
		}
		if err := s.strip(); err != nil {
			return err
		}
		v := vars{"Address": code(gone.Address.String()), "Default": html(""), "Changed": now != s.user.DefaultWallet}
		if !now.IsZero() {
			v["Default"] = code(now.String())
		}
		return s.reply("wallet.disconnected", v)
	}, nil
}

// tapAgain proposes a transaction that can never land anew.
func (c *Chat) tapAgain(ctx context.Context, h inbound, _ string) (Action, error) {
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
		s.draft = evaluatedDraft{trigger: possible, proposal: proposal}
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
func (c *Chat) tapCheck(context.Context, inbound, string) (Action, error) {
	return func(s *replyTx) error {
		err := s.Transfers.LookAgain(s.tx, s.caller(), wallet.TransactionID(s.inbound.button.Subject))
		switch {
		case wallet.CodeOf(err) == wallet.Conflict:
			return s.tooLate()
		case err != nil:
			return s.refuse(err)
		}
		return s.toast("toast.looking", nil)
	}, nil
}

// tapTakeOver moves an address here that its first owner did not keep.
func (c *Chat) tapTakeOver(_ context.Context, _ inbound, text string) (Action, error) {
	address, err := wallet.ParseAddress(text)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		w, err := s.Wallets.TakeOver(s.tx, s.user.ID, address)
		if ok, err := s.did(err, "toast.connected"); !ok {
			return err
		}
		if err := s.strip(); err != nil {
			return err
		}
		return s.reply("claim.moved", vars{"Address": code(w.Address.String())})
	}, nil
}

// tapStopClaim keeps an address with its first owner.
func (c *Chat) tapStopClaim(_ context.Context, _ inbound, text string) (Action, error) {
	address, err := wallet.ParseAddress(text)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		if ok, err := s.did(s.Wallets.StopClaim(s.tx, s.user.ID, address), "toast.claim_stopped"); !ok {
			return err
		}
		if err := s.strip(); err != nil {
			return err
		}
		return s.reply("claim.stopped", vars{"Address": code(address.String())})
	}, nil
}

// tapErase forgets the person. What is said of it goes to a chat of which nothing is known any more.
func (c *Chat) tapErase(context.Context, inbound, string) (Action, error) {
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

// tapKeep leaves everything as it is.
func (c *Chat) tapKeep(context.Context, inbound, string) (Action, error) {
	return func(s *replyTx) error {
		if err := errors.Join(s.use(), s.strip()); err != nil {
			return err
		}
		return s.toast("toast.kept", nil)
	}, nil
}
