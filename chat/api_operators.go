package chat

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// questionTo is the name of the card that shows a request for approval in each operator's chat. id is wallet.Developer's
// Request.ID. Every later state of the request is shown on the same card.
func questionTo(id string) string { return "access:" + id }

// tapAsk stores the developer's choice of keys as a request and sends it to the operators. Both are one transaction, so no
// request waits without a question to the operators.
func (c *Chat) tapAsk(_ context.Context, h Inbound, _ string) (Action, error) {
	return h.tapChoice(func(s *replyTx) error {
		dev, err := s.Developers.RequestApproval(s.tx, s.user.ID, switchedOn(dataOf[access](s).Request))
		if err != nil {
			return err
		}
		return s.notifyOperators(dev)
	}, operatorsAsked), nil
}

// askedCard is the card of the developer's own message about a request, as long as the request waits.
func askedCard(id string) string { return "asked:" + id }

// sayAsked confirms that the request went to the operators, with a button to withdraw it.
func (s *replyTx) sayAsked() error {
	dev, err := s.tx.Developer(s.user.ID)
	if err != nil {
		return err
	}
	id := dev.Request.ID
	b, err := s.catalogueButton("button.withdraw", "withdraw:"+id, askedCard(id), s.now.Add(menuLife))
	if err != nil {
		return err
	}
	return s.show(askedCard(id), "access.asked", vars{"App": dev.Request.App}, []Button{b})
}

// tapWithdraw withdraws a request from the operators: their cards then say so, and have no buttons. question is the id of the
// request, so that the button of an old message cannot withdraw a newer one.
func (c *Chat) tapWithdraw(_ context.Context, _ Inbound, question string) (Action, error) {
	return func(s *replyTx) error {
		// answerTap replies with a toast if the request was answered meanwhile. Then there is nothing to withdraw.
		before, err := s.Developers.Withdraw(s.tx, s.user.ID, question)
		if ok, err := s.answerTap(err, "toast.withdrawn"); !ok {
			return err
		}
		again, err := s.Developers.NextRequestAt(s.tx, s.user.ID)
		if err != nil {
			return err
		}
		if err := s.redrawQuestion(s.user, before, question, vars{"Withdrawn": true}); err != nil {
			return err
		}
		return s.show(askedCard(question), "access.withdrawn", vars{"App": before.Request.App, "Again": s.words.moment(again)})
	}, nil
}

// notifyOperators sends the request to every operator, in their own chat and language, in this transaction.
func (s *replyTx) notifyOperators(dev wallet.Developer) error {
	for _, admin := range s.Developers.Admins {
		// Each operator has a chat of their own, and so a replyTx of their own.
		there, err := s.elsewhere(admin)
		if err != nil {
			return err
		}
		v, err := there.aboutDeveloper(s.user, dev)
		if err != nil {
			return err
		}
		// Each button names the verdict, the developer and the request, since the operator has no conversation that does.
		var row [][]Button
		for _, verdict := range []handlers.Verdict{handlers.ApproveFree, handlers.ApprovePro, handlers.Deny} {
			b, err := there.catalogueButton(verdicts()[verdict], "decide:"+string(verdict)+":"+string(dev.User)+":"+dev.Request.ID,
				questionTo(dev.Request.ID), s.now.Add(menuLife))
			if err != nil {
				return err
			}
			row = append(row, []Button{b})
		}
		if err := there.show(questionTo(dev.Request.ID), "operator.question", v, row...); err != nil {
			return err
		}
		if err := there.end(); err != nil {
			return err
		}
	}
	return nil
}

// verdicts maps each answer of an operator to the catalogue key of its button.
func verdicts() map[handlers.Verdict]string {
	return map[handlers.Verdict]string{
		handlers.ApproveFree: "button.approve_free", handlers.ApprovePro: "button.approve_pro", handlers.Deny: "button.deny",
	}
}

// aboutDeveloper returns what an operator is shown about a developer and their request.
func (s *replyTx) aboutDeveloper(user wallet.User, dev wallet.Developer) (vars, error) {
	r := dev.Request
	var wants, steps []string
	// Scopes are listed below the kind of key that they would belong to.
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		if !slices.Contains(r.Kinds, kind) {
			continue
		}
		text, err := s.words.text(kindNames()[kind], nil)
		if err != nil {
			return nil, err
		}
		lines, err := s.scopeLines(slices.DeleteFunc(wallet.ScopesOf(kind), func(scope wallet.Scope) bool { return !slices.Contains(r.Scopes, scope) }))
		if err != nil {
			return nil, err
		}
		wants = append(wants, "<b>"+string(text)+"</b>\n"+string(lines))
	}
	// The operator sees what the developer has proven so far, to judge how far to trust the rest.
	for _, v := range dev.Verified {
		text, err := s.words.text(stepNames()[v.By], nil)
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(text))
	}
	// Name, app and purpose were typed by the developer: they are shown as text that contains no links.
	return vars{
		"Name": cut(echo(user.Name()), 64), "Username": user.Username, "ID": user.TelegramID, "App": r.App, "Purpose": r.Purpose,
		"Wants": html(strings.Join(wants, "\n")), "Steps": html(strings.Join(steps, ", ")), "Email": dev.Email,
		"Pro": r.Pro, "IsPro": dev.Approval(r.App, r.Purpose).Tier == wallet.ProTier, "Webhooks": slices.ContainsFunc(r.Scopes, func(scope wallet.Scope) bool { return slices.Contains(wallet.ProOnly(), scope) }),
	}, nil
}

// stepNames is the catalogue key for each verification that a developer has completed.
func stepNames() map[wallet.Verification]string {
	return map[wallet.Verification]string{
		wallet.ByContact: "step.contact", wallet.ByEmail: "step.email", wallet.ByWallet: "step.wallet", wallet.ByApproval: "step.approval",
	}
}

// tapDecide takes an operator's answer. object is "verdict:developer:request", as notifyOperators wrote it. Developers.Decide
// checks that the person is an operator and that this request still waits, so the first answer counts and a second operator
// gets a toast.
func (c *Chat) tapDecide(_ context.Context, h Inbound, object string) (Action, error) {
	parts := strings.Split(object, ":")
	if len(parts) != 3 {
		return toast("toast.old"), nil
	}
	verdict, user, question := handlers.Verdict(parts[0]), wallet.UserID(parts[1]), parts[2]
	return func(s *replyTx) error {
		// The request as it was asked is needed for the texts below: Decide changes it.
		before, err := s.tx.Developer(user)
		if err != nil {
			return err
		}
		dev, err := s.Developers.Decide(s.tx, h.From.TelegramID, user, question, verdict)
		if ok, err := s.answerTap(err, "toast.decided"); !ok {
			return err
		}
		developer, err := s.tx.User(user)
		if err != nil {
			return err
		}
		// The decision is stored. Now every operator's card shows it, and the developer gets the answer.
		v := vars{"By": cut(echo(s.user.Name()), 64), "Denied": verdict == handlers.Deny, "AsPro": verdict == handlers.ApprovePro}
		if err := s.redrawQuestion(developer, before, question, v); err != nil {
			return err
		}
		return s.notifyDeveloper(developer, before, dev, verdict)
	}, nil
}

// redrawQuestion replaces the card of a request in every operator's chat by its outcome: answered, and by whom, or withdrawn.
// asked is the developer as they were when they asked. how sets the variables of the outcome.
func (s *replyTx) redrawQuestion(developer wallet.User, asked wallet.Developer, question string, how vars) error {
	for _, admin := range s.Developers.Admins {
		there, err := s.elsewhere(admin)
		if err != nil {
			return err
		}
		v, err := there.aboutDeveloper(developer, asked)
		if err != nil {
			return err
		}
		// Templates need every variable, so the outcomes that did not happen are set too.
		v["Withdrawn"], v["Denied"], v["AsPro"], v["By"] = false, false, false, ""
		maps.Copy(v, how)
		if err := there.show(questionTo(question), "operator.answered", v); err != nil {
			return err
		}
		if err := there.end(); err != nil {
			return err
		}
	}
	return nil
}

// notifyDeveloper sends an operator's answer to the developer's chat, in this transaction. before and dev are the developer
// before and after the decision.
func (s *replyTx) notifyDeveloper(developer wallet.User, before, dev wallet.Developer, verdict handlers.Verdict) error {
	if developer.Unreachable { // the developer has blocked the bot; /api shows the answer later
		return nil
	}
	there, err := s.elsewhere(developer.TelegramID)
	if err != nil {
		return err
	}
	asked := *before.Request
	if _, err := s.tx.Card(developer.TelegramID, askedCard(asked.ID)); err == nil { // remove the button that withdraws the request
		if err := there.show(askedCard(asked.ID), "access.answered", vars{"App": asked.App}); err != nil {
			return err
		}
	} else if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	// A refusal says when the developer may ask again.
	if verdict == handlers.Deny {
		if err := there.reply("access.denied", vars{"Again": s.words.moment(s.now.Add(handlers.AskPause))}); err != nil {
			return err
		}
		return there.end()
	}
	// The button leads back to /api, where the keys can be created now.
	b, err := there.catalogueButton("button.go_on", "goon", "access", s.now.Add(menuLife))
	if err != nil {
		return err
	}
	// An approval says what was granted, which may be less than requested, and its limits.
	yes := dev.Approval(asked.App, asked.Purpose)
	var limits []string
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		if s.Limits == nil || !slices.Contains(asked.Kinds, kind) {
			continue
		}
		line, err := there.words.text(map[wallet.KeyKind]string{wallet.APIKey: "access.hourly_api", wallet.BotKey: "access.hourly_bot"}[kind],
			vars{"Count": s.Limits.Hourly(kind, yes.Tier)})
		if err != nil {
			return err
		}
		limits = append(limits, string(line))
	}
	scopes, err := there.names(dev.Request.Scopes)
	if err != nil {
		return err
	}
	err = there.reply("access.approved", vars{"App": yes.App, "Tier": string(yes.Tier), "Scopes": scopes, "Limits": html(strings.Join(limits, ", ")),
		"NoWebhooks": yes.Tier != wallet.ProTier}, []Button{b})
	if err != nil {
		return err
	}
	return there.end()
}
