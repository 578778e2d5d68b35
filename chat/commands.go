package chat

import (
	"context"
	"errors"
	stdhtml "html"
	"slices"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Command is one line of the command menu.
type Command struct {
	Name        string // without slash
	Description string // plain text
}

// command is one row of the command table: menu, welcome and help are made of it, and it is what
// runs. Only what works is in it.
type command struct {
	name   string
	menu   string // catalogue key: one line of what it is for
	usage  string // catalogue key: how it is written
	groups bool   // works in a group too; all else is answered there by the way to a private chat
	looks  bool   // only looks at something: what was being asked goes on
	run    func(*Chat, context.Context, inbound) (Action, error)
	// app runs it for an app; nil: no app may (docs/specification.md, Messages and commands).
	app func(*Chat, context.Context, inbound) (Action, error)
}

func commands() []command {
	return []command{
		{name: "start", menu: "menu.start", usage: "usage.start", groups: true, run: (*Chat).start},
		{name: "wallet", menu: "menu.wallet", usage: "usage.wallet", looks: true, run: (*Chat).wallet, app: (*Chat).walletForApp},
		{name: "send", menu: "menu.send", usage: "usage.send", run: (*Chat).send, app: (*Chat).sendForApp},
		{name: "contacts", menu: "menu.contacts", usage: "usage.contacts", looks: true, run: (*Chat).contacts},
		{name: "api", menu: "menu.api", usage: "usage.api", run: (*Chat).api},
		{name: "apps", menu: "menu.apps", usage: "usage.apps", looks: true, run: (*Chat).apps},
		{name: "cancel", menu: "menu.cancel", usage: "usage.cancel", looks: true, run: (*Chat).cancel},
		{name: "help", menu: "menu.help", usage: "usage.help", groups: true, looks: true, run: (*Chat).help, app: (*Chat).help},
		{name: "privacy", menu: "menu.privacy", usage: "usage.privacy", groups: true, looks: true, run: (*Chat).privacy, app: (*Chat).privacy},
		{name: "delete_me", menu: "menu.delete_me", usage: "usage.delete_me", looks: true, run: (*Chat).deleteMe},
	}
}

// notYet are commands of the specification that do not work yet, with what is said instead: they
// are told apart from typing mistakes.
func notYet() map[string]string {
	return map[string]string{
		"price": "talk.not_yet", "stake": "talk.not_yet", "notifications": "talk.not_yet",
	}
}

// meant are commands that other wallets have and people try, by what they do here.
func meant() map[string]string {
	return map[string]string{
		"balance": "wallet balance", "bal": "wallet balance", "funds": "wallet balance", "portfolio": "wallet balance", "tokens": "wallet balance",
		"history": "wallet history", "transactions": "wallet history", "txs": "wallet history", "activity": "wallet history", "payments": "wallet history",
		"address": "wallet address", "receive": "wallet address", "deposit": "wallet address", "qr": "wallet address", "request": "wallet address",
		"wallets": "wallet list", "accounts": "wallet list", "account": "wallet",
		"new": "wallet new", "create": "wallet new", "connect": "wallet new", "import": "wallet new", "link": "wallet new",
		"disconnect": "wallet disconnect", "use": "wallet use",
		"pay": "send", "transfer": "send", "tip": "send", "withdraw": "send",
		"contact": "contacts", "friends": "contacts", "addressbook": "contacts",
		"key": "api", "keys": "api", "token": "api", "developer": "api", "webhook": "api", "webhooks": "api",
		"app": "apps", "permissions": "apps", "access": "apps", "connections": "apps",
		"stop": "cancel", "abort": "cancel", "commands": "help", "menu": "help", "about": "help", "support": "help", "faq": "help", "security": "help security",
		"delete": "delete_me", "deleteme": "delete_me", "forget": "delete_me", "forgetme": "delete_me",
	}
}

// asMeant reads a command that other wallets have as the one that does the same here.
func (c *Chat) asMeant(l line) line {
	to, ok := meant()[l.command]
	if !ok || c.known(l.command) {
		return l
	}
	words := strings.Fields(to)
	l.command, l.args = words[0], slices.Concat(words[1:], l.args)
	return l
}

// Commands lists the command table, in the order of the menu.
func (c *Chat) Commands() []Command {
	out := make([]Command, 0, len(c.table))
	for _, row := range c.table {
		text, err := c.words.text(row.menu, nil)
		if err != nil { // a test keeps the catalogue whole
			continue
		}
		out = append(out, Command{Name: row.name, Description: plain(text)})
	}
	return out
}

// About is what Telegram shows of the bot before the first word, and on its profile.
func (c *Chat) About() (description, short string) {
	var texts [2]string
	for i, key := range []string{"about.long", "about.short"} {
		text, err := c.words.text(key, nil)
		if err != nil { // a test keeps the catalogue whole
			continue
		}
		texts[i] = stdhtml.UnescapeString(string(text))
	}
	return texts[0], texts[1]
}

// names lists every command's name.
func (c *Chat) names() []string {
	out := make([]string, len(c.table))
	for i, row := range c.table {
		out[i] = row.name
	}
	return out
}

func (c *Chat) known(name string) bool { return slices.Contains(c.names(), name) }

// command finds the row that a text names, and runs it.
func (c *Chat) command(ctx context.Context, h inbound) (Action, error) {
	if me := c.BotName(); h.line.bot != "" && me != "" && !strings.EqualFold(h.line.bot, me) {
		if h.Private {
			return reply("talk.other_bot", vars{"Bot": echo(h.line.bot)}), nil
		}
		return nil, nil // meant for somebody else
	}
	at := slices.IndexFunc(c.table, func(row command) bool { return row.name == h.line.command })
	switch {
	case at < 0 && !h.Private:
		return nil, nil
	case at < 0:
		return c.unknown(h.line.command), nil
	}
	row := c.table[at]
	if !h.Private && !row.groups {
		return (*replyTx).sayPrivateOnly, nil
	}
	if !h.Private || row.looks {
		return row.run(c, ctx, h)
	}
	return c.begin(row.run(c, ctx, h))
}

// unknown names what may have been meant.
func (c *Chat) unknown(name string) Action {
	key, v := "talk.unknown", vars{"Command": "/" + echo(name)}
	if sooner, ok := notYet()[name]; ok {
		key = sooner
	} else if meant := near(name, c.names()); len(meant) > 0 {
		key, v["Commands"] = "talk.unknown_near", slashes(meant)
	}
	return func(s *replyTx) error {
		s.failed = true
		return s.reply(key, v)
	}
}

func slashes(names []string) string { return "/" + strings.Join(names, ", /") }

// sayPrivateOnly shows the way from a group to the private chat.
func (s *replyTx) sayPrivateOnly() error {
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

// list is the command table as text.
func (s *replyTx) list() (html, error) {
	var lines []string
	for _, row := range s.table {
		menu, err := s.words.text(row.menu, nil)
		if err != nil {
			return "", err
		}
		lines = append(lines, "/"+row.name+" — "+string(menu))
	}
	return html(strings.Join(lines, "\n")), nil
}

// start welcomes. Of what a deep link brings along only an app that asks for consent counts.
func (c *Chat) start(_ context.Context, h inbound) (Action, error) {
	if len(h.line.args) == 1 && h.Private && strings.HasPrefix(h.line.args[0], appPrefix) {
		return askConsent(wallet.AppID(h.line.args[0]), false), nil
	}
	return func(s *replyTx) error {
		list, err := s.list()
		if err != nil {
			return err
		}
		var rows [][]Button
		tail := html("")
		switch { // in a group, nobody's wallet is anybody's business
		case s.inbound.Private && s.user.DefaultWallet.IsZero():
			rows, err = s.menu("button.create_wallet", "/wallet new")
		case s.inbound.Private:
			tail = code("…" + s.user.DefaultWallet.Tail())
			rows, err = s.menu("button.balance", "/wallet balance", "button.address", "/wallet address", "button.send", "/send")
		default:
			rows, err = s.privateChat()
		}
		if err != nil {
			return err
		}
		name := cut(echo(s.inbound.From.FirstName), 32)
		if name == "" {
			name = "there"
		}
		return s.reply("start.welcome", vars{
			"Name": name, "Commands": list, "Private": s.inbound.Private, "Tail": tail, "Network": s.network(),
		}, rows...)
	}, nil
}

// cancel ends what is being asked.
func (c *Chat) cancel(context.Context, inbound) (Action, error) {
	return func(s *replyTx) error {
		if s.conv.State == "" {
			return s.cancelNothing()
		}
		return s.transition(s.conv.Flow, cancelled)
	}, nil
}

// cancelNothing answers /cancel when nothing is being asked here: they may mean transfers that wait
// for them all the same, or their last one.
func (s *replyTx) cancelNothing() error {
	last, err := s.tx.TransactionsOf(s.user.ID, store.Page{Limit: 1})
	if err != nil {
		return err
	}
	waiting, err := s.waiting()
	if err != nil {
		return err
	}
	offered, err := s.offeredLink()
	if err != nil {
		return err
	}
	st, err := s.Developers.Standing(s.tx, s.user.ID)
	if err != nil {
		return err
	}
	switch {
	case offered:
		if err := s.Wallets.CancelLink(s.tx, s.user.ID); err != nil {
			return err
		}
		return s.reply("link.cancelled", nil)
	case len(waiting) > 0:
		if err := s.reply("cancel.waiting", vars{"One": len(waiting) == 1}); err != nil {
			return err
		}
		s.anew = true // wherever their messages are by now
		for _, t := range waiting[:min(len(waiting), mostShown)] {
			if err := s.card(t); err != nil {
				return err
			}
		}
		return nil
	case len(last) == 1 && (last[0].Status == wallet.Signed || last[0].Status == wallet.Pending):
		return s.reply("cancel.on_its_way", nil)
	case st.Developer.Request.Waits() && s.now.Before(st.Developer.Request.AskedAt.Add(handlers.AskPause)):
		return s.sayWaiting(st)
	}
	return s.reply("cancel.nothing", nil)
}

// offeredLink tells whether a link is open that a program asked for.
func (s *replyTx) offeredLink() (bool, error) {
	bind, err := s.tx.BindOf(s.user.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && bind.OfferedBy != "" && bind.OpenAt(s.now), err
}

// mostShown bounds how many waiting transfers are shown again at once.
const mostShown = 5

// waiting lists the person's transfers that wait for their Confirm or signature.
func (s *replyTx) waiting() ([]wallet.Transaction, error) {
	wallets, err := s.tx.WalletsOf(s.user.ID)
	if err != nil {
		return nil, err
	}
	var out []wallet.Transaction
	for _, w := range wallets {
		open, err := s.tx.UnsettledFrom(w.Address)
		if err != nil {
			return nil, err
		}
		for _, t := range open {
			unsigned := t.Status == wallet.AwaitingConfirmation || t.Status == wallet.AwaitingSignature
			if unsigned && s.now.Before(t.Deadline) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

// help answers /help and its topics.
func (c *Chat) help(_ context.Context, h inbound) (Action, error) {
	topics := map[string]string{"security": "help.security", "api": "help.api"}
	topic := ""
	if len(h.line.args) > 0 {
		topic = strings.TrimPrefix(strings.ToLower(h.line.args[0]), "/")
	}
	switch {
	case topic == "":
		return func(s *replyTx) error {
			list, err := s.list()
			if err != nil {
				return err
			}
			return s.reply("help.overview", vars{"Commands": list})
		}, nil
	case topic == "commands":
		return c.helpCommands(), nil
	case topics[topic] != "":
		return reply(topics[topic], vars{"Host": c.PublicURL.Host, "API": code(c.PublicURL.String()), "Docs": c.docs()}), nil
	case c.known(topic):
		return func(s *replyTx) error {
			text, err := s.usage(topic)
			if err != nil {
				return err
			}
			return s.reply("help.usage", vars{"Usage": text})
		}, nil
	}
	return reply("help.unknown", vars{"Topic": echo(topic)}), nil
}

// docs is where the API is described, as a text that can be followed or copied; "" where nothing is.
func (c *Chat) docs() html {
	if c.DocsURL == nil {
		return ""
	}
	return html(escape(c.DocsURL.String()))
}

// helpCommands is every command with its usage.
func (c *Chat) helpCommands() Action {
	return func(s *replyTx) error {
		var all []string
		for _, row := range s.table {
			text, err := s.usage(row.name)
			if err != nil {
				return err
			}
			all = append(all, string(text))
		}
		return s.reply("help.commands", vars{"Usages": html(strings.Join(all, "\n\n"))})
	}
}

// usage is how a command of the table is written.
func (s *replyTx) usage(name string) (html, error) {
	at := slices.IndexFunc(s.table, func(row command) bool { return row.name == name })
	return s.words.text(s.table[at].usage, nil)
}

// privacy says what is kept, and how it ends.
func (c *Chat) privacy(context.Context, inbound) (Action, error) {
	return reply("privacy.text", nil), nil
}

// network names a network whose money is worth nothing; "" for the real one.
func (c *Chat) network() string {
	if c.Cluster == wallet.Mainnet {
		return ""
	}
	return c.Cluster
}

// deleteMe asks once more before everything about the person is forgotten.
func (c *Chat) deleteMe(context.Context, inbound) (Action, error) {
	return func(s *replyTx) error {
		label, err := s.words.text("button.erase", nil)
		if err != nil {
			return err
		}
		yes, err := s.button(label, "erase", "", s.now.Add(Silence))
		if err != nil {
			return err
		}
		no, err := s.keep("")
		if err != nil {
			return err
		}
		return s.reply("erase.ask", nil, []Button{no, yes})
	}, nil
}

// keep is the way back from a question whose yes takes something away. It ends the question's buttons.
func (s *replyTx) keep(subject string) (Button, error) {
	label, err := s.words.text("button.keep", nil)
	if err != nil {
		return Button{}, err
	}
	return s.button(label, "keep", subject, s.now.Add(Silence))
}
