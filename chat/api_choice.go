package chat

import (
	"context"
	"errors"
	"slices"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// askWhichKeys shows a toggle for each kind of key and scope. Toggling redraws the same message: the state choosingKey is entered
// again, and the question keeps its name (access.Choice) so that its card and its buttons stay the same.
func (s *replyTx) askWhichKeys() error {
	a := dataOf[access](s)
	if a.Choice == "" || a.Choice != s.question.Ask {
		if err := s.newQuestion(); err != nil {
			return err
		}
		a.Choice = s.question.Ask
	}
	if len(a.Request.Kinds) == 0 && len(a.Request.Scopes) == 0 { // the initial choice is read-only
		a.Request.Kinds, a.Request.Scopes = []wallet.KeyKind{wallet.APIKey}, []wallet.Scope{wallet.WalletRead}
	}
	dev, err := s.tx.Developer(s.user.ID)
	if err != nil {
		return err
	}
	// An earlier approval for this app and purpose may already allow the tier pro.
	pro := dev.Approval(a.Request.App, a.Request.Purpose).Tier == wallet.ProTier
	rows, err := s.toggles(a.Request, pro)
	if err != nil {
		return err
	}
	v := vars{"App": a.Request.App, "Purpose": a.Request.Purpose, "Pro": pro}
	if v["Scopes"], err = s.scopeLines(fitting(a.Request)); err != nil {
		return err
	}
	ends, err := s.choiceEnds(dev, v)
	if err != nil {
		return err
	}
	return s.ask("access.which", v, append(rows, ends...))
}

// choiceEnds returns the buttons that end the choice, one in each row: ask the operators, create the keys, change the
// purpose. It adds to v what the operators would have to approve.
func (s *replyTx) choiceEnds(dev wallet.Developer, v vars) (rows [][]Button, _ error) {
	wanted := switchedOn(dataOf[access](s).Request)
	row := func(label, action string) error {
		b, err := s.catalogueButton(label, action, s.question.Ask, s.conv.ExpiresAt)
		rows = append(rows, []Button{b})
		return err
	}
	withheld, unapproved, wantsPro := s.Developers.Withheld(dev, wanted), s.Developers.Unapproved(dev, wanted), s.Developers.NeedsPro(dev, wanted)
	v["Unapproved"], v["NeedsPro"], v["Again"] = unapproved, wantsPro, ""
	var err error
	if v["Withheld"], err = s.names(withheld); err != nil {
		return nil, err
	}
	// Without operators nobody could approve anything, so there is no button that asks them.
	if len(s.Developers.Admins) > 0 && (unapproved || len(withheld) > 0 || wantsPro) {
		again, err := s.Developers.NextRequestAt(s.tx, s.user.ID)
		if err == nil && again.IsZero() {
			err = row("button.ask_operator", "ask")
		} else if err == nil {
			v["Again"] = s.words.moment(again)
		}
		if err != nil {
			return nil, err
		}
	}
	// Keys can be created now, though perhaps without the scopes or the tier that need approval.
	if !unapproved {
		label := "button.make"
		if len(withheld) > 0 || wantsPro {
			label = "button.make_without"
		}
		if err := row(label, "make"); err != nil {
			return nil, err
		}
	}
	return rows, row("button.new_purpose", "newpurpose")
}

// toggles returns the buttons of the choice. Each one sets its item on or off instead of inverting it, so a repeated tap
// changes nothing, and its meaning does not depend on taps in between.
func (s *replyTx) toggles(r wallet.AccessRequest, pro bool) ([][]Button, error) {
	// The nonce is derived from the question and the action: a toggle that is drawn again in the same position replaces its row
	// in the store, so taps do not add rows without end.
	toggle := func(label html, object string, on bool) (Button, error) {
		box, turn := html("☐ "), "on:"
		if on {
			box, turn = "☑ ", "off:"
		}
		action := "turn:" + turn + object
		return s.buttonOf(nonceOf(s.question.Ask, action), box+label, action, s.question.Ask, s.conv.ExpiresAt)
	}
	// Kinds of key share the first row, and scopes follow two in a row.
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
		label, err := s.words.text(scopeKey("scope_name", scope), nil)
		if err != nil {
			return nil, err
		}
		if !pro && slices.Contains(wallet.ProOnly(), scope) {
			if label, err = s.words.text("button.pro_only", vars{"Scope": label}); err != nil {
				return nil, err
			}
		}
		b, err := toggle(label, "scope:"+string(scope), slices.Contains(r.Scopes, scope))
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
	// The switch for the tier pro makes sense only if operators can approve it.
	if pro || len(s.Developers.Admins) == 0 {
		return rows, nil
	}
	label, err := s.words.text("button.tier_pro", nil)
	if err != nil {
		return nil, err
	}
	b, err := toggle(label, "tier:pro", r.Pro)
	return append(rows, []Button{b}), err
}

// fitting returns the scopes that the chosen kinds of key can have, in the order of wallet.Scopes, each once.
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

// kindNames is the catalogue key for each kind of key.
func kindNames() map[wallet.KeyKind]string {
	return map[wallet.KeyKind]string{wallet.APIKey: "keys.kind_api", wallet.BotKey: "keys.kind_bot"}
}

// scopeLines explains scopes to a developer, one line each: the plain name, the scope's own, and what it allows.
func (s *replyTx) scopeLines(scopes []wallet.Scope) (html, error) {
	var lines []string
	for _, scope := range scopes {
		about, err := s.words.text(scopeKey("scope", scope), nil)
		if err != nil {
			return "", err
		}
		line, err := s.scopeText("scope.line", scope, vars{"About": about})
		if err != nil {
			return "", err
		}
		lines = append(lines, "• "+string(line))
	}
	return html(strings.Join(lines, "\n")), nil
}

// names lists scopes on one line, each by its plain name and its own.
func (s *replyTx) names(scopes []wallet.Scope) (html, error) {
	var out []string
	for _, scope := range scopes {
		text, err := s.scopeText("scope.named", scope, vars{})
		if err != nil {
			return "", err
		}
		out = append(out, string(text))
	}
	return html(strings.Join(out, ", ")), nil
}

// scopeText is a text about one scope: v gets its plain name and its own.
func (s *replyTx) scopeText(key string, scope wallet.Scope, v vars) (_ html, err error) {
	v["Scope"] = string(scope)
	if v["Name"], err = s.words.text(scopeKey("scope_name", scope), nil); err != nil {
		return "", err
	}
	return s.words.text(key, v)
}

// tapTurn sets a kind of key, a scope or the tier. object is "on:" or "off:", the sort of item, and its name, such as
// "on:scope:wallet:read". It comes from the stored button, so it is one that toggles has made.
func (c *Chat) tapTurn(_ context.Context, h Inbound, object string) (Action, error) {
	return h.onNewest(choosingKey, func(s *replyTx) error {
		// Cut twice only: names of scopes contain a colon themselves.
		turn, rest, _ := strings.Cut(object, ":")
		what, name, _ := strings.Cut(rest, ":")
		r := &dataOf[access](s).Request
		// Without operators nobody can grant the pro tier, so a scope that needs it would never work.
		if turn == "on" && slices.Contains(wallet.ProOnly(), wallet.Scope(name)) && len(s.Developers.Admins) == 0 {
			if pro, err := s.isPro(*r); err != nil || !pro {
				return errors.Join(err, s.chooseAgain(handlers.NeedsPro(s.user.TelegramID)))
			}
		}
		switch what {
		case "kind":
			r.Kinds = turned(r.Kinds, wallet.KeyKind(name), turn == "on")
		case "tier":
			r.Pro = turn == "on"
		default:
			r.Scopes = turned(r.Scopes, wallet.Scope(name), turn == "on")
		}
		return s.transition(apiFlow, verified)
	}), nil
}

// switchedOn returns the request with only the scopes that fit its kinds of key. The conversation itself keeps the other
// scopes, so that they are back when the kind is turned on again.
func switchedOn(r wallet.AccessRequest) wallet.AccessRequest {
	fit := fitting(r)
	r.Scopes = slices.DeleteFunc(slices.Clone(r.Scopes), func(scope wallet.Scope) bool { return !slices.Contains(fit, scope) })
	return r
}

// turned returns a copy of the list with or without the item.
func turned[T comparable](list []T, thing T, in bool) []T {
	out := slices.DeleteFunc(slices.Clone(list), func(t T) bool { return t == thing })
	if in {
		out = append(out, thing)
	}
	return out
}

// tapNewPurpose asks for another purpose of the app. Approvals are bound to the purpose, so the choice of keys starts again
// with the approvals of the new one.
func (c *Chat) tapNewPurpose(_ context.Context, h Inbound, _ string) (Action, error) {
	return h.tapAccess(choosingKey, func(s *replyTx) error { return s.transition(apiFlow, purposeUnknown) }), nil
}

// tapMake creates the chosen keys. Those scopes that need an approval and have none are left out, as the button says. The
// secrets exist only in replyTx.found, until showKeys puts them into the reply.
func (c *Chat) tapMake(_ context.Context, h Inbound, _ string) (Action, error) {
	return h.tapChoice(func(s *replyTx) error {
		made, err := s.Developers.Make(s.tx, s.user.ID, switchedOn(dataOf[access](s).Request))
		s.found = newKeys{Made: made}
		return err
	}, keyMade), nil
}

// isPro reports whether keys for this request would have the tier pro.
func (s *replyTx) isPro(r wallet.AccessRequest) (bool, error) {
	dev, err := s.tx.Developer(s.user.ID)
	return dev.Approval(r.App, r.Purpose).Tier == wallet.ProTier, err
}

// chooseAgain explains what is wrong with the choice, in a toast and in the redrawn message. err must be a refusal. Its
// reason is used if it has one, since the headline alone is less exact.
func (s *replyTx) chooseAgain(err error) error {
	headline, reason, sayErr := s.words.refusal(err)
	if sayErr != nil {
		return sayErr
	}
	if reason == "" {
		reason = headline
	}
	if err := s.toast("toast.refused", vars{"Headline": reason}); err != nil {
		return err
	}
	s.refusal = err
	return s.transition(apiFlow, verified)
}
