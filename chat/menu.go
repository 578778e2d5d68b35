package chat

import (
	"context"
	"errors"
	stdhtml "html"
	"strings"
	"time"

	"purser/store"
	"purser/wallet"
)

// Command is one line of the bot's command menu.
type Command struct {
	Name        string // without the slash
	Description string // plain text
}

// Profile is what Telegram shows about the bot in one language: the command menu, the description before the first message
// (at most 512 characters), and the short description on the profile (at most 120).
type Profile struct {
	Language           string // two-letter code; "" is the default for languages without a Profile
	Commands           []Command
	Description, Short string
}

// Profiles returns the default profile in English, then one for each other language of the catalogue. Telegram knows
// languages by two letters, without regions.
func (c *Chat) Profiles() []Profile {
	out := []Profile{c.profile(c.words)}
	seen := map[string]bool{"en": true}
	for _, tag := range c.words.all.Languages() {
		code, _, _ := strings.Cut(tag, "-")
		if seen[code] || len(code) != 2 {
			continue
		}
		seen[code] = true
		p := c.profile(c.words.in(code, time.UTC))
		p.Language = code
		out = append(out, p)
	}
	return out
}

// profile returns the Profile in the language of words, without its Language.
func (c *Chat) profile(words catalogue) Profile {
	var p Profile
	for _, row := range c.registry.commands {
		text, err := words.text(row.menu, nil)
		if err != nil { // New has checked that the text exists
			continue
		}
		p.Commands = append(p.Commands, Command{Name: row.name, Description: plain(text)})
	}
	for key, to := range map[string]*string{"about.long": &p.Description, "about.short": &p.Short} {
		text, err := words.text(key, nil)
		if err != nil { // a test keeps the catalogue whole
			continue
		}
		*to = stdhtml.UnescapeString(string(text))
	}
	return p
}

// list returns the command menu as text.
func (s *replyTx) list() (html, error) {
	var lines []string
	for _, row := range s.registry.commands {
		menu, err := s.words.text(row.menu, nil)
		if err != nil {
			return "", err
		}
		lines = append(lines, "/"+row.name+" — "+string(menu))
	}
	return html(strings.Join(lines, "\n")), nil
}

// usage returns the syntax of a command.
func (s *replyTx) usage(name string) (html, error) {
	row, _ := s.registry.command(name)
	return s.words.text(row.usage, nil)
}

// replyUsage sends the syntax of a command.
func (s *replyTx) replyUsage(name string) error {
	usage, err := s.usage(name)
	if err != nil {
		return err
	}
	return s.reply("help.usage", vars{"Usage": usage})
}

// menuFlow is the name of menuButtons.
const menuFlow = "menu"

// menuButtons is a conversation of what every conversation uses: buttons that run a command, cancel the question above or
// keep things as they are, and the questions beside the conversation (aside).
func menuButtons() conversation {
	return conversation{
		name: menuFlow,
		flow: asideTable(), version: 1, data: func() any { return new(asides) },
		slots: map[string]func(*replyTx, store.Conversation) error{asideSlot: (*replyTx).timedOutAsides},
		callbacks: map[string]Callback{
			runAction: (*Chat).tapRun,
			"stop":    (*Chat).tapStop,
			"keep":    (*Chat).tapKeep,
		},
		callbacksWhileFrozen: []string{"stop", "keep"},
	}
}

// menu returns one row of buttons that run commands. The arguments are labels and commands in turn.
func (s *replyTx) menu(labelsAndCommands ...string) ([][]Button, error) {
	var row []Button
	for i := 0; i+1 < len(labelsAndCommands); i += 2 {
		b, err := s.catalogueButton(labelsAndCommands[i], "run:"+labelsAndCommands[i+1], "menu", s.now.Add(menuLife))
		if err != nil {
			return nil, err
		}
		row = append(row, b)
	}
	return [][]Button{row}, nil
}

// runAction is the action of buttons that run a command.
const runAction = "run"

// runsWhileFrozen reports whether the command of a tapped button works while the person's account is frozen.
func (c *Chat) runsWhileFrozen(h Inbound) bool {
	_, text, _ := strings.Cut(h.button.Action, ":")
	line := read(text)
	row, ok := c.registry.command(line.command)
	return ok && row.allowed(line)
}

// tapRun runs the command of a button. The button can be used any number of times.
func (c *Chat) tapRun(ctx context.Context, h Inbound, text string) (Action, error) {
	h.line = read(text)
	row, ok := c.registry.command(h.line.command)
	switch {
	case !ok:
		return c.unknown(h.line.command), nil
	case !h.Private && !row.groups:
		return (*replyTx).replyPrivateOnly, nil
	}
	return row.handle(c, ctx, h)
}

// tapStop is the Cancel button below a question.
func (c *Chat) tapStop(_ context.Context, h Inbound, _ string) (Action, error) {
	if h.at(h.conv.Flow) == idle || h.question.Ask != h.button.Subject {
		return toast("toast.old"), nil
	}
	return func(s *replyTx) error {
		if err := s.use(); err != nil {
			return err
		}
		if err := s.choseText("question.cancelled"); err != nil {
			return err
		}
		return s.transition(h.conv.Flow, cancelled)
	}, nil
}

// tapKeep is the answer no to a question whose yes would remove something.
func (c *Chat) tapKeep(context.Context, Inbound, string) (Action, error) {
	return func(s *replyTx) error {
		asked, err := s.asideOf(s.inbound.button.Subject)
		if err == nil {
			err = s.use()
		}
		if err != nil {
			return err
		}
		if asked.Card == "" { // no aside any more: only its buttons can go
			return errors.Join(s.strip(), s.toast("toast.kept", nil))
		}
		return errors.Join(s.choseText("button.keep"), s.showAnswered(asked.Card, asked.Asked), s.toast("toast.kept", nil))
	}, nil
}

// choseText sets what a tapped button answered to a text of the catalogue.
func (s *replyTx) choseText(key string) (err error) {
	s.chosen, err = s.words.text(key, nil)
	return err
}

// keep returns that button. It shares subject with the yes, so that using one ends both.
func (s *replyTx) keep(subject string) (Button, error) {
	return s.catalogueButton("button.keep", "keep", subject, s.now.Add(AnswerTimeout))
}

// network returns the variable of texts that name a test network, because its money is worthless. On mainnet it is "".
func (c *Chat) network() any { return c.testNetwork("cluster.devnet", "cluster.localnet") }

// networkName is network for a text that names it after a label: it has no article.
func (c *Chat) networkName() any {
	return c.testNetwork("cluster_name.devnet", "cluster_name.localnet")
}

// testNetwork returns the text for the test network in use, or "" on mainnet.
func (c *Chat) testNetwork(devnet, localnet textKey) any {
	switch c.Cluster {
	case wallet.Devnet:
		return devnet
	case wallet.Localnet:
		return localnet
	}
	return ""
}

// docs returns the address of the API documentation as text, or "" if there is none.
func (c *Chat) docs() html {
	if c.DocsURL == nil {
		return ""
	}
	return html(escape(c.DocsURL.String()))
}
