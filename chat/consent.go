package chat

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// appPrefix begins the payload of a link that asks for consent (wallet.AppID).
const appPrefix = "app_"

// consentLife is how long a question for consent waits: nothing hangs on it meanwhile.
const consentLife = 24 * time.Hour

// appLink is the app of a link of this bot's that asks for consent, pasted as text.
func (c *Chat) appLink(text string) (wallet.AppID, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "https" || u.Host != "t.me" || c.BotName() == "" || !strings.EqualFold(u.Path, "/"+c.BotName()) {
		return "", false
	}
	id := u.Query().Get("start")
	return wallet.AppID(id), strings.HasPrefix(id, appPrefix)
}

// consentCard is an app's newest question, its answer, and that it was taken back.
func consentCard(id wallet.AppID) string { return "consent:" + string(id) }

// askConsent shows who asks for what, before anything is allowed.
func askConsent(id wallet.AppID) act {
	return func(s *scene) error {
		asked, err := s.Apps.Ask(s.tx, s.user.ID, id)
		if labelled(err) {
			return s.say("consent.unknown", nil)
		}
		if err != nil {
			return err
		}
		v, err := s.aboutApp(asked)
		if err != nil {
			return err
		}
		if asked.Given {
			return s.say("consent.given", v)
		}
		card, until := consentCard(id), s.now.Add(consentLife)
		var scopes []string
		for _, scope := range asked.App.Scopes {
			scopes = append(scopes, string(scope))
		}
		// What was shown goes along, since the app may ask for something else when the tap comes.
		yes, err := s.ours("button.allow", "allow:"+string(id)+":"+strings.Join(scopes, ","), card, until)
		if err != nil {
			return err
		}
		no, err := s.ours("button.refuse", "refuse:"+string(id), card, until)
		if err != nil {
			return err
		}
		text, err := s.words.text("consent.ask", v)
		if err != nil {
			return err
		}
		if err := s.moveCard(card); err != nil {
			return err
		}
		return s.reply(Reply{Kind: Message, Text: string(text), Buttons: [][]Button{{yes, no}}, Anew: s.anew}, card)
	}
}

// aboutApp is what a person is told of an app. Name and purpose are its developer's words.
func (s *scene) aboutApp(asked handlers.Asked) (vars, error) {
	scopes, err := s.scopeLines(asked.App.Scopes)
	return vars{
		"App": asked.App.Name, "Purpose": asked.App.Purpose, "Operator": asked.App.Owner == "",
		"Developer": cut(echo(asked.Owner.Name()), 64), "Username": asked.Owner.Username, "Scopes": scopes,
	}, err
}

// tapAllow allows an app what was shown.
func (c *Chat) tapAllow(_ context.Context, h heard, object string) (act, error) {
	id, list, _ := strings.Cut(object, ":")
	var scopes []wallet.Scope
	for _, scope := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		scopes = append(scopes, wallet.Scope(scope))
	}
	return h.answerConsent(wallet.AppID(id), "toast.allowed", "consent.allowed", func(s *scene) error {
		return s.Apps.Allow(s.tx, s.user.ID, wallet.AppID(id), scopes)
	}), nil
}

// tapRefuse allows nothing.
func (c *Chat) tapRefuse(_ context.Context, h heard, id string) (act, error) {
	return h.answerConsent(wallet.AppID(id), "toast.not_allowed", "consent.refused", func(*scene) error { return nil }), nil
}

// answerConsent does what the answer means, and redraws the question.
func (h heard) answerConsent(id wallet.AppID, toasted, text string, deed act) act {
	return func(s *scene) error {
		asked, err := s.Apps.Ask(s.tx, s.user.ID, id)
		if err == nil {
			err = deed(s)
		}
		if labelled(err) {
			return s.refused(err)
		}
		if err != nil {
			return err
		}
		if err := s.use(); err != nil {
			return err
		}
		if err := s.toast(toasted, nil); err != nil {
			return err
		}
		v, err := s.aboutApp(asked)
		if err != nil {
			return err
		}
		return s.show(h.button.Subject, text, v)
	}
}

// appsCard is the newest list of what a person has allowed.
const appsCard = "apps"

// apps answers /apps: what the person has allowed.
func (c *Chat) apps(context.Context, heard) (act, error) {
	return func(s *scene) error {
		if err := s.moveCard(appsCard); err != nil {
			return err
		}
		return s.listApps()
	}, nil
}

// listApps shows what the person has allowed, in place of the newest list unless that is moved.
func (s *scene) listApps() error {
	all, err := s.Apps.Of(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	const most = 20 // a message is not endless
	var lines []string
	var rows [][]Button
	for _, granted := range all[:min(len(all), most)] {
		line, err := s.words.text("apps.line", vars{"App": granted.App.Name, "Scopes": names(granted.Grant.Scopes), "Since": day(granted.Grant.GrantedAt)})
		if err != nil {
			return err
		}
		label, err := s.words.text("button.take_back", vars{"App": cut(granted.App.Name, 40)})
		if err != nil {
			return err
		}
		b, err := s.button(label, "takeback:"+string(granted.App.ID), "apps:"+string(granted.App.ID), s.now.Add(menuLife))
		if err != nil {
			return err
		}
		lines, rows = append(lines, string(line)), append(rows, []Button{b})
	}
	key := "apps.list"
	if len(all) == 0 {
		key = "apps.none"
	}
	text, err := s.words.text(key, vars{"Apps": html(strings.Join(lines, "\n\n")), "More": len(all) > most})
	if err != nil {
		return err
	}
	return s.reply(Reply{Kind: Message, Text: string(text), Buttons: rows, Anew: s.anew}, appsCard)
}

// tapTakeBack ends a grant.
func (c *Chat) tapTakeBack(_ context.Context, _ heard, id string) (act, error) {
	return func(s *scene) error {
		name, err := s.appName(wallet.AppID(id))
		if err != nil {
			return err
		}
		if err := s.Apps.Withdraw(s.tx, s.user.ID, wallet.AppID(id)); labelled(err) {
			return s.refused(err)
		} else if err != nil {
			return err
		}
		if err := s.use(); err != nil {
			return err
		}
		if err := s.toast("toast.taken_back", nil); err != nil {
			return err
		}
		switch _, err := s.tx.Card(s.conv.Chat, consentCard(wallet.AppID(id))); {
		case err == nil:
			if err := s.show(consentCard(wallet.AppID(id)), "consent.taken_back", vars{"App": name}); err != nil {
				return err
			}
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		if err := s.listApps(); err != nil { // without it
			return err
		}
		return s.say("apps.taken_back", vars{"App": name})
	}, nil
}
