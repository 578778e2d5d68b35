package chat

import (
	"context"
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// questionTo is the card of a question to the operators, in each one's chat.
func questionTo(id string) string { return "access:" + id }

// tapAsk puts a choice before the operators.
func (c *Chat) tapAsk(_ context.Context, h heard, _ string) (act, error) {
	if h.at(apiFlow) != choosingKey || h.topic.Ask != h.button.Subject {
		return toast("toast.old"), nil
	}
	return func(s *scene) error {
		dev, err := s.Developers.Ask(s.tx, s.user.ID, s.topic.Access.Request)
		if labelled(err) {
			return s.chooseAgain(err)
		}
		if err != nil {
			return err
		}
		if err := s.use(); err != nil {
			return err
		}
		if err := s.tellOperators(dev); err != nil {
			return err
		}
		return s.walk(apiFlow, operatorsAsked)
	}, nil
}

func (s *scene) sayAsked() error { return s.say("access.asked", nil) }

// tellOperators asks every operator, in their own chat.
func (s *scene) tellOperators(dev wallet.Developer) error {
	v, err := s.aboutDeveloper(s.user, dev)
	if err != nil {
		return err
	}
	for _, admin := range s.Developers.Admins {
		there := s.elsewhere(admin)
		var row [][]Button
		for _, verdict := range []handlers.Verdict{handlers.ApproveFree, handlers.ApprovePro, handlers.Deny} {
			b, err := there.ours(verdicts()[verdict], "decide:"+string(verdict)+":"+string(dev.User)+":"+dev.Request.ID,
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

// verdicts is the label of each.
func verdicts() map[handlers.Verdict]string {
	return map[handlers.Verdict]string{
		handlers.ApproveFree: "button.approve_free", handlers.ApprovePro: "button.approve_pro", handlers.Deny: "button.deny",
	}
}

// aboutDeveloper is what an operator is told of a developer and of what they want.
func (s *scene) aboutDeveloper(user wallet.User, dev wallet.Developer) (vars, error) {
	r := dev.Request
	var kinds, steps []string
	for _, kind := range r.Kinds {
		text, err := s.words.text(kindNames()[kind], nil)
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, string(text))
	}
	for _, v := range dev.Verified {
		text, err := s.words.text(stepNames()[v.By], nil)
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(text))
	}
	scopes, err := s.scopeLines(r.Scopes)
	return vars{
		"Name": cut(echo(user.Name()), 64), "Username": user.Username, "ID": user.TelegramID, "App": r.App, "Purpose": r.Purpose,
		"Kinds": html(strings.Join(kinds, ", ")), "Steps": html(strings.Join(steps, ", ")), "Email": dev.Email, "Scopes": scopes,
	}, err
}

// stepNames is what each step has shown of a developer.
func stepNames() map[wallet.Verification]string {
	return map[wallet.Verification]string{
		wallet.ByContact: "step.contact", wallet.ByEmail: "step.email", wallet.ByWallet: "step.wallet", wallet.ByApproval: "step.approval",
	}
}

// elsewhere is a scene in another person's private chat, in the same store transaction. It ends by its
// own end, and is no part of anybody's conversation.
func (s *scene) elsewhere(telegramID int64) *scene {
	return &scene{Chat: s.Chat, tx: s.tx, now: s.now, conv: store.Conversation{Chat: telegramID, User: telegramID}, priority: confirmations}
}

// tapDecide is an operator's word.
func (c *Chat) tapDecide(_ context.Context, h heard, object string) (act, error) {
	parts := strings.Split(object, ":")
	if len(parts) != 3 {
		return toast("toast.old"), nil
	}
	verdict, user, question := handlers.Verdict(parts[0]), wallet.UserID(parts[1]), parts[2]
	return func(s *scene) error {
		before, err := s.tx.Developer(user)
		if err != nil {
			return err
		}
		dev, err := s.Developers.Decide(s.tx, h.From.TelegramID, user, question, verdict)
		if labelled(err) {
			return s.refused(err)
		}
		if err != nil {
			return err
		}
		if err := s.use(); err != nil {
			return err
		}
		if err := s.toast("toast.decided", nil); err != nil {
			return err
		}
		developer, err := s.tx.User(user)
		if err != nil {
			return err
		}
		if err := s.redrawQuestion(developer, before, question, verdict); err != nil {
			return err
		}
		return s.tellDeveloper(developer, dev, verdict)
	}, nil
}

// redrawQuestion shows every operator that it is answered, and by whom.
func (s *scene) redrawQuestion(developer wallet.User, asked wallet.Developer, question string, verdict handlers.Verdict) error {
	v, err := s.aboutDeveloper(developer, asked)
	if err != nil {
		return err
	}
	v["By"] = cut(echo(s.user.Name()), 64)
	v["Denied"], v["Pro"] = verdict == handlers.Deny, verdict == handlers.ApprovePro
	for _, admin := range s.Developers.Admins {
		there := s.elsewhere(admin)
		if err := there.show(questionTo(question), "operator.answered", v); err != nil {
			return err
		}
		if err := there.end(); err != nil {
			return err
		}
	}
	return nil
}

// tellDeveloper tells an operator's word to whoever asked.
func (s *scene) tellDeveloper(developer wallet.User, dev wallet.Developer, verdict handlers.Verdict) error {
	if developer.Unreachable { // /api shows it when they are back
		return nil
	}
	there := s.elsewhere(developer.TelegramID)
	if verdict == handlers.Deny {
		if err := there.say("access.denied", vars{"Again": moment(s.now.Add(handlers.AskPause))}); err != nil {
			return err
		}
		return there.end()
	}
	b, err := there.ours("button.go_on", "goon", "access", s.now.Add(menuLife))
	if err != nil {
		return err
	}
	asked := slices.Clone(dev.Request.Scopes)
	if err := there.say("access.approved", vars{"App": dev.Request.App, "Scopes": names(asked), "Pro": dev.Tier == wallet.ProTier}, []Button{b}); err != nil {
		return err
	}
	return there.end()
}
