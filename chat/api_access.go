package chat

import (
	"context"
	"slices"
	"strings"
	"time"

	"purser/handlers"
	"purser/wallet"
)

// access is the data of the /api conversation: the person's answers so far. The store keeps it as JSON until the conversation
// ends. It never contains the secret of a key.
type access struct {
	Request wallet.AccessRequest `json:"request"`
	Known   bool                 `json:"known,omitempty"`   // the person already has an app of this name, so its purpose is not asked
	Choice  string               `json:"choice,omitempty"`  // card of the question which keys to create; toggles redraw it in place
	Shown   string               `json:"shown,omitempty"`   // card of the message that shows new keys
	ShownAt time.Time            `json:"shown_at,omitzero"` // when that message was queued: the key leaves the chat KeyShown later
}

// api answers /api. It lists the person's keys, or leads to the first one. It asks no Solana node, so all of its work is in
// the Action.
func (c *Chat) api(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error {
		st, err := s.Developers.Standing(s.tx, s.user.ID)
		if err != nil {
			return err
		}
		if len(st.Keys) > 0 {
			return s.listKeys(st)
		}
		return s.resume(st)
	}, nil
}

// resume continues an earlier request for access, or begins a new one. While the operators have a request, it only says so.
func (s *replyTx) resume(st handlers.Standing) error {
	was := st.Developer.Request
	if was.Waits() && s.now.Before(was.RequestedAt.Add(handlers.AskPause)) {
		return s.sayWaiting(st)
	}
	s.resetData(nil)
	if was != nil && !was.Abandoned {
		dataOf[access](s).Request = *was
	}
	return s.goOn()
}

// sayWaiting shows a request that waits for the operators, with a button to withdraw it.
func (s *replyTx) sayWaiting(st handlers.Standing) error {
	was := st.Developer.Request
	withdraw, err := s.catalogueButton("button.withdraw", "withdraw:"+was.ID, askedCard(was.ID), s.now.Add(menuLife))
	if err != nil {
		return err
	}
	rows := [][]Button{{withdraw}}
	// Without the approval step, or with an earlier approval, keys can be created while this request waits.
	if !slices.Contains(s.Developers.Steps, wallet.ByApproval) || len(st.Developer.Approvals) > 0 {
		b, err := s.catalogueButton("button.new_key", "newkey", "keys", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	// The message moves to the bottom of the chat. One card per request lets its outcome replace this text later.
	text, err := s.words.text("access.waiting", vars{"App": was.App, "Since": s.words.moment(was.RequestedAt), "Again": s.words.moment(was.RequestedAt.Add(handlers.AskPause))})
	if err != nil {
		return err
	}
	if err := s.moveCard(askedCard(was.ID)); err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, NewMessage: s.asNew}, askedCard(was.ID))
}

// tapGoOn continues /api by a button. If the button of the wallet step is tapped while there is still no wallet, the question
// stays open.
func (c *Chat) tapGoOn(_ context.Context, _ Inbound, step string) (Action, error) {
	return func(s *replyTx) error {
		st, err := s.Developers.Standing(s.tx, s.user.ID)
		if err != nil {
			return err
		}
		if step == string(wallet.ByWallet) && slices.Contains(st.Missing, wallet.ByWallet) {
			return s.toast("toast.no_wallet", nil)
		}
		if err := s.leave(); err != nil {
			return err
		}
		return s.resume(st)
	}, nil
}

// tapNewKey starts the conversation for a person who already has keys. It first ends the question that is open.
func (c *Chat) tapNewKey(context.Context, Inbound, string) (Action, error) {
	return c.begin(func(s *replyTx) error {
		s.resetData(nil)
		return s.goOn()
	}, nil)
}

// goOn asks for the first thing that is missing: app, purpose, terms, then the verification steps that the settings require.
// The request is saved first (Note), so that it survives the end of the conversation.
func (s *replyTx) goOn() error {
	st, err := s.Developers.Standing(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	a := dataOf[access](s)
	a.Request.Abandoned = false
	if err := s.knowApp(a); err != nil {
		return err
	}
	// First what the person has to say about the app; no verification is worth doing without it.
	switch {
	case a.Request.App == "":
		return s.transition(apiFlow, appUnknown)
	case a.Request.Purpose == "" && !a.Known:
		return s.transition(apiFlow, purposeUnknown)
	case st.Developer.AcceptedAt.IsZero():
		return s.transition(apiFlow, termsOpen)
	}
	// The request is complete: save it before the verification steps, which may take days.
	if err := s.Developers.Note(s.tx, s.user.ID, a.Request); err != nil {
		return err
	}
	if len(st.Missing) == 0 {
		return s.transition(apiFlow, verified)
	}
	// Ask for the first missing step only. Each answer comes back here.
	return s.transition(apiFlow, map[wallet.Verification]Trigger{
		wallet.ByContact: contactMissing, wallet.ByEmail: emailMissing, wallet.ByWallet: walletMissing,
	}[st.Missing[0]])
}

// knowApp checks whether the person already has an app of the given name, and takes over its purpose unless they gave another
// one.
func (s *replyTx) knowApp(a *access) error {
	if a.Known = false; a.Request.App == "" {
		return nil
	}
	all, err := s.tx.AppsOf(s.user.ID)
	for _, app := range all {
		if app.Name == a.Request.App {
			if a.Known = true; a.Request.Purpose == "" {
				a.Request.Purpose = app.Purpose
			}
		}
	}
	return err
}

// askApp explains /api and asks for the app's name, with buttons for an unfinished request and for the newest apps.
func (s *replyTx) askApp() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	mine, err := s.tx.AppsOf(s.user.ID)
	if err != nil {
		return err
	}
	dev, err := s.tx.Developer(s.user.ID)
	if err != nil {
		return err
	}
	const most = 8 // the number of apps offered: the newest
	// An unfinished request comes first, unless an app of that name exists by now.
	var rows [][]Button
	draft := dev.Request
	if draft != nil && draft.Abandoned && !slices.ContainsFunc(mine, func(app wallet.App) bool { return app.Name == draft.App }) {
		b, err := s.button(html(escape(draft.App)), "draft", s.question.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	} else {
		draft = nil
	}
	// Then the newest of the person's own apps. AppsOf returns the oldest first, so they are at the end.
	for _, app := range mine[max(0, len(mine)-most):] {
		b, err := s.button(html(escape(app.Name)), "app:"+string(app.ID), s.question.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	return s.ask("access.ask_app", vars{"Any": len(mine) > 0, "Draft": draft != nil, "Most": wallet.MaxAppName}, rows)
}

// askPurpose asks what the app is for. Operators see the answer, and so do the people whom the app asks for access.
func (s *replyTx) askPurpose() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	return s.ask("access.ask_purpose", vars{"App": dataOf[access](s).Request.App, "Was": dataOf[access](s).Request.Purpose, "Most": wallet.MaxAppPurpose}, nil)
}

// showTerms shows the terms of the API, with a button that accepts them.
func (s *replyTx) showTerms() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	yes, err := s.catalogueButton("button.accept", "accept", s.question.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	return s.ask("access.terms", vars{"Operators": len(s.Developers.Admins) > 0}, [][]Button{{yes}})
}

// askContact shows a key of the keyboard that shares the person's own contact. A Telegram message with such a keyboard can
// have no inline buttons.
func (s *replyTx) askContact() error {
	v := vars{}
	if err := s.reason(v); err != nil {
		return err
	}
	label, err := s.words.text("access.contact_key", nil)
	if err != nil {
		return err
	}
	// An empty question has no card and no buttons to close. The keyboard is what closes when this state ends.
	s.question = question{}
	return s.openKeyboard("access.ask_contact", v, "access.contact_closed", Keyboard{Contact: plain(label)})
}

// askWallet leads to /wallet new and back. The buttons for both outlive this conversation, because /wallet new ends it. The
// question is not closed with the conversation for the same reason (question.Asked stays empty). Only Cancel ends with it.
func (s *replyTx) askWallet() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	// With Asked empty, closeQuestion leaves this message and its buttons alone.
	s.question.Asked = ""
	rows, err := s.menu("button.connect_wallet", "/wallet new")
	if err != nil {
		return err
	}
	// Cancel works only while the question is open; the other two buttons work for menuLife.
	done, err := s.catalogueButton("button.connected", "goon:"+string(wallet.ByWallet), s.question.Ask, s.now.Add(menuLife))
	if err != nil {
		return err
	}
	stop, err := s.catalogueButton("button.cancel", "stop", s.question.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	return s.show(s.question.Ask, "access.ask_wallet", nil, append(rows, []Button{done}, []Button{stop})...)
}

// dropAccess is /cancel: the conversation ends. The next /api offers what was answered, and completed verifications stay.
func (s *replyTx) dropAccess() error {
	if err := s.Developers.Leave(s.tx, s.user.ID, dataOf[access](s).Request); err != nil {
		return err
	}
	dev, err := s.tx.Developer(s.user.ID)
	if err != nil {
		return err
	}
	return s.reply("access.cancelled", vars{"Proven": len(dev.Verified) > 0, "App": keptApp(dev, dataOf[access](s).Request)})
}

// keptApp returns the app of a request that the next /api can go on with, or "": beside a request that waits for operators, none is
// kept (handlers.Developers.Note).
func keptApp(dev wallet.Developer, wanted wallet.AccessRequest) string {
	if dev.Request.Waits() && dev.Request.App != wanted.App {
		return ""
	}
	return wanted.App
}

// leaveAccess runs when the person starts something outside /api: a command, a button, or a payment that is written or linked. It
// says so, and keeps the answers for the next /api unless another request waits for operators.
func (s *replyTx) leaveAccess() error {
	action, object, _ := strings.Cut(s.inbound.button.Action, ":")
	command := s.inbound.line.command
	if action == runAction {
		command = s.registry.asMeant(read(object)).command
	}
	if _, own := apiCallbacks()[action]; own || command == apiFlow {
		return nil
	}
	dev, err := s.tx.Developer(s.user.ID)
	if err != nil {
		return err
	}
	// A request that goOn has saved goes on where it was.
	wanted := dataOf[access](s).Request
	if dev.Request == nil || dev.Request.Abandoned || dev.Request.App != wanted.App {
		if err := s.Developers.Leave(s.tx, s.user.ID, wanted); err != nil {
			return err
		}
	}
	return s.reply("access.left", vars{"App": keptApp(dev, wanted)})
}

// pauseAccess runs when nobody answered in time. Once app, purpose and terms are known, goOn has saved the request.
func (s *replyTx) pauseAccess() error { return s.reply("access.silent", nil) }

// receiveApp takes the typed name of an app. NameApp refuses a name that is invalid (INVALID_REQUEST) or that people could
// confuse with another app's (CONFLICT).
func (c *Chat) receiveApp(_ context.Context, h Inbound) (Action, error) {
	return func(s *replyTx) error {
		name, err := s.Developers.NameApp(s.tx, s.user.ID, h.Text)
		if err != nil && !labelled(err) {
			return err
		}
		return s.receivedPart(&dataOf[access](s).Request.App, name, appUnknown, err)
	}, nil
}

// receivePurpose takes the typed purpose of an app.
func (c *Chat) receivePurpose(_ context.Context, h Inbound) (Action, error) {
	return func(s *replyTx) error {
		purpose, err := wallet.ParsePurpose(h.Text)
		return s.receivedPart(&dataOf[access](s).Request.Purpose, purpose, purposeUnknown, err)
	}, nil
}

// receivedPart stores an answer in part and asks the next question. If err is set, it stores nothing and asks the same question
// again by its trigger, with what was wrong and a Cancel button.
func (s *replyTx) receivedPart(part *string, value string, again Trigger, err error) error {
	if err != nil {
		s.refusal = err
		return s.transition(apiFlow, again)
	}
	*part = value
	return s.goOn()
}

// notThat explains what is wrong with an answer. The question stays open and gets its full time again.
func (s *replyTx) notThat(err error) error {
	v := vars{}
	s.refusal = err
	if err := s.reason(v); err != nil {
		return err
	}
	// The deadline only moves later: the question for a mailed code already has more time than AnswerTimeout.
	if until := s.now.Add(AnswerTimeout); until.After(s.conv.ExpiresAt) {
		s.conv.ExpiresAt = until
	}
	s.moved = true
	return s.reply("access.not_that", v)
}

// tapApp chooses one of the person's apps. id is its wallet.AppID, as askApp put it into the button.
func (c *Chat) tapApp(_ context.Context, h Inbound, id string) (Action, error) {
	return h.tapAccess(namingApp, func(s *replyTx) error {
		app, err := s.tx.App(wallet.AppID(id))
		if err != nil {
			return err
		}
		dataOf[access](s).Request.App = app.Name
		return s.goOn()
	}), nil
}

// tapDraft continues the request that the person stopped earlier.
func (c *Chat) tapDraft(_ context.Context, h Inbound, _ string) (Action, error) {
	return h.tapAccess(namingApp, func(s *replyTx) error {
		dev, err := s.tx.Developer(s.user.ID)
		if err != nil {
			return err
		}
		// The request was sent or completed after this button was drawn: ask for the app's name instead.
		if dev.Request == nil || !dev.Request.Abandoned {
			return s.transition(apiFlow, appUnknown)
		}
		dataOf[access](s).Request = *dev.Request
		return s.goOn()
	}), nil
}

// onNewest returns next if the button belongs to the newest question of /api, and a toast otherwise. The button may be tapped
// again.
func (h Inbound) onNewest(at State, next Action) Action {
	if !h.newest(apiFlow, at) {
		return toast("toast.old")
	}
	return next
}

// tapAccess is onNewest for a button that answers the question: it can be used once.
func (h Inbound) tapAccess(at State, next Action) Action {
	return h.onNewest(at, func(s *replyTx) error {
		if err := s.use(); err != nil {
			return err
		}
		return next(s)
	})
}

// tapChoice is onNewest for a button that ends the choice of keys by an operation. If the operation is refused, the choice is
// shown again with the reason.
func (h Inbound) tapChoice(operation Action, then Trigger) Action {
	return h.onNewest(choosingKey, func(s *replyTx) error {
		// The operation runs first. Marking the buttons as used before it would leave the redrawn choice with dead buttons.
		err := operation(s)
		if labelled(err) {
			return s.chooseAgain(err)
		}
		if err != nil {
			return err
		}
		if err := s.use(); err != nil {
			return err
		}
		return s.transition(apiFlow, then)
	})
}

// tapAccept records that the person accepted the terms, and when. It is saved at once and survives /cancel.
func (c *Chat) tapAccept(_ context.Context, h Inbound, _ string) (Action, error) {
	return h.tapAccess(readingTerms, func(s *replyTx) error {
		if err := s.Developers.Accept(s.tx, s.user.ID); err != nil {
			return err
		}
		return s.goOn()
	}), nil
}

// receiveContact takes the shared contact. It proves that the account has a phone number; the number is neither read nor stored.
func (c *Chat) receiveContact(_ context.Context, h Inbound) (Action, error) {
	return func(s *replyTx) error {
		err := s.Developers.Share(s.tx, s.user, h.Contact.TelegramID)
		if labelled(err) {
			return s.notThat(err)
		}
		if err != nil {
			return err
		}
		if err := s.closeKeyboard("access.contact_taken", nil); err != nil {
			return err
		}
		return s.goOn()
	}, nil
}

// cancelRequest answers /cancel while the operators have a request of this person. It withdraws nothing: it shows the request
// with a button that does, because after a withdrawal the next request has to wait. It returns false if none waits.
func (s *replyTx) cancelRequest() (bool, error) {
	st, err := s.Developers.Standing(s.tx, s.user.ID)
	if err != nil || !st.Developer.Request.Waits() || !s.now.Before(st.Developer.Request.RequestedAt.Add(handlers.AskPause)) {
		return false, err
	}
	return true, s.sayWaiting(st)
}

// backToAPI adds a button that continues /api, if the person came here from its wallet step.
func (s *replyTx) backToAPI(rows [][]Button) ([][]Button, error) {
	dev, err := s.tx.Developer(s.user.ID)
	if err != nil || dev.Request == nil || dev.Request.Abandoned || dev.Request.Waits() || !slices.Contains(s.Developers.Steps, wallet.ByWallet) {
		return rows, err
	}
	b, err := s.catalogueButton("button.go_on_api", "goon", "access", s.now.Add(menuLife))
	return append(rows, []Button{b}), err
}
