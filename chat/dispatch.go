package chat

import (
	"context"
	"slices"
	"strings"
)

// Endpoints lists every handler with its route. A front calls it once at start and registers each Endpoint with its router.
// The routes are those that Receive returns in Inbound.Route. Each route occurs once (newRegistry has checked that).
func (c *Chat) Endpoints() []Endpoint {
	var all []Endpoint
	never := func(*Chat, Inbound) bool { return false }
	unstopped := func(*Chat, Inbound) bool { return true }
	// A frozen account is refused here and in play, for every endpoint that does not say otherwise.
	add := func(route Route, groups bool, whileFrozen func(*Chat, Inbound) bool, handler Handler) {
		all = append(all, Endpoint{route, groups, func(ctx context.Context, h Inbound) (Turn, error) {
			h.whileFrozen = whileFrozen(c, h)
			action, err := frozenOut(whileFrozen, handler)(c, ctx, h)
			return c.turn(h, action, err)
		}})
	}
	for _, row := range c.registry.commands {
		add(Route{ByCommand, row.name}, row.groups, func(_ *Chat, h Inbound) bool { return row.allowed(h.line) }, row.handle)
	}
	for _, conv := range c.registry.all {
		// The part of a button's action after the colon is the object that the callback acts on, such as a key's id.
		for action, callback := range conv.callbacks {
			whileFrozen := never
			if slices.Contains(conv.callbacksWhileFrozen, action) {
				whileFrozen = unstopped
			}
			if action == runAction { // it is as free as the command that it runs
				whileFrozen = (*Chat).runsWhileFrozen
			}
			add(Route{ByCallback, action}, true, whileFrozen, func(c *Chat, ctx context.Context, h Inbound) (Action, error) {
				_, object, _ := strings.Cut(h.button.Action, ":")
				return callback(c, ctx, h, object)
			})
		}
		// Each state of a flow may take an answer as text, as a contact and as a chosen person: one endpoint for each.
		for kind, handlers := range map[InputKind]map[State]Handler{ByText: conv.texts, ByContact: conv.contacts, ByPerson: conv.people} {
			for state, handler := range handlers {
				if kind == ByText {
					handler = afterInterceptors(handler)
				}
				add(Route{kind, answerName(conv.name, state)}, true, never, handler)
			}
		}
	}
	// Routes without a name take what nothing else is waiting for.
	// A secret is deleted from the chat of a frozen account too. Other text could be for an interceptor or begin an offer.
	secret := func(_ *Chat, h Inbound) bool { return h.Secret != NoSecret }
	add(Route{Kind: ByText}, true, secret, (*Chat).otherText)
	for kind, handler := range map[InputKind]Handler{ByCallback: (*Chat).otherButton,
		ByContact: (*Chat).otherContact, ByPerson: (*Chat).otherPerson, ByEdit: (*Chat).edited} {
		add(Route{Kind: kind}, true, unstopped, handler)
	}
	return all
}

// answerName returns the route name of the endpoint that takes answers in this state of the conversation.
func answerName(conversation string, state State) string { return conversation + "/" + string(state) }

// handle runs a command that was typed or started by a button. It first ends the question that is open, except for commands
// that change nothing (looks), that end it themselves (begins), or that run in a group, where no question is open.
func (row command) handle(c *Chat, ctx context.Context, h Inbound) (Action, error) {
	next, err := row.run(c, ctx, h)
	if row.bare {
		next = afterNote(h.line.args, "/"+row.name, next)
	}
	if !h.Private || row.looks || row.begins {
		return next, err
	}
	return c.begin(next, err)
}

// afterNote returns next behind a note that the words after a command were not understood. Without words, or without an
// action, it returns next itself.
func afterNote(words []string, command string, next Action) Action {
	if len(words) == 0 || next == nil {
		return next
	}
	return func(s *replyTx) error {
		if err := s.reply("talk.extra_words", vars{"Words": echo(strings.Join(words, " ")), "Command": command}); err != nil {
			return err
		}
		return next(s)
	}
}

// PrivateOnly answers an Input in a group for an Endpoint that works only in private chats.
func (c *Chat) PrivateOnly(h Inbound) (Turn, error) {
	return c.turn(h, (*replyTx).replyPrivateOnly, nil)
}

// route returns the route of an input. The order of the cases is a rule of security: a message with a secret goes
// nowhere else, and a forwarded or edited message is never a command or an answer. Which button was tapped and which
// question is open comes from the store, never from the client.
func (c *Chat) route(h Inbound) Route {
	other := c.forOtherBot(h)
	switch {
	case h.Secret != NoSecret:
		return Route{Kind: ByText}
	case h.Tap != nil:
		return c.routeTap(h)
	case h.line.command != "" && !h.Forwarded && !h.Edited:
		switch {
		case c.registry.knows(h.line.command) && !other:
			return Route{ByCommand, h.line.command}
		case h.Private:
			return Route{Kind: ByText}
		}
		return Route{}
	case !h.Private:
		return Route{} // ordinary talk in a group is not for purser
	case h.Forwarded:
		return Route{Kind: ByText}
	case h.Edited:
		return Route{Kind: ByEdit}
	}
	// Only answers are left: to the open question if it takes this kind, or to nothing.
	kind := ByText
	switch {
	case h.Contact != nil:
		kind = ByContact
	case h.Picked != nil:
		kind = ByPerson
	}
	if c.waiting(h, kind) != nil {
		return Route{kind, answerName(h.conv.Flow, State(h.conv.State))}
	}
	return Route{Kind: kind}
}

// forOtherBot reports whether a command names another bot ("/help@other"). It returns false as long as purser's own
// username is unknown, since the command may well be meant for purser.
func (c *Chat) forOtherBot(h Inbound) bool {
	me := c.BotName()
	return h.line.command != "" && h.line.bot != "" && me != "" && !strings.EqualFold(h.line.bot, me)
}

// waiting returns the handler of the open question for an answer of this kind, or nil if no question takes one.
func (c *Chat) waiting(h Inbound, kind InputKind) Handler {
	conv := c.registry.byName[h.conv.Flow]
	if conv == nil || h.timedOut {
		return nil
	}
	return map[InputKind]map[State]Handler{ByText: conv.texts, ByContact: conv.contacts, ByPerson: conv.people}[kind][State(h.conv.State)]
}

// routeTap returns the callback of a tapped button, by the stored row of its nonce. A button that is expired, used or
// somebody else's goes to otherButton.
func (c *Chat) routeTap(h Inbound) Route {
	action, _, _ := strings.Cut(h.button.Action, ":")
	if c.badButton(h) != "" || !h.button.UsedAt.IsZero() || c.registry.callbacks[action] == nil {
		return Route{Kind: ByCallback}
	}
	return Route{ByCallback, action}
}

// badButton returns the catalogue key of the toast for a button that is unknown, expired or bound to another person or
// chat. It returns "" for a valid button.
func (c *Chat) badButton(h Inbound) string {
	switch b := h.button; {
	case b.Nonce == "", !c.Now().Before(b.ExpiresAt):
		return "toast.old"
	case b.Chat != h.Chat || b.User != h.From.TelegramID:
		return "toast.not_yours"
	}
	return ""
}

// otherButton answers a tap of a button that no longer works. Telegram shows a spinner until a tap is answered, so every
// tap gets exactly one toast.
func (c *Chat) otherButton(_ context.Context, h Inbound) (Action, error) {
	if bad := c.badButton(h); bad != "" {
		return toast(bad), nil
	}
	if h.button.UsedAt.IsZero() { // made by another version of purser
		return toast("toast.old"), nil
	}
	return (*replyTx).tooLate, nil
}

// tooLate answers a tap of a button that was used before. A conversation may say what became of it (usedButton);
// otherwise the toast says that the button is used.
func (s *replyTx) tooLate() error {
	for _, conv := range s.registry.all {
		if conv.usedButton == nil {
			continue
		}
		if answered, err := conv.usedButton(s); answered || err != nil {
			return err
		}
	}
	return s.toast("toast.used", nil)
}

// otherContact answers a contact that no question asked for.
func (c *Chat) otherContact(context.Context, Inbound) (Action, error) {
	return reply("talk.contact", nil), nil
}

// otherPerson answers a choice from a list of people that is not open any more, and closes the list's keyboard.
func (c *Chat) otherPerson(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error { return s.closeKeyboard("talk.person_late", nil) }, nil
}

// edited answers an edited command, or an edited answer to the open question: edits have no effect. Other edits are
// ignored.
func (c *Chat) edited(_ context.Context, h Inbound) (Action, error) {
	if h.line.command == "" && c.waiting(h, ByText) == nil {
		return nil, nil
	}
	return reply("talk.edited", nil), nil
}

// otherText answers text that is neither a known command nor an answer.
func (c *Chat) otherText(ctx context.Context, h Inbound) (Action, error) {
	switch {
	case h.Secret != NoSecret:
		return (*replyTx).takeAwaySecret, nil
	case h.Forwarded:
		return reply("talk.forwarded", nil), nil
	case c.forOtherBot(h):
		return reply("talk.other_bot", vars{"Bot": echo(h.line.bot)}), nil
	case h.line.command != "":
		return c.unknown(h.line.command), nil
	}
	return afterInterceptors((*Chat).strayText)(c, ctx, h)
}

// afterInterceptors wraps next so that conversations can take plain text first. The first conversation whose intercept
// returns an action or an error wins.
func afterInterceptors(next Handler) Handler {
	return func(c *Chat, ctx context.Context, h Inbound) (Action, error) {
		for _, conv := range c.registry.all {
			if conv.intercept == nil {
				continue
			}
			if action, err := conv.intercept(c, ctx, h); action != nil || err != nil {
				return action, err
			}
		}
		return next(c, ctx, h)
	}
}

// strayText answers text that no question waits for. A conversation may make an offer from it. Otherwise the reply
// suggests the command that the person probably meant, by the first word of the text.
func (c *Chat) strayText(ctx context.Context, h Inbound) (Action, error) {
	if len(h.line.args) == 0 {
		if strings.TrimSpace(h.Text) == "/" {
			return reply("talk.stray", nil), nil
		}
		return reply("talk.text_only", nil), nil
	}
	for _, conv := range c.registry.all {
		if conv.offer == nil {
			continue
		}
		if action, err := conv.offer(c, ctx, h); action != nil || err != nil {
			return action, err
		}
	}
	word := strings.ToLower(h.line.args[0])
	// The name of a command of another wallet gets a button that runs ours.
	if to, ok := c.registry.aliases[word]; ok {
		return unhandled(suggest("/" + strings.Join(to, " "))), nil
	}
	// near leaves out the exact name, which is the best guess of all: "send" means /send.
	meant := near(word, c.registry.names())
	if len(meant) == 0 && c.registry.knows(word) {
		meant = []string{word}
	}
	if len(meant) > 0 {
		return unhandled(reply("talk.did_you_mean", vars{"Commands": slashes(meant)})), nil
	}
	return unhandled(reply("talk.stray", nil)), nil
}

// suggest proposes one command, with a button that runs it.
func suggest(command string) Action {
	return func(s *replyTx) error {
		b, err := s.button(html(escape(command)), "run:"+command, "menu", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		return s.reply("talk.did_you_mean", vars{"Commands": command}, []Button{b})
	}
}

// unknown answers a command that purser does not have. It names similar commands.
func (c *Chat) unknown(name string) Action {
	key, v := "talk.unknown", vars{"Command": "/" + echo(name)}
	if meant := near(name, c.registry.names()); len(meant) > 0 {
		key, v["Commands"] = "talk.unknown_near", slashes(meant)
	}
	return func(s *replyTx) error {
		s.failed = true
		return s.reply(key, v)
	}
}

// slashes lists commands with their slashes: "/send, /wallet".
func slashes(names []string) string { return "/" + strings.Join(names, ", /") }

// fromGroup is the payload of the button that leads from a group to the private chat. It means nothing else.
const fromGroup = "group"

// replyPrivateOnly says that something works only in the private chat, with a button that leads there.
func (s *replyTx) replyPrivateOnly() error {
	rows, err := s.privateChat()
	if err != nil {
		return err
	}
	return s.reply("talk.private_only", nil, rows...)
}

// privateChat returns a button that opens the private chat, or nil as long as the bot's username is unknown.
func (s *replyTx) privateChat() ([][]Button, error) {
	me := s.BotName()
	if me == "" {
		return nil, nil
	}
	label, err := s.words.text("button.private_chat", nil)
	return [][]Button{{{Text: plain(label), URL: "https://t.me/" + me + "?start=" + fromGroup}}}, err
}
