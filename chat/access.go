package chat

import (
	"context"
	"errors"
	stdhtml "html"
	"slices"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// access is what a conversation of /api remembers. No secret of a key is ever in it.
type access struct {
	Request  wallet.AccessRequest `json:"request"`
	Known    bool                 `json:"known,omitempty"`    // they have an app of this name: its purpose is not asked again
	Mail     *handlers.MailCode   `json:"mail,omitempty"`     // the code that is waited for
	Keyboard bool                 `json:"keyboard,omitempty"` // the key that shares a contact is shown
	Choice   string               `json:"choice,omitempty"`   // the question of which keys: toggles redraw it in place
	Shown    string               `json:"shown,omitempty"`    // the card with keys in it
	ShownAt  time.Time            `json:"shown_at,omitzero"`
}

// api answers /api: the way to a key, or the keys that there are.
func (c *Chat) api(context.Context, heard) (act, error) {
	return func(s *scene) error {
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

// resume goes on where an earlier conversation ended, or begins.
func (s *scene) resume(st handlers.Standing) error {
	was := st.Developer.Request
	if was.Waits() && s.now.Before(was.AskedAt.Add(handlers.AskPause)) {
		rows := [][]Button{}
		if !s.Developers.Unapproved(st.Developer) { // what needs no word can be had meanwhile
			b, err := s.ours("button.new_key", "newkey", "keys", s.now.Add(menuLife))
			if err != nil {
				return err
			}
			rows = append(rows, []Button{b})
		}
		return s.say("access.waiting", vars{"App": was.App, "Since": moment(was.AskedAt), "Again": moment(was.AskedAt.Add(handlers.AskPause))}, rows...)
	}
	s.topic = topic{}
	if was != nil {
		s.topic.Access.Request = *was
	}
	return s.goOn()
}

// tapGoOn resumes by a button, whatever came in between.
func (c *Chat) tapGoOn(context.Context, heard, string) (act, error) {
	return c.begin(func(s *scene) error {
		st, err := s.Developers.Standing(s.tx, s.user.ID)
		if err != nil {
			return err
		}
		return s.resume(st)
	}, nil)
}

// tapNewKey begins anew, for who has keys.
func (c *Chat) tapNewKey(context.Context, heard, string) (act, error) {
	return c.begin(func(s *scene) error {
		s.topic = topic{}
		return s.goOn()
	}, nil)
}

// goOn asks the first thing that is missing.
func (s *scene) goOn() error {
	st, err := s.Developers.Standing(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	a := &s.topic.Access
	if err := s.knowApp(a); err != nil {
		return err
	}
	switch {
	case a.Request.App == "":
		return s.walk(apiFlow, appUnknown)
	case a.Request.Purpose == "" && !a.Known:
		return s.walk(apiFlow, purposeUnknown)
	case st.Developer.AcceptedAt.IsZero():
		return s.walk(apiFlow, termsOpen)
	}
	if err := s.Developers.Note(s.tx, s.user.ID, a.Request); err != nil {
		return err
	}
	if len(st.Missing) == 0 {
		return s.walk(apiFlow, verified)
	}
	return s.walk(apiFlow, map[wallet.Verification]Trigger{
		wallet.ByContact: contactMissing, wallet.ByEmail: emailMissing, wallet.ByWallet: walletMissing,
	}[st.Missing[0]])
}

// knowApp finds the app of the name that was said among the person's own.
func (s *scene) knowApp(a *access) error {
	if a.Known = false; a.Request.App == "" {
		return nil
	}
	all, err := s.tx.AppsOf(s.user.ID)
	for _, app := range all {
		if app.Name == a.Request.App {
			a.Known, a.Request.Purpose = true, app.Purpose
		}
	}
	return err
}

// askApp says what this is about, and asks for the app's name.
func (s *scene) askApp() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	mine, err := s.tx.AppsOf(s.user.ID)
	if err != nil {
		return err
	}
	const most = 8 // the newest
	var rows [][]Button
	for _, app := range mine[max(0, len(mine)-most):] {
		b, err := s.button(html(escape(app.Name)), "app:"+string(app.ID), s.topic.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	return s.ask("access.ask_app", vars{"Any": len(mine) > 0, "Most": wallet.MaxAppName}, rows)
}

func (s *scene) askPurpose() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	return s.ask("access.ask_purpose", vars{"App": s.topic.Access.Request.App, "Most": wallet.MaxAppPurpose}, nil)
}

func (s *scene) showTerms() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	yes, err := s.ours("button.accept", "accept", s.topic.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	return s.ask("access.terms", vars{"Operators": len(s.Developers.Admins) > 0}, [][]Button{{yes}})
}

// askContact offers a key that shares the person's own contact. A message with such a key has no buttons.
func (s *scene) askContact() error {
	v := vars{}
	if err := s.reason(v); err != nil {
		return err
	}
	text, err := s.words.text("access.ask_contact", v)
	if err != nil {
		return err
	}
	label, err := s.words.text("access.contact_key", nil)
	if err != nil {
		return err
	}
	s.topic.Ask, s.topic.Asked, s.topic.Access.Keyboard = "", "", true
	return s.reply(Reply{Kind: Message, Text: string(text), Keyboard: &Keyboard{Contact: plain(label)}}, "")
}

// putKeyAway gives the ordinary keyboard back.
func (s *scene) putKeyAway(key string) error {
	s.topic.Access.Keyboard = false
	text, err := s.words.text(key, nil)
	if err != nil {
		return err
	}
	return s.reply(Reply{Kind: Message, Text: string(text), Keyboard: &Keyboard{Remove: true}}, "")
}

func (s *scene) askEmail() error {
	s.topic.Access.Mail = nil
	if err := s.newQuestion(); err != nil {
		return err
	}
	return s.ask("access.ask_email", vars{}, nil)
}

func (s *scene) askCode() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	sent := s.topic.Access.Mail
	s.conv.ExpiresAt = sent.Until
	again, err := s.ours("button.new_code", "newcode", s.topic.Ask, sent.Until)
	if err != nil {
		return err
	}
	other, err := s.ours("button.new_mail", "newmail", s.topic.Ask, sent.Until)
	if err != nil {
		return err
	}
	return s.ask("access.ask_code", vars{"Address": sent.Address}, [][]Button{{again, other}})
}

// askWallet leads to /wallet new, and back. Its buttons outlive the conversation, which /wallet new ends.
func (s *scene) askWallet() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	s.topic.Asked = ""
	rows, err := s.menu("button.connect_wallet", "/wallet new")
	if err != nil {
		return err
	}
	done, err := s.ours("button.connected", "goon", s.topic.Ask, s.now.Add(menuLife))
	if err != nil {
		return err
	}
	stop, err := s.ours("button.cancel", "stop", s.topic.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	return s.show(s.topic.Ask, "access.ask_wallet", nil, append(rows, []Button{done}, []Button{stop})...)
}

// askWhichKeys shows the toggles, in the same message as long as it is the same choice.
func (s *scene) askWhichKeys() error {
	a := &s.topic.Access
	if a.Mail = nil; a.Choice == "" || a.Choice != s.topic.Ask {
		if err := s.newQuestion(); err != nil {
			return err
		}
		a.Choice = s.topic.Ask
	}
	if len(a.Request.Kinds) == 0 && len(a.Request.Scopes) == 0 { // what can do no harm is proposed
		a.Request.Kinds, a.Request.Scopes = []wallet.KeyKind{wallet.APIKey}, []wallet.Scope{wallet.WalletRead}
	}
	dev, err := s.tx.Developer(s.user.ID)
	if err != nil {
		return err
	}
	rows, err := s.toggles(a.Request)
	if err != nil {
		return err
	}
	withheld, unapproved := s.Developers.Withheld(dev, a.Request.Scopes), s.Developers.Unapproved(dev)
	ask, err := s.ours("button.ask_operator", "ask", s.topic.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	label := "button.make"
	if len(withheld) > 0 {
		label = "button.make_without"
	}
	yes, err := s.ours(label, "make", s.topic.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	if unapproved || len(withheld) > 0 {
		rows = append(rows, []Button{ask})
	}
	if !unapproved {
		rows = append(rows, []Button{yes})
	}
	scopes, err := s.scopeLines(fitting(a.Request))
	if err != nil {
		return err
	}
	return s.ask("access.which", vars{"App": a.Request.App, "Scopes": scopes, "Withheld": names(withheld), "Unapproved": unapproved,
		"Pro": dev.Tier == wallet.ProTier}, rows)
}

// toggles are the buttons of a choice. Each says what it makes of its subject, so that a tap which comes
// twice changes nothing, and keeps its meaning while others are tapped.
func (s *scene) toggles(r wallet.AccessRequest) ([][]Button, error) {
	toggle := func(label html, object string, on bool) (Button, error) {
		box, turn := html("☐ "), "on:"
		if on {
			box, turn = "☑ ", "off:"
		}
		action := "turn:" + turn + object
		return s.buttonOf(nonceOf(s.topic.Ask, action), box+label, action, s.topic.Ask, s.conv.ExpiresAt)
	}
	var kinds []Button
	for _, kind := range []wallet.KeyKind{wallet.APIKey, wallet.BotKey} {
		label, err := s.words.text(kindNames()[kind], nil)
		if err != nil {
			return nil, err
		}
		b, err := toggle(label, "kind:"+string(kind), slices.Contains(r.Kinds, kind))
		if err != nil {
			return nil, err
		}
		kinds = append(kinds, b)
	}
	rows := [][]Button{kinds}
	var row []Button
	for _, scope := range fitting(r) {
		b, err := toggle(html(scope), "scope:"+string(scope), slices.Contains(r.Scopes, scope))
		if err != nil {
			return nil, err
		}
		if row = append(row, b); len(row) == 2 {
			rows, row = append(rows, row), nil
		}
	}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	return rows, nil
}

// fitting are the scopes that the chosen kinds of key can have.
func fitting(r wallet.AccessRequest) []wallet.Scope {
	var out []wallet.Scope
	for _, scope := range wallet.Scopes() {
		for _, kind := range r.Kinds {
			if slices.Contains(wallet.ScopesOf(kind), scope) && !slices.Contains(out, scope) {
				out = append(out, scope)
			}
		}
	}
	return out
}

// kindNames is what each kind of key is called.
func kindNames() map[wallet.KeyKind]string {
	return map[wallet.KeyKind]string{wallet.APIKey: "keys.kind_api", wallet.BotKey: "keys.kind_bot"}
}

// scopeWords is what each scope lets a program do, in plain words.
func scopeWords() map[wallet.Scope]string {
	return map[wallet.Scope]string{
		wallet.WalletRead: "scope.wallet_read",
		wallet.WalletSend: "scope.wallet_send",
		wallet.BotSend:    "scope.bot_send",
		wallet.BotExecute: "scope.bot_execute",
		wallet.BotUsers:   "scope.bot_users",
		wallet.Webhooks:   "scope.webhooks",

		wallet.BotMessages: "scope.bot_messages",
	}
}

// scopeLines is what scopes mean, a line each.
func (s *scene) scopeLines(scopes []wallet.Scope) (html, error) {
	var lines []string
	for _, scope := range scopes {
		text, err := s.words.text(scopeWords()[scope], nil)
		if err != nil {
			return "", err
		}
		lines = append(lines, "• "+string(code(string(scope)))+": "+string(text))
	}
	return html(strings.Join(lines, "\n")), nil
}

// names lists scopes in one line.
func names(scopes []wallet.Scope) html {
	var out []string
	for _, scope := range scopes {
		out = append(out, string(code(string(scope))))
	}
	return html(strings.Join(out, ", "))
}

// dropAccess is /cancel: what was said is forgotten, what was proven stays.
func (s *scene) dropAccess() error {
	if err := s.Developers.Forget(s.tx, s.user.ID); err != nil {
		return err
	}
	return s.say("access.cancelled", nil)
}

// leaveAccess is another command.
func (s *scene) leaveAccess() error {
	if s.heard.line.command == "" || s.heard.line.command == "api" { // a button, or the same once more
		return nil
	}
	return s.say("access.left", nil)
}

func (s *scene) pauseAccess() error { return s.say("access.silent", nil) }

// hearDeveloper takes words as the answer to a question of /api. Nil where none is asked.
func (c *Chat) hearDeveloper(ctx context.Context, h heard) (act, error) {
	switch h.at(apiFlow) {
	case idle:
		return nil, nil
	case namingApp:
		return func(s *scene) error {
			name, err := handlers.ParseAppName(h.Text)
			return s.heardPart(&s.topic.Access.Request.App, name, err, appUnknown)
		}, nil
	case sayingWhy:
		return func(s *scene) error {
			purpose, err := handlers.ParsePurpose(h.Text)
			return s.heardPart(&s.topic.Access.Request.Purpose, purpose, err, purposeUnknown)
		}, nil
	case mailing:
		return c.mailCode(ctx, h, h.Text)
	case coding:
		return func(s *scene) error { return s.tryCode(h.Text) }, nil
	case sharing:
		return say("access.use_key", nil), nil
	}
	return say("access.use_buttons", nil), nil
}

// heardPart takes one answer, or asks again.
func (s *scene) heardPart(part *string, value string, err error, again Trigger) error {
	if err != nil {
		s.weighed.refusal = err
		return s.walk(apiFlow, again)
	}
	*part = value
	return s.goOn()
}

// tapApp takes an app of theirs.
func (c *Chat) tapApp(_ context.Context, h heard, id string) (act, error) {
	return h.tapAccess(namingApp, func(s *scene) error {
		app, err := s.tx.App(wallet.AppID(id))
		if err != nil {
			return err
		}
		return s.heardPart(&s.topic.Access.Request.App, app.Name, nil, appUnknown)
	}), nil
}

// tapAccess is a button of /api's newest question.
func (h heard) tapAccess(at State, next act) act {
	if h.at(apiFlow) != at || h.topic.Ask != h.button.Subject {
		return toast("toast.old")
	}
	return func(s *scene) error {
		if err := s.use(); err != nil {
			return err
		}
		return next(s)
	}
}

func (c *Chat) tapAccept(_ context.Context, h heard, _ string) (act, error) {
	return h.tapAccess(readingTerms, func(s *scene) error {
		if err := s.Developers.Accept(s.tx, s.user.ID); err != nil {
			return err
		}
		return s.goOn()
	}), nil
}

// hearContact takes a contact that was asked for. Its number is neither read nor kept.
func (c *Chat) hearContact(h heard) act {
	if h.at(apiFlow) != sharing {
		return say("talk.contact", nil)
	}
	return func(s *scene) error {
		err := s.Developers.Share(s.tx, s.user, h.Contact.TelegramID)
		if labelled(err) {
			s.weighed.refusal = err
			return s.walk(apiFlow, contactMissing)
		}
		if err != nil {
			return err
		}
		if err := s.putKeyAway("access.contact_taken"); err != nil {
			return err
		}
		return s.goOn()
	}
}

// mailCode mails a code, before anything is written of it.
func (c *Chat) mailCode(ctx context.Context, h heard, address string) (act, error) {
	sent, err := c.Developers.MailCode(ctx, h.user.ID, address, func(code string) (subject, text string, err error) {
		words, err := c.words.text("mail.subject", nil)
		if err != nil {
			return "", "", err
		}
		body, err := c.words.text("mail.text", vars{"Code": code, "Bot": c.BotName()})
		return plain(words), stdhtml.UnescapeString(string(body)), err
	})
	if err != nil && !labelled(err) {
		return nil, err
	}
	return func(s *scene) error {
		if s.weighed.refusal = err; err != nil {
			if s.topic.Access.Mail != nil { // the code before may still be right
				return s.walk(apiFlow, codeMailed)
			}
			return s.walk(apiFlow, emailMissing)
		}
		s.topic.Access.Mail = &sent
		return s.walk(apiFlow, codeMailed)
	}, nil
}

// tryCode takes what was typed as the code.
func (s *scene) tryCode(typed string) error {
	sent, err := s.Developers.TryCode(s.tx, s.user.ID, *s.topic.Access.Mail, typed)
	switch s.topic.Access.Mail = &sent; {
	case wallet.CodeOf(err) == wallet.Conflict:
		s.weighed.refusal = err
		return s.walk(apiFlow, emailMissing)
	case labelled(err):
		s.weighed.refusal = err
		return s.walk(apiFlow, codeMailed)
	case err != nil:
		return err
	}
	return s.goOn()
}

func (c *Chat) tapNewCode(ctx context.Context, h heard, _ string) (act, error) {
	if h.at(apiFlow) != coding || h.topic.Ask != h.button.Subject {
		return toast("toast.old"), nil
	}
	next, err := c.mailCode(ctx, h, h.topic.Access.Mail.Address)
	if err != nil {
		return nil, err
	}
	return h.tapAccess(coding, next), nil
}

func (c *Chat) tapNewMail(_ context.Context, h heard, _ string) (act, error) {
	return h.tapAccess(coding, func(s *scene) error { return s.walk(apiFlow, emailMissing) }), nil
}

// tapTurn takes a kind of key or a scope in or out.
func (c *Chat) tapTurn(_ context.Context, h heard, object string) (act, error) {
	if h.at(apiFlow) != choosingKey || h.topic.Ask != h.button.Subject {
		return toast("toast.old"), nil
	}
	return func(s *scene) error {
		turn, rest, _ := strings.Cut(object, ":")
		what, name, _ := strings.Cut(rest, ":")
		r := &s.topic.Access.Request
		if what == "kind" {
			r.Kinds = turned(r.Kinds, wallet.KeyKind(name), turn == "on")
		} else {
			r.Scopes = turned(r.Scopes, wallet.Scope(name), turn == "on")
		}
		r.Scopes = slices.DeleteFunc(r.Scopes, func(scope wallet.Scope) bool { return !slices.Contains(fitting(*r), scope) })
		return s.walk(apiFlow, verified)
	}, nil
}

// turned is a list with or without a thing.
func turned[T comparable](list []T, thing T, in bool) []T {
	out := slices.DeleteFunc(slices.Clone(list), func(t T) bool { return t == thing })
	if in {
		out = append(out, thing)
	}
	return out
}

// tapMake makes the keys that were chosen.
func (c *Chat) tapMake(_ context.Context, h heard, _ string) (act, error) {
	if h.at(apiFlow) != choosingKey || h.topic.Ask != h.button.Subject {
		return toast("toast.old"), nil
	}
	return func(s *scene) error {
		made, err := s.Developers.Make(s.tx, s.user.ID, s.topic.Access.Request)
		if labelled(err) {
			return s.chooseAgain(err)
		}
		if err != nil {
			return err
		}
		if err := s.use(); err != nil {
			return err
		}
		s.made.Made = made
		return s.walk(apiFlow, keyMade)
	}, nil
}

// chooseAgain says what is wrong with a choice.
func (s *scene) chooseAgain(err error) error {
	headline, _, sayErr := s.words.refusal(err)
	if sayErr != nil {
		return sayErr
	}
	if err := s.toast("toast.refused", vars{"Headline": headline}); err != nil {
		return err
	}
	s.weighed.refusal = err
	return s.walk(apiFlow, verified)
}

// ours makes a button with a label of the catalogue.
func (s *scene) ours(label, action, subject string, until time.Time) (Button, error) {
	text, err := s.words.text(label, nil)
	if err != nil {
		return Button{}, err
	}
	return s.button(text, action, subject, until)
}

// moment is a time as people read it.
func moment(at time.Time) string { return at.UTC().Format("2 January 2006, 15:04 UTC") }

// appName is what an app is called; "" for none, and for one that is gone.
func (s *scene) appName(id wallet.AppID) (string, error) {
	if id == "" {
		return "", nil
	}
	app, err := s.tx.App(id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return app.Name, err
}
