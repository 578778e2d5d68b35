package chat

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// consentConversation asks a person whether an app may have access. It begins with the app's link, opened or pasted as text.
func consentConversation() conversation {
	return conversation{
		name: "consent",
		callbacks: map[string]Callback{
			"allow":  (*Chat).tapAllow,
			"refuse": (*Chat).tapRefuse,
			"switch": (*Chat).tapSwitch,
		},
		intercept: (*Chat).receiveAppLink,
		links:     map[string]func(string) Action{appPrefix: func(id string) Action { return askConsent(wallet.AppID(id), false) }},
	}
}

// appsCommand is /apps: the connected apps, with buttons to change or revoke their access.
func appsCommand() conversation {
	return conversation{
		name: "apps",
		commands: []command{{name: "apps", menu: "menu.apps", usage: "usage.apps", bare: true, looks: true, run: (*Chat).apps,
			aliases: map[string]string{"app": "", "permissions": "", "access": "", "connections": ""}}},
		callbacks: map[string]Callback{
			"takeback":     (*Chat).tapTakeBack,
			"changeaccess": (*Chat).tapChangeAccess,
		},
		events: map[wallet.EventName]notice{wallet.AppEventsChosen: {priority: alerts, waits: true, notify: withData((*replyTx).notifyAppEvents)}},
	}
}

// receiveAppLink takes an app's link that was pasted as text.
func (c *Chat) receiveAppLink(_ context.Context, h Inbound) (Action, error) {
	id, ok := c.appLink(h.Text)
	if !ok {
		return nil, nil
	}
	return c.begin(askConsent(id, false), nil)
}

// appPrefix is the prefix of deep link payloads that ask for consent. Ids of apps (wallet.AppID) begin with it.
const appPrefix = "app_"

// consentLife is how long a question for consent can be answered. It can be long, since nothing else waits for the answer.
const consentLife = 24 * time.Hour

// appLink returns the app that a pasted consent link of this bot is for. ok is false for other text.
func (c *Chat) appLink(text string) (wallet.AppID, bool) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "https" || u.Host != "t.me" || c.BotName() == "" || !strings.EqualFold(u.Path, "/"+c.BotName()) {
		return "", false
	}
	id := u.Query().Get("start")
	return wallet.AppID(id), strings.HasPrefix(id, appPrefix)
}

// consentCard is the card of an app's newest question for consent. The answer and a later revocation replace it.
func consentCard(id wallet.AppID) string { return "consent:" + string(id) }

// consent is what a question for consent shows: the requested scopes, and which of them are switched on. It is encoded in the
// question's buttons, so a tap means what its message showed even if the app has changed its request since.
type consent struct {
	App    wallet.AppID
	Nonce  string // random for each question: the nonces of its buttons are derived from it
	Shown  []wallet.Scope
	Chosen []wallet.Scope
}

// object encodes a consent as the object of a button's action.
func (c consent) object() string {
	return strings.Join([]string{string(c.App), c.Nonce, joinScopes(c.Shown), joinScopes(c.Chosen)}, "|")
}

// consentOf decodes the object of a button's action. It returns false for a format of another version of purser.
func consentOf(object string) (consent, bool) {
	parts := strings.Split(object, "|")
	if len(parts) != 4 {
		return consent{}, false
	}
	return consent{wallet.AppID(parts[0]), parts[1], splitScopes(parts[2]), splitScopes(parts[3])}, true
}

// joinScopes returns the scopes as one text, separated by commas. No scope contains a comma. splitScopes is its reverse.
func joinScopes(scopes []wallet.Scope) string {
	var out []string
	for _, scope := range scopes {
		out = append(out, string(scope))
	}
	return strings.Join(out, ",")
}

// splitScopes returns the scopes of a text that joinScopes made. The empty text has none.
func splitScopes(list string) []wallet.Scope {
	var out []wallet.Scope
	for _, scope := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		out = append(out, wallet.Scope(scope))
	}
	return out
}

// askConsent shows which app asks for which scopes, before anything is granted. If the person has granted all of them
// already, it only says so, unless again is true.
func askConsent(id wallet.AppID, again bool) Action {
	return func(s *replyTx) error {
		asked, err := s.Apps.ConsentFor(s.tx, s.user.ID, id)
		if labelled(err) {
			return s.reply("consent.unknown", nil)
		}
		if err != nil {
			return err
		}
		if asked.AlreadyGranted() && !again {
			v, err := s.aboutApp(asked)
			if err != nil {
				return err
			}
			return s.reply("consent.given", v)
		}
		// A question that is still open moves to the bottom of the chat, so that there is only one.
		if err := s.moveCard(consentCard(id)); err != nil {
			return err
		}
		nonce, err := s.nonce()
		if err != nil {
			return err
		}
		chosen := asked.App.Scopes
		if len(asked.Granted) > 0 { // scopes that the person turned off before stay off
			chosen = slices.DeleteFunc(slices.Clone(chosen), func(scope wallet.Scope) bool { return !slices.Contains(asked.Granted, scope) })
		}
		return s.showConsent(asked, consent{id, nonce, asked.App.Scopes, chosen})
	}
}

// showConsent draws the question: one switch for each scope, then Allow and Refuse. Each switch carries the choice that a tap
// leads to.
func (s *replyTx) showConsent(asked handlers.ConsentRequest, c consent) error {
	v, err := s.aboutApp(asked)
	if err != nil {
		return err
	}
	card, until := consentCard(c.App), s.now.Add(consentLife)
	button := func(label html, action string) (Button, error) {
		return s.buttonOf(nonceOf(c.Nonce, action), label, action, card, until)
	}
	rows, err := s.consentSwitches(c, button)
	if err != nil {
		return err
	}
	// Allow carries the choice that this message shows.
	var answers []Button
	for _, answer := range [][2]string{{"button.allow", "allow:" + c.object()}, {"button.refuse", "refuse:" + string(c.App)}} {
		label, err := s.words.text(answer[0], nil)
		if err != nil {
			return err
		}
		b, err := button(label, answer[1])
		if err != nil {
			return err
		}
		answers = append(answers, b)
	}
	text, err := s.words.text("consent.ask", v)
	if err != nil {
		return err
	}
	if err := s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: append(rows, answers), NewMessage: s.asNew}, card); err != nil {
		return err
	}
	// /cancel means the same as Don't allow.
	v["Before"] = len(asked.Granted) > 0
	closed, err := s.words.text("consent.refused", v)
	if err != nil {
		return err
	}
	return s.openAside(aside{Card: card, Asked: text, Closed: closed, Until: until})
}

// consentSwitches returns the switches of a question, one in each row. button makes a button of that question.
func (s *replyTx) consentSwitches(c consent, button func(label html, action string) (Button, error)) ([][]Button, error) {
	var rows [][]Button
	// Each switch carries the complete choice after its tap, so no state has to be stored between taps.
	for _, scope := range c.Shown {
		text, err := s.words.text(scopeKey("scope_switch", scope), nil)
		if err != nil {
			return nil, err
		}
		on, next := slices.Contains(c.Chosen, scope), c
		box := html("☐ ")
		if on {
			box = "☑ "
		}
		next.Chosen = nil
		for _, other := range c.Shown { // in the order shown, so that equal choices give equal buttons
			if slices.Contains(c.Chosen, other) != (other == scope) {
				next.Chosen = append(next.Chosen, other)
			}
		}
		b, err := button(box+text, "switch:"+next.object())
		if err != nil {
			return nil, err
		}
		rows = append(rows, []Button{b})
	}
	return rows, nil
}

// aboutApp returns what a person is shown about an app. The app's name and purpose, and the developer's Telegram name, are
// foreign text. The developer's name is left out if it resembles one of ours (Official). It never stands without their
// numeric id, which nobody can choose.
func (s *replyTx) aboutApp(asked handlers.ConsentRequest) (vars, error) {
	scopes, err := s.scopesToPerson(asked.App.Scopes)
	name, username := cut(echo(asked.Owner.Name()), 64), asked.Owner.Username
	official := wallet.Official(name, s.BotName()) || wallet.Official(username, s.BotName())
	return vars{
		"App": asked.App.Name, "Purpose": asked.App.Purpose, "Operator": asked.App.Owner == "",
		"DeveloperID": asked.Owner.TelegramID, "Developer": name, "Username": username, "Official": official, "Scopes": scopes,
	}, err
}

// scopesToPerson explains scopes to the person who is to grant them, one line each.
func (s *replyTx) scopesToPerson(scopes []wallet.Scope) (html, error) {
	var lines []string
	for _, scope := range scopes {
		short, err := s.words.text(scopeKey("scope_switch", scope), nil)
		if err != nil {
			return "", err
		}
		long, err := s.words.text(scopeKey("scope_yours", scope), nil)
		if err != nil {
			return "", err
		}
		lines = append(lines, "• <b>"+string(short)+"</b>: "+string(long))
	}
	return html(strings.Join(lines, "\n")), nil
}

// tapSwitch turns one scope of a question on or off. If the app has changed its request since, the question is outdated and
// the tap is refused.
func (c *Chat) tapSwitch(_ context.Context, _ Inbound, object string) (Action, error) {
	choice, ok := consentOf(object)
	if !ok {
		return toast("toast.old"), nil
	}
	return func(s *replyTx) error {
		asked, err := s.Apps.ConsentFor(s.tx, s.user.ID, choice.App)
		if err != nil {
			return s.refuse(err)
		}
		if !slices.Equal(asked.App.Scopes, choice.Shown) {
			return s.refused(wallet.Refuse(wallet.Conflict, "app_access.asks_anew"))
		}
		return s.showConsent(asked, choice)
	}, nil
}

// tapAllow grants the app the scopes that are switched on. Apps.Allow also gets the scopes that the message showed, and refuses
// if the app asks for others by now: nobody grants what they have not read.
func (c *Chat) tapAllow(_ context.Context, h Inbound, object string) (Action, error) {
	choice, ok := consentOf(object)
	if !ok {
		return toast("toast.old"), nil
	}
	return h.answerConsent(choice.App, "toast.allowed", "consent.allowed", func(s *replyTx) error {
		return s.Apps.Allow(s.tx, s.user.ID, choice.App, choice.Shown, choice.Chosen)
	}), nil
}

// tapRefuse grants nothing. An earlier grant stays; /apps revokes it.
func (c *Chat) tapRefuse(_ context.Context, h Inbound, id string) (Action, error) {
	return h.answerConsent(wallet.AppID(id), "toast.not_allowed", "consent.refused", func(*replyTx) error { return nil }), nil
}

// answerConsent runs the operation of an answer, and replaces the question by the result.
func (h Inbound) answerConsent(id wallet.AppID, toasted, text string, operation Action) Action {
	return func(s *replyTx) error {
		_, err := s.Apps.ConsentFor(s.tx, s.user.ID, id) // refused if the app was deleted
		if err == nil {
			err = operation(s)
		}
		if ok, err := s.answerTap(err, toasted); !ok {
			return err
		}
		asked, err := s.Apps.ConsentFor(s.tx, s.user.ID, id) // the state after the operation
		if err != nil {
			return err
		}
		v, err := s.aboutApp(asked)
		if err != nil {
			return err
		}
		if v["Scopes"], err = s.scopesToPerson(asked.Granted); err != nil {
			return err
		}
		v["Before"] = len(asked.Granted) > 0
		return s.show(h.button.Subject, text, v)
	}
}

// appsCard is the card of the newest list of connected apps.
const appsCard = "apps"

// apps answers /apps.
func (c *Chat) apps(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error {
		if err := s.moveCard(appsCard); err != nil {
			return err
		}
		return s.listApps()
	}, nil
}

// listApps shows the connected apps. It edits the newest list unless moveCard has moved it.
func (s *replyTx) listApps() error {
	all, err := s.Apps.Of(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	const most = 20 // Telegram limits a message to 4096 characters
	var lines []string
	var rows [][]Button
	for _, granted := range all[:min(len(all), most)] {
		asked, err := s.Apps.ConsentFor(s.tx, s.user.ID, granted.App.ID)
		if err != nil {
			return err
		}
		v, err := s.aboutApp(asked)
		if err != nil {
			return err
		}
		if v["Scopes"], err = s.scopesToPerson(granted.Grant.Scopes); err != nil {
			return err
		}
		v["Since"] = s.words.day(granted.Grant.GrantedAt)
		v["Chose"], v["About"] = granted.Grant.Events != nil, html("")
		if chosen := granted.Grant.Events; chosen != nil && chosen.Enabled {
			if v["About"], err = s.subjectsOf(chosen.Events); err != nil {
				return err
			}
		}
		line, err := s.words.text("apps.line", v)
		if err != nil {
			return err
		}
		// The buttons of one app share a subject: using one ends both.
		var row []Button
		for _, what := range [][2]string{{"button.change_access", "changeaccess:"}, {"button.take_back", "takeback:"}} {
			label, err := s.words.text(what[0], vars{"App": cut(granted.App.Name, 40)})
			if err != nil {
				return err
			}
			b, err := s.button(label, what[1]+string(granted.App.ID), "apps:"+string(granted.App.ID), s.now.Add(menuLife))
			if err != nil {
				return err
			}
			row = append(row, b)
		}
		lines, rows = append(lines, string(line)), append(rows, row)
	}
	key := "apps.list"
	if len(all) == 0 {
		key = "apps.none"
	}
	text, err := s.words.text(key, vars{"Apps": html(strings.Join(lines, "\n\n")), "More": len(all) > most})
	if err != nil {
		return err
	}
	return s.enqueue(Reply{Kind: Message, Text: string(text), Buttons: rows, NewMessage: s.asNew}, appsCard)
}

// tapChangeAccess asks for consent again, with the switches as they are now.
func (c *Chat) tapChangeAccess(_ context.Context, _ Inbound, id string) (Action, error) {
	return askConsent(wallet.AppID(id), true), nil
}

// tapTakeBack revokes an app's access.
func (c *Chat) tapTakeBack(_ context.Context, _ Inbound, id string) (Action, error) {
	return func(s *replyTx) error {
		name, err := s.appName(wallet.AppID(id))
		if err != nil {
			return err
		}
		if ok, err := s.answerTap(s.Apps.Withdraw(s.tx, s.user.ID, wallet.AppID(id)), "toast.taken_back"); !ok {
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
		if err := s.listApps(); err != nil { // redraws the list without this app
			return err
		}
		return s.reply("apps.taken_back", vars{"App": name})
	}, nil
}
