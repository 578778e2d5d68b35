package chat

import (
	"context"
	"errors"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// securityFlow is the name of the conversation that asks for a spending limit to be typed.
const securityFlow = "security"

// Its states and triggers.
const (
	typingPayment   State = "limit of one payment"
	typingDay       State = "limit of 24 hours"
	typingRecipient State = "allowed recipient"
	choosingLimit   State = "choice by button" // text is no answer to it

	paymentWanted   Trigger = "limit of one payment missing or wrong"
	dayWanted       Trigger = "limit of 24 hours missing or wrong"
	recipientWanted Trigger = "recipient missing or wrong"
	choiceShown     Trigger = "choice shown"
	limitGiven      Trigger = "limit given"
)

// otherLimitsShown is for how many of the person's other wallets the card has a button.
const otherLimitsShown = 10

// limitsAsked is the data of the conversation: whose limits are asked for.
type limitsAsked struct {
	Wallet wallet.Address `json:"wallet,omitzero"`
	Only   bool           `json:"only,omitempty"` // anybody can be paid now, so the first recipient that is named is the only one
	Wait   bool           `json:"wait,omitempty"` // the choice is how long payments to new recipients wait
}

// limitsFlow is the table of the questions for spending limits.
func limitsFlow() Flow {
	asked := func(state State, wanted Trigger, ask Effect) map[Trigger]Step {
		return map[Trigger]Step{wanted: {state, ask}, limitGiven: {idle, nil}, cancelled: {idle, (*replyTx).sayLimitsUnchanged}, movedOn: {idle, nil}, timedOut: {idle, nil}}
	}
	return Flow{
		idle: {paymentWanted: {typingPayment, (*replyTx).askPaymentLimit}, dayWanted: {typingDay, (*replyTx).askDayLimit},
			recipientWanted: {typingRecipient, (*replyTx).askRecipient}, choiceShown: {choosingLimit, nil}},
		typingPayment:   asked(typingPayment, paymentWanted, (*replyTx).askPaymentLimit),
		typingDay:       asked(typingDay, dayWanted, (*replyTx).askDayLimit),
		typingRecipient: asked(typingRecipient, recipientWanted, (*replyTx).askRecipient),
		choosingLimit:   {limitGiven: {idle, nil}, cancelled: {idle, (*replyTx).sayLimitsUnchanged}, movedOn: {idle, nil}, timedOut: {idle, nil}},
	}
}

// limitsTexts are the handlers of typed answers.
func limitsTexts() map[State]Handler {
	return map[State]Handler{
		typingPayment: answeredLimitOf(limitPayment, paymentWanted), typingDay: answeredLimitOf(limitDay, dayWanted), typingRecipient: (*Chat).answeredRecipient,
		choosingLimit: (*Chat).textAtChoice,
	}
}

// endLimitsQuestion ends a question or a choice about limits: its answer was given, or something newer is shown.
func (s *replyTx) endLimitsQuestion() error {
	if s.conv.Flow != securityFlow || s.state() == idle {
		return nil
	}
	return s.transition(securityFlow, limitGiven)
}

// limitsCallbacks are the buttons of the cards about spending limits. The object of each begins with the address of the wallet.
func limitsCallbacks() map[string]Callback {
	return map[string]Callback{
		"limits": (*Chat).tapLimits, "limitask": (*Chat).tapAskLimit, "limitwait": (*Chat).tapWait, "limitwho": (*Chat).tapRecipients, "limitedit": (*Chat).tapEditLimits,
		"limitcancel": (*Chat).tapCancelLimits, "limitdevice": (*Chat).tapLimitsOnDevice,
	}
}

// limits answers /security limits: it shows the spending limits of a wallet, or changes one of them.
func (c *Chat) limits(ctx context.Context, h Inbound, words []string) (Action, error) {
	which, words := limitsOf(words)
	var edit limitEdit
	if len(words) > 0 {
		var question Action
		var err error
		switch edit, question, err = c.readLimits(ctx, h, which, words); {
		case err != nil:
			return refuse(err)
		case question != nil:
			return question, nil
		case edit == nil:
			named, err := c.namesRecipients(ctx, h, words)
			return func(s *replyTx) error {
				if named {
					return s.suggestRecipients(which, words[1:])
				}
				return s.replyUsage("security")
			}, err
		}
	}
	return func(s *replyTx) error {
		address, err := s.limitedWallet(which)
		switch {
		case wallet.CodeOf(err) == wallet.NotFound && which != "": // a word that is nothing of these
			return s.replyUsage("security")
		case err != nil:
			return s.refuse(err)
		case edit != nil:
			return s.changeLimits(address, edit)
		}
		if err := s.moveCard(limitsCard(address)); err != nil {
			return err
		}
		return s.drawLimits(address, nil)
	}, nil
}

// limitedWallet returns the wallet that a person named; "" is their default.
func (s *replyTx) limitedWallet(which string) (wallet.Address, error) {
	if which == "" {
		if s.user.DefaultWallet.IsZero() {
			return wallet.Address{}, wallet.Refuse(wallet.WalletNotFound, "own_wallet.no_wallet")
		}
		return s.user.DefaultWallet, nil
	}
	w, err := s.Wallets.Find(s.tx, s.user.ID, which)
	return w.Address, err
}

// limitsCard is the card of the newest message about the spending limits of a wallet.
func limitsCard(address wallet.Address) string { return "limits:" + address.String() }

// changeLimits changes a policy. What forbids more holds at once, and is shown. What allows more is sent as a link to sign it. If a change waits already, a
// change that allows more is one of that, so that it does not take back what waits.
func (s *replyTx) changeLimits(address wallet.Address, edit limitEdit) error {
	before, err := s.Policies.Of(s.tx, s.user.ID, address)
	if err != nil {
		return s.refuse(err)
	}
	to, err := edit(before.Current)
	if err == nil && before.Pending != nil && to.Loosens(before.Current) {
		to, err = edit(*before.Pending)
	}
	if err != nil {
		return s.refuse(err)
	}
	change, err := s.Policies.Change(s.tx, s.user.ID, address, to)
	if err != nil {
		return s.refuse(err)
	}
	if err := s.endLimitsQuestion(); err != nil { // it may be an answer
		return err
	}
	tightened, ended := !change.State.Current.Equal(before.Current), before.Pending != nil && change.State.Pending == nil
	if change.Token != "" {
		if s.inbound.Tap != nil { // the choice below the limits is made
			if err := s.drawLimits(address, nil); err != nil {
				return err
			}
		}
		return s.sendLimitsLink("limits_text.sign", change.Token, address, to, vars{"Tightened": tightened, "Ended": ended})
	}
	if err := s.closeLimitsLink(); err != nil {
		return err
	}
	said := vars{"Tightened": tightened, "Ended": ended, "Unchanged": !tightened && !ended}
	if s.inbound.Tap == nil {
		if err := s.moveCard(limitsCard(address)); err != nil {
			return err
		}
	}
	return s.drawLimits(address, said)
}

// sendLimitsLink sends the link by which a device signs a policy.
func (s *replyTx) sendLimitsLink(key, token string, address wallet.Address, p wallet.Policy, v vars) error {
	lines, err := s.limitLines(p)
	if err != nil {
		return err
	}
	v["Lines"], v["Tail"], v["Host"], v["Until"] = lines, address.Tail(), s.PublicURL.Host, s.now.Add(wallet.PolicyWindow)
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	label, err := s.words.text("limits_button.open", nil)
	if err != nil {
		return err
	}
	if err := errors.Join(s.moveCard(limitsLinkCard), s.followLimitsLink(token, address)); err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Secret: true, NewMessage: s.asNew, Buttons: [][]Button{{{Text: plain(label), URL: s.signingPage("l", token)}}}}, limitsLinkCard)
}

// drawLimits shows the spending limits of a wallet in their message. said says what was changed, if anything was.
func (s *replyTx) drawLimits(address wallet.Address, said vars) error {
	stored, err := s.Policies.Stored(s.tx, s.user.ID, address)
	if err != nil {
		return s.refuse(err)
	}
	if err := s.endLimitsQuestion(); err != nil {
		return err
	}
	state, frozen := stored.State, s.user.Freeze != nil
	v := vars{"Tail": address.Tail(), "Tightened": false, "Unchanged": false, "Ended": false, "Pending": html(""), "From": state.PendingFrom, "Frozen": frozen}
	if v["Device"], err = s.deviceLine(stored); err != nil {
		return err
	}
	for name, value := range said {
		v[name] = value
	}
	if v["Lines"], err = s.limitLines(state.Current); err != nil {
		return err
	}
	if state.Pending != nil {
		if v["Pending"], err = s.limitLines(*state.Pending); err != nil {
			return err
		}
	}
	to := address.String()
	list := [][][2]string{{{"limits_button.payment", "limitask:" + to + ":" + limitPayment}, {"limits_button.day", "limitask:" + to + ":" + limitDay}},
		{{"limits_button.recipients", "limitwho:" + to}, {"limits_button.new", "limitwait:" + to}}}
	if state.Pending != nil {
		list = append(list, [][2]string{{"limits_button.cancel", "limitcancel:" + to}})
	}
	if !state.Current.Equal(wallet.Policy{}) {
		list = append(list, [][2]string{{"limits_button.device", "limitdevice:" + to}})
	}
	rows, err := s.limitButtons(address, list)
	if frozen { // only these work now
		rows, err = s.menu("button.unfreeze", "/unfreeze")
	}
	if err != nil {
		return err
	}
	others, err := s.otherLimits(address)
	if err != nil {
		return err
	}
	return s.showLimits(address, "limits_text.card", v, append(rows, others...))
}

// limitButtons are rows of buttons of the card of a wallet: keys of labels, and actions.
func (s *replyTx) limitButtons(address wallet.Address, list [][][2]string) (rows [][]Button, _ error) {
	for _, line := range list {
		var row []Button
		for _, one := range line {
			b, err := s.catalogueButton(one[0], one[1], limitsCard(address), s.now.Add(menuLife))
			if err != nil {
				return nil, err
			}
			row = append(row, b)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// otherLimits are buttons that show the limits of the person's other wallets.
func (s *replyTx) otherLimits(address wallet.Address) (rows [][]Button, _ error) {
	all, err := s.tx.WalletsOf(s.user.ID)
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if w.Address == address || len(rows) == otherLimitsShown {
			continue
		}
		label, err := s.words.text("limits_button.of_wallet", vars{"Tail": w.Address.Tail()})
		if err != nil {
			return nil, err
		}
		b, err := s.button(label, "run:/security "+limitsWord+" "+w.Address.String(), "menu", s.now.Add(menuLife))
		if err != nil {
			return nil, err
		}
		rows = append(rows, []Button{b})
	}
	return rows, nil
}

// showLimits shows a text in the message of a wallet's limits.
func (s *replyTx) showLimits(address wallet.Address, key string, v vars, rows [][]Button) error {
	text, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, NewMessage: s.asNew}, limitsCard(address))
}

// limitsObject reads the object of a button: the address of a wallet, and what stands behind it.
func limitsObject(object string) (address wallet.Address, rest string, ok bool) {
	text, rest, _ := strings.Cut(object, ":")
	address, err := wallet.ParseAddress(text)
	return address, rest, err == nil
}

// onLimits wraps what a button of a wallet's card does.
func onLimits(object string, do func(s *replyTx, address wallet.Address, rest string) error) (Action, error) {
	address, rest, ok := limitsObject(object)
	if !ok { // made by another version of purser
		return toast("toast.old"), nil
	}
	return func(s *replyTx) error { return do(s, address, rest) }, nil
}

// tapLimits shows a wallet's limits again, in place of a choice.
func (c *Chat) tapLimits(_ context.Context, _ Inbound, object string) (Action, error) {
	return onLimits(object, func(s *replyTx, address wallet.Address, _ string) error { return s.drawLimits(address, nil) })
}

// tapAskLimit asks for a limit or a recipient to be typed.
func (c *Chat) tapAskLimit(_ context.Context, _ Inbound, object string) (Action, error) {
	return onLimits(object, func(s *replyTx, address wallet.Address, part string) error {
		wanted, ok := map[string]Trigger{limitPayment: paymentWanted, limitDay: dayWanted, limitRecipients: recipientWanted}[part]
		if !ok {
			return s.toast("toast.old", nil)
		}
		state, err := s.Policies.Of(s.tx, s.user.ID, address)
		if err != nil {
			return s.refuse(err)
		}
		if err := s.leave(); err != nil {
			return err
		}
		s.resetData(&limitsAsked{Wallet: address, Only: state.Current.Recipients == nil})
		return s.transition(securityFlow, wanted)
	})
}

func (s *replyTx) askPaymentLimit() error { return s.askLimit("limits_text.ask_payment") }
func (s *replyTx) askDayLimit() error     { return s.askLimit("limits_text.ask_day") }
func (s *replyTx) askRecipient() error    { return s.askLimit("limits_text.ask_recipient") }

// askLimit asks a question about the wallet of the conversation.
func (s *replyTx) askLimit(key string) error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	of := dataOf[limitsAsked](s)
	state, err := s.Policies.Of(s.tx, s.user.ID, of.Wallet)
	if err != nil {
		return s.refuse(err)
	}
	now, err := s.limitAmounts(state.Current.Payment)
	if s.state() == typingDay {
		now, err = s.limitAmounts(state.Current.Day)
	}
	if err != nil {
		return err
	}
	return s.ask(key, vars{"Tail": of.Wallet.Tail(), "Only": of.Only, "Now": now}, nil)
}

// sayLimitsUnchanged confirms /cancel.
func (s *replyTx) sayLimitsUnchanged() error { return s.reply("limits_text.unchanged", nil) }

// answeredLimitOf returns the handler of a typed limit.
func answeredLimitOf(part string, wanted Trigger) Handler {
	return func(c *Chat, ctx context.Context, h Inbound) (Action, error) {
		of := copyOf[limitsAsked](h.data)
		edit, question, err := c.readLimits(ctx, h, of.Wallet.String(), append([]string{part}, h.line.args...))
		if question != nil {
			return func(s *replyTx) error { return errors.Join(s.transition(securityFlow, limitGiven), question(s)) }, nil
		}
		return answeredLimit(of, edit, wanted, err)
	}
}

// answeredRecipient takes a typed recipient.
func (c *Chat) answeredRecipient(ctx context.Context, h Inbound) (Action, error) {
	of, action := copyOf[limitsAsked](h.data), "add"
	if of.Only {
		action = "only"
	}
	edit, err := c.readRecipients(ctx, h, append([]string{action}, h.line.args...))
	return answeredLimit(of, edit, recipientWanted, err)
}

// answeredLimit changes the limits by a typed answer, or asks again with the reason why it was refused.
func answeredLimit(of limitsAsked, edit limitEdit, wanted Trigger, err error) (Action, error) {
	if err != nil && !labelled(err) {
		return nil, err
	}
	if err == nil && edit == nil {
		err = wallet.Refuse(wallet.InvalidRequest, "limits.amount")
	}
	return func(s *replyTx) error {
		if err != nil {
			s.refusal = err
			return s.transition(securityFlow, wanted)
		}
		return s.changeLimits(of.Wallet, edit)
	}, nil
}

// tapEditLimits changes the limits as a button says: the words behind the address are those of the command.
func (c *Chat) tapEditLimits(ctx context.Context, h Inbound, object string) (Action, error) {
	address, rest, ok := limitsObject(object)
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return toast("toast.old"), nil
	}
	edit, _, err := c.readLimits(ctx, h, address.String(), words)
	if err != nil {
		return refuse(err)
	}
	if edit == nil {
		return toast("toast.old"), nil
	}
	return func(s *replyTx) error { return s.changeLimits(address, edit) }, nil
}

// tapCancelLimits ends a change that waits.
func (c *Chat) tapCancelLimits(_ context.Context, _ Inbound, object string) (Action, error) {
	return onLimits(object, func(s *replyTx, address wallet.Address, _ string) error {
		_, err := s.Policies.CancelPending(s.tx, s.user.ID, address)
		if err := s.closeLimitsLink(); err != nil { // it has ended in any case
			return err
		}
		if ok, err := s.answerTap(err, "toast.limits_cancelled"); !ok {
			return err
		}
		return s.drawLimits(address, vars{"Ended": true})
	})
}

// tapLimitsOnDevice sends a link by which another device signs the limits that hold, so that it enforces them too.
func (c *Chat) tapLimitsOnDevice(_ context.Context, _ Inbound, object string) (Action, error) {
	return onLimits(object, func(s *replyTx, address wallet.Address, _ string) error {
		state, err := s.Policies.Of(s.tx, s.user.ID, address)
		if err != nil {
			return s.refuse(err)
		}
		token, err := s.Policies.LinkForCurrent(s.tx, s.user.ID, address)
		if err != nil {
			return s.refuse(err)
		}
		return s.sendLimitsLink("limits_text.device", token, address, state.Current, vars{"Waits": state.Pending != nil})
	})
}

// recipientName is an allowed recipient for people: the name of their contact, if it is one, and the address.
func (s *replyTx) recipientName(a wallet.Address) (html, error) {
	name, err := handlers.NameOf(s.tx, s.user.ID, a)
	if err != nil || name == "" {
		return code(a.String()), err
	}
	return "<b>" + html(escape(name)) + "</b> " + code(a.String()), nil
}
