package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// AppCommand is a command that an app runs for a person.
type AppCommand struct {
	By     handlers.Caller // the app's key
	Name   string          // who the person is told it was; "" says nothing of it (an operator's)
	Person wallet.User
	Text   string // a slash command with its arguments
	Silent bool   // nothing is posted, except what the person must confirm
}

// Execute finds out what a command of an app leads to. It runs what the same command typed runs, in a
// conversation of its own: whatever the person is just asked goes on. UNKNOWN_COMMAND for what is no
// command, POLICY_VIOLATION for one that no app may run; else the refusals of its operation. commit writes what
// the command does, and posts to the person's chat; it returns the reply as Markdown.
func (c *Chat) Execute(ctx context.Context, cmd AppCommand) (commit func(store.Tx) (string, error), _ error) {
	line := read(cmd.Text)
	if line.command == "" {
		return nil, wallet.About("command", wallet.Refuse(wallet.UnknownCommand, "app_command.slash"))
	}
	row, known := c.registry.command(line.command)
	me := c.BotName()
	switch {
	case !known, line.bot != "" && me != "" && !strings.EqualFold(line.bot, me):
		return nil, wallet.About("command", wallet.Refuse(wallet.UnknownCommand, "app_command.unknown"))
	case row.app == nil:
		return nil, wallet.Refuse(wallet.PolicyViolation, "app_command.not_for_apps", wallet.TextArg("Command", line.command))
	}
	if c.secrets.In(cmd.Text) != NoSecret {
		return nil, wallet.Refuse(wallet.PolicyViolation, "app_command.secret")
	}
	p := cmd.Person
	h := Inbound{Input: Input{Chat: p.TelegramID, Private: true, At: c.Now(), Text: cmd.Text,
		From: Person{TelegramID: p.TelegramID, Username: p.Username, FirstName: p.FirstName, LastName: p.LastName, Language: p.Language}},
		line: line, user: p, app: &cmd}
	action, err := row.app(c, ctx, h)
	if err != nil {
		return nil, err
	}
	return func(tx store.Tx) (string, error) { return c.playForApp(tx, h, action) }, nil
}

// playForApp runs an action for an app, and tells what it said.
func (c *Chat) playForApp(tx store.Tx, h Inbound, action Action) (string, error) {
	s := &replyTx{Chat: c, words: c.wordsFor(h.From.Language), tx: tx, inbound: h, user: h.user, now: c.Now().UTC(), priority: alerts}
	s.conv.Chat, s.conv.User = h.Chat, h.From.TelegramID
	if err := action(s); err != nil {
		return "", err
	}
	if s.moved {
		return "", fmt.Errorf("%s moved a conversation for an app", h.line.command)
	}
	said, err := s.said(0)
	if err != nil {
		return "", err
	}
	if err := s.announceRun(said); err != nil {
		return "", fmt.Errorf("announce what an app ran: %w", err)
	}
	if err := s.head(); err != nil {
		return "", err
	}
	if !h.app.Silent {
		app := shareOf(h.app.By)
		if err := roomForApp(tx, h.Chat, app); err != nil {
			return "", err
		}
		for i := range s.out {
			s.out[i].App = app
		}
		if err := store.Enqueue(tx, s.out...); err != nil {
			return "", err
		}
	}
	return said, nil
}

// head says above the first reply which app ran the command; an operator's says nothing of itself.
func (s *replyTx) head() error {
	by := s.inbound.app.By
	if len(s.out) == 0 || by.User == "" {
		return nil
	}
	app, err := s.appName(by.App)
	if err != nil {
		return err
	}
	hint, err := s.keyHint(by.KeyID)
	if err != nil {
		return err
	}
	head, err := s.words.text("app.ran", vars{"App": app, "Command": echo(s.inbound.Text), "Own": by.User == s.user.ID, "HasApp": by.App != "", "Hint": hint})
	if err != nil {
		return err
	}
	var r Reply
	if err := json.Unmarshal(s.out[0].Body, &r); err != nil {
		return err
	}
	r.Text = string(head) + "\n\n" + r.Text
	s.out[0].Body, err = json.Marshal(r)
	return err
}

// withheld stands where a reply holds what no program may see.
const withheld = "[withheld]"
