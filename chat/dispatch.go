package chat

import (
	"context"
	"strings"
)

// Endpoints lists every handler there is with its route, for a front to register with its router.
func (c *Chat) Endpoints() []Endpoint {
	var all []Endpoint
	add := func(route Route, groups bool, handler Handler) {
		all = append(all, Endpoint{route, groups, func(ctx context.Context, h Inbound) (Turn, error) {
			action, err := handler(c, ctx, h)
			return c.turn(h, action, err)
		}})
	}
	for _, row := range c.registry.commands {
		add(Route{ByCommand, row.name}, row.groups, row.handle)
	}
	for _, conv := range c.registry.all {
		for action, callback := range conv.callbacks {
			add(Route{ByCallback, action}, true, func(c *Chat, ctx context.Context, h Inbound) (Action, error) {
				_, object, _ := strings.Cut(h.button.Action, ":")
				return callback(c, ctx, h, object)
			})
		}
		for kind, handlers := range map[Kind]map[State]Handler{ByText: conv.texts, ByContact: conv.contacts, ByPerson: conv.people} {
			for state, handler := range handlers {
				if kind == ByText {
					handler = afterInterceptors(handler)
				}
				add(Route{kind, answerName(conv.name, state)}, true, handler)
			}
		}
	}
	for kind, handler := range map[Kind]Handler{ByText: (*Chat).otherText, ByCallback: (*Chat).otherButton,
		ByContact: (*Chat).otherContact, ByPerson: (*Chat).otherPerson, ByEdit: (*Chat).edited} {
		add(Route{Kind: kind}, true, handler)
	}
	return all
}

// answerName is the name of the endpoint that takes answers in a state of a conversation.
func answerName(conversation string, state State) string { return conversation + "/" + string(state) }

// handle runs a command for who typed it or tapped its button.
func (row command) handle(c *Chat, ctx context.Context, h Inbound) (Action, error) {
	if !h.Private || row.looks {
		return row.run(c, ctx, h)
	}
	return c.begin(row.run(c, ctx, h))
}

// PrivateOnly is the answer to what works in private chats alone.
func (c *Chat) PrivateOnly(h Inbound) (Turn, error) {
	return c.turn(h, (*replyTx).replyPrivateOnly, nil)
}

// route finds the endpoint of an input, in the order in which it matters. The store decides which button was tapped
// and which question waits, never the client.
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
		return Route{} // a group's own talk is none of ours
	case h.Forwarded:
		return Route{Kind: ByText}
	case h.Edited:
		return Route{Kind: ByEdit}
	}
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

// forOtherBot tells whether a command names another bot ("/help@other"). While our own name is unknown, none does.
func (c *Chat) forOtherBot(h Inbound) bool {
	me := c.BotName()
	return h.line.command != "" && h.line.bot != "" && me != "" && !strings.EqualFold(h.line.bot, me)
}

// waiting is the handler of the question that waits for an answer of a kind; nil for none.
func (c *Chat) waiting(h Inbound, kind Kind) Handler {
	conv := c.registry.byName[h.conv.Flow]
	if conv == nil || h.silent {
		return nil
	}
	return map[Kind]map[State]Handler{ByText: conv.texts, ByContact: conv.contacts, ByPerson: conv.people}[kind][State(h.conv.State)]
}

// routeTap finds the callback of a button by what the store knows of its nonce.
func (c *Chat) routeTap(h Inbound) Route {
	action, _, _ := strings.Cut(h.button.Action, ":")
	if c.badButton(h) != "" || !h.button.UsedAt.IsZero() || c.registry.callbacks[action] == nil {
		return Route{Kind: ByCallback}
	}
	return Route{ByCallback, action}
}

// badButton is what is said of a button that is unknown, expired or somebody else's; "" for a good one.
func (c *Chat) badButton(h Inbound) string {
	switch b := h.button; {
	case b.Nonce == "", !c.Now().Before(b.ExpiresAt):
		return "toast.old"
	case b.Chat != h.Chat || b.User != h.From.TelegramID:
		return "toast.not_yours"
	}
	return ""
}

// otherButton answers the tap of a button that does nothing any more. Every tap gets exactly one toast.
func (c *Chat) otherButton(_ context.Context, h Inbound) (Action, error) {
	if bad := c.badButton(h); bad != "" {
		return toast(bad), nil
	}
	if h.button.UsedAt.IsZero() { // a button of another version of purser
		return toast("toast.old"), nil
	}
	return (*replyTx).tooLate, nil
}

// tooLate answers a tap whose time is over.
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

// otherContact answers a contact that nobody asked for. Its number is neither read nor kept.
func (c *Chat) otherContact(context.Context, Inbound) (Action, error) {
	return reply("talk.contact", nil), nil
}

// otherPerson answers a choice from a list that is not open any more.
func (c *Chat) otherPerson(context.Context, Inbound) (Action, error) {
	return func(s *replyTx) error { return s.closeKeyboard("talk.person_late", nil) }, nil
}

// edited tells who edits a command, or an answer to a question, that nothing comes of it.
func (c *Chat) edited(_ context.Context, h Inbound) (Action, error) {
	if h.line.command == "" && c.waiting(h, ByText) == nil {
		return nil, nil
	}
	return reply("talk.edited", nil), nil
}

// otherText answers text that is neither a command nor an answer.
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

// afterInterceptors lets conversations take plain text before a handler gets it.
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

// strayText answers text that no question waits for: by what a conversation makes of it, or by what may have been meant.
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
	if to, ok := c.registry.aliases[word]; ok {
		return unhandled(suggest("/" + strings.Join(to, " "))), nil
	}
	meant := near(word, c.registry.names())
	if len(meant) == 0 && c.registry.knows(word) {
		meant = []string{word}
	}
	if len(meant) > 0 {
		return unhandled(reply("talk.did_you_mean", vars{"Commands": slashes(meant)})), nil
	}
	return unhandled(reply("talk.stray", nil)), nil
}

// suggest proposes a command that was meant, by a button that runs it.
func suggest(command string) Action {
	return func(s *replyTx) error {
		b, err := s.button(html(escape(command)), "run:"+command, "menu", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		return s.reply("talk.did_you_mean", vars{"Commands": command}, []Button{b})
	}
}

// unknown names what may have been meant.
func (c *Chat) unknown(name string) Action {
	key, v := "talk.unknown", vars{"Command": "/" + echo(name)}
	if c.registry.isPlanned(name) {
		key = "talk.not_yet"
	} else if meant := near(name, c.registry.names()); len(meant) > 0 {
		key, v["Commands"] = "talk.unknown_near", slashes(meant)
	}
	return func(s *replyTx) error {
		s.failed = true
		return s.reply(key, v)
	}
}

func slashes(names []string) string { return "/" + strings.Join(names, ", /") }

// replyPrivateOnly shows the way from a group to the private chat.
func (s *replyTx) replyPrivateOnly() error {
	rows, err := s.privateChat()
	if err != nil {
		return err
	}
	return s.reply("talk.private_only", nil, rows...)
}

// privateChat is a button that leads to the private chat; none while the bot's name is unknown.
func (s *replyTx) privateChat() ([][]Button, error) {
	me := s.BotName()
	if me == "" {
		return nil, nil
	}
	label, err := s.words.text("button.private_chat", nil)
	return [][]Button{{{Text: plain(label), URL: "https://t.me/" + me + "?start=group"}}}, err
}
